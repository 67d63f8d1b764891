// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/decode_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define AHEAD 16 // chunks that are decoded or being decoded, at most

// A reader that needs a chunk which is not decoded yet decodes it itself. So neither thread waits while there is work,
// and the slower one gets help.
struct hs_decode_ahead {
    const struct hs_trace *trace;
    const struct hs_trace_chunk *const *order;
    size_t chunks;
    size_t begun, taken; // chunks of the order; at most AHEAD are between
    struct decode_ahead_slot {
        struct hs_decoded *decoded; // NULL: there was no memory
        bool done;
    } slot[AHEAD];                       // by chunk % AHEAD
    struct hs_decoded *spare;            // to be used again
    struct hs_trace_decoder *decoder[2]; // of the caller that takes chunks, of the thread
    bool threaded, stopping, full;       // full: the thread waits for room
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

static struct hs_decoded *decode(struct hs_decode_ahead *ahead, unsigned who, struct hs_decoded *decoded, size_t number)
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
    decoded->failed = hs_trace__decode_brief(ahead->trace, ahead->order[number], ahead->decoder[who], decoded->events,
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

static bool has_room(const struct hs_decode_ahead *ahead)
{
    return ahead->begun < ahead->chunks && ahead->begun - ahead->taken < AHEAD;
}

// Decodes the next chunk, with the mutex held before and after.
static void decode_next(struct hs_decode_ahead *ahead, unsigned who)
{
    size_t number = ahead->begun++;
    struct hs_decoded *decoded = take_spare(ahead);
    pthread_mutex_unlock(&ahead->mutex);
    decoded = decode(ahead, who, decoded, number);
    pthread_mutex_lock(&ahead->mutex);
    ahead->slot[number % AHEAD] = (struct decode_ahead_slot){decoded, true};
    // A waiting reader waits for the oldest chunk.
    if (number == ahead->taken)
        pthread_cond_signal(&ahead->changed);
}

static void *work(void *argument)
{
    struct hs_decode_ahead *ahead = argument;
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->begun < ahead->chunks && !ahead->stopping) {
        ahead->full = !has_room(ahead);
        if (ahead->full)
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
        else
            decode_next(ahead, 1);
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
    ahead->decoder[0] = hs_trace_decoder__create(trace);
    if (!ahead->decoder[0]) {
        free(ahead);
        return NULL;
    }
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    // For one chunk it is not worth it.
    if (chunks > 1)
        ahead->decoder[1] = hs_trace_decoder__create(trace);
    ahead->threaded = ahead->decoder[1] && !pthread_create(&ahead->thread, NULL, work, ahead);
    return ahead;
}

// Waking a thread costs as much as decoding some events: the other one is woken for half of all chunks at once.
static void wake_for_room(struct hs_decode_ahead *ahead)
{
    if (!ahead->full || ahead->begun - ahead->taken > AHEAD / 2)
        return;
    ahead->full = false;
    pthread_cond_signal(&ahead->changed);
}

struct hs_decoded *hs_decode_ahead__take(struct hs_decode_ahead *ahead)
{
    pthread_mutex_lock(&ahead->mutex);
    struct decode_ahead_slot *slot = &ahead->slot[ahead->taken % AHEAD];
    while (!slot->done) {
        if (has_room(ahead))
            decode_next(ahead, 0);
        else
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
    }
    struct hs_decoded *decoded = slot->decoded;
    slot->done = false;
    ahead->taken++;
    wake_for_room(ahead);
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
    for (; ahead->taken < ahead->begun; ahead->taken++)
        if (ahead->slot[ahead->taken % AHEAD].decoded)
            hs_decode_ahead__give_back(ahead, ahead->slot[ahead->taken % AHEAD].decoded);
    for (struct hs_decoded *spare; (spare = take_spare(ahead));) {
        free(spare->events);
        free(spare->wide);
        free(spare);
    }
    hs_trace_decoder__free(ahead->decoder[0]);
    hs_trace_decoder__free(ahead->decoder[1]);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}
