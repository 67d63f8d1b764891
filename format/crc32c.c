// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Slicing by eight: eight table look-ups for eight bytes. The tables are computed on first use, so they cost no text.
#include "format/crc32c.h"

#define POLYNOMIAL 0x82f63b78u

static uint32_t table[8][256];
static uint32_t ready;

static void fill(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

static uint32_t load(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

#if __STDC_HOSTED__ && defined(__x86_64__)
// The host reads whole traces.
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *at, size_t length)
{
    uint64_t sum = ~crc, word;
    for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        __builtin_memcpy(&word, at, sizeof word);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    while (length--)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *at++);
    return ~(uint32_t)sum;
}
#endif

uint32_t hs_crc32c(uint32_t crc, const void *data, size_t length)
{
    const uint8_t *at = data;
#if __STDC_HOSTED__ && defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return by_instruction(crc, at, length);
#endif
    if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        fill();
    crc = ~crc;
    for (; length >= 8; at += 8, length -= 8) {
        uint32_t low = load(at) ^ crc, high = load(at + 4);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
              table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    while (length--)
        crc = crc >> 8 ^ table[0][(crc ^ *at++) & 255];
    return ~crc;
}
