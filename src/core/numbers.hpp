// Decimal text to float64, correctly rounded, with the grammar of the contract: optional sign, digits with
// optional point and exponent, or inf, infinity, nan in any case. No underscores, no hexadecimal.
#pragma once

#include <cfloat>
#include <charconv>
#include <limits>
#include <optional>
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

inline std::optional<double> parse_any(Text text, bool negative) {
    const auto signed_value = [&](double value) { return negative ? -value : value; };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Shape found = shape(text);
    if (found.valid) {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc::result_out_of_range) value = found.large && !found.zero ? infinity : 0.0;
        (void)end;
        return signed_value(value);
    }
    if (equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity")) return signed_value(infinity);
    if (equals_ignoring_case(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
}

inline constexpr double powers_of_ten[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

// Up to eight digits at once: `word` holds their values (not their characters), first digit in the lowest
// byte, with zero bytes below where there are fewer. Neighbours are joined to pairs, quadruples, the whole.
inline std::uint64_t joined_digits(std::uint64_t word) {
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffu;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffu;
    return (word * 10000 + (word >> 32)) & 0xffffffffu;
}

// True where every byte is the value of a digit, 0 to 9.
inline bool all_digits(std::uint64_t word) {
    return (((word + 0x7676767676767676u) | word) & 0x8080808080808080u) == 0;
}

}  // namespace number

// Memory must be readable for 24 bytes from the start of `text` on, whatever its length.
inline std::optional<double> parse_number(Text text) {
    const char* p = text.data();
    std::size_t n = text.size();
    bool negative = false;
    if (n != 0 && (*p == '-' || *p == '+')) {
        negative = *p == '-';
        ++p;
        --n;
    }
    // What nearly every score looks like: at most eight digits on either side of a point. Both parts are
    // read as integers; their union below 2^53 and a power of ten up to 10^22 are exact in float64, so the
    // one division is the only rounding (Clinger's fast path).
    if constexpr (std::endian::native == std::endian::little && FLT_EVAL_METHOD == 0) {
        std::size_t whole = 0;
        while (whole < n && whole < 9 && number::is_digit(p[whole])) ++whole;
        const std::size_t fraction = n - whole - (whole < n);
        if (whole >= 1 && whole <= 8 && fraction <= 8 && (whole == n || p[whole] == '.')) {
            constexpr std::uint64_t zeros = 0x3030303030303030u;
            const std::uint64_t high = (load<std::uint64_t>(p) ^ zeros) << (64 - 8 * whole);
            std::uint64_t low = 0;
            if (fraction != 0) low = (load<std::uint64_t>(p + whole + 1) ^ zeros) << (64 - 8 * fraction);
            if (number::all_digits(low)) {
                const double scale = number::powers_of_ten[fraction];
                const std::uint64_t digits = number::joined_digits(high) * static_cast<std::uint64_t>(scale) +
                                             number::joined_digits(low);
                if (digits < (std::uint64_t{1} << 53)) {
                    const double value = static_cast<double>(digits) / scale;
                    return negative ? -value : value;
                }
            }
        }
    }
    return number::parse_any(Text(p, n), negative);
}

}  // namespace cranfield
