// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finding out what a file is, and unpacking it.
#include "host/base/memory.h"
#include "host/dump/text.h"
#include "host/symbols/strings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define LARGEST_UNPACKED ((size_t)1 << 30)
#define LARGEST_PIPED    ((size_t)1 << 30)
#define SNIFFED          ((size_t)1 << 18) // the first stack of collapsed ones may be that long
#define TIMES_UNPACKED   32                // most of what programs write stays below twenty
#define TIMES_TAKEN      200 // bytes of memory for each byte of a text or profile, at most; mostly below 25

// ---- contents ------------------------------------------------------------------------------------------------------

static bool is_packed(const uint8_t *bytes, size_t length)
{
    return length > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

// One step: more room, then more bytes. Returns zlib's result.
static int unpack_more(z_stream *stream, uint8_t **bytes, size_t *room, size_t largest)
{
    if (!stream->avail_out) {
        size_t wanted = *room ? *room * 2 : 1u << 16;
        wanted = wanted < largest ? wanted : largest;
        if (wanted == *room)
            return Z_BUF_ERROR;
        uint8_t *bigger = realloc(*bytes, wanted);
        if (!bigger)
            return Z_MEM_ERROR;
        *bytes = bigger;
        stream->next_out = bigger + *room;
        stream->avail_out = (uInt)(wanted - *room);
        *room = wanted;
    }
    return inflate(stream, Z_NO_FLUSH);
}

// After a compressed stream there may be another one, which belongs to it, or zeros. False: the file ends here.
static bool has_member(const z_stream *stream, size_t left, bool *cut)
{
    const uint8_t *next = stream->next_in, *end = next + stream->avail_in + left;
    while (next < end && !*next)
        next++;
    *cut = next < end && !(next == stream->next_in && is_packed(next, (size_t)(end - next)));
    return next < end && !*cut;
}

// Returns 0, -ENOMEM or -EFBIG. *cut: the end is missing or damaged; what is there is good.
static int unpack(const uint8_t *from, size_t length, size_t largest, uint8_t **bytes, size_t *count, bool *cut)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)from};
    size_t room = 0;
    size_t left = length;
    int status = inflateInit2(&stream, 15 + 16);
    bool ready = status == Z_OK, whole = false;
    *cut = false;
    *bytes = NULL;
    while (status == Z_OK) {
        uInt part = left < 1u << 30 ? (uInt)left : 1u << 30;
        if (!stream.avail_in) {
            stream.avail_in = part;
            left -= part;
        }
        status = unpack_more(&stream, bytes, &room, largest);
        if (status != Z_STREAM_END)
            continue;
        whole = true;
        if (has_member(&stream, left, cut)) {
            whole = false;
            status = inflateReset(&stream);
        }
    }
    bool too_large = status == Z_BUF_ERROR && !stream.avail_out && room == largest;
    *count = ready ? room - stream.avail_out : 0;
    *cut = *cut || !whole;
    if (ready)
        inflateEnd(&stream);
    return status == Z_MEM_ERROR ? -ENOMEM : too_large ? -EFBIG : 0;
}

// How much there is when it is unpacked; `enough` if that is not less.
static uint64_t count_unpacked(const uint8_t *from, size_t length, uint64_t enough)
{
    uint8_t bytes[1 << 14];
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)from};
    uint64_t count = 0;
    bool cut = false;
    int status = inflateInit2(&stream, 15 + 16);
    if (status != Z_OK)
        return 0;
    while (status == Z_OK && count < enough) {
        if (!stream.avail_in) {
            stream.avail_in = length < 1u << 30 ? (uInt)length : 1u << 30;
            length -= stream.avail_in;
        }
        stream.next_out = bytes;
        stream.avail_out = sizeof(bytes);
        status = inflate(&stream, Z_NO_FLUSH);
        count += sizeof(bytes) - stream.avail_out;
        if (status == Z_STREAM_END && has_member(&stream, length, &cut))
            status = inflateReset(&stream);
    }
    inflateEnd(&stream);
    return count < enough ? count : enough;
}

