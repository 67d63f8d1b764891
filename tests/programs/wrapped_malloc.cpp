// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A program whose malloc puts a header before each block of the one behind it. The C++ library's operators call the
// program's malloc and free, also from threads that called others of the family first.
#include "program.h"

#include <dlfcn.h>
#include <new>

enum { HEADER = 64, MARK = 0x3c };

static char early[1 << 16]; // what dlsym() itself allocates
static size_t early_used;

template <typename Function> static Function *behind(const char *name)
{
    return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

static void *mark(void *block)
{
    return block ? static_cast<char *>(memset(block, MARK, HEADER)) + HEADER : nullptr;
}

static void *make_early(size_t size)
{
    MUST(size < sizeof early - early_used);
    void *block = early + early_used;
    early_used += (size + 15) & ~static_cast<size_t>(15);
    return block;
}

static void *make(size_t size)
{
    static void *(*real)(size_t);
    static bool searching;
    if (!real) {
        if (searching)
            return make_early(size);
        searching = true;
        real = behind<void *(size_t)>("malloc");
    }
    return mark(real(size + HEADER));
}

extern "C" void *malloc(size_t size) noexcept
{
    return make(size);
}

extern "C" void free(void *pointer) noexcept
{
    static void (*real)(void *);
    char *block = static_cast<char *>(pointer);
    if (!block || (block >= early && block < early + sizeof early))
        return;
    MUST(block[-1] == MARK && block[-HEADER] == MARK);
    if (!real)
        real = behind<void(void *)>("free");
    real(block - HEADER);
}

extern "C" void *calloc(size_t count, size_t size) noexcept
{
    void *block = make(count * size);
    return block ? memset(block, 0, count * size) : nullptr;
}

extern "C" void *realloc(void *old, size_t size) noexcept
{
    MUST(!old);
    return make(size);
}

int main()
{
    void *others[] = {aligned_alloc(64, 640), aligned_alloc(64, 64)};
    MUST(others[0] && others[1]);
    for (size_t i = 1; i <= 1000; i++) {
        operator delete(operator new(i));
        operator delete[](operator new[](i), i);
    }
    say("done\n");
    return 0;
}
