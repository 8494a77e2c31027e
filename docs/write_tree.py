"""`python docs/write_tree.py`: write the tree of packages into architecture.md, with the lines that each has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- tree: python docs/write_tree.py -->", "<!-- end of the tree -->"
CODE = (".py", ".pyx", ".pxd", ".pyi", ".h", ".js", ".css", ".html")
OTHERS = ("baselines", "experiments", "benchmarks", "tests")


def packages(folder: Path, depth: int = 0) -> Iterator[tuple[int, Path]]:
    """Yield the packages below a folder, each with its depth, parents first."""
    for path in sorted(folder.iterdir()):
        if (path / "__init__.py").exists():
            yield depth, path
            yield from packages(path, depth + 1)


def summary(package: Path) -> str:
    """Return the first sentence of a package's docstring."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def lines(folder: Path) -> int:
    """Count the lines of code below a folder."""
    files = (path for path in folder.rglob("*") if path.suffix in CODE and "__pycache__" not in path.parts)
    return sum(len(path.read_bytes().splitlines()) for path in files)


def tree(*, counts: bool = True) -> str:
    """Return the tree as a table."""
    rows = ["| package | lines | what |", "|---|--:|---|"]
    top = [(0, ROOT / "mate"), *((depth + 1, path) for depth, path in packages(ROOT / "mate"))]
    for depth, path in [*top, *((0, ROOT / name) for name in OTHERS)]:
        name = f"{'&emsp;' * depth}`{path.name}/`"
        rows.append(f"| {name} | {f'{lines(path):,}' if counts else ''} | {summary(path)} |")
    return "\n".join(rows)


def page() -> str:
    """Return the page with a new tree."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{tree()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
