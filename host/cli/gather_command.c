// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/gather_metrics.h"
#include "host/cli/gather_store.h"
#include "host/cli/mqtt_options.h"
#include "host/cli/wire_options.h"
#include "host/gather/gather.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum hs_notices_form choose_form(const struct hs_arguments *arguments)
{
    const char *terminal = getenv("TERM");
    if (hs_arguments__flag(arguments, "json"))
        return HS_NOTICES_JSON;
    if (!isatty(STDOUT_FILENO) || !terminal || !strcmp(terminal, "dumb"))
        return HS_NOTICES_LINES;
    return HS_NOTICES_TABLE;
}

#define SECOND ((uint64_t)1000000000)

static int receive(const struct hs_arguments *arguments, const struct hs_gather_options *options)
{
    struct hs_error error = {.message = ""};
    if (options->insecure)
        hs_complain(arguments->command,
                    "--insecure: anyone who can reach or watch this network can read, change and command every stream");
    if (!hs_gather__run(options, &error))
        return HS_EXIT_OK;
    hs_complain(arguments->command, "%s", error.message);
    return HS_EXIT_FAILURE;
}

static int read_broker(const struct hs_arguments *arguments, struct hs_gather_options *options)
{
    if (!hs_arguments__given(arguments, "mqtt"))
        return 0;
    int status = hs_mqtt_options__read(arguments, &options->key, true, &options->broker);
    options->broker.client = hs_arguments__text(arguments, "mqtt-client", NULL);
    return status;
}

static int gather(const struct hs_arguments *arguments)
{
    struct hs_gather_options options = {.addresses = (const char *const *)arguments->operands,
                                        .address_count = (size_t)arguments->operand_count,
                                        .listen = hs_arguments__text(arguments, "listen", NULL),
                                        .select = hs_arguments__text(arguments, "select", NULL),
                                        .directory = hs_arguments__text(arguments, "dir", "."),
                                        .quota = hs_arguments__number(arguments, "quota", UINT64_MAX),
                                        .quota_per_device =
                                            hs_arguments__number(arguments, "quota-per-device", UINT64_MAX),
                                        .remove_oldest = hs_arguments__flag(arguments, "quota-remove-oldest"),
                                        .once = hs_arguments__flag(arguments, "once"),
                                        .patience = hs_arguments__number(arguments, "patience", 60 * SECOND),
                                        .insecure = hs_arguments__flag(arguments, "insecure"),
                                        .commands = true,
                                        .form = choose_form(arguments)};
    struct hs_gather_store *store = NULL;
    struct hs_fleet_metrics *metrics = NULL;
    int status = hs_wire_options__key(arguments, &options.key);
    if (!status)
        status = read_broker(arguments, &options);
    if (!status)
        status = hs_gather_store__prepare(&store, arguments, &options);
    if (!status)
        status = hs_gather_metrics__prepare(&metrics, arguments, &options);
    if (!status)
        status = receive(arguments, &options);
    hs_fleet_metrics__free(metrics);
    hs_gather_store__end(store);
    hs_shared_key__forget(&options.key);
    return status;
}

