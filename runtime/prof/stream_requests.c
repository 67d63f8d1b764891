// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Requests of a host over the network to a sampled process: the same as on the control socket, in another format.
#include "runtime/prof/control_answer.h"
#include "runtime/stream/link.h"
#include "runtime/stream/stream_internal.h"

#include <errno.h>

// Requests that only a recorder supports.
static const char *refuse(const char *text)
{
    if (hs_text__starts_with(text, "mark"))
        return "a sampled process has no trace for a mark; libheapsonde-trace.so records one";
    if (hs_text__equal(text, "flush"))
        return "dumps are sent as they are made; 'dump' makes one";
    return NULL;
}

static uint32_t status_of(const char *word)
{
    static const struct {
        char word[12];
        uint32_t status;
    } known[] = {{"request ", EINVAL}, {"busy ", EAGAIN}, {"memory ", ENOMEM}, {"system-11 ", EAGAIN}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (hs_text__starts_with(word, known[i].word))
            return known[i].status;
    return EIO;
}

// "ok" and lines, or "error WORD TEXT".
static void translate(const struct hs_control_answer *from, struct hs_answer *to)
{
    const char *at = from->text + sizeof "ok\n" - 1;
    to->status = 0;
    to->body = from->body;
    if (hs_text__starts_with(from->text, "error ")) {
        at = from->text + sizeof "error " - 1;
        to->status = status_of(at);
        while (*at && *at++ != ' ')
            continue;
    }
    to->length = (uint32_t)(from->writer.at - at);
    __builtin_memcpy(to->text, at, to->length);
}

void hs_requests__carry_out(const char *text, struct hs_answer *answer)
{
    static struct hs_control_answer carried_out; // of the sender alone
    char line[HS_REQUEST_MAX + 1];
    struct hs_text writer;
    struct hs_control_request request;
    hs_text__start(&writer, line, sizeof line);
    hs_text__add(&writer, text);
    hs_text__add(&writer, "\n");
    const char *wrong = refuse(text);
    if (!wrong)
        wrong = hs_control_request__parse(&request, line, (size_t)(writer.at - line));
    carried_out.body = -1;
    if (wrong)
        hs_control_answer__error(&carried_out, "request", wrong);
    else if (request.kind == HS_CONTROL_DUMP && request.path)
        hs_control_answer__error(&carried_out, "request",
                                 "a file can be written only from that machine; get-dump returns a dump");
    else if (hs_stream__has_ended()) // what is left of it is only sent
        hs_control_answer__error(&carried_out, "busy", "the program has ended");
    else
        hs_control_answer__carry_out(&carried_out, &request);
    translate(&carried_out, answer);
}
