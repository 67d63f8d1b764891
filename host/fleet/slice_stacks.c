// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/slice_stacks.h"

#include "host/fleet/asking.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

// Up to this many stacks are named at once: the list of them has to fit into a statement.
enum { BATCH = 5000 };

struct slice_row {
    uint64_t stack;
    struct hs_value in_use;
};

struct slice_rows {
    struct slice_row *row;
    size_t count, room;
};

static int read_rows(struct slice_rows *rows, struct hs_database *database, const struct hs_fleet_slice *slice,
                     uint64_t devices, struct hs_error *error)
{
    struct hs_fleet_slice all = *slice;
    struct hs_buffer answer = {0};
    char *field[3];
    all.skip = 0;
    all.top = HS_FLEET_ROWS_MOST;
    int failed = hs_fleet__ask(database, hs_fleet_question__find("stacks"), &all, false, &answer, error);
    struct hs_tsv table = hs_tsv__begin(&answer);
    while (!failed && hs_tsv__next(&table, field, 3)) {
        if (HS_ARRAY_HAS_ROOM(rows->row, rows->count, rows->room))
            rows->row[rows->count++] =
                (struct slice_row){strtoull(field[0], NULL, 10),
                                   {strtoull(field[1], NULL, 10) / devices, strtoull(field[2], NULL, 10) / devices}};
        else
            failed = hs_error__set(error, ENOMEM, "out of memory");
    }
    hs_buffer__free(&answer);
    return failed;
}

static int visit_batch(struct hs_database *database, const struct slice_row *row, size_t count, hs_slice_visitor visit,
                       void *context, struct hs_error *error)
{
    uint64_t keys[BATCH];
    struct hs_fleet_names *names;
    for (size_t i = 0; i < count; i++)
        keys[i] = row[i].stack;
    int failed = hs_fleet_names__read(database, keys, count, &names, error);
    if (failed)
        return failed;
    for (size_t i = 0; i < count && !failed; i++)
        failed = visit(context, hs_fleet_names__stack(names, keys[i]), &row[i].in_use);
    hs_fleet_names__free(names);
    return failed ? hs_error__set(error, ENOMEM, "out of memory") : 0;
}

int hs_slice_stacks__each(struct hs_database *database, const struct hs_fleet_slice *slice, bool per_device,
                          hs_slice_visitor visit, void *context, struct hs_error *error)
{
    struct slice_rows rows = {0};
    uint64_t devices = 1;
    int failed = per_device ? hs_fleet__count_devices(database, slice, &devices, error) : 0;
    if (!failed)
        failed = read_rows(&rows, database, slice, devices ? devices : 1, error);
    for (size_t at = 0; at < rows.count && !failed; at += BATCH)
        failed = visit_batch(database, rows.row + at, rows.count - at < BATCH ? rows.count - at : BATCH, visit, context,
                             error);
    free(rows.row);
    return failed;
}

const char *hs_slice_frame__name(const struct hs_fleet_frame *frame, char text[HS_SLICE_NAME])
{
    if (*frame->function)
        return frame->function;
    if (!*frame->module)
        return "[no file]";
    snprintf(text, HS_SLICE_NAME, "%.290s+0x%" PRIx64, frame->module, frame->offset);
    return text;
}
