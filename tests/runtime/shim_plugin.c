// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library with operators new and delete of its own, by the names that C++ gives them; PADDING moves them to another
// place.
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *_Znwm(size_t size);
EXPORT void *_Znwm(size_t size)
{
    return malloc(size);
}

EXPORT void _ZdlPvm(void *block, size_t size);
EXPORT void _ZdlPvm(void *block, size_t size)
{
    (void)size;
    free(block);
}

#ifdef PADDING
__asm__(".pushsection .text.first, \"ax\"\n\t.space 1 << 20\n\t.popsection");
#endif

// As a C++ compiler calls them: through the symbol.
static void *(*volatile operator_new)(size_t) = _Znwm;
static void (*volatile operator_delete)(void *, size_t) = _ZdlPvm;

EXPORT int run(void);
EXPORT int run(void)
{
    int *block = operator_new(sizeof *block);
    *block = 5;
    int value = *block;
    operator_delete(block, sizeof *block);
    return value;
}
