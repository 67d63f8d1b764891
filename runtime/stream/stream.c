// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/stream.h"

#include "arch/system.h"
#include "format/chunk.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/shared_word.h"
#include "runtime/stream/stream_internal.h"

#include <sys/mman.h>

enum { AT_ONCE = 64 * 1024, BACKLOG = 128 * 1024 };
#define LIVE_PART_APART_NS 1000000000ull
#define UNCHANGED_APART_NS 60000000000ull
#define WAIT_NS            100000000ll

struct hs_stream hs_stream;

bool hs_stream__is_wanted(void)
{
    return hs_config.server || hs_config.connect[0] || hs_config.output_descriptor >= 0;
}

bool hs_stream__is_open(void)
{
    return hs_stream.open;
}

// ---- putting --------------------------------------------------------------------------------------------------------

bool hs_stream__lock(void)
{
    return hs_lock__acquire(&hs_stream.lock, (uint32_t)hs_system_gettid());
}

void hs_stream__unlock(void)
{
    hs_lock__release(&hs_stream.lock);
}

void hs_stream__wake_sender(void)
{
    atomic_fetch_add(&hs_stream.signal, 1);
    if (atomic_load(&hs_stream.asleep))
        hs_futex__wake(&hs_stream.signal, 1);
}

void hs_stream__wait_for_room(void)
{
    uint32_t seen = atomic_load(&hs_stream.freed);
    atomic_store(&hs_stream.blocked, 1);
    hs_stream__wake_sender();
    hs_futex__wait(&hs_stream.freed, seen, WAIT_NS);
    atomic_store(&hs_stream.blocked, 0);
}

bool hs_stream__has_ended(void)
{
    return atomic_load(&hs_stream.ended) || atomic_load(&hs_stream.broken);
}

uint32_t hs_stream__place(uint32_t at, const void *header, const void *payload, uint32_t length)
{
    static const uint8_t padding[HS_CHUNK_ALIGNMENT];
    struct hs_stream_ring *ring = &hs_stream.ring;
    uint32_t total = (uint32_t)hs_chunk_size(length);
    hs_stream_ring__put(ring, at, header, HS_CHUNK_HEADER_SIZE);
    hs_stream_ring__put(ring, at + HS_CHUNK_HEADER_SIZE, payload, length);
    hs_stream_ring__put(ring, at + HS_CHUNK_HEADER_SIZE + length, padding, total - HS_CHUNK_HEADER_SIZE - length);
    return at + total;
}

void hs_stream__put_chunk(const void *header, const void *payload, uint32_t length)
{
    struct hs_stream_ring *ring = &hs_stream.ring;
    hs_stream_ring__publish(ring, hs_stream__place(hs_stream_ring__head(ring), header, payload, length));
}

static void fill_live_part(uint64_t words[HS_LIVE_WORDS])
{
    __builtin_memset(words, 0, HS_LIVE_WORDS * sizeof *words);
    __builtin_memcpy(words, hs_stream.live, sizeof *hs_stream.live);
    struct hs_live *live = (struct hs_live *)words;
    live->dropped[HS_DROP_LINK] = hs_stream.dropped[HS_STREAM_DROPPED_EVENTS];
    live->dropped[HS_DROP_META] = hs_stream.dropped[HS_STREAM_DROPPED_META];
    live->events -= hs_stream.dropped[HS_STREAM_DROPPED_EVENTS] < live->events
                        ? hs_stream.dropped[HS_STREAM_DROPPED_EVENTS]
                        : live->events;
}

// All words but the time. They only grow.
static uint64_t sum_of_live_part(const uint64_t words[HS_LIVE_WORDS])
{
    uint64_t sum = 0 - ((const struct hs_live *)words)->end_time;
    for (unsigned i = 0; i < HS_LIVE_WORDS; i++)
        sum += words[i];
    return sum;
}

bool hs_stream__put_live_part(void)
{
    uint64_t words[HS_LIVE_WORDS];
    fill_live_part(words);
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_LIVE_PART, .stored_length = sizeof words, .plain_length = sizeof words};
    uint8_t header[HS_CHUNK_HEADER_SIZE];
    hs_chunk_seal(&chunk, words, header);
    hs_stream.live_part_due_ns = hs_clock__monotonic_ns() + LIVE_PART_APART_NS;
    if (hs_stream_ring__room(&hs_stream.ring) < hs_chunk_size(sizeof words))
        return false;
    hs_stream.live_part_sum = sum_of_live_part(words);
    hs_stream__put_chunk(header, words, sizeof words);
    return true;
}

