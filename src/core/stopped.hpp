// How work ends before it is done.
#pragma once

#include <stdexcept>

namespace cranfield {

// Thrown through a worker whose work nobody waits for any more.
struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("stopped") {}
};

}  // namespace cranfield
