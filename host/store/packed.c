// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x6b63615073736848u

#define BUFFER_SIZE (256u << 10)
#define LARGEST     (HS_PACKED_BLOCK * 10u + 16) // bytes of a block with its exceptions, at most

// Each exception is its place in the block and its whole value.
#define EXCEPTION_PLACE 2
#define EXCEPTION_SIZE  (EXCEPTION_PLACE + 8)

// The end of the file: eight bytes that reads of the last value may touch, the blocks, this.
struct trailer {
    uint64_t blocks_offset;
    uint64_t blocks;
    uint64_t count;
    uint64_t magic;
};

static uint64_t mask_of(unsigned width)
{
    return width ? UINT64_MAX >> (64 - 8 * width) : 0;
}

static size_t rows_of(const struct hs_packed *packed, uint64_t block)
{
    uint64_t left = packed->count - block * HS_PACKED_BLOCK;
    return left < HS_PACKED_BLOCK ? (size_t)left : HS_PACKED_BLOCK;
}

// ---- reading
// ---------------------------------------------------------------------------------------------------------

static uint64_t exception_value(const uint8_t *places, uint32_t count, uint32_t index)
{
    uint64_t value;
    memcpy(&value, places + EXCEPTION_PLACE * (size_t)count + 8 * (size_t)index, sizeof value);
    return value;
}

static uint16_t exception_place(const uint8_t *places, uint32_t index)
{
    uint16_t place;
    memcpy(&place, places + EXCEPTION_PLACE * (size_t)index, sizeof place);
    return place;
}

uint64_t hs_packed__exception(const struct hs_packed *packed, uint64_t i)
{
    const struct hs_packed_block *block = &packed->block[i / HS_PACKED_BLOCK];
    const uint8_t *places = packed->bytes + block->offset + rows_of(packed, i / HS_PACKED_BLOCK) * block->width;
    uint32_t low = 0, high = block->exceptions;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (exception_place(places, middle) < i % HS_PACKED_BLOCK)
            low = middle + 1;
        else
            high = middle;
    }
    return low < block->exceptions ? exception_value(places, block->exceptions, low) : 0;
}

// `width` is a constant in each use.
static inline __attribute__((always_inline)) void unpack(const struct hs_packed_block *block, const uint8_t *from,
                                                         size_t count, unsigned width, uint64_t *to)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, from + i * width, sizeof word);
        to[i] = block->base + ((word & block->mask) << block->shift);
    }
}

size_t hs_packed__read_block(const struct hs_packed *packed, uint64_t number, uint64_t *to)
{
    const struct hs_packed_block *block = &packed->block[number];
    const uint8_t *from = packed->bytes + block->offset;
    size_t count = rows_of(packed, number);
    switch (block->width) {
    case 0:
        for (size_t i = 0; i < count; i++)
            to[i] = block->base;
        break;
    case 1:
        unpack(block, from, count, 1, to);
        break;
    case 2:
        unpack(block, from, count, 2, to);
        break;
    case 3:
        unpack(block, from, count, 3, to);
        break;
    case 4:
        unpack(block, from, count, 4, to);
        break;
    default:
        unpack(block, from, count, block->width, to);
    }
    const uint8_t *places = from + count * block->width;
    for (uint32_t i = 0; i < block->exceptions; i++)
        to[exception_place(places, i)] = exception_value(places, block->exceptions, i);
    return count;
}

static bool is_block_wrong(const struct hs_packed *packed, uint64_t number, uint64_t end)
{
    const struct hs_packed_block *block = &packed->block[number];
    size_t count = rows_of(packed, number);
    uint64_t size = (uint64_t)count * block->width + (uint64_t)block->exceptions * EXCEPTION_SIZE;
    if (block->width > 8 || block->shift > 63 || block->mask != mask_of(block->width) || block->exceptions > count ||
        block->offset > end || size > end - block->offset)
        return true;
    const uint8_t *places = packed->bytes + block->offset + count * block->width;
    for (uint32_t i = 0; i < block->exceptions; i++)
        if (exception_place(places, i) >= count)
            return true;
    return false;
}

