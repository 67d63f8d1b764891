// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/attach_on.h"

#include "host/base/text_stream.h"
#include "host/board/interrupt.h"
#include "host/cli/board_names.h"
#include "host/cli/board_session.h"
#include "host/cli/board_traces.h"
#include "host/cli/fetch.h"
#include "host/cli/run_on.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

extern char **environ;

enum { NOTICE_MS = 3000, MOST_WORDS = 16 };

struct attach_on {
    const struct hs_arguments *arguments;
    pid_t pid;
    bool samples;
    struct hs_recording recording; // for the names of the traces
    struct hs_board board;
    struct hs_session attach, trace;
    struct hs_board_traces traces;
    struct hs_board_names names; // what heapsonde-attach says
    int signals;
    bool is_interrupted; // by the user, once
    bool is_cut;         // the connection was cut
    bool is_garbled;     // because something came that is no trace
    bool is_over;        // the user does not wait for the rest
};

// ---- what heapsonde-attach gets ------------------------------------------------------------------------------------

struct attach_words {
    char pid[16], time[32], detach[1024];
    char *words[MOST_WORDS];
    size_t count;
};

static void add_word(struct attach_words *words, const char *word)
{
    words->words[words->count++] = (char *)(uintptr_t)word;
}

static void add_option(struct attach_words *words, const struct hs_arguments *arguments, const char *name,
                       const char *option)
{
    const char *value = hs_arguments__text(arguments, name, NULL);
    if (!value)
        return;
    add_word(words, option);
    add_word(words, value);
}

static void add_words(struct attach_words *words, const struct attach_on *on)
{
    const uint64_t ns = hs_arguments__number(on->arguments, "for", 0);
    *words = (struct attach_words){.count = 0};
    if (on->samples)
        add_word(words, "--sample");
    if (hs_arguments__flag(on->arguments, "force"))
        add_word(words, "--force");
    if (hs_arguments__flag(on->arguments, "quiet"))
        add_word(words, "-q");
    add_option(words, on->arguments, "allocator-symbols", "--allocator-symbols");
    add_option(words, on->arguments, "allocator-at", "--allocator-at");
    if (ns) {
        snprintf(words->time, sizeof(words->time), "%lluns", (unsigned long long)ns);
        add_word(words, "--for");
        add_word(words, words->time);
    }
    snprintf(words->detach, sizeof(words->detach), "heapsonde detach --on \"%s\"",
             hs_arguments__text(on->arguments, "on", ""));
    add_word(words, "--detach-by");
    add_word(words, words->detach);
    snprintf(words->pid, sizeof(words->pid), "%d", (int)on->pid);
    add_word(words, words->pid);
}

// The dumps are sent, the last one at the end. The caller frees the result.
static char *sampling_options(const struct attach_on *on)
{
    struct hs_text_stream text;
    const char *given = getenv("MALLOC_CONF");
    const uint64_t rate = hs_arguments__number(on->arguments, "sample", 0);
    FILE *out = hs_text_stream__open(&text);
    if (!out)
        return NULL;
    fputs("MALLOC_CONF=prof_final:true", out);
    if (given && *given)
        fprintf(out, ",%s", given);
    if (rate)
        fprintf(out, ",experimental_hs_sample:%llu", (unsigned long long)rate);
    return hs_text_stream__close(&text);
}

// Unlike for a program that is started for its recording, the process is not to wait for the connection.
static char **variables(char *sampling)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **all = calloc(count + 2, sizeof(*all));
    for (size_t i = 0; all && i < count; i++)
        if (hs_board_session__takes(environ[i]))
            all[kept++] = environ[i];
    if (all && sampling)
        all[kept++] = sampling;
    return all;
}

static char *script_of(const struct attach_on *on)
{
    struct attach_words words;
    add_words(&words, on);
    char *sampling = on->samples ? sampling_options(on) : NULL;
    char **given = on->samples && !sampling ? NULL : variables(sampling);
    char *script = given ? hs_board_script__attach(on->board.folder, given, words.words) : NULL;
    free(given);
    free(sampling);
    return script;
}

