"""MD5, Murmur and City: the digest of a value, as it is, is the key."""

from collections.abc import Callable
from hashlib import md5

import mmh3
import pytest
from cityhash import CityHash128
from hypothesis import given
from hypothesis import strategies as st

from mate.hashing import get
from mate.hashing.superkey import to_bytes

LIBRARIES: dict[str, Callable[[str], bytes]] = {
    "md5": lambda value: md5(value.encode()).digest(),
    "murmur": lambda value: mmh3.hash128(value).to_bytes(16, "little"),
    "city": lambda value: CityHash128(value).to_bytes(16, "big"),
}


@pytest.mark.parametrize("name", LIBRARIES)
@given(values=st.lists(st.text(min_size=1), max_size=20))
def test_key_is_the_digest(name: str, values: list[str]) -> None:
    assert to_bytes(get(name).hash(values)) == b"".join(map(LIBRARIES[name], values))


@pytest.mark.parametrize(
    ("name", "value", "digest"),
    [
        ("md5", "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),  # RFC 1321
        ("murmur", "foo", "6145f501578671e2877dba2be487af7e"),  # README of mmh3
        ("city", "abc", "3980b2afd2126c04a085f09013029e45"),
    ],
)
def test_stored_keys_stay_valid(name: str, value: str, digest: str) -> None:
    assert to_bytes(get(name).hash([value])).hex() == digest
