// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /mallopts: calls of mallopt.
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/write.h"

static const char *name_of(int32_t parameter)
{
    static const char *const names[] = {"M_TRIM_THRESHOLD", "M_TOP_PAD", "M_MMAP_THRESHOLD", "M_MMAP_MAX",
                                        "M_CHECK_ACTION",   "M_PERTURB", "M_ARENA_TEST",     "M_ARENA_MAX"};
    return parameter <= -1 && parameter >= -8 ? names[-1 - parameter] : NULL;
}

int hs_prepare__mallopts(struct hs_question *question)
{
    return hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

static void write_call(struct hs_json *json, const struct hs_question *question, const struct hs_side_event *event)
{
    const char *name = name_of(event->parameter);
    hs_write__time(json, "timestamp", question->store, event->time);
    hs_json__number(json, "thread", hs_write__thread(question->store, event->stream));
    hs_json__number(json, "backtrace_id", event->stack);
    hs_write__backtrace(json, "backtrace", question, event->stack);
    hs_json__signed(json, "raw_param", event->parameter);
    if (name)
        hs_json__string(json, "param", name);
    hs_json__signed(json, "value", event->value);
    hs_json__signed(json, "result", event->result);
}

int hs_answer__mallopts(struct hs_question *question, FILE *out)
{
    struct hs_json json;
    size_t count = 0;
    const struct hs_side_event *events = hs_store__side_events(question->store, &count);
    struct hs_array_page page = hs_array_page__start(question, out, &json);
    enum hs_array_page_step step = HS_ARRAY_PAGE_SKIP;
    for (size_t i = 0; i < count && step != HS_ARRAY_PAGE_END; i++) {
        if (events[i].kind != HS_SIDE_MALLOPT)
            continue;
        step = hs_array_page__next(&page);
        if (step == HS_ARRAY_PAGE_WRITE)
            write_call(&json, question, &events[i]);
    }
    hs_array_page__end(&page);
    return 0;
}
