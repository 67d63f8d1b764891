// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Culling against a model: slots of random events go in; what comes out, and the statistics, together are the input.
#include "random.h"

#include "arch/arch.h"
#include "format/event_codec.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/cull.h"
#include "runtime/live_blocks.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

struct hs_config hs_config;

enum { SLOTS = 300, WORDS = HS_SLOT_RECORDS_SIZE / 8, EVENTS_MOST = 1 << 20, ADDRESSES = 400 };

static const struct hs_codec_target target = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? HS_BYTE_ORDER_BIG
                                                                                     : HS_BYTE_ORDER_LITTLE,
                                              sizeof(void *), HS_ARCH_ADDRESS_SHIFT};
static uint8_t *memory;
static uint64_t squeezed[WORDS];

static void setup(void)
{
    memory = calloc(SLOTS, HS_SLOT_SIZE);
    ck_assert(hs_slots__add(memory, false, SLOTS));
    hs_clock__start();
    hs_config.cull = true;
    hs_config.memory = 64 << 20;
    hs_config.cull_threshold_ms = 1000000;
    hs_config.cull_pending = 1u << 20;
}

// ---- writing slots -------------------------------------------------------------------------------------------------

struct pen {
    struct hs_slot *slot;
    uint64_t *at;
    uint64_t last;
};

static struct pen new_slot_of(uint32_t stream, uint64_t now)
{
    struct hs_slot *slot = hs_slots__take(HS_SLOT_EVENTS, stream, now);
    ck_assert_ptr_nonnull(slot);
    return (struct pen){slot, hs_slot__records(slot), now};
}

static struct pen new_slot(uint64_t now)
{
    return new_slot_of(1, now);
}

static void put(struct pen *pen, uint64_t kind, uint64_t middle, uint64_t now, unsigned count, const uint64_t *words)
{
    uint64_t delta = now - pen->last;
    if (delta >= HS_RECORD_DELTA_LIMIT) {
        *pen->at++ = HS_RECORD_TIME | now << HS_RECORD_ADDRESS_POS;
        delta = 0;
    }
    pen->last = now;
    *pen->at++ = kind | middle << HS_RECORD_ADDRESS_POS | delta << HS_RECORD_DELTA_POS;
    for (unsigned i = 0; i < count; i++)
        *pen->at++ = words[i];
}

static void put_malloc(struct pen *pen, uint64_t address, uint64_t size, uint32_t stack, uint64_t usable, uint64_t now)
{
    uint64_t words[] = {size | (uint64_t)stack << 32, usable};
    put(pen, usable ? HS_RECORD_MALLOC_USABLE : HS_RECORD_MALLOC, address >> HS_ARCH_ADDRESS_SHIFT, now, usable ? 2 : 1,
        words);
}

static void put_free(struct pen *pen, uint64_t address, uint32_t stack, uint64_t now)
{
    uint64_t words[] = {stack};
    put(pen, stack ? HS_RECORD_FREE_STACK : HS_RECORD_FREE, address >> HS_ARCH_ADDRESS_SHIFT, now, stack ? 1 : 0,
        words);
}

static void put_realloc(struct pen *pen, uint64_t old, uint64_t since, uint64_t address, uint64_t size, uint32_t stack,
                        uint64_t usable, uint64_t now)
{
    uint64_t words[] = {size | (uint64_t)stack << 32, old | since << 48, usable};
    put(pen, usable ? HS_RECORD_REALLOC_USABLE : HS_RECORD_REALLOC, address >> HS_ARCH_ADDRESS_SHIFT, now,
        usable ? 3 : 2, words);
}

static void put_wide(struct pen *pen, uint64_t kind, uint64_t now, unsigned count, const uint64_t *words)
{
    put(pen, HS_RECORD_WIDE, kind | (uint64_t)count << 8, now, count, words);
}

// ---- reading what is left ------------------------------------------------------------------------------------------

static struct hs_event *left;
static size_t left_count;

