// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/variables.h"

#include "host/cli/values.h"
#include "host/filter/nearest.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "HEAPSONDE_", other_prefix[] = "MEMORY_PROFILER_";

#define SWITCH(name, help)                                                                                             \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_SWITCH, NULL, "1", help                                                  \
    }
#define NUMBER(name, argument, help)                                                                                   \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_NUMBER, NULL, argument, help                                             \
    }
#define TEXT(name, argument, help)                                                                                     \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_TEXT, NULL, argument, help                                               \
    }
#define CHOICE(name, values, help)                                                                                     \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_CHOICE, values, NULL, help                                               \
    }
#define COMMAND(name, argument, help)                                                                                  \
    {                                                                                                                  \
        name, HS_READER_COMMAND, HS_VARIABLE_TEXT, NULL, argument, help                                                \
    }
#define NO_EFFECT(name)                                                                                                \
    {                                                                                                                  \
        name, HS_READER_RECORDER, HS_VARIABLE_NO_EFFECT, NULL, NULL, NULL                                              \
    }

const struct hs_variable hs_variables[] = {
    TEXT("OUTPUT", "FILE",
         "the trace: %p is the process, %e its name, %t the time in seconds, %n a counter, %% a percent sign; fd:N is "
         "a descriptor that is open already; empty: no file; memory-profiling_%e_%t_%p.dat when not given"),
    TEXT("INCLUDE_FILE", "FILE", "put this file into the trace, or the files of a pattern that ends in *"),
    SWITCH("WRITE_BINARIES_TO_OUTPUT", "put the program and its libraries into the trace"),
    NUMBER("CHOWN_OUTPUT_TO", "UID", "give the trace to this user"),
    SWITCH("DISABLE_BY_DEFAULT", "record nothing until a signal or the program asks for it"),
    SWITCH("REGISTER_SIGUSR1", "SIGUSR1 switches recording on and off where the program has not taken it; 0 leaves it "
                               "to the program"),
    SWITCH("REGISTER_SIGUSR2", "the same for SIGUSR2"),
    SWITCH("KEEP_DEEPBIND", "leave RTLD_DEEPBIND of dlopen as it is; libraries that are loaded so call the C library's "
                            "malloc, which nobody records"),
    SWITCH("TRACK_CHILD_PROCESSES",
           "also record the programs that this one executes; forked children always write their own trace"),
    SWITCH("GRAB_BACKTRACES_ON_FREE", "also record where blocks are freed"),
    SWITCH("GATHER_MAPS", "record mmap, munmap, mremap and brk; 0 does not"),
    SWITCH("GATHER_MMAP_CALLS", "another name of GATHER_MAPS"),
    NUMBER("MAX_DEPTH", "N", "keep at most this many frames of a stack, the innermost; 4096 when not given"),
    SWITCH("CULL_TEMPORARY_ALLOCATIONS", "keep only the sums of allocations that live shortly"),
    NUMBER("TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD", "MS", "what is shorter than this counts as shortly; 10000"),
    NUMBER("TEMPORARY_ALLOCATION_PENDING_THRESHOLD", "N", "hold back at most this many allocations for that; 1048576"),
    CHOICE("MODE", "events aggregate",
           "aggregate: sums per stack in place of events, a few kilobytes a minute, for weeks (docs/aggregate.md)"),
    NUMBER("AGGREGATE_INTERVAL", "SECONDS", "from one telling of what changed in these sums to the next; 10"),
    NUMBER("AGGREGATE_STACKS", "N",
           "with more stacks than this, tell apart those with one Nth of what is live or was allocated; 1024"),
    NUMBER("AGGREGATE_MEMORY", "BYTES", "for the live blocks and stacks of these sums; 64 MiB"),
    {"EVENTS", HS_READER_RECORDER, HS_VARIABLE_LIST, "heap cpu faults off-cpu", NULL,
     "what the kernel is asked for besides: where CPU time goes, which memory is touched, where threads wait "
     "(docs/events.md)"},
    NUMBER("CPU_FREQUENCY", "HZ", "samples per second of a thread's CPU time; 99"),
    CHOICE("CPU_CLOCK", "time cycles", "cycles: sample the processor's cycles, where it counts them"),
    NUMBER("FAULT_STACKS", "N", "one page fault in N gets its stack; 127"),
    NUMBER("SWITCH_STACKS", "N", "one time in N that a thread leaves the processor is sampled; 1"),
    SWITCH("CALL_CHAINS", "samples have the kernel's chain of frame pointers, too"),
    NUMBER("STACK_COPY", "BYTES", "how much of a stack the kernel copies for a sample; 16384"),
    CHOICE("STACKS", "here deferred", "deferred: the host unwinds the stacks of samples"),
    {"UNWINDER", HS_READER_RECORDER, HS_VARIABLE_COUNTED, "kernel own", NULL,
     "kernel: a second opinion on the stacks of allocations; kernel:N for one in N (docs/events.md)"},
    SWITCH("USE_SHADOW_STACK", "0 walks every stack from scratch, for finding faults in the recorder"),
    SWITCH("ZERO_MEMORY", "give the program zeroed memory"),
    CHOICE("WRITER", "thread inline",
           "inline: no thread of ours; each thread writes its own full buffers, for programs that must stay "
           "single-threaded"),
    CHOICE("LOG", "off error warn info debug trace",
           "what the recorder says about itself; what keeps it from recording at the start, or from recording what was "
           "asked for, when not given"),
    TEXT("LOGFILE", "FILE", "where it says that, with %p, %e, %t and %n; standard error when not given"),
    NUMBER("LOGFILE_ROTATE_WHEN_BIGGER_THAN", "BYTES", "begin another such file then"),
    {"CONNECT", HS_READER_RECORDER, HS_VARIABLE_ADDRESS, NULL, "ADDRESS:PORT",
     "also send the trace to this host while the program runs (docs/gather.md)"},
    SWITCH("ENABLE_SERVER", "let hosts take the trace while it runs"),
    NUMBER("BASE_SERVER_PORT", "N", "the first port that is tried for that; 8100"),
    SWITCH("ENABLE_BROADCAST", "say so in the network every second"),
    TEXT("KEY_FILE", "FILE",
         "the key that both sides have; needed beyond loopback and between users. The command reads it, too"),
    SWITCH(
        "INSECURE",
        "without a key go beyond loopback, and deal with hosts of other users: whoever can reach the network reads and "
        "commands everything"),
    TEXT("DEVICE", "NAME", "the name of this machine; its host name when not given"),
    TEXT("LABELS", "KEY=VALUE,...", "what else hosts may choose by"),
    CHOICE("STREAM_POLICY", "drop block spill",
           "when the host is slower than the program: drop events and count them, let the program wait, or keep them "
           "in a file"),
    NUMBER("STREAM_BUFFER", "BYTES", "what is kept for the host; 4 MiB"),
    TEXT("SPILL_FILE", "FILE", "where spill keeps it; heapsonde_%e_%p.spill"),
    NUMBER("SPILL_SIZE", "BYTES", "how much it keeps there; 64 MiB"),
    COMMAND("LIBRARY", "FILE", "the recording library that run preloads"),
    COMMAND("SHIMS", "DIR", "the folder of the libraries for targets: ABI/libheapsonde-trace.so"),
    COMMAND("RUN_OPTIONS", "OPTIONS", "more options of run --wrapper, as a shell takes them"),
    COMMAND("TOKEN", "TEXT", "the token of server and ctl serve where --token is not given"),
    COMMAND("ANNOUNCE_PORT", "N", "where gather listens for the announcements of devices"),
    NO_EFFECT("BACKTRACE_CACHE_SIZE"),
    NO_EFFECT("BACKTRACE_CACHE_SIZE_LEVEL_1"),
    NO_EFFECT("BACKTRACE_CACHE_SIZE_LEVEL_2"),
    NO_EFFECT("BASE_BROADCAST_PORT"),
    NO_EFFECT("DISABLE_PR_SET_VMA_ANON_NAME"),
    NO_EFFECT("EMIT_PARTIAL_BACKTRACES"),
    NO_EFFECT("PRECISE_TIMESTAMPS"),
    NO_EFFECT("USE_PERF_EVENT_OPEN"),
    {0},
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
        snprintf(text, size, "does not know '%.*s'; it knows: %s", (int)length, word, words);
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

static bool is_address(const char *value)
{
    char host[64];
    uint64_t port;
    unsigned char bytes[16];
    const char *colon = strrchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : 0;
    bool brackets = length > 2 && value[0] == '[' && value[length - 1] == ']';
    if (!colon || length >= sizeof(host) || !hs_value__number(colon + 1, &port) || !port || port > 65535)
        return false;
    snprintf(host, sizeof(host), "%.*s", (int)(brackets ? length - 2 : length), value + brackets);
    return inet_pton(brackets ? AF_INET6 : AF_INET, host, bytes) == 1;
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
        if (hs_value__number(value, &number))
            return false;
        snprintf(text, size, "takes a whole number such as 10, not '%s'", value);
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
        if (is_address(value))
            return false;
        snprintf(text, size, "takes ADDRESS:PORT in numbers, such as 192.0.2.7:8100 or [2001:db8::7]:8100, not '%s'",
                 value);
        return true;
    default:
        return false;
    }
}

