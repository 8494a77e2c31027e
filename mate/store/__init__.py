"""Where an index lives: the protocol, and one module per database."""

from mate.store.base import HashSpec, IndexStore, Manifest, open_store

__all__ = ["HashSpec", "IndexStore", "Manifest", "open_store"]
