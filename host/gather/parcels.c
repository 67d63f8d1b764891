// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/parcels.h"

#include "host/base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SENDERS = 4096, BUCKETS = 1024, MOST_DONE = 1024, MOST_TOPIC = 1024 };

// The sender of a growing trace sends a message at least every ten seconds.
#define AWAY_AFTER (30 * HS_SECOND)

// A trace that is being received.
struct sender {
    struct sender *next;
    struct hs_gathered *trace;
    struct hs_device device;
    uint64_t claim, expected, heard;
    bool ended, synced;
    struct hs_parcel_from last; // to be answered when it is on the disk
    char *topic;                // of this answer
};

// Traces that ended lately: messages that come twice do not begin them again.
struct done {
    uint8_t trace_id[HS_TRACE_ID_SIZE];
    uint64_t end;
};

// Claims that are on the disk, from another thread.
struct synced {
    struct synced *next;
    uint64_t claim;
};

struct hs_parcels {
    struct hs_parcels_options options;
    struct hs_parcel_from from;
    struct sender *bucket[BUCKETS];
    unsigned count;
    uint64_t claims;
    struct done done[MOST_DONE];
    unsigned done_at;
    pthread_mutex_t mutex;
    struct synced *synced;
};

struct hs_parcels *hs_parcels__create(const struct hs_parcels_options *options)
{
    struct hs_parcels *parcels = calloc(1, sizeof(*parcels));
    if (!parcels)
        return NULL;
    parcels->options = *options;
    hs_parcel_from__begin(&parcels->from);
    pthread_mutex_init(&parcels->mutex, NULL);
    return parcels;
}

// ---- answers -------------------------------------------------------------------------------------------------------

static void answer(struct hs_parcels *parcels, const char *topic, struct hs_parcel_answer *answer)
{
    static const uint8_t nobody[HS_PARCEL_SESSION_SIZE];
    uint8_t bytes[HS_PARCEL_ANSWER_MAX];
    char to[MOST_TOPIC + 64];
    // A file as it is has no sender that waits.
    if (!memcmp(answer->to.session, nobody, sizeof(nobody)))
        return;
    if (!hs_parcel__answer_topic(to, sizeof(to), topic, answer->to.session))
        return;
    answer->from = parcels->from;
    parcels->from.number++;
    size_t size = hs_parcel_answer__write(parcels->options.key, answer, bytes);
    parcels->options.answer(parcels->options.data, to, bytes, size);
}

static void acknowledge(struct hs_parcels *parcels, const char *topic, const struct hs_parcel *parcel, uint64_t has,
                        bool ended)
{
    struct hs_parcel_answer text = {.to = parcel->from, .kind = ended ? HS_WIRE_END : HS_WIRE_ACK, .has = has};
    memcpy(text.trace_id, parcel->trace_id, sizeof(text.trace_id));
    answer(parcels, topic, &text);
}

static void refuse(struct hs_parcels *parcels, const char *topic, const struct hs_parcel *parcel,
                   const struct hs_device *device, enum hs_refusal why)
{
    struct hs_parcel_answer text = {.to = parcel->from, .kind = HS_WIRE_REFUSED};
    memcpy(text.trace_id, parcel->trace_id, sizeof(text.trace_id));
    strncpy(text.text, hs_refusal__text(why), sizeof(text.text) - 1);
    hs_notices__refused_at(parcels->options.context.notices, why, topic, device, NULL);
    answer(parcels, topic, &text);
}

// ---- traces --------------------------------------------------------------------------------------------------------

static struct sender **place_of(struct hs_parcels *parcels, const uint8_t id[HS_TRACE_ID_SIZE])
{
    struct sender **place = &parcels->bucket[hs_wire__get(id, 8) % BUCKETS];
    while (*place && memcmp((*place)->device.trace_id, id, HS_TRACE_ID_SIZE) != 0)
        place = &(*place)->next;
    return place;
}

// Why a trace does not continue when its sender tries again.
static enum hs_refusal lasting(enum hs_refusal why)
{
    bool lasts = why == HS_REFUSAL_HEADER || why == HS_REFUSAL_QUOTA || why == HS_REFUSAL_QUOTA_DEVICE;
    return lasts ? why : HS_REFUSAL_NONE;
}

static void forget(struct hs_parcels *parcels, struct sender **place, enum hs_refusal why)
{
    const struct hs_gather_stream_context *context = &parcels->options.context;
    struct sender *sender = *place;
    struct hs_gathered_row row;
    hs_gathered__row(sender->trace, &row);
    if (!why)
        hs_notices__stream(context->notices, sender->ended ? "ended" : "lost", &row);
    hs_gathered__release(context->traces, sender->trace, sender->claim, lasting(why));
    *place = sender->next;
    free(sender->topic);
    free(sender);
    parcels->count--;
}

