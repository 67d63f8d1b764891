// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/sending.h"

#include <inttypes.h>
#include <string.h>

// Pictures have a script of their own and names out of traces: no page may take them as part of itself.
static const char picture_policy[] =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

static uint64_t hash(uint64_t seed, const char *text)
{
    uint64_t hash = seed ^ 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static bool may_be_kept(const struct hs_question *question)
{
    return !hs_rest_state__grows(question->state) && !(question->other && hs_rest_state__grows(question->other));
}

// Weak: the same answer is sent packed and unpacked.
static void write_tag(const struct hs_question *question, const char *key, struct hs_http_answer *answer)
{
    snprintf(answer->etag, sizeof(answer->etag), "W/\"%016" PRIx64 "%016" PRIx64 "\"", hash(question->rest->run, key),
             hash(~question->rest->run, key));
    answer->cache = "private, no-cache";
}

bool hs_sending__knows(const struct hs_question *question, const struct hs_http_request *request, const char *key,
                       struct hs_http_answer *answer)
{
    if (!may_be_kept(question))
        return false;
    write_tag(question, key, answer);
    const bool knows = hs_http_request__knows(request, answer->etag);
    if (knows) {
        answer->status = 304;
        answer->type = question->type;
    }
    return knows;
}

// The file name: the last part of the path, in characters that every system accepts.
static void name_file(const struct hs_question *question, struct hs_http_answer *answer)
{
    size_t at = 0;
    const char *name = NULL;
    for (size_t i = 1; i < HS_QUESTION_VALUES && question->value[i]; i++)
        name = question->value[i];
    for (; name && *name && at + 1 < sizeof(answer->file_name); name++) {
        const bool plain = strchr("-_.+", *name) || (*name >= '0' && *name <= '9') || (*name >= 'a' && *name <= 'z') ||
                           (*name >= 'A' && *name <= 'Z');
        answer->file_name[at++] = plain ? *name : '_';
    }
    answer->file_name[at] = 0;
}

void hs_sending__describe(const struct hs_question *question, const char *key, struct hs_http_answer *answer)
{
    const char *type = question->type;
    answer->link = question->link;
    if (key && may_be_kept(question))
        write_tag(question, key, answer);
    if (!strncmp(type, "image/svg", 9))
        answer->policy = picture_policy;
    else if (question->endpoint->named && !strcmp(question->endpoint->type, "application/octet-stream"))
        name_file(question, answer);
}