static void read_left(const struct hs_slot *slot)
{
    int damaged;
    size_t got = hs_records_decode(&target, squeezed, WORDS, hs_slot__header(slot)->base_time, left + left_count,
                                   EVENTS_MOST - left_count, &damaged);
    ck_assert(!damaged);
    for (size_t i = 1; i < got; i++)
        if (left[left_count + i].time < left[left_count + i - 1].time)
            ck_abort_msg("time runs backwards");
    left_count += got;
}

static void release(bool all)
{
    for (struct hs_slot *slot; (slot = hs_cull__release(all, squeezed));) {
        read_left(slot);
        hs_slots__give_back(slot);
    }
}

static struct totals {
    uint64_t count, size, usable, lifetime;
} culled[64];

static void add_culled(uint32_t stack, uint64_t count, uint64_t size, uint64_t usable, uint64_t lifetime)
{
    ck_assert_uint_lt(stack, 64);
    culled[stack].count += count;
    culled[stack].size += size;
    culled[stack].usable += usable;
    culled[stack].lifetime += lifetime;
}

static void start_reading(void)
{
    left = calloc(EVENTS_MOST, sizeof *left);
    left_count = 0;
    memset(culled, 0, sizeof culled);
}

static void finish_reading(void)
{
    release(true);
    ck_assert_uint_eq(hs_cull__held(), 0);
    ck_assert_uint_eq(hs_live_blocks__count(), 0);
    hs_cull__report(add_culled);
}

// ---- the model -----------------------------------------------------------------------------------------------------

// Per stack: allocations, their sizes, and the lifetimes of those that ended. Culled or not, the sums are the same.
struct sums {
    struct totals begun[64];
    uint64_t ended, orphans, live;
};

static struct hs_event live[ADDRESSES];

static struct hs_event *block_at(uint64_t address)
{
    return &live[((address - 0x10000) >> HS_ARCH_ADDRESS_SHIFT) % ADDRESSES];
}

static void begin_block(struct sums *sums, const struct hs_event *event)
{
    struct hs_event *block = block_at(event->address);
    if (block->address)
        ck_abort_msg("address live twice");
    *block = *event;
    sums->begun[event->stack].count++;
    sums->begun[event->stack].size += event->size;
    sums->begun[event->stack].usable += event->usable;
    sums->live++;
}

static void end_block(struct sums *sums, uint64_t address, uint64_t time)
{
    struct hs_event *block = block_at(address);
    if (block->address != address) {
        sums->orphans++;
        return;
    }
    if (time < block->time)
        ck_abort_msg("freed before it was allocated");
    sums->begun[block->stack].lifetime += time - block->time;
    *block = (struct hs_event){0};
    sums->live--;
    sums->ended++;
}

static struct sums add_up(const struct hs_event *events, size_t count)
{
    struct sums sums = {0};
    memset(live, 0, sizeof live);
    for (size_t i = 0; i < count; i++) {
        const struct hs_event *event = &events[i];
        if (event->kind == HS_EVENT_FREE)
            end_block(&sums, event->address, event->time);
        if (event->kind == HS_EVENT_REALLOC)
            end_block(&sums, event->old_address, event->begin_time);
        if (event->kind >= HS_EVENT_MALLOC && event->kind <= HS_EVENT_REALLOC)
            begin_block(&sums, event);
    }
    return sums;
}

static void expect_same(struct sums *input)
{
    struct sums output = add_up(left, left_count);
    ck_assert_uint_eq(output.live, input->live);
    ck_assert_uint_eq(output.orphans, input->orphans);
    uint64_t gone = 0;
    for (int stack = 0; stack < 64; stack++) {
        gone += culled[stack].count;
        ck_assert_uint_eq(output.begun[stack].count + culled[stack].count, input->begun[stack].count);
        ck_assert_uint_eq(output.begun[stack].size + culled[stack].size, input->begun[stack].size);
        ck_assert_uint_eq(output.begun[stack].usable + culled[stack].usable, input->begun[stack].usable);
        ck_assert_uint_eq(output.begun[stack].lifetime + culled[stack].lifetime, input->begun[stack].lifetime);
    }
    ck_assert_uint_eq(output.ended + gone, input->ended);
}

