// SPDX-License-Identifier: MIT OR Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "host/cli/stack_filter.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

// A pattern that would take for ever on some name is reported instead of waited for.
#define MATCH_LIMIT 200000
#define HEAP_LIMIT  20000

struct matcher {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    const char *last_name; // names are unique pointers, and neighbours often have the same
    bool last_result;
    int problem;
};

static void free_matcher(struct matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
    pcre2_code_free(matcher->code);
}

static int compile(struct matcher *matcher, const char *pattern, struct hs_error *error)
{
    int code = 0;
    PCRE2_SIZE offset = 0;
    *matcher = (struct matcher){0};
    matcher->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &offset, NULL);
    if (!matcher->code) {
        PCRE2_UCHAR text[160];
        pcre2_get_error_message(code, text, sizeof(text));
        return hs_error__set(error, EINVAL, "--function '%s': %s at position %zu; correct the regular expression",
                             pattern, (const char *)text, (size_t)offset);
    }
    pcre2_jit_compile(matcher->code, PCRE2_JIT_COMPLETE);
    matcher->data = pcre2_match_data_create_from_pattern(matcher->code, NULL);
    matcher->context = pcre2_match_context_create(NULL);
    if (!matcher->data || !matcher->context) {
        free_matcher(matcher);
        return hs_error__set(error, ENOMEM, "--function: out of memory");
    }
    pcre2_set_match_limit(matcher->context, MATCH_LIMIT);
    pcre2_set_heap_limit(matcher->context, HEAP_LIMIT);
    return 0;
}

static bool matches_name(struct matcher *matcher, const char *name)
{
    if (name == matcher->last_name)
        return matcher->last_result;
    int result = pcre2_match(matcher->code, (PCRE2_SPTR)name, strlen(name), 0, 0, matcher->data, matcher->context);
    if (result < 0 && result != PCRE2_ERROR_NOMATCH)
        matcher->problem = result;
    matcher->last_name = name;
    matcher->last_result = result >= 0;
    return matcher->last_result;
}

static bool matches_node(struct matcher *matcher, struct hs_trace_symbols *symbols, uint32_t node)
{
    const struct hs_frames *frames = hs_trace_symbols__node(symbols, node);
    for (uint32_t i = 0; i < frames->count; i++) {
        if (matches_name(matcher, frames->frame[i].function))
            return true;
    }
    return false;
}

int hs_stack_filter__by_function(struct hs_trace_symbols *symbols, const char *pattern, uint64_t **words,
                                 struct hs_set *set, struct hs_error *error)
{
    struct matcher matcher;
    size_t count = 0;
    hs_store__nodes(hs_trace_symbols__store(symbols), &count);
    int result = compile(&matcher, pattern, error);
    if (result)
        return result;
    *words = calloc(count / 64 + 1, sizeof(**words));
    if (!*words)
        result = hs_error__set(error, ENOMEM, "--function: out of memory");
    *set = (struct hs_set){*words, count};
    // A stack matches when its node or one of its callers does; callers have smaller numbers.
    for (uint32_t node = 1; !result && node < count; node++) {
        uint32_t parent = hs_trace_symbols__parent(symbols, node);
        if ((parent && hs_set__has(set, parent)) || matches_node(&matcher, symbols, node))
            (*words)[node / 64] |= (uint64_t)1 << (node % 64);
        if (matcher.problem)
            result =
                hs_error__set(error, EINVAL, "--function '%s' takes too long to match; write it more simply", pattern);
    }
    free_matcher(&matcher);
    return result;
}
