"""The loops of `mate.lake.layout`: each goes through the cells of a segment once, column by column."""

from __future__ import annotations

import numpy as np

from mate.values.kernels import inner, kernel


@kernel
def count_entries(cells, column_first, tokens):
    """Return the number of distinct tokens of every column, and of columns that every token is in."""
    columns = len(column_first) - 1
    distinct = np.zeros(columns, np.int64)
    token_entries = np.zeros(tokens, np.int64)
    seen = np.full(tokens, -1, np.int64)
    for column in range(columns):
        for at in range(column_first[column], column_first[column + 1]):
            token = cells[at]
            if token >= 0 and seen[token] != column:
                seen[token] = column
                distinct[column] += 1
                token_entries[token] += 1
    return distinct, token_entries


@inner
def _number_tokens(cells, tokens, code_of):
    """Collect the distinct tokens of a column, ascending, and number them from 1."""
    found = 0
    for token in cells:
        if token >= 0 and code_of[token] == 0:
            code_of[token] = 1
            tokens[found] = token
            found += 1
    tokens.sort()
    for place in range(len(tokens)):
        code_of[tokens[place]] = place + 1


@inner
def _write_codes(cells, code_of, sizes, codes):
    """Write the codes of a column, and count the rows of each of its tokens."""
    for row in range(len(cells)):
        token = cells[row]
        if token >= 0:
            code = code_of[token]
            sizes[code - 1] += 1
            codes[row] = code


@kernel
def encode_columns(cells, column_first, column_entry_first, code_first, code_bytes, codes, column_token, sizes, tokens):
    """Number the tokens of every column and write its codes; `sizes` gets how many rows have each of them."""
    code_of = np.zeros(tokens, np.uint32)
    sizes[:] = 0
    for column in range(len(column_first) - 1):
        first, last = column_entry_first[column], column_entry_first[column + 1]
        if first == last:
            continue
        own, own_tokens = cells[column_first[column] : column_first[column + 1]], column_token[first:last]
        _number_tokens(own, own_tokens, code_of)
        size = np.int64(code_bytes[column])
        place = codes[code_first[column] : code_first[column] + size * len(own)]
        if size == 1:
            _write_codes(own, code_of, sizes[first:last], place)
        elif size == 2:
            _write_codes(own, code_of, sizes[first:last], place.view(np.uint16))
        else:
            _write_codes(own, code_of, sizes[first:last], place.view(np.uint32))
        for token in own_tokens:
            code_of[token] = 0


@kernel
def fill_directory(column_entry_first, column_token, sizes, units, entry_first, entry_column, place, posting_first):
    """Turn columns with their tokens into tokens with their columns; `place` gets the entry of each column's token."""
    cursor = entry_first[:-1].copy()
    for column in range(len(column_entry_first) - 1):
        for at in range(column_entry_first[column], column_entry_first[column + 1]):
            token = column_token[at]
            entry = cursor[token]
            cursor[token] += 1
            entry_column[entry] = column
            place[at] = entry
            posting_first[entry + 1] = np.int64(sizes[at]) * units[column]
    for entry in range(1, len(posting_first)):
        posting_first[entry] += posting_first[entry - 1]


@inner
def _post_column(codes, cursor, unit, postings):
    """Write the rows of a column's entries; `cursor` has where the next row of each goes."""
    for row in range(len(codes)):
        code = codes[row]
        if code == 0:
            continue
        at = cursor[code - 1]
        postings[at] = row & 0xFFFF
        if unit == 2:
            postings[at + 1] = row >> 16
        cursor[code - 1] = at + unit


@kernel
def fill_postings(
    codes, code_first, code_bytes, column_rows, column_entry_first, place, units, posting_first, postings
):
    """Write the rows of every directory entry."""
    most = 0
    for column in range(len(column_rows)):
        most = max(most, column_entry_first[column + 1] - column_entry_first[column])
    cursors = np.empty(most, np.int64)
    for column in range(len(column_rows)):
        first, size = column_entry_first[column], np.int64(code_bytes[column])
        cursor = cursors[: column_entry_first[column + 1] - first]
        for entry in range(len(cursor)):
            cursor[entry] = posting_first[place[first + entry]]
        own = codes[code_first[column] : code_first[column] + size * column_rows[column]]
        if size == 1:
            _post_column(own, cursor, units[column], postings)
        elif size == 2:
            _post_column(own.view(np.uint16), cursor, units[column], postings)
        elif size == 4:
            _post_column(own.view(np.uint32), cursor, units[column], postings)


@kernel
def or_rows(cells, rows, columns, hashes, keys):
    """OR the hashes of every row's tokens."""
    words = hashes.shape[1]
    first_row = at = 0
    for table in range(len(rows)):
        for _ in range(columns[table]):
            for row in range(first_row, first_row + rows[table]):
                token = cells[at]
                at += 1
                if token >= 0:
                    for word in range(words):
                        keys[row, word] |= hashes[token, word]
        first_row += rows[table]


@kernel
def list_fingerprints(cells, rows, columns, fingerprints, bits, key_first, keys):
    """Put the fingerprints of every row's tokens side by side, those of one column after those before it."""
    at = 0
    for table in range(len(rows)):
        words = (bits * columns[table] + 63) >> 6
        for column in range(columns[table]):
            word, shift = (column * bits) >> 6, (column * bits) & 63
            for row in range(rows[table]):
                value = fingerprints[cells[at]]
                at += 1
                place = key_first[table] + row * words + word
                keys[place] |= value << np.uint64(shift)
                if shift + bits > 64:
                    keys[place + 1] |= value >> np.uint64(64 - shift)
