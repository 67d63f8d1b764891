// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A file of whole numbers in few bits, readable at any place: blocks of 4096, each with the least of its values, the
// trailing zeros that its differences share, and as many bits per value as nearly all of them need. Values that need
// more stand behind the block and are found by their place.
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
    uint64_t offset; // of the values in the file
    uint32_t exceptions;
    uint8_t width; // bits per value: 0 to 57, so that eight bytes hold a value wherever it begins, or 64
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

// A value that did not fit the width of its block.
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

// For values that lie all over: some time before one is needed.
static inline void hs_packed__fetch(const struct hs_packed *packed, uint64_t i)
{
    const struct hs_packed_block *block = &packed->block[i / HS_PACKED_BLOCK];
    __builtin_prefetch(packed->bytes + block->offset + i % HS_PACKED_BLOCK * block->width / 8);
}

// No value of the block is above it. (`base` is the least one.)
static inline uint64_t hs_packed__most(const struct hs_packed *packed, uint64_t number)
{
    HS_CHECK_SLOW(number * HS_PACKED_BLOCK < packed->count);
    const struct hs_packed_block *block = &packed->block[number];
    if (block->exceptions || block->width + block->shift >= 64u)
        return UINT64_MAX;
    uint64_t most = block->base + (block->mask << block->shift);
    return most < block->base ? UINT64_MAX : most;
}

// Unpacks the values of one block and returns how many there are: at most HS_PACKED_BLOCK, which `to` has room for.
size_t hs_packed__read_block(const struct hs_packed *packed, uint64_t block, uint64_t *to);

// Drops the pages of the blocks [first, end) from memory.
void hs_packed__drop_pages(const struct hs_packed *packed, uint64_t first, uint64_t end);

// For readers that read block after block: from time to time drops the pages before `block`, so that a column is never
// resident as a whole.
void hs_packed__drop_pages_behind(const struct hs_packed *packed, uint64_t block);

// Maps a file that a writer made; -EBADMSG unless it is one and holds `count` values (UINT64_MAX: any number).
int hs_packed__open(struct hs_packed *packed, int directory_fd, const char *name, uint64_t count);
// Maps the beginning of a file that is still being written, of `count` values in blocks that were noted elsewhere and
// which stay the caller's. -EBADMSG where they are not in the file.
int hs_packed__open_part(struct hs_packed *packed, int directory_fd, const char *name,
                         const struct hs_packed_block *blocks, uint64_t count);
struct hs_packed_writer;
// The same of what a writer has flushed; its blocks are the writer's until it adds the next one.
int hs_packed__open_written(struct hs_packed *packed, const struct hs_packed_writer *writer);
void hs_packed__close(struct hs_packed *packed);

struct hs_packed_writer {
    int fd;
    int failed; // the first error, which finish returns
    uint8_t *buffer;
    size_t used;
    uint64_t written;
    uint64_t count;
    struct hs_packed_block *block;
    size_t blocks, capacity;
};

int hs_packed_writer__create(struct hs_packed_writer *writer, int directory_fd, const char *name);
// Goes on behind the first `blocks` blocks of a file, all of them full.
int hs_packed_writer__continue(struct hs_packed_writer *writer, const struct hs_packed *from, uint64_t blocks);
// Adds a block: HS_PACKED_BLOCK values, fewer only in the last. The values are changed.
void hs_packed_writer__add(struct hs_packed_writer *writer, uint64_t *values, size_t count);
// The same in the place of the block `number`, or as the next one. The file keeps what was there before.
void hs_packed_writer__replace(struct hs_packed_writer *writer, uint64_t number, uint64_t *values, size_t count);
// Hands all blocks so far to the kernel. Returns 0 or the first error.
int hs_packed_writer__flush(struct hs_packed_writer *writer);
// Writes what is left and closes. Returns 0 or the first error.
int hs_packed_writer__finish(struct hs_packed_writer *writer);
void hs_packed_writer__abandon(struct hs_packed_writer *writer);

#endif