static int refuse_unpacked(const struct hs_dump *dump, const uint8_t *packed, size_t length, size_t largest,
                           struct hs_error *error)
{
    uint64_t count = count_unpacked(packed, length, (uint64_t)largest + 1);
    if (count > largest)
        return hs_error__set(error, EFBIG, "%s: unpacks to more than %zu MiB, which heapsonde reads at most",
                             dump->name, largest >> 20);
    return hs_error__set(error, EFBIG, "%s: unpacks to %" PRIu64 " MiB, far more than files of its size do; %s",
                         dump->name, count >> 20, hs_memory__advice(count * TIMES_TAKEN).text);
}

enum content {
    CONTENT_OTHER,
    CONTENT_HEAP_V2,
    CONTENT_HEAP_PROFILE,
    CONTENT_SYMBOLS,
    CONTENT_COLLAPSED,
    CONTENT_MASSIF,
    CONTENT_DHAT,
    CONTENT_PPROF
};

static bool begins(const char *text, size_t length, const char *with)
{
    return length >= strlen(with) && !memcmp(text, with, strlen(with));
}

// How long the comments and empty lines are that the text begins with.
static size_t comments(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && strchr("#%\r\n", text[at])) {
        const char *feed = text[at] ? memchr(text + at, '\n', length - at) : NULL;
        if (!feed)
            return at;
        at = (size_t)(feed - text) + 1;
    }
    return at;
}

static enum content content_of(const char *text, size_t length)
{
    // It has no line for a program that frees everything.
    if (begins(text, length, HS_DUMP_BASELINE_HEAD))
        return CONTENT_COLLAPSED;
    if (hs_dump_recognise__massif(text, length))
        return CONTENT_MASSIF;
    if (hs_dump_recognise__dhat(text, length))
        return CONTENT_DHAT;
    size_t skipped = comments(text, length);
    const char *head = text + skipped;
    if (begins(head, length - skipped, "heap_v2/"))
        return CONTENT_HEAP_V2;
    if (begins(head, length - skipped, "heap profile:"))
        return CONTENT_HEAP_PROFILE;
    if (begins(head, length - skipped, "--- symbol") || begins(head, length - skipped, "--- heap"))
        return CONTENT_SYMBOLS;
    if (hs_dump_recognise__pprof((const uint8_t *)text, length))
        return CONTENT_PPROF;
    return hs_dump_recognise__collapsed(text, length) ? CONTENT_COLLAPSED : CONTENT_OTHER;
}

// ---- parsing -------------------------------------------------------------------------------------------------------

static int read_text(struct hs_dump_builder *builder, const char *text, size_t length, struct hs_error *error)
{
    struct hs_dump_scan scan = {.name = builder->dump->name,
                                .begin = text,
                                .at = text + comments(text, length),
                                .end = text + length,
                                .builder = builder,
                                .error = error};
    enum content content = content_of(text, length);
    int result = 0;
    if (content == CONTENT_COLLAPSED)
        scan.at = text;
    if (content == CONTENT_SYMBOLS) {
        result = hs_dump_read__symbols(&scan);
        content = content_of(scan.at, (size_t)(scan.end - scan.at));
    }
    if (result)
        return result;
    switch (content) {
    case CONTENT_HEAP_V2:
        return hs_dump_read__heap_v2(&scan);
    case CONTENT_HEAP_PROFILE:
        return hs_dump_read__heap_profile(&scan);
    case CONTENT_COLLAPSED:
        return hs_dump_read__collapsed(&scan);
    case CONTENT_MASSIF:
        return hs_dump_read__massif(&scan);
    case CONTENT_DHAT:
        return hs_dump_read__dhat(&scan);
    default:
        return hs_error__set(
            error, EINVAL,
            "%s: not a heap dump in a format that heapsonde knows (heap_v2, 'heap profile:', profile.proto, "
            "collapsed stacks, massif, DHAT)",
            builder->dump->name);
    }
}

