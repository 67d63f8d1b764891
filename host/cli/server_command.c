// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/foreign.h"
#include "host/cli/progress.h"
#include "host/cli/subject.h"
#include "host/rest/rest.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_trace(struct hs_rest *rest, const struct hs_arguments *arguments, const char *path)
{
    struct hs_progress progress;
    struct hs_error error;
    char what[256];
    if (hs_refuse_foreign(arguments->command, path))
        return -EBADMSG;
    snprintf(what, sizeof(what), "reading %s", path);
    hs_progress__start(&progress, what, true);
    const struct hs_query_control control = {.progress = hs_progress__update, .context = &progress};
    int result = hs_rest__add(rest, path, &control, &error);
    hs_progress__end(&progress);
    if (result)
        hs_complain(arguments->command, "%s", error.message);
    return result == -EEXIST ? 0 : result;
}

static int add_traces(struct hs_rest *rest, const struct hs_arguments *arguments)
{
    int result = 0;
    for (int i = 0; i < arguments->operand_count && !result; i++)
        result = add_trace(rest, arguments, arguments->operands[i]);
    return result ? HS_EXIT_FAILURE : HS_EXIT_OK;
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

static int serve(struct hs_rest *rest, const struct hs_arguments *arguments, const sigset_t *signals)
{
    char listen[160];
    struct hs_http_server *server;
    struct hs_error error;
    int number = 0;
    const char *interface = hs_arguments__text(arguments, "interface", "127.0.0.1");
    bool bare = strchr(interface, ':') && *interface != '[';
    snprintf(listen, sizeof(listen), "%s%s%s:%" PRIu64, bare ? "[" : "", interface, bare ? "]" : "",
             hs_arguments__number(arguments, "port", 8080));
    const struct hs_http_options options = {.listen = listen,
                                            .token = hs_arguments__text(arguments, "token", getenv("HEAPSONDE_TOKEN")),
                                            .pages = hs_rest__pages(rest),
                                            .context = rest,
                                            .at_once = true};
    if (hs_http__start(&server, &options, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    printf("%s\n", hs_http__address(server));
    fflush(stdout);
    sigwait(signals, &number);
    hs_http__stop(server);
    return HS_EXIT_OK;
}

static int server(const struct hs_arguments *arguments)
{
    struct hs_symbols_options symbols;
    sigset_t signals;
    if (hs_arguments__flag(arguments, "openapi")) {
        hs_rest__write_openapi(stdout);
        return HS_EXIT_OK;
    }
    if (!arguments->operand_count) {
        hs_complain(arguments->command, "needs a trace; 'heapsonde run PROGRAM' records one");
        return HS_EXIT_USAGE;
    }
    if (hs_arguments__number(arguments, "port", 8080) > 65535) {
        hs_complain(arguments->command, "--port takes a number up to 65535, or 0 for a free one");
        return HS_EXIT_USAGE;
    }
    int status = hs_symbols_options__read(&symbols, arguments) ? HS_EXIT_FAILURE : HS_EXIT_OK;
    block_signals(&signals);
    struct hs_rest *rest = status ? NULL : hs_rest__create(&symbols);
    if (!rest) {
        hs_complain(arguments->command, "out of memory");
        status = HS_EXIT_FAILURE;
    }
    if (!status)
        status = add_traces(rest, arguments);
    if (!status)
        status = serve(rest, arguments, &signals);
    hs_rest__destroy(rest);
    hs_symbols_options__free(&symbols);
    return status;
}

static const struct hs_option options[] = {
    {.name = "interface",
     .letter = 'i',
     .kind = HS_OPTION_TEXT,
     .argument = "ADDRESS",
     .help = "listen at this address, 127.0.0.1 when not given; one that other machines reach needs --token"},
    {.name = "port",
     .letter = 'p',
     .kind = HS_OPTION_NUMBER,
     .argument = "PORT",
     .help = "listen at this port, 8080 when not given; with 0 the kernel chooses one"},
    {.name = "token",
     .kind = HS_OPTION_TEXT,
     .argument = "TOKEN",
     .help = "answer only who sends 'Authorization: Bearer TOKEN' or ?token=TOKEN; HEAPSONDE_TOKEN when not given"},
    {.name = "openapi", .help = "write the description of all endpoints (OpenAPI 3.1) and end"},
    HS_SYMBOL_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_server = {
    .name = "server",
    .synopsis = "[OPTIONS] FILE...",
    .summary = "answer questions about traces over HTTP",
    .description =
        "Opens the traces, prints an address and answers there until it is interrupted. /list names the traces, "
        "/data/ID/... asks about one of them, where 'last' is the last of the command line; / lists what can be asked "
        "for and /openapi.json describes it. Without a token only this machine is answered.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 0,
    .most_operands = -1,
    .options = options,
    .run = server,
};
