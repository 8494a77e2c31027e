"""One HTML page that needs nothing besides itself: verdicts first, then figures and tables by experiment."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape

from experiments.definitions import ARRAYS
from experiments.registry import EXPERIMENTS
from experiments.reporting import rules, summary
from experiments.reporting.claims import Claim, Judgement
from experiments.reporting.figures import Drawn
from experiments.reporting.numbers import count
from experiments.reporting.page_style import CSS
from experiments.reporting.results import Results
from experiments.reporting.tables import Table
from experiments.reporting.verdicts import FEW, MARGIN, POINT, SIGNS, Verdict

STYLES = {
    Verdict.HOLDS: "holds",
    Verdict.IN_PART: "part",
    Verdict.FAILS: "fails",
    Verdict.UNDECIDED: "open",
    Verdict.UNTESTED: "none",
}
"""Classes of the page's style."""

SAID = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.IN_PART: ("holds in part", "hold in part"),
    Verdict.FAILS: ("does not hold", "do not hold"),
    Verdict.UNDECIDED: ("is undecided", "are undecided"),
    Verdict.UNTESTED: ("cannot be tested here", "cannot be tested here"),
}
"""What is said of one claim, and of several."""

HOW = f"""
<p>A claim of the paper is tested on each lake of its own, by a rule that stands with the claim. The words and numbers
of all rules are in one file, experiments/rules.toml, last changed on {escape(rules.changed())}</p>
<p> Where the paper speaks of all of its query sets, they are also taken together, and that decides;
else a claim holds if it does on every lake where it can be tested, and in part if lakes differ. Ratios are compared,
not seconds: machine, lakes and implementation are others than the paper's. A verdict on fewer than {FEW} queries
per set says so. Runtimes within {MARGIN:.0%} of each other and precisions within {POINT} count as equal. Query sets
weigh by their queries. Behind ratios and differences stands the range that they have in
{rules.threshold("confidence"):.0%} of {rules.threshold("resamples"):.0f} draws of the queries with replacement, the
same draws for both sides (paired bootstrap); a verdict that does not come out in as many of the draws is
<i>undecided</i>. Claims that rest on the same measurements name each other: their verdicts are not independent.</p>
<p>XASH is read in three ways: with the alpha that equation 5 gives for the lake at hand, with that of the paper's
corpus (6, 5 and 4 at 128, 256 and 512 bits), and as the code that the authors released has it (five characters at
every size, another rotation). Where they differ, the claim holds in part. Claims on runtime are tested on every engine
that searched, and on arrays in two measures: <i>without fetching</i>, as the paper has them (to hash, filter and
compare, and JOSIE's search), and of the whole search, which also looks values up, fetches, and names the answers.
All exact systems returned the same scores for every
query, or there would be no results.</p>
"""


def render(
    results: Results,
    judgements: Sequence[Judgement],
    tables: Mapping[str, Sequence[Table]],
    figures: Mapping[str, Sequence[Drawn]],
) -> str:
    """Return the page."""
    names = [name for name in EXPERIMENTS if name in results.frames]
    parts = [
        "<h1>MATE, measured again</h1>",
        f"<p class=lead>{lead(results, judgements)}</p>",
        _nav(names, bool(results.gaps)),
        _warning(results),
        _overview(results, judgements),
        missing(results),
        f"<h2 id=verdicts>The paper's claims</h2>{HOW}",
        _verdicts(judgements),
        *(_section(results, name, figures.get(name, ()), tables.get(name, ())) for name in names),
        *(f"<h2 id=released>Not counted</h2>{table.html()}" for table in tables.get("released", ())),
    ]
    body = "\n".join(filter(None, parts))
    return whole("MATE, measured again", body)


def whole(title: str, body: str) -> str:
    """Return a page that needs nothing besides itself."""
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<title>{escape(title)}</title><style>{CSS}</style>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def findings(judgements: Sequence[Judgement]) -> str:
    """Return a line per claim: what the paper says and its numbers, and the verdict by engine and measure."""
    rows = "".join(
        f"<tr class=first><td class=claim><b>{escape(found.claim.name)}</b> <span class=note>"
        f"{escape(found.claim.section)}</span></td><td class=paper>{escape(found.claim.published())}</td>"
        f"<td>{_findings(found)}</td></tr>"
        for found in summary.by_claim(judgements)
    )
    head = "<tr><th>claim</th><th>paper</th><th>in all, and lake by lake</th></tr>"
    return f"<table class=verdicts><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _findings(found: summary.ClaimVerdicts) -> str:
    lines = []
    for place, verdict in found.engines.items():
        own = [j for j in found.judgements if j.place == place and j.lake]
        lakes = ", ".join(f"{escape(j.lake)}&nbsp;{SIGNS[j.verdict]}" for j in own)
        lines.append(f"{_mark(verdict)} <span class=note>{escape(place)}: {lakes}</span>")
    return "<br>".join(lines)


