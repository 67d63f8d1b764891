// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/command_process.h"

#include "host/ctl/client.h"
#include "host/ctl/find.h"
#include "host/ctl/listening.h"
#include "host/gather/control.h"
#include "host/gather/folder_socket.h"
#include "host/report/report.h"
#include "host/report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL ".heapsonde-gather"

static char *without_newlines(char *text)
{
    size_t length = text ? strlen(text) : 0;
    while (length && text[length - 1] == '\n')
        text[--length] = 0;
    return text;
}

static int refuse(char *text, unsigned status, struct hs_error *error)
{
    hs_text__clean(without_newlines(text));
    return hs_error__set(error, EREMOTEIO, "the process refuses: %s", *text ? text : strerror((int)status));
}

// ---- over the connection that gather has ----------------------------------------------------------------------------

bool hs_is_gathered_folder(const char *path)
{
    char *journal = NULL;
    struct stat status;
    const bool is =
        asprintf(&journal, "%s/%s", path, JOURNAL) > 0 && !stat(journal, &status) && S_ISREG(status.st_mode);
    free(journal);
    return is;
}

// What others may write to can hold a socket of anybody.
static int check_owner(int fd, const char *socket, const char *folder, struct hs_error *error)
{
    struct stat status;
    pid_t pid;
    uid_t user;
    const int result = fstat(fd, &status) ? -errno : hs_ctl__owner(socket, &pid, &user);
    if (result)
        return hs_error__set(error, -result, "%s: %s", folder, strerror(-result));
    if (!user || user == geteuid() || user == status.st_uid)
        return 0;
    return hs_error__set(
        error, EACCES,
        "the process that listens in %s belongs neither to the owner of the folder nor to the user of this command",
        folder);
}

// A path of any length would not fit into the address of a socket. -ENOENT: no gather runs that has one.
static int ask_folder(const char *folder, const char *request, struct hs_ctl_answer *answer, struct hs_error *error)
{
    char socket[64];
    const int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hs_error__set(error, errno, "%s: %s", folder, strerror(errno));
    snprintf(socket, sizeof(socket), "/proc/self/fd/%d/%s", fd, HS_FOLDER_SOCKET_NAME);
    int result = check_owner(fd, socket, folder, error);
    if (!result)
        result = hs_ctl__ask(socket, request, answer, error);
    close(fd);
    if (result == -ENOENT || result == -ECONNREFUSED)
        return hs_error__set(error, ENOENT, "no 'heapsonde gather' receives into %s now", folder);
    return result;
}

int hs_gathered_devices(void *context, const char *folder, const char *select, char **json, struct hs_error *error)
{
    (void)context;
    struct hs_ctl_answer answer;
    char request[4000];
    if (select && (strlen(select) > 3900 || strpbrk(select, "\r\n")))
        return hs_error__set(error, EINVAL, "select: this is not an expression");
    snprintf(request, sizeof(request), "devices%s%s", select ? " " : "", select ? select : "");
    int result = ask_folder(folder, request, &answer, error);
    if (result)
        return select && result == -EREMOTEIO ? -EINVAL : result;
    *json = strdup(answer.body ? answer.body : "[]");
    hs_ctl_answer__free(&answer);
    return *json ? 0 : hs_error__set(error, ENOMEM, "out of memory");
}

static int take_answer(struct hs_ctl_answer *answer, char **text, struct hs_error *error)
{
    const unsigned status = (unsigned)hs_ctl_answer__number(answer, "status");
    int result = 0;
    *text = strdup(answer->body ? answer->body : "");
    if (!*text)
        result = hs_error__set(error, ENOMEM, "out of memory");
    else if (status)
        result = refuse(*text, status, error);
    hs_ctl_answer__free(answer);
    if (!result) {
        without_newlines(*text);
        return 0;
    }
    free(*text);
    *text = NULL;
    return result;
}

// -ENOENT: no gather runs there.
static int ask_gather(const char *path, const char *request, char **text, struct hs_error *error)
{
    char asked[1024];
    struct hs_ctl_answer answer;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup(".");
    if (!folder)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_error__set(error, ENOENT, "no 'heapsonde gather' receives into %s now", folder);
    const int length = snprintf(asked, sizeof(asked), "ask %s %s", slash ? slash + 1 : path, request);
    if (length < (int)sizeof(asked) && hs_is_gathered_folder(folder))
        result = ask_folder(folder, asked, &answer, error);
    free(folder);
    return result ? result : take_answer(&answer, text, error);
}

// ---- at the port where it listens -----------------------------------------------------------------------------------

