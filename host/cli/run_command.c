// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/exit_status.h"
#include "host/cli/baseline.h"
#include "host/cli/board_session.h"
#include "host/cli/child.h"
#include "host/cli/commands.h"
#include "host/cli/find_trace.h"
#include "host/cli/jit_files.h"
#include "host/cli/jit_variables.h"
#include "host/cli/library.h"
#include "host/cli/program.h"
#include "host/cli/reach.h"
#include "host/cli/recording_options.h"
#include "host/cli/run_check.h"
#include "host/cli/run_follow.h"
#include "host/cli/run_on.h"
#include "host/cli/run_summary.h"
#include "host/cli/run_wrapper.h"
#include "host/cli/serving.h"
#include "host/cli/subject.h"
#include "host/cli/variables.h"
#include "host/cli/wrappers.h"
#include "host/gather/shared_key.h"
#include "host/inject/inject.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// ---- the environment -----------------------------------------------------------------------------------------------

static char *preloaded_before; // the previous LD_PRELOAD; NULL: it was not set

// LD_PRELOAD=... The caller frees it.
static char *preloading(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    char *entry = NULL;
    bool others = before && *before;
    return asprintf(&entry, "LD_PRELOAD=%s%s%s", library, others ? ":" : "", others ? before : "") < 0 ? NULL : entry;
}

// The command that preloads the library into the program but not into the wrapper. NULL: out of memory.
static char **wrapped_words(const struct hs_program *program, char *preload)
{
    size_t count = 0, at = 0;
    while (environ[count])
        count++;
    char **variables = calloc(count + 2, sizeof(*variables));
    if (!variables)
        return NULL;
    variables[at++] = preload;
    for (size_t i = 0; i < count; i++)
        if (hs_recording_options__is_variable(environ[i]))
            variables[at++] = environ[i];
    char **words =
        hs_wrappers__with_variables(program->words, program->wrapped, program->env, variables, program->arguments);
    free(variables);
    return words;
}

// By default the program does not wait for a host.
static void look_for_host(void)
{
    const char *address = getenv("HEAPSONDE_CONNECT"), *policy = getenv("HEAPSONDE_STREAM_POLICY");
    if (!address)
        address = getenv("MEMORY_PROFILER_CONNECT");
    int problem = address && *address && *address != '/' ? hs_reach(address) : 0;
    if (problem)
        fprintf(stderr, "heapsonde: %s cannot be reached (%s); %s\n", address, strerror(problem),
                policy && !strcmp(policy, "block")
                    ? "when the buffer is full, the program will wait for 'heapsonde gather' there"
                    : "the program is started, and sends what is in its buffer when 'heapsonde gather' runs there");
}

// ---- running -------------------------------------------------------------------------------------------------------

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

// QEMU itself is not recorded. Its arguments contain what it preloads; it passes the rest of the environment on.
static int start_emulated(struct hs_child *child, const struct hs_program *program)
{
    if (!program->wrapper)
        return hs_child__run(child, program->path, program->arguments, environ);
    char *none[] = {NULL};
    char **words =
        hs_wrappers__with_variables(program->words, program->wrapped, program->env, none, program->arguments);
    int result = words ? hs_child__run(child, program->wrapper, words, environ) : -ENOMEM;
    free(words);
    return result;
}

// ---- allocators within a program -----------------------------------------------------------------------------------

static struct hs_named_allocators named_allocators(const struct hs_arguments *arguments)
{
    return (struct hs_named_allocators){hs_arguments__text(arguments, "allocator-symbols", NULL),
                                        hs_arguments__text(arguments, "allocator-at", NULL)};
}

static bool are_named(const struct hs_named_allocators *named)
{
    return named->prefixes || named->places;
}

// Only in a program that is executed itself, on this machine. NULL: its allocators can be looked for.
static const char *why_not_adopted(const struct hs_program *program)
{
    return program->is_emulated                     ? "it is for another machine"
           : program->wrapper || program->is_loaded ? "another program starts it; name it directly"
           : program->recorded                      ? NULL
                                                    : "its file cannot be read";
}