def lead(results: Results, judgements: Sequence[Judgement]) -> str:
    """Return how many claims got which verdict, in words."""
    claims = summary.by_claim(judgements)
    told = _tally([found.verdict for found in claims])
    others = dict.fromkeys(engine for found in claims for engine in list(found.engines)[1:])
    for engine in others:
        timed = [found.engines[engine] for found in claims if found.claim.timed and engine in found.engines]
        where = "of the whole search" if engine == ARRAYS else f"on {engine}"
        told += f". Of {count(len(timed), 'claim')} on runtime, {where} {_tally(timed)}"
    if others:
        told += f". The verdict on {count(sum(found.depends for found in claims), 'claim')} {summary.DEPENDS}"
    lakes = ", ".join(results.title(lake) for lake in results.lakes)
    real = " (made-up lakes do not count)" if len(set(map(bool, results.lakes.values()))) > 1 else ""
    return escape(
        f"{count(len(claims), 'claim')} of MATE: Multi-Attribute Table Extraction (VLDB 2022), tested on {lakes}. "
        f"In all{real}, {told}."
    )


def _tally(found: Sequence[Verdict]) -> str:
    counts = {verdict: found.count(verdict) for verdict in Verdict}
    return ", ".join(f"{number} {SAID[verdict][number > 1]}" for verdict, number in counts.items() if number)


def _nav(names: Sequence[str], gaps: bool) -> str:
    links = ["<a href=#verdicts>claims</a>", *(["<a href=#missing>missing</a>"] if gaps else [])]
    links += [f"<a href=#{name}>{name}</a>" for name in names]
    return f"<nav>{' '.join(links)}</nav>"


def _warning(results: Results) -> str:
    made_up = [results.title(lake) for lake, label in results.lakes.items() if label]
    if not made_up:
        return ""
    which = "All results" if len(made_up) == len(results.lakes) else f"The results for {', '.join(made_up)}"
    told = "come from synthetic tables, which are made up. They show that everything runs, and little of real lakes."
    return f"<p class=warn>{escape(which)} {told}</p>"


def _overview(results: Results, judgements: Sequence[Judgement]) -> str:
    return f"{summary.counts(judgements).html()}{summary.lakes(results).html()}{facts(results)}"


def facts(results: Results) -> str:
    """Return machine, versions, scale and dates."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in summary.machine(results))
    return f"<dl>{items}</dl>"


def missing(results: Results) -> str:
    """Return what is not in the results, and what was left out."""
    items = [
        f"<li>{escape(gap.experiment)}: {escape(gap.what)}"
        + (f"<br><code>{escape(gap.command)}</code>" if gap.command else "")
        + "</li>"
        for gap in results.gaps
    ]
    parts = [f"<h2 id=missing>What is missing</h2><ul>{''.join(items)}</ul>"] if items else []
    notes = "".join(f"<li>{escape(note)}</li>" for note in results.notes)
    parts += [f"<h3>Left out, and query sets with few tables</h3><ul>{notes}</ul>"] if notes else []
    return "".join(parts)


def _verdicts(judgements: Sequence[Judgement]) -> str:
    rows = "".join(_claim(found) for found in summary.by_claim(judgements))
    head = "<tr><th>claim</th><th>paper</th><th>measured here</th><th>verdict</th></tr>"
    return f"<table class=verdicts><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _claim(found: summary.ClaimVerdicts) -> str:
    """Return the rows of a claim: what it says and the paper's numbers once, then lake by lake, then the rule."""
    claim, judgements, rows = found.claim, found.judgements, []
    for place, judgement in enumerate(judgements):
        first = ""
        if place == 0:
            span = f" rowspan={len(judgements)}" if len(judgements) > 1 else ""
            first = f"<td class=claim{span}>{_said(found)}</td>"
            first += f"<td class=paper data-label=paper{span}>{escape(claim.published())}</td>"
        rows.append(
            f"<tr{' class=first' if place == 0 else ''}>{first}<td data-label=measured>{_measured(judgement)}</td>"
            f"<td>{_verdict(judgement)}</td></tr>"
        )
    return "".join(rows) + f"<tr class=how><td colspan=4>{_how(claim, judgements)}</td></tr>"


