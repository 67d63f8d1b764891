// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The four functions that the compiler itself may call. The target half is linked without libc, so they live here.
// -fno-tree-loop-distribute-patterns keeps gcc from turning these loops into calls of themselves.
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t length);
HIDDEN void *memmove(void *to, const void *from, size_t length);
HIDDEN void *memset(void *to, int value, size_t length);
HIDDEN int memcmp(const void *left, const void *right, size_t length);

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    unsigned char *d = to;
    const unsigned char *s = from;
    while (length >= 8) {
        uint64_t word;
        __builtin_memcpy(&word, s, 8);
        __builtin_memcpy(d, &word, 8);
        d += 8, s += 8, length -= 8;
    }
    while (length--)
        *d++ = *s++;
    return to;
}

void *memmove(void *to, const void *from, size_t length)
{
    unsigned char *d = to;
    const unsigned char *s = from;
    if (d <= s)
        return memcpy(to, from, length);
    while (length--)
        d[length] = s[length];
    return to;
}

void *memset(void *to, int value, size_t length)
{
    unsigned char *d = to;
    uint64_t word = 0x0101010101010101u * (unsigned char)value;
    while (length >= 8) {
        __builtin_memcpy(d, &word, 8);
        d += 8, length -= 8;
    }
    while (length--)
        *d++ = (unsigned char)value;
    return to;
}

int memcmp(const void *left, const void *right, size_t length)
{
    const unsigned char *a = left, *b = right;
    for (; length; a++, b++, length--)
        if (*a != *b)
            return *a - *b;
    return 0;
}
