// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library with operators of its own, which count. Those of the C++ library must not run in their place.
#include <cstdlib>
#include <new>

static int made, gone;

extern "C" __attribute__((visibility("default"))) int own_new_made()
{
    return made;
}

extern "C" __attribute__((visibility("default"))) int own_new_gone()
{
    return gone;
}

__attribute__((visibility("default"))) void *operator new(std::size_t size)
{
    void *block = std::malloc(size ? size : 1);
    if (!block)
        throw std::bad_alloc();
    made++;
    return block;
}

__attribute__((visibility("default"))) void operator delete(void *block) noexcept
{
    gone += block != nullptr;
    std::free(block);
}

#ifndef OWN_NEW_BASIC // the C++ library's calls the one above
__attribute__((visibility("default"))) void operator delete(void *block, std::size_t) noexcept
{
    operator delete(block);
}
#endif
