// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/outbox.h"

#include "format/chunk.h"
#include "host/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WINDOW       (8 * HS_OUTBOX_CHUNK)
#define ASK_PERIOD   (1 * HS_SECOND)
#define IDLE_PERIOD  (10 * HS_SECOND)
#define GONE_AFTER   (5 * HS_SECOND)
#define REFUSED_TIME (5 * HS_SECOND)

// ---- gatherers -----------------------------------------------------------------------------------------------------

static void leave_out(struct hs_outbox *outbox, unsigned i)
{
    outbox->host[i] = outbox->host[--outbox->host_count];
}

static void forget_silent(struct hs_outbox *outbox, uint64_t now)
{
    for (unsigned i = outbox->host_count; i--;) {
        uint64_t heard = outbox->host[i].heard;
        if (outbox->sent_at > heard && now > heard && now - heard > GONE_AFTER)
            leave_out(outbox, i);
    }
}

static struct hs_outbox_host *find_host(struct hs_outbox *outbox, const struct hs_parcel_answer *answer)
{
    for (unsigned i = 0; i < outbox->host_count; i++)
        if (!memcmp(outbox->host[i].session, answer->from.session, HS_PARCEL_SESSION_SIZE))
            return &outbox->host[i];
    if (outbox->host_count == HS_OUTBOX_HOSTS)
        return NULL;
    struct hs_outbox_host *host = &outbox->host[outbox->host_count++];
    memset(host, 0, sizeof(*host));
    memcpy(host->session, answer->from.session, HS_PARCEL_SESSION_SIZE);
    return host;
}

static uint64_t least(const struct hs_outbox *outbox)
{
    uint64_t has = UINT64_MAX;
    for (unsigned i = 0; i < outbox->host_count; i++)
        if (outbox->host[i].has < has)
            has = outbox->host[i].has;
    return outbox->host_count ? has : 0;
}

static void take_refusal(struct hs_outbox *outbox, const struct hs_parcel_answer *answer, const char *why, uint64_t now)
{
    for (unsigned i = outbox->host_count; i--;)
        if (!memcmp(outbox->host[i].session, answer->from.session, HS_PARCEL_SESSION_SIZE))
            leave_out(outbox, i);
    snprintf(outbox->why, sizeof(outbox->why), "%s", why);
    outbox->refused = !outbox->host_count;
    outbox->retry_at = now + REFUSED_TIME;
}

// Whether a message arrived, and bytes before its end did not.
static bool is_gap(const struct hs_outbox *outbox, const struct hs_parcel_answer *answer)
{
    if (answer->to.number < outbox->resent_from)
        return false;
    for (unsigned i = 0; i < HS_OUTBOX_RECENT; i++)
        if (outbox->recent[i].number == answer->to.number)
            return answer->has < outbox->recent[i].end;
    return false;
}

void hs_outbox__answer(struct hs_outbox *outbox, const struct hs_parcel_answer *answer, uint64_t next_number,
                       uint64_t now)
{
    if (answer->kind == HS_WIRE_REFUSED) {
        take_refusal(outbox, answer, answer->text, now);
        return;
    }
    if (outbox->ended && answer->has > outbox->size) {
        take_refusal(outbox, answer, "it has more of this trace than this file", now);
        return;
    }
    bool first = !outbox->host_count;
    struct hs_outbox_host *host = find_host(outbox, answer);
    if (!host)
        return;
    outbox->refused = false;
    host->heard = now;
    host->ended |= answer->kind == HS_WIRE_END && outbox->ended && answer->has == outbox->size;
    if (answer->has > host->has)
        host->has = answer->has;
    outbox->acknowledged = least(outbox);
    bool gap = is_gap(outbox, answer);
    if (!first && !gap)
        return;
    // It may have more than this program has sent: of an earlier run.
    if (gap)
        host->has = answer->has;
    if (first || answer->has < outbox->next)
        outbox->next = answer->has < outbox->size ? answer->has : outbox->size;
    outbox->resent_from = next_number;
}

bool hs_outbox__is_done(const struct hs_outbox *outbox)
{
    for (unsigned i = 0; i < outbox->host_count; i++) {
        const struct hs_outbox_host *host = &outbox->host[i];
        if (outbox->ended ? !host->ended : host->has < outbox->size)
            return false;
    }
    return outbox->host_count > 0;
}

// ---- messages ------------------------------------------------------------------------------------------------------

bool hs_outbox__is_same(const struct hs_outbox *outbox)
{
    uint8_t id[HS_TRACE_ID_SIZE];
    return pread(outbox->fd, id, sizeof(id), offsetof(struct hs_file_header, trace_id)) == (ssize_t)sizeof(id) &&
           !memcmp(id, outbox->trace_id, sizeof(id));
}

static long write_message(struct hs_outbox *outbox, const struct hs_shared_key *key, struct hs_parcel_from *from,
                          uint64_t length, uint8_t *out)
{
    uint8_t data[HS_OUTBOX_CHUNK];
    struct hs_parcel parcel = {.from = *from,
                               .first = outbox->next,
                               .end = outbox->next + length,
                               .pairs = outbox->pairs,
                               .pairs_length = outbox->pairs_length,
                               .pieces = {{data, (size_t)length}},
                               .count = 1};
    memcpy(parcel.trace_id, outbox->trace_id, sizeof(parcel.trace_id));
    if (length && pread(outbox->fd, data, (size_t)length, (off_t)outbox->next) != (ssize_t)length)
        return -1;
    // Only now: bytes of another trace have its header before them.
    if (length && !hs_outbox__is_same(outbox))
        return -1;
    parcel.ended = outbox->ended && parcel.end == outbox->size;
    outbox->said_end |= parcel.ended;
    size_t size = hs_parcel__write(key, &parcel, out);
    outbox->recent[outbox->recent_at].number = from->number;
    outbox->recent[outbox->recent_at].end = parcel.end;
    outbox->recent_at = (outbox->recent_at + 1) % HS_OUTBOX_RECENT;
    from->number++;
    outbox->next = parcel.end;
    return (long)size;
}

// The bytes that may be sent now: those in the window of the gatherer that has least.
static uint64_t sendable(const struct hs_outbox *outbox)
{
    uint64_t end = least(outbox) + WINDOW;
    if (!outbox->host_count)
        return 0;
    if (end > outbox->size)
        end = outbox->size;
    uint64_t length = end > outbox->next ? end - outbox->next : 0;
    return length < HS_OUTBOX_CHUNK ? length : HS_OUTBOX_CHUNK;
}

long hs_outbox__next(struct hs_outbox *outbox, const struct hs_shared_key *key, struct hs_parcel_from *from,
                     uint64_t now, uint8_t out[HS_OUTBOX_ROOM])
{
    forget_silent(outbox, now);
    if (outbox->refused && now < outbox->retry_at)
        return 0;
    uint64_t length = sendable(outbox);
    // An empty one asks, also whether anybody is there, and says that this one still is.
    bool idle = outbox->host_count && !outbox->ended && least(outbox) >= outbox->next;
    bool at_end = outbox->ended && outbox->host_count && outbox->next == outbox->size && !outbox->said_end;
    if (!length && !at_end && outbox->sent_at && now - outbox->sent_at < (idle ? IDLE_PERIOD : ASK_PERIOD))
        return 0;
    outbox->sent_at = now;
    return write_message(outbox, key, from, length, out);
}
