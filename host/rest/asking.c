// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One question without a server.
#include "host/filter/nearest.h"
#include "host/rest/endpoint.h"
#include "host/rest/question.h"
#include "host/rest/rest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "/data/{id}/";

// The question of a path about a trace: the part after the prefix; NULL: the path is not such a question.
static const char *question_of(const struct hs_endpoint *endpoint)
{
    const bool is_one = !strncmp(endpoint->path, prefix, sizeof(prefix) - 1) && !endpoint->uncached;
    return is_one ? endpoint->path + sizeof(prefix) - 1 : NULL;
}

static int refuse(const struct hs_uri *uri, struct hs_error *error)
{
    const char *word = uri->segments > 2 ? uri->segment[2] : "";
    struct hs_nearest nearest = {.word = word, .length = strlen(word)};
    for (const struct hs_endpoint *endpoint = hs_endpoints; endpoint->path; endpoint++)
        if (question_of(endpoint))
            hs_nearest__offer(&nearest, question_of(endpoint));
    if (nearest.found)
        return hs_error__set(error, ENOENT, "there is no such question; did you mean '%s'?", nearest.found);
    return hs_error__set(error, ENOENT, "there is no such question");
}

static const struct hs_http_page *find_page(const struct hs_rest *rest, struct hs_http_request *request)
{
    const struct hs_http_page *page = hs_rest__pages(rest);
    while (page->method && (page->accept || !hs_uri__matches(request->uri, page->path, request->value, HS_HTTP_VALUES)))
        page++;
    const bool is_one = page->method && !strncmp(page->path, prefix, sizeof(prefix) - 1) &&
                        !((const struct hs_endpoint *)page->detail)->uncached;
    return is_one ? page : NULL;
}

static int write_answer(const struct hs_http_answer *answer, FILE *out, struct hs_error *error)
{
    if (answer->status != 200) {
        const size_t length = answer->body ? strcspn(answer->body, "\n") : 0;
        return hs_error__set(error,
                             answer->status == 404   ? ENOENT
                             : answer->status == 400 ? EINVAL
                                                     : EIO,
                             "%.*s", (int)length, length ? answer->body : "");
    }
    if (answer->writer.write)
        return answer->writer.write(answer->writer.context, out) || ferror(out)
                   ? hs_error__set(error, EIO, "the answer could not be written")
                   : 0;
    return fwrite(answer->body, 1, answer->length, out) == answer->length
               ? 0
               : hs_error__set(error, EIO, "the answer could not be written");
}

int hs_rest__ask(struct hs_rest *rest, const char *address, FILE *out, struct hs_error *error)
{
    struct hs_uri uri;
    struct hs_http_answer answer = {0};
    int result = hs_uri__parse(&uri, address, error);
    if (result)
        return result;
    struct hs_http_request request = {.path = address, .uri = &uri, .cancel = &rest->gives_up};
    request.page = find_page(rest, &request);
    if (request.page) {
        request.page->serve(rest, &request, &answer);
        result = write_answer(&answer, out, error);
    } else {
        result = refuse(&uri, error);
    }
    if (answer.writer.done)
        answer.writer.done(answer.writer.context);
    free(answer.body);
    hs_uri__free(&uri);
    return result;
}

void hs_rest__give_up(struct hs_rest *rest)
{
    __atomic_store_n(&rest->gives_up, 1, __ATOMIC_RELAXED);
    hs_rest_traces__cancel(rest->traces);
}

void hs_rest__write_questions(FILE *out)
{
    for (const struct hs_endpoint *endpoint = hs_endpoints; endpoint->path; endpoint++)
        if (question_of(endpoint))
            fprintf(out, "%-30s %s\n", question_of(endpoint), endpoint->summary);
}