static const struct done *find_done(const struct hs_parcels *parcels, const struct hs_parcel *parcel)
{
    for (unsigned i = 0; i < MOST_DONE; i++) {
        const struct done *done = &parcels->done[i];
        if (done->end && done->end >= parcel->end && !memcmp(done->trace_id, parcel->trace_id, HS_TRACE_ID_SIZE))
            return done;
    }
    return NULL;
}

static void read_device(struct hs_device *device, const char *topic, const struct hs_parcel *parcel)
{
    memset(device, 0, sizeof(*device));
    memcpy(device->trace_id, parcel->trace_id, HS_TRACE_ID_SIZE);
    strncpy(device->address, topic, sizeof(device->address) - 1);
    if (parcel->pairs_length)
        return;
    // A file as it is. The topic's last word is all that is known of its device.
    const char *slash = strrchr(topic, '/');
    strncpy(device->device, slash && slash[1] ? slash + 1 : topic, sizeof(device->device) - 1);
}

static enum hs_refusal claim(struct hs_parcels *parcels, struct sender *sender)
{
    const struct hs_gather_stream_context *context = &parcels->options.context;
    struct hs_gathered_row row;
    enum hs_refusal refusal;
    if (!hs_device__is_selected(&sender->device, context->select))
        return HS_REFUSAL_NOT_SELECTED;
    sender->claim = HS_PARCELS_CLAIM | ++parcels->claims;
    // How much the device has is not what a single message says.
    sender->trace =
        hs_traces__claim(context->traces, &sender->device, UINT64_MAX, sender->claim, &sender->expected, &refusal);
    if (!sender->trace)
        return refusal;
    hs_gathered__row(sender->trace, &row);
    hs_notices__stream(context->notices, sender->expected || row.connections > 1 ? "resumed" : "began", &row);
    return HS_REFUSAL_NONE;
}

static struct sender *begin(struct hs_parcels *parcels, const char *topic, const struct hs_parcel *parcel,
                            const struct hs_device *device)
{
    enum hs_refusal refusal = HS_REFUSAL_TOO_MANY;
    struct sender *sender = parcels->count < MOST_SENDERS ? calloc(1, sizeof(*sender)) : NULL;
    if (sender) {
        sender->device = *device;
        refusal = claim(parcels, sender);
    }
    if (refusal) {
        free(sender);
        refuse(parcels, topic, parcel, device, refusal);
        return NULL;
    }
    struct sender **place = place_of(parcels, parcel->trace_id);
    sender->next = *place;
    *place = sender;
    parcels->count++;
    return sender;
}

// The trace that a message belongs to, claimed. NULL: refused, and said so.
static struct sender *find(struct hs_parcels *parcels, const char *topic, const struct hs_parcel *parcel)
{
    struct hs_device device;
    struct sender **place = place_of(parcels, parcel->trace_id);
    // A connection of the same device may have taken it over.
    if (*place && !hs_gathered__is_claimed((*place)->trace, (*place)->claim))
        forget(parcels, place, HS_REFUSAL_REPLACED);
    if (*place)
        return *place;
    read_device(&device, topic, parcel);
    if (parcel->pairs_length && !hs_device__read(&device, parcel->pairs, parcel->pairs + parcel->pairs_length)) {
        refuse(parcels, topic, parcel, &device, HS_REFUSAL_STREAM);
        return NULL;
    }
    return begin(parcels, topic, parcel, &device);
}

// ---- messages ------------------------------------------------------------------------------------------------------

// Leaves out what is there already, of the front of the pieces. Returns the number of bytes that are left.
static uint64_t take_off(struct hs_parcel *parcel, uint64_t known)
{
    uint64_t left = 0;
    for (int i = 0; i < parcel->count; i++) {
        struct iovec *piece = &parcel->pieces[i];
        size_t part = known < piece->iov_len ? (size_t)known : piece->iov_len;
        piece->iov_base = (uint8_t *)piece->iov_base + part;
        piece->iov_len -= part;
        known -= part;
        left += piece->iov_len;
    }
    return left;
}

static enum hs_refusal write_new(struct hs_parcels *parcels, struct sender *sender, struct hs_parcel *parcel)
{
    uint64_t stored;
    if (sender->ended || parcel->first > sender->expected || parcel->end <= sender->expected)
        return HS_REFUSAL_NONE;
    uint64_t bytes = take_off(parcel, sender->expected - parcel->first);
    enum hs_refusal refusal = hs_gathered__write(parcels->options.context.traces, sender->trace, sender->claim,
                                                 parcel->pieces, parcel->count, &stored);
    if (!refusal)
        sender->expected += bytes;
    return refusal;
}

