// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/strings.h"
#include "host/cli/commands.h"
#include "host/cli/ctl_remote.h"
#include "host/cli/output.h"
#include "host/cli/values.h"
#include "host/cli/wire_options.h"
#include "host/ctl/client.h"
#include "host/ctl/find.h"
#include "host/ctl/listening.h"
#include "host/ctl/pages.h"
#include "host/ctl/status.h"
#include "host/report/text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_PID 4194304

struct job {
    const struct hs_arguments *arguments;
    struct hs_ctl_process process;
    const char *operand; // behind the action, NULL: none
    const char *remote;  // HOST:PORT or a name, NULL: a process of this machine
};

static int fail(const struct job *job, const struct hs_error *error)
{
    hs_complain(job->arguments->command, "%s", error->message);
    return HS_EXIT_FAILURE;
}

// HS_EXIT_OK with the answer; else what the command ends with, or HS_CTL_SHOWN.
static int ask(struct job *job, const char *request, struct hs_ctl_answer *answer)
{
    struct hs_error error;
    if (job->remote)
        return hs_ctl_remote__ask(job->arguments, job->remote, request, answer, &job->process);
    return hs_ctl__ask(job->process.socket, request, answer, &error) ? fail(job, &error) : HS_EXIT_OK;
}

// ---- start and stop -------------------------------------------------------------------------------------------------

static void session_request(const struct job *job, const char *word, char *request, size_t size)
{
    const char *session = hs_arguments__text(job->arguments, "session", "");
    snprintf(request, size, "%s%s%s", word, *session ? " " : "", session);
}

static int start(struct job *job)
{
    char request[128];
    char result[32] = "";
    char time[40];
    struct hs_ctl_answer answer;
    session_request(job, "start", request, sizeof(request));
    int status = ask(job, request, &answer);
    if (status)
        return status;
    hs_ctl_answer__text(&answer, "result", result, sizeof(result));
    hs_ctl_time(hs_ctl_answer__number(&answer, "since_ns"), time);
    if (!strcmp(result, "started"))
        puts("sampling is active now");
    else if (!strcmp(result, "joined"))
        printf("already active since %s; continues until this session ends, too\n", time);
    else
        printf("already active since %s; nothing changed\n", time);
    hs_ctl_answer__free(&answer);
    return HS_EXIT_OK;
}

static int stop(struct job *job)
{
    char request[128] = "stop-all";
    char result[32] = "";
    char text[1200];
    struct hs_ctl_answer answer;
    if (!hs_arguments__flag(job->arguments, "all"))
        session_request(job, "stop", request, sizeof(request));
    int status = ask(job, request, &answer);
    if (status)
        return status;
    hs_ctl_answer__text(&answer, "result", result, sizeof(result));
    if (!strcmp(result, "stopped"))
        puts("sampling is off now; the samples are kept");
    else if (!strcmp(result, "still-active"))
        printf("still active for other sessions (%s); 'stop --all' ends them\n",
               hs_ctl_sessions(&answer, text, sizeof(text)));
    else
        printf("already off since %s; nothing changed\n",
               hs_ctl_time(hs_ctl_answer__number(&answer, "since_ns"), text));
    hs_ctl_answer__free(&answer);
    return HS_EXIT_OK;
}

// ---- dumps ----------------------------------------------------------------------------------------------------------

// Makes a file name from the name of the process and the time.
static const char *name_dump(const struct job *job, char *path, size_t size)
{
    char when[32];
    struct tm parts;
    time_t now = time(NULL);
    gmtime_r(&now, &parts);
    strftime(when, sizeof(when), "%Y%m%d_%H%M%S", &parts);
    snprintf(path, size, "%s_%ld_%s.heap", job->process.name, (long)job->process.pid, when);
    return path;
}