// ---- what comes ----------------------------------------------------------------------------------------------------

// The number of bytes; 0 at the end, after which the session has no output.
static size_t receive(struct hs_session *session, char *bytes, size_t size)
{
    ssize_t got = read(session->output, bytes, size);
    if (got < 0 && errno == EINTR)
        return 0;
    if (got <= 0)
        hs_session__close_output(session);
    return got > 0 ? (size_t)got : 0;
}

static void take_trace(struct attach_on *on)
{
    char bytes[65536];
    size_t got = receive(&on->trace, bytes, sizeof(bytes));
    if (!hs_board_traces__take(&on->traces, bytes, got))
        on->is_cut = on->is_garbled = true;
}

static void take_words(struct attach_on *on)
{
    char bytes[65536];
    size_t got = receive(&on->attach, bytes, sizeof(bytes));
    hs_board_names__take(&on->names, bytes, got);
}

// ---- while it is recorded ------------------------------------------------------------------------------------------

// The first one ends the recording; a second one ends the waiting for what still comes.
static void take_signal(struct attach_on *on)
{
    struct signalfd_siginfo info;
    if (read(on->signals, &info, sizeof(info)) != sizeof(info) || info.ssi_signo == SIGCHLD)
        return;
    if (info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2)
        return;
    on->is_over = on->is_interrupted || on->attach.input < 0;
    on->is_interrupted = true;
    if (!on->is_over && write(on->attach.input, "\n", 1) != 1)
        hs_session__close_input(&on->attach);
}

// The recorder has opened the pipe when something has come through it. A file comes only at the end.
static void release(struct attach_on *on)
{
    const bool has_begun = on->traces.count || on->traces.problem || !on->names.is_attached || !on->board.streams;
    if (on->names.is_done && has_begun && on->attach.input >= 0)
        hs_session__close_input(&on->attach);
}

static void say_that_it_waits(const struct attach_on *on)
{
    hs_complain(on->arguments->command,
                "process %d is not recorded any more; waiting for the rest of its trace, or for children of it that "
                "are recorded; press Ctrl-C to stop waiting",
                (int)on->pid);
}

static bool has_more(struct attach_on *on)
{
    return !hs_session__has_ended(&on->attach) || on->attach.output >= 0 || on->trace.output >= 0;
}

static void watch(struct attach_on *on)
{
    bool said = false;
    while (!on->is_cut && !on->is_over && has_more(on)) {
        struct pollfd files[] = {{.fd = on->signals, .events = POLLIN},
                                 {.fd = on->trace.output, .events = POLLIN},
                                 {.fd = on->attach.output, .events = POLLIN},
                                 {.fd = fileno(on->board.words), .events = POLLIN}};
        const bool is_detached = on->names.is_done || on->attach.pid <= 0;
        int count = poll(files, 4, is_detached && !said ? NOTICE_MS : -1);
        if (count == 0) {
            said = true;
            say_that_it_waits(on);
        }
        if (count > 0 && files[0].revents)
            take_signal(on);
        if (count > 0 && files[1].revents)
            take_trace(on);
        if (count > 0 && files[2].revents)
            take_words(on);
        release(on);
        // The keeper prints nothing before it is closed: this is the end of the connection.
        if (count > 0 && files[3].revents)
            on->is_cut = true;
    }
}

static void wait_for_receiver(void *context)
{
    struct attach_on *on = context;
    hs_board_session__wait_for(&on->trace);
}

// Both begin at the same time: on the board, heapsonde-attach waits for the other one.
static int start_sessions(struct attach_on *on, struct hs_error *error)
{
    struct hs_board *board = &on->board;
    char *script = script_of(on);
    if (!script)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_board__start_receiver(board, &on->trace, error);
    if (result) {
        free(script);
        return result;
    }
    clock_gettime(CLOCK_REALTIME, &on->recording.started);
    hs_board_session__signals_end_waiting(false);
    result =
        hs_board__start(board, &on->attach, script, HS_SESSION_OTHER, HS_SESSION_PIPE, HS_SESSION_PIPE, STDERR_FILENO);
    if (result)
        return hs_error__set(error, -result, "heapsonde-attach could not be started on %s: %s; try again",
                             board->address.text, strerror(-result));
    return hs_board__await_receiver(board, &on->trace, wait_for_receiver, on, error);
}