static enum hs_refusal take_end(struct hs_parcels *parcels, struct sender *sender, const char *topic,
                                const struct hs_parcel *parcel)
{
    if (!parcel->ended || parcel->end != sender->expected)
        return HS_REFUSAL_NONE;
    free(sender->topic);
    sender->topic = strdup(topic);
    sender->last = parcel->from;
    // A second time, too: the report that it is on the disk may have been lost.
    enum hs_refusal refusal =
        hs_gathered__end(parcels->options.context.traces, sender->trace, sender->claim, parcel->end);
    sender->ended = !refusal;
    return refusal;
}

static void take(struct hs_parcels *parcels, const char *topic, struct hs_parcel *parcel, uint64_t now)
{
    const struct done *done = find_done(parcels, parcel);
    if (done) {
        acknowledge(parcels, topic, parcel, done->end, true);
        return;
    }
    struct sender *sender = find(parcels, topic, parcel);
    if (!sender)
        return;
    sender->heard = now;
    enum hs_refusal refusal = write_new(parcels, sender, parcel);
    if (!refusal)
        refusal = take_end(parcels, sender, topic, parcel);
    if (!refusal) {
        acknowledge(parcels, topic, parcel, sender->expected, false);
        return;
    }
    refuse(parcels, topic, parcel, &sender->device, refusal);
    forget(parcels, place_of(parcels, parcel->trace_id), refusal);
}

// What comes to the topics of answers is for senders, of this gatherer or of another one.
static bool is_answer_topic(const char *topic)
{
    const size_t length = strlen(topic), end = strlen("/ack/") + 2 * HS_PARCEL_SESSION_SIZE;
    return length >= end && !strncmp(topic + length - end, "/ack/", strlen("/ack/"));
}

void hs_parcels__take(struct hs_parcels *parcels, const char *topic, uint8_t *bytes, size_t size, uint64_t now)
{
    struct hs_parcel parcel;
    if (is_answer_topic(topic))
        return;
    enum hs_refusal refusal =
        strlen(topic) > MOST_TOPIC ? HS_REFUSAL_TOPIC : hs_parcel__open(parcels->options.key, bytes, size, &parcel);
    if (refusal)
        hs_notices__refused_at(parcels->options.context.notices, refusal, topic, NULL, NULL);
    else
        take(parcels, topic, &parcel, now);
}

// ---- time ----------------------------------------------------------------------------------------------------------

void hs_parcels__stored(struct hs_parcels *parcels, uint64_t claim)
{
    struct synced *synced = malloc(sizeof(*synced));
    if (!synced)
        return; // the sender asks again
    pthread_mutex_lock(&parcels->mutex);
    *synced = (struct synced){parcels->synced, claim};
    parcels->synced = synced;
    pthread_mutex_unlock(&parcels->mutex);
}

static void take_synced(struct hs_parcels *parcels)
{
    pthread_mutex_lock(&parcels->mutex);
    struct synced *first = parcels->synced;
    parcels->synced = NULL;
    pthread_mutex_unlock(&parcels->mutex);
    for (struct synced *next; first; first = next) {
        next = first->next;
        for (unsigned i = 0; i < BUCKETS; i++)
            for (struct sender *at = parcels->bucket[i]; at; at = at->next)
                at->synced |= at->claim == first->claim;
        free(first);
    }
}

static void finish(struct hs_parcels *parcels, struct sender **place)
{
    struct sender *sender = *place;
    struct hs_parcel parcel = {.from = sender->last};
    struct done *done = &parcels->done[parcels->done_at++ % MOST_DONE];
    memcpy(parcel.trace_id, sender->device.trace_id, HS_TRACE_ID_SIZE);
    memcpy(done->trace_id, sender->device.trace_id, HS_TRACE_ID_SIZE);
    done->end = sender->expected;
    if (sender->topic)
        acknowledge(parcels, sender->topic, &parcel, sender->expected, true);
    forget(parcels, place, HS_REFUSAL_NONE);
}

void hs_parcels__tick(struct hs_parcels *parcels, uint64_t now)
{
    take_synced(parcels);
    for (unsigned i = 0; i < BUCKETS; i++) {
        struct sender **place = &parcels->bucket[i];
        while (*place) {
            struct sender *sender = *place;
            if (sender->synced)
                finish(parcels, place);
            else if (!hs_gathered__is_claimed(sender->trace, sender->claim))
                forget(parcels, place, HS_REFUSAL_REPLACED);
            else if (!sender->ended && now > sender->heard && now - sender->heard > AWAY_AFTER)
                forget(parcels, place, HS_REFUSAL_NONE);
            else
                place = &sender->next;
        }
    }
}

void hs_parcels__close(struct hs_parcels *parcels)
{
    take_synced(parcels);
    for (unsigned i = 0; i < BUCKETS; i++)
        while (parcels->bucket[i])
            forget(parcels, &parcels->bucket[i], HS_REFUSAL_NONE);
}

void hs_parcels__free(struct hs_parcels *parcels)
{
    take_synced(parcels);
    pthread_mutex_destroy(&parcels->mutex);
    free(parcels);
}