// Over the socket or the network, to a file of this user; `path` NULL: with a name that is printed.
static int fetch_dump(struct job *job, const char *path)
{
    char request[64];
    char own[PATH_MAX];
    struct hs_ctl_answer answer;
    struct hs_output output;
    snprintf(request, sizeof(request), "get-dump %s", hs_arguments__text(job->arguments, "format", "heap_v2"));
    int status = ask(job, request, &answer);
    if (status)
        return status;
    bool named = path != NULL;
    path = named ? path : name_dump(job, own, sizeof(own));
    status = hs_output__open(&output, job->arguments, path);
    if (!status) {
        if (answer.body_length)
            fwrite(answer.body, 1, answer.body_length, output.out);
        status = hs_output__close(&output, job->arguments, true);
    }
    if (!status && !named)
        puts(path);
    hs_ctl_answer__free(&answer);
    return status;
}

// The process writes it; a relative path is this command's. From another machine it is brought here.
static int dump(struct job *job)
{
    char request[PATH_MAX + 16] = "dump";
    char folder[PATH_MAX] = "";
    char path[PATH_MAX] = "";
    struct hs_ctl_answer answer;
    const char *output = hs_arguments__text(job->arguments, "output", NULL);
    if (output || job->remote)
        return fetch_dump(job, output ? output : job->operand);
    if (job->operand && job->operand[0] != '/' && !getcwd(folder, sizeof(folder))) {
        hs_complain(job->arguments->command, "the current folder cannot be read: %s", strerror(errno));
        return HS_EXIT_FAILURE;
    }
    if (job->operand)
        snprintf(request, sizeof(request), "dump %s%s%s", folder, *folder ? "/" : "", job->operand);
    int status = ask(job, request, &answer);
    if (status)
        return status;
    hs_ctl_answer__text(&answer, "path", path, sizeof(path));
    puts(path);
    hs_ctl_answer__free(&answer);
    return HS_EXIT_OK;
}

// ---- the others -----------------------------------------------------------------------------------------------------

static int status(struct job *job)
{
    struct hs_ctl_answer answer;
    int result = ask(job, "status", &answer);
    if (result)
        return result;
    if (hs_arguments__flag(job->arguments, "json"))
        hs_ctl_status__json(stdout, &job->process, &answer);
    else
        hs_ctl_status__text(stdout, &job->process, &answer);
    hs_ctl_answer__free(&answer);
    return HS_EXIT_OK;
}

static int reset(struct job *job)
{
    struct hs_ctl_answer answer;
    int result = ask(job, "reset", &answer);
    if (result)
        return result;
    puts("all samples are discarded; counting starts again");
    hs_ctl_answer__free(&answer);
    return HS_EXIT_OK;
}

static int rate(struct job *job)
{
    char request[64];
    uint64_t bytes = 0;
    struct hs_ctl_answer answer;
    if (!job->operand || !hs_value__size(job->operand, &bytes) || bytes == 0) {
        hs_complain(
            job->arguments->command,
            "rate needs the mean number of bytes between samples, such as 64K or 1; 'status' shows the present one");
        return HS_EXIT_USAGE;
    }
    snprintf(request, sizeof(request), "rate %llu", (unsigned long long)bytes);
    int result = ask(job, request, &answer);
    if (result)
        return result;
    printf("%s now, %s before; existing samples keep their weight\n", hs_ctl_rate(bytes).text,
           hs_ctl_rate(hs_ctl_answer__number(&answer, "before")).text);
    hs_ctl_answer__free(&answer);
    return HS_EXIT_OK;
}

// ---- serve ----------------------------------------------------------------------------------------------------------

static bool is_gone(const struct hs_ctl_process *process)
{
    pid_t pid = 0;
    uid_t user = 0;
    return hs_ctl__owner(process->socket, &pid, &user) != 0 || pid != process->pid;
}

// Until a signal ends it, or the process has ended.
static void wait_for_end(const struct job *job, const sigset_t *signals)
{
    struct timespec second = {.tv_sec = 1};
    while (sigtimedwait(signals, NULL, &second) < 0) {
        if (kill(job->process.pid, 0) && errno == ESRCH && is_gone(&job->process)) {
            hs_complain(job->arguments->command, "process %ld has ended", (long)job->process.pid);
            return;
        }
    }
}

