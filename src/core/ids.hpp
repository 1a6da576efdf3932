// Distinct ids, numbered in order of appearance.
#pragma once

#include <stdexcept>
#include <vector>

#include "hash.hpp"

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
