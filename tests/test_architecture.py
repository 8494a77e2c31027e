"""A line of code knows its room: which package may import which."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "mate": {"mate"},
    "baselines": {"mate", "baselines"},
    "experiments": {"mate", "baselines", "experiments"},
    "benchmarks": {"mate", "baselines", "experiments", "benchmarks"},
}
OURS = {*ALLOWED, "tests", "notebooks"}


def imports(path: Path) -> set[str]:
    """Return the full names of the modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_packages_import_only_what_they_may(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.py")):
        ours = {name.split(".")[0] for name in imports(path)} & OURS
        assert ours <= ALLOWED[package], f"{path.relative_to(ROOT)} imports {ours - ALLOWED[package]}"


def test_spark_stays_in_the_pipeline_and_vertica_in_its_store() -> None:
    for path in sorted((ROOT / "mate").rglob("*.py")):
        place = path.relative_to(ROOT / "mate").as_posix()
        heads = {name.split(".")[0] for name in imports(path)}
        assert "pyspark" not in heads or place.startswith(("build/", "corpus/", "sql/")), place
        assert "vertica_python" not in heads or place.startswith("sql/"), place
