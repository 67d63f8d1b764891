// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/request.h"

#include "host/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct hs_gather_request {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    unsigned references;
    bool is_done;
    struct hs_gather_reply reply;
    char text[HS_GATHER_REQUEST_MOST + 1];
};

struct hs_gather_request *hs_gather_request__create(const char *text)
{
    struct hs_gather_request *request = strlen(text) <= HS_GATHER_REQUEST_MOST ? calloc(1, sizeof(*request)) : NULL;
    if (!request)
        return NULL;
    strcpy(request->text, text);
    request->references = 2;
    pthread_mutex_init(&request->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&request->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return request;
}

void hs_gather_request__release(struct hs_gather_request *request)
{
    pthread_mutex_lock(&request->mutex);
    const bool last = !--request->references;
    pthread_mutex_unlock(&request->mutex);
    if (!last)
        return;
    pthread_mutex_destroy(&request->mutex);
    pthread_cond_destroy(&request->done);
    free(request->reply.text);
    free(request);
}

bool hs_gather_request__wait(struct hs_gather_request *request, uint64_t ns, struct hs_gather_reply *reply)
{
    const uint64_t until = hs_clock__now() + ns;
    const struct timespec deadline = {(time_t)(until / HS_SECOND), (long)(until % HS_SECOND)};
    int problem = 0;
    pthread_mutex_lock(&request->mutex);
    while (!request->is_done && !problem)
        problem = pthread_cond_timedwait(&request->done, &request->mutex, &deadline);
    const bool done = request->is_done;
    if (done) {
        *reply = request->reply;
        request->reply.text = NULL;
    }
    pthread_mutex_unlock(&request->mutex);
    return done;
}

bool hs_gather_request__is_given_up(struct hs_gather_request *request)
{
    pthread_mutex_lock(&request->mutex);
    const bool given_up = request->references == 1;
    pthread_mutex_unlock(&request->mutex);
    return given_up;
}

const char *hs_gather_request__text(const struct hs_gather_request *request)
{
    return request->text;
}

static void end(struct hs_gather_request *request, const struct hs_gather_reply *reply)
{
    pthread_mutex_lock(&request->mutex);
    request->reply = *reply;
    request->is_done = true;
    pthread_cond_signal(&request->done);
    pthread_mutex_unlock(&request->mutex);
    hs_gather_request__release(request);
}

void hs_gather_request__answer(struct hs_gather_request *request, uint32_t status, const uint8_t *text, size_t length)
{
    struct hs_gather_reply reply = {.status = status, .text = malloc(length + 1)};
    if (!reply.text) {
        hs_gather_request__fail(request, -ENOMEM);
        return;
    }
    memcpy(reply.text, text, length);
    reply.text[length] = 0;
    end(request, &reply);
}

void hs_gather_request__fail(struct hs_gather_request *request, int problem)
{
    end(request, &(struct hs_gather_reply){.problem = problem});
}
