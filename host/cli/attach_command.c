// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/attach_names.h"
#include "host/cli/attach_on.h"
#include "host/cli/attach_sample.h"
#include "host/cli/board_session.h"
#include "host/cli/commands.h"
#include "host/cli/find_trace.h"
#include "host/cli/library.h"
#include "host/cli/recording_options.h"
#include "host/inject/inject.h"
#include "host/inject/said.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

// 0: not a process.
static pid_t process_number(const struct hs_arguments *arguments)
{
    char *end;
    errno = 0;
    long number = strtol(arguments->operands[0], &end, 10);
    if (!errno && !*end && number > 0 && number <= INT_MAX)
        return (pid_t)number;
    hs_complain(arguments->command, "'%s' is not the number of a process; 'pidof NAME' prints it",
                arguments->operands[0]);
    return 0;
}

// ---- attach --------------------------------------------------------------------------------------------------------

// The program's signals and its own environment are left alone.
static bool collect_variables(struct hs_inject_request *request)
{
    setenv("HEAPSONDE_REGISTER_SIGUSR1", "0", 1);
    setenv("HEAPSONDE_REGISTER_SIGUSR2", "0", 1);
    for (char **entry = environ; *entry; entry++) {
        bool is_for_sampler = request->samples && !strncmp(*entry, "MALLOC_CONF=", 12);
        if (!is_for_sampler && !hs_recording_options__is_variable(*entry))
            continue;
        if (request->variable_count == HS_INJECT_VARIABLES)
            return false;
        request->variables[request->variable_count++] = *entry;
    }
    return true;
}

// The caller frees the result; NULL: it is not in sight.
static char *find_trace(const char *pattern, pid_t pid, const struct timespec *since)
{
    struct hs_found_traces found;
    hs_find_traces(&found, pattern, pid, since, false);
    char *path = found.path && !found.is_anothers ? strdup(found.path) : NULL;
    hs_found_traces__free(&found);
    return path;
}

static void say_attached(const struct hs_inject_request *request, const struct hs_inject_result *result,
                         const char *trace, const char *pattern)
{
    hs_said__attached(request, result);
    if (request->samples)
        hs_attach_sample__say(request);
    else
        fprintf(stderr, "heapsonde: the trace is %s; it does not contain blocks that are older\n",
                trace ? trace : pattern);
    hs_said__allocators(request, result);
}

#define LOOK_NS 500000000u // where the kernel does not tell the end of a process (before 5.3, and some filters)

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void do_nothing(int signal)
{
    (void)signal;
}

// Until the time `end`, or until the process has ended or a signal has come. `process`: its descriptor; -1: none.
static void poll_until(uint64_t end, int process, pid_t pid, const sigset_t *signals)
{
    struct pollfd ended = {.fd = process, .events = POLLIN};
    int count = 0;
    for (uint64_t now = now_ns(); !count && now < end && (process >= 0 || !hs_inject__has_ended(pid)); now = now_ns()) {
        const uint64_t left = process < 0 && end - now > LOOK_NS ? LOOK_NS : end - now;
        const struct timespec time = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        count = ppoll(&ended, 1, &time, signals);
    }
}

