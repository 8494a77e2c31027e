"""Cached values: the most recently used ones stay, within the limits."""

from __future__ import annotations

from mate.web.service import LruCache


def test_the_least_recently_used_value_is_dropped() -> None:
    cache: LruCache[str] = LruCache(2)
    for key in "ab":
        cache.add(key, key)
    assert cache.get("a") == "a"
    cache.add("c", "c")
    assert [cache.get(key) for key in "abc"] == ["a", None, "c"]


def test_memory_is_limited_but_the_newest_value_stays() -> None:
    cache: LruCache[bytes] = LruCache(10, 5, len)
    for key, size in (("a", 2), ("b", 3), ("c", 1)):
        cache.add(key, b"x" * size)
    assert [cache.get(key) for key in "abc"] == [None, b"xxx", b"x"]
    cache.add("d", b"x" * 9)
    assert [cache.get(key) for key in "bcd"] == [None, None, b"x" * 9]