// ---- the environment -----------------------------------------------------------------------------------------------

static void complain_name(const struct hs_command *command, const char *name, size_t length, const char *before)
{
    struct hs_nearest nearest = {.word = name, .length = length};
    for (const struct hs_variable *variable = hs_variables; variable->name; variable++)
        hs_nearest__offer(&nearest, variable->name);
    if (nearest.found)
        hs_complain(command, "nobody knows the variable %s%.*s; did you mean %s%s?", before, (int)length, name, before,
                    nearest.found);
    else
        hs_complain(command, "nobody knows the variable %s%.*s; unset it; 'heapsonde help variables' lists them",
                    before, (int)length, name);
}

// What tests of heapsonde itself read is theirs.
static bool is_right(const struct hs_command *command, const char *entry, const char *before)
{
    const char *name = entry + strlen(before);
    size_t length = strcspn(name, "=");
    char problem[256];
    if (!strncmp(name, "TEST_", 5) || !strncmp(name, "UPDATE_GOLDEN=", 14) || !strncmp(name, "WRITE_GOLDEN=", 13))
        return true;
    const struct hs_variable *variable = hs_variable__find(name, length);
    if (!variable) {
        complain_name(command, name, length, before);
        return false;
    }
    if (!hs_variable__problem(variable, name[length] ? name + length + 1 : "", problem, sizeof(problem)))
        return true;
    hs_complain(command, "%s%s %s", before, variable->name, problem);
    return false;
}

bool hs_variables__check(const struct hs_command *command, char **environment)
{
    for (; *environment; environment++) {
        const char *before = !strncmp(*environment, prefix, sizeof(prefix) - 1)               ? prefix
                             : !strncmp(*environment, other_prefix, sizeof(other_prefix) - 1) ? other_prefix
                                                                                              : NULL;
        if (before && !is_right(command, *environment, before))
            return false;
    }
    return true;
}
