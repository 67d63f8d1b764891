// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/packed.h"

#include "host/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x6b63615074736848u

#define BUFFER_SIZE (256u << 10)
#define LARGEST     (HS_PACKED_BLOCK * 10u + 16) // bytes of a block with its exceptions, at most

// Each exception is its place in the block and its difference to the block's least value.
#define EXCEPTION_PLACE 2

// Values that are packed together: they end at a whole byte.
#define GROUP 8

// X(bits) for each width that is unpacked and packed by code of its own.
// There is no form of it that stays.
// clang-format off
#define FOR_EACH_WIDTH(X)                                                        \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)   \
    X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26)      \
    X(27) X(28) X(29) X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38)      \
    X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) X(50)      \
    X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(64)
// clang-format on
#define WIDEST 57 // but for 64

// Loops over whole blocks are compiled for several processors, and the loader chooses the version. Counting zeros pays
// only with long vectors, and gcc can make a version for them since 12.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&              \
    !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define HS_VECTORS      __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#define HS_LONG_VECTORS __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#define HS_VECTORS __attribute__((target_clones("avx2", "default")))
#define HS_LONG_VECTORS
#endif
#else
#define HS_VECTORS
#define HS_LONG_VECTORS
#endif

// Each width has its own code. With sanitizers it is not inlined: compiling it would take a quarter of a minute.
#ifdef HEAPSONDE_CHECKS
#define HS_FOR_A_WIDTH static __attribute__((noinline))
#else
#define HS_FOR_A_WIDTH static inline __attribute__((always_inline))
#endif

// The end of the file: eight bytes that reads of the last value may touch, the blocks, this.
struct trailer {
    uint64_t blocks_offset;
    uint64_t blocks;
    uint64_t count;
    uint64_t magic;
};

static uint64_t mask_of(unsigned width)
{
    return width ? UINT64_MAX >> (64 - width) : 0;
}

static size_t bytes_of(size_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

static size_t rows_of(const struct hs_packed *packed, uint64_t block)
{
    uint64_t left = packed->count - block * HS_PACKED_BLOCK;
    return left < HS_PACKED_BLOCK ? (size_t)left : HS_PACKED_BLOCK;
}

// ---- reading -------------------------------------------------------------------------------------------------------

static uint64_t exception_value(const struct hs_packed_block *block, const uint8_t *places, uint32_t index)
{
    uint64_t value;
    memcpy(&value, places + EXCEPTION_PLACE * (size_t)block->exceptions + block->wide * (size_t)index, sizeof value);
    return block->base + ((value & mask_of(8u * block->wide)) << block->shift);
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
    const uint8_t *places =
        packed->bytes + block->offset + bytes_of(rows_of(packed, i / HS_PACKED_BLOCK), block->width);
    uint32_t low = 0, high = block->exceptions;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (exception_place(places, middle) < i % HS_PACKED_BLOCK)
            low = middle + 1;
        else
            high = middle;
    }
    return low < block->exceptions ? exception_value(block, places, low) : 0;
}

// `width` is a constant in each use, and with it all places of a group.
HS_FOR_A_WIDTH void unpack(const struct hs_packed_block *block, const uint8_t *from, size_t count, unsigned width,
                           uint64_t *to)
{
    const uint64_t base = block->base, mask = block->mask;
    const unsigned shift = block->shift;
    size_t i = 0;
    for (; i + GROUP <= count; i += GROUP, from += width) {
        for (unsigned k = 0; k < GROUP; k++) {
            uint64_t word;
            memcpy(&word, from + k * width / 8, sizeof word);
            to[i + k] = base + ((word >> k * width % 8 & mask) << shift);
        }
    }
    for (unsigned k = 0; i < count; i++, k++) {
        uint64_t word;
        memcpy(&word, from + k * width / 8, sizeof word);
        to[i] = base + ((word >> k * width % 8 & mask) << shift);
    }
}

