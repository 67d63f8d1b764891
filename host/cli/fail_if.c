// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/fail_if.h"

#include "host/cli/findings.h"
#include "host/filter/given.h"
#include "host/query/scan.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASONS_MOST 16

struct question {
    const struct hs_arguments *arguments;
    struct hs_opened *opened;
    size_t missing;             // totals whose filter matches no stack
    struct hs_culprit *culprit; // call site to find, or NULL
    const struct hs_suppressions *suppressions;
    struct hs_findings findings; // once they were asked for
    bool has_findings;
};

// ---- reading -------------------------------------------------------------------------------------------------------

static int read_conditions(struct hs_fail_if *fail_if, const struct hs_arguments *arguments, const char **texts,
                           size_t count)
{
    fail_if->condition = calloc(count + 1, sizeof(struct hs_condition *));
    if (!fail_if->condition || !texts) {
        hs_complain(arguments->command, "--fail-if: out of memory");
        return HS_EXIT_FAILURE;
    }
    for (; fail_if->count < count; fail_if->count++) {
        struct hs_error error = {.message = ""};
        fail_if->condition[fail_if->count] = hs_condition__parse(texts[fail_if->count], &error);
        const bool parsed = fail_if->condition[fail_if->count];
        if (parsed && !hs_findings_words__check(fail_if->condition[fail_if->count], &error))
            continue;
        fail_if->count += parsed;
        hs_complain(arguments->command, "--fail-if %s", error.message);
        return HS_EXIT_USAGE;
    }
    return HS_EXIT_OK;
}

int hs_fail_if__read(struct hs_fail_if *fail_if, const struct hs_arguments *arguments)
{
    size_t count = 0;
    const char **texts = hs_arguments__texts(arguments, "fail-if", &count);
    *fail_if = (struct hs_fail_if){0};
    int status = read_conditions(fail_if, arguments, texts, count);
    free((void *)(uintptr_t)texts);
    if (!status)
        status = hs_suppressions_option__read(&fail_if->suppressions, arguments);
    if (status)
        hs_fail_if__free(fail_if);
    return status;
}

void hs_fail_if__free(struct hs_fail_if *fail_if)
{
    for (size_t i = 0; i < fail_if->count; i++)
        hs_condition__free(fail_if->condition[i]);
    free(fail_if->condition);
    hs_suppressions__destroy(fail_if->suppressions);
    *fail_if = (struct hs_fail_if){0};
}

// ---- asking --------------------------------------------------------------------------------------------------------

static uint64_t value_of(enum hs_condition_total which, const struct hs_total *total)
{
    switch (which) {
    case HS_CONDITION_LIVE_BYTES:
        return total->live_bytes;
    case HS_CONDITION_LIVE_COUNT:
        return total->live_count;
    case HS_CONDITION_PEAK_BYTES:
        return total->peak_bytes;
    case HS_CONDITION_PEAK_COUNT:
        return total->peak_count;
    case HS_CONDITION_ALLOCATED_BYTES:
        return total->allocated_bytes;
    case HS_CONDITION_ALLOCATED_COUNT:
        return total->allocated_count;
    case HS_CONDITION_TEMPORARY_BYTES:
        return total->temporary_bytes;
    case HS_CONDITION_TEMPORARY_COUNT:
        return total->temporary_count;
    case HS_CONDITION_FREED_BYTES:
        return total->freed_bytes;
    default:
        return total->freed_count;
    }
}

static bool has_none(const struct hs_set *stacks)
{
    if (!stacks->words)
        return false;
    for (uint32_t stack = 0; stack < stacks->count; stack++) {
        if (hs_set__has(stacks, stack))
            return false;
    }
    return true;
}

