// The page behind `mate serve`. Everything that comes from data is set as text, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const PAGE_ROWS = 50;
let few = 10; // answers shown at first
const CONTROL = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu; // words and emoji need the first two

// ---- text

// Show control characters instead of obeying them: U+202E would reverse the rest of a line.
function visible(text) {
  return String(text).replace(CONTROL, (c) => {
    const code = c.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return code === 0x7f ? "␡" : "\\u" + code.toString(16).padStart(4, "0");
  });
}

const short = (text, most = 80) => visible(text.length > most ? text.slice(0, most) + "…" : text);
const count = (number) => number.toLocaleString("en");
const counted = (number, what, plural = `${what}s`) => `${count(number)} ${number === 1 ? what : plural}`;
const percent = (share) => `${Math.round(share * 100)}%`;

function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit++) bytes /= 1000;
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

// ---- elements

function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const fill = (element, ...children) => element.replaceChildren(...children.flat(Infinity).filter(Boolean));
const message = (text, kind = "") => el("p", { class: `message ${kind}`, role: kind === "error" ? "alert" : null }, visible(text));

function bar(share) {
  const inner = el("i");
  inner.style.width = percent(Math.min(Math.max(share, 0), 1));
  return [el("span", { class: "bar", "aria-hidden": "true" }, inner), percent(share)];
}

function cell(value, kind = "") {
  return value === null
    ? el("td", { class: `cell ${kind}` }, el("span", { class: "null" }, "empty"))
    : el("td", { class: `cell ${kind}`, title: value.length > 25 ? visible(value) : null }, visible(value));
}

// A table that scrolls sideways. `head` is a list of names, or of pairs of name and class, or null; `rows` are elements.
function dataTable(head, rows, kind = "") {
  const cells = head?.map((one) => [one].flat()).map(([name, kind = ""]) => el("th", { class: kind, scope: "col" }, name));
  const table = el("table", { class: kind }, head && el("thead", {}, el("tr", {}, cells)), el("tbody", {}, rows));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table" }, table);
}

const rowHead = (...content) => el("th", { scope: "row" }, ...content);
const numberCell = (text) => el("td", { class: "number" }, text);
const button = (text, onclick, attributes = {}) => el("button", { type: "button", onclick, ...attributes }, text);
const option = (value, text) => el("option", { value }, text);

// ---- the server

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", "#search");
  }
  return sessionStorage.getItem("token");
}

let running = null; // the controller that cancels the current work

async function ask(method, path, { json, body, signal } = {}) {
  const headers = signal?.work ? { "Mate-Work": signal.work } : {};
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (method === "POST") headers["Content-Type"] = body ? "application/octet-stream" : "application/json";
  const response = await fetch(path, { method, headers, body: body ?? (json && JSON.stringify(json)), signal });
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  throw new Error(answer.error);
}

const get = async (path) => (await ask("GET", path)).json();
const post = async (path, json, signal) => (await ask("POST", path, { json, signal })).json();

// Yield the steps of an answer, each a line of JSON.
async function* steps(path, json, signal) {
  const reader = (await ask("POST", path, { json, signal })).body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "", read = {}; !read.done; ) {
    read = await reader.read();
    const lines = (text + (read.value ?? "")).split("\n");
    text = lines.pop();
    for (const line of lines) {
      signal.throwIfAborted();
      const step = JSON.parse(line);
      if (step.error) throw new Error(step.error);
      yield step;
    }
  }
}

