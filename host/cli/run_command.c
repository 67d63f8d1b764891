// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/baseline.h"
#include "host/cli/child.h"
#include "host/cli/commands.h"
#include "host/cli/find_trace.h"
#include "host/cli/library.h"
#include "host/cli/program.h"
#include "host/cli/reach.h"
#include "host/cli/run_check.h"
#include "host/cli/run_on.h"
#include "host/cli/run_summary.h"
#include "host/cli/run_wrapper.h"
#include "host/cli/serving.h"
#include "host/cli/subject.h"
#include "host/cli/variables.h"
#include "host/cli/wrappers.h"
#include "host/gather/shared_key.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_OUTPUT "memory-profiling_%e_%t_%p.dat"

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

static bool is_ours(const char *entry)
{
    return !strncmp(entry, "HEAPSONDE_", 10) || !strncmp(entry, "MEMORY_PROFILER_", 16);
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
        if (is_ours(environ[i]))
            variables[at++] = environ[i];
    char **words =
        hs_wrappers__with_variables(program->words, program->wrapped, program->env, variables, program->arguments);
    free(variables);
    return words;
}

// Sets the environment variables of the given options.
static void set_variables(const struct hs_arguments *arguments)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct hs_given *given = &arguments->given[i];
        char name[128];
        char number[24];
        if (!given->option->variable)
            continue;
        const char *value = given->text;
        if (given->option->kind == HS_OPTION_FLAG)
            value = given->option->flag_value;
        else if (given->option->kind == HS_OPTION_NUMBER || given->option->kind == HS_OPTION_SIZE) {
            snprintf(number, sizeof(number), "%llu", (unsigned long long)given->number);
            value = number;
        }
        snprintf(name, sizeof(name), "HEAPSONDE_%s", given->option->variable);
        setenv(name, value, 1);
    }
    // The threshold has no effect without the switch.
    if (hs_arguments__flag(arguments, "cull"))
        setenv("HEAPSONDE_CULL_TEMPORARY_ALLOCATIONS", "1", 1);
    if (hs_arguments__flag(arguments, "aggregate"))
        setenv("HEAPSONDE_MODE", "aggregate", 1);
}

// A mistyped value would otherwise be ignored silently.
static bool options_are_right(const struct hs_arguments *arguments)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct hs_given *given = &arguments->given[i];
        const char *name = given->option->variable;
        const struct hs_variable *variable = name ? hs_variable__find(name, strlen(name)) : NULL;
        char problem[256];
        if (!variable || given->option->kind != HS_OPTION_TEXT ||
            !hs_variable__problem(variable, given->text, problem, sizeof(problem)))
            continue;
        hs_complain(arguments->command, "--%s %s", given->option->name, problem);
        return false;
    }
    return true;
}

// With a wrong key the library would send nothing, and the message would be only in its log.
static bool key_is_good(const struct hs_arguments *arguments)
{
    struct hs_shared_key key;
    struct hs_error error = {.message = ""};
    const char *path = getenv("HEAPSONDE_KEY_FILE");
    if (!path)
        path = getenv("MEMORY_PROFILER_KEY_FILE");
    bool good = !path || !*path || !hs_shared_key__read(&key, path, &error);
    if (!good)
        hs_complain(arguments->command, "%s", error.message);
    explicit_bzero(&key, sizeof(key));
    return good;
}

// By default the program does not wait for a host.
static void look_for_host(void)
{
    const char *address = getenv("HEAPSONDE_CONNECT"), *policy = getenv("HEAPSONDE_STREAM_POLICY");
    if (!address)
        address = getenv("MEMORY_PROFILER_CONNECT");
    int problem = address && *address ? hs_reach(address) : 0;
    if (problem)
        fprintf(stderr, "heapsonde: %s cannot be reached (%s); %s\n", address, strerror(problem),
                policy && !strcmp(policy, "block")
                    ? "when the buffer is full, the program will wait for 'heapsonde gather' there"
                    : "the program is started, and sends what is in its buffer when 'heapsonde gather' runs there");
}