// ---- random histories ----------------------------------------------------------------------------------------------

struct history {
    struct random_numbers random;
    uint64_t now;
    bool alive[ADDRESSES];
    struct hs_event *events;
    size_t count;
};

static uint64_t address_of(uint64_t place)
{
    return 0x10000 + (place << HS_ARCH_ADDRESS_SHIFT);
}

static uint64_t step(struct history *history)
{
    uint64_t most = random_below(&history->random, 50) ? 300 : 200000;
    return history->now += random_below(&history->random, most);
}

static void note(struct history *history, struct hs_event event)
{
    event.time = history->now;
    history->events[history->count++] = event;
}

static void allocate(struct history *history, struct pen *pen, uint64_t place, uint64_t size, uint32_t stack)
{
    uint64_t usable = random_below(&history->random, 2) ? size + 100 : 0, now = step(history);
    bool wide = random_below(&history->random, 20) == 0;
    uint64_t wide_usable = usable ? usable : size;
    uint64_t words[] = {address_of(place), size, wide_usable, stack | (uint64_t)HS_RECORD_MALLOC << 32};
    if (wide)
        put_wide(pen, HS_WIDE_ALLOC, now, 4, words);
    else
        put_malloc(pen, address_of(place), size, stack, usable, now);
    uint64_t known = wide ? wide_usable : usable ? usable : hs_usable_model(size, sizeof(void *));
    note(history,
         (struct hs_event){
             .kind = HS_EVENT_MALLOC, .address = address_of(place), .size = size, .stack = stack, .usable = known});
    history->alive[place] = true;
}

static void release_block(struct history *history, struct pen *pen, uint64_t place)
{
    uint64_t now = step(history), words[] = {address_of(place), 3};
    if (random_below(&history->random, 20) == 0)
        put_wide(pen, HS_WIDE_FREE, now, 2, words);
    else
        put_free(pen, address_of(place), (uint32_t)random_below(&history->random, 3), now);
    note(history, (struct hs_event){.kind = HS_EVENT_FREE, .address = address_of(place)});
    history->alive[place] = false;
}

static void reallocate(struct history *history, struct pen *pen, uint64_t from, uint64_t to, uint64_t size,
                       uint32_t stack)
{
    uint64_t before = history->now, usable = random_below(&history->random, 2) ? size + 64 : 0, now = step(history);
    uint64_t since = random_below(&history->random, now - before + 1);
    bool wide = since >= HS_RECORD_DELTA_LIMIT || random_below(&history->random, 6) == 0;
    uint64_t wide_usable = usable ? usable : size;
    uint64_t words[] = {address_of(to), size, wide_usable, stack, address_of(from), since};
    if (wide)
        put_wide(pen, HS_WIDE_REALLOC, now, 6, words);
    else
        put_realloc(pen, address_of(from), since, address_of(to), size, stack, usable, now);
    uint64_t known = wide ? wide_usable : usable ? usable : hs_usable_model(size, sizeof(void *));
    note(history, (struct hs_event){.kind = HS_EVENT_REALLOC,
                                    .address = address_of(to),
                                    .size = size,
                                    .stack = stack,
                                    .usable = known,
                                    .old_address = address_of(from),
                                    .begin_time = now - since});
    history->alive[from] = false;
    history->alive[to] = true;
}

static void one_event(struct history *history, struct pen *pen)
{
    struct random_numbers *random = &history->random;
    uint64_t place = random_below(random, ADDRESSES), other = random_below(random, ADDRESSES);
    uint64_t size = random_below(random, 5000);
    uint32_t stack = (uint32_t)random_below(random, 64);
    if (!history->alive[place])
        allocate(history, pen, place, size, stack);
    else if (random_below(random, 3))
        release_block(history, pen, place);
    else
        reallocate(history, pen, place, history->alive[other] ? place : other, size, stack);
}

