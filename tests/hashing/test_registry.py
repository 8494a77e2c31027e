"""Hashes are found by name; anybody can add one."""

from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pyarrow as pa
import pytest

from mate.errors import HashError
from mate.hashing import Keys, SuperKeyHash, available, base, get, register
from mate.hashing.superkey import from_positions


class FirstLetter(SuperKeyHash):
    """One bit for the first byte of a value."""

    name = "first-letter"
    sizes = (64,)

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        first = np.array([[(value or "\0").encode()[0] % 64] for value in tokens.to_pylist()]).reshape(-1, 1)
        return from_positions(first, self.bits)


@pytest.fixture
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_registered", dict(base._registered))


@pytest.mark.usefixtures("clean_registry")
def test_register_by_hand() -> None:
    register(FirstLetter)
    assert "first-letter" in available()
    assert get("first-letter", bits=64).hash(["a"]).tolist() == [[1 << (63 - ord("a") % 64)]]


@pytest.mark.usefixtures("clean_registry")
def test_found_through_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("first-letter", f"{__name__}:FirstLetter", base.ENTRY_POINTS)
    monkeypatch.setattr(base, "entry_points", lambda **wanted: EntryPoints([entry]).select(**wanted))
    assert isinstance(get("first-letter", bits=64), FirstLetter)


@pytest.mark.usefixtures("clean_registry")
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("gone", "no_such_package.hashes:Gone", base.ENTRY_POINTS)
    monkeypatch.setattr(base, "entry_points", lambda **wanted: EntryPoints([entry]).select(**wanted))
    with pytest.raises(HashError, match='the hash "gone" needs a package that is not installed: no_such_package'):
        get("gone")


@pytest.mark.parametrize(("name", "hint"), [("xahs", "xash"), ("murmer", "murmur"), ("SimHash", "simhash")])
def test_the_nearest_name_is_suggested(name: str, hint: str) -> None:
    with pytest.raises(HashError, match=f'unknown hash "{name}"; did you mean "{hint}"?'):
        get(name)


def test_nothing_near() -> None:
    with pytest.raises(HashError, match=r'unknown hash "qqqqqq"; known: bf, .*city, fingerprint, ht, '):
        get("qqqqqq")
