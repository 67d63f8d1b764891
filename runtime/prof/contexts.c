// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/contexts.h"

#include "arch/far.h"
#include "arch/likely.h"
#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/prof/buckets.h"
#include "runtime/prof/options.h"
#include "runtime/prof/pool.h"
#include "runtime/prof/room.h"
#include "runtime/prof/sampler_threads.h"
#include "runtime/prof/stack_frames.h"
#include "runtime/prof/weight.h"
#include "runtime/stacks.h"

#include <sys/mman.h>

enum { SHARE = 8 };

static struct hs_buckets pair_buckets;
static struct hs_pool pair_pool HS_FAR;

// ---- pairs ----------------------------------------------------------------------------------------------------------

struct hs_pair *hs_pairs__at(uint32_t index)
{
    return hs_pool__at(HS_FAR_AT(pair_pool), sizeof(struct hs_pair), index);
}

static uint32_t hash_of(uint32_t stack, uint32_t thread)
{
    uint32_t mixed = stack * 0x9e3779b1u ^ thread * 0x85ebca6bu;
    return mixed ^ mixed >> 15;
}

static bool is_kept(const struct hs_pair *pair)
{
    return pair->live.objects || (hs_prof_options.accum && pair->total.objects);
}

static void link(struct hs_buckets *buckets, uint32_t index)
{
    struct hs_pair *pair = hs_pairs__at(index);
    uint32_t *head = hs_buckets__head(buckets, hash_of(pair->stack, pair->thread));
    pair->next = *head;
    *head = index;
}

// Removes the pairs that mean nothing any more.
static void sweep(void)
{
    for (uint32_t head = 0; pair_buckets.heads && head <= pair_buckets.mask; head++)
        for (uint32_t *at = &pair_buckets.heads[head]; *at;) {
            uint32_t index = *at;
            struct hs_pair *pair = hs_pairs__at(index);
            if (is_kept(pair)) {
                at = &pair->next;
                continue;
            }
            *at = pair->next;
            *pair = (struct hs_pair){0}; // copy_pairs() sees that it shows nothing
            pair_buckets.used--;
            hs_pool__release(HS_FAR_AT(pair_pool), sizeof(struct hs_pair), index);
        }
}

static void grow(void)
{
    if (pair_buckets.heads && pair_buckets.used > pair_buckets.mask)
        sweep();
    struct hs_buckets larger;
    if (pair_buckets.used < pair_buckets.mask / 4 * 3 || !hs_buckets__outgrown(&pair_buckets, &larger))
        return;
    for (uint32_t head = 0; pair_buckets.heads && head <= pair_buckets.mask; head++)
        for (uint32_t i = pair_buckets.heads[head], next; i; i = next) {
            next = hs_pairs__at(i)->next;
            link(&larger, i);
        }
    hs_buckets__unmap(&pair_buckets);
    pair_buckets = larger;
}

// At the bound, a sweep is worth its time only from time to time.
static HS_COLD bool has_room(void)
{
    static uint32_t refusals_left;
    uint64_t wanted = sizeof(struct hs_pair);
    if (hs_room__is_left((pair_buckets.used + 1) * wanted, SHARE))
        return true;
    if (refusals_left) {
        refusals_left--;
        return false;
    }
    sweep();
    refusals_left = pair_buckets.used / 8;
    return hs_room__is_left((pair_buckets.used + 1) * wanted, SHARE);
}

uint32_t hs_pairs__find(uint32_t stack, uint32_t thread, uint32_t record)
{
    uint32_t hash = hash_of(stack, thread);
    uint32_t index = pair_buckets.heads ? *hs_buckets__head(&pair_buckets, hash) : 0;
    for (; index; index = hs_pairs__at(index)->next)
        if (hs_pairs__at(index)->stack == stack && hs_pairs__at(index)->thread == thread)
            return index;
    if (!has_room())
        return 0;
    grow();
    if (!pair_buckets.heads || !(index = hs_pool__allocate(HS_FAR_AT(pair_pool), sizeof(struct hs_pair))))
        return 0;
    *hs_pairs__at(index) = (struct hs_pair){.stack = stack, .thread = thread, .record = record};
    link(&pair_buckets, index);
    pair_buckets.used++;
    return index;
}

void hs_pairs__forget(void)
{
    hs_buckets__unmap(&pair_buckets);
    hs_pool__empty(HS_FAR_AT(pair_pool), sizeof(struct hs_pair));
}

// ---- counts ---------------------------------------------------------------------------------------------------------