// Until the time is over, the process has ended, or a signal asks to end.
static void wait_for_end(int process, pid_t pid, uint64_t ns)
{
    const uint64_t now = now_ns();
    struct sigaction action = {.sa_handler = do_nothing};
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, &before);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    poll_until(ns < UINT64_MAX - now ? now + ns : UINT64_MAX, process, pid, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static int end_recording(const struct hs_arguments *arguments, pid_t pid, bool quiet, struct hs_attach_names *names)
{
    struct hs_inject_result result;
    struct hs_error error = {.message = ""};
    int failed = hs_inject__detach(pid, &result, &error);
    hs_attach_names__take(names, arguments->command);
    if (failed && hs_inject__has_ended(pid)) {
        if (!quiet)
            hs_said__ended(pid);
        return HS_EXIT_OK;
    }
    if (failed) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    if (!quiet)
        hs_said__detached(pid, &result);
    return HS_EXIT_OK;
}

static int record(const struct hs_arguments *arguments, struct hs_inject_request *request, const char *pattern)
{
    bool quiet = hs_arguments__flag(arguments, "quiet");
    uint64_t duration = hs_arguments__number(arguments, "for", 0);
    struct hs_inject_result result;
    struct hs_error error = {.message = ""};
    struct timespec since;
    clock_gettime(CLOCK_REALTIME, &since);
    // Before the process can have ended: its number may then be another one's.
    int process = duration ? (int)syscall(SYS_pidfd_open, request->pid, 0) : -1;
    if (hs_inject__attach(request, &result, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    struct hs_attach_names names;
    if (duration)
        hs_attach_names__look(&names, request->pid);
    char *trace = request->samples ? NULL : find_trace(pattern, request->pid, &since);
    if (!quiet)
        say_attached(request, &result, trace, pattern);
    int status = HS_EXIT_OK;
    if (duration) {
        wait_for_end(process, request->pid, duration);
        if (process >= 0)
            close(process);
        status = end_recording(arguments, request->pid, quiet, &names);
    } else if (!quiet) {
        fprintf(stderr, "heapsonde: 'heapsonde detach %d' ends the %s\n", (int)request->pid,
                request->samples ? "sampling" : "recording");
    }
    if (!quiet && trace)
        fprintf(stderr, "heapsonde: next: heapsonde report %s\n", trace);
    free(trace);
    return status;
}

static int start(const struct hs_arguments *arguments, struct hs_inject_request *request, const char *pattern)
{
    char *place = request->samples ? hs_attach_sample__place(request->pid) : NULL;
    int status = HS_EXIT_FAILURE;
    if (place)
        request->variables[request->variable_count++] = place;
    if (collect_variables(request))
        status = record(arguments, request, pattern);
    else
        hs_complain(arguments->command, "too many HEAPSONDE_ variables are set");
    free(place);
    return status;
}

static int record_all(const struct hs_arguments *arguments, struct hs_inject_request *request)
{
    char *pattern = hs_recording_options__absolute_pattern(hs_recording_options__output(arguments));
    int status = HS_EXIT_FAILURE;
    if (pattern && !hs_recording_options__check_output_of(arguments->command, pattern, request->pid)) {
        setenv("HEAPSONDE_OUTPUT", pattern, 1);
        status = start(arguments, request, pattern);
    }
    free(pattern);
    return status;
}

static int sample(const struct hs_arguments *arguments, struct hs_inject_request *request)
{
    const char *given = hs_arguments__text(arguments, "output", NULL);
    char *pattern = given ? hs_recording_options__absolute_pattern(given) : NULL;
    int status = HS_EXIT_FAILURE;
    unsetenv("HEAPSONDE_OUTPUT");
    if (!(pattern && hs_recording_options__check_output_of(arguments->command, pattern, request->pid)) &&
        hs_attach_sample__set_options(arguments, pattern))
        status = start(arguments, request, NULL);
    free(pattern);
    return status;
}

static int attach_on_board(const struct hs_arguments *arguments, pid_t pid)
{
    char *pattern = hs_recording_options__absolute_pattern(hs_recording_options__output(arguments));
    int status = HS_EXIT_FAILURE;
    if (pattern && !hs_recording_options__check_output(arguments->command, pattern))
        status = hs_attach_on(arguments, pid, pattern);
    free(pattern);
    return status;
}

static bool time_is_right(const struct hs_arguments *arguments)
{
    const struct hs_given *given = hs_arguments__given(arguments, "for");
    if (!given || given->number)
        return true;
    hs_complain(arguments->command, "--for cannot use '%s'; give a time above 0, such as 2s, 300ms or 1.5min",
                given->text);
    return false;
}

static int run_attach(const struct hs_arguments *arguments)
{
    char library[PATH_MAX];
    struct hs_error error = {.message = ""};
    struct hs_inject_request request = {.pid = process_number(arguments),
                                        .library = library,
                                        .samples = hs_arguments__given(arguments, "sample") != NULL,
                                        .force = hs_arguments__flag(arguments, "force"),
                                        .named = {hs_arguments__text(arguments, "allocator-symbols", NULL),
                                                  hs_arguments__text(arguments, "allocator-at", NULL)}};
    if (hs_named_allocators__check(&request.named, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_USAGE;
    }
    if (!request.pid || !time_is_right(arguments) || !hs_recording_options__are_right(arguments) ||
        (request.samples && !hs_attach_sample__options_are_right(arguments)))
        return HS_EXIT_USAGE;
    if (hs_arguments__flag(arguments, "on")) {
        hs_recording_options__set(arguments);
        return hs_recording_options__key_is_good(arguments) ? attach_on_board(arguments, request.pid) : HS_EXIT_FAILURE;
    }
    if (request.samples ? hs_library__find_sampler(library, sizeof library, &error)
                        : hs_library__find(library, sizeof library, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    hs_recording_options__set(arguments);
    if (!hs_recording_options__key_is_good(arguments))
        return HS_EXIT_FAILURE;
    return request.samples ? sample(arguments, &request) : record_all(arguments, &request);
}

#define HS_BOARD_OPTIONS                                                                                               \
    {.name = "on",                                                                                                     \
     .kind = HS_OPTION_TEXT,                                                                                           \
     .argument = "MACHINE",                                                                                            \
     .help = "PID is a process of another machine: ssh://USER@HOST:PORT, adb:SERIAL, docker:NAME, podman:NAME, or "    \
             "'exec:COMMAND {}', where {} is replaced by a script for sh; see docs/boards.md"},                        \
    {                                                                                                                  \
        .name = "board-folder", .only_with = "on", .kind = HS_OPTION_TEXT, .argument = "DIR",                          \
        .help = "with --on, the folder on that machine for what is sent there; default the first usable one of "       \
                "$TMPDIR, /tmp and others that the process sees, too"                                                  \
    }

static const struct hs_option attach_options[] = {
    {.name = "sample",
     .kind = HS_OPTION_SIZE,
     .argument = "RATE",
     .optional = true,
     .help = "do not record, but sample: one sample in RATE bytes on average, 512K by default; 1 takes every "
             "allocation. 'heapsonde ctl PID dump' writes a dump; MALLOC_CONF has further options, such as "
             "prof_final:true for a dump "
             "at the end"},
    {.name = "output",
     .letter = 'o',
     .kind = HS_OPTION_FILE,
     .argument = "PATTERN",
     .variable = "OUTPUT",
     .help =
         "the file for the trace, which the process itself creates: %p process, %e program, %t time, %n counter, %% "
         "a percent sign; default " HS_DEFAULT_OUTPUT
         " in the folder of this command. With --sample, the files for dumps "
         "(experimental_hs_name); default jeprof.* there"},
    {.name = "for",
     .kind = HS_OPTION_DURATION,
     .argument = "TIME",
     .help =
         "end the recording after this time, or when this command is interrupted; without it the recording continues "
         "until 'heapsonde detach' or the end of the process. With --on, the command waits in any case"},
    HS_BOARD_OPTIONS,
    HS_FETCH_BINARIES_OPTION,
    {.name = "force",
     .help =
         "attach although the process has a filter of system calls (seccomp) that cannot be read; if the filter ends "
         "processes for one of the recorder's calls, it ends this one"},
    {.name = "quiet", .letter = 'q', .help = "print nothing but errors"},
    HS_ALLOCATOR_OPTIONS,
    HS_RECORDING_OPTIONS,
    {0},
};

const struct hs_command hs_command_attach = {
    .name = "attach",
    .synopsis = "[OPTIONS] PID",
    .summary = "record a running process from now on",
    .description =
        "Puts the recording library into a running process and records every allocation from then on. With --sample, "
        "it "
        "puts the sampling library there, which is cheap enough for production. The process is stopped for about a "
        "millisecond. It is not restarted, and needs to see no file except the folder of the trace. Blocks that are "
        "older are not in the trace, but their frees are counted. If this command is killed, the process continues. "
        "'heapsonde doctor PID' says whether attaching is allowed.",
    .operand = HS_OPERAND_PROCESS,
    .least_operands = 1,
    .most_operands = 1,
    .options = attach_options,
    .run = run_attach,
};

// ---- detach --------------------------------------------------------------------------------------------------------

static int run_detach(const struct hs_arguments *arguments)
{
    struct hs_attach_names names;
    pid_t pid = process_number(arguments);
    if (!pid)
        return HS_EXIT_USAGE;
    if (hs_arguments__flag(arguments, "on"))
        return hs_detach_on(arguments, pid);
    hs_attach_names__look(&names, pid);
    return end_recording(arguments, pid, hs_arguments__flag(arguments, "quiet"), &names);
}

static const struct hs_option detach_options[] = {
    HS_BOARD_OPTIONS,
    {.name = "quiet", .letter = 'q', .help = "print nothing but errors"},
    {0},
};

const struct hs_command hs_command_detach = {
    .name = "detach",
    .synopsis = "[OPTIONS] PID",
    .summary = "end the recording or sampling of a process that 'heapsonde attach' began",
    .description = "Restores the program's instructions byte for byte, completes the trace and ends the library's "
                   "threads. The process continues, and 'heapsonde attach' may record or sample it again.",
    .operand = HS_OPERAND_PROCESS,
    .least_operands = 1,
    .most_operands = 1,
    .options = detach_options,
    .run = run_detach,
};
