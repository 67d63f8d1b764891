// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/rest.h"

#include "host/base/text_stream.h"
#include "host/query/drop_pages.h"
#include "host/rest/explain.h"
#include "host/rest/fleet.h"
#include "host/rest/question.h"
#include "host/rest/sending.h"
#include "host/rest/warnings.h"
#include "host/webui/webui.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

// How much the answers that are kept may take.
#define CACHE_BYTES ((size_t)512 << 20)
#define KEPT_ANSWER ((size_t)4 << 20)

// ---- one answer -----------------------------------------------------------------------------------------------------

struct rest_kept {
    const char *type;
    size_t length;
    char bytes[];
};

// An answer while it is sent. As long as it is short enough, it is also stored for the cache.
struct answering {
    struct hs_question question;
    char *key;
    struct hs_explanation explanation;
    struct hs_warnings warnings;
};

static void free_question(struct hs_question *question)
{
    if (question->free_work)
        question->free_work(question->work);
    while (question->held_count)
        hs_cache__release(question->rest->cache, question->held[--question->held_count]);
    if (question->other) {
        hs_rest_state__trim(question->other);
        hs_rest_state__release(question->other);
    }
    if (question->state) {
        hs_rest_state__trim(question->state);
        hs_rest_state__release(question->state);
    }
    free(question->filter_text);
    hs_uri__free(&question->uri);
}

static void free_answering(void *context)
{
    struct answering *answering = context;
    free_question(&answering->question);
    free(answering->key);
    free(answering);
}

struct tee {
    FILE *out;
    struct rest_kept *kept; // NULL: it has become too long
    size_t size;
    uint64_t sent;
};

static void keep_bytes(struct tee *tee, const char *bytes, size_t length)
{
    if (!tee->kept)
        return;
    size_t wanted = tee->kept->length + length;
    if (wanted > tee->size) {
        size_t size = wanted * 2;
        struct rest_kept *grown = wanted > KEPT_ANSWER ? NULL : realloc(tee->kept, sizeof(*grown) + size);
        if (!grown) {
            free(tee->kept);
            tee->kept = NULL;
            return;
        }
        tee->kept = grown;
        tee->size = size;
    }
    memcpy(tee->kept->bytes + tee->kept->length, bytes, length);
    tee->kept->length = wanted;
}

static ssize_t write_both(void *cookie, const char *bytes, size_t length)
{
    struct tee *tee = cookie;
    keep_bytes(tee, bytes, length);
    tee->sent += length;
    return fwrite(bytes, 1, length, tee->out) == length ? (ssize_t)length : 0;
}

// Results that were computed from truncated files are worthless.
static int check_states(struct hs_question *question)
{
    int result = question->trace ? hs_rest_trace__check(question->trace, question->state, &question->error) : 0;
    if (!result && question->other)
        result = hs_rest_trace__check(question->other_trace, question->other, &question->error);
    return result;
}

static int write_and_keep(struct answering *answering, FILE *out)
{
    struct hs_question *question = &answering->question;
    struct tee tee = {.out = out, .kept = calloc(1, sizeof(struct rest_kept) + BUFSIZ), .size = BUFSIZ};
    question->sent = &tee.sent;
    FILE *both = fopencookie(&tee, "w", (cookie_io_functions_t){.write = write_both});
    int result = both ? question->endpoint->write(question, both) : -ENOMEM;
    // An answer that was interrupted because the client has left is incomplete.
    bool good = both && !result && !fflush(both) && !ferror(both);
    if (both && fclose(both))
        good = false;
    if (good)
        good = !check_states(question);
    if (good && tee.kept)
        tee.kept->type = question->type;
    if (good && tee.kept)
        hs_cache__put(question->rest->cache, answering->key, tee.kept, sizeof(struct rest_kept) + tee.size, free);
    else
        free(tee.kept);
    question->sent = NULL;
    return good ? 0 : -EIO;
}

