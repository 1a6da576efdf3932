// Decimal text to float64, correctly rounded, with the grammar of the contract: optional sign, digits with
// optional point and exponent, or inf, infinity, nan in any case. No underscores, no hexadecimal.
#pragma once

#include <cfloat>
#include <charconv>
#include <limits>
#include <system_error>

#include "bytes.hpp"

namespace cranfield {

namespace number {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline bool equals_ignoring_case(Text text, Text lower) {
    if (text.size() != lower.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != lower[i]) return false;
    }
    return true;
}

// The shape of a decimal, and where its first significant digit stands: enough to tell overflow from
// underflow, which std::from_chars reports alike.
struct Shape {
    bool valid = false;
    bool zero = true;
    bool large = false;
};

inline Shape shape(Text text) {
    std::size_t i = 0;
    std::int64_t digits = 0, before_point = 0, leading = 0;
    Shape found;
    const auto run = [&] {
        for (; i < text.size() && is_digit(text[i]); ++i, ++digits) {
            if (text[i] != '0') found.zero = false;
            if (found.zero) ++leading;
        }
    };
    run();
    before_point = digits;
    if (i < text.size() && text[i] == '.') {
        ++i;
        run();
    }
    if (digits == 0) return found;
    std::int64_t exponent = 0;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        const bool negative = i < text.size() && text[i] == '-';
        if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
        const std::size_t first = i;
        for (; i < text.size() && is_digit(text[i]); ++i) {
            if (exponent < (std::int64_t{1} << 40)) exponent = exponent * 10 + (text[i] - '0');
        }
        if (i == first) return found;
        if (negative) exponent = -exponent;
    }
    found.valid = i == text.size();
    found.large = before_point - leading + exponent > 0;
    return found;
}

CRANFIELD_APART bool parse_any(Text text, bool negative, double& value) {
    const Shape found = shape(text);
    if (found.valid) {
        value = 0;
        const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
        if (result.ec == std::errc::result_out_of_range) {
            value = found.large && !found.zero ? std::numeric_limits<double>::infinity() : 0.0;
        }
    } else if (equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity")) {
        value = std::numeric_limits<double>::infinity();
    } else if (equals_ignoring_case(text, "nan")) {
        value = std::numeric_limits<double>::quiet_NaN();
    } else {
        return false;
    }
    if (negative) value = -value;
    return true;
}

inline constexpr double powers_of_ten[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
inline constexpr std::uint64_t whole_powers_of_ten[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// Up to eight digits at once: `word` holds their values (not their characters), first digit in the lowest
// byte, with zero bytes below where there are fewer. Neighbours are joined to pairs, quadruples, the whole.
inline std::uint64_t joined_digits(std::uint64_t word) {
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffu;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffu;
    return (word * 10000 + (word >> 32)) & 0xffffffffu;
}

// The high bit of the first byte that is no digit's value is set; none is where all are 0 to 9.
inline std::uint64_t not_digits(std::uint64_t word) {
    return ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;
}

}  // namespace number

// False where `text` is no number. Memory must be readable for 24 bytes from its start on, whatever its length.
CRANFIELD_INLINE bool parse_number(Text text, double& value) {
    const char* p = text.data();
    std::size_t n = text.size();
    bool negative = false;
    if (n != 0 && (*p == '-' || *p == '+')) {
        negative = *p == '-';
        ++p;
        --n;
    }
    // What nearly every score looks like: one to seven digits, and up to eight more after a point. Both parts are
    // read as integers; their union below 2^53 and a power of ten up to 10^22 are exact in float64, so the
    // one division is the only rounding (Clinger's fast path).
    if constexpr (std::endian::native == std::endian::little && FLT_EVAL_METHOD == 0) {
        constexpr std::uint64_t zeros = 0x3030303030303030u;
        const std::uint64_t head = load<std::uint64_t>(p) ^ zeros;
        const std::uint64_t other = number::not_digits(head);
        const std::size_t digits = other == 0 ? 8 : static_cast<std::size_t>(std::countr_zero(other)) / 8;
        const std::size_t whole = digits < n ? digits : n;
        const std::size_t fraction = n - whole - (whole < n);
        if (whole >= 1 && whole <= 7 && fraction <= 8 && (whole == n || p[whole] == '.')) {
            std::uint64_t tail = 0;
            if (fraction != 0) tail = (load<std::uint64_t>(p + whole + 1) ^ zeros) << (64 - 8 * fraction);
            if (number::not_digits(tail) == 0) {
                const std::uint64_t both =
                    number::joined_digits(head << (64 - 8 * whole)) * number::whole_powers_of_ten[fraction] +
                    number::joined_digits(tail);
                if (both < (std::uint64_t{1} << 53)) {
                    value = static_cast<double>(both) / number::powers_of_ten[fraction];
                    if (negative) value = -value;
                    return true;
                }
            }
        }
    }
    return number::parse_any(Text(p, n), negative, value);
}

}  // namespace cranfield