void hs_counts__add(struct hs_counts *sum, const struct hs_counts *counts)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)counts;
    for (unsigned i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

// ---- what is written ------------------------------------------------------------------------------------------------

// Where there is one sample in more bytes, nothing is sampled.
#define SCALED_LIMIT ((uint64_t)1 << 55)

struct hs_written_counts hs_counts__to_write(const struct hs_counts *counts, uint64_t sample_bytes)
{
    struct hs_written_counts raw = {counts->objects, counts->bytes};
    if (!hs_prof_options.unbias || sample_bytes - 2 >= SCALED_LIMIT || counts->bytes == 0)
        return raw;
    // The mean size in 1/256: for small blocks, less would not be exact.
    uint64_t mean = hs_weight__scale(counts->estimated_bytes, 1 << 24, counts->estimated_objects_q16);
    uint64_t probability = hs_weight__probability_q63(mean, sample_bytes << 8);
    uint64_t bytes_q8 = hs_weight__multiply(counts->estimated_bytes, probability, 55);
    uint64_t objects_q16 = hs_weight__multiply(counts->estimated_objects_q16, probability, 63);
    // A stack with bytes and without objects is an error to readers.
    uint64_t objects = (objects_q16 + (1 << 15)) >> 16;
    objects += !objects;
    // Of blocks much smaller than sample_bytes, readers make objects * sample_bytes bytes, and divide that by the mean
    // size. With a mean size that is wrong by the same factor as the rounded objects, they get the number of blocks.
    for (int i = 0; i < 2 && objects_q16 && probability >> 62 == 0; i++)
        bytes_q8 = hs_weight__scale(bytes_q8, objects << 16, objects_q16);
    uint64_t bytes = ((bytes_q8 >> 7) + 1) >> 1; // of a number that may be the largest one
    return (struct hs_written_counts){objects, bytes + !bytes};
}

// ---- snapshots ------------------------------------------------------------------------------------------------------

static bool is_shown(const struct hs_pair *pair, bool with_total)
{
    return pair->live.objects || (with_total && pair->total.objects);
}

static uint32_t copy_pairs(struct hs_pair *to, uint32_t limit, bool with_total)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= HS_FAR_AT(pair_pool)->count && count < limit; i++)
        if (is_shown(hs_pairs__at(i), with_total))
            to[count++] = *hs_pairs__at(i);
    return count;
}

// Threads that run, and others as long as they own something.
static uint32_t copy_threads(struct hs_profile_snapshot_thread *to, uint32_t limit, bool with_total)
{
    uint32_t count = 0;
    hs_sampler__collect_gone();
    for (uint32_t i = 1; i <= hs_sampler__thread_count() && count < limit; i++) {
        const struct hs_sampler_thread *thread = hs_sampler__thread_at(i);
        if (!thread->tid || (thread->gone && !thread->live_objects && !(with_total && thread->total_objects)))
            continue;
        to[count] = (struct hs_profile_snapshot_thread){.uid = thread->uid};
        __builtin_memcpy(to[count++].name, thread->name, HS_THREAD_NAME);
    }
    return count;
}

// Under the lock: what is needed at most.
static bool measure(struct hs_profile_snapshot *snapshot)
{
    if (!hs_table__lock())
        return false;
    snapshot->pair_count = pair_buckets.used;
    snapshot->thread_count = hs_sampler__thread_count();
    hs_table__unlock();
    return true;
}

static bool copy(struct hs_profile_snapshot *snapshot, bool with_total)
{
    if (!hs_table__lock())
        return false;
    bool fits = pair_buckets.used <= snapshot->pair_count && hs_sampler__thread_count() <= snapshot->thread_count;
    if (fits) {
        snapshot->pair_count = copy_pairs(snapshot->pairs, snapshot->pair_count, with_total);
        snapshot->thread_count = copy_threads(snapshot->threads, snapshot->thread_count, with_total);
        snapshot->sample_bytes = hs_sampler.sample_bytes;
        snapshot->since_ns = hs_sampler.reset_at_ns;
        snapshot->samples_dropped = atomic_load_explicit(&hs_sampler.dropped, memory_order_relaxed) +
                                    hs_sampler_nobody.allocated / hs_sampler.sample_bytes;
        snapshot->samples_shortened = hs_sampler.shortened;
    }
    hs_table__unlock();
    return fits;
}

// Stable sort of keys by one byte of theirs into `room`. False, and nothing done, when it is the same in all.
static bool sort_by_byte(const uint64_t *keys, uint64_t *room, uint32_t count, unsigned shift)
{
    uint32_t ends[256] = {0}, end = 0;
    for (uint32_t i = 0; i < count; i++)
        ends[keys[i] >> shift & 255]++;
    if (count == 0 || ends[keys[0] >> shift & 255] == count)
        return false;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t length = ends[byte];
        ends[byte] = end;
        end += length;
    }
    for (uint32_t i = 0; i < count; i++)
        room[ends[keys[i] >> shift & 255]++] = keys[i];
    return true;
}

// Stable sort of keys by their upper halves; `room` has place for as many. The result may be in either; returned is
// where.
static uint64_t *sort(uint64_t *keys, uint64_t *room, uint32_t count)
{
    for (unsigned shift = 32; shift < 64; shift += 8)
        if (sort_by_byte(keys, room, count, shift)) {
            uint64_t *swap = keys;
            keys = room;
            room = swap;
        }
    return keys;
}

