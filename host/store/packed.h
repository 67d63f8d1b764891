// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A file of integers, packed into few bits, with random access. It consists of blocks of 4096 values. A block stores
// its least value, the number of trailing zero bits that all differences to it share, and a number of bits per value
// that is enough for nearly all of them. Values that need more bits (exceptions) follow the block with their index.
#ifndef HEAPSONDE_STORE_PACKED_H
#define HEAPSONDE_STORE_PACKED_H

#include "host/base/check.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HS_PACKED_BLOCK 4096

struct hs_packed_block {
    uint64_t base;
    uint64_t mask;   // of `width` bits
    uint64_t offset; // offset of the values in the file
    uint32_t exceptions;
    uint8_t width; // bits per value: 0 to 57, so that eight bytes contain a value at any bit offset, or 64
    uint8_t shift;
    uint8_t wide; // bytes per exception, 1 to 8
    uint8_t reserved;
};

struct hs_packed {
    const struct hs_packed_block *block;
    const uint8_t *bytes;
    uint64_t count;
    size_t mapped;
};

// A value that does not fit into the width of its block.
uint64_t hs_packed__exception(const struct hs_packed *packed, uint64_t i);

static inline uint64_t hs_packed__at(const struct hs_packed *packed, uint64_t i)
{
    HS_CHECK_SLOW(i < packed->count);
    const struct hs_packed_block *block = &packed->block[i / HS_PACKED_BLOCK];
    uint64_t word, bit = i % HS_PACKED_BLOCK * block->width;
    memcpy(&word, packed->bytes + block->offset + bit / 8, sizeof word);
    word = word >> bit % 8 & block->mask;
    if (__builtin_expect(word == block->mask && block->exceptions, 0))
        return hs_packed__exception(packed, i);
    return block->base + (word << block->shift);
}

// Call some time before a value is read, for random access.
static inline void hs_packed__fetch(const struct hs_packed *packed, uint64_t i)
{
    const struct hs_packed_block *block = &packed->block[i / HS_PACKED_BLOCK];
    __builtin_prefetch(packed->bytes + block->offset + i % HS_PACKED_BLOCK * block->width / 8);
}

// An upper bound of the values in the block. (`base` is the least value.)
static inline uint64_t hs_packed__most(const struct hs_packed *packed, uint64_t number)
{
    HS_CHECK_SLOW(number * HS_PACKED_BLOCK < packed->count);
    const struct hs_packed_block *block = &packed->block[number];
    if (block->exceptions || block->width + block->shift >= 64u)
        return UINT64_MAX;
    uint64_t most = block->base + (block->mask << block->shift);
    return most < block->base ? UINT64_MAX : most;
}

// Unpacks the values of one block into `to`, which has room for HS_PACKED_BLOCK. Returns their number.
size_t hs_packed__read_block(const struct hs_packed *packed, uint64_t block, uint64_t *to);

// Drops the pages of the blocks [first, end) from memory.
void hs_packed__drop_pages(const struct hs_packed *packed, uint64_t first, uint64_t end);

// For single-pass readers: from time to time drops the pages before `block`, so that a column is never resident as a
// whole.
void hs_packed__drop_pages_behind(const struct hs_packed *packed, uint64_t block);

// Maps a file that a writer made. -EBADMSG unless it is valid and contains `count` values (UINT64_MAX: any number).
int hs_packed__open(struct hs_packed *packed, int directory_fd, const char *name, uint64_t count);
// Maps the first `count` values of a file that is still being written. The caller knows the blocks and keeps them.
// -EBADMSG if they are not in the file.
int hs_packed__open_part(struct hs_packed *packed, int directory_fd, const char *name,
                         const struct hs_packed_block *blocks, uint64_t count);
struct hs_packed_writer;
// The same for what a writer has flushed. The blocks belong to the writer and are valid until it adds another one.
int hs_packed__open_written(struct hs_packed *packed, const struct hs_packed_writer *writer);
void hs_packed__close(struct hs_packed *packed);

struct hs_packed_writer {
    int fd;
    int failed; // the first error; hs_packed_writer__finish returns it
    uint8_t *buffer;
    size_t used;
    uint64_t written;
    uint64_t count;
    struct hs_packed_block *block;
    size_t blocks, capacity;
};

int hs_packed_writer__create(struct hs_packed_writer *writer, int directory_fd, const char *name);
// Continues a file after its first `blocks` blocks, all of which are full.
int hs_packed_writer__continue(struct hs_packed_writer *writer, const struct hs_packed *from, uint64_t blocks);
// Adds a block of HS_PACKED_BLOCK values; only the last may have fewer. Modifies `values`.
void hs_packed_writer__add(struct hs_packed_writer *writer, uint64_t *values, size_t count);
// The same, but replaces block `number`, or appends it if it is the next one. The bytes of the old block stay in the
// file.
void hs_packed_writer__replace(struct hs_packed_writer *writer, uint64_t number, uint64_t *values, size_t count);
// Writes all blocks so far to the file. Returns 0 or the first error.
int hs_packed_writer__flush(struct hs_packed_writer *writer);
// Writes the rest and closes the file. Returns 0 or the first error.
int hs_packed_writer__finish(struct hs_packed_writer *writer);
void hs_packed_writer__abandon(struct hs_packed_writer *writer);

#endif