static const char *wanted_output(const struct hs_arguments *arguments)
{
    const char *given = hs_arguments__text(arguments, "output", NULL);
    if (!given)
        given = getenv("HEAPSONDE_OUTPUT");
    if (!given)
        given = getenv("MEMORY_PROFILER_OUTPUT");
    return given && *given ? given : DEFAULT_OUTPUT;
}

// The program may change its folder before the recorder opens the file: the pattern must not depend on it.
static char *absolute_pattern(const char *pattern)
{
    char *folder = pattern[0] == '/' ? NULL : getcwd(NULL, 0);
    char *escaped = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&escaped, &size);
    for (const char *at = folder; stream && at && *at; at++) {
        putc(*at, stream);
        if (*at == '%')
            putc('%', stream);
    }
    if (stream) {
        fprintf(stream, "%s%s", folder ? "/" : "", pattern);
        fclose(stream);
    }
    free(folder);
    return escaped;
}

static int check_output(const struct hs_command *command, const char *pattern)
{
    struct stat status;
    char folder[PATH_MAX];
    if (!stat(pattern, &status) && S_ISDIR(status.st_mode)) {
        hs_complain(command, "--output %s is a folder; name a file in it", pattern);
        return -EISDIR;
    }
    // The recorder's buffers are mapped pages of the file.
    if (!stat(pattern, &status) && !S_ISREG(status.st_mode)) {
        hs_complain(command,
                    "--output %s is not a regular file; name one, or send the trace with --connect or --listen",
                    pattern);
        return -EINVAL;
    }
    snprintf(folder, sizeof(folder), "%s", pattern);
    char *slash = strrchr(folder, '/');
    if (!slash || memchr(folder, '%', (size_t)(slash - folder)))
        return 0;
    slash[slash == folder] = 0;
    if (!access(folder, W_OK | X_OK))
        return 0;
    int problem = errno;
    hs_complain(command,
                "the trace cannot be written to the folder %s: %s; create it or choose another place with "
                "--output",
                folder, strerror(problem));
    return -problem;
}

// ---- running -------------------------------------------------------------------------------------------------------

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

static int exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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