// Otherwise a mistyped name would look like a condition that does not hold.
static void note_names(struct question *question, enum hs_condition_total which,
                       const struct hs_filter_parameters *inner, const struct hs_filter *filter)
{
    const char *missing = hs_arguments__text(question->arguments, "fail-if-missing", "fail");
    if (!hs_filter_parameters__ask_frames(inner) || !has_none(&filter->stacks) || !strcmp(missing, "ok"))
        return;
    question->missing++;
    hs_complain(
        question->arguments->command,
        "--fail-if: no stack in %s matches the filter of %s(...); check its names, check with 'heapsonde report "
        "--modules' whether symbols were found, or give --fail-if-missing=ok to count this as 0",
        question->opened->subject.path, hs_condition_total__name(which));
}

static enum hs_cost cost_of(enum hs_condition_total which)
{
    switch (which) {
    case HS_CONDITION_LIVE_BYTES:
    case HS_CONDITION_LIVE_COUNT:
        return HS_COST_LIVE;
    case HS_CONDITION_PEAK_BYTES:
    case HS_CONDITION_PEAK_COUNT:
    case HS_CONDITION_MAX_BYTES:
        return HS_COST_PEAK;
    case HS_CONDITION_TEMPORARY_BYTES:
    case HS_CONDITION_TEMPORARY_COUNT:
        return HS_COST_TEMPORARY;
    default:
        return HS_COST_ALLOCATED;
    }
}

static int ask_store(const struct question *question, enum hs_condition_total which, const struct hs_filter *filter,
                     uint64_t *value, struct hs_error *error)
{
    const struct hs_opened *opened = question->opened;
    struct hs_live_total most;
    struct hs_totals totals;
    uint64_t time;
    int result;
    if (which == HS_CONDITION_MAX_BYTES && !question->culprit) {
        result = hs_query__peak(opened->store, filter, NULL, &most, &time, error);
        *value = most.bytes;
        return result;
    }
    result = hs_query__totals(opened->store, filter, NULL, &totals, error);
    if (result)
        return result;
    *value = value_of(which, &totals.sum);
    if (question->culprit)
        hs_culprit__look(question->culprit, opened, &totals, cost_of(which));
    hs_totals__free(&totals);
    return 0;
}

// A filter in the condition takes precedence over an option for the same parameter.
static int ask_trace(struct question *question, enum hs_condition_total which, const struct hs_filter_parameters *inner,
                     uint64_t *value, struct hs_error *error)
{
    struct hs_filter_parameters all;
    struct hs_resolved_filter resolved;
    hs_filter_parameters__init(&all, HS_TIME_UNIT_START);
    int result = hs_filter_parameters__add(&all, &question->arguments->filter, error);
    if (!result)
        result = hs_filter_parameters__add(&all, inner, error);
    if (!result)
        result = hs_filter_parameters__resolve(&all, question->opened->scope, NULL, &resolved, error);
    hs_filter_parameters__free(&all);
    if (result)
        return result;
    note_names(question, which, inner, &resolved.filter);
    result = ask_store(question, which, &resolved.filter, value, error);
    hs_resolved_filter__free(&resolved);
    return result;
}

static bool dump_knows(const struct hs_opened *opened, enum hs_condition_total which)
{
    if (which == HS_CONDITION_LIVE_BYTES || which == HS_CONDITION_LIVE_COUNT)
        return !opened->dump->lacks_live;
    return opened->dump->has_all && (which == HS_CONDITION_ALLOCATED_BYTES || which == HS_CONDITION_ALLOCATED_COUNT);
}

// Dumps have no single blocks.
static int check_frames_only(const struct hs_opened *opened, const struct hs_filter_parameters *inner,
                             struct hs_error *error)
{
    for (int id = 0; id < HS_PARAMETER_COUNT; id++) {
        if (hs_filter_parameters__have(inner, (enum hs_parameter_id)id) &&
            !hs_parameter__is_of_frames((enum hs_parameter_id)id))
            return hs_error__set(error, EINVAL, "%s: %s is %s, which does not contain single blocks",
                                 hs_parameters[id].name, opened->subject.path,
                                 opened->is_difference ? "a difference" : "a heap dump");
    }
    return 0;
}