// ---- the end -------------------------------------------------------------------------------------------------------

static void take_names(struct attach_on *on)
{
    struct hs_jit_taken taken = {0};
    hs_board_names__add(&on->names, &on->traces, &taken);
    hs_jit_taken__say(&taken, on->arguments->command, taken.refused);
}

static void fetch_binaries(struct attach_on *on)
{
    const char *folder = hs_arguments__text(on->arguments, "fetch-binaries", NULL);
    for (size_t i = 0; folder && i < on->traces.count; i++)
        hs_fetch_binaries(on->arguments->command, &on->board, hs_board_traces__path(&on->traces, i), folder);
}

static void say_traces(const struct attach_on *on)
{
    const char *path = on->traces.count ? hs_board_traces__path(&on->traces, 0) : NULL;
    if (!path || hs_arguments__flag(on->arguments, "quiet"))
        return;
    fprintf(stderr, "heapsonde: the %s %s; %s not contain blocks that are older\n",
            on->samples ? "dumps are in" : "trace is", path, on->samples ? "they do" : "it does");
    if (on->traces.count > 1)
        fprintf(stderr, "heapsonde: %zu more by processes that it forked\n", on->traces.count - 1);
    fprintf(stderr, "heapsonde: next: heapsonde %s %s\n", on->samples ? "extract" : "report", path);
}

static int say_cut(const struct attach_on *on)
{
    const char *where = hs_arguments__text(on->arguments, "on", "");
    if (on->is_garbled)
        hs_complain(on->arguments->command,
                    "the data from %s is not a trace; something there writes into the connection, or the connection "
                    "loses bytes",
                    where);
    else
        hs_complain(on->arguments->command,
                    "the connection to %s was cut; process %d goes on, and as soon as the machine notices it, the "
                    "recording there ends and the files that heapsonde created are removed; if heapsonde-attach was "
                    "killed there, 'heapsonde detach --on \"%s\" %d' ends the recording; the trace contains what was "
                    "recorded until then",
                    where, (int)on->pid, where, (int)on->pid);
    return HS_EXIT_NO_CONNECTION;
}

// What heapsonde-attach refuses it has said itself.
static int status_of(const struct attach_on *on, int ended_with)
{
    const char *where = hs_arguments__text(on->arguments, "on", "");
    if (on->is_cut)
        return say_cut(on);
    if (on->traces.problem) {
        hs_complain(on->arguments->command,
                    "the trace cannot be written on this machine: %s; it contains only what was received before",
                    strerror(on->traces.problem));
        return HS_EXIT_FAILURE;
    }
    if (ended_with > HS_EXIT_USAGE) {
        hs_complain(on->arguments->command,
                    "heapsonde-attach ended with exit status %d on %s; 'heapsonde detach --on \"%s\" %d' ends the "
                    "recording if it goes on",
                    ended_with, where, where, (int)on->pid);
        return HS_EXIT_FAILURE;
    }
    return ended_with;
}

static int say_error(const struct attach_on *on, const struct hs_error *error, int status)
{
    if (hs_interrupt__came()) {
        hs_complain(on->arguments->command, "interrupted before process %d was attached to", (int)on->pid);
        return 128 + hs_interrupt__came();
    }
    hs_complain(on->arguments->command, "%s", error->message);
    return status;
}

static int finish(struct attach_on *on, const struct hs_error *error, int result)
{
    if (on->is_cut || on->is_over || result)
        hs_board_session__end(&on->trace);
    if (on->is_cut || result)
        hs_board_session__end(&on->attach);
    hs_session__close_input(&on->attach);
    int ended_with = hs_session__wait(&on->attach);
    hs_session__close_output(&on->attach);
    hs_board_traces__close(&on->traces);
    take_names(on);
    if (!result && !on->is_cut && !ended_with)
        fetch_binaries(on);
    // A session may end before the first one says that the connection is cut.
    int found = 0;
    hs_board__close(&on->board, &found);
    on->is_cut |= found == -2;
    hs_board_session__end(&on->trace);
    int status = result ? say_error(on, error, HS_EXIT_FAILURE) : status_of(on, ended_with);
    say_traces(on);
    return status;
}

