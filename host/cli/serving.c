// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/serving.h"

#include "host/base/text_stream.h"
#include "host/cli/browser.h"
#include "host/cli/foreign.h"
#include "host/cli/progress.h"
#include "host/rest/rest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct serving_reading {
    struct hs_progress progress;
    sigset_t signals;
    int cancel;
};

// Signals are blocked, so that no thread of the server is interrupted: they are looked for.
static void note_progress(void *context, uint64_t done, uint64_t total)
{
    struct serving_reading *reading = context;
    const struct timespec at_once = {0};
    if (sigtimedwait(&reading->signals, NULL, &at_once) > 0)
        reading->cancel = 1;
    hs_progress__update(&reading->progress, done, total);
}

static int add_trace(struct hs_rest *rest, const struct hs_serving *serving, struct serving_reading *reading,
                     const char *path)
{
    struct hs_error error;
    char what[256];
    if (hs_refuse_foreign(serving->command, path))
        return -EBADMSG;
    snprintf(what, sizeof(what), "reading %s", path);
    hs_progress__start(&reading->progress, what, true);
    const struct hs_query_control control = {.progress = note_progress, .context = reading, .cancel = &reading->cancel};
    int result = hs_rest__add(rest, path, &control, &error);
    hs_progress__end(&reading->progress);
    if (result && !reading->cancel)
        hs_complain(serving->command, "%s", error.message);
    return result == -EEXIST ? 0 : result;
}

// Before the first thread is made, so that every thread has it.
static void block_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigprocmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

// In a browser's address the token is what it logs in with.
static void show(const struct hs_serving *serving, const char *address)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return;
    fprintf(out, "%s/%s", address, serving->token && *serving->token ? "?token=" : "");
    for (const unsigned char *at = (const unsigned char *)serving->token; at && *at; at++)
        fprintf(out, "%%%02X", *at);
    char *whole = hs_text_stream__close(&stream);
    if (whole)
        hs_browser__open(serving->command, whole);
    free(whole);
}

static int read_all(struct hs_rest *rest, const struct hs_serving *serving, struct serving_reading *reading)
{
    int result = 0;
    for (int i = 0; i < serving->count && !result && !reading->cancel; i++)
        result = add_trace(rest, serving, reading, serving->paths[i]);
    return result;
}

static int serve(struct hs_rest *rest, const struct hs_serving *serving, struct serving_reading *reading)
{
    struct hs_http_server *server;
    struct hs_error error;
    int number = 0;
    const struct hs_http_options options = {.listen = serving->listen,
                                            .token = serving->token,
                                            .pages = hs_rest__pages(rest),
                                            .context = rest,
                                            .at_once = true};
    if (hs_http__start(&server, &options, &error)) {
        hs_complain(serving->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "heapsonde %s: %s shows how far the traces are read\n", serving->command->name,
                hs_http__address(server));
    if (serving->open)
        show(serving, hs_http__address(server));
    int result = read_all(rest, serving, reading);
    if (!result && !reading->cancel) {
        FILE *out = serving->out ? serving->out : stdout;
        fprintf(out, "%s\n", hs_http__address(server));
        fflush(out);
        sigwait(&reading->signals, &number);
    }
    hs_http__stop(server);
    return result && !reading->cancel ? HS_EXIT_FAILURE : HS_EXIT_OK;
}

int hs_serving__run(const struct hs_serving *serving)
{
    struct serving_reading reading = {.cancel = 0};
    block_signals(&reading.signals);
    struct hs_rest *rest = hs_rest__create(serving->symbols, HS_REST_SERVER);
    int failed = rest ? 0 : -ENOMEM;
    if (rest)
        hs_rest__suppress(rest, serving->suppressions);
    if (rest)
        hs_rest__serve_sources(rest, serving->sources, serving->source_count);
    if (rest)
        hs_rest__control(rest, serving->control);
    for (int i = 0; i < serving->count && !failed; i++)
        failed = hs_rest__expect(rest, serving->paths[i]);
    struct hs_error error = {.message = "out of memory"};
    if (!failed && serving->fleet)
        failed = hs_rest__ask_fleet(rest, serving->fleet, serving->fleet_seconds, &error);
    if (failed)
        hs_complain(serving->command, "%s", error.message);
    int status = failed ? HS_EXIT_FAILURE : serve(rest, serving, &reading);
    hs_rest__destroy(rest);
    return status;
}
