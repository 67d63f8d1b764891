// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/write.h"

#include "host/base/path.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void hs_write__interval(struct hs_json *json, const char *key, uint64_t ns)
{
    hs_json__open_object(json, key);
    hs_json__number(json, "secs", ns / 1000000000u);
    hs_json__number(json, "fract_nsecs", ns % 1000000000u);
    hs_json__close_object(json);
}

void hs_write__time(struct hs_json *json, const char *key, const struct hs_store *store, uint64_t time)
{
    hs_write__interval(json, key, hs_store__realtime_ns(store, time));
}

void hs_write__times(struct hs_json *json, const char *key, const struct hs_store *store, uint64_t time)
{
    char name[64];
    uint64_t end = hs_store__summary(store)->end_time;
    hs_write__time(json, key, store, time);
    snprintf(name, sizeof(name), "%s_relative", key);
    hs_write__interval(json, name, time);
    snprintf(name, sizeof(name), "%s_relative_p", key);
    if (end)
        hs_json__real(json, name, (double)(float)((double)time / (double)end));
    else
        hs_json__null(json, name);
}

void hs_write__hexadecimal(struct hs_json *json, const char *key, uint64_t value)
{
    char text[20];
    snprintf(text, sizeof(text), "%016" PRIX64, value);
    hs_json__string(json, key, text);
}

uint64_t hs_write__call_address(const struct hs_question *question, uint32_t node)
{
    size_t count = 0;
    const struct hs_node *nodes = hs_store__nodes(question->store, &count);
    uint16_t machine = hs_store__summary(question->store)->machine;
    if (node >= count || hs_trace_symbols__is_cut(question->symbols, node) ||
        hs_trace_symbols__is_guess(question->symbols, node))
        return 0;
    uint64_t address = machine == EM_ARM ? nodes[node].pc & ~(uint64_t)1 : nodes[node].pc;
    return address - hs_call_length(machine);
}

uint32_t hs_write__thread(const struct hs_store *store, uint32_t stream)
{
    const struct hs_thread *thread = hs_store__thread(store, stream);
    return thread ? thread->tid : 0;
}

// ---- names ----------------------------------------------------------------------------------------------------------

// "operator<", "operator<<", "operator<=", "operator->" and the like are no brackets.
static size_t length_of_operator(const char *at)
{
    static const char word[] = "operator";
    if (strncmp(at, word, sizeof(word) - 1) != 0)
        return 0;
    return sizeof(word) - 1 + strspn(at + sizeof(word) - 1, "<>=-");
}

static char *strip_templates(const char *function)
{
    char *stripped = malloc(strlen(function) * 2 + 8);
    char *to = stripped;
    unsigned depth = 0;
    if (!stripped)
        return NULL;
    for (const char *at = function; *at;) {
        size_t length = length_of_operator(at);
        if (length) {
            // "operator< <int>" has a bracket after its name that does not belong to it.
            if (!depth)
                to = mempcpy(to, at, length);
            at += length;
            continue;
        }
        bool closes = *at == '>' && depth && at > function && at[-1] != '-';
        depth -= closes;
        if (!depth)
            *to++ = *at;
        if (*at == '<' && !depth++)
            to = mempcpy(to, "...", 3);
        at++;
    }
    *to = 0;
    return stripped;
}

const char *hs_write__function(const struct hs_question *question, const char *function, char **memory)
{
    *memory = question->strip && strchr(function, '<') ? strip_templates(function) : NULL;
    return *memory ? *memory : function;
}

// ---- frames ---------------------------------------------------------------------------------------------------------

void hs_write__frame(struct hs_json *json, const char *key, const struct hs_question *question, uint32_t node,
                     const struct hs_frame *frame)
{
    char *memory = NULL;
    uint64_t address = hs_write__call_address(question, node);
    bool marks =
        hs_trace_symbols__is_cut(question->symbols, node) || hs_trace_symbols__is_guess(question->symbols, node);
    hs_json__open_object(json, key);
    hs_json__number(json, "address", address);
    hs_write__hexadecimal(json, "address_s", address);
    hs_json__number(json, "count", hs_rest_state__frame_count(question->state, node));
    if (*frame->module)
        hs_json__string(json, "library", hs_path__name(frame->module));
    if (frame->kind == HS_FRAME_NAMED || marks)
        hs_json__string(json, "function", hs_write__function(question, frame->function, &memory));
    else if (frame->kind == HS_FRAME_OFFSET)
        hs_json__string(json, "place", frame->function);
    if (frame->linked)
        hs_json__string(json, "raw_function", frame->linked);
    if (frame->file)
        hs_json__string(json, "source", frame->file);
    if (frame->file && frame->line)
        hs_json__number(json, "line", frame->line);
    hs_json__boolean(json, "is_inline", frame->inlined);
    hs_json__close_object(json);
    free(memory);
}

static void write_node(struct hs_json *json, const struct hs_question *question, uint32_t node)
{
    const struct hs_frames *frames = hs_trace_symbols__node(question->symbols, node);
    for (uint32_t i = frames->count; i-- > 0;)
        hs_write__frame(json, NULL, question, node, &frames->frame[i]);
}

uint32_t *hs_write__nodes(const struct hs_question *question, uint32_t stack, size_t *count)
{
    *count = 0;
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(question->symbols, node))
        ++*count;
    uint32_t *nodes = *count ? malloc(*count * sizeof(*nodes)) : NULL;
    size_t at = *count;
    for (uint32_t node = stack; nodes && node; node = hs_trace_symbols__parent(question->symbols, node))
        nodes[--at] = node;
    return nodes;
}

void hs_write__backtrace(struct hs_json *json, const char *key, const struct hs_question *question, uint32_t stack)
{
    enum { SHORT = 12 };
    size_t count;
    // There is no endpoint for the trace that is compared with.
    const bool chooses = question->endpoint && question->endpoint->takes & HS_TAKES_FRAMES;
    const char *frames = chooses ? hs_question__text(question, "frames") : "full";
    uint32_t *nodes = *frames == 'n' ? NULL : hs_write__nodes(question, stack, &count);
    hs_json__open_array(json, key);
    for (size_t i = nodes && *frames == 's' && count > SHORT ? count - SHORT : 0; nodes && i < count; i++)
        write_node(json, question, nodes[i]);
    hs_json__close_array(json);
    free(nodes);
}