// ---- what explains events -------------------------------------------------------------------------------------------

// Keeps at most as many bytes as the ring has; memory is used only for existing chunks. A chunk that can never fit into
// the ring would block all kept chunks after it.
static bool keep(const void *header, const void *payload, uint32_t length)
{
    uint32_t total = (uint32_t)hs_chunk_size(length);
    if (total > hs_stream.ring.size - (uint32_t)hs_chunk_size(HS_LIVE_WORDS * 8))
        return false;
    if (!hs_stream.kept)
        hs_stream.kept = hs_memory__map(hs_stream__kept_limit());
    if (!hs_stream.kept || total > hs_stream__kept_limit() - hs_stream.kept_end)
        return false;
    uint8_t *at = hs_stream.kept + hs_stream.kept_end;
    __builtin_memcpy(at, header, HS_CHUNK_HEADER_SIZE);
    __builtin_memcpy(at + HS_CHUNK_HEADER_SIZE, payload, length);
    hs_stream.kept_end += total;
    return true;
}

static bool has_kept(void)
{
    return hs_stream.kept_begin != hs_stream.kept_end;
}

bool hs_stream__is_in_order(void)
{
    if (!hs_stream.open)
        return true;
    if (!hs_stream__lock())
        return false;
    bool in_order = !has_kept();
    hs_stream__unlock();
    return in_order;
}

static void give_kept_back(void)
{
    HS_SYSTEM3(SYS_madvise, hs_stream.kept, hs_stream.kept_end, MADV_DONTNEED);
    hs_stream.kept_begin = hs_stream.kept_end = 0;
}

// One chunk at a time under the lock, because other threads that add something wait for this. Leaves room for a
// LIVE_PART.
static void put_kept(void)
{
    struct hs_chunk_header chunk;
    uint32_t end = hs_stream.kept_begin + AT_ONCE;
    while (has_kept()) {
        const uint8_t *at = hs_stream.kept + hs_stream.kept_begin;
        hs_chunk_read(at, &chunk);
        uint64_t total = hs_chunk_size(chunk.stored_length);
        if (hs_stream_ring__room(&hs_stream.ring) < total + hs_chunk_size(HS_LIVE_WORDS * 8) ||
            hs_stream.kept_begin >= end)
            return;
        hs_stream__put_chunk(at, at + HS_CHUNK_HEADER_SIZE, chunk.stored_length);
        hs_stream.kept_begin += (uint32_t)total;
    }
    if (hs_stream.kept_end)
        give_kept_back();
}

static bool lacks_end(void)
{
    return atomic_load(&hs_stream.ended) && !hs_stream.end_told;
}

bool hs_stream__is_complete(void)
{
    return atomic_load(&hs_stream.ended) && hs_stream.end_told;
}

void hs_stream__tend(void)
{
    if ((!has_kept() && !lacks_end()) || !hs_stream__lock())
        return;
    put_kept();
    if (lacks_end())
        hs_stream.end_told = !has_kept() && hs_stream__put_live_part();
    hs_stream__unlock();
}

// A chunk larger than the ring goes through it piece by piece, while the others wait.
static bool put_piecewise(const uint8_t *data, uint64_t length)
{
    struct hs_stream_ring *ring = &hs_stream.ring;
    while (length && !hs_stream__has_ended()) {
        uint32_t room = hs_stream_ring__room(ring), part = length < room ? (uint32_t)length : room;
        uint32_t at = hs_stream_ring__head(ring);
        hs_stream_ring__put(ring, at, data, part);
        hs_stream_ring__publish(ring, at + part);
        data += part;
        length -= part;
        if (length)
            hs_stream__wait_for_room();
    }
    return length == 0;
}

static bool put_large(const void *header, const void *payload, uint32_t length)
{
    static const uint8_t padding[HS_CHUNK_ALIGNMENT];
    uint64_t total = hs_chunk_size(length);
    return put_piecewise(header, HS_CHUNK_HEADER_SIZE) && put_piecewise(payload, length) &&
           put_piecewise(padding, total - HS_CHUNK_HEADER_SIZE - length);
}

