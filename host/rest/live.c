// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /live: server-sent events while a trace grows. Each `state` event contains the current totals; `end` is the last
// event and contains the reason.
#include "host/rest/answers.h"
#include "host/rest/write.h"
#include "host/server/http.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { FOLLOWERS = 16, STEP_MS = 50, HEARTBEAT_MS = 1000 };

const struct hs_rest_parameter hs_live_parameters[] = {
    {.name = "interval",
     .kind = HS_REST_NUMBER,
     .least = 100,
     .most = 60000,
     .default_value = "1000",
     .help = "milliseconds between two updates"},
    {0},
};

static void leave(void *work)
{
    struct hs_rest *rest = work;
    __atomic_fetch_sub(&rest->followers, 1, __ATOMIC_RELAXED);
}

// Each holds a connection: half of them are for others.
static unsigned most_followers(void)
{
    const unsigned half = hs_http__most_connections() / 2;
    return half < FOLLOWERS ? half : FOLLOWERS;
}

int hs_prepare__live(struct hs_question *question)
{
    struct hs_rest *rest = question->rest;
    const unsigned most = most_followers();
    unsigned before = __atomic_fetch_add(&rest->followers, 1, __ATOMIC_RELAXED);
    question->work = rest;
    question->free_work = leave;
    if (before < most)
        return 0;
    return hs_error__set(&question->error, EBUSY, "%u clients follow traces already; ask later", most);
}

static void write_state(FILE *out, struct hs_rest_trace *trace, const struct hs_rest_state *state)
{
    struct hs_json json;
    const struct hs_summary *summary = hs_store__summary(state->store);
    fputs("event: state\ndata: ", out);
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_write__time(&json, "timestamp", state->store, summary->end_time);
    hs_write__interval(&json, "runtime", summary->end_time);
    hs_json__number(&json, "allocated_size", summary->live.bytes);
    hs_json__number(&json, "allocated_usable", summary->live.usable);
    hs_json__number(&json, "allocated_count", summary->live.count);
    hs_json__number(&json, "allocations", summary->allocations);
    hs_json__number(&json, "deallocations", summary->frees);
    hs_json__number(&json, "peak_size", summary->peak.bytes);
    hs_write__time(&json, "peak_timestamp", state->store, summary->peak_time);
    hs_json__boolean(&json, "growing", hs_rest_trace__is_written(trace, hs_rest_state__grows(state)));
    hs_json__close_object(&json);
    fputs("\n", out);
}

static void write_end(FILE *out, const char *why)
{
    struct hs_json json;
    fputs("event: end\ndata: ", out);
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "reason", why);
    hs_json__close_object(&json);
    fputs("\n", out);
    fflush(out);
}

// Sleeps in short steps, to notice a closed connection or the end of the server. *silent: milliseconds since something
// was sent; short waits add up to a heartbeat, too.
static bool wait(struct hs_question *question, FILE *out, uint64_t milliseconds, uint64_t *silent)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
    for (uint64_t waited = 0; waited < milliseconds; waited += STEP_MS) {
        if (__atomic_load_n(question->control.cancel, __ATOMIC_RELAXED))
            return false;
        if (*silent >= HEARTBEAT_MS) {
            *silent = 0;
            fputs(": \n\n", out); // a comment
            if (fflush(out))
                return false;
        }
        nanosleep(&step, NULL);
        *silent += STEP_MS;
    }
    return true;
}

int hs_answer__live(struct hs_question *question, FILE *out)
{
    char last[64] = "";
    uint64_t interval = hs_question__number(question, "interval", 1000), silent = 0;
    for (;;) {
        const struct hs_rest_state *state;
        struct hs_error error = {""};
        if (hs_rest_trace__hold(question->trace, &state, &error)) {
            write_end(out, error.message);
            return 0;
        }
        bool grows = hs_rest_state__grows(state);
        if (strcmp(last, state->name) != 0) {
            write_state(out, question->trace, state);
            silent = 0;
        }
        snprintf(last, sizeof(last), "%s", state->name);
        hs_rest_state__release(state);
        if (!grows)
            write_end(out, "the trace is complete");
        if (fflush(out) || !grows || !wait(question, out, interval, &silent))
            return 0;
    }
}
