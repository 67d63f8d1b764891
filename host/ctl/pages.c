// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/ctl/pages.h"

#include "host/base/text_stream.h"
#include "host/ctl/addresses.h"
#include "host/ctl/client.h"
#include "host/ctl/metrics.h"
#include "host/ctl/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As long as none of these changes, a dump is the same: each new sample counts in the totals, each that ends is missing
// in `samples`, and the head of a dump has the rate.
static const char *const dump_counts[] = {"counting_since_ns", "samples",           "samples_total",
                                          "samples_dropped",   "samples_shortened", "live_bytes",
                                          "sampled_bytes",     "since_ns",          "sample_bytes"};
enum { DUMP_COUNTS = sizeof(dump_counts) / sizeof(*dump_counts) };

struct hs_ctl_pages {
    struct hs_ctl_process process;
    struct hs_addresses *addresses; // of the last maps
    // The dump that /metrics took last, and what the status was before it.
    struct hs_ctl_answer dump;
    uint64_t dump_counts[DUMP_COUNTS];
    bool has_dump;
};

struct hs_ctl_pages *hs_ctl_pages__create(const struct hs_ctl_process *process)
{
    struct hs_ctl_pages *pages = calloc(1, sizeof(*pages));
    if (pages)
        pages->process = *process;
    return pages;
}

void hs_ctl_pages__destroy(struct hs_ctl_pages *pages)
{
    if (pages->has_dump)
        hs_ctl_answer__free(&pages->dump);
    hs_addresses__destroy(pages->addresses);
    free(pages);
}

// ---- answers --------------------------------------------------------------------------------------------------------

static int ask(struct hs_ctl_pages *pages, const char *request, struct hs_ctl_answer *answer, struct hs_error *error)
{
    return hs_ctl__ask(pages->process.socket, request, answer, error);
}

// The body of the process's answer becomes that of the page.
static void pass_on(struct hs_http_answer *page, struct hs_ctl_answer *answer, const char *type)
{
    page->body = malloc(answer->body_length + 1);
    if (page->body && answer->body)
        memcpy(page->body, answer->body, answer->body_length);
    page->length = page->body ? answer->body_length : 0;
    page->status = page->body ? 200 : 500;
    page->type = type;
    hs_ctl_answer__free(answer);
}

static void ask_and_pass_on(struct hs_ctl_pages *pages, const char *request, struct hs_http_answer *page,
                            const char *type)
{
    struct hs_ctl_answer answer;
    struct hs_error error;
    if (ask(pages, request, &answer, &error))
        hs_http_answer__text(page, 502, "%s\n", error.message);
    else
        pass_on(page, &answer, type);
}

// ---- libmtev --------------------------------------------------------------------------------------------------------

static void switch_active(struct hs_ctl_pages *pages, bool active, struct hs_http_answer *page)
{
    struct hs_ctl_answer answer;
    int result = ask(pages, active ? "start" : "stop-all", &answer, NULL);
    if (result) {
        hs_http_answer__text(page, 500, "%s", strerror(-result));
        return;
    }
    hs_ctl_answer__free(&answer);
    hs_http_answer__text(page, 200, "Profiling is %s\n", active ? "activated" : "deactivated");
}

static void mtev_dump(struct hs_ctl_pages *pages, struct hs_http_answer *page)
{
    struct hs_ctl_answer answer;
    int result = ask(pages, "get-dump heap_v2", &answer, NULL);
    if (result)
        hs_http_answer__text(page, 500, "%s", strerror(-result));
    else
        pass_on(page, &answer, "application/x-jemalloc-heap-profile");
}

static void mtev_state(struct hs_ctl_pages *pages, struct hs_http_answer *page)
{
    struct hs_ctl_answer answer;
    struct hs_error error;
    struct hs_text_stream stream;
    if (ask(pages, "status", &answer, &error)) {
        hs_http_answer__text(page, 500, "%s\n", error.message);
        return;
    }
    FILE *out = hs_text_stream__open(&stream);
    if (out)
        hs_ctl_status__flags(out, &answer);
    hs_ctl_answer__free(&answer);
    char *text = hs_text_stream__close(&stream);
    *page = (struct hs_http_answer){.status = 200, .type = "text/plain", .body = text, .length = stream.size};
}

