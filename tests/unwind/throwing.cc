// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Exceptions: thrown through frames with destructors, caught, rethrown.
#include <stdexcept>
#include <string>

extern "C" void throw_and_catch(void *rounds);

namespace
{
int destroyed;

struct Guard {
    ~Guard()
    {
        destroyed++;
    }
};

__attribute__((noinline)) int thrower(int depth)
{
    Guard guard;
    if (depth == 0)
        throw std::runtime_error("a text long enough to be allocated on the heap");
    return thrower(depth - 1) + 1;
}

__attribute__((noinline)) int rethrower(int depth)
{
    try {
        return thrower(depth);
    } catch (const std::runtime_error &) {
        throw;
    }
}
} // namespace

void throw_and_catch(void *rounds)
{
    for (int i = 0; i < *static_cast<int *>(rounds); i++) {
        try {
            rethrower(i + 2);
        } catch (const std::exception &error) {
            destroyed += static_cast<int>(std::string(error.what()).size());
        }
    }
}
