// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/stack_json.h"

#include "format/trace_format.h"

#include <stdio.h>

void hs_report__frame_json(struct hs_json *json, const struct hs_frame *frame)
{
    char address[32];
    snprintf(address, sizeof(address), "0x%llx", (unsigned long long)frame->address);
    hs_json__open_object(json, NULL);
    hs_json__string(json, "function", frame->function);
    hs_json__string(json, "file", frame->file);
    if (frame->line)
        hs_json__number(json, "line", frame->line);
    else
        hs_json__null(json, "line");
    hs_json__string(json, "module", frame->module);
    hs_json__string(json, "address", address);
    hs_json__boolean(json, "inlined", frame->inlined);
    hs_json__close_object(json);
}

void hs_report__stack_json(struct hs_json *json, const struct hs_subject *subject, uint32_t stack)
{
    bool guessed = false;
    hs_json__open_array(json, "frames");
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(subject->symbols, node)) {
        if (hs_trace_symbols__is_cut(subject->symbols, node))
            break;
        if (hs_trace_symbols__is_guess(subject->symbols, node)) {
            guessed = true;
            continue;
        }
        const struct hs_frames *frames = hs_trace_symbols__node(subject->symbols, node);
        for (uint32_t i = 0; i < frames->count; i++)
            hs_report__frame_json(json, &frames->frame[i]);
    }
    hs_json__close_array(json);
    unsigned cut = HS_CUT_NONE;
    hs_store__frames(subject->store, stack, NULL, 0, &cut);
    if (!subject->kind)
        hs_json__string(json, "cut", cut == HS_CUT_NONE ? NULL : hs_truncation_name(cut));
    if (guessed)
        hs_json__boolean(json, "guessed", true);
}