// What every free and every realloc takes and gives is in the slots, so nothing may be lost or doubled.
START_TEST(what_is_left_and_the_statistics_are_the_input)
{
    struct history history = {.random = random_from(100 + (uint64_t)_i), .now = 1};
    history.events = calloc(EVENTS_MOST, sizeof *history.events);
    start_reading();
    static const uint64_t thresholds[] = {0, 1, 5, 1000000};
    hs_config.cull_threshold_ms = thresholds[_i % 4];
    hs_config.cull_pending = _i < 4 ? 100 : 1u << 20;
    for (int slot = 0; slot < 40; slot++) {
        struct pen pen = new_slot(history.now);
        while (pen.at + 20 < hs_slot__records(pen.slot) + HS_SLOT_EVENTS_SIZE / 8)
            one_event(&history, &pen);
        release(false);
        ck_assert(hs_cull__hold(pen.slot));
    }
    finish_reading();
    struct sums input = add_up(history.events, history.count);
    expect_same(&input);
    free(history.events);
    free(left);
}
END_TEST

static int compare_times(const void *one, const void *other)
{
    const struct hs_event *a = one, *b = other;
    return (a->time > b->time) - (a->time < b->time);
}

// Threads that free what others allocated. Their slots are filled at different times, and some are not handed over
// before the end.
START_TEST(whoever_frees_it_what_is_left_and_the_statistics_are_the_input)
{
    enum { THREADS = 4 };
    struct history history = {.random = random_from(200 + (uint64_t)_i), .now = 1};
    struct pen pens[THREADS];
    uint64_t gone = 0;
    history.events = calloc(EVENTS_MOST, sizeof *history.events);
    start_reading();
    hs_config.cull_pending = _i % 2 ? 2000 : 1u << 20;
    for (uint32_t i = 0; i < THREADS; i++)
        pens[i] = new_slot_of(i + 1, 1);
    for (int slots = 0; slots < 60;) {
        // The last thread has little to do.
        uint32_t thread = (uint32_t)random_below(&history.random, 3 * THREADS - 2) / 3;
        struct pen *pen = &pens[thread];
        history.now++;
        one_event(&history, pen);
        if (pen->at + 20 < hs_slot__records(pen->slot) + HS_SLOT_EVENTS_SIZE / 8)
            continue;
        if (_i % 2 || random_below(&history.random, 20) == 0)
            release(_i % 2 == 0);
        ck_assert(hs_cull__hold(pen->slot));
        *pen = new_slot_of(thread + 1, history.now);
        slots++;
    }
    for (uint32_t i = 0; i < THREADS; i++)
        ck_assert(hs_cull__hold(pens[i].slot));
    finish_reading();
    qsort(left, left_count, sizeof *left, compare_times);
    struct sums input = add_up(history.events, history.count);
    expect_same(&input);
    for (int stack = 0; stack < 64; stack++)
        gone += culled[stack].count;
    // Where slots are held for a while.
    ck_assert(_i % 2 || gone > history.count / 10);
    free(history.events);
    free(left);
}
END_TEST

START_TEST(held_slots_have_a_limit)
{
    start_reading();
    for (int i = 0; i < SLOTS; i++) {
        struct pen pen = new_slot((uint64_t)i);
        put_malloc(&pen, address_of((uint64_t)i), 10, 1, 0, (uint64_t)i);
        release(false);
        ck_assert(hs_cull__hold(pen.slot));
        ck_assert_uint_le(hs_cull__held(), 256);
    }
    ck_assert_uint_eq(left_count, SLOTS - 256);
    finish_reading();
    ck_assert_uint_eq(left_count, SLOTS);
    for (int i = 0; i < SLOTS; i++)
        ck_assert_uint_eq(left[i].address, address_of((uint64_t)i));
    free(left);
}
END_TEST

// ---- single cases --------------------------------------------------------------------------------------------------

