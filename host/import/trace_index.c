// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which chunks a trace has: from its footer, or by going from header to header, searching the next one after damage.
#include "host/base/numbers.h"
#include "host/import/trace.h"

#include "format/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int is_footer_chunk_wrong(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, uint64_t footer)
{
    return chunk->offset < trace->info.header.header_size || chunk->offset % HS_CHUNK_ALIGNMENT ||
           chunk->offset + HS_CHUNK_HEADER_SIZE + chunk->stored_length > footer;
}

static struct hs_trace_chunk describe(uint64_t offset, const struct hs_chunk_header *header)
{
    return (struct hs_trace_chunk){
        .offset = offset,
        .sequence = header->sequence,
        .first_time = header->first_time,
        .last_time = header->last_time,
        .stored_length = header->stored_length,
        .plain_length = header->plain_length,
        .stream = header->stream,
        .count = header->count,
        .kind = header->kind,
        .flags = header->flags,
    };
}

// ---- footer --------------------------------------------------------------------------------------------------------

static int add_footer_entries(struct hs_trace *trace, const uint8_t *entries, size_t count, uint64_t footer)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t offset;
        struct hs_chunk_header header;
        if (hs_footer_entry_read(entries + i * HS_FOOTER_ENTRY_SIZE, &offset, &header))
            return -EBADMSG;
        struct hs_trace_chunk chunk = describe(offset, &header);
        if (is_footer_chunk_wrong(trace, &chunk, footer) || offset <= last)
            return -EBADMSG;
        last = offset;
        if (hs_trace__add_chunk(trace, &chunk))
            return -ENOMEM;
    }
    return 0;
}

// Returns 0 when the index is complete, 1 when there is no footer to use, or an error.
static int read_footer(struct hs_trace *trace)
{
    uint64_t offset = trace->info.header.live.footer_offset;
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    struct hs_chunk_header header;
    if (!offset)
        return 1;
    if (hs_trace__read(trace, offset, bytes, sizeof bytes) || hs_chunk_read(bytes, &header) ||
        header.kind != HS_CHUNK_FOOTER || header.stored_length % HS_FOOTER_ENTRY_SIZE) {
        hs_trace__count_damage(trace, HS_DAMAGE_INDEX, 0);
        return 1;
    }
    if (!header.stored_length)
        return 1;
    struct hs_trace_chunk chunk = describe(offset, &header);
    uint8_t *entries = malloc(header.stored_length);
    if (!entries)
        return -ENOMEM;
    int failed = hs_trace__stored(trace, &chunk, entries);
    if (!failed)
        failed = add_footer_entries(trace, entries, header.stored_length / HS_FOOTER_ENTRY_SIZE, offset);
    free(entries);
    if (failed == -ENOMEM)
        return failed;
    if (failed) {
        hs_trace__count_damage(trace, HS_DAMAGE_INDEX, header.stored_length);
        trace->chunks = 0;
        return 1;
    }
    trace->info.from_footer = true;
    return 0;
}

// ---- scanning ------------------------------------------------------------------------------------------------------

// A window of the file, so that adjacent headers need only one read.
struct window {
    uint8_t bytes[1 << 12];
    uint64_t start;
    size_t length;
};

static const uint8_t *look(const struct hs_trace *trace, struct window *window, uint64_t offset, size_t length)
{
    if (offset < window->start || offset + length > window->start + window->length) {
        uint64_t left = trace->info.file_size - offset;
        size_t want = left < sizeof window->bytes ? (size_t)left : sizeof window->bytes;
        window->length = 0;
        if (want < length || hs_trace__read(trace, offset, window->bytes, want))
            return NULL;
        window->start = offset;
        window->length = want;
    }
    return window->bytes + (offset - window->start);
}

// The offset of the next valid chunk header after `offset`, or the end of the file. *zeros: whether all skipped bytes
// were zeros.
static uint64_t resynchronize(const struct hs_trace *trace, struct window *window, uint64_t offset, bool *zeros)
{
    uint64_t size = trace->info.file_size;
    struct hs_chunk_header header;
    *zeros = true;
    for (; size - offset >= 8; offset += 8) {
        const uint8_t *at = look(trace, window, offset, 8);
        if (!at)
            return size;
        uint64_t word;
        memcpy(&word, at, 8);
        if (!word)
            continue;
        if (!memcmp(at, "SHCK", 4) && size - offset >= HS_CHUNK_HEADER_SIZE &&
            (at = look(trace, window, offset, HS_CHUNK_HEADER_SIZE)) && !hs_chunk_read(at, &header))
            return offset;
        *zeros = false;
    }
    return size;
}

