// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/stacks.h"

#include "host/base/path.h"
#include "host/filter/pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

// Facts about a stack: about its own frames, and about those of its callers.
enum {
    HAS_FRAME = 1,   // one that matches function_regex and source_regex
    HAS_LIBRARY = 2, // one in a library that is asked for
    HAS_UNWANTED = 4 // one that no frame may be
};

// By number of a name: whether it matches. NULL: not needed.
struct verdicts {
    uint8_t *function, *source, *negative_function, *negative_source, *library, *negative_library;
};

int hs_stack_question__begin(struct hs_stack_question *question, struct hs_error *error)
{
    if (question->words)
        return 0;
    hs_store__nodes(question->scope->store, &question->stacks);
    question->stacks += !question->stacks;
    size_t words = question->stacks / 64 + 1;
    question->words = malloc(words * sizeof(*question->words));
    if (!question->words)
        return hs_error__set(error, ENOMEM, "filter: out of memory");
    memset(question->words, 0xff, words * sizeof(*question->words));
    return 0;
}

// ---- names ---------------------------------------------------------------------------------------------------------

static int judge_regex(struct hs_stack_question *question, enum hs_parameter_id id, const struct hs_name_list *names,
                       uint8_t **verdicts, struct hs_error *error)
{
    const struct hs_given_parameter *given = hs_given_parameter__find(question->parameters, id);
    if (!given)
        return 0;
    *verdicts = calloc(names->count, 1);
    if (!*verdicts)
        return hs_error__set(error, ENOMEM, "%s: out of memory", hs_parameters[id].name);
    return hs_pattern__match_all(given->pattern, names->name, names->count, *verdicts, question->control, error);
}

bool hs_library__matches(const char *path, const char *wanted)
{
    return !fnmatch(wanted, strchr(wanted, '/') ? path : hs_path__name(path), 0);
}

static int judge_libraries(struct hs_stack_question *question, enum hs_parameter_id id,
                           const struct hs_name_list *names, uint8_t **verdicts, struct hs_error *error)
{
    const struct hs_filter_parameters *parameters = question->parameters;
    if (!hs_filter_parameters__have(parameters, id))
        return 0;
    *verdicts = calloc(names->count, 1);
    if (!*verdicts)
        return hs_error__set(error, ENOMEM, "%s: out of memory", hs_parameters[id].name);
    for (size_t i = 0; i < parameters->count; i++) {
        for (size_t name = 1; parameters->given[i].id == id && name < names->count; name++)
            (*verdicts)[name] |= hs_library__matches(names->name[name], parameters->given[i].text);
    }
    return 0;
}

static int judge(struct hs_stack_question *question, struct verdicts *verdicts, struct hs_error *error)
{
    const struct hs_names *names = &question->scope->names;
    int result = judge_regex(question, HS_PARAMETER_FUNCTION_REGEX, &names->functions, &verdicts->function, error);
    if (!result)
        result = judge_regex(question, HS_PARAMETER_SOURCE_REGEX, &names->sources, &verdicts->source, error);
    if (!result)
        result = judge_regex(question, HS_PARAMETER_NEGATIVE_FUNCTION_REGEX, &names->functions,
                             &verdicts->negative_function, error);
    if (!result)
        result = judge_regex(question, HS_PARAMETER_NEGATIVE_SOURCE_REGEX, &names->sources, &verdicts->negative_source,
                             error);
    if (!result)
        result = judge_libraries(question, HS_PARAMETER_LIBRARY, &names->libraries, &verdicts->library, error);
    if (!result)
        result = judge_libraries(question, HS_PARAMETER_NEGATIVE_LIBRARY, &names->libraries,
                                 &verdicts->negative_library, error);
    return result;
}

static void free_verdicts(struct verdicts *verdicts)
{
    free(verdicts->function);
    free(verdicts->source);
    free(verdicts->negative_function);
    free(verdicts->negative_source);
    free(verdicts->library);
    free(verdicts->negative_library);
}

// ---- frames --------------------------------------------------------------------------------------------------------