static void hold_and_finish(struct pen *pen)
{
    ck_assert(hs_cull__hold(pen->slot));
    finish_reading();
}

START_TEST(short_life_goes_and_is_counted)
{
    start_reading();
    struct pen pen = new_slot(10);
    put_malloc(&pen, 0x1000, 100, 7, 0, 20);
    put_malloc(&pen, 0x2000, 200, 8, 300, 30);
    put_free(&pen, 0x1000, 0, 45);
    hold_and_finish(&pen);
    ck_assert_uint_eq(left_count, 1);
    ck_assert_uint_eq(left[0].address, 0x2000);
    ck_assert_uint_eq(left[0].time, 30);
    ck_assert_uint_eq(left[0].usable, 300);
    ck_assert_uint_eq(culled[7].count, 1);
    ck_assert_uint_eq(culled[7].size, 100);
    ck_assert_uint_eq(culled[7].usable, hs_usable_model(100, sizeof(void *)));
    ck_assert_uint_eq(culled[7].lifetime, 25);
}
END_TEST

// The memory of its own that such a block has goes back with it.
START_TEST(large_blocks_stay)
{
    start_reading();
    struct pen pen = new_slot(10);
    put_malloc(&pen, 0x100000, 128 * 1024 - 1, 7, 0, 20);
    put_free(&pen, 0x100000, 0, 25);
    put_malloc(&pen, 0x200000, 128 * 1024, 8, 0, 30);
    put_free(&pen, 0x200000, 0, 45);
    hold_and_finish(&pen);
    ck_assert_uint_eq(left_count, 2);
    ck_assert_uint_eq(left[0].address, 0x200000);
    ck_assert_uint_eq(left[1].address, 0x200000);
    ck_assert_uint_eq(culled[7].count, 1);
    ck_assert_uint_eq(culled[8].count, 0);
}
END_TEST

// malloc a; realloc a to b; realloc b to c; free c: bits 0 and 1 of _i leave out the first and the last.
START_TEST(reallocs_go_or_stay_as_a_whole)
{
    bool begins = !(_i & 1), ends = !(_i & 2), goes = begins && ends;
    start_reading();
    struct pen pen = new_slot(0);
    if (begins)
        put_malloc(&pen, 0x1000, 100, 1, 0, 10);
    put_realloc(&pen, 0x1000, 5, 0x2000, 200, 2, _i & 4 ? 333 : 0, 30);
    put_realloc(&pen, 0x2000, 1, 0x1000, 300, 2, 0, 51);
    if (ends)
        put_free(&pen, 0x1000, 9, 70);
    hold_and_finish(&pen);
    ck_assert_uint_eq(left_count, goes ? 0 : 2 + begins + ends);
    ck_assert_uint_eq(culled[1].count, goes);
    ck_assert_uint_eq(culled[1].lifetime, goes ? 15 : 0);
    ck_assert_uint_eq(culled[2].count, goes ? 2 : 0);
    ck_assert_uint_eq(culled[2].size, goes ? 500 : 0);
    ck_assert_uint_eq(culled[2].lifetime, goes ? 20 + 19 : 0);
    uint64_t usable = _i & 4 ? 333 : hs_usable_model(200, sizeof(void *));
    ck_assert_uint_eq(culled[2].usable, goes ? usable + hs_usable_model(300, sizeof(void *)) : 0);
}
END_TEST

// Each part of a chain is young, and the chain is not; one part is large; its beginning is written already.
START_TEST(a_chain_stays_for_one_of_its_parts)
{
    start_reading();
    uint64_t ms = 1000000, life = hs_config.cull_threshold_ms * ms;
    if (_i == 0) // counted in the clock's own ticks: far beyond the threshold whatever these are
        life = (uint64_t)1 << 45;
    struct pen pen = new_slot(0);
    put_malloc(&pen, 0x1000, 100, 1, 0, 10);
    if (_i == 2)
        for (int i = 0; i < 256; i++) {
            ck_assert(hs_cull__hold(pen.slot));
            release(false);
            pen = new_slot(10);
        }
    put_realloc(&pen, 0x1000, 5, 0x2000, _i == 1 ? 128 * 1024 : 200, 2, 0, _i ? 30 : life / 2);
    put_realloc(&pen, 0x2000, 5, 0x3000, 100, 2, 0, _i ? 50 : life);
    put_free(&pen, 0x3000, 0, _i ? 60 : life + 10);
    hold_and_finish(&pen);
    ck_assert_uint_eq(left_count, 4);
    ck_assert_uint_eq(culled[1].count + culled[2].count, 0);
}
END_TEST

