// Text to rows of columns: where the separators are, and what stands between them.
#pragma once

#include <array>

// Where the separators of a stretch of text are: the one loop that looks at every byte.
#if defined(__SSE2__) || defined(_M_X64)
#define CRANFIELD_SSE2 1
#include <emmintrin.h>
#endif

#include "bytes.hpp"

namespace cranfield {

// Bit i says something of byte i of 64: `space` that it is a blank, `newline` that it is a newline.
struct Masks {
    std::uint64_t space = 0;
    std::uint64_t newline = 0;
};

inline Masks masks(const char* p) {
    Masks found;
#ifdef CRANFIELD_SSE2
    const __m128i blank = _mm_set1_epi8(' ');
    const __m128i tab = _mm_set1_epi8('\t');
    const __m128i last = _mm_set1_epi8('\r' - '\t');
    const __m128i feed = _mm_set1_epi8('\n');
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
        const __m128i from_tab = _mm_sub_epi8(bytes, tab);
        const __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(from_tab, last), from_tab);
        const auto space =
            static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(is_control, _mm_cmpeq_epi8(bytes, blank))));
        const auto newline = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, feed)));
        found.space |= std::uint64_t{space} << (16 * part);
        found.newline |= std::uint64_t{newline} << (16 * part);
    }
#else
    for (int i = 0; i < 64; ++i) {
        found.space |= std::uint64_t{is_blank(p[i])} << i;
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

// Text to rows of columns.
namespace cranfield {

template <std::size_t Width>
using Columns = std::array<Text, Width>;

// The columns of a line, however they are separated, and how many there are; those beyond Width are counted only.
template <std::size_t Width>
std::size_t split(const char* p, const char* end, Columns<Width>& columns) {
    std::size_t count = 0;
    for (;;) {
        while (p != end && is_blank(*p)) ++p;
        if (p == end) return count;
        const char* const first = p;
        while (p != end && !is_blank(*p)) ++p;
        if (count < Width) columns[count] = Text(first, static_cast<std::size_t>(p - first));
        ++count;
    }
}

// Calls `sink.row(line, columns)` for each line of Width columns and `sink.odd(line, text, count)` for each
// that has another number; blank lines and comments are passed over. `text` ends with a newline, holds no
// NUL, and 64 bytes after it are readable.
template <std::size_t Width, class Sink>
void read_lines(Text text, std::uint64_t line, Sink& sink) {
    const auto slowly = [&](const char* first, const char* last) {
        Columns<Width> columns;
        const std::size_t count = split<Width>(first, last, columns);
        if (count == 0 || columns[0][0] == '#') return;
        if (count == Width) {
            sink.row(line, columns);
        } else {
            sink.odd(line, Text(first, static_cast<std::size_t>(last - first)), count);
        }
    };

    Separators found;
    const char* p = text.data();
    const char* const end = p + text.size();
    while (p != end) {
        const std::size_t rest = static_cast<std::size_t>(end - p);
        const std::size_t size = rest < Separators::stretch ? rest : Separators::stretch;
        found.find(p, size);
        if (found.newlines == 0) {  // a line longer than a stretch
            const char* const last = static_cast<const char*>(std::memchr(p + size, '\n', rest - size));
            slowly(p, last);
            ++line;
            p = last + 1;
            continue;
        }
        const std::uint16_t* space = found.space;
        std::size_t begin = 0;
        for (std::size_t i = 0; i < found.newlines; ++i, ++line) {
            const std::size_t last = found.newline[i];
            // One separator after each column and the last of them the newline: no search is needed.
            const auto left = static_cast<std::size_t>(found.space + found.spaces - space);
            bool plain = left >= Width && space[Width - 1] == last;
            Columns<Width> columns;
            if (plain) {
                std::size_t from = begin;
                for (std::size_t c = 0; c < Width; ++c) {
                    columns[c] = Text(p + from, space[c] - from);
                    plain &= space[c] != from;
                    from = std::size_t{space[c]} + 1;
                }
                plain &= p[begin] != '#';
            }
            if (plain) [[likely]] {
                sink.row(line, columns);
                space += Width;
            } else {
                slowly(p + begin, p + last);
                while (*space != last) ++space;
                ++space;
            }
            begin = last + 1;
        }
        p += begin;
    }
}

}  // namespace cranfield