static int serve(struct job *job)
{
    sigset_t signals;
    struct hs_http_server *server = NULL;
    struct hs_error error;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct hs_ctl_pages *pages = hs_ctl_pages__create(&job->process);
    const char *token = hs_arguments__text(job->arguments, "token", getenv("HEAPSONDE_TOKEN"));
    struct hs_http_options options = {.listen = hs_arguments__text(job->arguments, "listen", "127.0.0.1:0"),
                                      .token = token,
                                      .pages = hs_ctl_page_table,
                                      .context = pages,
                                      .bodies = true};
    int result = pages ? hs_http__start(&server, &options, &error) : hs_error__set(&error, ENOMEM, "out of memory");
    if (!result) {
        printf("%s\n", hs_http__address(server));
        fflush(stdout);
        wait_for_end(job, &signals);
        hs_http__stop(server);
    }
    if (pages)
        hs_ctl_pages__destroy(pages);
    return result ? fail(job, &error) : HS_EXIT_OK;
}

// ---- the command ----------------------------------------------------------------------------------------------------

// The requests, and for which processes they are: those of this machine that sample, those that stream over the
// network, or both.
static const struct action {
    const char *name;
    int (*run)(struct job *job); // NULL: only over the network
    bool takes_operand;
    const char *options; // that it takes, with a space on either side
    bool remote;
    bool takes_text; // over the network: all that follows
} actions[] = {
    {"start", start, false, " session ", true, false},
    {"stop", stop, false, " session all ", true, false},
    {"dump", dump, true, " output format ", true, false},
    {"status", status, false, " json ", true, false},
    {"reset", reset, false, " ", true, false},
    {"rate", rate, true, " ", true, false},
    {"serve", serve, false, " listen token ", false, false},
    {"mark", NULL, true, " ", true, true},
    {"flush", NULL, false, " ", true, false},
    {0},
};

static const struct action *find_action(const char *name)
{
    for (const struct action *action = actions; action->name; action++)
        if (!strcmp(action->name, name))
            return action;
    return NULL;
}

static int list(const struct hs_arguments *arguments)
{
    struct hs_ctl_process *processes = NULL;
    size_t count = 0;
    struct hs_error error;
    if (hs_ctl__list(&processes, &count, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        free(processes);
        return HS_EXIT_FAILURE;
    }
    if (hs_arguments__flag(arguments, "json"))
        hs_ctl_status__list_json(stdout, processes, count);
    else if (count)
        hs_ctl_status__list(stdout, processes, count);
    else
        fputs("no process of this user can be controlled; a process needs libheapsonde-prof.so, and prof:true or "
              "experimental_hs_control:true in MALLOC_CONF\n",
              stderr);
    free(processes);
    return HS_EXIT_OK;
}

// How to reach a process can be said to all of them: it is used where it is needed, as the environment is.
static const char how_to_reach[] = " socket key-file insecure ";

static bool check_options(const struct hs_arguments *arguments, const char *action, const char *known)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        char word[40];
        const char *name = arguments->given[i].option->name;
        snprintf(word, sizeof(word), " %s ", name);
        if (strstr(how_to_reach, word) || strstr(known, word))
            continue;
        hs_complain(arguments->command, "%s does not take --%s; see 'heapsonde ctl --help'", action, name);
        return false;
    }
    return true;
}

static bool find_process(struct job *job, const char *number)
{
    uint64_t pid = 0;
    struct hs_error error;
    const char *socket = hs_arguments__text(job->arguments, "socket", NULL);
    if (!hs_value__number(number, &pid) || pid == 0 || pid > MOST_PID) {
        hs_complain(job->arguments->command, "'%s' is not a process id; 'heapsonde ctl list' lists processes", number);
        return false;
    }
    job->process = (struct hs_ctl_process){.pid = (pid_t)pid};
    if (socket)
        snprintf(job->process.socket, sizeof(job->process.socket), "%s", socket);
    else if (hs_ctl__find(&job->process, (pid_t)pid, &error)) {
        fail(job, &error);
        return false;
    }
    return true;
}

static int wrong(const struct hs_arguments *arguments, const struct action *action, const char *word)
{
    hs_complain(arguments->command, "%s does not know what to do with '%s'", action->name, word);
    return HS_EXIT_USAGE;
}

