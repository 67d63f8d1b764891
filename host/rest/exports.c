// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /export/FORMAT: every format of host/export.
#include "host/export/export.h"
#include "host/query/scan.h"
#include "host/rest/answers.h"
#include "host/rest/transformed_subject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_export_parameters[] = {
    {.name = "cost",
     .kind = HS_REST_CHOICE,
     .choices = HS_COST_CHOICES,
     .default_value = "allocated",
     .help = "which of the matching blocks are added up, in formats with one number per stack: those that are still "
             "live, those that were live at the peak, all, or temporary ones"},
    {.name = "unit",
     .kind = HS_REST_CHOICE,
     .choices = "bytes count",
     .default_value = "bytes",
     .help = "bytes, or the number of blocks (count)"},
    HS_TRANSFORM_PARAMETERS,
    {0},
};

struct exporting {
    const struct hs_export_format *format;
    struct hs_subject subject;
    struct hs_transformed_subject transformed;
};

static void free_exporting(void *work)
{
    struct exporting *exporting = work;
    hs_transformed_subject__free(&exporting->transformed);
    free(exporting);
}

static int unknown_format(struct hs_question *question, const char *name)
{
    char *names = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&names, &length);
    for (const struct hs_export_format *format = hs_export_formats; out && format->name; format++)
        fprintf(out, " %s", format->name);
    if (out)
        fclose(out);
    int result = hs_error__set(&question->error, ENOENT, "there is no export '%s'; there are flamegraph.pl%s", name,
                               names ? names : "");
    free(names);
    return result;
}

static int refuse_events(struct hs_question *question)
{
    char formats[512];
    hs_export_formats__list(question->events, formats, sizeof(formats));
    return hs_error__set(&question->error, EINVAL, "events: %s cannot be written as %s; there are %s",
                         hs_events_kind__of(question->events)->words, question->value[1], formats);
}

// Single blocks have the stacks that they have.
static int check_transforms(struct hs_question *question, const struct hs_export_format *format,
                            const struct hs_transforms *transforms)
{
    char formats[512];
    if (!format->of_blocks || !hs_transforms__any(transforms))
        return 0;
    hs_export_formats__list_of_stacks(formats, sizeof(formats));
    char *text = hs_transforms__text(transforms);
    int result =
        hs_error__set(&question->error, EINVAL,
                      "%s: %s contains single blocks with unchanged stacks; leave this parameter out, or write "
                      "one of: %s",
                      text ? text : "transforms", format->name, formats);
    free(text);
    return result;
}

int hs_prepare__export(struct hs_question *question)
{
    const struct hs_totals *totals;
    struct exporting *exporting = calloc(1, sizeof(*exporting));
    if (!exporting)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = exporting;
    question->free_work = free_exporting;
    exporting->format = hs_export_format__find(question->value[1]);
    if (!exporting->format)
        return unknown_format(question, question->value[1]);
    if (!(exporting->format->events >> question->events & 1))
        return refuse_events(question);
    if (!(hs_events__costs(question->events, question->store) >> hs_cost__parse(hs_question__text(question, "cost")) &
          1))
        return hs_error__set(&question->error, EINVAL, "cost: '%s' is not known for %s",
                             hs_question__text(question, "cost"), hs_events_kind__of(question->events)->words);
    question->type = exporting->format->media_type;
    struct hs_subject *subject = &exporting->subject;
    const struct hs_summary *summary = hs_store__summary(question->store);
    const struct hs_transforms transforms = hs_question__transforms(question);
    // While it is written it is too late to say so.
    if (summary->is_aggregate && exporting->format->of_blocks && !hs_events__are_samples(question->events))
        return hs_query__refuse_aggregate(&question->error);
    int result = check_transforms(question, exporting->format, &transforms);
    if (result)
        return result;
    // Makes room for the memory per stack that an export needs.
    if (question->control.drops_pages)
        hs_rest_state__drop_pages(question->state);
    result = hs_question__totals(question, &totals);
    if (result)
        return result;
    *subject = (struct hs_subject){.store = question->store,
                                   .symbols = question->symbols,
                                   .totals = *totals,
                                   .peak = summary->peak,
                                   .peak_time = summary->peak_time,
                                   .filter = &question->filter,
                                   .not_of_samples = question->not_of_samples,
                                   .events = question->events,
                                   .restriction = question->restricted ? question->filter_text : NULL,
                                   .path = question->state->path};
    if (hs_transforms__any(&transforms))
        result = hs_transformed_subject__make(&exporting->transformed, subject, &transforms, &question->control,
                                              &question->error);
    if (result || !question->restricted || question->events != HS_EVENTS_HEAP)
        return result;
    return hs_query__peak(question->store, &question->filter, &question->control, &subject->peak, &subject->peak_time,
                          &question->error);
}

int hs_answer__export(struct hs_question *question, FILE *out)
{
    const struct exporting *exporting = question->work;
    const struct hs_export_options options = {.cost = hs_cost__parse(hs_question__text(question, "cost")),
                                              .blocks = !strcmp(hs_question__text(question, "unit"), "count"),
                                              .control = &question->control};
    return exporting->format->write(out, &exporting->subject, &options);
}
