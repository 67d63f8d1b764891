// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/config.h"

#include "arch/system.h"
#include "format/variable_names.h"
#include "runtime/memory.h"
#include "runtime/rights.h"
#include "runtime/text.h"

#include <stddef.h>
#include <time.h>

extern char **environ __attribute__((weak));

#define LIBRARY_NAME "libheapsonde-trace.so"

struct hs_config hs_config;

enum option_kind {
    OPTION_BOOLEAN,
    OPTION_NUMBER,
    OPTION_TEXT,
    OPTION_LEVEL,
    OPTION_WRITER,
    OPTION_MODE,
    OPTION_CPU_CLOCK,
    OPTION_STACKS,
    OPTION_POLICY,
    OPTION_EVENTS,
    OPTION_UNWINDER,
    OPTION_UID
};

// Names, kinds and fields of hs_config. They become offsets: each address would take a relocation in the shims' files.
#define OPTIONS(OPTION)                                                                                                \
    OPTION(OUTPUT, TEXT, output)                                                                                       \
    OPTION(LOGFILE, TEXT, log_file)                                                                                    \
    OPTION(INCLUDE_FILE, TEXT, include)                                                                                \
    OPTION(LOG, LEVEL, log_level)                                                                                      \
    OPTION(LOGFILE_ROTATE_WHEN_BIGGER_THAN, NUMBER, log_rotate_bytes)                                                  \
    OPTION(DISABLE_BY_DEFAULT, BOOLEAN, disabled)                                                                      \
    OPTION(GRAB_BACKTRACES_ON_FREE, BOOLEAN, free_stacks)                                                              \
    OPTION(USE_SHADOW_STACK, BOOLEAN, memo)                                                                            \
    OPTION(PYTHON, BOOLEAN, python)                                                                                    \
    OPTION(ZERO_MEMORY, BOOLEAN, zero_memory)                                                                          \
    OPTION(TRACK_CHILD_PROCESSES, BOOLEAN, track_children)                                                             \
    OPTION(WRITE_BINARIES_TO_OUTPUT, BOOLEAN, embed_binaries)                                                          \
    OPTION(GATHER_MMAP_CALLS, BOOLEAN, maps)                                                                           \
    OPTION(GATHER_MAPS, BOOLEAN, maps)                                                                                 \
    OPTION(REGISTER_SIGUSR1, BOOLEAN, sigusr1)                                                                         \
    OPTION(REGISTER_SIGUSR2, BOOLEAN, sigusr2)                                                                         \
    OPTION(KEEP_DEEPBIND, BOOLEAN, keep_deepbind)                                                                      \
    OPTION(WRITER, WRITER, inline_writer)                                                                              \
    OPTION(CULL_TEMPORARY_ALLOCATIONS, BOOLEAN, cull)                                                                  \
    OPTION(TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD, NUMBER, cull_threshold_ms)                                         \
    OPTION(TEMPORARY_ALLOCATION_PENDING_THRESHOLD, NUMBER, cull_pending)                                               \
    OPTION(MEMORY, NUMBER, memory)                                                                                     \
    OPTION(MAX_DEPTH, NUMBER, max_depth)                                                                               \
    OPTION(MODE, MODE, aggregate)                                                                                      \
    OPTION(AGGREGATE_INTERVAL, NUMBER, aggregate_interval)                                                             \
    OPTION(AGGREGATE_STACKS, NUMBER, aggregate_stacks)                                                                 \
    OPTION(AGGREGATE_MEMORY, NUMBER, aggregate_memory)                                                                 \
    OPTION(EVENTS, EVENTS, events)                                                                                     \
    OPTION(CPU_FREQUENCY, NUMBER, cpu_frequency)                                                                       \
    OPTION(CALL_CHAINS, BOOLEAN, call_chains)                                                                          \
    OPTION(CPU_CLOCK, CPU_CLOCK, cycles)                                                                               \
    OPTION(FAULT_STACKS, NUMBER, fault_stacks)                                                                         \
    OPTION(SWITCH_STACKS, NUMBER, switch_stacks)                                                                       \
    OPTION(UNWINDER, UNWINDER, kernel_stacks)                                                                          \
    OPTION(STACK_COPY, NUMBER, stack_copy)                                                                             \
    OPTION(STACKS, STACKS, deferred_stacks)                                                                            \
    OPTION(ENABLE_SERVER, BOOLEAN, server)                                                                             \
    OPTION(ENABLE_BROADCAST, BOOLEAN, broadcast)                                                                       \
    OPTION(INSECURE, BOOLEAN, insecure)                                                                                \
    OPTION(BASE_SERVER_PORT, NUMBER, base_server_port)                                                                 \
    OPTION(CONNECT, TEXT, connect)                                                                                     \
    OPTION(KEY_FILE, TEXT, key_file)                                                                                   \
    OPTION(DEVICE, TEXT, device)                                                                                       \
    OPTION(LABELS, TEXT, labels)                                                                                       \
    OPTION(STREAM_POLICY, POLICY, policy)                                                                              \
    OPTION(STREAM_BUFFER, NUMBER, stream_buffer)                                                                       \
    OPTION(SPILL_FILE, TEXT, spill_file)                                                                               \
    OPTION(SPILL_SIZE, NUMBER, spill_size)                                                                             \
    OPTION(CHOWN_OUTPUT_TO, UID, chown_to)

