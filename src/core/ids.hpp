// Ids: a hash of short texts, and distinct ids numbered in order of appearance.
#pragma once

#include <chrono>
#include <exception>
#include <random>
#include <stdexcept>
#include <vector>

#include "bytes.hpp"

// A 64-bit hash of short texts, seeded anew in every process: ids that collide in one do not in the next.
// It only narrows a search down; whoever finds equal hashes still compares the texts.
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

// Distinct ids, numbered in order of appearance.
namespace cranfield {

// A column of texts in Arrow's layout: text i is bytes offsets[i] up to offsets[i + 1].
struct Strings {
    std::vector<std::int64_t> offsets{0};
    std::vector<char> bytes;

    std::size_t size() const { return offsets.size() - 1; }

    Text operator[](std::size_t i) const {
        return {bytes.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }

    void clear() {
        offsets.resize(1);
        bytes.clear();
    }

    std::size_t weight() const { return offsets.capacity() * sizeof(std::int64_t) + bytes.capacity(); }

    void add(Text text) {
        bytes.insert(bytes.end(), text.begin(), text.end());
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
};

class Ids {
public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    const Strings& texts() const { return texts_; }
    Strings take() { return std::move(texts_); }
    std::size_t size() const { return texts_.size(); }

    std::uint32_t find(Text text) const {
        const std::uint64_t h = hash(text);
        for (std::size_t slot = h & mask_; slots_[slot] != none; slot = (slot + 1) & mask_) {
            if (hashes_[slots_[slot]] == h && same(texts_[slots_[slot]], text)) return slots_[slot];
        }
        return none;
    }

    std::uint32_t number(Text text) { return number(text, hash(text)); }

    // The same for whoever has the hash already.
    std::uint32_t number(Text text, std::uint64_t h) {
        std::size_t slot = h & mask_;
        for (; slots_[slot] != none; slot = (slot + 1) & mask_) {
            if (hashes_[slots_[slot]] == h && same(texts_[slots_[slot]], text)) return slots_[slot];
        }
        if (size() >= none - 1) throw std::length_error("more than 2^32 different ids");
        const auto code = static_cast<std::uint32_t>(size());
        slots_[slot] = code;
        texts_.add(text);
        hashes_.push_back(h);
        if (2 * size() > slots_.size()) grow();
        return code;
    }

    // Where many texts are looked up, those to come can be fetched from memory meanwhile: first their slots, then
    // what these point to.
    void expect(std::uint64_t h) const { prefetch(&slots_[h & mask_]); }
    std::uint32_t expect_row(std::uint64_t h) const {
        const std::uint32_t code = slots_[h & mask_];
        if (code != none) {
            prefetch(&hashes_[code]);
            prefetch(&texts_.offsets[code]);
        }
        return code;
    }

private:
    void grow() {
        slots_.assign(2 * slots_.size(), none);
        mask_ = slots_.size() - 1;
        for (std::size_t code = 0; code < hashes_.size(); ++code) {
            std::size_t slot = hashes_[code] & mask_;
            while (slots_[slot] != none) slot = (slot + 1) & mask_;
            slots_[slot] = static_cast<std::uint32_t>(code);
        }
    }

    Strings texts_;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(16, none);
    std::size_t mask_ = 15;
};

}  // namespace cranfield
