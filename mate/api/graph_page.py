"""The page of a graph: search a table, see its neighbours, filter by evidence. It loads nothing from anywhere.

All that comes from data is set as text, never as HTML.
"""

from __future__ import annotations

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{{title}}: tables that join</title>
<style>
:root{color-scheme:light dark;--back:#fff;--front:#1c2126;--soft:#5d6873;--line:#d9dfe5;--panel:#f5f7f9;--join:#2f6fc7;
--copy:#b35c00;--bar:#d5e3f5}
@media (prefers-color-scheme:dark){:root{--back:#14181c;--front:#e6eaee;--soft:#9aa6b2;--line:#323a42;--panel:#1c2228;
--join:#78aef5;--copy:#f0a04b;--bar:#2a405c}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--front);font:14px/1.45 system-ui,sans-serif}
header{padding:12px 20px;border-bottom:1px solid var(--line)}
h1{font-size:17px;margin:0;overflow-wrap:anywhere}
h2{font-size:16px;margin:0 0 2px;overflow-wrap:anywhere}
.soft{color:var(--soft)}
main{display:grid;grid-template-columns:280px minmax(0,1fr);min-height:calc(100vh - 66px)}
nav{border-right:1px solid var(--line);background:var(--panel);padding:14px}
section{padding:14px 20px;min-width:0}
input[type=search]{width:100%;padding:7px 9px;font:inherit;color:inherit;background:var(--back);
border:1px solid var(--line);border-radius:5px}
#found{list-style:none;margin:10px 0 0;padding:0;max-height:calc(100vh - 160px);overflow:auto}
#found button{display:flex;gap:8px;width:100%;text-align:left;font:inherit;color:inherit;background:none;border:0;
border-radius:4px;padding:4px 6px;cursor:pointer}
#found button:hover,#found button:focus-visible,#found button[aria-current=true]{background:var(--bar)}
#found span:first-child{flex:1;min-width:0;overflow-wrap:anywhere}
.filters{display:flex;flex-wrap:wrap;gap:6px 22px;align-items:center;margin:12px 0;padding:8px 12px;
background:var(--panel);border:1px solid var(--line);border-radius:6px}
.filters label{display:flex;gap:7px;align-items:center}
svg{display:block;width:100%;max-width:880px;height:auto;margin:4px auto}
svg text{fill:var(--front);font-size:12px}
svg .end{cursor:pointer}
svg .end:hover text,svg .end:focus text{text-decoration:underline}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{padding:4px 7px;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;vertical-align:bottom}
td.kind{white-space:nowrap;color:var(--soft)}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.text{min-width:9em;overflow-wrap:anywhere}
.share{display:inline-block;min-width:54px;padding:0 5px;border-radius:3px;
background:linear-gradient(90deg,var(--bar) var(--part),transparent var(--part));border:1px solid var(--line)}
a{color:var(--join)}
.copy,td.copy{color:var(--copy)}
.chips{display:flex;flex-wrap:wrap;gap:5px;margin:6px 0}
.chips span{border:1px solid var(--line);border-radius:4px;padding:0 6px;overflow-wrap:anywhere}
@media (max-width:760px){main{grid-template-columns:minmax(0,1fr)}nav{border-right:0}#found{max-height:220px}
#picture svg{display:none}}
</style>
</head>
<body>
<header><h1>{{title}}</h1><div class="soft" id="summary"></div></header>
<main>
<nav>
<input type="search" id="search" placeholder="Search tables, columns, sources" aria-label="Search tables">
<ul id="found"></ul>
</nav>
<section>
<div id="table"></div>
<div class="filters">
<label>of key at least <input type="range" id="containment" min="0" max="100" value="0"><output></output></label>
<label>unique at least <input type="range" id="uniqueness" min="0" max="100" value="0"><output></output></label>
<label>key columns at least <input type="range" id="width" min="1" max="4" value="1"><output></output></label>
<label><input type="checkbox" id="join" checked> joins</label>
<label><input type="checkbox" id="copy" checked> duplicates</label>
</div>
<div id="picture"></div>
<div class="scroll" id="edges"></div>
</section>
</main>
<script type="application/json" id="data">{{data}}</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes.map(([id, name, source, rows, columns, group], place) =>
  ({id, name, source, rows, columns, group, place, edges: []}));
const edges = data.edges.map(([child, parent, ...values]) => {
  const edge = {child: nodes[child], parent: nodes[parent]};
  data.fields.forEach((field, place) => { edge[field] = values[place]; });
  edge.child.edges.push(edge);
  edge.parent.edges.push(edge);
  return edge;
});
const texts = nodes.map(node => [node.name, node.source, ...node.columns].join("\\n").toLowerCase());
const groups = new Map();
for (const node of nodes) if (node.group !== null)
  groups.set(node.group, [...(groups.get(node.group) || []), node]);
const MOST_FOUND = 200, MOST_DRAWN = 24, MOST_ROWS = 300, SVG = "http://www.w3.org/2000/svg";
const at = id => document.getElementById(id);
const many = (count, what) => count.toLocaleString("en") + " " + what + (count === 1 ? "" : "s");
const title = node => node.name || "table " + node.id;
let chosen = null;

function made(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}
function drawn(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
function showFound() {
  const wanted = at("search").value.trim().toLowerCase().split(/\\s+/).filter(Boolean);
  let found = nodes.filter((node, place) => wanted.every(word => texts[place].includes(word)));
  const named = new Set(found.filter(node => wanted.every(word => node.name.toLowerCase().includes(word))));
  found.sort((one, other) => named.has(other) - named.has(one) || other.edges.length - one.edges.length
    || one.place - other.place);
  const items = found.slice(0, MOST_FOUND).map(node => {
    const button = made("button", {type: "button", "aria-current": node === chosen},
      made("span", {}, title(node)), made("span", {class: "soft"}, String(node.edges.length)));
    button.addEventListener("click", () => choose(node));
    return made("li", {}, button);
  });
  const left = found.length - MOST_FOUND;
  if (left > 0) items.push(made("li", {class: "soft"}, "and " + left.toLocaleString("en") + " more"));
  if (!found.length) items.push(made("li", {class: "soft"}, "no table"));
  at("found").replaceChildren(...items);
}
function kept() {
  const least = id => Number(at(id).value);
  return chosen.edges.filter(edge => edge.kind === "join"
    ? at("join").checked && edge.containment * 100 >= least("containment")
      && edge.uniqueness * 100 >= least("uniqueness") && edge.key.length >= least("width")
    : at("copy").checked && edge.containment * 100 >= least("containment"))
    .sort((one, other) => other.usefulness - one.usefulness || (other.names || 0) - (one.names || 0));
}
function other(edge) { return edge.child === chosen ? edge.parent : edge.child; }
function link(node) {
  return made("a", {href: "#" + node.id}, title(node));
}
function share(value) {
  if (value === null) return made("td", {});
  const percent = Math.round(value * 100) + "%";
  return made("td", {class: "number"}, made("span", {class: "share", style: "--part:" + percent}, percent));
}
function pairs(edge) {
  const out = edge.child === chosen;
  return edge.kind !== "join" ? "all columns" : edge.key.map((key, place) =>
    (out ? [key, edge.columns[place]] : [edge.columns[place], key]).join(" = ")).join(", ");
}
function row(edge) {
  const join = edge.kind === "join", out = edge.child === chosen;
  const fan = edge.fan_out === null ? "" : edge.most_fan_out === edge.fan_out ? String(edge.fan_out)
    : edge.fan_out.toFixed(1) + " (max " + edge.most_fan_out.toLocaleString("en") + ")";
  return made("tr", {},
    made("td", {class: join ? "kind" : "kind copy"},
      join ? (out ? "finds its key in" : "holds the key of") : edge.kind),
    made("td", {class: "text"}, link(other(edge))), made("td", {class: "text"}, pairs(edge)),
    made("td", {class: "number"}, edge.joinability.toLocaleString("en")), share(edge.containment),
    share(edge.uniqueness), made("td", {class: "number"}, fan),
    made("td", {class: "number"}, edge.chance ? (edge.joinability / edge.chance).toFixed(1) + "×" : ""),
    share(edge.names));
}
function cut(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }
function picture(shown) {
  const best = new Map();
  for (const edge of shown) if (!best.has(other(edge))) best.set(other(edge), edge);
  const ends = [...best].slice(0, MOST_DRAWN);
  if (!ends.length) return [];
  const height = Math.max(150, 26 * Math.ceil(ends.length / 2) + 50), middle = height / 2;
  const svg = drawn("svg", {viewBox: "0 0 880 " + height, role: "img", "aria-label": "neighbours of " + title(chosen)});
  ends.forEach(([node, edge], place) => {
    const right = place % 2 === 0, side = Math.floor(place / 2);
    const all = right ? Math.ceil(ends.length / 2) : ends.length >> 1;
    const x = right ? 610 : 270, y = middle + (side - (all - 1) / 2) * 26;
    const color = edge.kind === "join" ? "var(--join)" : "var(--copy)";
    const start = right ? 500 : 380, bend = (start + x) / 2;
    const path = drawn("path", {d: `M${start} ${middle} C${bend} ${middle} ${bend} ${y} ${x} ${y}`, fill: "none",
      stroke: color, "stroke-width": 1 + 3 * edge.usefulness, opacity: .75});
    const group = drawn("g", {class: "end", tabindex: 0, role: "link"});
    group.append(drawn("circle", {cx: x, cy: y, r: 4, fill: color}),
      drawn("text", {x: right ? x + 9 : x - 9, y: y + 4, "text-anchor": right ? "start" : "end"}, cut(title(node), 38)),
      drawn("title", {}, title(node) + ": " + pairs(edge)));
    group.addEventListener("click", () => choose(node));
    group.addEventListener("keydown", event => { if (event.key === "Enter") choose(node); });
    svg.append(path, group);
  });
  svg.append(drawn("rect", {x: 340, y: middle - 15, width: 200, height: 30, rx: 6, fill: "var(--panel)",
    stroke: "var(--line)"}), drawn("text", {x: 440, y: middle + 4, "text-anchor": "middle", "font-weight": 600},
    cut(title(chosen), 27)));
  return best.size > ends.length
    ? [svg, made("div", {class: "soft"}, "the " + ends.length + " closest of " + many(best.size, "neighbour"))] : [svg];
}
function showChosen() {
  for (const id of ["containment", "uniqueness", "width"])
    at(id).nextElementSibling.value = at(id).value + (id === "width" ? "" : "%");
  if (chosen === null) return;
  const shown = kept();
  const same = (groups.get(chosen.group) || []).filter(node => node !== chosen);
  const parts = [made("h2", {}, title(chosen)),
    made("div", {class: "soft"}, "table " + chosen.id + ", " + many(chosen.rows, "row") + ", " + chosen.source),
    made("div", {class: "chips"}, ...chosen.columns.map(name => made("span", {}, name)))];
  if (same.length) {
    const links = same.slice(0, 12).flatMap((node, place) => place ? [", ", link(node)] : [link(node)]);
    const more = same.length > 12 ? ", and " + (same.length - 12) + " more" : "";
    parts.push(made("div", {}, "Same columns (could be united): ", ...links, more));
  }
  at("table").replaceChildren(...parts);
  at("picture").replaceChildren(...picture(shown));
  if (!shown.length) {
    const why = chosen.edges.length ? "no edge passes the filters" : "no join";
    at("edges").replaceChildren(made("p", {class: "soft"}, why));
    return;
  }
  const heads = ["", "table", "on", "matches", "of key", "unique", "rows per match", "vs chance", "names"];
  const table = made("table", {}, made("thead", {}, made("tr", {}, ...heads.map(text => made("th", {}, text)))),
    made("tbody", {}, ...shown.slice(0, MOST_ROWS).map(row)));
  const left = shown.length - MOST_ROWS;
  const more = left > 0 ? [made("p", {class: "soft"}, "and " + many(left, "more edge")
    + ": raise the filters, or see edges.parquet")] : [];
  at("edges").replaceChildren(table, ...more);
}
function choose(node) {
  chosen = node;
  if (location.hash !== "#" + node.id) history.pushState(null, "", "#" + node.id);
  showFound();
  showChosen();
}
function follow() {
  const wanted = nodes.find(node => String(node.id) === location.hash.slice(1));
  const first = [...nodes].sort((one, other) => other.edges.length - one.edges.length || one.place - other.place)[0];
  if (wanted || first) choose(wanted || first);
}
const joins = edges.filter(edge => edge.kind === "join").length;
at("summary").textContent = many(nodes.length, "table") + ", " + many(joins, "join") + ", "
  + many(edges.length - joins, "pair") + " of duplicates, " + many(groups.size, "group") + " with the same columns";
at("search").addEventListener("input", showFound);
for (const id of ["containment", "uniqueness", "width", "join", "copy"]) at(id).addEventListener("input", showChosen);
addEventListener("hashchange", follow);
addEventListener("popstate", follow);
showFound();
follow();
</script>
</body>
</html>
"""
"""`{{title}}` and `{{data}}` stand for what is filled in."""
