// SPDX-License-Identifier: MIT OR Apache-2.0
//
// 8, then multiples of 16 up to 128, then four classes to each doubling.
#include "runtime/prof/size_classes.h"

#define LARGEST ((uint64_t)7 << (sizeof(uintptr_t) == 8 ? 60 : 28))

enum { STEPPED = 8, CLASS_COUNT = sizeof(uintptr_t) == 8 ? 232 : 104 };

uint64_t hs_size_class(uint64_t size)
{
    if (size <= 8)
        return 8;
    if (size > LARGEST)
        return 0;
    unsigned log2 = 63 - (unsigned)__builtin_clzll(size - 1);
    uint64_t step = (uint64_t)1 << (log2 < 6 ? 4 : log2 - 2);
    return (size + step - 1) & ~(step - 1);
}

uint64_t hs_size_class__at(uint32_t i)
{
    if (i >= CLASS_COUNT)
        return 0;
    if (i == 0)
        return 8;
    if (i <= STEPPED)
        return (uint64_t)i * 16;
    unsigned doubling = (i - STEPPED - 1) / 4, step = (i - STEPPED - 1) % 4 + 1;
    return ((uint64_t)128 << doubling) + ((uint64_t)32 << doubling) * step;
}

uint32_t hs_size_class__index(uint64_t size)
{
    uint64_t class_size = hs_size_class(size);
    if (class_size <= 8)
        return class_size ? 0 : CLASS_COUNT;
    if (class_size <= 128)
        return (uint32_t)(class_size / 16);
    unsigned log2 = 63 - (unsigned)__builtin_clzll(class_size - 1);
    uint64_t step = (uint64_t)1 << (log2 - 2);
    return STEPPED + 4 * (log2 - 7) + (uint32_t)((class_size - ((uint64_t)1 << log2)) / step);
}
