// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A program that replaces the two operators which every other form comes down to, or with REPLACED_ARRAYS also those
// for arrays. Their blocks have a header: none may be freed in another way.
#include "program.h"

#include <new>

enum { HEADER = 64, SINGLE = 0x51, ARRAY = 0xa5 };

static int made, gone;

static NOINLINE void *make(size_t size, int kind)
{
    char *block = static_cast<char *>(malloc(size + HEADER));
    if (!block)
        throw std::bad_alloc();
    memset(block, kind, HEADER);
    made++;
    return block + HEADER;
}

static NOINLINE void destroy(void *pointer, int kind)
{
    if (!pointer)
        return;
    char *block = static_cast<char *>(pointer) - HEADER;
    MUST(block[0] == static_cast<char>(kind) && block[HEADER - 1] == static_cast<char>(kind));
    gone++;
    free(block);
}

NOINLINE void *operator new(size_t size)
{
    return make(size, SINGLE);
}

NOINLINE void operator delete(void *block) noexcept
{
    destroy(block, SINGLE);
}

#ifdef REPLACED_ARRAYS
NOINLINE void *operator new[](size_t size)
{
    return make(size, ARRAY);
}

NOINLINE void operator delete[](void *block) noexcept
{
    destroy(block, ARRAY);
}
#endif

int main()
{
    for (size_t i = 1; i <= 500; i++) {
        operator delete(operator new(i));
        operator delete(operator new(i), i);
        operator delete[](operator new[](i));
        operator delete[](operator new[](i), i);
        operator delete(operator new(i, std::nothrow), std::nothrow);
        operator delete[](operator new[](i, std::nothrow), std::nothrow);
        operator delete[](operator new[](i, std::nothrow));
    }
    say("%d made, %d gone\n", made, gone);
    return 0;
}
