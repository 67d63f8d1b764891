// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/kernel_stacks.h"

#include "format/trace_format.h"
#include "host/base/json.h"
#include "host/report/stack_json.h"
#include "host/report/style.h"
#include "host/report/text.h"

struct kernel_stacks {
    uint64_t stacks, equal; // equal: all frames that the kernel found are the innermost ones of the recorder's stack
    uint64_t frames;        // of the equal ones
    uint32_t differing, differing_own; // the first that is not: the kernel's, and the recorder's. 0: none
};

// How many frames the first stack has, if it is the inner end of the second; 0: it is not.
static uint32_t frames_in_common(const struct hs_node *nodes, size_t count, uint64_t kernel, uint64_t own)
{
    uint32_t frames = 0;
    for (; kernel && kernel < count; kernel = nodes[kernel].parent, own = nodes[own].parent, frames++)
        if (!own || own >= count || nodes[kernel].pc != nodes[own].pc)
            return 0;
    return frames;
}

static struct kernel_stacks compare(const struct hs_store *store)
{
    struct kernel_stacks result = {0};
    size_t count, node_count;
    const struct hs_sample *samples = hs_store__samples(store, &count);
    const struct hs_node *nodes = hs_store__nodes(store, &node_count);
    for (size_t i = 0; i < count; i++) {
        if (samples[i].kind != HS_SAMPLE_WITNESS)
            continue;
        uint32_t frames = frames_in_common(nodes, node_count, samples[i].stack, samples[i].weight);
        result.stacks++;
        result.equal += frames != 0;
        result.frames += frames;
        if (!frames && !result.differing) {
            result.differing = samples[i].stack;
            result.differing_own = (uint32_t)samples[i].weight;
        }
    }
    return result;
}

void hs_report__kernel_stacks(FILE *out, const struct hs_subject *subject)
{
    struct kernel_stacks stacks = compare(subject->store);
    const struct hs_style *style = hs_style__for(out);
    if (!stacks.stacks)
        return;
    fprintf(out, "\n%sStacks of the kernel%s: %s of %s are those of the recorder, with %s frames\n", style->heading,
            style->plain, hs_text__count(stacks.equal).text, hs_text__count(stacks.stacks).text,
            hs_text__count(stacks.frames).text);
}

static void write_stack(struct hs_json *json, const struct hs_subject *subject, const char *key, uint32_t stack)
{
    hs_json__open_object(json, key);
    hs_report__stack_json(json, subject, stack);
    hs_json__close_object(json);
}

void hs_report__kernel_stacks_json(struct hs_json *json, const struct hs_subject *subject)
{
    struct kernel_stacks stacks = compare(subject->store);
    if (!stacks.stacks)
        return;
    hs_json__open_object(json, "kernel_stacks");
    hs_json__number(json, "stacks", stacks.stacks);
    hs_json__number(json, "equal", stacks.equal);
    hs_json__number(json, "frames", stacks.frames);
    if (stacks.differing) {
        write_stack(json, subject, "differing", stacks.differing);
        write_stack(json, subject, "differing_recorder", stacks.differing_own);
    }
    hs_json__close_object(json);
}
