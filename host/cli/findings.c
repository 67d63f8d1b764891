// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/findings.h"

#include <errno.h>
#include <string.h>

int hs_suppressions_option__read(struct hs_suppressions **suppressions, const struct hs_arguments *arguments)
{
    struct hs_error error = {.message = ""};
    const char *path = hs_arguments__text(arguments, "suppressions", NULL);
    *suppressions = path ? hs_suppressions__read(path, &error) : NULL;
    if (!path || *suppressions)
        return HS_EXIT_OK;
    hs_complain(arguments->command, "--suppressions %s", error.message);
    return HS_EXIT_USAGE;
}

// ---- finding -------------------------------------------------------------------------------------------------------

static int each_total(void *context, hs_total_visitor visit, void *visitor)
{
    const struct hs_totals *totals = context;
    int result = 0;
    for (size_t i = 0; i < totals->count && !result; i++)
        result = visit(visitor, &totals->total[i]);
    return result;
}

// What is asked, for the filters of the command.
struct asking {
    struct hs_findings_question question;
    struct hs_query_control control;
    struct hs_totals own; // opened for the text report, a trace may have nothing but the sum
};

static int start_asking(struct asking *asking, const struct hs_opened *opened, struct hs_error *error)
{
    const struct hs_subject *subject = &opened->subject;
    *asking = (struct asking){.control = {.drops_pages = true}};
    if (opened->dump)
        return hs_error__set(error, ENOTSUP, "%s is a heap dump; this needs a trace, which 'heapsonde run' records",
                             subject->path);
    const bool has_totals = !opened->has_digest;
    asking->question =
        (struct hs_findings_question){.store = opened->store,
                                      .symbols = subject->symbols,
                                      .filter = subject->filter,
                                      .restricted = subject->restriction,
                                      .control = &asking->control,
                                      .peak = subject->peak,
                                      .peak_time = subject->peak_time,
                                      .each = each_total,
                                      .context = has_totals ? (void *)(uintptr_t)&subject->totals : &asking->own};
    return has_totals ? 0 : hs_query__totals(opened->store, subject->filter, &asking->control, &asking->own, error);
}

int hs_opened__find(const struct hs_opened *opened, const struct hs_suppressions *suppressions,
                    struct hs_findings *findings, struct hs_error *error)
{
    struct asking asking;
    *findings = (struct hs_findings){0};
    int result = start_asking(&asking, opened, error);
    asking.question.suppressions = suppressions;
    if (!result)
        result = hs_findings__find(findings, &asking.question, error);
    hs_totals__free(&asking.own);
    return result;
}

int hs_opened__find_growing(const struct hs_opened *opened, size_t most, struct hs_slopes *growing,
                            struct hs_error *error)
{
    struct asking asking;
    *growing = (struct hs_slopes){0};
    int result = start_asking(&asking, opened, error);
    if (!result)
        result = hs_slopes__find(growing, &asking.question, most, error);
    hs_totals__free(&asking.own);
    return result;
}

// ---- words ---------------------------------------------------------------------------------------------------------

// The confidence that a word names, or -1.
static int confidence_of(const char *word, size_t length)
{
    for (int i = HS_CONFIDENCE_LOOK; i <= HS_CONFIDENCE_SURE; i++) {
        const char *name = hs_confidence__name((enum hs_confidence)i);
        if (strlen(name) == length && !memcmp(name, word, length))
            return i;
    }
    return -1;
}

static bool is_kind(const struct hs_finding_kind *kind, const char *word, size_t length)
{
    return strlen(kind->id) == length && !memcmp(kind->id, word, length);
}

static bool is_known(const char *word, size_t length)
{
    for (const struct hs_finding_kind *kind = hs_finding_kinds; kind->id; kind++)
        if (is_kind(kind, word, length))
            return true;
    return confidence_of(word, length) >= 0;
}

static int complain(const char *word, size_t length, struct hs_error *error)
{
    char kinds[256] = "";
    for (const struct hs_finding_kind *kind = hs_finding_kinds; kind->id; kind++)
        snprintf(kinds + strlen(kinds), sizeof(kinds) - strlen(kinds), " %s", kind->id);
    return hs_error__set(error, EINVAL,
                         "findings(%.*s): there is no such kind; the kinds are:%s; look, likely or sure is the least "
                         "confidence",
                         (int)length, word, kinds);
}

int hs_findings_words__check(const struct hs_condition *condition, struct hs_error *error)
{
    const char *words;
    for (size_t n = 0; (words = hs_condition__findings(condition, n)); n++) {
        while (*words) {
            const size_t length = strcspn(words, ",");
            if (!is_known(words, length))
                return complain(words, length, error);
            words += length + (words[length] == ',');
        }
    }
    return 0;
}

static bool selects(const char *words, const struct hs_finding *finding)
{
    int least = HS_CONFIDENCE_LIKELY;
    bool any = true, named = false;
    while (*words) {
        const size_t length = strcspn(words, ",");
        const int confidence = confidence_of(words, length);
        least = confidence >= 0 ? confidence : least;
        any = any && confidence >= 0;
        named = named || is_kind(finding->kind, words, length);
        words += length + (words[length] == ',');
    }
    return (any || named) && (int)finding->confidence >= least;
}

uint64_t hs_findings_words__count(const struct hs_findings *findings, const char *words)
{
    uint64_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += selects(words, &findings->finding[i]);
    return count;
}
