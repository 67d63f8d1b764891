// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/command_process.h"

#include "host/ctl/listening.h"
#include "host/gather/control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Numbers of processes are used again: only the id says that it is the one that writes the trace.
static bool is_of_trace(const struct hs_device *device, const char *id)
{
    uint64_t words[2];
    char text[33];
    memcpy(words, device->trace_id, sizeof(words));
    snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
    return !strcmp(text, id);
}

static int ask_address(const struct hs_address *address, const struct hs_shared_key *key, const char *id,
                       const char *request, char **text, struct hs_error *error)
{
    struct hs_control_answer answer = {0};
    int result = hs_control__ask(address, 1, key, request, &answer, error);
    size_t length = answer.text ? answer.length : 0;
    while (length && answer.text[length - 1] == '\n')
        answer.text[--length] = 0;
    if (!result && !is_of_trace(&answer.device, id))
        result = hs_error__set(error, ESRCH, "the process with this number writes another trace by now");
    else if (!result && answer.status)
        result = hs_error__set(error, EREMOTEIO, "the process refuses: %s",
                               length ? answer.text : strerror((int)answer.status));
    free(answer.body);
    if (result)
        free(answer.text);
    else
        *text = answer.text;
    return result;
}

static int find(pid_t pid, struct hs_address *address, struct hs_error *error)
{
    char text[32];
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

// A command is sent only after the process has said which trace it writes.
static int ask(void *context, pid_t pid, const char *id, const char *request, char **text, struct hs_error *error)
{
    struct hs_address address;
    char *status = NULL;
    int result = find(pid, &address, error);
    if (!result)
        result = ask_address(&address, context, id, "status", &status, error);
    if (!result && strcmp(request, "status") != 0) {
        free(status);
        return ask_address(&address, context, id, request, text, error);
    }
    *text = status;
    // Whoever cannot be reached may be reached later: it is no fault of the server.
    return result && result != -ENOMEM && result != -ESRCH && result != -EREMOTEIO ? -ENOTCONN : result;
}

struct hs_rest_control hs_command_process(struct hs_shared_key *key)
{
    return (struct hs_rest_control){.ask = ask, .context = key};
}