// Orders by stack, then thread: pairs are sorted by 64-bit keys of (stack, place), twice, since the sort is stable.
static void order_pairs(struct hs_pair *to, const struct hs_pair *from, uint32_t count, uint64_t *keys, uint64_t *room)
{
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (uint64_t)from[i].thread << 32 | i;
    uint64_t *sorted = sort(keys, room, count), *other = sorted == keys ? room : keys;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = (uint32_t)sorted[i];
        other[i] = (uint64_t)from[place].stack << 32 | i;
        sorted[i] = place;
    }
    // `sorted` has the places by thread; it must outlive the second sort, which therefore works in `to`.
    uint64_t *final = sort(other, (uint64_t *)(void *)to, count);
    if (final != other)
        __builtin_memcpy(other, final, (size_t)count * sizeof *other);
    for (uint32_t i = 0; i < count; i++)
        to[i] = from[sorted[(uint32_t)other[i]]];
}

static void order_threads(struct hs_profile_snapshot_thread *threads, uint32_t count)
{
    for (uint32_t gap = count / 2; gap; gap /= 2)
        for (uint32_t i = gap; i < count; i++) {
            struct hs_profile_snapshot_thread moved = threads[i];
            uint32_t at = i;
            for (; at >= gap && threads[at - gap].uid > moved.uid; at -= gap)
                threads[at] = threads[at - gap];
            threads[at] = moved;
        }
}

static struct hs_profile_snapshot_thread *thread_of(struct hs_profile_snapshot *snapshot, uint32_t uid)
{
    uint32_t low = 0, high = snapshot->thread_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (snapshot->threads[middle].uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < snapshot->thread_count && snapshot->threads[low].uid == uid;
    return found ? &snapshot->threads[low] : NULL;
}

static void sum_up(struct hs_profile_snapshot *snapshot)
{
    uint32_t stack = 0;
    for (uint32_t i = 0; i < snapshot->pair_count; i++) {
        const struct hs_pair *pair = &snapshot->pairs[i];
        struct hs_profile_snapshot_thread *thread = thread_of(snapshot, pair->thread);
        if (thread) {
            hs_counts__add(&thread->live, &pair->live);
            hs_counts__add(&thread->total, &pair->total);
        }
        hs_counts__add(&snapshot->live, &pair->live);
        hs_counts__add(&snapshot->total, &pair->total);
        snapshot->stack_count += pair->stack != stack;
        stack = pair->stack;
    }
}

static bool try_to_take(struct hs_profile_snapshot *snapshot, bool with_total)
{
    *snapshot = (struct hs_profile_snapshot){0};
    if (!measure(snapshot))
        return false;
    // Others go on meanwhile: some room for what they add.
    snapshot->pair_count += snapshot->pair_count / 8 + 256;
    snapshot->thread_count += snapshot->thread_count / 8 + 64;
    size_t pair_size = sizeof *snapshot->pairs * snapshot->pair_count;
    size_t thread_size = sizeof *snapshot->threads * snapshot->thread_count;
    size_t key_size = sizeof(uint64_t) * snapshot->pair_count;
    snapshot->memory_size = 2 * pair_size + thread_size + 2 * key_size;
    char *memory = snapshot->memory = hs_memory__map(snapshot->memory_size);
    if (!memory)
        return false;
    HS_SYSTEM3(SYS_madvise, memory, snapshot->memory_size, MADV_HUGEPAGE); // a large one costs few page faults then
    struct hs_pair *ordered = (struct hs_pair *)(void *)memory;
    snapshot->pairs = (struct hs_pair *)(void *)(memory + pair_size);
    uint64_t *keys = (uint64_t *)(void *)(memory + 2 * pair_size);
    snapshot->threads = (struct hs_profile_snapshot_thread *)(void *)(memory + 2 * pair_size + 2 * key_size);
    uint32_t room = snapshot->pair_count;
    if (!copy(snapshot, with_total))
        return false;
    order_pairs(ordered, snapshot->pairs, snapshot->pair_count, keys, keys + room);
    snapshot->pairs = ordered;
    order_threads(snapshot->threads, snapshot->thread_count);
    sum_up(snapshot);
    snapshot->real_ns = hs_clock__realtime_ns();
    return true;
}

bool hs_profile_snapshot__take(struct hs_profile_snapshot *snapshot, bool with_total)
{
    for (int tries = 0; tries < 8; tries++) {
        if (try_to_take(snapshot, with_total))
            return true;
        hs_profile_snapshot__free(snapshot);
    }
    return false;
}

void hs_profile_snapshot__free(struct hs_profile_snapshot *snapshot)
{
    if (snapshot->memory)
        hs_memory__unmap(snapshot->memory, snapshot->memory_size);
    *snapshot = (struct hs_profile_snapshot){0};
}

uint32_t hs_profile_snapshot__frames(uint32_t stack, uintptr_t *frames, uint32_t limit, bool *cut)
{
    uintptr_t outermost = 0;
    uint32_t depth = hs_stack_frames__walk(stack, frames, limit, &outermost);
    // A root with such an address marks a stack that was not walked to its end.
    *cut = depth && outermost < HS_END_COUNT;
    depth -= *cut;
    return depth < limit ? depth : limit;
}