static const struct option_names {
#define NAME(name, kind, field) char name[sizeof #name];
    OPTIONS(NAME)
#undef NAME
} option_names = {
#define NAME(name, kind, field) #name,
    OPTIONS(NAME)
#undef NAME
};

static const struct option {
    uint32_t name : 12, value : 15, kind : 5;
} options[] = {
#define PLACES(name, kind, field)                                                                                      \
    {offsetof(struct option_names, name), offsetof(struct hs_config, field), OPTION_##kind},
    OPTIONS(PLACES)
#undef PLACES
};

// Walks the environment: libc's while it has one, else (before libc is initialised) the kernel's copy.
struct environment {
    char **next;
    char *text;
    size_t at, length;
};

enum { KERNEL_COPY = 256 * 1024, MOST_DIGITS = 19 }; // more may be too large for 64 bits

static void environment_open(struct environment *environment)
{
    *environment = (struct environment){0};
    if (&environ && environ) {
        environment->next = environ;
        return;
    }
    environment->text = hs_memory__map(KERNEL_COPY);
    if (environment->text)
        environment->length = hs_text__read_file("/proc/self/environ", environment->text, KERNEL_COPY);
}

static const char *environment_next(struct environment *environment)
{
    if (environment->next)
        return *environment->next ? *environment->next++ : NULL;
    if (environment->at >= environment->length)
        return NULL;
    const char *entry = environment->text + environment->at;
    environment->at += hs_text__length(entry) + 1;
    return entry;
}

static void environment_close(struct environment *environment)
{
    if (environment->text)
        hs_memory__unmap(environment->text, KERNEL_COPY);
}

static bool parse_number(const char *text, uint64_t *number)
{
    const char *end = text;
    uint64_t value = hs_text__parse(&end, 10);
    if (end == text || *end || end - text > MOST_DIGITS)
        return false;
    *number = value;
    return true;
}

// The number of the first word of *text, up to a comma, in a list of words with one comma behind each; the length of
// the list when it is not there. *text moves behind the word.
static unsigned parse_word(const char **text, const char *words)
{
    size_t length = 0;
    unsigned number = 0;
    while ((*text)[length] && (*text)[length] != ',')
        length++;
    const char *word = *text;
    *text += length;
    for (; *words; number++) {
        size_t same = 0;
        while (same < length && words[same] == word[same])
            same++;
        if (same == length && words[same] == ',')
            break;
        while (*words++ != ',')
            continue;
    }
    return number;
}

// One of the words. False, and 0: none of them.
static bool parse_choice(const char *text, const char *words, unsigned *choice)
{
    unsigned count = 0;
    for (const char *at = words; *at; at++)
        count += *at == ',';
    *choice = parse_word(&text, words);
    bool known = *choice < count && *text == 0;
    *choice = known ? *choice : 0;
    return known;
}

// Every second word stands for true.
static bool parse_switch(const char *text, const char *words, bool *value)
{
    unsigned choice;
    bool known = parse_choice(text, words, &choice);
    *value = choice & 1;
    return known;
}

// A list of names; others are passed over.
static bool parse_events(const char *text, uint32_t *events)
{
    bool known = true;
    *events = 0;
    while (*text) {
        unsigned event = parse_word(&text, "heap,cpu,faults,off-cpu,");
        known = known && event < 4;
        *events |= event < 4 ? 1u << event : 0;
        text += *text == ',';
    }
    return known;
}

// kernel, or kernel:N.
static bool parse_unwinder(const char *text, uint64_t *interval)
{
    *interval = hs_text__equal(text, "kernel");
    if (*interval || hs_text__equal(text, "own"))
        return true;
    if (hs_text__starts_with(text, "kernel:") && parse_number(text + 7, interval) && *interval &&
        *interval <= UINT32_MAX)
        return true;
    *interval = 0;
    return false;
}

static void set_text(char *to, const char *value)
{
    struct hs_text text;
    hs_text__start(&text, to, HS_CONFIG_TEXT);
    hs_text__add(&text, value);
}

// Returns whether the value is understood; an empty one counts as not given.
static bool set_option(const struct option *option, const char *value)
{
    void *field = (uint8_t *)&hs_config + option->value;
    uint64_t number;
    unsigned choice;
    bool known = true;
    switch (option->kind) {
    case OPTION_BOOLEAN:
        known = parse_switch(value, "0,1,false,true,", field);
        break;
    case OPTION_NUMBER:
        if ((known = parse_number(value, &number)))
            *(uint64_t *)field = number;
        break;
    case OPTION_TEXT:
        if ((known = hs_text__length(value) < HS_CONFIG_TEXT))
            set_text(field, value);
        break;
    case OPTION_LEVEL:
        known = parse_choice(value, "off,error,warn,info,debug,trace,", &choice);
        hs_config.says_obstacles = hs_config.says_obstacles && !known;
        *(enum hs_log_level *)field = choice > HS_LOG_DEBUG ? HS_LOG_DEBUG : (enum hs_log_level)choice;
        break;
    case OPTION_WRITER:
        known = parse_switch(value, "thread,inline,", field);
        break;
    case OPTION_CPU_CLOCK:
        known = parse_switch(value, "time,cycles,", field);
        break;
    case OPTION_MODE:
        known = parse_switch(value, "events,aggregate,", field);
        break;
    case OPTION_STACKS:
        known = parse_switch(value, "here,deferred,", field);
        break;
    case OPTION_POLICY:
        known = parse_choice(value, "drop,block,spill,", &choice);
        *(enum hs_stream_policy *)field = choice == 0   ? HS_POLICY_DROP
                                          : choice == 1 ? HS_POLICY_BLOCK
                                                        : HS_POLICY_SPILL;
        break;
    case OPTION_EVENTS:
        known = parse_events(value, field);
        break;
    case OPTION_UNWINDER:
        known = parse_unwinder(value, field);
        break;
    case OPTION_UID:
        if ((known = parse_number(value, &number)))
            *(int64_t *)field = (int64_t)number;
        break;
    }
    return known || !*value;
}

// Variables that have no meaning here, and those of tests. Each ends with a zero, the list with another.
static bool is_of_others(const char *entry)
{
#define COMMAND(name, ...) name "=\0"
#define NO_EFFECT(name)    name "=\0"
    static const char names[] = HS_OTHER_VARIABLES(COMMAND, NO_EFFECT) "TEST_\0";
#undef COMMAND
#undef NO_EFFECT
    const char *name = names;
    while (*name && !hs_text__starts_with(entry, name))
        name += hs_text__length(name) + 1;
    return *name != 0;
}

// Applies NAME=VALUE. Returns whether name and value are understood.
static bool apply_entry(const char *entry)
{
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        const char *name = (const char *)&option_names + options[i].name;
        size_t length = hs_text__length(name);
        if (hs_text__starts_with(entry, name) && entry[length] == '=')
            return set_option(&options[i], entry + length + 1);
    }
    return is_of_others(entry);
}