static int read_contents(struct hs_dump_builder *builder, const uint8_t *bytes, size_t length, size_t largest,
                         struct hs_error *error)
{
    struct hs_dump *dump = builder->dump;
    bool cut = dump->is_cut;
    if (is_packed(bytes, length)) {
        uint8_t *unpacked = NULL;
        size_t count = 0;
        uint64_t sane = hs_memory__unpacked_text(length, TIMES_UNPACKED);
        int result = unpack(bytes, length, sane < largest ? (size_t)sane : largest, &unpacked, &count, &cut);
        if (result == -EFBIG)
            result = refuse_unpacked(dump, bytes, length, largest, error);
        else if (result)
            hs_error__set(error, -result, "%s: out of memory", dump->name);
        if (dump->bytes && dump->mapped)
            munmap(dump->bytes, dump->byte_count);
        else
            free(dump->bytes);
        dump->bytes = unpacked;
        dump->byte_count = count;
        dump->mapped = false;
        dump->is_cut = cut;
        if (result)
            return result;
        bytes = unpacked;
        length = count;
    }
    if (cut && !length)
        return hs_error__set(error, EINVAL, "%s: a damaged compressed file", dump->name);
    if (content_of((const char *)bytes, length) == CONTENT_PPROF)
        return hs_dump_read__pprof(builder, bytes, length, cut, error);
    if (cut && hs_dump_builder__warn(builder, "the compressed file ends too early; the part before that is used"))
        return hs_error__set(error, ENOMEM, "%s: out of memory", dump->name);
    // A profile that was cut needs not look like one up to its end.
    if (cut && content_of((const char *)bytes, length) == CONTENT_OTHER)
        return hs_dump_read__pprof(builder, bytes, length, cut, error);
    return read_text(builder, (const char *)bytes, length, error);
}

static bool fits(const struct hs_dump_estimate *sum)
{
    const double most = 0x1p63;
    return sum->live_bytes < most && sum->live_blocks < most && sum->all_bytes < most && sum->all_blocks < most;
}

// Whether the sums of all stacks and of all threads fit. Then every sum that is computed later fits, too.
static bool is_aggregate(const struct hs_dump *dump)
{
    struct hs_dump_estimate stacks = hs_dump__sum(dump), threads = {0};
    for (size_t i = 0; i < dump->share_count; i++)
        hs_dump_estimate__add(&threads, hs_dump__estimate(dump, &dump->share[i].counts));
    return fits(&stacks) && fits(&threads);
}

static int parse(struct hs_dump *dump, const uint8_t *bytes, size_t length, size_t largest, struct hs_error *error)
{
    struct hs_dump_builder builder;
    if (!length)
        return hs_error__set(error, EINVAL, "%s: the file is empty", dump->name);
    hs_dump_builder__start(&builder, dump);
    int result = read_contents(&builder, bytes, length, largest, error);
    if (!result && hs_dump_builder__finish(&builder))
        result = hs_error__set(error, ENOMEM, "%s: out of memory", dump->name);
    if (!result && !is_aggregate(dump))
        result = hs_error__set(error, EINVAL,
                               "%s: its blocks have 8 EiB or more in all, which no process has: the file is damaged",
                               dump->name);
    hs_dump_builder__free(&builder);
    return result;
}

static struct hs_dump *create(const char *name)
{
    struct hs_dump *dump = calloc(1, sizeof(*dump));
    if (!dump)
        return NULL;
    dump->strings = hs_strings__create();
    dump->name = dump->strings ? hs_strings__add(dump->strings, name) : NULL;
    dump->executable = "";
    if (dump->name)
        return dump;
    hs_dump__close(dump);
    return NULL;
}

static int parse_created(struct hs_dump *dump, const void *bytes, size_t length, size_t largest,
                         struct hs_dump **result, struct hs_error *error)
{
    int failed = parse(dump, bytes, length, largest, error);
    if (failed)
        hs_dump__close(dump);
    else
        *result = dump;
    return failed;
}