static int write_plain(struct answering *answering, FILE *out)
{
    struct hs_question *question = &answering->question;
    if (question->control.explanation)
        return hs_explain__write(question, &answering->explanation, out);
    return answering->key ? write_and_keep(answering, out) : question->endpoint->write(question, out);
}

// Exports are files in formats of others.
static bool has_room_for_warnings(const struct answering *answering)
{
    const struct hs_question *question = &answering->question;
    return answering->warnings.count && (question->endpoint->schema || question->control.explanation);
}

static int write_answer(void *context, FILE *out)
{
    struct answering *answering = context;
    struct hs_warned_stream stream;
    if (!has_room_for_warnings(answering))
        return write_plain(answering, out);
    FILE *warned = hs_warned_stream__open(&stream, &answering->warnings, out);
    int result = warned ? write_plain(answering, warned) : -ENOMEM;
    return warned && fclose(warned) && !result ? -EIO : result;
}

// ---- one question ---------------------------------------------------------------------------------------------------

static unsigned status_of(int result)
{
    switch (result) {
    case -EINVAL:
        return 400;
    case -EPERM:
        return 403;
    case -ENOENT:
        return 404;
    case -ESRCH: // the process cannot be commanded now
    case -ENOTCONN:
    case -EREMOTEIO:
        return 409;
    case -ESTALE:
        return 410;
    case -ENOTSUP: // of a trace that holds nothing but sums
        return 422;
    case -ECANCELED:
    case -EBUSY:
    case -ENOMEM:
        return 503;
    case -ECONNREFUSED: // the database of a fleet is away, or refuses
        return 502;
    case -ETIMEDOUT:
        return 504;
    default:
        return 500;
    }
}

static void answer_error(const struct hs_question *question, int result, struct hs_http_answer *answer)
{
    hs_http_answer__text(answer, status_of(result), "%s\n",
                         question->error.message[0] ? question->error.message : strerror(-result));
}

static int copy_request(struct hs_question *question, const struct hs_http_request *request)
{
    // The path has one more part when it ends in a name.
    const char *values[HS_HTTP_VALUES] = {0};
    int result = hs_uri__copy(&question->uri, request->uri, &question->error);
    if (!result)
        hs_uri__matches(&question->uri, request->page->path, values, HS_HTTP_VALUES);
    memcpy(question->value, values, sizeof(question->value));
    return result;
}

static int find_state(struct hs_question *question)
{
    if (strncmp(question->endpoint->path, "/data/{id}/", 11) != 0)
        return 0;
    question->trace = hs_rest_traces__find(question->rest->traces, question->value[0]);
    const bool is_last = !strcmp(question->value[0], "last");
    if ((is_last || !question->trace) && hs_importing__any(question->rest->importing))
        return hs_error__set(&question->error, EBUSY, "the traces are still being read; /list shows the progress");
    if (!question->trace)
        return hs_error__set(&question->error, ENOENT, "data not found");
    int result = hs_rest_trace__hold(question->trace, &question->state, &question->error);
    if (result)
        return result;
    question->store = question->state->store;
    question->symbols = question->state->symbols;
    question->control.drops_pages = hs_columns__are_large(hs_store__columns(question->store));
    question->control.indexes = question->state->indexes;
    return 0;
}

// Equal keys have equal answers. Parameters that mean nothing here, and the token, are not part of it.
static char *name_answer(struct hs_question *question)
{
    struct hs_text_stream stream;
    const struct hs_rest_parameter *arrays[HS_PARAMETER_ARRAYS];
    size_t count = hs_endpoint__parameters(question->endpoint, arrays);
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    fprintf(out, "%sanswer?%s", question->state->name, question->endpoint->path);
    for (size_t i = 1; i < HS_QUESTION_VALUES && question->value[i]; i++)
        fprintf(out, "/%zu:%s", strlen(question->value[i]), question->value[i]);
    for (size_t i = 0; i < count; i++)
        for (const struct hs_rest_parameter *parameter = arrays[i]; parameter->name; parameter++) {
            const char *value = hs_question__text(question, parameter->name);
            if (value)
                fprintf(out, "&%s=%zu:%s", parameter->name, strlen(value), value);
        }
    // These say how times are read, also where no filter is taken.
    const char *era = hs_uri__value(&question->uri, "era"), *unit = hs_uri__value(&question->uri, "time_unit");
    fprintf(out, "&&%zu:%s&%zu:%s&%s&%s", era ? strlen(era) : 0, era ? era : "", unit ? strlen(unit) : 0,
            unit ? unit : "", question->other ? question->other->name : "",
            question->filter_text ? question->filter_text : "");
    return hs_text_stream__close(&stream);
}

