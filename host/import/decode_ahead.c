// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/decode_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define AHEAD 8

struct hs_decode_ahead {
    const struct hs_trace *trace;
    const struct hs_trace_chunk *const *order;
    size_t chunks;
    size_t decoded, taken;            // chunks of the order; at most AHEAD are between
    struct hs_decoded *ready[AHEAD];  // by chunk % AHEAD; NULL: there was no memory
    struct hs_decoded *spare;         // to be used again
    struct hs_trace_decoder *decoder; // only one chunk is decoded at a time
    bool threaded, stopping;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

// The decoder's events are gone with its next chunk.
static int keep_wide(struct hs_decoded *decoded, const struct hs_event *wide, size_t wides)
{
    if (wides > decoded->wide_capacity) {
        free(decoded->wide);
        decoded->wide_capacity = 0;
        decoded->wide = malloc(wides * sizeof *wide);
        if (!decoded->wide)
            return -ENOMEM;
        decoded->wide_capacity = wides;
    }
    for (size_t i = 0; i < wides; i++)
        decoded->wide[i] = wide[i];
    decoded->wides = wides;
    return 0;
}

static struct hs_decoded *decode(struct hs_decode_ahead *ahead, struct hs_decoded *decoded, size_t number)
{
    const struct hs_event *wide;
    size_t wides;
    if (!decoded)
        decoded = calloc(1, sizeof *decoded);
    if (decoded && !decoded->events)
        decoded->events = malloc(HS_CODEC_MAX_EVENTS * sizeof *decoded->events);
    if (!decoded || !decoded->events) {
        free(decoded);
        return NULL;
    }
    decoded->failed = hs_trace__decode_brief(ahead->trace, ahead->order[number], ahead->decoder, decoded->events,
                                             &decoded->count, &wide, &wides);
    if (keep_wide(decoded, wide, wides)) {
        decoded->failed = -ENOMEM;
        decoded->count = 0;
    }
    return decoded;
}

static struct hs_decoded *take_spare(struct hs_decode_ahead *ahead)
{
    struct hs_decoded *spare = ahead->spare;
    if (spare)
        ahead->spare = spare->spare;
    return spare;
}

static void *work(void *argument)
{
    struct hs_decode_ahead *ahead = argument;
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->decoded < ahead->chunks && !ahead->stopping) {
        if (ahead->decoded - ahead->taken == AHEAD) {
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
            continue;
        }
        struct hs_decoded *decoded = take_spare(ahead);
        pthread_mutex_unlock(&ahead->mutex);
        decoded = decode(ahead, decoded, ahead->decoded);
        pthread_mutex_lock(&ahead->mutex);
        ahead->ready[ahead->decoded++ % AHEAD] = decoded;
        pthread_cond_signal(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

struct hs_decode_ahead *hs_decode_ahead__start(const struct hs_trace *trace, const struct hs_trace_chunk *const *order,
                                               size_t chunks)
{
    struct hs_decode_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return NULL;
    *ahead = (struct hs_decode_ahead){.trace = trace, .order = order, .chunks = chunks};
    ahead->decoder = hs_trace_decoder__create(trace);
    if (!ahead->decoder) {
        free(ahead);
        return NULL;
    }
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    // For one chunk it is not worth it.
    ahead->threaded = chunks > 1 && !pthread_create(&ahead->thread, NULL, work, ahead);
    return ahead;
}

struct hs_decoded *hs_decode_ahead__take(struct hs_decode_ahead *ahead)
{
    if (!ahead->threaded)
        return decode(ahead, take_spare(ahead), ahead->taken++);
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->decoded == ahead->taken)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    struct hs_decoded *decoded = ahead->ready[ahead->taken++ % AHEAD];
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    return decoded;
}

void hs_decode_ahead__give_back(struct hs_decode_ahead *ahead, struct hs_decoded *decoded)
{
    pthread_mutex_lock(&ahead->mutex);
    decoded->spare = ahead->spare;
    ahead->spare = decoded;
    pthread_mutex_unlock(&ahead->mutex);
}

void hs_decode_ahead__stop(struct hs_decode_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->stopping = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    if (ahead->threaded)
        pthread_join(ahead->thread, NULL);
    for (; ahead->taken < ahead->decoded; ahead->taken++)
        if (ahead->ready[ahead->taken % AHEAD])
            hs_decode_ahead__give_back(ahead, ahead->ready[ahead->taken % AHEAD]);
    for (struct hs_decoded *spare; (spare = take_spare(ahead));) {
        free(spare->events);
        free(spare->wide);
        free(spare);
    }
    hs_trace_decoder__free(ahead->decoder);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}