static int ask_address(const struct hs_address *address, const struct hs_shared_key *key, const char *request,
                       const struct hs_control_limits *limits, char **text, struct hs_error *error)
{
    struct hs_control_answer answer = {0};
    int result = hs_control__ask(address, 1, key, request, limits, &answer, error);
    without_newlines(answer.text);
    if (!result && answer.status)
        result = refuse(answer.text, answer.status, error);
    if (result == -ESRCH)
        hs_error__set(error, ESRCH, "the process with this number now writes another trace");
    free(answer.body);
    if (result)
        free(answer.text);
    else
        *text = answer.text;
    return result;
}

static bool may_look(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno != EACCES && errno != EPERM;
    close(fd);
    return true;
}

static int find(pid_t pid, struct hs_address *address, struct hs_error *error)
{
    char text[32];
    if (!may_look(pid))
        return hs_error__set(error, ESRCH,
                             "process %ld belongs to another user, or protects itself; only root can command it from "
                             "here",
                             (long)pid);
    if (!hs_listening__is_recorded(pid))
        return hs_error__set(error, ESRCH, "process %ld does not run on this machine any more", (long)pid);
    const unsigned port = hs_listening__port(pid);
    if (!port)
        return hs_error__set(error, ENOTCONN,
                             "process %ld does not listen for commands; 'heapsonde run --listen' makes it listen",
                             (long)pid);
    snprintf(text, sizeof(text), "127.0.0.1:%u", port);
    const int count = hs_address__resolve(text, address, 1, error);
    return count < 0 ? count : 0;
}

// Numbers of processes are used again, and another machine may have one with the same number: the request goes only to
// the process that says that it writes the trace.
static int ask_port(const struct hs_shared_key *key, const struct hs_summary *summary, const char *request,
                    const int *cancel, char **text, struct hs_error *error)
{
    const struct hs_control_limits limits = {.trace = summary->trace_id, .cancel = cancel, .text_only = true};
    struct hs_address address;
    const int result = find((pid_t)summary->pid, &address, error);
    return result ? result : ask_address(&address, key, request, &limits, text, error);
}

// ---- at its control socket ------------------------------------------------------------------------------------------

// When the process began, in ns since 1970; 0: unknown.
static uint64_t began(pid_t pid)
{
    char path[64], line[1024] = "";
    unsigned long long ticks = 0;
    struct timespec now, up;
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    const char *end = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    if (!end || sscanf(end + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                       &ticks) != 1)
        return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    const uint64_t boot =
        (uint64_t)(now.tv_sec - up.tv_sec) * 1000000000 + (uint64_t)now.tv_nsec - (uint64_t)up.tv_nsec;
    return boot + (uint64_t)ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

// A process of this machine that has run this program since before the dump was written.
static bool wrote(pid_t pid, const struct hs_store *store)
{
    char host[256] = "", path[64], program[PATH_MAX];
    const char *said = hs_store__info(store, "host");
    const struct hs_summary *summary = hs_store__summary(store);
    const uint64_t written = summary->start_realtime_ns + summary->end_time, since = began(pid);
    gethostname(host, sizeof(host) - 1);
    snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
    const ssize_t length = readlink(path, program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = 0;
    return said && !strcmp(said, host) && since && since < written && !strcmp(program, hs_program_name(store));
}

static int ask_control_socket(const struct hs_store *store, const char *request, char **text, struct hs_error *error)
{
    const pid_t pid = (pid_t)hs_store__summary(store)->pid;
    struct hs_ctl_process process;
    struct hs_ctl_answer answer;
    if (!pid || !wrote(pid, store))
        return hs_error__set(error, ESRCH, "the process that wrote the dump does not run on this machine any more");
    int result = hs_ctl__find(&process, pid, error);
    if (!result)
        result = hs_ctl__ask(process.socket, request, &answer, error);
    if (result)
        return result;
    const char *lines = strchr(answer.head, '\n'); // behind "ok"
    *text = strdup(lines ? lines : "");
    hs_ctl_answer__free(&answer);
    return without_newlines(*text) ? 0 : hs_error__set(error, ENOMEM, "out of memory");
}

// ---- all of them ----------------------------------------------------------------------------------------------------

static int ask(void *context, const struct hs_rest_writer *writer, const char *request, const int *cancel, char **text,
               struct hs_error *error)
{
    int result = ask_gather(writer->path, request, text, error);
    if (result == -ENOENT && writer->store)
        result = hs_store__info(writer->store, "dumps")
                     ? ask_control_socket(writer->store, request, text, error)
                     : ask_port(context, hs_store__summary(writer->store), request, cancel, text, error);
    switch (result) {
    case 0:
    case -ENOMEM:
    case -ESRCH:
    case -EREMOTEIO:
    case -ECANCELED:
        return result;
    default: // a process that cannot be reached now may be reached later: the server is not at fault
        return -ENOTCONN;
    }
}

struct hs_rest_control hs_command_process(struct hs_shared_key *key)
{
    return (struct hs_rest_control){.ask = ask, .context = key};
}