// Events leave a quarter of the ring to the chunks that explain them: stacks and modules are sent only once.
static bool fits(uint32_t length, uint32_t events)
{
    uint64_t reserve = events && hs_config.policy != HS_POLICY_BLOCK ? hs_stream.ring.size / 4 : 0;
    return hs_stream_ring__room(&hs_stream.ring) >= hs_chunk_size(length) + reserve;
}

bool hs_stream__has_room(uint32_t length)
{
    return !hs_stream.open || hs_stream__has_ended() || hs_config.policy == HS_POLICY_BLOCK || fits(length, 1);
}

bool hs_stream__keeps_up(void)
{
    return !hs_stream.open || hs_stream__has_ended() ||
           hs_stream_ring__room(&hs_stream.ring) + BACKLOG >= hs_stream.ring.size;
}

static bool count_as_dropped(uint32_t events)
{
    // A chunk without events explains those of others.
    enum hs_stream_dropped what = events ? HS_STREAM_DROPPED_EVENTS : HS_STREAM_DROPPED_META;
    hs_shared_word__add(&hs_stream.dropped[what], events ? events : 1);
    return false;
}

// A program that does little would send little else.
static bool is_live_part_due(void)
{
    uint64_t words[HS_LIVE_WORDS], now = hs_clock__monotonic_ns();
    if (now <= hs_stream.live_part_due_ns)
        return false;
    fill_live_part(words);
    return sum_of_live_part(words) != hs_stream.live_part_sum || now > hs_stream.live_part_due_ns + UNCHANGED_APART_NS;
}

// Under the lock. False: not now.
static bool try_to_put(const void *header, const void *payload, uint32_t length, uint32_t events)
{
    if (!fits(length, events))
        return false;
    hs_stream__put_chunk(header, payload, length);
    if (is_live_part_due())
        hs_stream__put_live_part();
    return true;
}

static bool put_and_wait(const void *header, const void *payload, uint32_t length)
{
    bool large = hs_chunk_size(length) > hs_stream.ring.size, done = false;
    while (!done && !hs_stream__has_ended()) {
        if (!hs_stream__lock())
            continue;
        done = large ? put_large(header, payload, length) : try_to_put(header, payload, length, 0);
        hs_stream__unlock();
        if (!done)
            hs_stream__wait_for_room();
    }
    return done;
}

bool hs_stream__append(const void *header, const void *payload, uint32_t length, uint32_t events)
{
    if (!hs_stream.open || hs_stream__has_ended())
        return count_as_dropped(events);
    bool done = false;
    if (hs_config.policy == HS_POLICY_BLOCK) {
        done = put_and_wait(header, payload, length);
    } else if (hs_stream__lock()) {
        put_kept();
        bool in_order = events || !has_kept();
        done = (in_order && try_to_put(header, payload, length, events)) || (!events && keep(header, payload, length));
        hs_stream__unlock();
    }
    hs_stream__wake_sender();
    return done || count_as_dropped(events);
}

bool hs_stream__blocks(void)
{
    return hs_config.policy == HS_POLICY_BLOCK && atomic_load_explicit(&hs_stream.blocked, memory_order_relaxed);
}

// ---- for the sender -------------------------------------------------------------------------------------------------

void hs_stream__sent(uint32_t tail)
{
    hs_stream_ring__release(&hs_stream.ring, tail);
    if (atomic_load(&hs_stream.blocked)) {
        atomic_fetch_add(&hs_stream.freed, 1);
        hs_futex__wake(&hs_stream.freed, 1 << 30);
    }
}

void hs_stream__sleep(uint32_t head_seen, int64_t timeout_ns)
{
    uint32_t seen = atomic_load(&hs_stream.signal);
    atomic_store(&hs_stream.asleep, 1);
    bool finishing = atomic_load(&hs_stream.finishing) && !atomic_load(&hs_stream.ended);
    if (hs_stream_ring__head(&hs_stream.ring) == head_seen && !finishing && !atomic_load(&hs_stream.quit))
        hs_futex__wait(&hs_stream.signal, seen, timeout_ns);
    atomic_store(&hs_stream.asleep, 0);
}
