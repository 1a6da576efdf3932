// Fixed-width loads from text. Nothing here reads beyond the bytes that it is told of.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// The inner loops call small functions for every row; left to itself the compiler makes real calls of them.
#if defined(__GNUC__)
#define CRANFIELD_INLINE [[gnu::always_inline]] inline
#define CRANFIELD_APART [[gnu::noinline, gnu::cold]] inline
#else
#define CRANFIELD_INLINE inline
#define CRANFIELD_APART inline
#endif

namespace cranfield {

using Text = std::string_view;

template <class Word>
inline Word load(const char* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

inline void prefetch([[maybe_unused]] const void* place) {
#if defined(__GNUC__)
    __builtin_prefetch(place);
#endif
}

// The compiler turns memcmp of unknown length into a call; ids are short, so two words mostly settle it.
CRANFIELD_INLINE bool same(Text a, Text b) {
    const std::size_t n = a.size();
    if (n != b.size()) return false;
    if (n > 16) return std::memcmp(a.data(), b.data(), n) == 0;
    if (n >= 8) {
        return load<std::uint64_t>(a.data()) == load<std::uint64_t>(b.data()) &&
               load<std::uint64_t>(a.data() + n - 8) == load<std::uint64_t>(b.data() + n - 8);
    }
    if (n >= 4) {
        return load<std::uint32_t>(a.data()) == load<std::uint32_t>(b.data()) &&
               load<std::uint32_t>(a.data() + n - 4) == load<std::uint32_t>(b.data() + n - 4);
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

}  // namespace cranfield
