// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When the sender copies buffers that fill slowly, and what the copies have, with a clock and a stream that the test
// sets.
#include "format/chunk.h"
#include "format/event_codec.h"
#include "runtime/config.h"
#include "runtime/cull.h"
#include "runtime/journal.h"
#include "runtime/slots.h"
#include "runtime/stacks.h"
#include "runtime/stream/slot_copies.h"
#include "runtime/stream/stream.h"
#include "runtime/stream/stream_internal.h"
#include "runtime/threads.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4, RECORDS_OFFSET = HS_SLOT_RECORDS_OFFSET - HS_CHUNK_HEADER_SIZE, WORDS = HS_SLOT_EVENTS_SIZE / 8 };
#define SECOND 1000000000ull

static uint64_t now;
static unsigned copies, flushes;
static uint64_t copied_bytes;
static uint32_t uses[SLOTS];       // of the copies, in their order
static uint8_t last[HS_SLOT_SIZE]; // the payload of the last copy
static uint32_t last_length;
static const struct hs_slot *parted;
static struct hs_slot *journal_slot;
static struct hs_slot *returned; // by its thread while the sender waits for the lock
static bool culls;
static uint64_t replaced; // the number of the slot whose copy was

// ---- in place of the rest of the recorder ---------------------------------------------------------------------------

struct hs_config hs_config;
struct hs_stream hs_stream;

static void take_again(struct hs_slot *slot);

bool hs_stream__lock(void)
{
    struct hs_slot *slot = returned;
    returned = NULL;
    if (slot)
        take_again(slot);
    return true;
}

void hs_stream__unlock(void)
{
}

void hs_stream__put_chunk(const void *header, const void *payload, uint32_t length)
{
    struct hs_chunk_header chunk;
    ck_assert_int_eq(hs_chunk_read(header, &chunk), 0);
    ck_assert_uint_eq(chunk.kind, HS_CHUNK_SLOT);
    ck_assert_uint_eq(chunk.stored_length, length);
    memcpy(last, payload, length);
    last_length = length;
    memcpy(&uses[copies++ % SLOTS], payload, sizeof(uint32_t));
    copied_bytes += length;
    atomic_fetch_add(&hs_stream.ring.head, (uint32_t)hs_chunk_size(length));
    atomic_store(&hs_stream.ring.tail, atomic_load(&hs_stream.ring.head)); // the host has it
}

bool hs_stream__append(const void *header, const void *payload, uint32_t length, uint32_t events)
{
    struct hs_chunk_header chunk;
    (void)payload;
    ck_assert_int_eq(hs_chunk_read(header, &chunk), 0);
    ck_assert_uint_eq(chunk.kind, HS_CHUNK_META);
    ck_assert_uint_eq(length + events, 0);
    replaced = chunk.sequence;
    return true;
}

void hs_stacks__flush(uint32_t tid)
{
    (void)tid;
    flushes++;
    if (journal_slot)
        hs_slots__submit(journal_slot);
}

void hs_journal__flush_others(void)
{
}

bool hs_cull__is_on(void)
{
    return culls;
}

void hs_threads__part_from(const struct hs_slot *slot)
{
    parted = slot;
}

// ---- tests ----------------------------------------------------------------------------------------------------------

static void setup(void)
{
    uint8_t *memory = aligned_alloc(4096, (size_t)SLOTS * HS_SLOT_SIZE);
    memset(memory, 0, (size_t)SLOTS * HS_SLOT_SIZE);
    ck_assert(hs_slots__add(memory, false, SLOTS));
    hs_stream.ring.size = 1 << 20;
    atomic_store(&hs_stream.ring.head, 4096);
    atomic_store(&hs_stream.ring.tail, 4096);
    now = SECOND;
    hs_stream_source__sender_begins();
    hs_stream_source__show(now);
}

static struct hs_slot *take(uint32_t use)
{
    struct hs_slot *slot = hs_slots__take(use, 1, now);
    ck_assert_ptr_nonnull(slot);
    return slot;
}

// A free() from word `at` on.
static void add_record(struct hs_slot *slot, uint32_t at)
{
    hs_slot__records(slot)[at] = HS_RECORD_FREE | 0x1000ull << HS_RECORD_ADDRESS_POS;
}

static void take_again(struct hs_slot *slot)
{
    hs_slots__give_back(slot);
    ck_assert_ptr_eq(take(HS_SLOT_EVENTS), slot);
    add_record(slot, 0);
}

