"""A line of code knows its room: which package, and which part of the library, may import which."""

import ast
import re
from pathlib import Path

import pytest

import mate

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "mate": {"mate"},
    "baselines": {"mate", "baselines"},
    "experiments": {"mate", "baselines", "experiments"},
    "benchmarks": {"mate", "baselines", "experiments", "benchmarks"},
}
OURS = {*ALLOWED, "tests", "notebooks"}
ANYWHERE = {"native", "errors", "limits", "display", "extras", "files", "storage", "termination", "work"}
ROOMS = {
    "native": {"native"},
    "values": {"values"},
    "hashing": {"values", "hashing"},
    "lake": {"values", "hashing", "lake"},
    "corpus": {"values", "corpus"},
    "search": {"values", "hashing", "lake", "corpus", "search"},
    "build": {"values", "hashing", "lake", "corpus", "build", "stores"},
    "sql": {"values", "hashing", "lake", "corpus", "search", "build", "sql", "stores"},
    "api": {"values", "hashing", "lake", "corpus", "search", "build", "sql", "stores", "api"},
    "web": {"web"},
    "mcp": {"mcp", "web"},
    "cli": {"cli", "web", "mcp"},
}
"""What each room of the library may import, besides what is allowed anywhere. The page and the command line
`import mate`; assistants get the answers of the page's service."""


def imports(path: Path) -> set[str]:
    """Return the full names of the modules that a file imports, or as Cython says, cimports."""
    names = set()
    if path.suffix != ".py":
        return {
            name for name, _ in re.findall(r"^from (\S+) (cimport|import) ", path.read_text(encoding="utf-8"), re.M)
        }
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.update({node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names})
    return names


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_packages_import_only_what_they_may(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.py")):
        ours = {name.split(".")[0] for name in imports(path)} & OURS
        assert ours <= ALLOWED[package], f"{path.relative_to(ROOT)} imports {ours - ALLOWED[package]}"


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_rooms_import_only_what_they_may(room: str) -> None:
    known = {path.stem for path in (ROOT / "mate").iterdir()} - {"__init__", "__pycache__", "py"}
    for path in sorted(path for ending in ("py", "pyx", "pxd") for path in (ROOT / "mate" / room).rglob(f"*.{ending}")):
        parts = {name.split(".")[1] for name in imports(path) if name.startswith("mate.")} & known
        wrong = parts - ROOMS[room] - ANYWHERE
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


def test_every_room_has_its_rules() -> None:
    rooms = {path.name for path in (ROOT / "mate").iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(ROOMS)


def test_spark_stays_in_the_build_and_database_clients_in_their_room() -> None:
    for path in sorted((ROOT / "mate").rglob("*.py")):
        place = path.relative_to(ROOT / "mate").as_posix()
        heads = {name.split(".")[0] for name in imports(path)}
        assert "pyspark" not in heads or place.startswith("build/"), place
        clients = {"vertica_python", "psycopg", "duckdb"} & heads
        assert not clients or place.startswith("sql/dialects/"), place


@pytest.mark.parametrize("room", ["cli", "web", "mcp"])
def test_page_and_command_line_use_public_names_only(room: str) -> None:
    """`from mate import X` and `mate.X` are names that everybody may use."""
    known = {path.stem for path in (ROOT / "mate").iterdir()}
    public = {*mate.__all__, "__version__"}
    for path in sorted((ROOT / "mate" / room).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {name.split(".")[1] for name in imports(path) if name.startswith("mate.")} - known
        used |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "mate"
        }
        assert used <= public, f"{path.relative_to(ROOT)} uses {used - public}"
