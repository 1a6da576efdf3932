// Where the separators of a stretch of text are: the one loop that looks at every byte.
#pragma once

#include "bytes.hpp"

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define CRANFIELD_SSE2 1
#endif

namespace cranfield {

// Bit i says something of byte i of 64: `space` that it is 0x20 or less, `newline` that it is a newline.
struct Masks {
    std::uint64_t space = 0;
    std::uint64_t newline = 0;
};

inline Masks masks(const char* p) {
    Masks found;
#ifdef CRANFIELD_SSE2
    const __m128i blank = _mm_set1_epi8(' ');
    const __m128i feed = _mm_set1_epi8('\n');
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
        const auto space = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, blank), blank)));
        const auto newline = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, feed)));
        found.space |= std::uint64_t{space} << (16 * part);
        found.newline |= std::uint64_t{newline} << (16 * part);
    }
#else
    for (int i = 0; i < 64; ++i) {
        found.space |= std::uint64_t{static_cast<unsigned char>(p[i]) <= ' '} << i;
        found.newline |= std::uint64_t{p[i] == '\n'} << i;
    }
#endif
    return found;
}

// Positions, from the start of a stretch, of its separators (newlines among them) and of its newlines.
struct Separators {
    static constexpr std::size_t stretch = 4096;

    std::uint16_t space[stretch + 1];
    std::uint16_t newline[stretch];
    std::size_t spaces = 0;
    std::size_t newlines = 0;

    // At most `stretch` bytes; 64 more must be readable after them.
    void find(const char* text, std::size_t size) {
        std::size_t s = 0, l = 0;
        for (std::size_t at = 0; at < size; at += 64) {
            Masks found = masks(text + at);
            if (size - at < 64) {
                const std::uint64_t inside = (std::uint64_t{1} << (size - at)) - 1;
                found.space &= inside;
                found.newline &= inside;
            }
            for (; found.space != 0; found.space &= found.space - 1) {
                space[s++] = static_cast<std::uint16_t>(at + static_cast<unsigned>(std::countr_zero(found.space)));
            }
            for (; found.newline != 0; found.newline &= found.newline - 1) {
                newline[l++] = static_cast<std::uint16_t>(at + static_cast<unsigned>(std::countr_zero(found.newline)));
            }
        }
        spaces = s;
        newlines = l;
    }
};

}  // namespace cranfield