static void mtev_heap_profile(void *context, const struct hs_http_request *request, struct hs_http_answer *page)
{
    const char *active = hs_http_request__parameter(request, "active");
    const char *dump = hs_http_request__parameter(request, "trigger_dump");
    if (active && !request->may_change)
        hs_http_answer__text(
            page, 403,
            "this browser does not say which page sends the request; use curl, or give the server a --token\n");
    else if (active)
        switch_active(context, !strcmp(active, "true"), page);
    else if (dump && !strcmp(dump, "true"))
        mtev_dump(context, page);
    else
        mtev_state(context, page);
}

static void mtev_memory(void *context, const struct hs_http_request *request, struct hs_http_answer *page)
{
    struct hs_ctl_answer answer;
    (void)request;
    if (!ask(context, "stats", &answer, NULL)) {
        pass_on(page, &answer, "application/json");
        return;
    }
    hs_http_answer__text(page, 200, "{}\n");
    page->type = "application/json";
}

// ---- pprof ----------------------------------------------------------------------------------------------------------

static void pprof_heap(void *context, const struct hs_http_request *request, struct hs_http_answer *page)
{
    char line[64];
    const char *format = hs_http_request__parameter(request, "format");
    // The one format that jeprof, gperftools' pprof and Go's all read.
    if (!format || !*format)
        format = "text";
    if (strlen(format) > 16 || format[strspn(format, "abcdefghijklmnopqrstuvwxyz_0123456789")]) {
        hs_http_answer__text(page, 400, "the formats are heap_v2, text, proto, symbolized and collapsed\n");
        return;
    }
    snprintf(line, sizeof(line), "get-dump %s", format);
    ask_and_pass_on(context, line, page, strcmp(format, "proto") ? "text/plain" : "application/octet-stream");
}

// The kernel ends every argument with a NUL; readers of the page want a line for each.
static void pprof_command_line(void *context, const struct hs_http_request *request, struct hs_http_answer *page)
{
    (void)request;
    ask_and_pass_on(context, "cmdline", page, "text/plain");
    for (size_t i = 0; page->status == 200 && i < page->length; i++)
        if (!page->body[i])
            page->body[i] = '\n';
}

static void pprof_has_symbols(void *context, const struct hs_http_request *request, struct hs_http_answer *page)
{
    (void)context;
    (void)request;
    hs_http_answer__text(page, 200, "num_symbols: 1\n");
}

// The maps change with dlopen: files are only looked at again when they did.
static int refresh_addresses(struct hs_ctl_pages *pages, struct hs_error *error)
{
    struct hs_ctl_answer answer;
    int result = ask(pages, "maps", &answer, error);
    if (result)
        return result;
    const char *maps = answer.body ? answer.body : "";
    if (!pages->addresses || strcmp(hs_addresses__maps(pages->addresses), maps)) {
        char *copy = strdup(maps);
        hs_addresses__destroy(pages->addresses);
        pages->addresses = copy ? hs_addresses__create(pages->process.pid, copy) : NULL;
    }
    hs_ctl_answer__free(&answer);
    return pages->addresses ? 0 : hs_error__set(error, ENOMEM, "out of memory");
}

static void print_symbols(struct hs_ctl_pages *pages, FILE *out, const char *text)
{
    while (*text) {
        char *end;
        if (text[0] != '0' || (text[1] | 0x20) != 'x') {
            text++;
            continue;
        }
        uint64_t address = strtoull(text, &end, 16);
        struct hs_text_stream stream;
        FILE *names = hs_text_stream__open(&stream);
        if (names)
            hs_addresses__print(pages->addresses, names, address);
        char *name = hs_text_stream__close(&stream);
        if (name && *name)
            fprintf(out, "%.*s\t%s\n", (int)(end - text), text, name);
        free(name);
        text = end > text ? end : text + 1;
    }
}