static int start(struct hs_child *child, const struct hs_program *program, const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    if (program->is_emulated)
        return start_emulated(child, program);
    char *preload = preloading(library);
    preloaded_before = before ? strdup(before) : NULL;
    char **words = preload && program->wrapper ? wrapped_words(program, preload) : NULL;
    int result = -ENOMEM;
    if (words)
        result = hs_child__run(child, program->wrapper, words, environ);
    else if (preload && !program->wrapper && !putenv(preload))
        result = hs_child__run(child, program->path, program->arguments, environ);
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
                                       .paths = &path,
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

static int after_the_end(const struct hs_arguments *arguments, const struct hs_recording *recording)
{
    if (!hs_arguments__flag(arguments, "quiet") && !hs_arguments__flag(arguments, "wrapper"))
        hs_recording__summarize(recording);
    int checked = hs_run_check(arguments, recording, exit_status(recording->status));
    if (hs_arguments__flag(arguments, "open"))
        show_trace(arguments, recording);
    return recording->status ? exit_status(recording->status) : checked;
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
    int result = start(&child, program, library);
    clock_gettime(CLOCK_MONOTONIC, &ended);
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
    struct hs_program program;
    struct hs_error error = {.message = ""};
    size_t count;
    const char **sysroots = hs_arguments__texts(arguments, "sysroot", &count);
    if (!sysroots)
        return HS_EXIT_FAILURE;
    int status = hs_program__prepare(&program, arguments->operands, library, sysroots, &error);
    char *pattern = status ? NULL : absolute_pattern(wanted_output(arguments));
    if (status) {
        status = cannot_record(arguments, &program, status, error.message);
    } else if (no_library->message[0] && !program.is_emulated) {
        status = HS_EXIT_FAILURE;
        hs_complain(arguments->command, "%s", no_library->message);
    } else if (!pattern || check_output(arguments->command, pattern)) {
        status = HS_EXIT_FAILURE;
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
    char *pattern = absolute_pattern(wanted_output(arguments));
    struct hs_recording recording = {.program = arguments->operands[0],
                                     .sysroot = hs_arguments__text(arguments, "sysroot", NULL),
                                     .pattern = pattern,
                                     .disabled = hs_arguments__flag(arguments, "disabled")};
    int status = HS_EXIT_FAILURE;
    if (pattern && !check_output(arguments->command, pattern)) {
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

static int run(const struct hs_arguments *arguments)
{
    char library[PATH_MAX] = "";
    if (hs_run_wrapper__has_more(arguments))
        return hs_run_wrapper__with_more(arguments, run);
    if (!names_each_process(arguments, wanted_output(arguments)) || !options_are_right(arguments))
        return HS_EXIT_USAGE;
    set_variables(arguments);
    if (!hs_variables__check(arguments->command, environ))
        return HS_EXIT_USAGE;
    if (!key_is_good(arguments))
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
             "%% a percent sign; default " DEFAULT_OUTPUT},
    {.name = "quiet", .letter = 'q', .help = "print no summary at the end"},
    {.name = "on",
     .kind = HS_OPTION_TEXT,
     .argument = "MACHINE",
     .help = "run the program on another machine: ssh://USER@HOST:PORT, adb:SERIAL, docker:NAME, podman:NAME, or "
             "'exec:COMMAND {}', where {} is replaced by a script for sh; see docs/boards.md"},
    {.name = "board-folder",
     .kind = HS_OPTION_TEXT,
     .argument = "DIR",
     .help =
         "with --on, the folder on that machine for the recording library while the program runs; default the first "
         "usable one of $TMPDIR, /tmp and others"},
    {.name = "fetch-binaries",
     .kind = HS_OPTION_FILE,
     .argument = "DIR",
     .help =
         "with --on, copy the program and its libraries from there into this folder at the end, for report --sysroot"},
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
    {.name = "free-stacks",
     .variable = "GRAB_BACKTRACES_ON_FREE",
     .flag_value = "1",
     .help = "also record where blocks are freed"},
    {.name = "cull",
     .kind = HS_OPTION_NUMBER,
     .argument = "MS",
     .variable = "TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD",
     .help = "keep only sums of blocks that live shorter than this many milliseconds, for long runs; a killed process "
             "loses the sums of its last ten seconds"},
    {.name = "cull-pending",
     .kind = HS_OPTION_NUMBER,
     .argument = "N",
     .variable = "TEMPORARY_ALLOCATION_PENDING_THRESHOLD",
     .help = "with --cull, hold back at most this many allocations"},
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
    {.name = "aggregate",
     .kind = HS_OPTION_NUMBER,
     .argument = "SECONDS",
     .variable = "AGGREGATE_INTERVAL",
     .help = "record sums per stack in place of events, and write the changes at this interval: a few kilobytes per "
             "minute, for weeks"},
    {.name = "aggregate-stacks",
     .kind = HS_OPTION_NUMBER,
     .argument = "N",
     .variable = "AGGREGATE_STACKS",
     .help = "with --aggregate and more than N stacks, stacks below 1/N of the live bytes, allocated bytes or "
             "allocations are folded together; default 1024"},
    {.name = "follow-children",
     .variable = "TRACK_CHILD_PROCESSES",
     .flag_value = "1",
     .help = "also record programs that it starts, each into its own file (use %p)"},
    {.name = "disabled",
     .variable = "DISABLE_BY_DEFAULT",
     .flag_value = "1",
     .help = "record nothing until the program receives SIGUSR1 or SIGUSR2, which switch recording on and off"},
    {.name = "no-sigusr1", .variable = "REGISTER_SIGUSR1", .flag_value = "0", .help = "leave SIGUSR1 to the program"},
    {.name = "no-sigusr2", .variable = "REGISTER_SIGUSR2", .flag_value = "0", .help = "leave SIGUSR2 to the program"},
    {.name = "no-maps",
     .variable = "GATHER_MAPS",
     .flag_value = "0",
     .help = "do not record mmap, munmap, mremap and brk"},
    {.name = "embed-binaries",
     .variable = "WRITE_BINARIES_TO_OUTPUT",
     .flag_value = "1",
     .help = "put the program and its libraries into the trace, so that it can be read on another machine"},
    {.name = "include-file",
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .variable = "INCLUDE_FILE",
     .help = "put this file, or all files that match a pattern, into the trace"},
    {.name = "inline-writer",
     .variable = "WRITER",
     .flag_value = "inline",
     .help = "no writer thread in the program; each thread writes its own full buffers"},
    {.name = "max-depth",
     .kind = HS_OPTION_NUMBER,
     .argument = "N",
     .variable = "MAX_DEPTH",
     .help = "keep at most this many frames of a stack, the innermost"},
    {.name = "zero-memory", .variable = "ZERO_MEMORY", .flag_value = "1", .help = "give the program zeroed memory"},
    {.name = "no-memo",
     .variable = "USE_SHADOW_STACK",
     .flag_value = "0",
     .help = "walk every stack completely, to find faults in the recorder"},
    {.name = "connect",
     .kind = HS_OPTION_TEXT,
     .argument = "ADDRESS:PORT",
     .variable = "CONNECT",
     .help = "also send the trace to this host while the program runs ('heapsonde gather --listen')"},
    {.name = "listen",
     .variable = "ENABLE_SERVER",
     .flag_value = "1",
     .help = "let hosts connect and receive the trace while the program runs"},
    {.name = "port",
     .kind = HS_OPTION_NUMBER,
     .argument = "N",
     .variable = "BASE_SERVER_PORT",
     .help = "with --listen, the first port to try; default 8100"},
    {.name = "announce",
     .variable = "ENABLE_BROADCAST",
     .flag_value = "1",
     .help = "with --listen, announce this in the network every second"},
    {.name = "key-file",
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .variable = "KEY_FILE",
     .help = "the key that the host has, too; needed for hosts beyond loopback"},
    {.name = "insecure",
     .variable = "INSECURE",
     .flag_value = "1",
     .help =
         "allow more than loopback without a key: anyone who can reach the network can read and command everything"},
    {.name = "device",
     .kind = HS_OPTION_TEXT,
     .argument = "NAME",
     .variable = "DEVICE",
     .help = "the name of this machine"},
    {.name = "labels",
     .kind = HS_OPTION_TEXT,
     .argument = "KEY=VALUE,...",
     .variable = "LABELS",
     .help = "labels by which hosts can select this device"},
    {.name = "stream-policy",
     .kind = HS_OPTION_CHOICE,
     .argument = "WHAT",
     .variable = "STREAM_POLICY",
     .choices = "drop block spill",
     .help = "if the host is slower than the program: drop events and count them, block the program, or spill them "
             "into a file"},
    {.name = "stream-buffer",
     .kind = HS_OPTION_NUMBER,
     .argument = "BYTES",
     .variable = "STREAM_BUFFER",
     .help = "size of the send buffer; default 4 MiB"},
    {.name = "spill-file",
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .variable = "SPILL_FILE",
     .help = "the spill file"},
    {.name = "spill-size",
     .kind = HS_OPTION_NUMBER,
     .argument = "BYTES",
     .variable = "SPILL_SIZE",
     .help = "size of the spill file"},
    {.name = "chown",
     .kind = HS_OPTION_NUMBER,
     .argument = "UID",
     .variable = "CHOWN_OUTPUT_TO",
     .help = "give the trace to this user"},
    {.name = "log",
     .kind = HS_OPTION_CHOICE,
     .argument = "LEVEL",
     .variable = "LOG",
     .choices = "off error warn info debug",
     .help = "messages of the recorder"},
    {.name = "log-file",
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .variable = "LOGFILE",
     .help = "file for these messages; default standard error"},
    {0},
};

const struct hs_command hs_command_run = {
    .name = "run",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .summary = "run a program and record its allocations",
    .description =
        "Runs the program with its standard streams unchanged, records every allocation into a trace, and "
        "prints a summary at the end. If PROGRAM is env, nice, timeout, setsid, chrt, nohup, ionice, "
        "taskset or time, or a dynamic loader, the program that it starts is recorded. QEMU's user mode runs a "
        "program for another machine. The exit status is the program's; if that is 0 and a condition of "
        "--fail-if holds, it is 3. SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to it.",
    .operand = HS_OPERAND_PROGRAM,
    .least_operands = 1,
    .most_operands = -1,
    .options = options,
    .run = run,
};