size_t hs_packed__read_block(const struct hs_packed *packed, uint64_t number, uint64_t *to)
{
    HS_CHECK(number * HS_PACKED_BLOCK < packed->count);
    const struct hs_packed_block *block = &packed->block[number];
    const uint8_t *from = packed->bytes + block->offset;
    size_t count = rows_of(packed, number);
    switch (block->width) {
    case 0:
        for (size_t i = 0; i < count; i++)
            to[i] = block->base;
        break;
#define UNPACK(bits)                                                                                                   \
    case bits:                                                                                                         \
        unpack(block, from, count, bits, to);                                                                          \
        break;
        FOR_EACH_WIDTH(UNPACK)
#undef UNPACK
    }
    const uint8_t *places = from + bytes_of(count, block->width);
    for (uint32_t i = 0; i < block->exceptions; i++) {
        const uint16_t place = exception_place(places, i);
        if (place < count)
            to[place] = exception_value(block, places, i);
    }
    return count;
}

// The places of exceptions are checked where they are used: to open a file takes no look at its values.
static bool is_block_wrong(const struct hs_packed *packed, uint64_t number, uint64_t end)
{
    const struct hs_packed_block *block = &packed->block[number];
    size_t count = rows_of(packed, number);
    uint64_t values = bytes_of(count, block->width);
    uint64_t size = values + (uint64_t)block->exceptions * (EXCEPTION_PLACE + block->wide);
    return (block->width > WIDEST && block->width != 64) || block->shift > 63 || block->mask != mask_of(block->width) ||
           block->wide < 1 || block->wide > 8 || block->exceptions > count || block->offset > end ||
           size > end - block->offset;
}

static bool are_blocks_wrong(const struct hs_packed *packed, uint64_t end)
{
    bool wrong = false;
    for (uint64_t first = 0; first < packed->count && !wrong; first += HS_PACKED_BLOCK)
        wrong = is_block_wrong(packed, first / HS_PACKED_BLOCK, end);
    return wrong;
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
    return are_blocks_wrong(packed, trailer.blocks_offset - 8) ? -EBADMSG : 0;
}