// Of two dumps: what grew and what shrank is balanced.
static uint64_t difference_of(enum hs_condition_total which, const struct hs_total *sum, enum hs_cost cost)
{
    const bool all = cost == HS_COST_ALLOCATED;
    const bool bytes = hs_condition_total__is_bytes(which);
    const uint64_t before =
        bytes ? (all ? sum->temporary_bytes : sum->peak_bytes) : (all ? sum->temporary_count : sum->peak_count);
    const uint64_t after =
        bytes ? (all ? sum->allocated_bytes : sum->live_bytes) : (all ? sum->allocated_count : sum->live_count);
    const bool grown = which == HS_CONDITION_GROWN_BYTES || which == HS_CONDITION_GROWN_COUNT;
    const uint64_t from = grown ? before : after, to = grown ? after : before;
    return to > from ? to - from : 0;
}

// Adds up the stacks that match.
static int add_up_stacks(struct question *question, enum hs_condition_total which,
                         const struct hs_filter_parameters *inner, struct hs_total *sum, struct hs_error *error)
{
    const struct hs_opened *opened = question->opened;
    struct hs_resolved_filter resolved;
    int result = check_frames_only(opened, inner, error);
    if (!result)
        result = hs_filter_parameters__resolve_frames(inner, opened->scope, NULL, &resolved, error);
    if (result)
        return result;
    note_names(question, which, inner, &resolved.filter);
    const struct hs_set *stacks = &resolved.filter.stacks;
    for (size_t i = 0; i < opened->subject.totals.count; i++) {
        const struct hs_total *total = &opened->subject.totals.total[i];
        if (!stacks->words || hs_set__has(stacks, total->stack))
            hs_total__add(sum, total);
    }
    hs_resolved_filter__free(&resolved);
    return 0;
}

static int ask_difference(struct question *question, enum hs_condition_total which,
                          const struct hs_filter_parameters *inner, uint64_t *value, struct hs_error *error)
{
    struct hs_total sum = {0};
    if (!hs_condition_total__is_difference(which))
        return hs_error__set(error, EINVAL,
                             "%s: a difference has grown_bytes, grown_count, shrunk_bytes and shrunk_count",
                             hs_condition_total__name(which));
    int result = add_up_stacks(question, which, inner, &sum, error);
    *value = result ? 0 : difference_of(which, &sum, question->opened->difference_cost);
    return result;
}

static int ask_dump(struct question *question, enum hs_condition_total which, const struct hs_filter_parameters *inner,
                    uint64_t *value, struct hs_error *error)
{
    const struct hs_opened *opened = question->opened;
    struct hs_total sum = {0};
    if (!dump_knows(opened, which))
        return hs_error__set(error, EINVAL, "%s is a heap dump, which does not contain %s", opened->subject.path,
                             hs_condition_total__name(which));
    int result = add_up_stacks(question, which, inner, &sum, error);
    *value = result ? 0 : value_of(which, &sum);
    return result;
}

static int ask_findings(struct question *question, const char *words, uint64_t *value, struct hs_error *error)
{
    if (!question->has_findings) {
        const int result = hs_opened__find(question->opened, question->suppressions, &question->findings, error);
        if (result)
            return result;
    }
    question->has_findings = true;
    *value = hs_findings_words__count(&question->findings, words);
    return 0;
}

static int ask(void *context, enum hs_condition_total which, const struct hs_filter_parameters *filter,
               const char *words, uint64_t *value, struct hs_error *error)
{
    struct question *question = context;
    if (question->opened->is_difference)
        return ask_difference(question, which, filter, value, error);
    if (hs_condition_total__is_difference(which))
        return hs_error__set(error, EINVAL, "%s: only 'heapsonde diff' knows what was before",
                             hs_condition_total__name(which));
    if (which == HS_CONDITION_FINDINGS)
        return question->culprit ? 0 : ask_findings(question, words, value, error);
    return question->opened->dump ? ask_dump(question, which, filter, value, error)
                                  : ask_trace(question, which, filter, value, error);
}

