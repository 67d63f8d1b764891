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
    if (words_at((uintptr_t)d | (uintptr_t)s)) {
        word *to_word = (word *)d;
        const word *from_word = (const word *)s;
        for (; length >= 2 * sizeof(word); to_word += 2, from_word += 2, length -= 2 * sizeof(word)) {
            word first = from_word[0], second = from_word[1];
            to_word[0] = first, to_word[1] = second;
        }
        if (length >= sizeof(word)) {
            *to_word++ = *from_word++;
            length -= sizeof(word);
        }
        d = (unsigned char *)to_word, s = (const unsigned char *)from_word;
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
    if (words_at((uintptr_t)d)) {
        word *to_word = (word *)d;
        for (; length >= 4 * sizeof(word); to_word += 4, length -= 4 * sizeof(word))
            to_word[0] = all, to_word[1] = all, to_word[2] = all, to_word[3] = all;
        for (; length >= sizeof(word); length -= sizeof(word))
            *to_word++ = all;
        d = (unsigned char *)to_word;
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
