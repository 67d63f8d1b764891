// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/partial.h"

#include "host/import/resume.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define NOT_FULL UINT16_MAX

static int start(struct hs_partial *partial, int directory_fd)
{
    int failed = 0;
    if (partial->started)
        return 0;
    partial->started = true;
#define CREATE(name)                                                                                                   \
    partial->name.fd = -1;                                                                                             \
    if (!failed)                                                                                                       \
        failed = hs_packed_writer__create(&partial->name, directory_fd, "partial_" #name);
    HS_PARTIAL_ENDS(CREATE)
#undef CREATE
    return failed;
}

static uint16_t count_live(const uint64_t *ended, size_t count)
{
    unsigned live = 0;
    for (size_t i = 0; i < count; i++)
        live += ended[i] >> 63;
    return (uint16_t)live;
}

static void write_block(struct hs_partial *partial, struct hs_builder *builder, uint64_t number, uint64_t *ended,
                        size_t count)
{
    uint64_t values[HS_PACKED_BLOCK];
    struct {
        enum hs_row_ends_column column;
        struct hs_packed_writer *to;
    } const others[] = {{HS_ROW_ENDS_STACK, &partial->free_stack},
                        {HS_ROW_ENDS_STREAM, &partial->free_stream},
                        {HS_ROW_ENDS_STATE, &partial->state}};
    // Time never goes back: its first one is the block's least.
    const uint64_t first_time =
        number < builder->time.blocks ? builder->time.block[number].base : builder->staged->time[0];
    for (size_t i = 0; i < count; i++)
        ended[i] = ended[i] & ROW_IS_LIVE ? 0 : ended[i] - first_time + 1;
    hs_packed_writer__replace(&partial->free_time, number, ended, count);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        hs_row_ends__read_block(&builder->row_ends, others[i].column, number, count, values);
        hs_packed_writer__replace(others[i].to, number, values, count);
    }
}

// A live row may end, and nothing else of it changes. A block with as many live rows as before has not changed.
static int write_ends(struct hs_partial *partial, struct hs_builder *builder)
{
    uint64_t ended[HS_PACKED_BLOCK];
    for (uint64_t number = 0; number * HS_PACKED_BLOCK < builder->rows; number++) {
        uint64_t left = builder->rows - number * HS_PACKED_BLOCK;
        size_t count = left < HS_PACKED_BLOCK ? (size_t)left : HS_PACKED_BLOCK;
        bool is_new = number >= partial->live.count;
        uint16_t *before =
            is_new ? hs_array__add(&partial->live, sizeof *before) : (uint16_t *)partial->live.data + number;
        if (!before)
            return -ENOMEM;
        if (!is_new && !*before)
            continue;
        hs_row_ends__read_block(&builder->row_ends, HS_ROW_ENDS_TIME, number, count, ended);
        uint16_t live = count_live(ended, count);
        if (is_new || live != *before)
            write_block(partial, builder, number, ended, count);
        *before = count < HS_PACKED_BLOCK ? NOT_FULL : live;
    }
    return 0;
}

static int sync_column(struct hs_packed_writer *writer)
{
    int failed = hs_packed_writer__flush(writer);
    return failed || !fdatasync(writer->fd) ? failed : -errno;
}

// On the disk before the file that names them is.
static int sync_columns(struct hs_partial *partial, struct hs_builder *builder)
{
    int failed = 0;
#define SYNC(writer)     failed = failed ? failed : sync_column(writer);
#define SYNC_START(name) SYNC(&builder->name)
#define SYNC_END(name)   SYNC(&partial->name)
    HS_PARTIAL_STARTS(SYNC_START)
    HS_PARTIAL_ENDS(SYNC_END)
#undef SYNC_START
#undef SYNC_END
#undef SYNC
    return failed;
}

int hs_partial__keep(struct hs_partial *partial, struct hs_builder *builder, const struct hs_resume_state *state)
{
    // A block that is full is handed over with the next row.
    bool full = builder->rows % HS_PACKED_BLOCK == 0;
    int failed = full ? hs_builder__write_rest(builder) : hs_write_behind__finish(builder->behind);
    if (!failed)
        failed = hs_row_ends__settle(&builder->row_ends);
    if (!failed)
        failed = start(partial, builder->directory_fd);
    if (!failed)
        failed = write_ends(partial, builder);
    if (!failed)
        failed = sync_columns(partial, builder);
    return failed ? failed : hs_resume__write(builder, state, builder->directory_fd);
}

void hs_partial__end(struct hs_partial *partial, int directory_fd, bool kept)
{
    if (!partial->started)
        return;
#define ABANDON(name) hs_packed_writer__abandon(&partial->name);
    HS_PARTIAL_ENDS(ABANDON)
#undef ABANDON
    free(partial->live.data);
    *partial = (struct hs_partial){0};
    if (kept)
        return;
    // First what names the others.
    unlinkat(directory_fd, "partial", 0);
    unlinkat(directory_fd, "partial.new", 0);
#define REMOVE(name) unlinkat(directory_fd, "partial_" #name, 0);
    HS_PARTIAL_ENDS(REMOVE)
#undef REMOVE
}
