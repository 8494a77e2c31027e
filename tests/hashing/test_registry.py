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
def test_entry_points_and_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"first-letter": f"{__name__}:FirstLetter", "gone": "no_such_package.hashes:Gone"}
    entries = EntryPoints(EntryPoint(name, place, base.ENTRY_POINTS) for name, place in places.items())
    monkeypatch.setattr(base, "entry_points", lambda **wanted: entries.select(**wanted))
    assert isinstance(get("first-letter", bits=64), FirstLetter)
    with pytest.raises(HashError, match='the hash "gone" needs a package that is not installed: no_such_package'):
        get("gone")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("xahs", 'did you mean "xash"?'),
        ("SimHash", 'did you mean "simhash"?'),
        ("qqqqqq", "known: bf, .*city, fingerprint, ht, "),
    ],
)
def test_an_unknown_name_has_a_hint(name: str, hint: str) -> None:
    with pytest.raises(HashError, match=f'unknown hash "{name}"; {hint}'):
        get(name)