static bool answer_from_cache(struct hs_question *question, const char *key, struct hs_http_answer *answer)
{
    struct hs_cached *cached = hs_cache__find(question->rest->cache, key);
    if (!cached)
        return false;
    const struct rest_kept *kept = hs_cached__value(cached);
    char *body = malloc(kept->length + 1);
    if (body) {
        memcpy(body, kept->bytes, kept->length);
        *answer = (struct hs_http_answer){.status = 200, .type = kept->type, .body = body, .length = kept->length};
    }
    hs_cache__release(question->rest->cache, cached);
    return body != NULL;
}

static int prepare(struct answering *answering, const struct hs_http_request *request, struct hs_http_answer *answer)
{
    struct hs_question *question = &answering->question;
    int result = copy_request(question, request);
    if (!result)
        result = find_state(question);
    if (!result)
        result = hs_question__check(question);
    if (!result && question->endpoint->hold)
        result = question->endpoint->hold(question);
    if (result)
        return result;
    if (hs_explain__is_wanted(question)) {
        question->control.explanation = &answering->explanation;
    } else if (question->trace && !question->endpoint->uncached && !question->endpoint->fresh) {
        answering->key = name_answer(question);
        if (answering->key && hs_sending__knows(question, request, answering->key, answer))
            return 0;
        if (answering->key && answer_from_cache(question, answering->key, answer))
            return 0;
    }
    result = question->endpoint->prepare ? question->endpoint->prepare(question) : 0;
    // Cached answers of a trace that has changed are not valid either.
    if (check_states(question)) {
        hs_cache__forget(question->rest->cache, question->state->name);
        if (question->other)
            hs_cache__forget(question->rest->cache, question->other->name);
        return -ESTALE;
    }
    return result;
}

static void describe(struct answering *answering, struct hs_http_answer *answer)
{
    hs_sending__describe(&answering->question, answering->key, answer);
    hs_warnings__find(&answering->warnings, &answering->question.uri);
    hs_warnings__join(&answering->warnings, answer->warning, sizeof(answer->warning));
    if (answer->body && has_room_for_warnings(answering))
        hs_warnings__insert(&answering->warnings, &answer->body, &answer->length);
}