// The sender is awake ten times a second. Returns how many copies it makes in this time.
static unsigned wait_for(double seconds)
{
    unsigned before = copies;
    for (uint64_t end = now + (uint64_t)(seconds * SECOND); now < end;) {
        now += SECOND / 10;
        hs_stream_source__show(now);
    }
    return copies - before;
}

START_TEST(quiet)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    add_record(slot, 0);
    ck_assert_uint_eq(wait_for(3.9), 0);
    ck_assert_uint_eq(wait_for(2), 1);
    ck_assert_uint_ge(last_length, RECORDS_OFFSET + 8);
    ck_assert_mem_eq(last, slot->memory + HS_CHUNK_HEADER_SIZE, last_length);
    // Nothing new, nothing sent.
    ck_assert_uint_eq(wait_for(3600), 0);
    ck_assert_uint_eq(flushes, 1);
    hs_slots__submit(slot);
    hs_slots__give_back(hs_slots__collect());
    ck_assert_uint_eq(wait_for(3600), 0);
    // The same memory is another slot.
    slot = take(HS_SLOT_EVENTS);
    add_record(slot, 0);
    ck_assert_uint_eq(wait_for(6.5), 1);
}
END_TEST

START_TEST(doubling)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    uint32_t words = 0;
    while (words < 10)
        add_record(slot, words++);
    ck_assert_uint_eq(wait_for(7), 1);
    while (words < 19)
        add_record(slot, words++);
    ck_assert_uint_eq(wait_for(12), 0);
    add_record(slot, words);
    ck_assert_uint_eq(wait_for(2), 1);
    ck_assert_ptr_null(parted);
}
END_TEST

// What one reader takes for all there was up to a time.
START_TEST(together)
{
    struct hs_slot *slots[] = {take(HS_SLOT_EVENTS), take(HS_SLOT_EVENTS), take(HS_SLOT_EVENTS)};
    for (uint32_t words = 0; words < 10; words++)
        for (unsigned i = 0; i < 3; i++)
            add_record(slots[i], words);
    ck_assert_uint_eq(wait_for(7), 3);
    add_record(slots[1], 10);
    ck_assert_uint_eq(wait_for(8), 0);
    for (uint32_t words = 10; words < 20; words++)
        add_record(slots[2], words);
    ck_assert_uint_eq(wait_for(7), 2);
}
END_TEST

// Whatever doubling would take.
START_TEST(not_later_than_that)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    for (uint32_t words = 0; words < 60; words++) {
        add_record(slot, words);
        ck_assert_uint_ge(wait_for(19), 1);
        ck_assert_mem_eq(last + RECORDS_OFFSET + 8 * words, hs_slot__records(slot) + words, 8);
    }
    ck_assert_uint_eq(wait_for(3600), 0);
    ck_assert_uint_le(copied_bytes, copies * (RECORDS_OFFSET + 8 * 60 + 96));
}
END_TEST

// What begins with much and goes on with little.
START_TEST(a_large_copy_delays_little)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    for (uint32_t words = 0; words < WORDS - 10; words++)
        add_record(slot, words);
    ck_assert_uint_eq(wait_for(7), 1);
    hs_slots__submit(slot);
    slot = take(HS_SLOT_EVENTS);
    add_record(slot, 0);
    ck_assert_uint_eq(wait_for(19), 1);
}
END_TEST

// A thread that parts from its buffer adds the next record to another one.
static struct hs_slot *part(struct hs_slot *slot, uint32_t *words)
{
    if (parted != slot)
        return slot;
    parted = NULL;
    *words = 0;
    hs_slots__submit(slot);
    hs_slots__give_back(hs_slots__collect());
    return take(HS_SLOT_EVENTS);
}

START_TEST(bounded)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    uint64_t began = now;
    for (uint32_t records = 0, words = 0; records < WORDS; records++) {
        add_record(slot, words++);
        wait_for(3);
        slot = part(slot, &words);
        ck_assert_uint_le(copied_bytes, (now - began) / SECOND * 200 + HS_SLOT_SIZE);
    }
    ck_assert_uint_ge(copies, 8);
}
END_TEST

// Its thread goes on in another one, of which the first record is new.
START_TEST(parting)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    for (uint32_t words = 0; words < 100; words++)
        add_record(slot, words);
    ck_assert_uint_eq(wait_for(7), 1);
    ck_assert_ptr_eq(parted, slot);
    hs_slots__submit(slot);
    struct hs_slot *next = take(HS_SLOT_EVENTS);
    add_record(next, 0);
    ck_assert_uint_eq(wait_for(12), 1);
    ck_assert_mem_eq(last, next->memory + HS_CHUNK_HEADER_SIZE, last_length);
}
END_TEST

