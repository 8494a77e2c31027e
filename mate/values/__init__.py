"""Cells, their tokens and token ids, and strings as native loops read them."""