static void serve(void *context, const struct hs_http_request *request, struct hs_http_answer *answer)
{
    struct answering *answering = calloc(1, sizeof(*answering));
    if (!answering) {
        hs_http_answer__text(answer, 503, "out of memory\n");
        return;
    }
    struct hs_question *question = &answering->question;
    question->rest = context;
    question->endpoint = request->page->detail;
    question->type = question->endpoint->type;
    question->control.cancel = request->cancel;
    question->may_change = request->may_change;
    int result = prepare(answering, request, answer);
    if (result)
        answer_error(question, result, answer);
    else
        describe(answering, answer);
    if (result || answer->body || answer->status) {
        free_answering(answering);
        return;
    }
    answer->status = 200;
    answer->type = question->control.explanation ? "application/json" : question->type;
    answer->writer = (struct hs_stream_writer){write_answer, free_answering, answering};
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static int make_pages(struct hs_rest *rest)
{
    rest->static_pages = hs_webui__pages(NULL);
    size_t count = rest->static_pages + 1;
    for (const struct hs_endpoint *endpoint = hs_endpoints; endpoint->path; endpoint++)
        count += 1 + endpoint->named;
    rest->pages = calloc(count, sizeof(*rest->pages));
    struct hs_http_page *page = rest->pages ? rest->pages + hs_webui__pages(rest->pages) : NULL;
    for (const struct hs_endpoint *endpoint = hs_endpoints; page && endpoint->path; endpoint++) {
        char *named = NULL;
        *page++ = (struct hs_http_page){
            .method = hs_endpoint__method(endpoint), .path = endpoint->path, .serve = serve, .detail = endpoint};
        if (!endpoint->named)
            continue;
        if (asprintf(&named, "%s/{name}", endpoint->path) < 0)
            return -ENOMEM;
        *page++ = (struct hs_http_page){.method = "GET", .path = named, .serve = serve, .detail = endpoint};
    }
    return rest->pages ? 0 : -ENOMEM;
}

struct hs_rest *hs_rest__create(const struct hs_symbols_options *symbols, enum hs_rest_use use)
{
    struct hs_rest *rest = calloc(1, sizeof(*rest));
    if (!rest)
        return NULL;
    rest->cache = hs_cache__create(CACHE_BYTES);
    rest->traces = rest->cache ? hs_rest_traces__create(symbols, use == HS_REST_SERVER, rest->cache) : NULL;
    rest->importing = hs_importing__create();
    if (getrandom(&rest->run, sizeof(rest->run), 0) < 0)
        rest->run = (uint64_t)time(NULL);
    if (rest->importing && rest->traces && rest->cache && !make_pages(rest))
        return rest;
    hs_rest__destroy(rest);
    return NULL;
}

void hs_rest__destroy(struct hs_rest *rest)
{
    if (!rest)
        return;
    for (struct hs_http_page *page = rest->pages ? rest->pages + rest->static_pages : NULL; page && page->method;
         page++)
        if (page->path != ((const struct hs_endpoint *)page->detail)->path)
            free((void *)(uintptr_t)page->path);
    free(rest->pages);
    hs_rest_traces__stop(rest->traces);
    hs_cache__destroy(rest->cache);
    hs_rest_traces__destroy(rest->traces);
    hs_importing__destroy(rest->importing);
    hs_rest_fleet__destroy(rest->fleet);
    free(rest);
}

void hs_rest__suppress(struct hs_rest *rest, const struct hs_suppressions *suppressions)
{
    rest->suppressions = suppressions;
}

void hs_rest__serve_sources(struct hs_rest *rest, const char *const *folders, size_t count)
{
    rest->sources = folders;
    rest->source_count = count;
}

void hs_rest__control(struct hs_rest *rest, const struct hs_rest_control *control)
{
    rest->control = control;
}

int hs_rest__ask_fleet(struct hs_rest *rest, const char *address, unsigned seconds, struct hs_error *error)
{
    return hs_rest_fleet__create(&rest->fleet, address, seconds, error);
}

void hs_rest__folders(struct hs_rest *rest, const struct hs_rest_folders *folders)
{
    rest->folders = folders;
}

int hs_rest__expect(struct hs_rest *rest, const char *path)
{
    return hs_importing__expect(rest->importing, path);
}

int hs_rest__add(struct hs_rest *rest, const char *path, const struct hs_query_control *progress,
                 struct hs_error *error)
{
    struct hs_importing_one one = {rest->importing, path, progress};
    const struct hs_query_control control = hs_importing__control(&one);
    int result = hs_rest_traces__add(rest->traces, path, &control, error);
    hs_importing__end(rest->importing, path);
    return result;
}

const char *hs_rest__last_id(const struct hs_rest *rest)
{
    return hs_rest_trace__id(hs_rest_traces__find(rest->traces, "last"));
}

struct hs_rest_state *hs_rest__hold_state(struct hs_rest *rest)
{
    return hs_rest_trace__hold_now(hs_rest_traces__find(rest->traces, "last"));
}

void hs_rest__release_state(struct hs_rest_state *state)
{
    hs_rest_trace__let_go(state);
}

const struct hs_http_page *hs_rest__pages(const struct hs_rest *rest)
{
    return rest->pages;
}