// Do long work: show its progress and duration, and a button that cancels it.
async function work(what, task) {
  if (running) running.abort();
  const own = (running = new AbortController());
  own.signal.work = [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-");
  const started = performance.now();
  const text = el("span", {}, `${what} …`);
  const bar = el("progress", { hidden: true, "aria-label": "Progress" });
  fill($("status"), text, bar, button("Cancel", () => own.abort()));
  const appear = setTimeout(() => ($("status").hidden = false), 200);
  const clock = setInterval(async () => {
    const { before, done, total } = await get(`/api/work/${own.signal.work}`).catch(() => ({ before: null, total: 0 }));
    const waits = before === null ? "" : before ? `, ${counted(before, "other")} first` : ", next in line";
    text.textContent = `${what} … ${Math.round((performance.now() - started) / 1000)} s${waits}`;
    bar.hidden = !total;
    if (total) [bar.max, bar.value] = [total, done];
  }, 1000);
  try {
    return await task(own.signal);
  } finally {
    clearTimeout(appear);
    clearInterval(clock);
    if (running === own) {
      running = null;
      $("status").hidden = true;
    }
  }
}

// Run a task; show an error in a place of the page.
async function shown(place, task) {
  try {
    await task();
  } catch (error) {
    fill(place, error.name === "AbortError" ? message("Cancelled.") : message(error.message, "error"));
    place.hidden = false;
  }
}

// ---- a table's columns and first rows

function columnTable(table, pick) {
  const rows = table.columns.map((column) => {
    const name = pick
      ? el("label", { class: "pick" }, el("input", { type: "checkbox", value: column.name, onchange: pick }), short(column.name))
      : short(column.name);
    return el("tr", {}, rowHead(name), el("td", { class: "optional" }, column.type), numberCell(count(column.distinct)),
      el("td", { class: "share" }, bar(column.empty_share)));
  });
  const part = table.profiled_rows < table.rows
    ? el("p", { class: "quiet" }, `Counted in the first ${counted(table.profiled_rows, "row")} of ${count(table.rows)}.`) : "";
  return [dataTable(["column", ["type", "optional"], ["distinct", "number"], "empty"], rows), part];
}

function firstRows(table, open = false) {
  const rows = table.preview.map((row) => el("tr", {}, row.map((value) => cell(value))));
  return el("details", { open }, el("summary", {}, "First rows"), dataTable(table.columns.map((column) => short(column.name, 40)), rows));
}

// ---- search

let query = null; // {reference: {query} or {table}, name, rows, columns, preview}

async function upload(file) {
  if (!file) return;
  await shown($("query"), () => work(`Reading ${short(file.name, 40)}`, async (signal) => {
    const { limits } = await lake;
    if (file.size > limits.upload_bytes) throw new Error(`${file.name} has ${size(file.size)}; at most ${size(limits.upload_bytes)} can be uploaded. The command line has no limit: mate search --help`);
    const response = await ask("POST", `/api/queries?name=${encodeURIComponent(file.name)}`, { body: file, signal });
    const table = await response.json();
    choose(table, { query: table.query });
  }));
}

function choose(table, reference) {
  query = { ...table, reference };
  $("results").hidden = true;
  const search = button("Search with the chosen columns", () => runSearch(), { class: "primary", id: "search", disabled: true });
  const pick = () => (search.disabled = !keyColumns().length);
  const rank = el("select", { id: "rank", "aria-label": "Order of the results" },
    option("usefulness", "most useful first"), option("joinability", "most matches first"));
  const names = el("label", { class: "pick quiet" }, el("input", { type: "checkbox", id: "names", checked: true }), "compare names of columns");
  const warnings = table.warnings?.length
    ? el("div", { class: "message warning", role: "note" }, el("b", {}, "The file was read, but:"), el("ul", {}, table.warnings.map((text) => el("li", {}, visible(text))))) : null;
  fill($("query"),
    el("h2", { tabindex: "-1" }, `2. Key columns of ${short(table.name)}`),
    el("p", { class: "quiet" }, `${counted(table.rows, "row")}, ${counted(table.columns.length, "column")}. Pick the columns that together identify what a row is about, or get suggestions.`),
    warnings, ...columnTable(table, pick), firstRows(table),
    el("div", { class: "row" }, search, button("Suggest keys", () => runSuggest(), { id: "suggest" }),
      el("span", { class: "row push" }, names, rank)));
  $("query").hidden = false;
  $("query").querySelector("h2").focus({ preventScroll: true });
  $("query").scrollIntoView({ block: "start" });
}

// What a search is told besides its key; each option is a field of /api/search.
const searchOptions = () => ({ rank: $("rank").value, names: $("names").checked });
const keyColumns = () => [...$("query").querySelectorAll("tbody input:checked")].map((box) => box.value);

function setKey(key) {
  for (const box of $("query").querySelectorAll("tbody input[type=checkbox]")) box.checked = key.includes(box.value);
  $("search").disabled = !key.length;
}

function present(title, lead, ...parts) {
  fill($("results"), el("h2", { id: "results-title", tabindex: "-1" }, title), lead && el("p", { class: "quiet" }, lead), parts);
  $("results").hidden = false;
  $("results").querySelector("h2").focus({ preventScroll: true });
  $("results").scrollIntoView({ block: "start" });
}

// A button for more answers, if there may be more.
function moreAnswers(found, k, most, show) {
  return found === k && k < most ? button("Show more", () => show(Math.min(most, k * 3)), { class: "all-answers" }) : null;
}

function answerList(asked, answers, nothing, key, search) {
  if (!answers.length) return message(nothing);
  return el("ol", { class: "answers" }, answers.map((one, place) => answerItem(asked, one, place, key ?? one.key, search)));
}

function runSearch(k = few) {
  const key = keyColumns(), asked = query;
  return shown($("results"), () => work("Searching", async (signal) => {
    const json = { ...query.reference, key, k, ...searchOptions() };
    const found = await post("/api/search", json, signal);
    const left = found.rows_left_out ? ` ${counted(found.rows_left_out, "row")} with an empty cell in the key cannot join.` : "";
    const lead = `${query.name} has ${counted(found.key_tuples, "distinct combination")} of ${key.map((k) => short(k)).join(", ")}.${left}`;
    const title = found.answers.length ? `3. ${counted(found.answers.length, "table")} found` : "3. Nothing found";
    const nothing = "No table of the lake holds any of these combinations in one row. Try fewer columns, or let keys be suggested.";
    present(title, visible(lead), answerList(asked, found.answers, nothing, key), moreAnswers(found.answers.length, k, 1000, runSearch),
      explanation(found.explanation), python(found.python, "Python lines of this search"));
  }));
}

// Look for keys and show those found so far, until the search is over. They stay when it is cancelled, as by going on with one of them.
async function findKeys(asked, json, signal, search, place) {
  const note = el("div", { role: "status" }, message("Looking for keys …")), list = el("div");
  fill(place, note, list);
  let found = null;
  try {
    for await (found of steps("/api/suggest", json, signal)) {
      const longer = found.tried.keys_of_several_columns;
      const tried = longer ? `Found so far, with ${counted(longer, "key")} of several columns tried.` : "Keys of one column.";
      fill(note, found.complete ? null : message(`${tried} Still looking for keys of several columns …`));
      fill(list, found.suggestions.length || found.complete ? answerList(asked, found.suggestions, found.message, null, search) : null);
    }
  } catch (error) {
    if (!found) throw error;
    fill(note, error.name === "AbortError" ? message("Cancelled: these are the keys found so far.") : message(error.message, "error"));
  }
  return found;
}

function runSuggest(k = few) {
  const asked = query, chosen = keyColumns();
  return shown($("results"), () => work("Looking for keys", async (signal) => {
    const json = { ...asked.reference, k, ...(chosen.length > 1 ? { columns: chosen } : {}) };
    const keys = el("div"), end = el("div");
    present("3. Suggested keys", "Each is a key and the table that joins best on it.", keys, end);
    const found = await findKeys(asked, json, signal, searchWith, keys);
    if (!found.suggestions.length) fill($("results-title"), "3. Nothing found");
    fill(end, moreAnswers(found.suggestions.length, k, 100, runSuggest), python(found.python, "Python lines of this"));
  }));
}

function searchWith(key) {
  setKey(key);
  return runSearch();
}

function explanation(why) {
  const steps = why.steps.map((step) => el("tr", {}, el("td", { class: step.depth ? "indent" : "" }, visible(step.name)), numberCell(step.text)));
  const phases = why.phases.map((phase) => el("tr", {}, el("td", {}, visible(phase.name)), numberCell(`${phase.milliseconds.toFixed(1)} ms`)));
  return el("details", { id: "why" }, el("summary", {}, "How this was found"), dataTable(null, [steps, phases]));
}

function python(lines, summary) {
  const copy = button("Copy", async () => {
    try { await navigator.clipboard.writeText(lines); copy.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(text); copy.textContent = "Selected: press Ctrl-C"; }
  });
  const text = el("pre", {}, lines.split("\n").map(visible).join("\n"));
  return el("details", { class: "python" }, el("summary", {}, summary), text, copy);
}

// ---- one answer

function fact(name, ...value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, ...value));
}

