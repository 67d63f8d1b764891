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

// A word as it lies in memory. Where the processor cannot load one from any address, only aligned ones are used: the
// compiler would turn others into calls of memcpy.
#if defined(__x86_64__) || defined(__aarch64__) || defined(__ARM_FEATURE_UNALIGNED)
typedef uint64_t word __attribute__((aligned(1), may_alias));
#define WORDS_MAY_LIE_ANYWHERE 1
#else
typedef uintptr_t word __attribute__((may_alias));
#define WORDS_MAY_LIE_ANYWHERE 0
#endif

static inline int words_at(uintptr_t addresses)
{
    return WORDS_MAY_LIE_ANYWHERE || addresses % sizeof(word) == 0;
}

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    unsigned char *d = to;
    const unsigned char *s = from;
    if (words_at((uintptr_t)d | (uintptr_t)s))
        while (length >= sizeof(word)) {
            *(word *)d = *(const word *)s;
            d += sizeof(word), s += sizeof(word), length -= sizeof(word);
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
    word all = (word)0x0101010101010101u * (unsigned char)value;
    if (words_at((uintptr_t)d))
        while (length >= sizeof(word)) {
            *(word *)d = all;
            d += sizeof(word), length -= sizeof(word);
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