static int ask_process(const struct hs_arguments *arguments, const struct action *action, const char *number,
                       char **words)
{
    struct job job = {.arguments = arguments, .operand = words[0]};
    if (!action->run) {
        hs_complain(arguments->command, "%s is for processes that stream: HOST:PORT, or an announced name",
                    action->name);
        return HS_EXIT_USAGE;
    }
    if (words[0] && (!action->takes_operand || words[1]))
        return wrong(arguments, action, words[action->takes_operand]);
    if (!check_options(arguments, action->name, action->options))
        return HS_EXIT_USAGE;
    return find_process(&job, number) ? action->run(&job) : HS_EXIT_FAILURE;
}

// Requests that only recorders support.
static int ask_for_text(struct job *job, const struct action *action, char **words)
{
    char request[4096];
    struct hs_ctl_answer answer;
    int length = snprintf(request, sizeof(request), "%s", action->name);
    for (; *words && length < (int)sizeof(request); words++)
        length += snprintf(request + length, sizeof(request) - (size_t)length, " %s", *words);
    if (length >= (int)sizeof(request)) {
        hs_complain(job->arguments->command, "the text is too long");
        return HS_EXIT_USAGE;
    }
    int status = ask(job, request, &answer);
    if (status == HS_EXIT_OK)
        hs_ctl_answer__free(&answer);
    return status;
}

static int ask_remote(const struct hs_arguments *arguments, const struct action *action, const char *target,
                      char **words)
{
    struct job job = {.arguments = arguments, .operand = words[0], .remote = target};
    if (!action->remote) {
        hs_complain(arguments->command, "%s is for a sampled process on this machine, by its process id", action->name);
        return HS_EXIT_USAGE;
    }
    if (words[0] && !action->takes_text && (!action->takes_operand || words[1]))
        return wrong(arguments, action, words[action->takes_operand]);
    if (!check_options(arguments, action->name, action->options))
        return HS_EXIT_USAGE;
    int status = action->run ? action->run(&job) : ask_for_text(&job, action, words);
    return status == HS_CTL_SHOWN ? HS_EXIT_OK : status;
}

// A process of this machine, by number: one that samples has its own socket; one that is recorded may listen for hosts.
static int ask_number(const struct hs_arguments *arguments, const struct action *action, const char *number,
                      char **words)
{
    char address[32];
    pid_t pid = (pid_t)strtol(number, NULL, 10);
    if (hs_arguments__flag(arguments, "socket") || strlen(number) > 9 || !hs_listening__is_recorded(pid))
        return ask_process(arguments, action, number, words);
    unsigned port = hs_listening__port(pid);
    if (!port) {
        hs_complain(arguments->command,
                    "process %ld is recorded, but does not listen for connections; start it with "
                    "HEAPSONDE_ENABLE_SERVER=1 in its environment, which needs no key on this machine",
                    (long)pid);
        return HS_EXIT_FAILURE;
    }
    snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    return ask_remote(arguments, action, address, words);
}

// How many processes of this machine have this name, and the first two of them.
static size_t find_named(const char *name, pid_t found[2])
{
    struct hs_ctl_process *processes = NULL;
    size_t count = 0, matches = 0;
    char other[64];
    struct hs_error error;
    if (hs_ctl__list(&processes, &count, &error))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        hs_ctl__name(processes[i].pid, other, sizeof(other));
        if (strcmp(other, name) != 0)
            continue;
        if (matches < 2)
            found[matches] = processes[i].pid;
        matches++;
    }
    free(processes);
    return matches;
}

// By name: a process of this machine that samples, else one that announces itself.
static int ask_name(const struct hs_arguments *arguments, const struct action *action, const char *name, char **words)
{
    char number[16];
    pid_t found[2];
    size_t count = find_named(name, found);
    if (!count)
        return ask_remote(arguments, action, name, words);
    if (count > 1) {
        hs_complain(arguments->command,
                    "'%s' is the name of %zu processes here, %ld and %ld among them; give the number of the one that "
                    "you mean",
                    name, count, (long)found[0], (long)found[1]);
        return HS_EXIT_FAILURE;
    }
    snprintf(number, sizeof(number), "%ld", (long)found[0]);
    return ask_process(arguments, action, number, words);
}

