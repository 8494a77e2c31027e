"""The loops of `mate.search.suggestion_growth` over keys and columns."""

from __future__ import annotations

import numpy as np

from mate.values.kernels import inner, kernel


@inner
def _bound(growing, grown, part, added):
    """Return the bound of a mapping with a pair added; -1 if it has one of its columns."""
    for digit in grown.mappings[part]:
        if growing.own[digit] == growing.own[added] or growing.other[digit] == growing.other[added]:
            return -1.0
    unique = min(1.0, grown.uniqueness[part] * growing.distinct[added])
    return min(grown.containment[part], growing.share[added]) * unique


@inner
def _extend(mapping, added, digits):
    """Write a mapping with a pair added, ascending."""
    place = 0
    for digit in mapping:
        if digit < added:
            digits[place] = digit
            place += 1
    digits[place] = added
    for digit in mapping:
        if digit > added:
            place += 1
            digits[place] = digit


@inner
def _left_over(mapping, digits):
    """Return the one digit that a part of a mapping lacks, -1 if it is no part of it."""
    place, left = 0, -1
    for digit in digits:
        if place < len(mapping) and mapping[place] == digit:
            place += 1
        else:
            left = digit
    return left if place == len(mapping) else -1


@inner
def _has_unique_part(unique, digits):
    for row in range(len(unique)):
        place = 0
        for digit in digits:
            if place < unique.shape[1] and unique[row, place] == digit:
                place += 1
        if place == unique.shape[1] or unique[row, place] == -1:
            return True
    return False


@inner
def _is_before(bound, digits, other_bound, other):
    """Tell whether a mapping has the higher bound, or the same and comes first."""
    if bound != other_bound:
        return bound > other_bound
    for place in range(len(digits)):
        if digits[place] != other[place]:
            return digits[place] < other[place]
    return False


@inner
def _least_bound(growing, grown, part, digits, bound):
    """Return the least bound that parts of a mapping give; -1 if an earlier one than this gives one."""
    for other in range(len(grown.mappings)):
        added = _left_over(grown.mappings[other], digits) if other != part else -1
        if added >= 0:
            if other < part:
                return -1.0
            bound = min(bound, _bound(growing, grown, other, added))
    return bound


@kernel
def longer_mappings(growing, grown, unique, least, most):
    """Return up to `most` longer mappings, the highest of their least bounds first."""
    width = grown.mappings.shape[1]
    found = np.empty((most, width + 1), np.int64)
    bounds = np.empty(most)
    digits = np.empty(width + 1, np.int64)
    count = 0
    part_of = np.full(len(growing.own), -1)
    if width == 1:
        for part in range(len(grown.mappings)):
            part_of[grown.mappings[part, 0]] = part
    for part in range(len(grown.mappings)):
        for added in range(len(growing.own)):
            bound = _bound(growing, grown, part, added)
            if bound < least:
                continue
            _extend(grown.mappings[part], added, digits)
            if width > 1:
                bound = _least_bound(growing, grown, part, digits, bound)
            elif part_of[added] >= 0:
                first = part < part_of[added]
                bound = min(bound, _bound(growing, grown, part_of[added], grown.mappings[part, 0])) if first else -1.0
            if bound < least or (count == most and not _is_before(bound, digits, bounds[-1], found[-1])):
                continue
            if _has_unique_part(unique, digits):
                continue
            place = min(count, most - 1)
            while place > 0 and _is_before(bound, digits, bounds[place - 1], found[place - 1]):
                bounds[place] = bounds[place - 1]
                found[place] = found[place - 1]
                place -= 1
            bounds[place] = bound
            found[place] = digits
            count = min(count + 1, most)
    return found[:count]
