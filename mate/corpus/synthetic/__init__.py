"""A lake made of arithmetic: any number of tables, none of them stored.

Every table is a pure function of the lake's settings and of its number, every cell of its table, column and
row, by way of a counter-based hash (splitmix64). So a task makes the tables it is asked for and nothing else,
and neither the split over tasks nor the size of a chunk shows in the text. A larger lake begins with the
tables of a smaller one.

What the lake has in common with published tables:

- Values follow a power law over a large vocabulary: names, places, words, dates, numbers, codes, amounts.
- Widths are log-normal, heights follow a power law: many small tables, a few very tall ones.
- Some tables belong to a *domain*: an endless list of key tuples such as (first name, last name, city). They
  hold the first tuples of that list, in two to four columns at any place, and so join on the composite key.
- Among these rows are *near misses*: one value of a key tuple beside other, frequent values. A look-up in one
  column finds them, the composite key does not.
"""

from __future__ import annotations

from mate.corpus.synthetic.lake import SyntheticLake

__all__ = ["SyntheticLake"]
