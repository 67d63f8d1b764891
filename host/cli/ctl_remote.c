// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/ctl_remote.h"

#include "host/base/json.h"
#include "host/cli/wire_options.h"
#include "host/gather/control.h"
#include "host/gather/gather.h"
#include "host/report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ADDRESSES = 4, LONGEST_KEY = 64 };

static int fail(const struct hs_arguments *arguments, const struct hs_error *error)
{
    hs_complain(arguments->command, "%s", error->message);
    return HS_EXIT_FAILURE;
}

// How many addresses; 0 with the reason in `error`.
static int find(const struct hs_arguments *arguments, const char *target, const struct hs_shared_key *key,
                struct hs_address *addresses, struct hs_error *error)
{
    bool insecure = hs_arguments__flag(arguments, "insecure");
    int count = 1;
    if (!hs_address__has_port(target))
        return hs_control__find(target, key, key->length || insecure, addresses, error) ? 0 : 1;
    count = hs_address__resolve(target, addresses, MOST_ADDRESSES, error);
    for (int i = 0; i < count; i++)
        if (!hs_gather__may_use(&addresses[i], target, key, insecure, error))
            return 0;
    return count < 0 ? 0 : count;
}

static void print_lines(const char *text, size_t length)
{
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        hs_text__print(stdout, text, line);
        putchar('\n');
        line += end != NULL;
        text += line;
        length -= line;
    }
}

// Lines "key: value"; what is none has an empty key.
static void print_json(const char *text, size_t length)
{
    struct hs_json json;
    hs_json__start(&json, stdout, true);
    hs_json__open_object(&json, NULL);
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        const char *colon = memchr(text, ':', line);
        char key[LONGEST_KEY] = "";
        if (colon)
            snprintf(key, sizeof(key), "%.*s", (int)(colon - text), text);
        const char *value = colon ? colon + 1 : text;
        size_t left = line - (size_t)(value - text);
        size_t spaces = colon && left && *value == ' ';
        hs_json__bytes(&json, key, value + spaces, left - spaces);
        line += end != NULL;
        text += line;
        length -= line;
    }
    hs_json__close_object(&json);
}

static int refuse(const char *target, const struct hs_control_answer *answer)
{
    size_t length = answer->length;
    fprintf(stderr, "heapsonde ctl: %s refuses: ", target);
    while (length && answer->text[length - 1] == '\n')
        length--;
    if (length)
        hs_text__print(stderr, answer->text, length);
    else
        fputs(strerror((int)answer->status), stderr);
    putc('\n', stderr);
    return HS_EXIT_FAILURE;
}

static int show(const struct hs_arguments *arguments, const struct hs_control_answer *answer)
{
    if (hs_arguments__flag(arguments, "json"))
        print_json(answer->text, answer->length);
    else
        print_lines(answer->text, answer->length);
    return HS_CTL_SHOWN;
}

// The answer of a sampled process, in one piece of memory.
static int convert(const struct hs_arguments *arguments, const struct hs_control_answer *from,
                   struct hs_ctl_answer *answer)
{
    char *head = malloc(from->length + from->body_length + 2);
    if (!head) {
        hs_complain(arguments->command, "out of memory");
        return HS_EXIT_FAILURE;
    }
    memcpy(head, from->text, from->length + 1);
    *answer = (struct hs_ctl_answer){.head = head, .body_length = from->body_length};
    if (!from->body)
        return HS_EXIT_OK;
    answer->body = head + from->length + 1;
    memcpy(answer->body, from->body, from->body_length);
    answer->body[from->body_length] = 0;
    return HS_EXIT_OK;
}

static void identify(struct hs_ctl_process *process, const char *target, const struct hs_device *device)
{
    *process = (struct hs_ctl_process){.pid = (pid_t)strtol(device->pid, NULL, 10)};
    snprintf(process->socket, sizeof(process->socket), "%s", target);
    hs_device__safe_name(process->name, sizeof(process->name), device->name);
}

int hs_ctl_remote__ask(const struct hs_arguments *arguments, const char *target, const char *request,
                       struct hs_ctl_answer *answer, struct hs_ctl_process *process)
{
    struct hs_shared_key key;
    struct hs_error error = {.message = ""};
    struct hs_address addresses[MOST_ADDRESSES];
    struct hs_control_answer raw = {0};
    const struct hs_control_limits none = {0};
    int status = hs_wire_options__key(arguments, &key);
    if (status)
        return status;
    int count = find(arguments, target, &key, addresses, &error);
    if (!count || hs_control__ask(addresses, count, &key, request, &none, &raw, &error))
        status = fail(arguments, &error);
    else if (raw.status)
        status = refuse(target, &raw);
    else if (strcmp(raw.device.shim, "sampler"))
        status = show(arguments, &raw);
    else
        status = convert(arguments, &raw, answer);
    identify(process, target, &raw.device);
    hs_shared_key__forget(&key);
    free(raw.text);
    free(raw.body);
    return status;
}
