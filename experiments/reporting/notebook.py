"""What the notebooks call: results from where the environment says, drawn into the notebook."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments.errors import RecordError
from experiments.reporting.claims import verdicts
from experiments.reporting.figures import figures
from experiments.reporting.results import Results, read_results
from experiments.reporting.tables import tables
from experiments.reporting.writing import verdict_table

VARIABLE = "MATE_RESULTS"
"""The environment variable with the folder of results."""
DEFAULT = "../results"
WIDTH = 900

_shown: Any = import_module("IPython.display")  # without types


def open_results() -> Results | None:
    """Read the stored results and say what they are; if there are none, say how to make them."""
    root = Path(os.environ.get(VARIABLE, DEFAULT))
    try:
        results = read_results(root)
    except RecordError as error:
        _shown.display(_shown.Markdown(f"**No results to show.** {_plain(str(error), root)}"))
        return None
    made_up = [results.title(lake) for lake, label in results.lakes.items() if label]
    scales = ", ".join(dict.fromkeys(str(fact.get("scale")) for fact in results.facts))
    told = f"Results of scale {scales}, on: {', '.join(results.title(lake) for lake in results.lakes)}."
    if made_up:
        told += f" {', '.join(made_up)}: made-up tables, which say little of real lakes."
    _shown.display(_shown.Markdown(told))
    return results


def _plain(text: str, root: Path) -> str:
    """Return a message without the folders of this machine."""
    return text.replace(str(root), DEFAULT if VARIABLE not in os.environ else f"${VARIABLE}")


def show(results: Results | None, experiment: str, *names: str) -> None:
    """Show the figures and tables of an experiment, or those that are named; say so if it is not there."""
    if results is None:
        return
    if not results.has(experiment):
        command = f"python -m experiments run {experiment}"
        _shown.display(_shown.Markdown(f"**{experiment} is not in the results.** Make it with: `{command}`"))
        return
    for drawn in figures(results, experiment):
        if not names or drawn.name in names:
            _shown.display(_shown.Image(drawn.png, width=WIDTH, alt=drawn.title), _shown.Markdown(f"*{drawn.caption}*"))
    for table in tables(results, experiment):
        if (not names or table.name in names) and not table.minor:
            _shown.display(_shown.HTML(table.html()))


def show_claims(results: Results | None, *experiments: str) -> None:
    """Show what became of the paper's claims that some experiments test."""
    if results is None:
        return
    found = [judgement for judgement in verdicts(results, experiments) if judgement.claim.experiments[0] in experiments]
    _shown.display(_shown.HTML(verdict_table(found).html()))
