"""The heap of `mate.search.best`, for native loops: the best tables so far, the worst of them first."""

from libc.stdint cimport int64_t

from mate.native cimport Matrix, Span, int64_matrix, int64s


cdef struct Best:
    Span[int64_t] size
    Span[int64_t] score
    Span[int64_t] table
    Matrix[int64_t] mapping


cdef inline Best view_best(object best):
    """View the arrays of a `mate.search.best.Best`, which must outlive the view."""
    cdef Best found
    found.size = int64s(best.size)
    found.score = int64s(best.score)
    found.table = int64s(best.table)
    found.mapping = int64_matrix(best.mapping)
    return found


cdef inline int64_t kth_score(Best* best) noexcept nogil:
    """The score that a table needs to exceed: 0 while there is room."""
    return best.score[0] if best.size[0] == best.score.size else 0


cdef inline bint _is_worse(Best* best, int64_t one, int64_t other) noexcept nogil:
    if best.score[one] != best.score[other]:
        return best.score[one] < best.score[other]
    return best.table[one] > best.table[other]


cdef inline void _swap(Best* best, int64_t one, int64_t other) noexcept nogil:
    cdef int64_t key
    best.score[one], best.score[other] = best.score[other], best.score[one]
    best.table[one], best.table[other] = best.table[other], best.table[one]
    for key in range(best.mapping.columns):
        best.mapping[one][key], best.mapping[other][key] = best.mapping[other][key], best.mapping[one][key]


cdef inline void offer(Best* best, int64_t score, int64_t table, Span[int64_t] mapping) noexcept nogil:
    """Put a table into the heap, in the place of the worst one if it is full and the table is better."""
    cdef int64_t place = 0, least, child
    if best.size[0] < best.score.size:
        place = best.size[0]
        best.size[0] += 1
    elif score < best.score[0] or (score == best.score[0] and table > best.table[0]):
        return
    best.score[place] = score
    best.table[place] = table
    best.mapping[place].copy_from(mapping)
    while place > 0 and _is_worse(best, place, (place - 1) // 2):
        _swap(best, place, (place - 1) // 2)
        place = (place - 1) // 2
    while True:
        least = place
        for child in range(2 * place + 1, min(2 * place + 3, best.size[0])):
            if _is_worse(best, child, least):
                least = child
        if least == place:
            return
        _swap(best, place, least)
        place = least
