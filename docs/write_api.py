"""Write the reference part of docs/api.md from the code: python docs/write_api.py

A test compares the page with what this writes.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, is_typeddict

import mate

PAGE = Path(__file__).parent / "api.md"
INTERNAL = {"add", "check", "of", "record"}
"""Methods of records that only the library calls."""
BEGIN = "<!-- docs/write_api.py writes the rest of this page. -->\n"


def reference() -> str:
    """Return the reference: every public name with its signature and its methods."""
    functions = [name for name in mate.__all__ if inspect.isfunction(getattr(mate, name))]
    classes = [name for name in mate.__all__ if inspect.isclass(getattr(mate, name))]
    parts = ["## Functions\n", *(_function(f"mate.{name}", getattr(mate, name)) for name in functions)]
    return "\n".join([*parts, "## Classes\n", *(_class(name, getattr(mate, name)) for name in classes)])


def _function(name: str, function: Any) -> str:
    return f"**`{name}{_signature(function)}`**  \n{_text(function)}\n"


def _class(name: str, cls: type) -> str:
    lines = [f"### mate.{name}\n", f"{_text(cls)}\n"]
    if issubclass(cls, Exception):
        return "\n".join(lines)
    rows = [*_fields(cls), *_members(cls)]
    plain = [left for left, right in rows if not right]
    rows = [(left, right) for left, right in rows if right]
    if plain:
        lines.append(f"{', '.join(plain)}\n")
    if rows:
        lines += [*(f"- {left}: {right}" for left, right in rows), ""]
    return "\n".join(lines)


def _fields(cls: type) -> list[tuple[str, str]]:
    """Return the fields of a class itself, with the sentence that follows each in the source."""
    if not dataclasses.is_dataclass(cls) and not is_typeddict(cls) and not hasattr(cls, "_fields"):
        return []
    hidden = {f.name for f in dataclasses.fields(cls) if not f.repr} if dataclasses.is_dataclass(cls) else set()
    types, notes = inspect.get_annotations(cls), _notes(cls)
    names = notes if is_typeddict(cls) else types
    shown = [name for name in names if name not in hidden and not name.startswith("_")]
    return [(f"`{name}: {_type(types[name])}`", notes.get(name, "")) for name in shown]


def _type(kind: object) -> str:
    return kind if isinstance(kind, str) else getattr(kind, "__forward_arg__", str(kind))


def _notes(cls: type) -> dict[str, str]:
    """Return the text behind each annotated field of a class."""
    if cls.__module__ in ("builtins", "typing", "abc", "collections.abc"):
        return {}
    try:
        [body] = [node.body for node in ast.parse(inspect.getsource(cls)).body if isinstance(node, ast.ClassDef)]
    except (OSError, TypeError):
        return {}
    found = {}
    for node, after in pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(after, ast.Expr):
            found[node.target.id] = " ".join(str(ast.literal_eval(after.value)).split())
    return found


def _members(cls: type) -> list[tuple[str, str]]:
    """Return methods and properties of a class and its private bases; those of public bases stand there."""
    public = [getattr(mate, name) for name in mate.__all__ if getattr(mate, name) is not cls]
    rows = []
    for name, member in inspect.getmembers(cls):
        owner = next((c for c in cls.__mro__ if name in vars(c)), object)
        if name.startswith("_") or not owner.__module__.startswith("mate.") or owner in public:
            continue
        if name in INTERNAL and cls is not mate.Lake:
            continue
        raw = inspect.getattr_static(cls, name)
        if inspect.isfunction(raw) or isinstance(raw, classmethod):
            rows.append((f"`{name}{_signature(member)}`", _summary(member)))
        elif isinstance(raw, property) or type(raw).__name__ == "cached_property":
            rows.append((f"`{name}`", _summary(raw)))
    return rows


def _signature(function: Any) -> str:
    """Return a signature without types, but with the class of options and what is returned."""
    signature = inspect.signature(function)
    kept = []
    for parameter in signature.parameters.values():
        if parameter.name not in ("self", "cls"):
            has_options = parameter.kind is parameter.VAR_KEYWORD
            kept.append(parameter if has_options else parameter.replace(annotation=parameter.empty))
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature.replace(parameters=kept)))
    return re.sub(r"\*options: Unpack\[(\w+)\]", r"*\1", text).removesuffix(" -> Any").removesuffix(" -> None")


def _summary(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def _text(thing: Any) -> str:
    """Return a docstring; its examples become a block of Python."""
    lines: list[str] = []
    inside = False
    for line in (inspect.getdoc(thing) or "").splitlines():
        if line.startswith(">>> ") and not inside:
            lines.append("```pycon")
            inside = True
        elif not line.strip() and inside:
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, *(["```"] if inside else [])])


def page() -> str:
    """Return the whole page: its own beginning, and the reference."""
    own, _, _ = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return own + BEGIN + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