static int check(struct hs_packed *packed, uint64_t count)
{
    struct trailer trailer;
    if (packed->mapped < sizeof trailer)
        return -EBADMSG;
    memcpy(&trailer, packed->bytes + packed->mapped - sizeof trailer, sizeof trailer);
    uint64_t end = packed->mapped - sizeof trailer;
    if (trailer.magic != MAGIC || trailer.blocks_offset < 8 || trailer.blocks_offset > end ||
        trailer.blocks_offset % 8 || end - trailer.blocks_offset != trailer.blocks * sizeof(struct hs_packed_block) ||
        trailer.blocks != trailer.count / HS_PACKED_BLOCK + (trailer.count % HS_PACKED_BLOCK != 0) ||
        (count != UINT64_MAX && count != trailer.count))
        return -EBADMSG;
    packed->count = trailer.count;
    packed->block = (const struct hs_packed_block *)(const void *)(packed->bytes + trailer.blocks_offset);
    for (uint64_t i = 0; i < trailer.blocks; i++)
        if (is_block_wrong(packed, i, trailer.blocks_offset - 8))
            return -EBADMSG;
    return 0;
}

int hs_packed__open(struct hs_packed *packed, int directory_fd, const char *name, uint64_t count)
{
    struct stat status;
    *packed = (struct hs_packed){0};
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int failed = fstat(fd, &status) ? -errno : status.st_size <= 0 ? -EBADMSG : 0;
    void *data = failed ? MAP_FAILED : mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (!failed && data == MAP_FAILED)
        failed = -errno;
    close(fd);
    if (failed)
        return failed;
    packed->bytes = data;
    packed->mapped = (size_t)status.st_size;
    failed = check(packed, count);
    if (failed)
        hs_packed__close(packed);
    return failed;
}

void hs_packed__close(struct hs_packed *packed)
{
    if (packed->bytes)
        munmap((void *)(uintptr_t)packed->bytes, packed->mapped);
    *packed = (struct hs_packed){0};
}

// ---- writing
// ---------------------------------------------------------------------------------------------------------

