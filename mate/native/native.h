// Arrays, memory and interrupts for native loops. Cython sees them through mate/native/__init__.pxd.
//
// A Span is a pointer with a length, a Matrix a Span of rows. An Arena allocates memory that is freed all at once.
// With MATE_CHECKED every index is compared with the length, and every array of an arena is an allocation of its own,
// so that AddressSanitizer sees where it ends.
#pragma once

#include <Python.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace mate {

inline void check_index([[maybe_unused]] int64_t index, [[maybe_unused]] int64_t size) {
#ifdef MATE_CHECKED
    if (index < 0 || index >= size) {
        throw std::out_of_range("native array: index " + std::to_string(index) + " of " + std::to_string(size));
    }
#endif
}

inline void check_range([[maybe_unused]] int64_t start, [[maybe_unused]] int64_t stop,
                        [[maybe_unused]] int64_t size) {
#ifdef MATE_CHECKED
    if (start < 0 || stop < start || stop > size) {
        throw std::out_of_range("native array: range " + std::to_string(start) + ":" + std::to_string(stop) + " of " +
                                std::to_string(size));
    }
#endif
}

// Any index will do: an address that is not the array's is fetched for nothing.
template <class T>
void prefetch(const T* data, int64_t index) {
    uintptr_t address = reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(index) * sizeof(T);
    __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 3);
}

template <class T>
struct Span {
    T* data;
    int64_t size;

    T& operator[](int64_t index) const {
        check_index(index, size);
        return data[index];
    }
    Span slice(int64_t start, int64_t stop) const {
        check_range(start, stop, size);
        return Span{data + start, stop - start};
    }
    void fill(T value) const {
        for (int64_t i = 0; i < size; ++i) data[i] = value;
    }
    void copy_from(Span other) const {
        check_range(0, other.size, size);
        if (other.size) std::memcpy(data, other.data, other.size * sizeof(T));
    }
    void prefetch(int64_t index) const { mate::prefetch(data, index); }
};

template <class T>
struct Matrix {
    T* data;
    int64_t rows;
    int64_t columns;

    Span<T> operator[](int64_t row) const {
        check_index(row, rows);
        return Span<T>{data + row * columns, columns};
    }
    Span<T> all() const { return Span<T>{data, rows * columns}; }
};

// NumPy arrays as spans; Cython passes views as const, so that read-only arrays are accepted.
template <class T>
Span<T> span(const T* data, int64_t size) {
    return Span<T>{const_cast<T*>(data), size};
}
template <class T>
Matrix<T> matrix(const T* data, int64_t rows, int64_t columns) {
    return Matrix<T>{const_cast<T*>(data), rows, columns};
}

// Offsets of 32 bits, or of 64 where there is more to address.
struct Offsets {
    const uint32_t* narrow;
    const int64_t* wide;
    int64_t size;

    int64_t operator[](int64_t index) const {
        check_index(index, size);
        return wide ? wide[index] : static_cast<int64_t>(narrow[index]);
    }
    void prefetch(int64_t index) const { wide ? mate::prefetch(wide, index) : mate::prefetch(narrow, index); }
};

inline int64_t popcount(uint64_t word) { return __builtin_popcountll(word); }

// The number of the lowest bit that is set; the word must not be 0.
inline int64_t lowest_bit(uint64_t word) { return __builtin_ctzll(word); }

// Memory for a loop: `release` frees everything allocated since a mark, the destructor all.
class Arena {
   public:
    struct Mark {
        size_t block;
        size_t used;
    };

    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() {
        for (Block& block : blocks_) std::free(block.data);
    }

