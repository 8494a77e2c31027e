"""The index: immutable segments under a manifest."""
