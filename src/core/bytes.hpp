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

// A text that is compared with many others, bytewise: its first eight bytes as a number mostly settle it.
class OrderedText {
public:
    explicit OrderedText(Text text) : head_(head(text)), text_(text) {}

    bool operator>(const OrderedText& other) const {
        return head_ != other.head_ ? head_ > other.head_ : text_ > other.text_;
    }

private:
    // With zeros after the end of a shorter text.
    static std::uint64_t head(Text text) {
        const char* const p = text.data();
        const std::size_t n = text.size();
        if (n >= 8) return number<8>(p);
        if (n >= 4) return (number<4>(p) << 32) | ((number<4>(p + n - 4) << (64 - 8 * n)) & 0xffffffffu);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < n; ++i) value |= std::uint64_t{static_cast<unsigned char>(p[i])} << (56 - 8 * i);
        return value;
    }

    template <std::size_t Size>
    static std::uint64_t number(const char* p) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < Size; ++i) value = (value << 8) | static_cast<unsigned char>(p[i]);
        return value;
    }

    std::uint64_t head_;
    Text text_;
};

}  // namespace cranfield
