// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/variables.h"

#include "format/variable_names.h"
#include "host/cli/values.h"
#include "host/filter/nearest.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "HEAPSONDE_", other_prefix[] = "MEMORY_PROFILER_";

#define SWITCH(name, help)                                                                                             \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_SWITCH, NULL, "1", help, 0, 0                                            \
    }
#define NUMBER(name, argument, help)                                                                                   \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_NUMBER, NULL, argument, help, 0, 0                                       \
    }
#define BETWEEN(name, limits, argument, help)                                                                          \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_NUMBER, NULL, argument, help, limits                                     \
    }
#define TEXT(name, argument, help)                                                                                     \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_TEXT, NULL, argument, help, 0, 0                                         \
    }
#define CHOICE(name, values, help)                                                                                     \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_CHOICE, values, NULL, help, 0, 0                                         \
    }
#define COMMAND(name, kind, argument, help, ...)                                                                       \
    {name, HS_READER_COMMAND, HS_VARIABLE_##kind, NULL, argument, help, __VA_ARGS__},
#define NO_EFFECT(name) {name, HS_READER_RECORDER, HS_VARIABLE_NO_EFFECT, NULL, NULL, NULL, 0, 0},

const struct hs_variable hs_variables[] = {
    TEXT("OUTPUT", "FILE",
         "the path of the trace; %p is the process id, %e the program's name, %t the time in seconds, %n a counter, %% "
         "a percent sign; fd:N is an open descriptor; empty means no file; default memory-profiling_%e_%t_%p.dat"),
    TEXT("INCLUDE_FILE", "FILE", "put this file into the trace, or all files that match a pattern with * at its end"),
    SWITCH("WRITE_BINARIES_TO_OUTPUT",
           "put the program and its libraries into the trace, except files of more than 64 MiB, and files beyond 256 "
           "KiB of paths (about 4000 files); the report counts those"),
    NUMBER("CHOWN_OUTPUT_TO", "UID", "give the trace to this user"),
    SWITCH("DISABLE_BY_DEFAULT", "record nothing until a signal or the program starts it"),
    SWITCH("REGISTER_SIGUSR1",
           "SIGUSR1 switches recording on and off, unless the program uses it; 0 leaves it to the program"),
    SWITCH("REGISTER_SIGUSR2", "the same for SIGUSR2"),
    SWITCH("KEEP_DEEPBIND", "keep the flag RTLD_DEEPBIND of dlopen; libraries loaded with it call the C library's "
                            "malloc and are not recorded"),
    SWITCH("TRACK_CHILD_PROCESSES",
           "also record programs that this one executes; forked children always write their own trace"),
    SWITCH("GRAB_BACKTRACES_ON_FREE", "also record where blocks are freed"),
    SWITCH("GATHER_MAPS", "record mmap, munmap, mremap and brk; 0 leaves them out"),
    SWITCH("GATHER_MMAP_CALLS", "another name of GATHER_MAPS"),
    NUMBER("MEMORY", "BYTES",
           "memory for the recorder's tables, beside the buffers of threads: an eighth for stacks (a stack that was "
           "removed is written to the trace again when it occurs again), an eighth for modules (functions of modules "
           "without room get no names; the report counts these modules), the rest for culling (blocks without room "
           "stay in the trace); less than 65536 counts as 65536; default (also 0) 8 MiB, with pointers of 32 bits "
           "3 MiB; also limits the sampler (docs/malloc_conf.md)"),
    BETWEEN("MAX_DEPTH", HS_LIMITS_OF_MAX_DEPTH, "N",
            "keep at most this many frames of a stack, the innermost; default 4096"),
    SWITCH("CULL_TEMPORARY_ALLOCATIONS", "keep only sums of short-lived blocks"),
    NUMBER("TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD", "MS",
           "blocks that live for less time than this are short-lived; default 10000"),
    NUMBER("TEMPORARY_ALLOCATION_PENDING_THRESHOLD", "N",
           "while culling, hold back at most this many allocations; default 1048576"),
    CHOICE("MODE", "events aggregate",
           "aggregate: sums per stack in place of events, a few kilobytes per minute, for weeks (docs/aggregate.md)"),
    BETWEEN("AGGREGATE_INTERVAL", HS_LIMITS_OF_AGGREGATE_INTERVAL, "SECONDS",
            "time between two writes of these sums; default 10"),
    BETWEEN("AGGREGATE_STACKS", HS_LIMITS_OF_AGGREGATE_STACKS, "N",
            "with more stacks than this, stacks below 1/N of the live bytes, allocated bytes or allocations are folded "
            "together; default 1024"),
    NUMBER("AGGREGATE_MEMORY", "BYTES", "memory for the live blocks and stacks of these sums; default 64 MiB"),
    {"EVENTS", HS_READER_RECORDER, HS_VARIABLE_LIST, "heap cpu faults off-cpu", NULL,
     "also record samples of the kernel: CPU time, page faults, waiting threads (docs/events.md)", 0, 0},
    BETWEEN("CPU_FREQUENCY", HS_LIMITS_OF_CPU_FREQUENCY, "HZ", "samples per second of a thread's CPU time; default 99"),
    CHOICE("CPU_CLOCK", "time cycles", "cycles: sample processor cycles, if there is a counter"),
    BETWEEN("FAULT_STACKS", HS_LIMITS_OF_ONE_IN_N, "N", "one page fault in N gets a stack; default 127"),
    BETWEEN("SWITCH_STACKS", HS_LIMITS_OF_ONE_IN_N, "N",
            "sample one in N of the times that a thread leaves the processor; default 1"),
    SWITCH("CALL_CHAINS", "also record the kernel's chain of frame pointers in samples"),
    BETWEEN("STACK_COPY", HS_LIMITS_OF_STACK_COPY, "BYTES",
            "how much of a stack the kernel copies for a sample; default 16384"),
    CHOICE("STACKS", "here deferred",
           "deferred: the host unwinds the stacks of samples, whose contents are in the trace"),
    {"UNWINDER", HS_READER_RECORDER, HS_VARIABLE_COUNTED, "kernel own", NULL,
     "kernel: compare the stacks of allocations with the kernel's; kernel:N for one in N (docs/events.md)", 0, 0},
    SWITCH("USE_SHADOW_STACK", "0 walks every stack completely, to find faults in the recorder"),
    SWITCH("PYTHON", "record functions and lines of CPython 3.8 to 3.15 in the place of its interpreter loop"),
    SWITCH("ZERO_MEMORY", "give the program zeroed memory"),
    CHOICE("WRITER", "thread inline",
           "inline: no writer thread; each thread writes its own full buffers, for programs that must stay "
           "single-threaded"),
    CHOICE("LOG", "off error warn info debug trace",
           "messages of the recorder; by default one line if nothing is recorded, or if something that was requested "
           "is not"),
    TEXT("LOGFILE", "FILE", "file for these messages, with %p, %e, %t and %n; default standard error"),
    NUMBER("LOGFILE_ROTATE_WHEN_BIGGER_THAN", "BYTES", "start another file of messages beyond this size"),
    {"CONNECT", HS_READER_RECORDER, HS_VARIABLE_ADDRESS, NULL, "ADDRESS:PORT",
     "also send the trace to this host while the program runs (docs/gather.md); an absolute path is the pipe of "
     "'run --on' (docs/protocol.md)",
     0, 0},
    SWITCH("ENABLE_SERVER", "let hosts connect and receive the trace while the program runs"),
    {"BASE_SERVER_PORT", HS_READER_RECORDER, HS_VARIABLE_PORT, NULL, "N",
     "with ENABLE_SERVER, the first port to try; default 8100", 0, 0},
    SWITCH("ENABLE_BROADCAST", "announce this process in the network every second"),
    TEXT("KEY_FILE", "FILE", "the shared key; needed beyond loopback and between users. The command reads it, too"),
    SWITCH("INSECURE", "without a key allow more than loopback, and hosts of other users: anyone who can reach the "
                       "network can read and command everything"),
    TEXT("DEVICE", "NAME", "the name of this machine; default its host name"),
    {"LABELS", HS_READER_RECORDER, HS_VARIABLE_LABELS, NULL, "KEY=VALUE,...",
     "labels by which hosts can select this device", 0, 0},
    CHOICE("STREAM_POLICY", "drop block spill",
           "if the host is slower than the program: drop events and count them, block the program, or spill them into "
           "a file"),
    NUMBER("STREAM_BUFFER", "BYTES", "size of the send buffer; default 4 MiB"),
    TEXT("SPILL_FILE", "FILE", "the spill file; default heapsonde_%e_%p.spill"),
    NUMBER("SPILL_SIZE", "BYTES", "size of the spill file, and of the file on a board without pipes; default 64 MiB"),
    HS_OTHER_VARIABLES(COMMAND, NO_EFFECT){0},
};

const struct hs_variable *hs_variable__find(const char *name, size_t length)
{
    for (const struct hs_variable *variable = hs_variables; variable->name; variable++)
        if (strlen(variable->name) == length && !strncmp(variable->name, name, length))
            return variable;
    return NULL;
}

// ---- values --------------------------------------------------------------------------------------------------------

static bool is_one_of(const char *word, size_t length, const char *words)
{
    char copy[64];
    if (length >= sizeof(copy) || memchr(word, ' ', length))
        return false;
    snprintf(copy, sizeof(copy), "%.*s", (int)length, word);
    return hs_value__choice(copy, words);
}

static void offer_words(struct hs_nearest *nearest, const char *words, char *copy, size_t size)
{
    snprintf(copy, size, "%s", words);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        hs_nearest__offer(nearest, word);
}

static void say_unknown(const char *word, size_t length, const char *words, char *text, size_t size)
{
    char copy[128];
    struct hs_nearest nearest = {.word = word, .length = length};
    offer_words(&nearest, words, copy, sizeof(copy));
    if (nearest.found)
        snprintf(text, size, "does not know '%.*s'; did you mean '%s'?", (int)length, word, nearest.found);
    else
        snprintf(text, size, "does not know '%.*s'; possible values: %s", (int)length, word, words);
}

static bool has_wrong_word(const char *list, const char *words, char *text, size_t size)
{
    for (;;) {
        size_t length = strcspn(list, ",");
        if (!is_one_of(list, length, words)) {
            say_unknown(list, length, words, text, size);
            return true;
        }
        if (!list[length])
            return false;
        list += length + 1;
    }
}

static bool is_port(const char *value)
{
    uint64_t port;
    return hs_value__number(value, &port) && port && port <= 65535;
}

static bool is_address(const char *value)
{
    char host[64];
    unsigned char bytes[16];
    const char *colon = strrchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : 0;
    bool brackets = length > 2 && value[0] == '[' && value[length - 1] == ']';
    if (!colon || length >= sizeof(host) || !is_port(colon + 1))
        return false;
    snprintf(host, sizeof(host), "%.*s", (int)(brackets ? length - 2 : length), value + brackets);
    return inet_pton(brackets ? AF_INET6 : AF_INET, host, bytes) == 1;
}

static bool are_labels(const char *list)
{
    while (*list) {
        size_t key = strcspn(list, "=,");
        if (!key || list[key] != '=')
            return false;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return true;
}

static bool is_counted(const char *value, const char *words)
{
    size_t first = strcspn(words, " ");
    uint64_t number;
    if (strncmp(value, words, first) || value[first] != ':')
        return false;
    return hs_value__number(value + first + 1, &number) && number && number <= UINT32_MAX;
}

bool hs_variable__problem(const struct hs_variable *variable, const char *value, char *text, size_t size)
{
    uint64_t number;
    if (!*value)
        return false;
    switch (variable->kind) {
    case HS_VARIABLE_SWITCH:
        if (is_one_of(value, strlen(value), "1 0 true false"))
            return false;
        snprintf(text, size, "takes 1 or 0, not '%s'", value);
        return true;
    case HS_VARIABLE_NUMBER:
        if (!hs_value__number(value, &number))
            snprintf(text, size, "takes a whole number such as 10, not '%s'", value);
        else if (variable->highest && (number < variable->lowest || number > variable->highest))
            snprintf(text, size, "takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'", variable->lowest,
                     variable->highest, value);
        else
            return false;
        return true;
    case HS_VARIABLE_SIZE:
        if (hs_value__size(value, &number))
            return false;
        snprintf(text, size, "takes a size such as 4096, 64K or 2G, not '%s'", value);
        return true;
    case HS_VARIABLE_COUNTED:
        if (is_counted(value, variable->values))
            return false;
        // Fall through.
    case HS_VARIABLE_CHOICE:
        if (is_one_of(value, strlen(value), variable->values))
            return false;
        say_unknown(value, strlen(value), variable->values, text, size);
        return true;
    case HS_VARIABLE_LIST:
        return has_wrong_word(value, variable->values, text, size);
    case HS_VARIABLE_ADDRESS:
        if (value[0] == '/' || is_address(value))
            return false;
        snprintf(text, size, "takes ADDRESS:PORT in numbers, such as 192.0.2.7:8100 or [2001:db8::7]:8100, not '%s'",
                 value);
        return true;
    case HS_VARIABLE_PORT:
        if (is_port(value))
            return false;
        snprintf(text, size, "takes a port from 1 to 65535, not '%s'", value);
        return true;
    case HS_VARIABLE_LABELS:
        if (are_labels(value))
            return false;
        snprintf(text, size, "takes labels such as site=lab,rack=7, not '%s'", value);
        return true;
    default:
        return false;
    }
}

// ---- the environment -----------------------------------------------------------------------------------------------

static void describe_unknown(const char *name, size_t length, const char *before, char *text, size_t size)
{
    struct hs_nearest nearest = {.word = name, .length = length};
    for (const struct hs_variable *variable = hs_variables; variable->name; variable++)
        hs_nearest__offer(&nearest, variable->name);
    if (nearest.found)
        snprintf(text, size, "unknown variable %s%.*s; did you mean %s%s?", before, (int)length, name, before,
                 nearest.found);
    else
        snprintf(text, size, "unknown variable %s%.*s; unset it; 'heapsonde help variables' lists them", before,
                 (int)length, name);
}

// The variables of heapsonde's own tests are ignored.
static bool is_wrong(const char *entry, const char *before, char *text, size_t size)
{
    const char *name = entry + strlen(before);
    size_t length = strcspn(name, "=");
    char problem[256];
    if (!strncmp(name, "TEST_", 5) || !strncmp(name, "UPDATE_GOLDEN=", 14) || !strncmp(name, "WRITE_GOLDEN=", 13))
        return false;
    const struct hs_variable *variable = hs_variable__find(name, length);
    if (!variable) {
        describe_unknown(name, length, before, text, size);
        return true;
    }
    if (!hs_variable__problem(variable, name[length] ? name + length + 1 : "", problem, sizeof(problem)))
        return false;
    snprintf(text, size, "%s%s %s", before, variable->name, problem);
    return true;
}

bool hs_variables__problem_of_command(char *text, size_t size)
{
    char name[64], problem[256];
    for (const struct hs_variable *variable = hs_variables; variable->name; variable++) {
        snprintf(name, sizeof(name), "%s%s", prefix, variable->name);
        const char *value = variable->reader == HS_READER_COMMAND ? getenv(name) : NULL;
        if (!value || !hs_variable__problem(variable, value, problem, sizeof(problem)))
            continue;
        snprintf(text, size, "%s %s", name, problem);
        return true;
    }
    return false;
}

bool hs_variables__problem(char **environment, char *text, size_t size)
{
    for (; *environment; environment++) {
        const char *before = !strncmp(*environment, prefix, sizeof(prefix) - 1)               ? prefix
                             : !strncmp(*environment, other_prefix, sizeof(other_prefix) - 1) ? other_prefix
                                                                                              : NULL;
        if (before && is_wrong(*environment, before, text, size))
            return true;
    }
    return false;
}
