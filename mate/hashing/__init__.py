"""Tokens to bits: hash functions, super keys, and the registry."""

from mate.hashing.base import CorpusStatistics, SuperKeyHash, available, find, fit, get, register
from mate.hashing.by_width import Fingerprint, Wide
from mate.hashing.superkey import Keys, bits_set, or_aggregate
from mate.hashing.xash import Xash

__all__ = [
    "CorpusStatistics",
    "Fingerprint",
    "Keys",
    "SuperKeyHash",
    "Wide",
    "Xash",
    "available",
    "bits_set",
    "find",
    "fit",
    "get",
    "or_aggregate",
    "register",
]
