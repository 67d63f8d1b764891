// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/table.h"

#include "host/base/clock.h"
#include "host/base/utf8.h"
#include "host/report/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { MOST_ROWS = 8192, NAME_WIDTH = 20, ADDRESS_WIDTH = 22 };

struct hs_table_before {
    uint8_t id[HS_TRACE_ID_SIZE];
    uint64_t size, time_ns;
};

void hs_table__free(struct hs_table *table)
{
    free(table->rows);
    free(table->before);
}

void hs_table__wipe(struct hs_table *table, FILE *out)
{
    if (table->lines)
        fprintf(out, "\033[%uA\r\033[J", table->lines);
    table->lines = 0;
}

static bool make_room(struct hs_table *table)
{
    if (table->rows)
        return true;
    table->rows = calloc(MOST_ROWS, sizeof(*table->rows));
    table->before_room = 2 * MOST_ROWS;
    table->before = calloc(table->before_room, sizeof(*table->before));
    table->room = table->rows && table->before ? MOST_ROWS : 0;
    return table->room > 0;
}

// Bytes in a second since this row was drawn last. Rows that meet in one place lose their rate for a moment.
static uint64_t row_rate(struct hs_table *table, const struct hs_gathered_row *row, uint64_t now)
{
    uint32_t hash;
    memcpy(&hash, row->device.trace_id, sizeof(hash));
    struct hs_table_before *before = &table->before[hash % table->before_room];
    uint64_t rate = 0;
    if (!memcmp(before->id, row->device.trace_id, HS_TRACE_ID_SIZE) && now > before->time_ns)
        rate = (uint64_t)((double)(row->size - before->size) * 1e9 / (double)(now - before->time_ns));
    memcpy(before->id, row->device.trace_id, HS_TRACE_ID_SIZE);
    before->size = row->size;
    before->time_ns = now;
    return rate;
}

static int order(const void *a, const void *b)
{
    const struct hs_gathered_row *left = a, *right = b;
    bool left_runs = left->state == HS_GATHERED_RUNNING, right_runs = right->state == HS_GATHERED_RUNNING;
    if (left_runs != right_runs)
        return left_runs ? -1 : 1;
    int names = strcmp(hs_device__title(&left->device), hs_device__title(&right->device));
    return names ? names : memcmp(left->device.trace_id, right->device.trace_id, HS_TRACE_ID_SIZE);
}

// Exactly `width` characters of text of unknown origin.
static void cell(FILE *out, const char *text, int width)
{
    int used = 0;
    size_t length = strlen(text);
    for (size_t at = 0; at < length && used < width; used++) {
        size_t part = hs_utf8__length(text + at, length - at);
        part = part ? part : 1;
        hs_text__print(out, text + at, part);
        at += part;
    }
    fprintf(out, "%*s", width - used + 1, "");
}

static const char *state_word(const struct hs_gathered_row *row)
{
    static const char *const words[] = {[HS_GATHERED_FOUND] = "found",
                                        [HS_GATHERED_RUNNING] = "running",
                                        [HS_GATHERED_AWAY] = "away",
                                        [HS_GATHERED_ENDED] = "ended",
                                        [HS_GATHERED_REFUSED] = "refused"};
    return words[row->state];
}

static void draw_row(FILE *out, const struct hs_gathered_row *row, uint64_t rate)
{
    char per_second[64];
    snprintf(per_second, sizeof(per_second), "%s/s", hs_text__bytes(rate).text);
    cell(out, row->device.name, NAME_WIDTH);
    cell(out, row->device.pid, 7);
    cell(out, hs_device__title(&row->device), ADDRESS_WIDTH);
    fprintf(out, "%-8s %11s %13s", state_word(row), hs_text__bytes(row->size).text, per_second);
    if (row->counts_lost)
        fputs("              ?         ?", out);
    else
        fprintf(out, " %14s %9s", hs_text__count(row->events).text, hs_text__count(row->dropped).text);
    fputs("\033[K\n", out);
}

static unsigned terminal_lines(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) || size.ws_row < 6)
        return 24;
    return size.ws_row;
}

void hs_table__draw(struct hs_table *table, FILE *out, struct hs_traces *traces, const struct hs_traces_totals *totals,
                    uint64_t rate)
{
    if (!make_room(table))
        return;
    size_t all = hs_traces__rows(traces, table->rows, table->room);
    size_t count = all < table->room ? all : table->room;
    size_t shown = terminal_lines(out) - 4;
    uint64_t now = hs_clock__now();
    qsort(table->rows, count, sizeof(*table->rows), order);
    if (shown > count)
        shown = count;
    hs_table__wipe(table, out);
    // Lines that are too long are cut, not broken: what was drawn has to be as many lines as was counted.
    fputs("\033[?7l", out);
    fprintf(out, "%-*s %-7s %-*s %-8s %11s %13s %14s %9s\033[K\n", NAME_WIDTH, "name", "pid", ADDRESS_WIDTH, "device",
            "state", "bytes", "rate", "events", "dropped");
    for (size_t i = 0; i < count; i++) {
        uint64_t row_per_second = row_rate(table, &table->rows[i], now);
        if (i < shown)
            draw_row(out, &table->rows[i], row_per_second);
    }
    fprintf(out, "%s running of %s; %s received, %s/s; %s in the folder\033[K\033[?7h\n",
            hs_text__count(totals->running).text, hs_text__count(totals->begun).text,
            hs_text__bytes(totals->received).text, hs_text__bytes(rate).text, hs_text__bytes(totals->stored).text);
    table->lines = (unsigned)shown + 2;
    fflush(out);
}