// TARGET ACTION [OPERANDS], and for those used to it, ACTION TARGET.
static int ctl(const struct hs_arguments *arguments)
{
    char **words = arguments->operands;
    if (!strcmp(words[0], "list")) {
        if (arguments->operand_count == 1)
            return check_options(arguments, "list", " json ") ? list(arguments) : HS_EXIT_USAGE;
        hs_complain(arguments->command, "list takes no arguments");
        return HS_EXIT_USAGE;
    }
    const char *target = words[0];
    const struct action *action = find_action(target);
    if (action && arguments->operand_count > 1)
        target = words[1];
    else if (!action && arguments->operand_count > 1)
        action = find_action(words[1]);
    if (!action || arguments->operand_count < 2) {
        hs_complain(arguments->command,
                    "needs a process and one of: start stop dump status reset rate serve mark flush; "
                    "or 'list'");
        return HS_EXIT_USAGE;
    }
    if (hs_string__is_digits(target) || hs_arguments__flag(arguments, "socket"))
        return ask_number(arguments, action, target, words + 2);
    return ask_name(arguments, action, target, words + 2);
}

static const struct hs_option options[] = {
    {.name = "session",
     .letter = 's',
     .kind = HS_OPTION_TEXT,
     .argument = "NAME",
     .help = "start, stop: for this session only; sampling continues until every session has ended"},
    {.name = "all", .letter = 'a', .help = "stop: end every session"},
    {.name = "output",
     .letter = 'o',
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .help =
         "dump: fetch the dump and write it to FILE (- for standard output), instead of letting the process write it"},
    {.name = "format",
     .letter = 'f',
     .kind = HS_OPTION_CHOICE,
     .argument = "FORMAT",
     .choices = "heap_v2 text proto symbolized collapsed",
     .help = "dump with --output: the format; default heap_v2"},
    {.name = "json", .help = "status, list: write JSON, sizes in bytes, times in nanoseconds since 1970"},
    {.name = "listen",
     .kind = HS_OPTION_TEXT,
     .argument = "ADDRESS:PORT",
     .help = "serve: listen at this address; default 127.0.0.1:0; with port 0 the kernel chooses one"},
    {.name = "token",
     .kind = HS_OPTION_TEXT,
     .argument = "TOKEN",
     .help = "serve: answer only requests with 'Authorization: Bearer TOKEN' or ?token=TOKEN; needed for addresses "
             "that other machines can reach; default HEAPSONDE_TOKEN"},
    {.name = "socket",
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .help = "the control socket, if it is not in the usual place"},
    HS_WIRE_OPTIONS("over the network: ", "the devices have", NULL),
    {0},
};

const struct hs_command hs_command_ctl = {
    .name = "ctl",
    .synopsis = "[OPTIONS] list | PID|HOST:PORT|NAME start|stop|dump [FILE]|status|reset|rate BYTES | PID serve | "
                "HOST:PORT|NAME mark TEXT|flush",
    .summary = "switch sampling or recording in a running process, take dumps, serve them over HTTP",
    .description =
        "Controls a process that runs with libheapsonde-prof.so; the program needs no code for it. start and stop "
        "switch sampling, even without prof:true. dump writes a heap dump and prints the name of the file. reset "
        "discards all samples. rate changes the sampling rate and keeps the samples. To start active sampling, or to "
        "stop inactive sampling, changes nothing. The process has a control socket if it was started with prof:true or "
        "experimental_hs_control:true in MALLOC_CONF; the same user and root may use it. The name that 'list' shows "
        "can replace the process id if it is unique. serve prints an address and answers there until it is "
        "interrupted: /pprof/heap for jeprof and pprof, /mtev/heap_profile and /mtev/memory.json as in libmtev. "
        "HOST:PORT, or the name of a device or program that announces itself, is a process that streams. With "
        "libheapsonde-prof.so everything is as above, and dump fetches the dump. With libheapsonde-trace.so, start and "
        "stop switch recording, mark writes a text into the trace, and flush sends what has been recorded. Beyond this "
        "machine this needs the devices' key.",
    .operand = HS_OPERAND_CONTROL,
    .least_operands = 1,
    .most_operands = -1,
    .options = options,
    .run = ctl,
};
