// A 64-bit hash of short texts, seeded anew in every process: ids that collide in one do not in the next.
// It only narrows a search down; whoever finds equal hashes still compares the texts.
#pragma once

#include <chrono>
#include <exception>
#include <random>

#include "bytes.hpp"

namespace cranfield {

struct Seed {
    std::uint64_t a, b, c;

    Seed() noexcept {
        std::uint64_t words[3];
        try {
            std::random_device entropy;
            for (std::uint64_t& word : words) word = (std::uint64_t{entropy()} << 32) | entropy();
        } catch (const std::exception&) {
            // No entropy is to be had: what is left differs from run to run as well, if less.
            const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
            std::mt19937_64 spread(static_cast<std::uint64_t>(now) ^ reinterpret_cast<std::uintptr_t>(this));
            for (std::uint64_t& word : words) word = spread();
        }
        a = words[0];
        b = words[1];
        c = words[2] | 1;
    }
};

inline const Seed seed;

// Both halves of the 128-bit product: every bit of the inputs reaches the low bits that pick a slot.
inline std::uint64_t fold(std::uint64_t x, std::uint64_t y) {
#if defined(__SIZEOF_INT128__)
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{x} * y;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
    const std::uint64_t low = 0xffffffffu;
    const std::uint64_t ll = (x & low) * (y & low), lh = (x & low) * (y >> 32);
    const std::uint64_t hl = (x >> 32) * (y & low), hh = (x >> 32) * (y >> 32);
    const std::uint64_t middle = (ll >> 32) + (lh & low) + (hl & low);
    return ((middle << 32) | (ll & low)) ^ (hh + (lh >> 32) + (hl >> 32) + (middle >> 32));
#endif
}

CRANFIELD_INLINE std::uint64_t hash(Text text) {
    const char* p = text.data();
    std::size_t n = text.size();
    // The length is mixed in by a secret factor: texts whose overlapping loads agree must differ here.
    std::uint64_t state = seed.a + n * seed.c;
    std::uint64_t x = 0, y = 0;
    if (n <= 16) {
        if (n >= 8) {
            x = load<std::uint64_t>(p);
            y = load<std::uint64_t>(p + n - 8);
        } else if (n >= 4) {
            x = load<std::uint32_t>(p);
            y = load<std::uint32_t>(p + n - 4);
        } else {
            for (std::size_t i = 0; i < n; ++i) x = (x << 8) | static_cast<unsigned char>(p[i]);
        }
    } else {
        for (; n > 16; n -= 16, p += 16) {
            state = fold(load<std::uint64_t>(p) ^ state, load<std::uint64_t>(p + 8) ^ seed.b);
        }
        x = load<std::uint64_t>(p + n - 16);
        y = load<std::uint64_t>(p + n - 8);
    }
    return fold(x ^ state, y ^ seed.b);
}

}  // namespace cranfield
