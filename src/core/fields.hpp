// Lines of fields, such as CSV, as columns.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "ids.hpp"
#include "numbers.hpp"

namespace cranfield {

// A field in quotes, in which a quote is doubled; `at` moves beyond the last quote. False if the field does not end in
// its line.
inline bool read_quoted(const char*& at, const char* end, std::string& field) {
    field.clear();
    for (++at; at != end && *at != '\n' && *at != '\r' && *at != '\0'; ++at) {
        if (*at == '"' && (++at == end || *at != '"')) return true;
        field += *at;
    }
    return false;
}

// The fields of complete lines that have `width` each (0: as many as the first line). Nothing if lines may be wrong, or
// if a record has several: a NUL byte, a blank line, a carriage return within a line, a line of more than `longest`
// bytes, quotes that do not end with their field, or another number of fields.
inline std::optional<std::vector<Strings>> split_fields(Text lines, char delimiter, std::size_t width,
                                                        std::size_t longest) {
    const char* const end = lines.data() + lines.size();
    std::array<bool, 256> ends_field{};
    for (const char c : {'\n', '\r', '\0', delimiter}) ends_field[static_cast<unsigned char>(c)] = true;
    std::vector<Strings> columns(width);
    std::string unquoted;
    for (const char* at = lines.data(); at != end; ++at) {
        const char* const line = at;
        std::size_t column = 0;
        for (bool more = true; more; ++column) {
            Text field;
            const bool quoted = at != end && *at == '"';
            if (quoted) {
                if (!read_quoted(at, end, unquoted)) return std::nullopt;
                field = unquoted;
            } else {
                const char* const first = at;
                while (at != end && !ends_field[static_cast<unsigned char>(*at)]) ++at;
                field = {first, static_cast<std::size_t>(at - first)};
            }
            more = at != end && *at == delimiter;
            const bool blank = field.empty() && column == 0 && !more && !quoted;
            if (at != end && *at == '\r') ++at;
            const bool ended = more || (at == end ? at[-1] != '\r' : *at == '\n');
            if (blank || !ended || (width != 0 && column == width)) return std::nullopt;
            if (column == columns.size()) columns.emplace_back();
            columns[column].add(field);
            if (more) ++at;
        }
        if (column != columns.size() || static_cast<std::size_t>(at - line) > longest) return std::nullopt;
        width = column;
        if (at == end) break;
    }
    return columns;
}

// The numbers of a column; false if a text is no number.
template <class Texts>
bool parse_numbers(const Texts& texts, const char* end, double* numbers) {
    constexpr std::ptrdiff_t readable = 24;  // bytes that `parse_number` may look at
    std::string padded;
    for (std::size_t row = 0; row < texts.size(); ++row) {
        Text text = texts[row];
        if (end - text.data() < readable) {
            padded.assign(text).append(readable, '\0');
            text = {padded.data(), text.size()};
        }
        if (!parse_number(text, numbers[row])) return false;
    }
    return true;
}

}  // namespace cranfield
