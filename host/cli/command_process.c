// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/command_process.h"

#include "host/ctl/listening.h"
#include "host/gather/control.h"
#include "host/report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuse(const struct hs_control_answer *answer, struct hs_error *error)
{
    hs_text__clean(answer->text);
    return hs_error__set(error, EREMOTEIO, "the process refuses: %s",
                         *answer->text ? answer->text : strerror((int)answer->status));
}

static int ask_address(const struct hs_address *address, const struct hs_shared_key *key, const char *request,
                       const struct hs_control_limits *limits, char **text, struct hs_error *error)
{
    struct hs_control_answer answer = {0};
    int result = hs_control__ask(address, 1, key, request, limits, &answer, error);
    size_t length = answer.text ? answer.length : 0;
    while (length && answer.text[length - 1] == '\n')
        answer.text[--length] = 0;
    if (!result && answer.status)
        result = refuse(&answer, error);
    if (result == -ESRCH)
        hs_error__set(error, ESRCH, "the process with this number writes another trace by now");
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
static int ask(void *context, pid_t pid, const char *id, const char *request, const int *cancel, char **text,
               struct hs_error *error)
{
    const struct hs_control_limits limits = {.trace = id, .cancel = cancel, .text_only = true};
    struct hs_address address;
    int result = find(pid, &address, error);
    if (!result)
        result = ask_address(&address, context, request, &limits, text, error);
    switch (result) {
    case 0:
    case -ENOMEM:
    case -ESRCH:
    case -EREMOTEIO:
    case -ECANCELED:
        return result;
    default: // Whoever cannot be reached may be reached later: it is no fault of the server.
        return -ENOTCONN;
    }
}

struct hs_rest_control hs_command_process(struct hs_shared_key *key)
{
    return (struct hs_rest_control){.ask = ask, .context = key};
}