// `asked` is the table that was searched with; `search` searches with a suggested key.
function answerItem(asked, answer, place, key, search = null) {
  const e = answer.evidence;
  const fan = e.fan_out === e.most_fan_out ? count(e.most_fan_out) : `${e.fan_out.toFixed(1)} (max ${count(e.most_fan_out)})`;
  const times = e.chance ? `${(answer.joinability / e.chance).toFixed(1)}×` : "";
  const more = el("div", { class: "more" });
  const open = button("Preview and download", () => toggle(open, more, asked, answer, key), { class: "preview", "aria-expanded": "false" });
  const mapping = Object.entries(answer.mapping).map(([mine, theirs]) =>
    el("span", {}, el("code", {}, short(mine, 40)), " = ", el("code", { class: "theirs" }, short(theirs, 40))));
  return el("li", { class: e.is_chance ? "chance" : "", "data-table": answer.table_id },
    el("div", { class: "answer-head" }, el("span", { class: "rank" }, `${place + 1}.`),
      el("h3", {}, el("a", { href: `#table/${answer.table_id}` }, short(answer.table))),
      el("span", {}, counted(answer.joinability, "match", "matches")),
      e.is_chance ? el("span", { class: "badge" }, "no better than chance") : null,
      answer.unique_part ? el("span", { class: "badge" }, `unique by ${answer.unique_part.map((name) => short(name, 40)).join(", ")} alone`) : null,
      answer.copies?.length ? el("span", { class: "badge", title: `tables ${answer.copies.join(", ")}` }, `and ${counted(answer.copies.length, "copy", "copies")} of it`) : null),
    el("dl", { class: "evidence" },
      fact("of your key", bar(e.containment)), fact("unique there", bar(e.uniqueness)),
      e.names === null ? null : fact("names alike", bar(e.names)),
      fact("rows per match", fan), e.is_chance ? fact("against chance", "no better") : times ? fact("against chance", times) : null),
    el("p", { class: "mapping" }, mapping),
    el("p", { class: "adds quiet" }, answer.added.length ? ["adds ", answer.added.slice(0, 12).flatMap((name) => [el("code", {}, short(name, 40)), " "]),
      answer.added.length > 12 ? `and ${count(answer.added.length - 12)} more` : ""] : "adds no column"),
    el("div", { class: "row" }, open, search && button("Search with this key", () => search(key))),
    more);
}

