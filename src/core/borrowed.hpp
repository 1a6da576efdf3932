// Memory that the next file can use again: fresh pages from the system cost more than what is done with them.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace cranfield {

// A thing, used before if there is one, that goes back where it came from unless it has grown beyond reason.
template <class Thing>
class Borrowed {
public:
    Borrowed() {
        Shelf& shelf = shared();
        const std::unique_lock lock(shelf.mutex, std::try_to_lock);
        if (!lock || shelf.things.empty()) {
            thing_ = std::make_unique<Thing>();
        } else {
            thing_ = std::move(shelf.things.back());
            shelf.things.pop_back();
        }
    }

    ~Borrowed() {
        if (thing_->weight() > heaviest) return;
        Shelf& shelf = shared();
        const std::unique_lock lock(shelf.mutex, std::try_to_lock);
        if (lock && shelf.things.size() < most) shelf.things.push_back(std::move(thing_));
    }

    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    Thing& operator*() const { return *thing_; }
    Thing* operator->() const { return thing_.get(); }

private:
    static constexpr std::size_t heaviest = std::size_t{1} << 21;
    static constexpr std::size_t most = 8;

    struct Shelf {
        std::mutex mutex;  // only ever tried: in the child of a fork nobody may be left to unlock it
        std::vector<std::unique_ptr<Thing>> things;

        Shelf() { things.reserve(most); }
    };

    static Shelf& shared() {
        static Shelf& shelf = *new Shelf();  // never destroyed, as the threads that come here are not
        return shelf;
    }

    std::unique_ptr<Thing> thing_;
};

}  // namespace cranfield