    template <class T>
    Span<T> empty(int64_t count) {
        return Span<T>{static_cast<T*>(take(count * sizeof(T))), count};
    }
    template <class T>
    Span<T> zeros(int64_t count) {
        Span<T> found = empty<T>(count);
        if (count) std::memset(static_cast<void*>(found.data), 0, count * sizeof(T));
        return found;
    }
    template <class T>
    Span<T> full(int64_t count, T value) {
        Span<T> found = empty<T>(count);
        found.fill(value);
        return found;
    }
    template <class T>
    Matrix<T> empty_matrix(int64_t rows, int64_t columns) {
        return Matrix<T>{empty<T>(rows * columns).data, rows, columns};
    }
    template <class T>
    Matrix<T> zero_matrix(int64_t rows, int64_t columns) {
        return Matrix<T>{zeros<T>(rows * columns).data, rows, columns};
    }

#ifdef MATE_CHECKED
    Mark mark() const { return Mark{blocks_.size(), 0}; }
    void release(Mark mark) {
        while (blocks_.size() > mark.block) {
            std::free(blocks_.back().data);
            blocks_.pop_back();
        }
    }
#else
    Mark mark() const { return Mark{current_, used_}; }
    void release(Mark mark) {
        current_ = mark.block;
        used_ = mark.used;
    }
#endif

   private:
    struct Block {
        char* data;
        size_t size;
    };
    static constexpr size_t kFirstBlock = 1 << 16;
    static constexpr size_t kAlignment = 64;

    std::vector<Block> blocks_;
    size_t current_ = 0;
    size_t used_ = 0;

    void* take(size_t bytes) {
#ifdef MATE_CHECKED
        blocks_.push_back(allocate(bytes));
        return blocks_.back().data;
#else
        bytes = (bytes + kAlignment - 1) & ~(kAlignment - 1);
        while (current_ < blocks_.size() && used_ + bytes > blocks_[current_].size) {
            ++current_;
            used_ = 0;
        }
        if (current_ == blocks_.size()) {
            size_t last = blocks_.empty() ? kFirstBlock / 2 : blocks_.back().size;
            blocks_.push_back(allocate(bytes > 2 * last ? bytes : 2 * last));
            used_ = 0;
        }
        void* found = blocks_[current_].data + used_;
        used_ += bytes;
        return found;
#endif
    }
    static Block allocate(size_t bytes) {
        void* data = nullptr;
        if (posix_memalign(&data, kAlignment, bytes)) throw std::bad_alloc();
        return Block{static_cast<char*>(data), bytes};
    }
};

// The places of numbers in ascending order; a stable sort.
inline Span<int64_t> ascending(Span<int64_t> keys, Arena& arena) {
    Span<int64_t> order = arena.empty<int64_t>(keys.size);
    for (int64_t i = 0; i < keys.size; ++i) order.data[i] = i;
    std::stable_sort(order.data, order.data + order.size,
                     [keys](int64_t one, int64_t other) { return keys.data[one] < keys.data[other]; });
    return order;
}

// Thrown to end a loop early: it was cancelled, or Python has raised KeyboardInterrupt.
struct Interrupted {};

// Lets long loops end early. `tick` is cheap; now and then it checks the flag and Python's signals.
class Interrupt {
   public:
    explicit Interrupt(const uint8_t* cancelled = nullptr) : cancelled_(cancelled) {}

    void tick(int64_t work = 1) {
        left_ -= work;
        if (left_ < 0) check();
    }

   private:
    static constexpr int64_t kWork = 1 << 16;

    const uint8_t* cancelled_;
    int64_t left_ = kWork;
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);

    void check() {
        left_ = kWork;
        if (cancelled_ && __atomic_load_n(cancelled_, __ATOMIC_RELAXED)) throw Interrupted();
        auto now = std::chrono::steady_clock::now();
        if (now < next_) return;
        next_ = now + std::chrono::milliseconds(100);
        PyGILState_STATE state = PyGILState_Ensure();
        int signalled = PyErr_CheckSignals();
        PyGILState_Release(state);
        if (signalled) throw Interrupted();
    }
};

// Runs a loop without the GIL; tells whether it finished. Declared `except +*`: what a loop throws becomes an exception
// of Python; after an interrupt by Python itself there is one already.
inline bool run(void (*loop)(void*), void* state) {
    try {
        loop(state);
        return true;
    } catch (const Interrupted&) {
        return false;
    }
}

}  // namespace mate
