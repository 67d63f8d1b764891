// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/command_process.h"
#include "host/cli/commands.h"
#include "host/cli/findings.h"
#include "host/cli/serving.h"
#include "host/cli/subject.h"
#include "host/cli/wire_options.h"
#include "host/rest/rest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Splits what was given into traces, and folders of `gather`. The caller frees the array. NULL: out of memory.
static const char **take_folders(struct hs_serving *serving)
{
    const int given = serving->count;
    const char **split = calloc((size_t)given, sizeof(*split));
    int traces = 0, folders = 0;
    for (int i = 0; split && i < given; i++) {
        if (hs_is_gathered_folder(serving->paths[i]))
            split[given - ++folders] = serving->paths[i];
        else
            split[traces++] = serving->paths[i];
    }
    if (!split) {
        hs_complain(serving->command, "out of memory");
        return NULL;
    }
    serving->paths = split;
    serving->count = traces;
    serving->folders.path = split + traces;
    serving->folders.count = (size_t)folders;
    return split;
}

static int serve(const struct hs_arguments *arguments, const struct hs_symbols_options *symbols,
                 const struct hs_suppressions *suppressions)
{
    struct hs_shared_key key = {.length = 0};
    const bool controls = hs_arguments__flag(arguments, "control");
    int status = controls ? hs_wire_options__key(arguments, &key) : HS_EXIT_OK;
    const struct hs_rest_control control = hs_command_process(&key);
    char listen[160];
    const char *interface = hs_arguments__text(arguments, "interface", "127.0.0.1");
    bool bare = strchr(interface, ':') && *interface != '[';
    snprintf(listen, sizeof(listen), "%s%s%s:%" PRIu64, bare ? "[" : "", interface, bare ? "]" : "",
             hs_arguments__number(arguments, "port", 8080));
    struct hs_serving serving = {.command = arguments->command,
                                 .listen = listen,
                                 .token = hs_arguments__text(arguments, "token", getenv("HEAPSONDE_TOKEN")),
                                 .symbols = symbols,
                                 .paths = (const char *const *)arguments->operands,
                                 .count = arguments->operand_count,
                                 .suppressions = suppressions,
                                 .control = controls ? &control : NULL,
                                 .fleet = hs_arguments__text(arguments, "fleet", NULL),
                                 .fleet_seconds = (unsigned)hs_arguments__number(arguments, "fleet-timeout", 60),
                                 .folders = {.devices = hs_gathered_devices},
                                 .open = hs_arguments__flag(arguments, "open")};
    const char **sources = hs_arguments__texts(arguments, "source", &serving.source_count);
    if (!sources) {
        hs_complain(arguments->command, "out of memory");
        status = HS_EXIT_FAILURE;
    }
    serving.sources = sources;
    const char **folders = take_folders(&serving);
    if (!folders)
        status = HS_EXIT_FAILURE;
    if (status == HS_EXIT_OK)
        status = hs_serving__run(&serving);
    hs_shared_key__forget(&key);
    free(folders);
    free(sources);
    return status;
}

static int server(const struct hs_arguments *arguments)
{
    struct hs_symbols_options symbols;
    if (hs_arguments__flag(arguments, "openapi")) {
        hs_rest__write_openapi(stdout);
        return HS_EXIT_OK;
    }
    const uint64_t seconds = hs_arguments__number(arguments, "fleet-timeout", 60);
    if (!arguments->operand_count && !hs_arguments__flag(arguments, "fleet")) {
        hs_complain(arguments->command, "needs a trace or --fleet; 'heapsonde run PROGRAM' records a trace");
        return HS_EXIT_USAGE;
    }
    if (!seconds || seconds > 86400) {
        hs_complain(arguments->command, "--fleet-timeout takes a number of seconds from 1 to 86400");
        return HS_EXIT_USAGE;
    }
    if (hs_arguments__number(arguments, "port", 8080) > 65535) {
        hs_complain(arguments->command, "--port takes a number up to 65535, or 0 for a free one");
        return HS_EXIT_USAGE;
    }
    struct hs_suppressions *suppressions;
    int status = hs_suppressions_option__read(&suppressions, arguments);
    if (status)
        return status;
    status = hs_symbols_options__read(&symbols, arguments) ? HS_EXIT_FAILURE : serve(arguments, &symbols, suppressions);
    hs_symbols_options__free(&symbols);
    hs_suppressions__destroy(suppressions);
    return status;
}

static const struct hs_option options[] = {
    {.name = "interface",
     .letter = 'i',
     .kind = HS_OPTION_TEXT,
     .argument = "ADDRESS",
     .help = "listen at this address; default 127.0.0.1; an address that other machines can reach needs --token"},
    {.name = "port",
     .letter = 'p',
     .kind = HS_OPTION_NUMBER,
     .argument = "PORT",
     .help = "listen at this port; default 8080; with 0 the kernel chooses one"},
    {.name = "token",
     .kind = HS_OPTION_TEXT,
     .argument = "TOKEN",
     .help = "answer only requests with 'Authorization: Bearer TOKEN' or ?token=TOKEN; default HEAPSONDE_TOKEN"},
    {.name = "open", .help = "open the page in the browser: $BROWSER, or what xdg-open starts; never as root"},
    {.name = "source",
     .kind = HS_OPTION_DIRECTORY,
     .argument = "DIR",
     .help = "show the text of source files below this folder; no other files of this machine are shown",
     .repeatable = true},
    {.name = "control",
     .help = "let clients command the processes that write the traces or send them to 'heapsonde gather': recorded "
             "ones mark, stop, start and flush, sampled ones stop, start, dump and rate. Processes on this machine "
             "have to listen (run --listen) or have a control socket"},
    {.name = "fleet",
     .kind = HS_OPTION_TEXT,
     .argument = "DATABASE",
     .help = "also answer questions about many devices, from this database: "
             "clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE "
             "('heapsonde help fleet')"},
    {.name = "fleet-timeout",
     .only_with = "fleet",
     .kind = HS_OPTION_NUMBER,
     .argument = "SECONDS",
     .help = "with --fleet: how long the database may take for an answer; default 60"},
    {.name = "key-file",
     .only_with = "control",
     .letter = 'k',
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .help = "with --control: the key that these processes have, too; default HEAPSONDE_KEY_FILE"},
    HS_SUPPRESSIONS_OPTION,
    {.name = "openapi", .help = "print the description of all endpoints (OpenAPI 3.1) and exit"},
    HS_SYMBOL_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_server = {
    .name = "server",
    .synopsis = "[OPTIONS] [FILE...]",
    .summary = "answer questions about traces over HTTP",
    .description = "Opens traces, heap dumps and recordings of other tools, prints an address and answers there until "
                   "it is interrupted. A folder "
                   "of heap dumps is one series, and so is a file of massif or DHAT. If a folder is one into which "
                   "'heapsonde gather' receives, all its traces are shown, also new ones. With --fleet, /fleet/... "
                   "asks a database of many devices. "
                   "Browsers get a page. For programs, /list lists the traces and "
                   "/data/ID/... queries one of them, "
                   "where 'last' is the last on the command line. / lists the endpoints and /openapi.json describes "
                   "them. Without a token, only requests from this machine are answered.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 0,
    .most_operands = -1,
    .options = options,
    .run = server,
};