// ---- saying --------------------------------------------------------------------------------------------------------

static struct hs_text amount(const struct hs_comparison *comparison, uint64_t value)
{
    return comparison->is_bytes ? hs_text__bytes(value) : hs_text__count(value);
}

static void say_comparison(FILE *out, const struct hs_comparison *comparison)
{
    uint64_t left = comparison->left, right = comparison->right;
    uint64_t apart = left > right ? left - right : right - left;
    fputs(comparison->holds ? "" : "not ", out);
    hs_text__print(out, comparison->text, comparison->length);
    fprintf(out, ": %s", amount(comparison, left).text);
    if (apart)
        fprintf(out, ", %s %s %s", amount(comparison, apart).text, left > right ? "more than" : "less than",
                amount(comparison, right).text);
}

// To be freed.
static char *reason_of(const struct hs_condition *condition)
{
    struct hs_comparison reasons[REASONS_MOST];
    size_t count = hs_condition__reasons(condition, reasons, REASONS_MOST), size;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && i < count; i++) {
        fputs(i ? "; " : "", out);
        say_comparison(out, &reasons[i]);
    }
    if (out)
        fclose(out);
    return text;
}

// Evaluates the condition again, to find the call site.
static void look_for_culprit(const struct question *question, const struct hs_condition *condition,
                             struct hs_culprit *culprit)
{
    struct question again = {.arguments = question->arguments, .opened = question->opened, .culprit = culprit};
    struct hs_condition *copy = (struct hs_condition *)(uintptr_t)condition;
    struct hs_error error = {.message = ""};
    if (!question->opened->dump && !question->opened->is_difference)
        hs_condition__evaluate(copy, ask, &again, &error);
}

// Returns whether it holds, or HS_EXIT_FAILURE below zero.
static int check_one(struct question *question, struct hs_condition *condition, const char *text,
                     struct hs_verdicts *verdicts)
{
    struct hs_error error = {.message = ""};
    struct hs_culprit culprit = {0};
    char *reason = NULL;
    int holds = hs_condition__evaluate(condition, ask, question, &error);
    if (holds < 0) {
        hs_complain(question->arguments->command, "--fail-if: %s", error.message);
        return holds;
    }
    if (holds) {
        reason = reason_of(condition);
        hs_complain(question->arguments->command, "%s fails: %s", question->opened->subject.path,
                    reason ? reason : text);
    }
    if (holds && verdicts)
        look_for_culprit(question, condition, &culprit);
    if (culprit.site)
        fprintf(stderr, "heapsonde %s: most of it by %s\n", question->arguments->command->name, culprit.site);
    if (verdicts)
        hs_verdicts__add(verdicts, text, reason, &culprit);
    else
        free(reason);
    return holds;
}

int hs_fail_if__check(const struct hs_fail_if *fail_if, const struct hs_arguments *arguments, struct hs_opened *opened,
                      struct hs_verdicts *verdicts)
{
    struct question question = {.arguments = arguments, .opened = opened, .suppressions = fail_if->suppressions};
    size_t count = 0;
    int status = HS_EXIT_OK;
    const char **texts = hs_arguments__texts(arguments, "fail-if", &count);
    for (size_t i = 0; texts && i < fail_if->count && status != HS_EXIT_FAILURE; i++) {
        int holds = check_one(&question, fail_if->condition[i], texts[i], verdicts);
        if (holds)
            status = holds < 0 ? HS_EXIT_FAILURE : HS_EXIT_CONDITION;
    }
    free((void *)(uintptr_t)texts);
    hs_findings__free(&question.findings);
    return status == HS_EXIT_OK && (question.missing || !texts) ? HS_EXIT_FAILURE : status;
}
