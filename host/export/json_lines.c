// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One object on each line: first the stacks, then the blocks in the order in which they were allocated.
#include "host/export/block.h"
#include "host/export/export.h"
#include "host/report/json.h"

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

static int write_block(void *context, const struct hs_store *store, uint64_t row)
{
    struct hs_block block;
    struct hs_json json;
    char address[32];
    hs_block__of_row(&block, store, row);
    snprintf(address, sizeof(address), "0x%" PRIx64, block.address);
    hs_json__start(&json, context, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "type", "block");
    hs_json__number(&json, "time_ns", block.time);
    if (block.free_time == HS_NEVER)
        hs_json__null(&json, "free_time_ns");
    else
        hs_json__number(&json, "free_time_ns", block.free_time);
    hs_json__number(&json, "lifetime_ns", block.lifetime);
    hs_json__string(&json, "address", address);
    hs_json__number(&json, "size", block.size);
    hs_json__number(&json, "usable_size", block.usable);
    hs_json__string(&json, "kind", block.kind);
    hs_json__boolean(&json, "temporary", block.temporary);
    hs_json__number(&json, "thread", block.tid);
    hs_json__string(&json, "thread_name", block.thread);
    hs_json__number(&json, "stack", block.stack);
    hs_json__close_object(&json);
    return 0;
}

int hs_export__json_lines(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    for (size_t i = 0; i < subject->totals.count; i++)
        write_stack(out, subject->symbols, subject->totals.total[i].stack);
    return hs_query__each(subject->store, subject->filter, options->control, write_block, out, NULL);
}