int hs_dump__parse(const char *name, const void *bytes, size_t length, size_t largest, struct hs_dump **result,
                   struct hs_error *error)
{
    struct hs_dump *dump = create(name);
    *result = NULL;
    return dump ? parse_created(dump, bytes, length, largest, result, error)
                : hs_error__set(error, ENOMEM, "%s: out of memory", name);
}

int hs_dump__open_part(const struct hs_dump *of, uint64_t part, struct hs_dump **result, struct hs_error *error)
{
    struct hs_dump *dump = create(of->name);
    *result = NULL;
    if (!dump)
        return hs_error__set(error, ENOMEM, "%s: out of memory", of->name);
    dump->part = part;
    dump->is_cut = of->is_cut;
    return parse_created(dump, of->bytes, of->byte_count, LARGEST_UNPACKED, result, error);
}

// ---- files ---------------------------------------------------------------------------------------------------------

// Only regular files can be mapped.
static int read_pipe(struct hs_dump *dump, int fd)
{
    size_t room = 0;
    for (;;) {
        if (dump->byte_count == room) {
            room = room ? room * 2 : 1u << 16;
            if (room > LARGEST_PIPED)
                return -EFBIG;
            void *bigger = realloc(dump->bytes, room);
            if (!bigger)
                return -ENOMEM;
            dump->bytes = bigger;
        }
        ssize_t got = read(fd, (char *)dump->bytes + dump->byte_count, room - dump->byte_count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : 0;
        dump->byte_count += (size_t)got;
    }
}

static int load(struct hs_dump *dump, int fd)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    if (!S_ISREG(status.st_mode) || !status.st_size)
        return read_pipe(dump, fd);
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED)
        return -errno;
    dump->bytes = bytes;
    dump->byte_count = (size_t)status.st_size;
    dump->mapped = true;
    return 0;
}

int hs_dump__open(const char *path, struct hs_dump **result, struct hs_error *error)
{
    struct hs_dump *dump = create(path);
    *result = NULL;
    if (!dump)
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int failed = fd < 0 ? -errno : load(dump, fd);
    if (fd >= 0)
        close(fd);
    if (failed)
        hs_error__set(error, -failed, "%s: %s", path, strerror(-failed));
    else
        failed = parse(dump, dump->bytes, dump->byte_count, LARGEST_UNPACKED, error);
    if (failed)
        hs_dump__close(dump);
    else
        *result = dump;
    return failed;
}

// Unpacks enough of a compressed file to recognise its format.
static enum content content_of_packed(const uint8_t *bytes, size_t length)
{
    uint8_t *start = malloc(SNIFFED);
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length, .next_out = start, .avail_out = SNIFFED};
    if (!start || inflateInit2(&stream, 15 + 16) != Z_OK) {
        free(start);
        return CONTENT_OTHER;
    }
    bool cut;
    while (inflate(&stream, Z_SYNC_FLUSH) == Z_STREAM_END && has_member(&stream, 0, &cut) &&
           inflateReset(&stream) == Z_OK)
        continue;
    inflateEnd(&stream);
    const enum content content = content_of((const char *)start, SNIFFED - stream.avail_out);
    free(start);
    return content;
}

static enum content content_of_file(const char *path)
{
    uint8_t *bytes = malloc(SNIFFED);
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool regular = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode);
    ssize_t length = regular && bytes ? pread(fd, bytes, SNIFFED, 0) : -1;
    if (fd >= 0)
        close(fd);
    enum content content = CONTENT_OTHER;
    if (length > 0)
        content = is_packed(bytes, (size_t)length) ? content_of_packed(bytes, (size_t)length)
                                                   : content_of((const char *)bytes, (size_t)length);
    free(bytes);
    return content;
}

bool hs_dump__recognise(const char *path)
{
    return content_of_file(path) != CONTENT_OTHER;
}

bool hs_dump__recognise_parts(const char *path)
{
    const enum content content = content_of_file(path);
    return content == CONTENT_MASSIF || content == CONTENT_DHAT;
}
