// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/run_on.h"

#include "host/board/board.h"
#include "host/board/interrupt.h"
#include "host/cli/board_names.h"
#include "host/cli/board_session.h"
#include "host/cli/board_traces.h"
#include "host/cli/fetch.h"
#include "host/cli/jit_variables.h"
#include "host/cli/program.h"
#include "host/cli/wrappers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MOST_HEAD = 64, NOTICE_MS = 3000 };

struct run_on_run {
    const struct hs_arguments *arguments;
    struct hs_recording *recording;
    struct hs_board board;
    struct hs_session program, trace;
    char head[MOST_HEAD]; // the line before the traces
    size_t head_length;
    struct hs_board_traces traces;
    int signals;
    bool is_at_terminal;
    bool is_cut;     // the connection was cut
    bool is_garbled; // because something came that is no trace
    bool is_silent;  // the session does not end by itself, because nothing answers
    bool is_over;    // the user does not wait for the rest of the trace
};

// ---- what the program gets -----------------------------------------------------------------------------------------

// By default the program waits for the connection, so that the trace is complete.
static char **variables_of_board(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **variables = calloc(count + 3, sizeof(*variables));
    for (size_t i = 0; variables && i < count; i++)
        if (hs_board_session__takes(environ[i]))
            variables[kept++] = environ[i];
    if (!variables)
        return NULL;
    variables[kept++] = "HEAPSONDE_OUTPUT=";
    if (!getenv("HEAPSONDE_STREAM_POLICY") && !getenv("MEMORY_PROFILER_STREAM_POLICY"))
        variables[kept++] = "HEAPSONDE_STREAM_POLICY=block";
    return variables;
}

// ---- the trace -----------------------------------------------------------------------------------------------------

// Before the traces there is a line with the process number. Returns how many bytes belong to it.
static size_t take_head(struct run_on_run *run, const char *bytes, size_t size)
{
    size_t used = 0;
    while (used < size && run->head_length + 1 < MOST_HEAD && !run->recording->pid) {
        run->head[run->head_length] = bytes[used++];
        if (run->head[run->head_length++] == '\n')
            run->recording->pid = atoi(run->head);
    }
    return used;
}

static void take_trace(struct run_on_run *run)
{
    char bytes[65536];
    ssize_t size = read(run->trace.output, bytes, sizeof(bytes));
    if (size < 0 && errno == EINTR)
        return;
    if (size <= 0) {
        hs_session__close_output(&run->trace);
        return;
    }
    size_t used = take_head(run, bytes, (size_t)size);
    if (!hs_board_traces__take(&run->traces, bytes + used, (size_t)size - used))
        run->is_cut = run->is_silent = run->is_garbled = true;
}

// ---- while it runs -------------------------------------------------------------------------------------------------

// Whether it has ended, of a session that does nothing long where the connection is good.
static bool ends_soon(struct hs_session *session)
{
    sigset_t ending;
    const struct timespec timeout = {.tv_sec = hs_board_timeout()};
    sigemptyset(&ending);
    sigaddset(&ending, SIGCHLD);
    while (!hs_session__has_ended(session))
        if (sigtimedwait(&ending, NULL, &timeout) < 0 && errno == EAGAIN)
            return hs_session__has_ended(session);
    return true;
}

// If the program has a terminal, typed signals already reach it there.
static void pass_on(struct run_on_run *run, int signal, bool is_typed)
{
    struct hs_session session;
    if (run->program.pid <= 0)
        run->is_over = true;
    if (run->is_over || (is_typed && run->is_at_terminal) ||
        hs_board__start(&run->board, &session, hs_board_script__signal(run->board.folder, signal), HS_SESSION_OTHER,
                        HS_SESSION_NOTHING, HS_SESSION_NOTHING, -1))
        return;
    if (!ends_soon(&session)) {
        hs_board_session__end(&session);
        run->is_cut = run->is_silent = true;
    } else if (hs_session__wait(&session) == HS_BOARD_HAS_ENDED) {
        run->is_over = true;
    }
}

static void take_signal(struct run_on_run *run)
{
    struct signalfd_siginfo info;
    if (read(run->signals, &info, sizeof(info)) != sizeof(info))
        return;
    if (info.ssi_signo == SIGCHLD)
        hs_session__has_ended(&run->program);
    else
        pass_on(run, (int)info.ssi_signo, info.ssi_code == SI_KERNEL);
}

static void say_that_it_waits(const struct run_on_run *run)
{
    hs_complain(NULL,
                "%s has ended; waiting for the rest of its trace, or for processes that it started and that still "
                "have the pipe open; press Ctrl-C to stop waiting",
                run->arguments->operands[0]);
}