int hs_packed_writer__create(struct hs_packed_writer *writer, int directory_fd, const char *name)
{
    *writer = (struct hs_packed_writer){.fd = -1};
    writer->buffer = malloc(BUFFER_SIZE + LARGEST);
    if (!writer->buffer)
        return -ENOMEM;
    writer->fd = openat(directory_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return writer->fd < 0 ? -errno : 0;
}

static void write_out(struct hs_packed_writer *writer, const void *data, size_t size)
{
    for (const uint8_t *at = data; size && !writer->failed;) {
        ssize_t done = write(writer->fd, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            writer->failed = done ? -errno : -EIO;
            return;
        }
        at += done;
        size -= (size_t)done;
    }
}

static void flush(struct hs_packed_writer *writer)
{
    write_out(writer, writer->buffer, writer->used);
    writer->written += writer->used;
    writer->used = 0;
}

static struct hs_packed_block *add_block(struct hs_packed_writer *writer)
{
    if (writer->blocks == writer->capacity) {
        size_t capacity = writer->capacity ? 2 * writer->capacity : 64;
        struct hs_packed_block *grown = realloc(writer->block, capacity * sizeof *grown);
        if (!grown) {
            writer->failed = writer->failed ? writer->failed : -ENOMEM;
            return NULL;
        }
        writer->block = grown;
        writer->capacity = capacity;
    }
    return &writer->block[writer->blocks++];
}

// Makes the values differences to the least, without the zeros at their end. Returns all bits that occur.
static uint64_t reduce(uint64_t *values, size_t count, struct hs_packed_block *block)
{
    uint64_t least = values[0], most = values[0], all = 0;
    for (size_t i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    block->base = least;
    if (least == most)
        return 0;
    for (size_t i = 0; i < count; i++) {
        values[i] -= least;
        all |= values[i];
    }
    block->shift = (uint8_t)__builtin_ctzll(all);
    if (block->shift)
        for (size_t i = 0; i < count; i++)
            values[i] >>= block->shift;
    return all >> block->shift;
}

static uint32_t count_exceptions(const uint64_t *values, size_t count, unsigned width)
{
    uint64_t mask = mask_of(width);
    uint32_t exceptions = 0;
    for (size_t i = 0; i < count && width < 8; i++)
        exceptions += values[i] >= mask;
    return exceptions;
}

// The width that makes the block smallest, tried from one that surely has no exceptions.
static void choose_width(const uint64_t *values, size_t count, uint64_t all, struct hs_packed_block *block)
{
    unsigned fits = (unsigned)(64 - __builtin_clzll(all) + 7) / 8;
    size_t best = SIZE_MAX;
    for (unsigned width = fits < 8 ? fits + 1 : 8; width; width--) {
        uint32_t exceptions = count_exceptions(values, count, width);
        size_t size = count * width + exceptions * (size_t)EXCEPTION_SIZE;
        if (size > best)
            break;
        best = size;
        block->width = (uint8_t)width;
        block->exceptions = exceptions;
    }
    block->mask = mask_of(block->width);
}

static inline __attribute__((always_inline)) void put(const uint64_t *values, size_t count, uint64_t mask,
                                                      unsigned width, uint8_t *to)
{
    // Each store writes eight bytes: the next value, or what follows, overwrites those that are too many.
    for (size_t i = 0; i < count; i++, to += width) {
        uint64_t value = values[i] < mask ? values[i] : mask;
        memcpy(to, &value, sizeof value);
    }
}

static uint8_t *put_exceptions(const uint64_t *values, size_t count, const struct hs_packed_block *block, uint8_t *to)
{
    uint8_t *places = to, *wide = to + (size_t)EXCEPTION_PLACE * block->exceptions;
    for (size_t i = 0; i < count && block->exceptions; i++) {
        if (values[i] < block->mask)
            continue;
        uint16_t place = (uint16_t)i;
        uint64_t value = block->base + (values[i] << block->shift);
        memcpy(places, &place, sizeof place);
        memcpy(wide, &value, sizeof value);
        places += EXCEPTION_PLACE;
        wide += sizeof value;
    }
    return wide;
}

void hs_packed_writer__add(struct hs_packed_writer *writer, uint64_t *values, size_t count)
{
    struct hs_packed_block *block = count ? add_block(writer) : NULL;
    if (!block)
        return;
    *block = (struct hs_packed_block){.offset = writer->written + writer->used};
    writer->count += count;
    uint64_t all = reduce(values, count, block);
    if (!all)
        return;
    choose_width(values, count, all, block);
    uint8_t *to = writer->buffer + writer->used;
    switch (block->width) {
    case 1:
        put(values, count, block->mask, 1, to);
        break;
    case 2:
        put(values, count, block->mask, 2, to);
        break;
    case 3:
        put(values, count, block->mask, 3, to);
        break;
    default:
        put(values, count, block->mask, block->width, to);
    }
    uint8_t *end = put_exceptions(values, count, block, to + count * block->width);
    writer->used = (size_t)(end - writer->buffer);
    if (writer->used > BUFFER_SIZE)
        flush(writer);
}

int hs_packed_writer__finish(struct hs_packed_writer *writer)
{
    size_t padding = 8 + (0 - (writer->written + writer->used)) % 8;
    memset(writer->buffer + writer->used, 0, padding);
    writer->used += padding;
    flush(writer);
    const struct trailer trailer = {writer->written, writer->blocks, writer->count, MAGIC};
    write_out(writer, writer->block, writer->blocks * sizeof *writer->block);
    write_out(writer, &trailer, sizeof trailer);
    if (close(writer->fd) && !writer->failed)
        writer->failed = -errno;
    writer->fd = -1;
    int failed = writer->failed;
    hs_packed_writer__abandon(writer);
    return failed;
}

void hs_packed_writer__abandon(struct hs_packed_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer->buffer);
    free(writer->block);
    *writer = (struct hs_packed_writer){.fd = -1};
}