// Behind the file there is a page that reads of the last value may touch.
static int map_part(struct hs_packed *packed, int fd, size_t size)
{
    size_t mapped = size + (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *bytes = mmap(NULL, mapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return -ENOMEM;
    packed->bytes = bytes;
    packed->mapped = mapped;
    return size && mmap(bytes, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ? -errno : 0;
}

int hs_packed__open_part(struct hs_packed *packed, int directory_fd, const char *name,
                         const struct hs_packed_block *blocks, uint64_t count)
{
    struct stat status;
    *packed = (struct hs_packed){.block = blocks, .count = count};
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int failed = fstat(fd, &status) ? -errno : 0;
    if (!failed)
        failed = map_part(packed, fd, (size_t)status.st_size);
    close(fd);
    if (!failed && are_blocks_wrong(packed, (uint64_t)status.st_size))
        failed = -EBADMSG;
    if (failed)
        hs_packed__close(packed);
    return failed;
}

int hs_packed__open_written(struct hs_packed *packed, const struct hs_packed_writer *writer)
{
    *packed = (struct hs_packed){.block = writer->block, .count = writer->count};
    int failed = map_part(packed, writer->fd, writer->written);
    if (failed)
        hs_packed__close(packed);
    return failed;
}

int hs_packed__open(struct hs_packed *packed, int directory_fd, const char *name, uint64_t count)
{
    struct stat status;
    *packed = (struct hs_packed){0};
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

#define DROP_PAGES_AFTER 512 // blocks: a few MB

// The end of the values. In a file that was opened in part, the blocks are elsewhere.
static uintptr_t end_of_values(const struct hs_packed *packed)
{
    const uintptr_t blocks = (uintptr_t)packed->block, begin = (uintptr_t)packed->bytes;
    return blocks - begin < packed->mapped ? blocks : begin + packed->mapped;
}

void hs_packed__drop_pages(const struct hs_packed *packed, uint64_t first, uint64_t end)
{
    const uint64_t blocks = (packed->count + HS_PACKED_BLOCK - 1) / HS_PACKED_BLOCK;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (first >= blocks || first >= end)
        return;
    // Replaced blocks are after all others.
    uintptr_t from = (uintptr_t)packed->bytes + (first ? packed->block[first].offset : 0);
    uintptr_t to = end < blocks ? (uintptr_t)packed->bytes + packed->block[end].offset : end_of_values(packed);
    from &= ~(page - 1);
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

void hs_packed__drop_pages_behind(const struct hs_packed *packed, uint64_t block)
{
    if ((block + 1) % DROP_PAGES_AFTER == 0)
        hs_packed__drop_pages(packed, block + 1 - DROP_PAGES_AFTER, block + 1);
}

void hs_packed__close(struct hs_packed *packed)
{
    if (packed->bytes)
        munmap((void *)(uintptr_t)packed->bytes, packed->mapped);
    *packed = (struct hs_packed){0};
}

// ---- writing -------------------------------------------------------------------------------------------------------

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
    if (!HS_ARRAY_HAS_ROOM(writer->block, writer->blocks, writer->capacity)) {
        writer->failed = writer->failed ? writer->failed : -ENOMEM;
        return NULL;
    }
    return &writer->block[writer->blocks++];
}

int hs_packed_writer__continue(struct hs_packed_writer *writer, const struct hs_packed *from, uint64_t blocks)
{
    uint64_t all = from->count / HS_PACKED_BLOCK + (from->count % HS_PACKED_BLOCK != 0);
    if (blocks > all || blocks * HS_PACKED_BLOCK > from->count)
        return -EBADMSG;
    uint64_t end = 0;
    for (uint64_t i = 0; i < blocks && !writer->failed; i++) {
        struct hs_packed_block *block = add_block(writer);
        if (!block)
            break;
        *block = from->block[i];
        uint64_t size =
            bytes_of(HS_PACKED_BLOCK, block->width) + (uint64_t)block->exceptions * (EXCEPTION_PLACE + block->wide);
        end = block->offset + size > end ? block->offset + size : end;
    }
    write_out(writer, from->bytes, end);
    writer->written = end;
    writer->count = blocks * HS_PACKED_BLOCK;
    return writer->failed;
}

// Many columns are the same for long. Ends early where they are not.
static bool is_constant(const uint64_t *values, size_t count)
{
    uint64_t different = 0;
    for (size_t i = 0; i + GROUP <= count && !different; i += GROUP)
        for (unsigned k = 0; k < GROUP; k++)
            different |= values[i + k] ^ values[0];
    for (size_t i = count - count % GROUP; i < count; i++)
        different |= values[i] ^ values[0];
    return !different;
}

// Makes the values differences to the least. Returns all bits that occur.
HS_VECTORS static uint64_t reduce(uint64_t *values, size_t count, struct hs_packed_block *block)
{
    uint64_t least = values[0], all = 0;
    block->base = least;
    if (is_constant(values, count))
        return 0;
    for (size_t i = 1; i < count; i++)
        least = values[i] < least ? values[i] : least;
    block->base = least;
    for (size_t i = 0; i < count; i++) {
        values[i] -= least;
        all |= values[i];
    }
    return all;
}

// Counts the lengths of values in bits. The largest value of a width marks an exception, so it counts as one bit
// longer.
struct lengths {
    uint16_t count[4][65];
};

// No value may be the largest that there is.
static inline uint8_t length_of(uint64_t value)
{
    return (uint8_t)(64 - __builtin_clzll(value + 1));
}

// Takes the zeros away that all differences end with.
HS_LONG_VECTORS static void shift_and_measure(uint64_t *values, size_t count, unsigned shift, uint8_t *length)
{
    for (size_t i = 0; i < count; i++) {
        values[i] >>= shift;
        length[i] = length_of(values[i]);
    }
}

// Four counters: an addition to a single one would have to wait for the previous addition.
static void count_lengths(const uint8_t *length, size_t count, struct lengths *lengths)
{
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (unsigned k = 0; k < 4; k++)
            lengths->count[k][length[i + k]]++;
    for (; i < count; i++)
        lengths->count[0][length[i]]++;
}

static unsigned allowed(unsigned width)
{
    return width > WIDEST ? 64 : width;
}

// The width that makes the block smallest. The widest has no exceptions.
static void choose_width(size_t count, uint64_t all, const struct lengths *lengths, struct hs_packed_block *block)
{
    unsigned most = 64 - (unsigned)__builtin_clzll(all);
    size_t best = bytes_of(count, allowed(most)), longer = 0;
    block->width = (uint8_t)allowed(most);
    block->wide = (uint8_t)((most + 7) / 8);
    for (unsigned width = 64; width--;) {
        for (unsigned k = 0; k < 4; k++)
            longer += lengths->count[k][width + 1];
        if (!width || width >= most || width > WIDEST)
            continue;
        size_t size = bytes_of(count, width) + longer * (EXCEPTION_PLACE + block->wide);
        if (size >= best)
            continue;
        best = size;
        block->width = (uint8_t)width;
        block->exceptions = (uint32_t)longer;
    }
    block->mask = mask_of(block->width);
}

// Packs a group. Each store writes eight bytes: what follows overwrites those that are too many.
HS_FOR_A_WIDTH void put_group(const uint64_t *values, uint64_t mask, unsigned width, uint8_t *to)
{
    uint64_t word = 0;
    unsigned filled = 0;
#pragma GCC unroll 8
    for (unsigned k = 0; k < GROUP; k++) {
        uint64_t value = values[k] < mask ? values[k] : mask;
        word |= value << filled;
        filled += width;
        if (filled < 64)
            continue;
        memcpy(to, &word, sizeof word);
        to += sizeof word;
        filled -= 64;
        word = filled ? value >> (width - filled) : 0;
    }
    if (filled)
        memcpy(to, &word, sizeof word);
}

HS_FOR_A_WIDTH void put(const uint64_t *values, size_t count, uint64_t mask, unsigned width, uint8_t *to)
{
    size_t i = 0;
    for (; i + GROUP <= count; i += GROUP, to += width)
        put_group(values + i, mask, width, to);
    uint64_t last[GROUP] = {0};
    if (i == count)
        return;
    memcpy(last, values + i, (count - i) * sizeof *last);
    put_group(last, mask, width, to);
}

// Elements after `count` may be written, too.
static size_t find_exceptions(const uint64_t *values, size_t count, uint64_t mask, uint16_t *place)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        place[found] = (uint16_t)i;
        found += values[i] >= mask;
    }
    return found;
}

static uint8_t *put_exceptions(const uint64_t *values, size_t count, const struct hs_packed_block *block, uint8_t *to)
{
    uint16_t place[HS_PACKED_BLOCK + 1];
    size_t found = block->exceptions ? find_exceptions(values, count, block->mask, place) : 0;
    memcpy(to, place, EXCEPTION_PLACE * found);
    // Behind the places: each store is as wide as a whole number.
    to += EXCEPTION_PLACE * found;
    for (size_t i = 0; i < found; i++, to += block->wide)
        memcpy(to, &values[place[i]], sizeof *values);
    return to;
}

void hs_packed_writer__add(struct hs_packed_writer *writer, uint64_t *values, size_t count)
{
    struct lengths lengths = {0};
    HS_CHECK(count <= HS_PACKED_BLOCK);
    struct hs_packed_block *block = count ? add_block(writer) : NULL;
    if (!block)
        return;
    *block = (struct hs_packed_block){.offset = writer->written + writer->used, .wide = 1};
    writer->count += count;
    uint64_t all = reduce(values, count, block);
    if (!all)
        return;
    block->shift = (uint8_t)__builtin_ctzll(all);
    if (all == UINT64_MAX) { // a value may be longer than what is counted
        block->width = 64;
        block->mask = all;
    } else {
        uint8_t length[HS_PACKED_BLOCK];
        shift_and_measure(values, count, block->shift, length);
        count_lengths(length, count, &lengths);
        choose_width(count, all >> block->shift, &lengths, block);
    }
    uint8_t *to = writer->buffer + writer->used;
    switch (block->width) {
#define PUT(bits)                                                                                                      \
    case bits:                                                                                                         \
        put(values, count, block->mask, bits, to);                                                                     \
        break;
        FOR_EACH_WIDTH(PUT)
#undef PUT
    }
    uint8_t *end = put_exceptions(values, count, block, to + bytes_of(count, block->width));
    writer->used = (size_t)(end - writer->buffer);
    if (writer->used > BUFFER_SIZE)
        flush(writer);
}

void hs_packed_writer__replace(struct hs_packed_writer *writer, uint64_t number, uint64_t *values, size_t count)
{
    size_t before = writer->blocks;
    hs_packed_writer__add(writer, values, count);
    if (number < before && before < writer->blocks)
        writer->block[number] = writer->block[--writer->blocks];
}

int hs_packed_writer__flush(struct hs_packed_writer *writer)
{
    flush(writer);
    return writer->failed;
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