static bool allocators_are_right(const struct hs_arguments *arguments)
{
    const struct hs_named_allocators named = named_allocators(arguments);
    struct hs_error error = {.message = ""};
    if (hs_named_allocators__check(&named, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return false;
    }
    if (are_named(&named) && (!hs_inject__is_supported() || hs_arguments__flag(arguments, "on"))) {
        hs_complain(arguments->command,
                    "--allocator-symbols and --allocator-at work on AMD64 and AArch64, without --on");
        return false;
    }
    return true;
}

static bool adopts(const struct hs_arguments *arguments, const struct hs_program *program)
{
    const struct hs_named_allocators named = named_allocators(arguments);
    return hs_inject__is_supported() && !why_not_adopted(program) &&
           (are_named(&named) || hs_inject__has_allocators(program->recorded));
}

// ---- programs without a dynamic linker -----------------------------------------------------------------------------

struct injected {
    struct hs_inject_request request;
    struct hs_error error;
    bool has_failed;
};

static void inject(void *context, pid_t pid)
{
    struct injected *injected = context;
    struct hs_inject_result result;
    bool executed;
    injected->request.pid = pid;
    int failed = hs_inject__start(&injected->request, &result, &executed, &injected->error);
    injected->has_failed = failed && failed != -ESRCH; // it has ended by itself, which its status says
}

static int start_static(const struct hs_arguments *arguments, struct hs_child *child, const struct hs_program *program,
                        const char *library)
{
    struct injected injected = {.request = {.library = library,
                                            .named = named_allocators(arguments),
                                            .begins_idle = hs_arguments__flag(arguments, "disabled")},
                                .error = {.message = ""}};
    for (char **entry = environ; *entry; entry++)
        if (hs_recording_options__is_variable(*entry) && injected.request.variable_count < HS_INJECT_VARIABLES)
            injected.request.variables[injected.request.variable_count++] = *entry;
    int result = hs_child__run_held(child, program->path, program->arguments, environ, inject, &injected);
    if (result || !injected.has_failed)
        return result;
    hs_complain(arguments->command, "heapsonde cannot record %s: it is statically linked, and %s", program->name,
                injected.error.message);
    return -ENOTSUP;
}

static void adopt(void *context, pid_t pid)
{
    struct injected *injected = context;
    struct hs_inject_result result;
    bool executed;
    injected->request.pid = pid;
    int failed = hs_inject__adopt(&injected->request, &result, &executed, &injected->error);
    injected->has_failed = failed && failed != -ESRCH; // as above
    if (!injected->has_failed && result.unpatched[0])
        hs_complain(NULL, "not recorded, because they cannot be patched: %s", result.unpatched);
}

static int start_adopting(const struct hs_arguments *arguments, struct hs_child *child,
                          const struct hs_program *program)
{
    struct injected injected = {.request = {.named = named_allocators(arguments)}, .error = {.message = ""}};
    int result = hs_child__run_held(child, program->path, program->arguments, environ, adopt, &injected);
    if (result || !injected.has_failed)
        return result;
    bool is_refused = are_named(&injected.request.named);
    hs_complain(arguments->command,
                is_refused ? "heapsonde cannot record %s: %s" : "%s has its own allocator, which is not recorded: %s",
                program->name, injected.error.message);
    return is_refused ? -ENOTSUP : 0;
}

static int start_with(const struct hs_arguments *arguments, struct hs_child *child, const char *path, char **words,
                      const char *library, const char *passes_to)
{
    return hs_run_follow__is_wanted(arguments) ? hs_run_follow__run(arguments, child, path, words, library, passes_to)
                                               : hs_child__run(child, path, words, environ);
}

static int start(const struct hs_arguments *arguments, struct hs_child *child, const struct hs_program *program,
                 const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    bool follows = hs_run_follow__is_wanted(arguments);
    if (program->is_emulated)
        return start_emulated(child, program);
    if (program->is_static && !follows)
        return start_static(arguments, child, program, library);
    char *preload = preloading(library);
    preloaded_before = before ? strdup(before) : NULL;
    char **words = preload && program->wrapper ? wrapped_words(program, preload) : NULL;
    int result = -ENOMEM;
    if (words)
        result = start_with(arguments, child, program->wrapper, words, library, preload);
    else if (preload && !program->wrapper && !putenv(preload))
        result = adopts(arguments, program) && !follows
                     ? start_adopting(arguments, child, program)
                     : start_with(arguments, child, program->path, program->arguments, library, NULL);
    free(words);
    if (program->wrapper)
        free(preload); // otherwise it is the environment's
    return result;
}

// Until it is interrupted. Standard output is the program's.
static void show_trace(const struct hs_arguments *arguments, const struct hs_recording *recording)
{
    const struct hs_symbols_options symbols = {0};
    struct hs_found_traces found;
    hs_find_traces(&found, recording->pattern, recording->pid, &recording->started, recording->follows_children);
    char *path = found.path ? found.path : found.largest;
    const struct hs_serving serving = {.command = arguments->command,
                                       .listen = "127.0.0.1:0",
                                       .token = getenv("HEAPSONDE_TOKEN"),
                                       .symbols = &symbols,
                                       .paths = (const char *const[]){path},
                                       .count = 1,
                                       .open = true,
                                       .out = stderr};
    // The browser is not to be recorded.
    if (preloaded_before)
        setenv("LD_PRELOAD", preloaded_before, 1);
    else
        unsetenv("LD_PRELOAD");
    if (path)
        hs_serving__run(&serving);
    else
        hs_complain(arguments->command, "no trace was written that could be opened");
    hs_found_traces__free(&found);
}

struct jit_taking {
    const struct timespec *run_began;
    struct hs_jit_taken taken;
};

static void take_jit_files(void *context, const char *trace)
{
    struct jit_taking *taking = context;
    hs_jit_files__take(trace, taking->run_began, &taking->taken);
}

// Names of code that was made at run time go into the traces.
static void take_names(const struct hs_arguments *arguments, const struct hs_recording *recording)
{
    struct jit_taking taking = {.run_began = &recording->started};
    bool wanted = hs_arguments__flag(arguments, "jit");
    hs_each_ended_trace(recording->pattern, &recording->started, take_jit_files, &taking);
    hs_jit_taken__say(&taking.taken, arguments->command, wanted);
}

static int after_the_end(const struct hs_arguments *arguments, const struct hs_recording *recording)
{
    if (!recording->is_elsewhere)
        take_names(arguments, recording);
    if (!hs_arguments__flag(arguments, "quiet") && !hs_arguments__flag(arguments, "wrapper"))
        hs_recording__summarize(recording);
    int checked = hs_run_check(arguments, recording);
    if (hs_arguments__flag(arguments, "open"))
        show_trace(arguments, recording);
    return recording->status ? hs_exit_status__of(recording->status) : checked;
}

static int run_program(const struct hs_arguments *arguments, const struct hs_program *program, const char *library,
                       const char *pattern)
{
    struct hs_child child;
    struct timespec began;
    struct timespec ended;
    struct hs_recording recording = {.program = program->name, .path = program->recorded, .pattern = pattern};
    recording.disabled = hs_arguments__flag(arguments, "disabled");
    recording.follows_children = hs_arguments__flag(arguments, "follow-children");
    clock_gettime(CLOCK_REALTIME, &recording.started);
    clock_gettime(CLOCK_MONOTONIC, &began);
    int result = start(arguments, &child, program, library);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    if (result == -ENOTSUP)
        return HS_EXIT_CANNOT_RUN;
    if (result) {
        hs_complain(arguments->command, "%s could not be started: %s; try again later", program->name,
                    strerror(-result));
        return HS_EXIT_CANNOT_RUN;
    }
    if (child.exec_problem) {
        hs_complain(arguments->command, "%s cannot be run: %s; check that its loader or interpreter is installed",
                    program->name, strerror(child.exec_problem));
        return child.exec_problem == ENOENT ? HS_EXIT_NOT_FOUND : HS_EXIT_CANNOT_RUN;
    }
    recording.pid = child.pid;
    recording.status = child.status;
    recording.seconds = seconds_between(&began, &ended);
    recording.sysroot = program->emulator.sysroot;
    return after_the_end(arguments, &recording);
}

// A process that begins when another one has ended would take the file away from it.
static bool names_each_process(const struct hs_arguments *arguments, const char *pattern)
{
    if (!hs_arguments__flag(arguments, "follow-children") || strstr(pattern, "%p") || strstr(pattern, "%n"))
        return true;
    hs_complain(arguments->command, "--follow-children writes a file for each process: put %%p into --output %s",
                pattern);
    return false;
}

// If a program cannot be recorded, the run ends, except with --wrapper.
static int cannot_record(const struct hs_arguments *arguments, const struct hs_program *program, int status,
                         const char *reason)
{
    hs_complain(arguments->command, "%s", reason);
    if (status == HS_EXIT_CANNOT_RUN && hs_arguments__flag(arguments, "wrapper"))
        return hs_run_wrapper__run_unrecorded(arguments, program);
    return status;
}

static int prepare_and_run(const struct hs_arguments *arguments, const char *library, const struct hs_error *no_library)
{
    const struct hs_named_allocators named = named_allocators(arguments);
    struct hs_program program;
    struct hs_error error = {.message = ""};
    size_t count;
    const char **sysroots = hs_arguments__texts(arguments, "sysroot", &count);
    if (!sysroots)
        return HS_EXIT_FAILURE;
    int status = hs_program__prepare(&program, arguments->operands, library, sysroots,
                                     hs_run_follow__is_wanted(arguments), &error);
    char *pattern = status ? NULL : hs_recording_options__absolute_pattern(hs_recording_options__output(arguments));
    if (status) {
        status = cannot_record(arguments, &program, status, error.message);
    } else if (no_library->message[0] && !program.is_emulated) {
        status = HS_EXIT_FAILURE;
        hs_complain(arguments->command, "%s", no_library->message);
    } else if (!pattern || hs_recording_options__check_output(arguments->command, pattern)) {
        status = HS_EXIT_FAILURE;
    } else if (are_named(&named) && why_not_adopted(&program)) {
        hs_error__set(&error, ENOTSUP, "heapsonde cannot record the allocators that you name in %s: %s", program.name,
                      why_not_adopted(&program));
        status = cannot_record(arguments, &program, HS_EXIT_CANNOT_RUN, error.message);
    } else if (program.is_emulated && hs_run_follow__is_wanted(arguments)) {
        hs_error__set(&error, ENOTSUP,
                      "--follow-children=trace is not possible: %s is for another machine; use "
                      "--follow-children",
                      program.name);
        status = cannot_record(arguments, &program, HS_EXIT_CANNOT_RUN, error.message);
    } else {
        setenv("HEAPSONDE_OUTPUT", pattern, 1);
        look_for_host();
        status = run_program(arguments, &program, library, pattern);
    }
    hs_program__free(&program);
    free(pattern);
    free((void *)(uintptr_t)sysroots);
    return status;
}

// For the file of --junit; the message on standard error says more.
static const char *why_it_failed(int status)
{
    return status == HS_EXIT_NO_CONNECTION ? "the connection could not be made, or was cut"
           : status == HS_EXIT_NOT_FOUND   ? "the program was not found"
           : status == HS_EXIT_CANNOT_RUN  ? "the program cannot be recorded"
                                           : "the program was not run";
}

static int run_on_board(const struct hs_arguments *arguments)
{
    char *pattern = hs_recording_options__absolute_pattern(hs_recording_options__output(arguments));
    struct hs_recording recording = {.program = arguments->operands[0],
                                     .sysroot = hs_arguments__text(arguments, "sysroot", NULL),
                                     .pattern = pattern,
                                     .is_elsewhere = true,
                                     .follows_children = hs_arguments__flag(arguments, "follow-children"),
                                     .disabled = hs_arguments__flag(arguments, "disabled")};
    int status = HS_EXIT_FAILURE;
    if (pattern && !hs_recording_options__check_output(arguments->command, pattern)) {
        status = hs_run_on(arguments, &recording);
        if (status)
            hs_run_check__failed(arguments, &recording, why_it_failed(status));
        else
            status = after_the_end(arguments, &recording);
    }
    // What is checked of a part says nothing about the whole.
    if (!status && recording.is_cut)
        status = HS_EXIT_FAILURE;
    free(pattern);
    return status;
}

// On another machine they are set there.
static bool prepare_jit(const struct hs_arguments *arguments)
{
    return !hs_arguments__flag(arguments, "jit") || hs_arguments__flag(arguments, "on") || !hs_jit_variables__set();
}

static int run(const struct hs_arguments *arguments)
{
    char library[PATH_MAX] = "";
    if (hs_run_wrapper__has_more(arguments))
        return hs_run_wrapper__with_more(arguments, run);
    if (!names_each_process(arguments, hs_recording_options__output(arguments)) ||
        !hs_recording_options__are_right(arguments) || !allocators_are_right(arguments) ||
        !hs_run_follow__is_possible(arguments) || !prepare_jit(arguments))
        return HS_EXIT_USAGE;
    hs_recording_options__set(arguments);
    char problem[1024];
    if (hs_variables__problem(environ, problem, sizeof(problem))) {
        hs_complain(arguments->command, "%s", problem);
        return HS_EXIT_USAGE;
    }
    if (!hs_recording_options__key_is_good(arguments) || !hs_recording_options__included_are_there(arguments))
        return HS_EXIT_FAILURE;
    int wrong = hs_run_check__read(arguments);
    if (wrong)
        return wrong;
    if (hs_arguments__flag(arguments, "on"))
        return run_on_board(arguments);
    struct hs_error no_library = {.message = ""};
    if (hs_library__find(library, sizeof(library), &no_library))
        *library = 0;
    return prepare_and_run(arguments, library, &no_library);
}

static const struct hs_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .variable = "OUTPUT",
     .help = "the trace to write; %p is the process id, %e the program's name, %t the time in seconds, %n a counter, "
             "%% a percent sign; default " HS_DEFAULT_OUTPUT},
    {.name = "quiet", .letter = 'q', .help = "print no summary at the end"},
    {.name = "on",
     .kind = HS_OPTION_TEXT,
     .argument = "MACHINE",
     .help = "run the program on another machine: ssh://USER@HOST:PORT, adb:SERIAL, docker:NAME, podman:NAME, or "
             "'exec:COMMAND {}', where {} is replaced by a script for sh; see docs/boards.md"},
    {.name = "board-folder",
     .only_with = "on",
     .kind = HS_OPTION_TEXT,
     .argument = "DIR",
     .help =
         "with --on, the folder on that machine for the recording library while the program runs; default the first "
         "usable one of $TMPDIR, /tmp and others"},
    HS_FETCH_BINARIES_OPTION,
    {.name = "sysroot",
     .kind = HS_OPTION_DIRECTORY,
     .argument = "DIR",
     .help = "for a program of another architecture, which QEMU's user mode runs: a copy of the root folder of its "
             "machine",
     .repeatable = true},
    {.name = "debug-dir",
     .kind = HS_OPTION_DIRECTORY,
     .argument = "DIR",
     .help = "with conditions, search debug information here, as in report",
     .repeatable = true},
    HS_FAIL_IF_OPTIONS,
    HS_BASELINE_OPTIONS,
    {.name = "wrapper",
     .help =
         "for use before the commands of tests (CMAKE_CROSSCOMPILING_EMULATOR, Meson's exe_wrapper): read more options "
         "from HEAPSONDE_RUN_OPTIONS, print no summary, and run programs that cannot be recorded without recording"},
    {.name = "open",
     .help = "open the trace in the browser at the end, as 'heapsonde server --open' does, until interrupted"},
    {.name = "events",
     .kind = HS_OPTION_TEXT,
     .argument = "LIST",
     .variable = "EVENTS",
     .help = "heap,cpu,faults,off-cpu: also sample CPU time, page faults and waiting threads"},
    {.name = "stacks",
     .kind = HS_OPTION_TEXT,
     .argument = "WHERE",
     .variable = "STACKS",
     .help = "deferred: the trace contains registers and stacks of samples, including any secrets on them, and the "
             "host unwinds them with its files; default here"},
    {.name = "follow-children",
     .kind = HS_OPTION_CHOICE,
     .argument = "trace",
     .choices = "trace",
     .optional = true,
     .variable = "TRACK_CHILD_PROCESSES",
     .flag_value = "1",
     .help =
         "also record the programs that the program starts, each into a file of its own (use %p). With =trace, they "
         "are followed by ptrace: then programs that are linked statically, clear LD_PRELOAD or (as root) are set-uid "
         "are recorded, too; debuggers do not work below it"},
    {.name = "jit",
     .help =
         "make Node, Java, Python 3.12, .NET, Mono, Julia and Erlang write the names of the code that they make at run "
         "time (it costs some speed), for the trace; files /tmp/perf-PID.map that exist at the end are always put into "
         "it"},
    {.name = "disabled",
     .variable = "DISABLE_BY_DEFAULT",
     .flag_value = "1",
     .help = "record nothing until the program receives SIGUSR1 or SIGUSR2, which switch recording on and off"},
    {.name = "no-sigusr1", .variable = "REGISTER_SIGUSR1", .flag_value = "0", .help = "leave SIGUSR1 to the program"},
    {.name = "no-sigusr2", .variable = "REGISTER_SIGUSR2", .flag_value = "0", .help = "leave SIGUSR2 to the program"},
    {.name = "zero-memory", .variable = "ZERO_MEMORY", .flag_value = "1", .help = "give the program zeroed memory"},
    HS_ALLOCATOR_OPTIONS,
    HS_RECORDING_OPTIONS,
    {0},
};

const struct hs_command hs_command_run = {
    .name = "run",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .summary = "run a program and record its allocations",
    .description =
        "Runs the program with its standard streams unchanged, records every allocation into a trace, and "
        "prints a summary at the end. If PROGRAM is env, nice, timeout, setsid, chrt, nohup, ionice, "
        "taskset, time, setpriv, prlimit, unshare, choom or linux64, or a dynamic loader, the program that "
        "it starts is recorded. QEMU's user mode runs a program for another machine. The exit status is the program's; "
        "if that is 0 and a condition of --fail-if holds, it is 3. SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1 and "
        "SIGUSR2 are passed on to the program.",
    .operand = HS_OPERAND_PROGRAM,
    .least_operands = 1,
    .most_operands = -1,
    .options = options,
    .run = run,
};