static const struct hs_option options[] = {
    {.name = "listen",
     .letter = 'l',
     .kind = HS_OPTION_TEXT,
     .argument = "ADDRESS:PORT",
     .help =
         "let devices connect to this address (HEAPSONDE_CONNECT on the device); with port 0 the kernel chooses one"},
    {.name = "mqtt",
     .kind = HS_OPTION_TEXT,
     .argument = "URL",
     .help =
         "receive what 'heapsonde push --mqtt' publishes through an MQTT broker: tcp://HOST:PORT, or mqtts://HOST:PORT "
         "with TLS"},
    {.name = "topic",
     .only_with = "mqtt",
     .kind = HS_OPTION_TEXT,
     .argument = "TOPIC",
     .help = "with --mqtt: subscribe to this topic, which may contain + and #; default heapsonde/#, which includes "
             "heapsonde"},
    {.name = "mqtt-client",
     .only_with = "mqtt",
     .kind = HS_OPTION_TEXT,
     .argument = "ID",
     .help = "with --mqtt: the name of this client at the broker, which keeps messages for this name while gather does "
             "not run; no other client may have the name; default a random name, for which nothing is kept"},
    HS_MQTT_OPTIONS,
    {.name = "dir",
     .letter = 'd',
     .kind = HS_OPTION_FILE,
     .argument = "DIR",
     .help = "the folder to write to, created if needed; default the current one"},
    {.name = "select",
     .letter = 's',
     .kind = HS_OPTION_TEXT,
     .argument = "EXPRESSION",
     .help = "accept only devices for which this is true, and also connect to those that announce themselves: name, "
             "device, pid, address or labels.WORD, then == != =~ !~ and a value, joined by and, or, not and "
             "parentheses; =~ matches a regular expression anywhere in the value. For example: device=~\"^gw\" and not "
             "labels.site==\"lab 2\""},
    {.name = "quota",
     .kind = HS_OPTION_SIZE,
     .argument = "SIZE",
     .help = "keep at most this many bytes of traces in the folder; refuse more"},
    {.name = "quota-per-device", .kind = HS_OPTION_SIZE, .argument = "SIZE", .help = "the same for each device"},
    {.name = "quota-remove-oldest", .help = "remove the oldest ended traces instead of refusing"},
    {.name = "once",
     .letter = '1',
     .help = "exit when every stream that began has ended, and each HOST:PORT has had a stream"},
    {.name = "patience",
     .only_with = "once",
     .kind = HS_OPTION_DURATION,
     .argument = "TIME",
     .help = "with --once: also end when no device has been connected for this time, although streams have not ended; "
             "default 1min; received data is kept, and the exit status is 1"},
    {.name = "store",
     .kind = HS_OPTION_TEXT,
     .argument = "DATABASE",
     .help = "also send the sums of each stack to a ClickHouse database, clickhouse://HOST:PORT/NAME, for 'heapsonde "
             "fleet': sums of aggregate mode as they arrive, those of other traces when they have ended; while the "
             "database cannot be reached, they stay in the traces in the folder"},
    {.name = "store-only",
     .only_with = "store",
     .help = "with --store: remove a trace from the folder when it has ended and all of it is in the database"},
    {.name = "firmware-label",
     .only_with = "store metrics",
     .kind = HS_OPTION_TEXT,
     .argument = "KEY",
     .help = "with --store and --metrics: the label that names the firmware; default firmware"},
    {.name = "metrics",
     .kind = HS_OPTION_TEXT,
     .argument = "ADDRESS:PORT",
     .help =
         "answer Prometheus at http://ADDRESS:PORT/metrics: devices, what is received and refused, and from sums of "
         "aggregate mode live bytes, allocations and the stacks that hold most; with port 0 the kernel chooses one; "
         "an address that other machines can reach needs --token"},
    {.name = "token",
     .only_with = "metrics",
     .kind = HS_OPTION_TEXT,
     .argument = "TOKEN",
     .help = "with --metrics: answer only requests with 'Authorization: Bearer TOKEN' or ?token=TOKEN; default "
             "HEAPSONDE_TOKEN"},
    {.name = "json", .help = "write a line of JSON for each event, and one per second"},
    HS_WIRE_OPTIONS("", "the devices have", NULL),
    {0},
};

const struct hs_command hs_command_gather = {
    .name = "gather",
    .synopsis = "[OPTIONS] [HOST:PORT ...]",
    .summary = "receive the traces of running processes over the network",
    .description =
        "Receives the streams of recorded processes over the network. Each stream becomes a trace, "
        "DATE_TIME_PID_NAME_ID.dat, which every command can read while it grows. gather connects to the "
        "given addresses, where a process listens with HEAPSONDE_ENABLE_SERVER=1. With --listen, processes "
        "connect to it. With --mqtt, it receives from a broker. Without --mqtt, it also connects to processes that "
        "announce themselves with HEAPSONDE_ENABLE_BROADCAST=1: with --select, or if neither an address nor --listen "
        "is given. After a lost connection, or after this command was ended or killed, a stream continues where it "
        "was: acknowledged data is in the file. Beyond this "
        "machine both sides need the same key (--key-file). SIGINT or SIGTERM ends this command.",
    .operand = HS_OPERAND_NONE,
    .least_operands = 0,
    .most_operands = -1,
    .options = options,
    .run = gather,
};
