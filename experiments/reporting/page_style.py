"""The looks of the page: plain, printable, readable on a phone; no script, nothing fetched."""

CSS = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.2rem 4rem; max-width: 68rem; background: #fff; color: #1a1a1a;
  font: 16px/1.5 Georgia, "Times New Roman", serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .4rem; padding-top: .6rem; border-top: 1px solid #999; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
p { margin: .4rem 0 .8rem; max-width: 46rem; }
a { color: #004a7c; }
code, pre { font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; }
pre { background: #f4f4f2; padding: .5rem .7rem; overflow-x: auto; margin: .3rem 0 .8rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
nav { font-size: .92rem; margin: 1rem 0; }
nav a { margin-right: .9rem; white-space: nowrap; }
.note, figcaption, .lead { color: #444; font-size: .92rem; }
.warn { border-left: 4px solid #b35900; padding: .4rem .8rem; background: #fdf6ee; max-width: none; }
.wide { overflow-x: auto; margin: .8rem 0 .3rem; }
table { border-collapse: collapse; font: 13px/1.4 "Helvetica Neue", Arial, sans-serif; }
caption { text-align: left; font-weight: bold; padding: .3rem 0; }
thead th { border-bottom: 1.5px solid #333; border-top: 1.5px solid #333; vertical-align: bottom; }
tbody td, tbody th { border-bottom: 1px solid #ddd; }
th, td { padding: .22rem .5rem; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th { font-weight: 600; }
tbody th { font-weight: normal; }
thead th[colspan] { text-align: center; border-bottom: 1px solid #999; }
th[scope=row], th.name { text-align: left; }
td.text { text-align: left; white-space: normal; min-width: 9rem; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; display: block; }
figcaption { margin-top: .2rem; }
details { margin: .3rem 0; }
summary { cursor: pointer; color: #004a7c; font-size: .92rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem; font-size: .92rem; margin: .6rem 0; }
dt { color: #555; } dd { margin: 0; overflow-wrap: anywhere; }
table.verdicts { width: 100%; font-size: 13.5px; }
table.verdicts td, table.verdicts th { white-space: normal; text-align: left; vertical-align: top; }
table.verdicts td { padding: .45rem .5rem; }
table.verdicts td.claim { width: 31%; } table.verdicts td.paper { width: 20%; }
table.verdicts tr.first td { border-top: 1.5px solid #777; }
table.verdicts tbody td { border-bottom: 1px solid #e4e4e4; overflow-wrap: break-word; }
table.verdicts b { font-size: 14.5px; }
table.verdicts q, .said { color: #444; quotes: none; }
table.verdicts .note { font-size: 12.5px; } table.verdicts .said { font-size: 13px; }
table.verdicts tr.how td { padding-top: 0; border-bottom: 0; } tr.how details { margin: 0; }
.lake { font-weight: 600; margin: .3rem 0; }
.v { display: inline-block; padding: .05rem .45rem; border: 1.5px solid; border-radius: 3px; font-weight: 600;
  white-space: nowrap; }
.holds { color: #00512e; background: #e6f4ec; } .part { color: #6b4a00; background: #fdf3dc; }
.fails { color: #7d1416; background: #fbe9e7; } .open { color: #1d3f72; background: #e8eef8; border-style: dotted; }
.none { color: #444; background: #f0f0f0; border-style: dashed; }
ul { padding-left: 1.2rem; } li { margin: .15rem 0; }
ul.cases { columns: 3; margin: .2rem 0 .6rem; padding-left: 1.1rem;
  font: 12.5px/1.5 "Helvetica Neue", Arial, sans-serif; }
@media (max-width: 46rem) {
  body { padding: 1rem .8rem 3rem; font-size: 15.5px; }
  ul.cases { columns: 1; }
  dl { grid-template-columns: 1fr; } dt { margin-top: .3rem; }
  table.verdicts thead { display: none; }
  table.verdicts, table.verdicts tbody, table.verdicts tr, table.verdicts td { display: block; width: 100% !important; }
  table.verdicts td { border-bottom: 0 !important; padding: .15rem 0; }
  table.verdicts tr { padding: .4rem 0; border-bottom: 1px solid #ddd; }
  table.verdicts td[data-label]::before { content: attr(data-label) ": "; color: #666; }
  table.verdicts tr.first td { border-top: 0; }
  table.verdicts tr.first { border-top: 2px solid #777; padding-top: .6rem; }
}
@page { size: A4 landscape; margin: 12mm; }
@media print {
  body { max-width: none; font-size: 10.5pt; padding: 0; }
  figure img { max-height: 155mm; width: auto !important; }
  h2 { break-after: avoid; } figure, tr { break-inside: avoid; } nav { display: none; }
  .wide { overflow: visible; } .wide table { font-size: 6pt; } .wide th, .wide td { padding: .08rem .14rem; }
}
"""
