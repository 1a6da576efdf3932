// Text to rows of columns.
#pragma once

#include <array>

#include "separators.hpp"

namespace cranfield {

template <std::size_t Width>
using Columns = std::array<Text, Width>;

// The columns of a line, however they are separated, and how many there are; those beyond Width are counted only.
template <std::size_t Width>
std::size_t split(const char* p, const char* end, Columns<Width>& columns) {
    const auto is_space = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    std::size_t count = 0;
    for (;;) {
        while (p != end && is_space(*p)) ++p;
        if (p == end) return count;
        const char* const first = p;
        while (p != end && !is_space(*p)) ++p;
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
