// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/serving.h"

#include "host/base/text_stream.h"
#include "host/cli/browser.h"
#include "host/cli/progress.h"
#include "host/cli/served_folder.h"
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
static void note_signals(void *context, uint64_t done, uint64_t total)
{
    struct serving_reading *reading = context;
    const struct timespec at_once = {0};
    (void)done;
    (void)total;
    if (sigtimedwait(&reading->signals, NULL, &at_once) > 0)
        reading->cancel = 1;
}

static void note_progress(void *context, uint64_t done, uint64_t total)
{
    struct serving_reading *reading = context;
    note_signals(context, done, total);
    hs_progress__update(&reading->progress, done, total);
}

static int add_trace(struct hs_rest *rest, const struct hs_serving *serving, struct serving_reading *reading,
                     const char *path)
{
    struct hs_error error;
    char what[256];
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

// ---- folders that grow ----------------------------------------------------------------------------------------------

struct serving_folders {
    struct hs_rest *rest;
    const struct hs_serving *serving;
    struct serving_reading *reading;
    struct hs_served_folder *folder;
    size_t count;
};

static int add_of_folder(void *context, const char *path, bool last)
{
    const struct serving_folders *folders = context;
    struct hs_error error;
    const struct hs_query_control control = {
        .progress = note_signals, .context = folders->reading, .cancel = &folders->reading->cancel};
    if (hs_rest__expect(folders->rest, path))
        return -ENOMEM;
    const int result = hs_rest__add(folders->rest, path, &control, &error);
    if (folders->reading->cancel)
        return -ECANCELED;
    if (result && result != -EEXIST && last)
        hs_complain(folders->serving->command, "%s", error.message);
    return result == -EEXIST ? 0 : result;
}

static int look_at_folders(struct serving_folders *folders)
{
    int result = 0;
    for (size_t i = 0; i < folders->count && !result; i++)
        result = hs_served_folder__look(&folders->folder[i], add_of_folder, folders);
    if (result == -ENOMEM)
        hs_complain(folders->serving->command, "out of memory");
    return result;
}

static int start_folders(struct serving_folders *folders)
{
    folders->count = folders->serving->folders.count;
    folders->folder = calloc(folders->count + 1, sizeof(*folders->folder));
    for (size_t i = 0; folders->folder && i < folders->count; i++)
        folders->folder[i].path = folders->serving->folders.path[i];
    return folders->folder ? look_at_folders(folders) : -ENOMEM;
}

static void free_folders(struct serving_folders *folders)
{
    for (size_t i = 0; folders->folder && i < folders->count; i++)
        hs_served_folder__free(&folders->folder[i]);
    free(folders->folder);
}

// Until a signal comes.
static int wait(struct serving_folders *folders)
{
    const struct timespec second = {.tv_sec = 1};
    int number = 0, result = 0;
    if (!folders->count)
        sigwait(&folders->reading->signals, &number);
    while (folders->count && !result && sigtimedwait(&folders->reading->signals, NULL, &second) < 0)
        result = look_at_folders(folders);
    return result;
}

static int serve(struct hs_rest *rest, const struct hs_serving *serving, struct serving_reading *reading)
{
    struct hs_http_server *server;
    struct hs_error error;
    struct serving_folders folders = {.rest = rest, .serving = serving, .reading = reading};
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
    if (!result && !reading->cancel)
        result = start_folders(&folders);
    if (!result && !reading->cancel) {
        FILE *out = serving->out ? serving->out : stdout;
        fprintf(out, "%s\n", hs_http__address(server));
        fflush(out);
        result = wait(&folders);
    }
    hs_http__stop(server);
    free_folders(&folders);
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
    if (rest)
        hs_rest__folders(rest, &serving->folders);
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