// ---- the whole -----------------------------------------------------------------------------------------------------

static int connect(struct attach_on *on)
{
    const struct hs_arguments *arguments = on->arguments;
    const char *folder = hs_arguments__text(arguments, "board-folder", NULL);
    struct hs_error error = {.message = ""};
    int result = hs_board__open_process(&on->board, hs_arguments__text(arguments, "on", ""), on->pid, folder, &error);
    int status = result ? HS_EXIT_NO_CONNECTION : HS_EXIT_FAILURE;
    if (!result)
        result = hs_board__check_process(&on->board, on->pid, on->samples ? HS_SHIM_PROF : HS_SHIM_TRACE, &error);
    if (!result)
        result = hs_board__send_attach(&on->board, &error);
    if (!result)
        return 0;
    status = say_error(on, &error, status);
    hs_board__close(&on->board, NULL);
    return status;
}

static int attach(struct attach_on *on)
{
    struct hs_error error = {.message = ""};
    int status = connect(on);
    if (status)
        return status;
    if (!on->board.streams)
        hs_complain(on->arguments->command,
                    "no pipe can be created on %s; until the recording ends, the trace is kept there in %s, up to the "
                    "size that --spill-size gives, or 64 MiB",
                    on->board.address.text, on->board.folder);
    int result = start_sessions(on, &error);
    if (!result)
        watch(on);
    hs_board_session__signals_end_waiting(true);
    return finish(on, &error, result);
}

static int detach(struct attach_on *on)
{
    struct hs_session session;
    struct attach_words words = {.count = 0};
    struct hs_error error = {.message = ""};
    int status = connect(on);
    if (status)
        return status;
    add_words(&words, on);
    int result = hs_board__start(&on->board, &session, hs_board_script__detach(on->board.folder, words.words),
                                 HS_SESSION_OTHER, HS_SESSION_NOTHING, HS_SESSION_NOTHING, STDERR_FILENO);
    if (result) {
        hs_error__set(&error, -result, "heapsonde-attach could not be started on %s: %s; try again",
                      on->board.address.text, strerror(-result));
        status = say_error(on, &error, HS_EXIT_FAILURE);
    } else {
        status = status_of(on, hs_session__wait(&session));
    }
    hs_board__close(&on->board, NULL);
    return status;
}

static int with_signals(struct attach_on *on, int (*action)(struct attach_on *on))
{
    sigset_t set = hs_board_session__signals(), before;
    sigprocmask(SIG_BLOCK, &set, &before);
    signal(SIGPIPE, SIG_IGN);
    on->signals = signalfd(-1, &set, SFD_CLOEXEC);
    hs_interrupt__catch(true);
    hs_board_session__signals_end_waiting(true);
    int status = on->signals < 0 ? HS_EXIT_FAILURE : action(on);
    hs_interrupt__catch(false);
    if (on->signals >= 0)
        close(on->signals);
    hs_board_traces__free(&on->traces);
    hs_board_names__free(&on->names);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

int hs_attach_on(const struct hs_arguments *arguments, pid_t pid, const char *pattern)
{
    struct attach_on on = {.arguments = arguments,
                           .pid = pid,
                           .samples = hs_arguments__given(arguments, "sample") != NULL,
                           .recording = {.pid = pid, .pattern = pattern, .is_elsewhere = true},
                           .attach = {.input = -1, .output = -1},
                           .trace = {.input = -1, .output = -1}};
    on.traces = (struct hs_board_traces){.command = arguments->command, .recording = &on.recording};
    return with_signals(&on, attach);
}

int hs_detach_on(const struct hs_arguments *arguments, pid_t pid)
{
    struct attach_on on = {.arguments = arguments,
                           .pid = pid,
                           .attach = {.input = -1, .output = -1},
                           .trace = {.input = -1, .output = -1}};
    return with_signals(&on, detach);
}
