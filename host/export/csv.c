// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A table of blocks or samples in the order of time, as RFC 4180 has it but with plain ends of lines. A block that was
// never freed has no free time.
#include "host/base/utf8.h"
#include "host/export/block.h"
#include "host/export/export.h"
#include "host/report/text.h"

#include <inttypes.h>
#include <string.h>

struct csv_writing {
    FILE *out;
    enum hs_events events;
};

// Always quoted: names have commas. Spreadsheets take what begins with one of these for a formula.
static void write_text(FILE *out, const char *text)
{
    size_t length = strlen(text);
    fputs(strchr("=+-@\t\r", *text) && *text ? "\"'" : "\"", out);
    for (size_t i = 0; i < length;) {
        size_t sequence = hs_utf8__shown(text + i, length - i);
        if (!sequence)
            putc_unlocked('?', out);
        else
            fwrite_unlocked(text + i, 1, sequence, out);
        if (text[i] == '"')
            putc_unlocked('"', out);
        i += sequence ? sequence : 1;
    }
    putc_unlocked('"', out);
}

static void write_number(FILE *out, uint64_t number)
{
    char digits[24];
    char *at = digits + sizeof(digits);
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    fwrite_unlocked(at, 1, (size_t)(digits + sizeof(digits) - at), out);
}

static void write_value(FILE *out, const struct hs_export_block *block, enum hs_export_column column)
{
    uint64_t number = hs_export_block__number(block, column);
    switch (hs_columns_of_blocks[column].type) {
    case HS_COLUMN_OF_TEXT:
        if (column == HS_COLUMN_KIND) // a word of ours
            fputs_unlocked(hs_export_block__text(block, column), out);
        else
            write_text(out, hs_export_block__text(block, column));
        break;
    case HS_COLUMN_OF_ADDRESS:
        fprintf(out, "0x%" PRIx64, number);
        break;
    case HS_COLUMN_OF_NUMBER_OR_NO:
        if (number != HS_NEVER)
            write_number(out, number);
        break;
    default:
        write_number(out, number);
        break;
    }
}

static int write_block(void *context, const struct hs_export_block *block)
{
    const struct csv_writing *writing = context;
    for (int column = 0; column < HS_COLUMN_COUNT; column++) {
        if (!hs_export_column__is_of((enum hs_export_column)column, writing->events))
            continue;
        if (column)
            putc_unlocked(',', writing->out);
        write_value(writing->out, block, (enum hs_export_column)column);
    }
    putc_unlocked('\n', writing->out);
    return 0;
}

int hs_export__csv(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct csv_writing writing = {out, subject->events};
    for (int column = 0; column < HS_COLUMN_COUNT; column++) {
        if (hs_export_column__is_of((enum hs_export_column)column, subject->events))
            fprintf(out, "%s%s", column ? "," : "", hs_columns_of_blocks[column].name);
    }
    putc('\n', out);
    return hs_export_blocks__each(subject, options->control, write_block, &writing);
}