static uint8_t judge_frame(const struct verdicts *verdicts, const struct hs_named_frame *frame)
{
    uint8_t known = 0;
    if ((!verdicts->function || verdicts->function[frame->function]) &&
        (!verdicts->source || verdicts->source[frame->source]))
        known |= HAS_FRAME;
    if (verdicts->library && verdicts->library[frame->library])
        known |= HAS_LIBRARY;
    if ((verdicts->negative_function && verdicts->negative_function[frame->function]) ||
        (verdicts->negative_source && verdicts->negative_source[frame->source]) ||
        (verdicts->negative_library && verdicts->negative_library[frame->library]))
        known |= HAS_UNWANTED;
    return known;
}

static uint8_t judge_site(const struct verdicts *verdicts, const struct hs_names *names, uint32_t number)
{
    const struct hs_named_site *site = &names->sites[number];
    uint8_t known = 0;
    for (uint32_t i = 0; i < site->count; i++)
        known |= judge_frame(verdicts, &names->frames[site->first + i]);
    return known;
}

struct depths {
    uint64_t least, most;
};

static struct depths depths_of(const struct hs_filter_parameters *parameters)
{
    const struct hs_given_parameter *least = hs_given_parameter__find(parameters, HS_PARAMETER_BACKTRACE_DEPTH_MIN);
    const struct hs_given_parameter *most = hs_given_parameter__find(parameters, HS_PARAMETER_BACKTRACE_DEPTH_MAX);
    return (struct depths){least ? least->number : 0, most ? most->number : UINT64_MAX};
}

// Removes the stacks that do not match. A stack is what its callers are, with smaller numbers, and its own frames.
static void narrow(struct hs_stack_question *question, const struct verdicts *verdicts, uint8_t *known, uint32_t *depth)
{
    const struct hs_names *names = &question->scope->names;
    struct depths depths = depths_of(question->parameters);
    uint8_t wanted = (verdicts->function || verdicts->source ? HAS_FRAME : 0) | (verdicts->library ? HAS_LIBRARY : 0);
    size_t count;
    const struct hs_node *nodes = hs_store__nodes(question->scope->store, &count);
    for (size_t stack = 0; stack < question->stacks; stack++) {
        uint32_t parent = stack && nodes[stack].parent < stack ? nodes[stack].parent : 0;
        uint32_t site = stack < names->node_count ? names->site_of[stack] : 0;
        if (stack) {
            known[stack] = known[parent] | judge_site(verdicts, names, site);
            depth[stack] = depth[parent] + names->sites[site].count;
        }
        if ((known[stack] & (wanted | HAS_UNWANTED)) != wanted || depth[stack] < depths.least ||
            depth[stack] > depths.most)
            hs_stack_question__remove(question, stack);
    }
}

int hs_stack_question__ask_frames(struct hs_stack_question *question, struct hs_error *error)
{
    struct verdicts verdicts = {0};
    if (!hs_filter_parameters__ask_frames(question->parameters))
        return 0;
    int result = hs_stack_question__begin(question, error);
    if (!result)
        result = hs_filter_scope__prepare_names(question->scope, question->control, error);
    uint8_t *known = calloc(question->stacks, sizeof(*known));
    uint32_t *depth = calloc(question->stacks, sizeof(*depth));
    if (!result && (!known || !depth))
        result = hs_error__set(error, ENOMEM, "filter: out of memory");
    if (!result)
        result = judge(question, &verdicts, error);
    if (!result)
        narrow(question, &verdicts, known, depth);
    free_verdicts(&verdicts);
    free(known);
    free(depth);
    return result;
}

int hs_stack_question__ask_number(struct hs_stack_question *question, struct hs_error *error)
{
    const struct hs_given_parameter *given = hs_given_parameter__find(question->parameters, HS_PARAMETER_BACKTRACES);
    int result = given ? hs_stack_question__begin(question, error) : 0;
    for (size_t stack = 0; given && !result && stack < question->stacks; stack++) {
        if (stack != given->number)
            hs_stack_question__remove(question, stack);
    }
    return result;
}
