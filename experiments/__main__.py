"""`python -m experiments`: the paper's tables and figures, measured again."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib import import_module

from mate.errors import MateError

COMMANDS = {
    "list": "experiments.listing",
    "fetch": "experiments.corpora.command",
    "run": "experiments.run",
    "report": "experiments.report",
    **dict.fromkeys(("table1", "table2", "table3", "figure4", "figure5", "figure6", "committee"), "experiments.layout"),
    "decide": "experiments.decide",
    "pack": "experiments.package",
    "unpack": "experiments.package",
}
"""Each module has ``add(commands)``, which declares commands; their ``run`` takes options and returns an exit code."""

DESCRIPTION = """\
Everything of the paper's section 7, on any corpus: see what there is (list), download the paper's corpora
(fetch), measure (run), compare (report), show one table or figure in the paper's layout (table1 to figure6), write a
page for a reproducibility committee (committee), measure more for what is undecided (decide), keep and pass on raw
results (pack, unpack).

  python -m experiments list
  python -m experiments fetch
  python -m experiments run --all --scale smoke
  python -m experiments report
  python -m experiments run --help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error of ours becomes one line on standard error."""
    root = argparse.ArgumentParser(
        prog="python -m experiments", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    given = sys.argv[1:] if arguments is None else arguments
    try:
        for module in dict.fromkeys(COMMANDS[name] for name in _asked(given)):
            import_module(module).add(commands)
        options = root.parse_args(given)
        logging.basicConfig(format="%(message)s", level=logging.WARNING)
        code: int = options.run(options)
    except ModuleNotFoundError as error:
        extra = "experiments" if error.name in ("matplotlib", "pandas", "pyspark") else "baselines"
        print(f"experiments: {error.name} is missing: pip install 'mate-discovery[{extra}]'", file=sys.stderr)
        return 2
    except (MateError, OSError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("experiments: interrupted", file=sys.stderr)
        return 130
    return code


def _asked(given: Sequence[str]) -> Sequence[str]:
    """Return the command that is asked for, else all: `fetch` needs none of the packages that `run` needs."""
    return given[:1] if given and given[0] in COMMANDS else tuple(COMMANDS)


if __name__ == "__main__":
    sys.exit(main())
