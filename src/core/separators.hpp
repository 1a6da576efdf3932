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

inline unsigned count_of(std::uint64_t bits) {
    // Not std::popcount: where the instruction cannot be taken for granted that is a call.
    bits -= (bits >> 1) & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + ((bits >> 2) & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return static_cast<unsigned>((bits * 0x0101010101010101u) >> 56);
}

// Positions, from the start of a stretch, of its separators (newlines among them) and of its newlines.
struct Separators {
    static constexpr std::size_t stretch = 4096;

    std::uint16_t space[stretch + 64];
    std::uint16_t newline[stretch + 64];
    std::size_t spaces = 0;
    std::size_t newlines = 0;

    // At most `stretch` bytes; 64 more must be readable after them.
    void find(const char* text, std::size_t size) {
        spaces = newlines = 0;
        for (std::size_t at = 0; at < size; at += 64) {
            Masks found = masks(text + at);
            if (size - at < 64) {
                const std::uint64_t inside = (std::uint64_t{1} << (size - at)) - 1;
                found.space &= inside;
                found.newline &= inside;
            }
            spaces = note<12>(space, spaces, at, found.space);
            newlines = note<2>(newline, newlines, at, found.newline);
        }
    }

private:
    // Appends the positions of the bits. How many there are cannot be predicted, so `Usual` of them are always
    // written, and what is too much is overwritten by the next.
    template <std::size_t Usual>
    static std::size_t note(std::uint16_t* list, std::size_t size, std::size_t at, std::uint64_t bits) {
        constexpr std::uint64_t last = std::uint64_t{1} << 63;
        const std::size_t total = size + count_of(bits);
        do {
            for (std::size_t i = 0; i < Usual; ++i, bits &= bits - 1) {
                list[size++] = static_cast<std::uint16_t>(at + static_cast<unsigned>(std::countr_zero(bits | last)));
            }
        } while (bits != 0);
        return total;
    }
};

}  // namespace cranfield
