// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/jit_dump.h"

#include <byteswap.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC      0x4a695444u // "JiTD"
#define ARCH_TIMES 1u          // flag: times are of the processor's counter

enum { HEADER = 40, PREFIX = 16, LONGEST_NAME = 4096, SKIPPED = 64 };
enum { HALF = 1 }; // bytes behind records that are not all: half a record, which tells whoever reads it

uint32_t hs_jit_dump__word(const struct hs_jit_dump *dump, const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return dump->is_swapped ? bswap_32(word) : word;
}

uint64_t hs_jit_dump__long(const struct hs_jit_dump *dump, const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return dump->is_swapped ? bswap_64(word) : word;
}

bool hs_jit_dump__is(const void *bytes, size_t length)
{
    uint32_t magic;
    if (length < HEADER)
        return false;
    memcpy(&magic, bytes, sizeof(magic));
    return magic == MAGIC || magic == bswap_32(MAGIC);
}

// Of a header that is there as a whole. *length: of the header in the file.
static void read_header(struct hs_jit_dump *dump, const uint8_t *header, uint32_t *length)
{
    *dump = (struct hs_jit_dump){.is_swapped = false};
    dump->is_swapped = hs_jit_dump__word(dump, header) != MAGIC;
    dump->has_times = !(hs_jit_dump__long(dump, header + 32) & ARCH_TIMES);
    *length = hs_jit_dump__word(dump, header + 8);
}

int hs_jit_dump__start(struct hs_jit_dump *dump, const void *bytes, size_t length)
{
    uint32_t header;
    if (!hs_jit_dump__is(bytes, length))
        return -EBADMSG;
    read_header(dump, bytes, &header);
    if (header < HEADER || header > length)
        return -EBADMSG;
    dump->at = (const uint8_t *)bytes + header;
    dump->end = (const uint8_t *)bytes + length;
    return 0;
}

int hs_jit_dump__next(struct hs_jit_dump *dump, struct hs_jit_record *record)
{
    const size_t left = (size_t)(dump->end - dump->at);
    if (!left)
        return 0;
    const uint32_t length = left < PREFIX ? 0 : hs_jit_dump__word(dump, dump->at + 4);
    if (length < PREFIX || length > left) {
        dump->at = dump->end;
        return -EBADMSG;
    }
    *record = (struct hs_jit_record){.kind = hs_jit_dump__word(dump, dump->at),
                                     .time = hs_jit_dump__long(dump, dump->at + 8),
                                     .body = dump->at + PREFIX,
                                     .length = length - PREFIX};
    dump->at += length;
    return 1;
}

// ---- without machine code ------------------------------------------------------------------------------------------

struct condensing {
    int fd;
    uint64_t offset, size; // of the file when it was opened: what it grows by meanwhile is not read
    struct hs_jit_dump dump;
    struct hs_buffer *to;
    size_t end;     // of `to`
    size_t skipped; // bytes that count as if they were there: the time that a file takes has a limit, too
};

// The number of bytes that are there, up to `length`; or a negative errno.
static ssize_t read_at(const struct condensing *with, uint64_t offset, uint8_t *to, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = pread(with->fd, to + done, length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (!got)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

// How many bytes of a record are kept at most; 0: none.
static size_t wanted(uint32_t kind, uint32_t length)
{
    const size_t named = PREFIX + HS_JIT_LOAD_NAME + LONGEST_NAME;
    switch (kind) {
    case HS_JIT_LOAD:
        return length < named ? length : named;
    case HS_JIT_MOVE:
    case HS_JIT_DEBUG_INFO:
        return length;
    default:
        return 0;
    }
}

// The name ends the record; one that has no end is cut.
static void cut_code(struct condensing *with, uint8_t *record, size_t length)
{
    const size_t start = PREFIX + HS_JIT_LOAD_NAME;
    const uint8_t *end = length > start ? memchr(record + start, 0, length - start) : NULL;
    size_t kept = end ? (size_t)(end - record) + 1 : length;
    if (!end && kept > start)
        record[kept - 1] = '\0';
    uint32_t size = with->dump.is_swapped ? bswap_32((uint32_t)kept) : (uint32_t)kept;
    memcpy(record + 4, &size, sizeof(size));
    with->to->count += kept;
}

static int copy_record(struct condensing *with, uint32_t kind, uint32_t length)
{
    const size_t count = wanted(kind, length);
    with->skipped += count ? 0 : SKIPPED;
    const size_t used = with->to->count + with->skipped;
    if (used > with->end || count > with->end - used)
        return -EFBIG;
    if (!hs_buffer__reserve(with->to, count))
        return -ENOMEM;
    uint8_t *record = with->to->bytes + with->to->count;
    ssize_t got = read_at(with, with->offset, record, count);
    if (got < (ssize_t)count)
        return got < 0 ? (int)got : -EBADMSG;
    if (kind == HS_JIT_LOAD)
        cut_code(with, record, count);
    else
        with->to->count += count;
    return 0;
}

// 1: there is more.
static int condense_record(struct condensing *with)
{
    uint8_t prefix[PREFIX];
    const uint64_t left = with->size - with->offset;
    ssize_t got = left ? read_at(with, with->offset, prefix, sizeof(prefix)) : 0;
    if (!left || got < 0)
        return (int)got;
    uint32_t length = got < PREFIX ? 0 : hs_jit_dump__word(&with->dump, prefix + 4);
    if (length < PREFIX || length > left)
        return -EBADMSG;
    int result = copy_record(with, hs_jit_dump__word(&with->dump, prefix), length);
    with->offset += length;
    return result ? result : 1;
}

static int condense_records(struct condensing *with)
{
    int result = with->offset < HEADER || with->offset > with->size ? -EBADMSG : 1;
    while (result == 1)
        result = condense_record(with);
    return result;
}

int hs_jit_dump__condense(int fd, struct hs_buffer *to, size_t most)
{
    struct condensing with = {.fd = fd, .to = to, .end = to->count + most - HALF};
    uint8_t header[HEADER];
    uint32_t length;
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    with.size = (uint64_t)status.st_size;
    ssize_t got = read_at(&with, 0, header, sizeof(header));
    if (got < 0)
        return (int)got;
    if (!hs_jit_dump__is(header, (size_t)got))
        return -EBADMSG;
    if (most < HEADER + HALF)
        return -EFBIG;
    read_header(&with.dump, header, &length);
    with.offset = length;
    length = with.dump.is_swapped ? bswap_32(HEADER) : HEADER;
    memcpy(header + 8, &length, sizeof(length));
    hs_buffer__put(to, header, sizeof(header));
    int result = to->failed ? -ENOMEM : condense_records(&with);
    if (result == -EFBIG || result == -EBADMSG)
        hs_buffer__put(to, "", HALF);
    return to->failed ? -ENOMEM : result;
}