START_TEST(long_life_stays)
{
    hs_config.cull_threshold_ms = 0;
    start_reading();
    struct pen pen = new_slot(0);
    put_malloc(&pen, 0x1000, 100, 1, 0, 10);
    put_free(&pen, 0x1000, 0, 20);
    hold_and_finish(&pen);
    ck_assert_uint_eq(left_count, 2);
    ck_assert_uint_eq(culled[1].count, 0);
}
END_TEST

// Slots of two threads arrive in another order than their events happened.
START_TEST(free_before_the_allocation_is_another_blocks)
{
    start_reading();
    struct pen early = new_slot(0), late = new_slot(0);
    put_free(&early, 0x1000, 0, 5);
    put_malloc(&late, 0x1000, 100, 1, 0, 10);
    ck_assert(hs_cull__hold(late.slot));
    ck_assert(hs_cull__hold(early.slot));
    finish_reading();
    ck_assert_uint_eq(left_count, 2);
    ck_assert_uint_eq(culled[1].count, 0);
}
END_TEST

// Whichever of the two slots is handed over first: the free of another thread ends the block, and so does a chain that
// goes through threads.
START_TEST(what_another_thread_frees_goes)
{
    start_reading();
    struct pen one = new_slot_of(1, 0), other = new_slot_of(2, 0);
    put_malloc(&one, 0x1000, 100, 1, 0, 10);
    put_free(&other, 0x1000, 0, 20);
    put_malloc(&one, 0x1000, 100, 1, 0, 30);
    put_realloc(&other, 0x1000, 5, 0x2000, 200, 2, 0, 45);
    put_free(&one, 0x2000, 0, 60);
    ck_assert(hs_cull__hold(_i ? one.slot : other.slot));
    ck_assert(hs_cull__hold(_i ? other.slot : one.slot));
    finish_reading();
    ck_assert_uint_eq(left_count, 0);
    ck_assert_uint_eq(culled[1].count, 2);
    ck_assert_uint_eq(culled[1].lifetime, 10 + 10);
    ck_assert_uint_eq(culled[2].lifetime, 15);
}
END_TEST

// Thread 1 allocates, 2 frees, 3 gets the address again, 1 frees. What 2 and 3 did may be known later, or come at a
// time that the clock does not tell from another.
START_TEST(what_is_not_certain_stays)
{
    start_reading();
    struct pen one = new_slot_of(1, 0), two = new_slot_of(2, 0);
    put_malloc(&one, 0x1000, 100, 1, 0, 10);
    put_free(&one, 0x1000, 0, _i == 2 ? 30 : 40);
    put_free(&two, 0x1000, 0, 20);
    put_malloc(&two, 0x1000, 100, 1, 0, 30);
    ck_assert(hs_cull__hold(one.slot));
    if (_i == 0) {
        release(true);
        ck_assert_uint_eq(left_count, 2);
        ck_assert(hs_cull__hold(two.slot));
    } else if (_i == 1) {
        ck_assert(hs_cull__hold(two.slot));
        release(true);
        ck_assert_uint_eq(left_count, 0);
        ck_assert_uint_eq(hs_cull__held(), 0);
    } else {
        ck_assert(hs_cull__hold(two.slot));
    }
    finish_reading();
    ck_assert_uint_eq(left_count + 2 * (culled[1].count), 4);
    ck_assert_uint_eq(left_count, _i == 0 ? 4 : _i == 1 ? 0 : 2);
}
END_TEST