static void pprof_symbol(void *context, const struct hs_http_request *request, struct hs_http_answer *page)
{
    struct hs_ctl_pages *pages = context;
    struct hs_error error;
    struct hs_text_stream stream;
    if (refresh_addresses(pages, &error)) {
        hs_http_answer__text(page, 502, "%s\n", error.message);
        return;
    }
    FILE *out = hs_text_stream__open(&stream);
    if (out)
        print_symbols(pages, out, request->body);
    char *text = hs_text_stream__close(&stream);
    *page = (struct hs_http_answer){.status = 200, .type = "text/plain", .body = text, .length = stream.size};
}

// ---- Prometheus -----------------------------------------------------------------------------------------------------

// A dump stops the program's allocations for a moment, and is as large as its stacks. So it is taken only when the
// status, which costs nothing, says that there is something new. A process that has never sampled has none.
static bool refresh_dump(struct hs_ctl_pages *pages, const struct hs_ctl_answer *status)
{
    uint64_t counts[DUMP_COUNTS];
    struct hs_error error;
    for (size_t i = 0; i < DUMP_COUNTS; i++)
        counts[i] = hs_ctl_answer__number(status, dump_counts[i]);
    if (pages->has_dump && !memcmp(counts, pages->dump_counts, sizeof(counts)))
        return true;
    if (pages->has_dump)
        hs_ctl_answer__free(&pages->dump);
    pages->has_dump = !ask(pages, "get-dump heap_v2", &pages->dump, &error);
    memcpy(pages->dump_counts, counts, sizeof(counts));
    return pages->has_dump;
}

static void serve_metrics(void *context, const struct hs_http_request *request, struct hs_http_answer *page)
{
    struct hs_ctl_pages *pages = context;
    struct hs_ctl_answer status;
    struct hs_error error;
    const char *sites = hs_http_request__parameter(request, "sites");
    if (ask(pages, "status", &status, &error)) {
        hs_http_answer__text(page, 502, "%s\n", error.message);
        return;
    }
    bool has_dump = !(sites && !strcmp(sites, "no")) && refresh_dump(pages, &status);
    bool has_names = has_dump && !refresh_addresses(pages, &error);
    struct hs_ctl_metrics metrics = {.process = &pages->process,
                                     .status = &status,
                                     .dump = has_dump ? &pages->dump : NULL,
                                     .addresses = has_names ? pages->addresses : NULL};
    hs_exposition__serve(request, page, hs_ctl_metrics__write, &metrics);
    hs_ctl_answer__free(&status);
}

static void overview(void *context, const struct hs_http_request *request, struct hs_http_answer *page)
{
    struct hs_ctl_pages *pages = context;
    char name[64];
    (void)request;
    hs_ctl__name(pages->process.pid, name, sizeof(name));
    hs_http_answer__text(page, 200,
                         "heapsonde serves process %ld (%s)\n\n"
                         "/mtev/heap_profile                    state\n"
                         "/mtev/heap_profile?active=true        switch sampling on; any other value: off\n"
                         "/mtev/heap_profile?trigger_dump=true  a dump\n"
                         "/mtev/memory.json                     statistics\n"
                         "/pprof/heap                           a dump for jeprof and pprof\n"
                         "/metrics                              metrics for Prometheus\n",
                         (long)pages->process.pid, name);
}

const struct hs_http_page hs_ctl_page_table[] = {
    {.method = "GET", .path = "/", .serve = overview},
    {.method = "GET", .path = "/mtev/heap_profile", .serve = mtev_heap_profile},
    {.method = "GET", .path = "/mtev/memory.json", .serve = mtev_memory},
    {.method = "GET", .path = "/metrics", .serve = serve_metrics, .accept = HS_OPEN_METRICS},
    {.method = "GET", .path = "/metrics", .serve = serve_metrics},
    {.method = "GET", .path = "/pprof/heap", .serve = pprof_heap},
    {.method = "GET", .path = "/pprof/cmdline", .serve = pprof_command_line},
    {.method = "GET", .path = "/pprof/symbol", .serve = pprof_has_symbols},
    {.method = "POST", .path = "/pprof/symbol", .serve = pprof_symbol},
    {0},
};
