# cython: language_level=3
"""`native.h` for Cython, and what turns NumPy arrays into spans; those of empty arrays have no data."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp cimport bool as bool_t


cdef extern from "native.h" namespace "mate" nogil:
    cdef cppclass Span[T]:
        T* data
        int64_t size
        T& operator[](int64_t)
        Span[T] slice(int64_t start, int64_t stop)
        void fill(T value)
        void copy_from(Span[T] other)
        void prefetch(int64_t index)

    cdef cppclass Matrix[T]:
        T* data
        int64_t rows
        int64_t columns
        Span[T] operator[](int64_t)
        Span[T] all()

    cdef cppclass Offsets:
        const uint32_t* narrow
        const int64_t* wide
        int64_t size
        int64_t operator[](int64_t)
        void prefetch(int64_t index)

    int64_t popcount(uint64_t word)
    int64_t lowest_bit(uint64_t word)

    cdef cppclass Mark "mate::Arena::Mark":
        pass

    cdef cppclass Arena:
        Arena()
        Span[T] empty[T](int64_t count)
        Span[T] zeros[T](int64_t count)
        Span[T] full[T](int64_t count, T value)
        Matrix[T] empty_matrix[T](int64_t rows, int64_t columns)
        Matrix[T] zero_matrix[T](int64_t rows, int64_t columns)
        Mark mark()
        void release(Mark mark)

    Span[int64_t] ascending(Span[int64_t] keys, Arena& arena)

    cdef cppclass Interrupt:
        Interrupt()
        Interrupt(const uint8_t* cancelled)
        void tick()
        void tick(int64_t work)

    bool_t run(void (*loop)(void*) noexcept nogil, void* state) except +*


cdef inline Span[uint8_t] bytes_of(const uint8_t[::1] array) noexcept nogil:
    cdef Span[uint8_t] found
    found.data, found.size = <uint8_t*>&array[0] if array.shape[0] else NULL, array.shape[0]
    return found


cdef inline Span[int64_t] int64s(const int64_t[::1] array) noexcept nogil:
    cdef Span[int64_t] found
    found.data, found.size = <int64_t*>&array[0] if array.shape[0] else NULL, array.shape[0]
    return found


cdef inline Span[uint64_t] uint64s(const uint64_t[::1] array) noexcept nogil:
    cdef Span[uint64_t] found
    found.data, found.size = <uint64_t*>&array[0] if array.shape[0] else NULL, array.shape[0]
    return found


cdef inline Span[int32_t] int32s(const int32_t[::1] array) noexcept nogil:
    cdef Span[int32_t] found
    found.data, found.size = <int32_t*>&array[0] if array.shape[0] else NULL, array.shape[0]
    return found


cdef inline Span[uint32_t] uint32s(const uint32_t[::1] array) noexcept nogil:
    cdef Span[uint32_t] found
    found.data, found.size = <uint32_t*>&array[0] if array.shape[0] else NULL, array.shape[0]
    return found


cdef inline Span[uint16_t] uint16s(const uint16_t[::1] array) noexcept nogil:
    cdef Span[uint16_t] found
    found.data, found.size = <uint16_t*>&array[0] if array.shape[0] else NULL, array.shape[0]
    return found


cdef inline Matrix[int64_t] int64_matrix(const int64_t[:, ::1] array) noexcept nogil:
    cdef Matrix[int64_t] found
    found.rows, found.columns = array.shape[0], array.shape[1]
    found.data = <int64_t*>&array[0, 0] if found.rows and found.columns else NULL
    return found


cdef inline Matrix[uint64_t] uint64_matrix(const uint64_t[:, ::1] array) noexcept nogil:
    cdef Matrix[uint64_t] found
    found.rows, found.columns = array.shape[0], array.shape[1]
    found.data = <uint64_t*>&array[0, 0] if found.rows and found.columns else NULL
    return found


cdef inline Offsets offsets_of(object array):
    """View offsets of either type, which NumPy calls uint32 and int64."""
    cdef Offsets found
    cdef const uint32_t[::1] narrow
    cdef const int64_t[::1] wide
    found.narrow = NULL
    found.wide = NULL
    found.size = len(array)
    if array.dtype.itemsize == 4:
        narrow = array
        found.narrow = &narrow[0] if found.size else NULL
    else:
        wide = array
        found.wide = &wide[0] if found.size else NULL
    return found