static void apply_prefix(const char *prefix, void (*misread)(const char *entry))
{
    struct environment environment;
    environment_open(&environment);
    for (const char *entry; (entry = environment_next(&environment));)
        if (hs_text__starts_with(entry, prefix) && !apply_entry(entry + hs_text__length(prefix)) && misread)
            misread(entry);
    environment_close(&environment);
}

// OUTPUT=fd:N is no file.
static void take_descriptor(void)
{
    uint64_t number;
    if (!hs_text__starts_with(hs_config.output, "fd:") || !parse_number(hs_config.output + 3, &number) ||
        number > INT32_MAX)
        return;
    hs_config.output_descriptor = (int64_t)number;
    hs_config.output[0] = 0;
}

static void keep_within(uint64_t *number, uint64_t least, uint64_t most)
{
    *number = *number < least ? least : *number > most ? most : *number;
}

// Options about single blocks have no effect in aggregate mode.
static void leave_to_aggregate(void)
{
    hs_config.cull = hs_config.free_stacks = hs_config.maps = false;
    keep_within(&hs_config.aggregate_interval, HS_LIMITS_OF_AGGREGATE_INTERVAL);
    keep_within(&hs_config.aggregate_stacks, HS_LIMITS_OF_AGGREGATE_STACKS);
}

