// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Every form of operator new and delete, called by name and by the language, and new handlers.
#include "program.h"

#include <memory>
#include <new>
#include <stdint.h>

struct alignas(128) Aligned {
    char bytes[256];
};

static int handler_runs;
static void *reserve;

static void new_handler()
{
    handler_runs++;
    if (reserve) {
        free(reserve);
        reserve = nullptr;
    } else {
        std::set_new_handler(nullptr);
    }
}

static NOINLINE void by_language()
{
    delete new int(1);
    delete[] new int[10];
    delete new (std::nothrow) long(2);
    delete[] new (std::nothrow) long[10];
    Aligned *aligned = new Aligned;
    MUST((reinterpret_cast<uintptr_t>(aligned) & 127) == 0);
    delete aligned;
    Aligned *several = new Aligned[3];
    MUST((reinterpret_cast<uintptr_t>(several) & 127) == 0);
    delete[] several;
    delete new (std::nothrow) Aligned;
    delete[] new (std::nothrow) Aligned[2];
}

static NOINLINE void by_name()
{
    const std::align_val_t alignment{256};
    operator delete(operator new(1));
    operator delete(operator new(2), static_cast<size_t>(2));
    operator delete[](operator new[](3));
    operator delete[](operator new[](4), static_cast<size_t>(4));
    operator delete(operator new(5, std::nothrow), std::nothrow);
    operator delete[](operator new[](6, std::nothrow), std::nothrow);
    operator delete(operator new(7, alignment), alignment);
    operator delete(operator new(8, alignment), static_cast<size_t>(8), alignment);
    operator delete[](operator new[](9, alignment), alignment);
    operator delete[](operator new[](10, alignment), static_cast<size_t>(10), alignment);
    operator delete(operator new(11, alignment, std::nothrow), alignment, std::nothrow);
    operator delete[](operator new[](12, alignment, std::nothrow), alignment, std::nothrow);
    operator delete(nullptr);
    operator delete[](nullptr);
    void *zero = operator new(0);
    MUST(zero);
    operator delete(zero);
}

int main()
{
    for (int i = 0; i < 1000; i++) {
        by_language();
        by_name();
    }
    volatile size_t huge = static_cast<size_t>(-1) / 2 - 100;
    int failed = 0;
    try {
        keep(operator new(huge));
    } catch (const std::bad_alloc &) {
        failed++;
    }
    try {
        keep(operator new[](huge, std::align_val_t{64}));
    } catch (const std::bad_alloc &) {
        failed++;
    }
    failed += operator new(huge, std::nothrow) == nullptr;
    failed += operator new[](huge, std::align_val_t{64}, std::nothrow) == nullptr;
    reserve = allocate(1000);
    std::set_new_handler(new_handler);
    try {
        keep(operator new(huge));
    } catch (const std::bad_alloc &) {
        failed++;
    }
    keep(new char[999]); // stays
    say("failed as it should %d, new handler ran %d\n", failed, handler_runs);
    return 0;
}