START_TEST(without_memory_nothing_is_held)
{
    struct pen pen = new_slot(0);
    put_malloc(&pen, 0x1000, 100, 1, 0, 10);
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        printf("left out: the limit on memory does not hold here, as in QEMU's user mode\n");
        return;
    }
    bool held = hs_cull__hold(pen.slot);
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert(!held);
    ck_assert_uint_eq(hs_cull__held(), 0);
}
END_TEST

START_TEST(blocks_table_holds_what_a_model_holds)
{
    struct random_numbers random = random_from(7);
    enum { PLACES = 20000 }; // the table grows
    static uint64_t times[PLACES];
    uint32_t count = 0;
    for (uint64_t now = 1; now < 400000; now++) {
        uint64_t place = random_below(&random, PLACES), address = 0x1000 + place * 4096;
        struct hs_live_block block;
        switch (random_below(&random, 3)) {
        case 0:
            hs_live_blocks__insert(address, now, (uint32_t)now, (uint32_t)place);
            count += times[place] == 0;
            times[place] = now;
            break;
        case 1:
            if (hs_live_blocks__remove(address, now, &block) != (times[place] != 0))
                ck_abort_msg("a block too many or too few");
            if (times[place] && (block.time != times[place] || block.word != place))
                ck_abort_msg("another block");
            count -= times[place] != 0;
            times[place] = 0;
            break;
        default:
            hs_live_blocks__forget(address, (uint32_t)now - 1, (uint32_t)place);
            if (times[place] && times[place] == now - 1)
                times[place] = 0, count--;
        }
        if (hs_live_blocks__count() != count)
            ck_abort_msg("count");
    }
}
END_TEST

START_TEST(blocks_beyond_the_memory_are_refused_and_the_others_kept)
{
    struct hs_live_block block;
    uint64_t kept = 0;
    hs_config.memory = 256 << 10;
    while (hs_live_blocks__insert(0x1000 + kept * 16, 1 + kept, 1, 2))
        kept++;
    ck_assert_uint_ge(kept, 2000);
    ck_assert_uint_le(kept * sizeof block, hs_config.memory / 2);
    ck_assert(hs_live_blocks__insert(0x1000, 5, 3, 4)); // one that is known needs no room
    for (uint64_t i = 0; i < kept; i++)
        ck_assert(hs_live_blocks__remove(0x1000 + i * 16, 1 + kept, &block));
    ck_assert_uint_eq(hs_live_blocks__count(), 0);
    ck_assert(hs_live_blocks__insert(0x2000, 1, 1, 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cull");
    TCase *culling = tcase_create("culling");
    tcase_add_checked_fixture(culling, setup, NULL);
    tcase_add_loop_test(culling, what_is_left_and_the_statistics_are_the_input, 0, 12);
    tcase_add_loop_test(culling, whoever_frees_it_what_is_left_and_the_statistics_are_the_input, 0, 8);
    tcase_add_loop_test(culling, what_another_thread_frees_goes, 0, 2);
    tcase_add_loop_test(culling, what_is_not_certain_stays, 0, 3);
    tcase_add_test(culling, held_slots_have_a_limit);
    tcase_add_test(culling, short_life_goes_and_is_counted);
    tcase_add_test(culling, large_blocks_stay);
    tcase_add_loop_test(culling, reallocs_go_or_stay_as_a_whole, 0, 8);
    tcase_add_loop_test(culling, a_chain_stays_for_one_of_its_parts, 0, 3);
    tcase_add_test(culling, long_life_stays);
    tcase_add_test(culling, free_before_the_allocation_is_another_blocks);
    tcase_add_test(culling, without_memory_nothing_is_held);
    tcase_add_test(culling, blocks_table_holds_what_a_model_holds);
    tcase_add_test(culling, blocks_beyond_the_memory_are_refused_and_the_others_kept);
    suite_add_tcase(suite, culling);
    return run_suite(suite);
}