START_TEST(busy)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    add_record(slot, 0);
    for (unsigned i = 0; i < 20; i++) {
        atomic_fetch_add(&hs_stream.ring.head, 1000);
        atomic_fetch_add(&hs_stream.ring.tail, 1000);
        ck_assert_uint_eq(wait_for(4.9), 0);
    }
    ck_assert_uint_eq(wait_for(1.3), 1);
}
END_TEST

// Its last words may be zero.
START_TEST(whole_records)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    hs_slot__records(slot)[0] = HS_RECORD_WIDE | (uint64_t)HS_WIDE_MMAP << 4 | 6ull << 12;
    hs_slot__records(slot)[1] = 0x7f0000000000;
    ck_assert_uint_eq(wait_for(7), 1);
    const struct hs_codec_target target = {
        __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? HS_BYTE_ORDER_BIG : HS_BYTE_ORDER_LITTLE, sizeof(void *), 0};
    struct hs_event event[2];
    int damaged;
    ck_assert_uint_eq(
        hs_records_decode(&target, last + RECORDS_OFFSET, (last_length - RECORDS_OFFSET) / 8, 0, event, 2, &damaged),
        1);
    ck_assert_int_eq(damaged, 0);
}
END_TEST

START_TEST(explained_first)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    journal_slot = take(HS_SLOT_META);
    add_record(slot, 0);
    add_record(journal_slot, 0);
    ck_assert_uint_eq(wait_for(7), 2);
    ck_assert_uint_eq(uses[0], HS_SLOT_META);
    ck_assert_uint_eq(uses[1], HS_SLOT_EVENTS);
    ck_assert_uint_eq(flushes, 1);
}
END_TEST

START_TEST(no_room)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    add_record(slot, 0);
    hs_stream.ring.size = 512;
    ck_assert_uint_eq(wait_for(60), 0);
    hs_stream.ring.size = 1 << 20;
    ck_assert_uint_eq(wait_for(7), 1);
}
END_TEST

// What is culled must not be in a copy, and sums are written at their own times.
START_TEST(other_modes)
{
    add_record(take(HS_SLOT_EVENTS), 0);
    culls = true;
    ck_assert_uint_eq(wait_for(60), 0);
    culls = false;
    hs_config.aggregate = true;
    ck_assert_uint_eq(wait_for(60), 0);
    hs_config.aggregate = false;
    ck_assert_uint_eq(wait_for(2), 1);
}
END_TEST

// Given back without a chunk.
START_TEST(only_copies_are_replaced)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS), *other = take(HS_SLOT_EVENTS);
    uint64_t sequence = hs_slot__header(slot)->sequence;
    ck_assert(hs_stream__copy_slot(slot));
    hs_stream__withdraw_slot(other);
    ck_assert_uint_eq(replaced, 0);
    hs_stream__withdraw_slot(slot);
    ck_assert_uint_eq(replaced, sequence);
    replaced = 0;
    ck_assert_ptr_eq(take(HS_SLOT_EVENTS), slot); // the one that was given back last
    hs_stream__withdraw_slot(slot);
    ck_assert_uint_eq(replaced, 0);
}
END_TEST

// What is known of a copy is about the use of the slot that it has.
START_TEST(taken_again_before_it_is_copied)
{
    struct hs_slot *slot = take(HS_SLOT_EVENTS);
    uint64_t before = hs_slot__header(slot)->sequence;
    add_record(slot, 0);
    returned = slot;
    ck_assert_uint_eq(wait_for(6), 1);
    uint64_t sequence = hs_slot__header(slot)->sequence;
    ck_assert_uint_ne(sequence, before);
    hs_stream__withdraw_slot(slot);
    ck_assert_uint_eq(replaced, sequence);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slot copies");
    TCase *tests = tcase_create("slot copies");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, quiet);
    tcase_add_test(tests, doubling);
    tcase_add_test(tests, together);
    tcase_add_test(tests, not_later_than_that);
    tcase_add_test(tests, a_large_copy_delays_little);
    tcase_add_test(tests, bounded);
    tcase_add_test(tests, parting);
    tcase_add_test(tests, busy);
    tcase_add_test(tests, whole_records);
    tcase_add_test(tests, explained_first);
    tcase_add_test(tests, no_room);
    tcase_add_test(tests, other_modes);
    tcase_add_test(tests, only_copies_are_replaced);
    tcase_add_test(tests, taken_again_before_it_is_copied);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
