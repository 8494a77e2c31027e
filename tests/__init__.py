"""Unit, property, contract and end-to-end tests; their folders mirror the packages."""