async function toggle(button, more, asked, answer, key) {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  if (!open) return fill(more);
  await shown(more, () => work("Matching rows", async (signal) => {
    const json = { ...asked.reference, key, with: answer.table_id };
    const found = await post("/api/preview", json, signal);
    fill(more, ...sideBySide(found), downloads(asked, json, found.python));
  }));
}

// The query's key and the row that it matches come first, side by side; the rest of the query's row follows.
function sideBySide(found) {
  const mine = Object.keys(found.mapping).map((name) => found.query_columns.indexOf(name));
  const theirs = Object.values(found.mapping).map((name) => found.table_columns.indexOf(name));
  const rest = (names, known) => names.map((_, place) => place).filter((place) => !known.includes(place));
  const groups = [
    { kind: "mine", title: "your key", names: found.query_columns, rows: found.query_rows, places: mine, keys: [] },
    { kind: "theirs", title: `first matching row of ${short(found.table, 40)}`, names: found.table_columns, rows: found.table_rows,
      places: [...theirs, ...rest(found.table_columns, theirs)], keys: theirs },
    { kind: "mine", title: "rest of your row", names: found.query_columns, rows: found.query_rows, places: rest(found.query_columns, mine), keys: [] },
  ].filter((group) => group.places.length);
  const classes = (group, place) => `${group.kind} ${place === group.places[0] ? "edge" : ""} ${group.keys.includes(place) ? "key" : ""}`;
  const top = el("tr", {}, groups.map((group) => el("th", { class: `${group.kind} edge`, colspan: group.places.length, scope: "colgroup" }, group.title)));
  const head = el("tr", {}, groups.map((group) => group.places.map((place) => el("th", { class: classes(group, place), scope: "col" }, short(group.names[place], 40)))));
  const rows = found.query_rows.map((_, row) => el("tr", {}, groups.map((group) => group.places.map((place) => cell(group.rows[row][place], classes(group, place))))));
  const lead = `${count(found.matched_rows)} of your ${counted(found.rows, "row")} match` +
    (found.query_rows.length < found.matched_rows ? `; the first ${count(found.query_rows.length)}:` : ":");
  const pairs = dataTable([], rows, "pairs");
  pairs.querySelector("thead").replaceChildren(top, head);
  return [el("p", { class: "quiet" }, lead), pairs];
}

