// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/symbolize.h"

#include "host/fleet/row_binary.h"
#include "host/fleet/tsv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUILD_TEXT = 2 * HS_FLEET_BUILD };

struct symbolizing {
    struct hs_symbols *symbols;
    struct hs_buffer rows;
    char last[BUILD_TEXT + 1]; // the build of the row before
    int module;
    uint8_t build[HS_FLEET_BUILD];
    struct hs_fleet_symbolized *result;
};

static bool read_build(const char *text, uint8_t build[HS_FLEET_BUILD])
{
    if (strlen(text) != BUILD_TEXT)
        return false;
    for (unsigned i = 0; i < HS_FLEET_BUILD; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], 0};
        build[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return true;
}

// Build ids are 20 bytes or shorter; the zeros behind shorter ones do not belong to them.
static size_t build_length(const uint8_t build[HS_FLEET_BUILD])
{
    size_t length = HS_FLEET_BUILD;
    while (length && !build[length - 1])
        length--;
    return length <= 8 ? 8 : length <= 16 ? 16 : HS_FLEET_BUILD;
}

static int begin_build(struct symbolizing *work, const char *build, const char *path, struct hs_error *error)
{
    work->module = -1;
    snprintf(work->last, sizeof(work->last), "%s", build);
    if (!read_build(build, work->build) || !memcmp(work->build, "path", 4))
        return 0;
    const struct hs_symbols_module module = {
        .end = UINT64_MAX, .path = path, .build_id = work->build, .build_id_length = build_length(work->build)};
    work->module = hs_symbols__add_module(work->symbols, &module);
    work->result->builds++;
    return work->module < 0 ? hs_error__set(error, -work->module, "out of memory") : 0;
}

static int name_place(struct symbolizing *work, uint64_t offset)
{
    const struct hs_frames *frames = hs_symbols__resolve(work->symbols, work->module, offset);
    if (!frames)
        return -ENOMEM;
    if (frames->frame[0].kind != HS_FRAME_NAMED) {
        work->result->unnamed++;
        return 0;
    }
    for (uint32_t i = 0; i < frames->count; i++) {
        const struct hs_frame *frame = &frames->frame[i];
        const char *file = frame->file ? frame->file : "";
        hs_buffer__put(&work->rows, work->build, HS_FLEET_BUILD);
        hs_row__u64(&work->rows, offset);
        hs_row__u16(&work->rows, (uint16_t)i);
        hs_row__text(&work->rows, frame->function, strlen(frame->function));
        hs_row__text(&work->rows, file, strlen(file));
        hs_row__u32(&work->rows, frame->line);
    }
    work->result->named++;
    return work->rows.failed ? -ENOMEM : 0;
}

int hs_fleet__symbolize(struct hs_database *database, const struct hs_symbols_options *options,
                        void (*missing)(void *context, const char *build, const char *path), void *context,
                        struct hs_fleet_symbolized *result, struct hs_error *error)
{
    struct symbolizing work = {.symbols = hs_symbols__create(options), .result = result};
    struct hs_buffer answer = {0};
    char *field[3];
    *result = (struct hs_fleet_symbolized){0};
    int failed = work.symbols ? 0 : hs_error__set(error, ENOMEM, "out of memory");
    if (!failed)
        failed = hs_database__ask(
            database,
            "SELECT lower(hex(b)) AS text, o, any(path) FROM (SELECT DISTINCT b, o FROM stack ARRAY "
            "JOIN builds AS b, offsets AS o WHERE (b, o) NOT IN (SELECT build, offset FROM symbol)) AS places "
            "ALL INNER JOIN (SELECT build AS b, any(path) AS path FROM build GROUP BY build) AS files USING b "
            "GROUP BY text, o ORDER BY text, o FORMAT TabSeparated",
            &answer, error);
    struct hs_tsv table = hs_tsv__begin(&answer);
    while (!failed && hs_tsv__next(&table, field, 3)) {
        if (strcmp(field[0], work.last))
            failed = begin_build(&work, field[0], field[2], error);
        if (!failed && work.module < 0)
            result->unnamed++;
        else if (!failed && name_place(&work, strtoull(field[1], NULL, 10)))
            failed = hs_error__set(error, ENOMEM, "out of memory");
    }
    for (size_t i = 0; !failed && i < hs_symbols__module_count(work.symbols); i++) {
        struct hs_symbols_status status;
        hs_symbols__status(work.symbols, i, &status);
        bool found = status.state == HS_SYMBOLS_FOUND;
        result->missing_builds += !found;
        char text[BUILD_TEXT + 1] = "";
        for (size_t at = 0; at < status.build_id_length && at < HS_FLEET_BUILD; at++)
            snprintf(text + 2 * at, 3, "%02x", status.build_id[at]);
        if (!found && missing)
            missing(context, text, status.path);
    }
    if (!failed && work.rows.count)
        failed =
            hs_database__insert(database, "symbol (build, offset, depth, function, file, line)", &work.rows, error);
    hs_symbols__destroy(work.symbols);
    hs_buffer__free(&work.rows);
    hs_buffer__free(&answer);
    return failed;
}