static void set_defaults(void)
{
    set_text(hs_config.output, "memory-profiling_%e_%t_%p.dat");
    set_text(hs_config.spill_file, "heapsonde_%e_%p.spill");
    hs_config.policy = HS_POLICY_DROP;
    hs_config.base_server_port = 8100;
    hs_config.stream_buffer = 4 << 20;
    hs_config.spill_size = 64 << 20;
    hs_config.output_descriptor = -1;
    hs_config.memo = hs_config.as_walked = true;
    hs_config.maps = true;
    hs_config.sigusr1 = hs_config.sigusr2 = true;
    hs_config.cull_threshold_ms = 10000;
    hs_config.cull_pending = 1u << 20;
    hs_config.max_depth = 4096;
    hs_config.aggregate_interval = 10;
    hs_config.aggregate_stacks = 1024;
    hs_config.aggregate_memory = 64 << 20;
    hs_config.chown_to = -1;
    hs_config.events = HS_EVENTS_HEAP;
    hs_config.cpu_frequency = 99;
    hs_config.fault_stacks = 127;
    hs_config.switch_stacks = 1;
    hs_config.stack_copy = 16384;
}

void hs_config__read(void (*misread)(const char *entry))
{
    set_defaults();
    hs_config.unread = hs_rights__exceed_callers();
    if (hs_config.unread)
        return;
    hs_config.says_obstacles = misread != NULL;
    apply_prefix("MEMORY_PROFILER_", NULL);
    apply_prefix("HEAPSONDE_", NULL);
    if (misread) // again, now that it is known where messages go
        apply_prefix("HEAPSONDE_", misread);
    take_descriptor();
    if (hs_config.aggregate)
        leave_to_aggregate();
    keep_within(&hs_config.max_depth, HS_LIMITS_OF_MAX_DEPTH);
    if (hs_config.kernel_stacks) {
        hs_config.events |= HS_EVENTS_WITNESS;
        hs_config.memo = false; // what is known already is not asked for
    }
    hs_config.as_walked = hs_config.memo && !hs_config.python;
    keep_within(&hs_config.cpu_frequency, HS_LIMITS_OF_CPU_FREQUENCY);
    keep_within(&hs_config.fault_stacks, HS_LIMITS_OF_ONE_IN_N);
    keep_within(&hs_config.switch_stacks, HS_LIMITS_OF_ONE_IN_N);
    keep_within(&hs_config.stack_copy, HS_LIMITS_OF_STACK_COPY);
    hs_config.stack_copy &= ~(uint64_t)7;
}

static bool names_heapsonde(const char *entry, size_t length)
{
    size_t wanted = hs_text__length(LIBRARY_NAME);
    return length >= wanted && hs_text__starts_with(entry + length - wanted, LIBRARY_NAME);
}

// Closes up the list in place: `value` never grows.
static void remove_library(char *value)
{
    char *to = value;
    for (const char *from = value; *from;) {
        size_t length = 0;
        while (from[length] && from[length] != ':' && from[length] != ' ')
            length++;
        if (length && !names_heapsonde(from, length)) {
            if (to != value)
                *to++ = ':';
            for (size_t i = 0; i < length; i++)
                to[i] = from[i];
            to += length;
        }
        from += length;
        from += *from != 0;
    }
    *to = 0;
}

// An entry that goes is moved to the front, and the list begins behind it: behind its end lies what the kernel says to
// the program, and some look for that there. Code that counts from the arguments on finds an empty value.
void hs_config__hide_preload(void)
{
    if (!&environ || !environ)
        return;
    for (char **at = environ; *at; at++) {
        char *entry = *at;
        if (!hs_text__starts_with(entry, "LD_PRELOAD="))
            continue;
        remove_library(entry + sizeof "LD_PRELOAD=" - 1);
        if (entry[sizeof "LD_PRELOAD=" - 1])
            continue;
        for (char **to = at; to > environ; to--)
            *to = to[-1];
        *environ++ = entry;
    }
}

static const char *executable_name(char *buffer, size_t size)
{
    long length = hs_system_executable(buffer, size - 1);
    buffer[length > 0 ? length : 0] = 0;
    return length > 0 ? hs_text__base_name(buffer) : "unknown";
}

void hs_config__expand(const char *pattern, uint64_t counter, char *path, uint64_t size)
{
    char executable[512];
    struct hs_time now = {0};
    struct hs_text text;
    hs_text__start(&text, path, size);
    for (; *pattern; pattern++) {
        if (*pattern != '%' || !pattern[1]) {
            hs_text__add_character(&text, *pattern);
            continue;
        }
        switch (*++pattern) {
        case 'p':
            hs_text__add_number(&text, (uint64_t)hs_system_getpid());
            break;
        case 'e':
            hs_text__add(&text, executable_name(executable, sizeof executable));
            break;
        case 't':
            hs_system_clock(CLOCK_REALTIME, &now);
            hs_text__add_number(&text, (uint64_t)now.seconds);
            break;
        case 'n':
            hs_text__add_number(&text, counter);
            break;
        case '%':
            hs_text__add_character(&text, '%');
            break;
        default:
            hs_text__add_character(&text, '%');
            hs_text__add_character(&text, *pattern);
        }
    }
}