def _said(found: summary.ClaimVerdicts) -> str:
    claim, together = found.claim, ""
    if len(found.judgements) > 1:
        several = len(found.engines) > 1
        marks = (_mark(v) + (f" on {escape(engine)}" if several else "") for engine, v in found.engines.items())
        depends = f"<br><b>{summary.DEPENDS}</b>" if found.depends else ""
        together = f"<br><span class=note>in all: {', '.join(marks)}{depends}</span>"
    return (
        f"<b>{escape(claim.name)}</b> <span class=note>section {escape(claim.section)}</span><br>"
        f"<span class=said>{escape(claim.said)}</span>{together}"
    )


def _how(claim: Claim, judgements: Sequence[Judgement]) -> str:
    """Return the rule, the cases and the commands of a claim, folded away."""
    commands = dict.fromkeys(j.command for j in judgements if j.command)
    cases = "".join(_cases(j) for j in judgements if j.finding.cases)
    made = "".join(f"<pre>{escape(command)}</pre>" for command in commands)
    rule = f"<p class=note>{escape(claim.rule)}.</p>"
    if claim.related:
        rule += f"<p class=note>Not independent of: {escape('; '.join(claim.related))}.</p>"
    return f"<details><summary>rule, cases, command</summary>{rule}{cases}{made}</details>"


def _cases(judgement: Judgement) -> str:
    signs = {1: "+", 0: "=", -1: "−"}
    items = "".join(f"<li>{signs[c.lean]} {escape(c.name)}: {escape(c.text)}</li>" for c in judgement.finding.cases)
    return f"<p class=lake>{escape(judgement.title)}</p><ul class=cases>{items}</ul>"


def _measured(judgement: Judgement) -> str:
    finding = judgement.finding
    lake = f"<span class=lake>{escape(judgement.title)}</span>: " if judgement.title else ""
    if not finding.readings:
        return lake + escape(finding.measured)
    differ = len({verdict for _, _, verdict in finding.readings}) > 1
    lines = (
        f"<br>{escape(name)}: {escape(told)}" + (f" <i>({escape(verdict)})</i>" if differ else "")
        for name, told, verdict in finding.readings
    )
    return lake + "".join(lines)


def _mark(verdict: Verdict) -> str:
    return f'<span class="v {STYLES[verdict]}">{SIGNS[verdict]} {escape(verdict)}</span>'


def _verdict(judgement: Judgement) -> str:
    told = "; ".join(filter(None, (judgement.finding.stands_on, judgement.finding.needs)))
    return _mark(judgement.verdict) + (f"<br><span class=note>{escape(told)}</span>" if told else "")


def _section(results: Results, name: str, figures: Sequence[Drawn], tables: Sequence[Table]) -> str:
    experiment = EXPERIMENTS[name]
    images = "".join(figure(drawn) for drawn in figures)
    own = results.lakes_of(name) or results.lakes
    commands = dict.fromkeys(
        command for (owner, lake, _), command in results.commands.items() if owner == name and lake in own
    )
    made = "".join(f"<pre>{escape(command)}</pre>" for command in commands if command)
    left = "".join(f"<li>{escape(gap.what)}</li>" for gap in results.gaps if gap.experiment == name)
    lacking = f"<p class=warn>Not complete:</p><ul>{left}</ul>" if left else ""
    return (
        f"<h2 id={name}>{escape(experiment.regenerates)}: {escape(experiment.what)}</h2>{lacking}{images}"
        f"{''.join(table.html() for table in tables)}<p class=note>Made with:</p>{made}"
    )


def figure(drawn: Drawn) -> str:
    """Return a figure inside the page, all figures at the same scale."""
    data = base64.b64encode(drawn.png).decode("ascii")
    width = f"{drawn.figure.get_size_inches()[0] * 7:.0f}rem"
    return (
        f'<figure><img style="width:{width}" src="data:image/png;base64,{data}" alt="{escape(drawn.title)}">'
        f"<figcaption>{escape(drawn.caption)}</figcaption></figure>"
    )