static int scan(struct hs_trace *trace)
{
    uint64_t offset = trace->info.header.header_size, size = trace->info.file_size;
    struct window *window = calloc(1, sizeof *window);
    if (!window)
        return -ENOMEM;
    int failed = 0;
    while (!failed && offset < size) {
        struct hs_chunk_header header;
        const uint8_t *at =
            size - offset >= HS_CHUNK_HEADER_SIZE ? look(trace, window, offset, HS_CHUNK_HEADER_SIZE) : NULL;
        if (!at || hs_chunk_read(at, &header)) {
            bool zeros;
            uint64_t next = resynchronize(trace, window, offset, &zeros);
            // Zeros up to the end are space that was never written.
            if (next < size || !zeros)
                hs_trace__count_damage(trace, next < size ? HS_DAMAGE_HEADER : HS_DAMAGE_TRUNCATED, next - offset);
            offset = next;
            continue;
        }
        if (size - offset - HS_CHUNK_HEADER_SIZE < header.stored_length) {
            if (header.kind != HS_CHUNK_PAD)
                hs_trace__count_damage(trace, HS_DAMAGE_TRUNCATED, size - offset);
            // The length may be whole and the tail cut, or the space of a hole: look for what may still follow.
            bool zeros;
            offset = resynchronize(trace, window, offset + 8, &zeros);
            continue;
        }
        struct hs_trace_chunk chunk = describe(offset, &header);
        if (header.kind != HS_CHUNK_PAD)
            failed = hs_trace__add_chunk(trace, &chunk);
        offset += hs_chunk_size(header.stored_length);
    }
    free(window);
    return failed;
}

// ---- live slots ----------------------------------------------------------------------------------------------------

struct sequences {
    uint64_t *number;
    size_t count;
};

static int collect_sequences(const struct hs_trace *trace, struct sequences *sealed)
{
    *sealed = (struct sequences){malloc((trace->chunks + 1) * sizeof *sealed->number), 0};
    if (!sealed->number)
        return -ENOMEM;
    for (size_t i = 0; i < trace->chunks; i++)
        if (trace->chunk[i].kind == HS_CHUNK_EVENTS || trace->chunk[i].kind == HS_CHUNK_META)
            sealed->number[sealed->count++] = trace->chunk[i].sequence;
    qsort(sealed->number, sealed->count, sizeof *sealed->number, hs_number__compare_items);
    return 0;
}

static uint64_t load(const struct hs_trace *trace, const uint8_t *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[i] << 8 * (trace->target.byte_order == HS_BYTE_ORDER_BIG ? size - 1 - i : i);
    return value;
}

// Turns a SLOT chunk into the EVENTS or META chunk that it would have become; kind 0 when it holds nothing new.
static int convert_slot(struct hs_trace *trace, struct hs_trace_decoder *decoder, const struct sequences *sealed,
                        struct hs_trace_chunk *slot)
{
    uint8_t bytes[32];
    slot->kind = 0;
    if (slot->stored_length < sizeof bytes ||
        hs_trace__read(trace, slot->offset + HS_CHUNK_HEADER_SIZE, bytes, sizeof bytes))
        return 0;
    uint32_t use = (uint32_t)load(trace, bytes, 4);
    slot->sequence = load(trace, bytes + 8, 8);
    if (use == HS_SLOT_FREE ||
        bsearch(&slot->sequence, sealed->number, sealed->count, sizeof *sealed->number, hs_number__compare_items))
        return 0;
    slot->stream = (uint32_t)load(trace, bytes + 4, 4);
    slot->first_time = slot->last_time = load(trace, bytes + 16, 8);
    slot->flags = HS_CHUNK_LIVE;
    if (use == HS_SLOT_META) {
        slot->kind = HS_CHUNK_META;
    } else if (use == HS_SLOT_EVENTS) {
        const struct hs_event *events;
        size_t count;
        slot->kind = HS_CHUNK_EVENTS;
        int failed = hs_trace__decode(trace, slot, decoder, &events, &count);
        if (failed && failed != -EBADMSG)
            return failed;
        if (!count) {
            slot->kind = 0;
            return 0;
        }
        slot->count = (uint32_t)count;
        slot->first_time = events[0].time;
        if (events[0].kind == HS_EVENT_REALLOC && events[0].begin_time < events[0].time)
            slot->first_time = events[0].begin_time;
        slot->last_time = events[count - 1].time;
    }
    trace->info.recovered_slots += slot->kind != 0;
    return 0;
}

