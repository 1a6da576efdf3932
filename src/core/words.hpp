// Words of texts, numbered in order of appearance and counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "ids.hpp"

namespace cranfield {

struct Sign {
    std::uint32_t point;
    std::size_t length;  // in bytes; 0 where they are no UTF-8
};

// The sign at `from`, which is no ASCII, by the rules of RFC 3629: none overlong, no surrogates.
inline Sign decode(const unsigned char* from, const unsigned char* end) {
    constexpr Sign none{0, 0};
    const unsigned char lead = *from;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || static_cast<std::size_t>(end - from) < length) return none;
    std::uint32_t point = lead & (0xFFu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((from[i] & 0xC0) != 0x80) return none;
        point = (point << 6) | (from[i] & 0x3Fu);
    }
    if (length == 3 && (point < 0x800 || (point >= 0xD800 && point < 0xE000))) return none;
    if (length == 4 && (point < 0x10000 || point > 0x10FFFF)) return none;
    return {point, length};
}

// Words of the texts that are kept one by one: those of the i-th are rows begin[i] up to begin[i + 1].
struct KeptWords {
    std::vector<std::int64_t> length;  // words of every text, kept or not
    std::vector<std::int64_t> begin{0};
    std::vector<std::int64_t> word;
    std::vector<std::int64_t> count;
};

class Words {
public:
    enum Kind : std::uint8_t { separates = 0, begins = 1, continues = 2 };

    Words(std::vector<std::uint8_t> kinds, bool lower) : kinds_(std::move(kinds)), lower_(lower) {
        for (std::size_t c = 0; c < ascii_.size(); ++c) ascii_[c] = kind(static_cast<std::uint32_t>(c));
    }

    const Strings& texts() const { return ids_.texts(); }
    const std::vector<std::int64_t>& counts() const { return counts_; }

    template <class Texts>
    void add(const Texts& texts, const std::int64_t* keep, const std::int64_t* keep_end, KeptWords& found) {
        found.length.reserve(texts.size());
        for (std::size_t row = 0; row < texts.size(); ++row) {
            numbers_.clear();
            split(texts[row]);
            look_up();
            found.length.push_back(static_cast<std::int64_t>(numbers_.size()));
            if (keep != keep_end && static_cast<std::size_t>(*keep) == row) {
                ++keep;
                keep_one(found);
            }
        }
    }

    // The number that each word of the other one has here.
    std::vector<std::int64_t> merge(const Words& other) {
        std::vector<std::int64_t> numbers;
        numbers.reserve(other.counts_.size());
        for (std::size_t i = 0; i < other.counts_.size(); ++i) {
            const std::uint32_t number = ids_.number(other.texts()[i]);
            if (number == counts_.size()) counts_.push_back(0);
            counts_[number] += other.counts_[i];
            numbers.push_back(number);
        }
        return numbers;
    }

private:
    Kind kind(std::uint32_t point) const {
        return point < kinds_.size() ? static_cast<Kind>(kinds_[point]) : separates;
    }

    struct Found {
        Text text;
        std::uint64_t hash;
    };

    static constexpr std::size_t ahead = 64;

    void split(Text text) {
        if (lower_) text = lowered(text);
        const auto* p = reinterpret_cast<const unsigned char*>(text.data());
        const unsigned char* const end = p + text.size();
        const unsigned char* word = nullptr;  // where the one begins that p is in
        while (p != end) {
            Kind here;
            std::size_t length = 1;
            if (*p < 0x80) {
                here = ascii_[*p];
            } else {
                const Sign sign = decode(p, end);
                here = sign.length == 0 ? separates : kind(sign.point);
                length = std::max<std::size_t>(sign.length, 1);
            }
            if (here == separates) {
                if (word != nullptr) close(word, p);
                word = nullptr;
            } else if (here == begins && word == nullptr) {
                word = p;
            }
            p += length;
        }
        if (word != nullptr) close(word, end);
    }

    void close(const unsigned char* word, const unsigned char* end) {
        const Text text(reinterpret_cast<const char*>(word), static_cast<std::size_t>(end - word));
        const std::uint64_t h = hash(text);
        ids_.expect(h);
        found_.push_back({text, h});
        if (found_.size() == ahead) look_up();
    }

    // The vocabulary is larger than the caches are: words are looked up several at a time, so that memory is waited
    // for once and not for each of them.
    void look_up() {
        for (const Found& word : found_) {
            const std::uint32_t code = ids_.expect_row(word.hash);
            if (code < counts_.size()) prefetch(&counts_[code]);
        }
        for (const Found& word : found_) {
            const std::uint32_t number = ids_.number(word.text, word.hash);
            if (number == counts_.size()) counts_.push_back(0);
            ++counts_[number];
            numbers_.push_back(number);
        }
        found_.clear();
    }

    Text lowered(Text text) {
        small_.resize(text.size());
        for (std::size_t i = 0; i < text.size(); ++i) {
            const char c = text[i];
            small_[i] = static_cast<char>(c + ((c >= 'A' && c <= 'Z') ? 'a' - 'A' : 0));
        }
        return {small_.data(), small_.size()};
    }

    void keep_one(KeptWords& found) {
        std::sort(numbers_.begin(), numbers_.end());
        for (auto first = numbers_.begin(); first != numbers_.end();) {
            const auto next = std::upper_bound(first, numbers_.end(), *first);
            found.word.push_back(*first);
            found.count.push_back(next - first);
            first = next;
        }
        found.begin.push_back(static_cast<std::int64_t>(found.word.size()));
    }

    std::vector<std::uint8_t> kinds_;
    bool lower_;
    std::array<Kind, 128> ascii_{};
    Ids ids_;
    std::vector<std::int64_t> counts_;
    std::vector<Found> found_;            // words of the text at hand that are not yet looked up
    std::vector<std::uint32_t> numbers_;  // of the text at hand
    std::vector<char> small_;
};

}  // namespace cranfield