function downloads(asked, reference, lines) {
  const matches = el("select", { class: "matches", "aria-label": "Where several rows match" }, option("first", "first match"),
    option("aggregate", "matches combined"), option("all", "all matches"));
  const safe = el("input", { type: "checkbox" });
  const place = el("div"), code = el("div");
  let format = "csv";
  const showLines = () => {
    const open = Boolean(code.firstChild?.open);
    const write = `joined.write("enriched.${format}", safe=${safe.checked ? "True" : "False"})`;
    fill(code, python(`${lines}joined = found.enrich(matches="${matches.value}")\n${write}\n`, "Python lines of this join"));
    code.firstChild.open = open;
  };
  for (const input of [matches, safe]) input.addEventListener("change", showLines);
  showLines();
  const save = (chosen) => shown(place, () => work("Joining", async (signal) => {
    format = chosen;
    showLines();
    const json = { ...reference, matches: matches.value, format, safe: safe.checked };
    const blob = await (await ask("POST", "/api/join", { json, signal })).blob();
    const address = URL.createObjectURL(blob);
    const link = el("a", { href: address, download: `${fileName(asked.name)}-enriched.${chosen}` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    fill(place, message(`Your ${counted(asked.rows, "row")} with the columns of the table: ${size(blob.size)}.`));
  }));
  return el("div", {}, el("div", { class: "row" }, matches,
    button("Download CSV", () => save("csv"), { class: "primary csv" }), button("Download Parquet", () => save("parquet"), { class: "parquet" }),
    el("label", { class: "pick quiet" }, safe, "keep spreadsheets from running cells as formulas")), place, code);
}

const fileName = (name) => name.replace(/[^\p{L}\p{N} ._-]/gu, "_").slice(0, 80) || "table";

// ---- the lake

let lake = get("/api/lake");

const totalBytes = (stats) => Object.values(stats.bytes).reduce((sum, part) => sum + part, 0);

function showLake() {
  const summary = (stats) => `${stats.address.split("/").pop()}: ${counted(stats.tables, "table")}, ${counted(stats.rows, "row")}, ${size(totalBytes(stats))}`;
  return lake.then(summary, (error) => error.message).then((text) => fill($("lake"), visible(text)));
}

const refresh = () => shown($("table-list"), async () => {
  lake = Promise.resolve(await post("/api/refresh", {}));
  await showLake();
  await showTables();
  await showSources();
});

// A function that shows a list, page by page; `draw` returns the elements for what the server found.
function listing(place, address, draw) {
  const show = (offset = 0) => shown($(place), async () => {
    const asked = address();
    const found = await get(`${asked}offset=${offset}&limit=${PAGE_ROWS}`);
    const drawn = await draw(found, offset, pages(offset, found.total, show));
    if (asked === address()) fill($(place), drawn); // or else the words have changed meanwhile
  });
  return show;
}

const showTables = listing("table-list", () => `/api/tables?search=${encodeURIComponent($("words").value)}&`, (found, _, pages) => {
  const rows = found.tables.map((table) => el("tr", {}, rowHead(el("a", { href: `#table/${table.table_id}` }, short(table.name))),
    numberCell(count(table.rows)),
    el("td", {}, `${count(table.column_count)}: ${table.column_names.map((name) => short(name, 30)).join(", ")}`),
    el("td", { class: "optional" }, short(table.source, 100))));
  return [el("p", { class: "quiet" }, counted(found.total, "table")),
    dataTable(["name", ["rows", "number"], "columns", ["source", "optional"]], rows), pages];
});

const showSources = listing("source-list", () => "/api/sources?", async (found, offset, pages) => {
  const stats = await lake;
  const rows = found.sources.map((one) => el("tr", {}, rowHead(short(one.source, 100)), el("td", { class: "optional" }, visible(one.format ?? "")),
    numberCell(size(one.bytes ?? 0)), numberCell(count(one.tables))));
  const parts = Object.entries(stats.bytes).sort((a, b) => b[1] - a[1]);
  const total = totalBytes(stats);
  const sizes = parts.map(([name, bytes]) => el("tr", {}, rowHead(visible(name)), numberCell(size(bytes)), el("td", { class: "share" }, bar(bytes / Math.max(total, 1)))));
  return [
    el("details", { open: offset > 0 }, el("summary", {}, `Sources: ${counted(found.total, "file")}`),
      dataTable(["file", ["format", "optional"], ["size", "number"], ["tables", "number"]], rows), pages),
    el("details", {}, el("summary", {}, `Size of the index: ${size(total)}`), dataTable(null, sizes))];
});

const showRejects = listing("reject-list", () => "/api/rejects?", (found, offset, pages) => {
  if (!found.rejects.length && !offset) return message("Everything was indexed.");
  const rows = found.rejects.map((reject) => el("tr", {}, rowHead(short(reject.source, 100)), numberCell(reject.line === null ? "" : count(reject.line)),
    el("td", {}, reject.kind), numberCell(count(reject.count)), el("td", {}, short(reject.reason ?? "", 300))));
  return [dataTable(["source", ["line", "number"], "kind", ["count", "number"], "reason"], rows), pages];
});

function pages(offset, total, show) {
  if (total <= PAGE_ROWS) return null;
  return el("div", { class: "row" },
    button("Previous", () => show(Math.max(0, offset - PAGE_ROWS)), { disabled: offset === 0 }),
    el("span", { class: "quiet" }, `${count(offset + 1)} to ${count(Math.min(total, offset + PAGE_ROWS))} of ${count(total)}`),
    button("Next", () => show(offset + PAGE_ROWS), { disabled: offset + PAGE_ROWS >= total }));
}

async function showTable(number) {
  const place = $("view-table");
  await shown(place, async () => {
    const table = await get(`/api/tables/${encodeURIComponent(number)}`);
    const asked = { ...table, reference: { table: table.table_id } };
    const take = () => { go("search"); choose(table, asked.reference); };
    const search = (key) => { take(); return searchWith(key); };
    const near = el("div");
    fill(place, el("h1", {}, short(table.name)),
      el("p", { class: "quiet" }, `Table ${table.table_id}, ${counted(table.rows, "row")}, from ${short(table.source, 200)}`),
      el("div", { class: "row" }, button("Search with this table", take, { class: "primary", id: "take" })),
      el("div", { class: "card" }, ...columnTable(table), firstRows(table, true)),
      el("div", { class: "card", id: "neighbours" }, el("h2", {}, "Tables that join with it"), near));
    const json = { ...asked.reference, k: few };
    await shown(near, () => work("Looking for tables that join", (signal) => findKeys(asked, json, signal, search, near)));
  });
}

// ---- views

function route() {
  const [view, number] = location.hash.slice(1).split("/");
  const known = ["search", "tables", "table", "rejects"].includes(view) ? view : "search";
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== `view-${known}`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${known === "table" ? "tables" : known}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (known === "tables") { showTables(); showSources(); }
  if (known === "table") showTable(number);
  if (known === "rejects") showRejects();
}

function go(view) {
  location.hash = view;
  route(); // now, not when the browser sends the event
}

function start() {
  token();
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
  const drop = $("drop");
  $("file").addEventListener("change", (event) => { upload(event.target.files[0]); event.target.value = ""; });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) { go("search"); upload(event.dataTransfer.files[0]); }
    });
  }
  let typing = 0;
  $("words").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => showTables(), 150); });
  $("find").addEventListener("submit", (event) => { event.preventDefault(); showTables(); });
  $("refresh").addEventListener("click", refresh);
  addEventListener("hashchange", route);
  route();
  showLake();
}

start();