struct slot_copy {
    uint64_t sequence;
    size_t chunk;
};

static int compare_copies(const void *left, const void *right)
{
    const struct slot_copy *a = left, *b = right;
    int order = hs_number__compare_items(&a->sequence, &b->sequence);
    return order ? order : (a->chunk > b->chunk) - (a->chunk < b->chunk);
}

// A stream holds copies of slots as they fill; the last of each counts.
static int drop_older_copies(struct hs_trace *trace)
{
    struct slot_copy *copies = malloc((trace->chunks + 1) * sizeof *copies);
    size_t count = 0;
    if (!copies)
        return -ENOMEM;
    for (size_t i = 0; i < trace->chunks; i++) {
        uint8_t bytes[8];
        const struct hs_trace_chunk *chunk = &trace->chunk[i];
        if (chunk->kind == HS_CHUNK_SLOT && chunk->stored_length >= 16 &&
            !hs_trace__read(trace, chunk->offset + HS_CHUNK_HEADER_SIZE + 8, bytes, sizeof bytes))
            copies[count++] = (struct slot_copy){load(trace, bytes, 8), i};
    }
    qsort(copies, count, sizeof *copies, compare_copies);
    for (size_t i = 0; i + 1 < count; i++)
        if (copies[i].sequence && copies[i].sequence == copies[i + 1].sequence)
            trace->chunk[copies[i].chunk].kind = 0;
    free(copies);
    return 0;
}

static int convert_slots(struct hs_trace *trace)
{
    struct sequences sealed;
    struct hs_trace_decoder *decoder = hs_trace_decoder__create(trace);
    int failed = drop_older_copies(trace);
    if (!failed)
        failed = collect_sequences(trace, &sealed);
    else
        sealed.number = NULL;
    if (!decoder)
        failed = -ENOMEM;
    size_t kept = 0;
    for (size_t i = 0; i < trace->chunks && !failed; i++) {
        struct hs_trace_chunk chunk = trace->chunk[i];
        if (chunk.kind == HS_CHUNK_SLOT)
            failed = convert_slot(trace, decoder, &sealed, &chunk);
        if (chunk.kind)
            trace->chunk[kept++] = chunk;
    }
    trace->chunks = kept;
    free(sealed.number);
    hs_trace_decoder__free(decoder);
    return failed;
}

// In a stream, the live part of the header is that of the start; later values are in chunks.
static int take_live_part(struct hs_trace *trace)
{
    uint64_t *words = (uint64_t *)&trace->info.header.live;
    for (size_t i = trace->chunks; i-- > 0;) {
        const struct hs_trace_chunk *chunk = &trace->chunk[i];
        uint8_t bytes[HS_LIVE_WORDS * 8];
        if (chunk->kind != HS_CHUNK_LIVE_PART || chunk->stored_length != sizeof bytes)
            continue;
        int failed = hs_trace__stored(trace, chunk, bytes);
        if (failed == -EIO || failed == -EBADMSG)
            continue;
        for (size_t word = 0; !failed && word < sizeof trace->info.header.live / 8; word++)
            words[word] = load(trace, bytes + word * 8, 8);
        return failed;
    }
    return 0;
}

int hs_trace__index(struct hs_trace *trace, struct hs_error *error)
{
    int result = read_footer(trace);
    if (result == 1)
        result = scan(trace);
    if (!result)
        result = take_live_part(trace);
    if (!result)
        result = convert_slots(trace);
    if (result)
        return hs_error__set(error, -result, "%s: %s", trace->path, strerror(-result));
    return 0;
}