static void watch(struct run_on_run *run)
{
    bool said = false;
    while (!run->is_cut && !run->is_over && (run->program.pid > 0 || run->trace.output >= 0)) {
        struct pollfd files[] = {{.fd = run->signals, .events = POLLIN},
                                 {.fd = run->trace.output, .events = POLLIN},
                                 {.fd = fileno(run->board.words), .events = POLLIN}};
        hs_session__has_ended(&run->program);
        int count = poll(files, 3, run->program.pid > 0 || said ? -1 : NOTICE_MS);
        if (count == 0) {
            said = true;
            say_that_it_waits(run);
        }
        if (count > 0 && files[0].revents)
            take_signal(run);
        if (count > 0 && files[1].revents)
            take_trace(run);
        // The keeper prints nothing before it is closed: this is the end of the connection.
        if (count > 0 && files[2].revents)
            run->is_cut = true;
    }
}

// Waits for what the receiver says. The program starts when it has said "ready": a signal that comes later is the
// program's, also if "ready" was not read yet. One that comes earlier ends the waiting.
static void wait_for_receiver(void *context)
{
    struct run_on_run *run = context;
    hs_board_session__wait_for(&run->trace);
}

// Both begin at the same time: on the board, the program's waits for the other one.
static int start_sessions(struct run_on_run *run, char *script, struct hs_error *error)
{
    struct hs_board *board = &run->board;
    int result = hs_board__start_receiver(board, &run->trace, error);
    if (result) {
        free(script);
        return result;
    }
    clock_gettime(CLOCK_REALTIME, &run->recording->started);
    hs_board_session__signals_end_waiting(false);
    result = hs_board__start(board, &run->program, script, run->is_at_terminal ? HS_SESSION_TERMINAL : HS_SESSION_OTHER,
                             STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
    if (result)
        return hs_error__set(error, -result, "%s could not be started on %s: %s; try again",
                             run->arguments->operands[0], board->address.text, strerror(-result));
    return hs_board__await_receiver(board, &run->trace, wait_for_receiver, run, error);
}

static double seconds_since(const struct timespec *from)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

// The operands, with the interpreter that is started in place of env.
static char **words_there(const struct run_on_run *run, size_t program)
{
    char **operands = run->arguments->operands;
    size_t count = (size_t)run->arguments->operand_count, at = program;
    char **words = calloc(count + 2, sizeof(*words));
    if (!words)
        return NULL;
    memcpy(words, operands, program * sizeof(*words));
    if (*run->board.instead) {
        words[at++] = (char *)(uintptr_t)run->board.instead;
        words[at++] = (char *)(uintptr_t)run->board.program;
    } else {
        words[at++] = operands[program];
    }
    memcpy(words + at, operands + program + 1, (count - program - 1) * sizeof(*words));
    return words;
}

static int run_sessions(struct run_on_run *run, struct hs_error *error)
{
    struct timespec began;
    size_t program = hs_wrappers__look(run->arguments->operands).program;
    char **variables = variables_of_board(), **words = words_there(run, program);
    char *more =
        hs_arguments__flag(run->arguments, "jit") ? hs_jit_variables__for_shell(run->board.abi->name) : strdup("");
    char *script =
        variables && words && more ? hs_board_script__run(run->board.folder, variables, more, words, program) : NULL;
    free(more);
    free(variables);
    free(words);
    if (!script)
        return hs_error__set(error, ENOMEM, "out of memory");
    clock_gettime(CLOCK_MONOTONIC, &began);
    int result = start_sessions(run, script, error);
    if (!result)
        watch(run);
    run->recording->seconds = seconds_since(&began);
    hs_board_session__signals_end_waiting(true);
    return result;
}

// ---- the whole -----------------------------------------------------------------------------------------------------

// Converts a status of a shell to one of waitpid: 128 and more is a signal.
static int as_of_waitpid(int status)
{
    return status > 128 && status <= 128 + SIGRTMAX ? status - 128 : W_EXITCODE(status & 0xff, 0);
}

static int say_interrupted(const struct run_on_run *run)
{
    hs_complain(run->arguments->command, "interrupted before %s was started", run->arguments->operands[0]);
    return 128 + hs_interrupt__came();
}

static int connect_and_check(struct run_on_run *run, const char *name)
{
    const struct hs_arguments *arguments = run->arguments;
    struct hs_error error = {.message = ""};
    const char *folder = hs_arguments__text(arguments, "board-folder", NULL);
    int status = 0;
    if (hs_board__open(&run->board, hs_arguments__text(arguments, "on", ""), name, folder, &error))
        status = HS_EXIT_NO_CONNECTION;
    else
        status = hs_board__check_program(&run->board, name, &error);
    if (status && hs_interrupt__came())
        return say_interrupted(run);
    if (status)
        hs_complain(arguments->command, "%s", error.message);
    else if (*run->board.folder && !run->board.streams)
        hs_complain(arguments->command,
                    "no pipe can be created on %s; until the program ends, its trace is kept there in %s, up to the "
                    "size that --spill-size gives, or 64 MiB",
                    run->board.address.text, run->board.folder);
    return status;
}

static int say_how_it_ended(const struct run_on_run *run, const struct hs_error *error, int status)
{
    const struct hs_command *command = run->arguments->command;
    const char *where = hs_arguments__text(run->arguments, "on", "");
    if (error->message[0] && hs_interrupt__came())
        return say_interrupted(run);
    if (error->message[0]) {
        hs_complain(command, "%s", error->message);
        return HS_EXIT_CANNOT_RUN;
    }
    run->recording->is_cut = run->traces.problem != 0;
    if (run->traces.problem)
        hs_complain(command,
                    "the trace cannot be written on this machine: %s; it contains only what was received before",
                    strerror(run->traces.problem));
    if (status >= 0 && !run->is_garbled)
        return 0;
    if (run->is_garbled) {
        hs_complain(command,
                    "the data from %s is not a trace; something there writes into the connection, or the connection "
                    "loses bytes",
                    where);
        return HS_EXIT_NO_CONNECTION;
    }
    hs_complain(
        command,
        "the connection to %s was cut; the program there gets SIGHUP, and the files that heapsonde created there "
        "are removed; the trace contains what was recorded until then",
        where);
    return HS_EXIT_NO_CONNECTION;
}

static void fetch_binaries(struct run_on_run *run)
{
    const struct hs_arguments *arguments = run->arguments;
    const char *folder = hs_arguments__text(arguments, "fetch-binaries", NULL);
    int fetched = 0;
    for (size_t i = 0; folder && i < run->traces.count; i++) {
        int count = hs_fetch_binaries(arguments->command, &run->board, hs_board_traces__path(&run->traces, i), folder);
        fetched += count > 0 ? count : 0;
    }
    if (fetched && !run->recording->sysroot)
        run->recording->sysroot = folder;
}

// Names of code that was made at run time go into the traces.
static void take_names(struct run_on_run *run)
{
    struct hs_jit_taken taken = {0};
    hs_board_names__fetch(&run->board, &run->traces, &taken);
    hs_jit_taken__say(&taken, run->arguments->command, hs_arguments__flag(run->arguments, "jit"));
}

// A session whose connection ended has a status that its script never has.
static bool was_receiver_cut(struct run_on_run *run)
{
    return !run->is_over && hs_session__wait(&run->trace) >= 128;
}

static int run_there(struct run_on_run *run)
{
    const struct hs_arguments *arguments = run->arguments;
    char **words = arguments->operands;
    const char *name = words[hs_wrappers__look(words).program];
    int status = connect_and_check(run, name);
    if (status) {
        hs_board__close(&run->board, NULL);
        return status;
    }
    struct hs_error error = {.message = ""};
    int result = run_sessions(run, &error);
    if (run->is_cut || run->is_over || result)
        hs_board_session__end(&run->trace);
    if (run->is_silent || result)
        hs_board_session__end(&run->program);
    int ended_with = hs_session__wait(&run->program);
    hs_board_traces__close(&run->traces);
    if (!result && !run->is_cut && !was_receiver_cut(run)) {
        take_names(run);
        fetch_binaries(run);
    }
    hs_board__close(&run->board, &status);
    hs_board_session__end(&run->trace);
    status = status == -1 && !run->is_cut ? ended_with : status;
    run->recording->status = as_of_waitpid(status);
    return say_how_it_ended(run, &error, status);
}

int hs_run_on(const struct hs_arguments *arguments, struct hs_recording *recording)
{
    struct run_on_run run = {.arguments = arguments,
                             .recording = recording,
                             .traces = {.command = arguments->command, .recording = recording}};
    sigset_t set = hs_board_session__signals(), before;
    run.is_at_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    sigprocmask(SIG_BLOCK, &set, &before);
    signal(SIGPIPE, SIG_IGN);
    run.signals = signalfd(-1, &set, SFD_CLOEXEC);
    hs_interrupt__catch(true);
    hs_board_session__signals_end_waiting(true);
    int status = run.signals < 0 ? HS_EXIT_FAILURE : run_there(&run);
    hs_interrupt__catch(false);
    if (run.signals >= 0)
        close(run.signals);
    hs_board_traces__free(&run.traces);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
