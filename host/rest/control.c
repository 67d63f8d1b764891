// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /control: what can be commanded of the process that writes the trace (GET), and a command (POST).
#include "host/rest/answers.h"
#include "host/rest/rest.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS "start stop mark flush"

enum { LONGEST_MARK = 400 };

const struct hs_rest_parameter hs_control_parameters[] = {
    {.name = "action",
     .kind = HS_REST_CHOICE,
     .choices = ACTIONS,
     .required = true,
     .help = "start or stop recording, write a mark into the trace, or send and write what has been recorded"},
    {.name = "text", .kind = HS_REST_TEXT, .help = "what a mark says: one line of at most 400 bytes"},
    {0},
};

struct control_work {
    char *absence; // why nothing can be commanded; NULL: it can
    char *answer;  // to a command; NULL: none
    bool recording;
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

static int ask(struct hs_question *question, const char *request, char **text)
{
    const struct hs_rest_control *control = question->rest->control;
    if (!control)
        return hs_error__set(&question->error, EPERM, "the server was started without --control");
    return control->ask(control->context, (pid_t)hs_store__summary(question->store)->pid,
                        hs_rest_trace__id(question->trace), request, question->control.cancel, text, &question->error);
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

static int ask_status(struct hs_question *question, struct control_work *work)
{
    char *status = NULL; // lines "key: value"
    const int result = ask(question, "status", &status);
    work->recording = says(status, "recording: yes");
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

int hs_prepare__command(struct hs_question *question)
{
    char request[LONGEST_MARK + 16];
    const char *action = hs_question__text(question, "action"), *text = hs_question__text(question, "text");
    const bool is_mark = !strcmp(action, "mark");
    struct control_work *work = make_work(question);
    if (!work)
        return -ENOMEM;
    if (!question->may_change)
        return hs_error__set(&question->error, EPERM,
                             "this browser does not say whose page asks; start the server with --token, and send the "
                             "token with the command");
    if (is_mark && (!text || !is_line(text)))
        return hs_error__set(&question->error, EINVAL, "text: a mark is one line of at most %d bytes", LONGEST_MARK);
    if (!is_mark && text)
        return hs_error__set(&question->error, EINVAL, "text: only a mark has a text");
    snprintf(request, sizeof(request), "%s%s%s", action, is_mark ? " " : "", is_mark ? text : "");
    // Nothing that can fail follows the command: an error says that it was not carried out, or that nobody knows.
    int result = ask_status(question, work);
    if (!result)
        result = ask(question, request, &work->answer);
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
    if (work->absence)
        hs_json__null(&json, "recording");
    else
        hs_json__boolean(&json, "recording", work->recording);
    hs_json__string(&json, "answer", work->answer);
    hs_json__close_object(&json);
    return 0;
}
