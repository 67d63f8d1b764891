// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One object on each line: first the stacks, then the blocks or samples in the order of time.
#include "host/base/json.h"
#include "host/export/block.h"
#include "host/export/export.h"

#include <inttypes.h>

static void write_frame(struct hs_json *json, const struct hs_frame *frame)
{
    hs_json__open_object(json, NULL);
    hs_json__string(json, "function", frame->function);
    if (frame->file)
        hs_json__string(json, "file", frame->file);
    if (frame->line)
        hs_json__number(json, "line", frame->line);
    if (*frame->module)
        hs_json__string(json, "module", frame->module);
    if (frame->inlined)
        hs_json__boolean(json, "inlined", true);
    hs_json__close_object(json);
}

static void write_stack(FILE *out, struct hs_trace_symbols *symbols, uint32_t stack)
{
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "type", "stack");
    hs_json__number(&json, "stack", stack);
    hs_json__open_array(&json, "frames");
    for (; stack; stack = hs_trace_symbols__parent(symbols, stack)) {
        const struct hs_frames *frames = hs_trace_symbols__node(symbols, stack);
        for (uint32_t i = 0; i < frames->count; i++)
            write_frame(&json, &frames->frame[i]);
    }
    hs_json__close_array(&json);
    hs_json__close_object(&json);
}

struct json_lines_writing {
    FILE *out;
    enum hs_events events;
};

static void write_value(struct hs_json *json, const struct hs_export_block *block, enum hs_export_column column)
{
    const struct hs_export_column_kind *kind = &hs_columns_of_blocks[column];
    uint64_t number = hs_export_block__number(block, column);
    char address[32];
    switch (kind->type) {
    case HS_COLUMN_OF_TEXT:
        hs_json__string(json, kind->name, hs_export_block__text(block, column));
        break;
    case HS_COLUMN_OF_ADDRESS:
        snprintf(address, sizeof(address), "0x%" PRIx64, number);
        hs_json__string(json, kind->name, address);
        break;
    case HS_COLUMN_OF_BOOLEAN:
        hs_json__boolean(json, kind->name, number);
        break;
    default:
        if (kind->type == HS_COLUMN_OF_NUMBER_OR_NO && number == HS_NEVER)
            hs_json__null(json, kind->name);
        else
            hs_json__number(json, kind->name, number);
        break;
    }
}

// The line of the stack has its frames.
static int write_block(void *context, const struct hs_export_block *block)
{
    const struct json_lines_writing *writing = context;
    struct hs_json json;
    hs_json__start(&json, writing->out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "type", hs_events__are_samples(writing->events) ? "sample" : "block");
    for (int column = 0; column <= HS_COLUMN_STACK; column++) {
        if (hs_export_column__is_of((enum hs_export_column)column, writing->events))
            write_value(&json, block, (enum hs_export_column)column);
    }
    hs_json__close_object(&json);
    return 0;
}

int hs_export__json_lines(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct json_lines_writing writing = {out, subject->events};
    for (size_t i = 0; i < subject->totals.count; i++)
        write_stack(out, subject->symbols, subject->totals.total[i].stack);
    return hs_export_blocks__each(subject, options->control, write_block, &writing);
}
