// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /control: what can be commanded of the process that writes the trace (GET), and a command (POST). /devices: the
// processes that send to a gatherer, and the same for one of these.
#include "host/rest/answers.h"
#include "host/rest/rest.h"
#include "host/rest/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS "start stop mark flush dump rate"

enum { LONGEST_MARK = 400 };

#define MOST_RATE ((uint64_t)1 << 48)

#define CONTROL_PARAMETERS                                                                                             \
    {.name = "action",                                                                                                 \
     .kind = HS_REST_CHOICE,                                                                                           \
     .choices = ACTIONS,                                                                                               \
     .required = true,                                                                                                 \
     .help = "start or stop: recording or sampling; mark: write a mark into the trace; flush: write what the "         \
             "recorder holds back; of sampled processes, dump: write a heap dump, rate: set the sampling rate"},       \
        {.name = "text", .kind = HS_REST_TEXT, .help = "with mark: its text, one line of at most 400 bytes"},          \
        {.name = "bytes",                                                                                              \
         .kind = HS_REST_NUMBER,                                                                                       \
         .least = 1,                                                                                                   \
         .most = MOST_RATE,                                                                                            \
         .help = "with rate: the mean number of bytes between two samples"},                                           \
    {                                                                                                                  \
        0                                                                                                              \
    }
#define FILE_PARAMETER                                                                                                 \
    {                                                                                                                  \
        .name = "file", .kind = HS_REST_TEXT, .required = true,                                                        \
        .help = "the file that the process sends, as FOLDER/FILE: the folder and the `file` of /devices"               \
    }

const struct hs_rest_parameter hs_control_parameters[] = {CONTROL_PARAMETERS};
const struct hs_rest_parameter hs_device_control_parameters[] = {FILE_PARAMETER, CONTROL_PARAMETERS};
const struct hs_rest_parameter hs_device_parameters[] = {FILE_PARAMETER, {0}};
const struct hs_rest_parameter hs_devices_parameters[] = {
    {.name = "select",
     .kind = HS_REST_TEXT,
     .help = "only processes for which this expression of `heapsonde gather --select` is true"},
    {0},
};

struct control_work {
    char *absence; // why nothing can be commanded; NULL: it can
    char *answer;  // to a command; NULL: none
    bool recording;
    bool samples;  // it takes samples; it does not record
    uint64_t rate; // of the samples
};

static void free_control(void *context)
{
    struct control_work *work = context;
    free(work->absence);
    free(work->answer);
    free(work);
}

static struct control_work *make_work(struct hs_question *question)
{
    struct control_work *work = calloc(1, sizeof(*work));
    question->work = work;
    question->free_work = free_control;
    if (!work)
        hs_error__set(&question->error, ENOMEM, "out of memory");
    return work;
}

// FOLDER/NAME of a folder that is served.
static bool is_served(const struct hs_rest_folders *folders, const char *file)
{
    for (size_t i = 0; folders && i < folders->count; i++) {
        const size_t length = strlen(folders->path[i]);
        if (!strncmp(folders->path[i], file, length) && file[length] == '/' && file[length + 1] &&
            !strchr(file + length + 1, '/') && !strchr(file, ' '))
            return true;
    }
    return false;
}

static int ask(struct hs_question *question, const char *request, char **text)
{
    const struct hs_rest_control *control = question->rest->control;
    struct hs_rest_writer writer = {hs_question__text(question, "file"), NULL};
    if (!control)
        return hs_error__set(&question->error, EPERM, "the server was started without --control");
    if (question->trace)
        writer = (struct hs_rest_writer){hs_rest_trace__path(question->trace), question->store};
    else if (!is_served(question->rest->folders, writer.path))
        return hs_error__set(&question->error, EREMOTEIO, "file: /devices has no such file");
    return control->ask(control->context, &writer, request, question->control.cancel, text, &question->error);
}

static bool says(const char *status, const char *line)
{
    const size_t length = strlen(line);
    for (const char *at = status; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (!strncmp(at, line, length) && (!at[length] || at[length] == '\n'))
            return true;
    }
    return false;
}

// Lines "key: value" of a recorder, "key value" of a sampler.
static int ask_status(struct hs_question *question, struct control_work *work)
{
    char *status = NULL;
    const int result = ask(question, "status", &status);
    const char *rate = status ? strstr(status, "\nsample_bytes ") : NULL;
    work->samples = rate != NULL;
    work->rate = rate ? strtoull(rate + strlen("\nsample_bytes "), NULL, 10) : 0;
    work->recording = says(status, work->samples ? "prof.active true" : "recording: yes");
    free(status);
    return result;
}

