// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /findings: what looks wrong, in sentences.
#include "host/findings/findings.h"
#include "host/findings/suppressions.h"
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_findings_parameters[] = {
    {.name = "suppress",
     .kind = HS_REST_TEXT,
     .help = "do not list, only count, the findings that these lines name; leak:PATTERN or KIND:PATTERN, as in "
             "LeakSanitizer's suppressions"},
    {0},
};

struct findings_work {
    struct hs_findings findings;
    struct hs_suppressions *suppressions;
};

static void free_findings(void *value)
{
    struct findings_work *work = value;
    hs_findings__free(&work->findings);
    hs_suppressions__destroy(work->suppressions);
    free(work);
}

static int read_suppressions(struct hs_question *question, struct findings_work *work)
{
    const char *text = hs_question__text(question, "suppress");
    text = text ? text : "";
    work->suppressions = hs_suppressions__parse(text, strlen(text), "suppress", &question->error);
    if (!work->suppressions)
        return -EINVAL;
    hs_suppressions__join(work->suppressions, question->rest->suppressions);
    return 0;
}

static int each_total(void *context, hs_total_visitor visit, void *visitor)
{
    return hs_stack_totals__each(context, visit, visitor);
}

int hs_prepare__findings(struct hs_question *question)
{
    const struct hs_summary *summary = hs_store__summary(question->store);
    struct hs_stack_totals stacks;
    struct findings_work *work = calloc(1, sizeof(*work));
    if (!work)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = work;
    question->free_work = free_findings;
    int result = read_suppressions(question, work);
    if (!result)
        result = hs_question__stack_totals(question, &stacks);
    struct hs_findings_question asked = {.store = question->store,
                                         .symbols = question->symbols,
                                         .filter = &question->filter,
                                         .restricted = question->restricted,
                                         .control = &question->control,
                                         .suppressions = work->suppressions,
                                         .peak = summary->peak,
                                         .peak_time = summary->peak_time,
                                         .each = each_total,
                                         .context = &stacks};
    if (!result && question->restricted)
        result = hs_query__peak(question->store, &question->filter, &question->control, &asked.peak, &asked.peak_time,
                                &question->error);
    return result ? result : hs_findings__find(&work->findings, &asked, &question->error);
}

int hs_answer__findings(struct hs_question *question, FILE *out)
{
    const struct findings_work *work = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_findings__json(&json, &work->findings);
    hs_json__close_object(&json);
    return 0;
}
