"""Addresses and settings of the web client."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.corpora.client import DownloadSettings, RemoteError, checked_url
from mate.errors import CorpusError


@pytest.mark.parametrize(
    "url", ["http://", "http://a:b/", "http://[::1", "http://me:secret@host/", f"http://{'a' * 70}/"]
)
def test_impossible_addresses(url: str) -> None:
    with pytest.raises(RemoteError, match="not a valid address"):
        checked_url(url)


def test_addresses_are_encoded_once() -> None:
    assert checked_url(" http://example.org:81/a b/ä%20?q=ü&x={y}#z ") == (
        "http://example.org:81/a%20b/%C3%A4%20?q=%C3%BC&x=%7By%7D"
    )
    assert checked_url("https://münchen.example") == "https://xn--mnchen-3ya.example/"
    assert checked_url("http://[::1]:80/") == "http://[::1]:80/"


@pytest.mark.parametrize("bad", [{"parallel": 0}, {"tries": 0}, {"backoff": -1.0}, {"timeout": 0.0}])
def test_settings_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(CorpusError, match="must be at least 1"):
        DownloadSettings(**bad)