// What cannot be commanded is an answer, too.
int hs_prepare__control(struct hs_question *question)
{
    struct control_work *work = make_work(question);
    if (!work)
        return -ENOMEM;
    const int result = ask_status(question, work);
    if (!result || result == -ENOMEM || result == -ECANCELED)
        return result;
    work->absence = strdup(question->error.message);
    return work->absence ? 0 : hs_error__set(&question->error, ENOMEM, "out of memory");
}

static bool is_line(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return false;
    return *text && strlen(text) <= LONGEST_MARK;
}

static int write_request(struct hs_question *question, const char *action, char *request, size_t room)
{
    const char *text = hs_question__text(question, "text");
    const bool is_mark = !strcmp(action, "mark"), is_rate = !strcmp(action, "rate");
    const uint64_t bytes = hs_question__number(question, "bytes", 0);
    if (is_mark && (!text || !is_line(text)))
        return hs_error__set(&question->error, EINVAL, "text: a mark is one line of at most %d bytes", LONGEST_MARK);
    if (!is_mark && text)
        return hs_error__set(&question->error, EINVAL, "text: only a mark has a text");
    if (is_rate != (bytes != 0))
        return hs_error__set(&question->error, EINVAL,
                             is_rate ? "bytes: the rate needs a number of bytes" : "bytes: only the rate has a number");
    if (is_rate)
        snprintf(request, room, "rate %" PRIu64, bytes);
    else
        snprintf(request, room, "%s%s%s", action, is_mark ? " " : "", is_mark ? text : "");
    return 0;
}

int hs_prepare__command(struct hs_question *question)
{
    char request[LONGEST_MARK + 64];
    const char *action = hs_question__text(question, "action");
    struct control_work *work = make_work(question);
    if (!work)
        return -ENOMEM;
    if (!question->may_change)
        return hs_error__set(&question->error, EPERM,
                             "this browser does not say which page sends the request; start the server with --token, "
                             "and send the token with the command");
    // Nothing that can fail follows the command: an error says that it was not carried out, or that nobody knows.
    int result = write_request(question, action, request, sizeof(request));
    if (!result)
        result = ask_status(question, work);
    if (!result)
        result = ask(question, request, &work->answer);
    if (!result && !strcmp(action, "rate"))
        work->rate = hs_question__number(question, "bytes", 0);
    if (!strcmp(action, "start") || !strcmp(action, "stop"))
        work->recording = !strcmp(action, "start");
    return result;
}

int hs_answer__control(struct hs_question *question, FILE *out)
{
    const struct control_work *work = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__boolean(&json, "allowed", question->rest->control != NULL);
    hs_json__string(&json, "absence", work->absence);
    if (work->absence) {
        hs_json__null(&json, "recording");
        hs_json__null(&json, "sample_bytes");
    } else {
        hs_json__boolean(&json, "recording", work->recording);
        if (work->samples)
            hs_json__number(&json, "sample_bytes", work->rate);
        else
            hs_json__null(&json, "sample_bytes");
    }
    hs_json__string(&json, "answer", work->answer);
    hs_json__close_object(&json);
    return 0;
}

// ---- gathered devices ----------------------------------------------------------------------------------------------

struct devices_folder {
    char *json;    // NULL: not known
    char *absence; // why
};

static void free_devices(void *context)
{
    struct devices_folder *folders = context;
    for (struct devices_folder *at = folders; at && (at->json || at->absence); at++) {
        free(at->json);
        free(at->absence);
    }
    free(folders);
}

int hs_prepare__devices(struct hs_question *question)
{
    const struct hs_rest_folders *folders = question->rest->folders;
    const size_t count = folders ? folders->count : 0;
    struct devices_folder *work = calloc(count + 1, sizeof(*work));
    if (!work)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = work;
    question->free_work = free_devices;
    for (size_t i = 0; i < count; i++) {
        const int result = folders->devices(folders->context, folders->path[i], hs_question__text(question, "select"),
                                            &work[i].json, &question->error);
        if (result == -EINVAL || result == -ENOMEM)
            return result;
        work[i].absence = result ? strdup(question->error.message) : NULL;
        if (!work[i].json && !work[i].absence)
            return hs_error__set(&question->error, ENOMEM, "out of memory");
    }
    return 0;
}

int hs_answer__devices(struct hs_question *question, FILE *out)
{
    const struct hs_rest_folders *folders = question->rest->folders;
    const struct devices_folder *work = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__boolean(&json, "allowed", question->rest->control != NULL);
    hs_json__open_array(&json, "folders");
    for (size_t i = 0; folders && i < folders->count; i++) {
        hs_json__open_object(&json, NULL);
        hs_json__string(&json, "folder", folders->path[i]);
        hs_json__string(&json, "absence", work[i].absence);
        if (work[i].json)
            hs_json__raw(&json, "devices", work[i].json, strlen(work[i].json));
        else
            hs_json__null(&json, "devices");
        hs_json__close_object(&json);
    }
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    return 0;
}
