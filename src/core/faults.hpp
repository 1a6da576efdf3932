// What is wrong with the input, and where: the lowest lines, and how many there were.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bytes.hpp"

namespace cranfield {

struct Fault {
    std::uint64_t line;
    const char* kind;
    std::string query;
    std::string text;
    std::uint64_t other;
};

class Faults {
public:
    static constexpr std::size_t usual = 20;
    static constexpr std::size_t cut = 80;

    // Keeps at most so many.
    explicit Faults(std::size_t kept = usual) : kept_(kept) {}

    void add(std::uint64_t line, const char* kind, Text query, Text text, std::uint64_t other = 0) {
        ++total_;
        // A file may be nothing but faults: texts are copied only where they might be shown.
        if (faults_.size() >= kept_ && line >= bound_) return;
        faults_.push_back({line, kind, std::string(query), std::string(text.substr(0, cut)), other});
        if (faults_.size() / 2 >= kept_) trim();
    }

    void merge(const Faults& more) {
        total_ += more.total_;
        faults_.insert(faults_.end(), more.faults_.begin(), more.faults_.end());
        if (faults_.size() / 2 >= kept_) trim();
    }

    std::uint64_t total() const { return total_; }

    const std::vector<Fault>& shown() {
        trim();
        return faults_;
    }

private:
    void trim() {
        const auto earlier = [](const Fault& a, const Fault& b) { return a.line < b.line; };
        std::stable_sort(faults_.begin(), faults_.end(), earlier);
        if (faults_.size() > kept_) faults_.erase(faults_.begin() + static_cast<std::ptrdiff_t>(kept_), faults_.end());
        if (faults_.size() == kept_) bound_ = kept_ == 0 ? 0 : faults_.back().line;
    }

    std::size_t kept_;
    std::vector<Fault> faults_;
    std::uint64_t bound_ = ~std::uint64_t{0};
    std::uint64_t total_ = 0;
};

}  // namespace cranfield
