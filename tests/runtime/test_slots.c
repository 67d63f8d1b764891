// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Slots going round between threads and a writer: none is lost, none is in two hands, every one comes in order.
#include "random.h"

#include "format/chunk.h"
#include "runtime/slots.h"
#include "tests/suite.h"

#include <check.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOTS = 24, RECORDERS = 6, TURNS = 5000, STEP = HS_SLOT_EVENTS_SIZE / 8 / 64 };

static uint8_t *memory;
static atomic_int owners[SLOTS];
static atomic_bool finished;
static uint64_t seen_turns[RECORDERS + 1];

static void setup(void)
{
    memory = aligned_alloc(4096, (size_t)SLOTS * HS_SLOT_SIZE);
    memset(memory, 0, (size_t)SLOTS * HS_SLOT_SIZE);
    ck_assert(hs_slots__add(memory, true, SLOTS));
}

static atomic_int *owner_of(const struct hs_slot *slot)
{
    size_t place = (size_t)(slot->memory - memory) / HS_SLOT_SIZE;
    ck_assert_uint_lt(place, SLOTS);
    return &owners[place];
}

static struct hs_slot *take_patiently(uint32_t stream)
{
    for (;;) {
        struct hs_slot *slot = hs_slots__take(HS_SLOT_EVENTS, stream, 7);
        if (slot)
            return slot;
        hs_slots__wait(1000000);
    }
}

static void *record(void *argument)
{
    uint32_t stream = (uint32_t)(uintptr_t)argument;
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        struct hs_slot *slot = take_patiently(stream);
        ck_assert_int_eq(atomic_fetch_add(owner_of(slot), 1), 0);
        uint64_t *records = hs_slot__records(slot);
        for (unsigned i = 0; i < 64; i++)
            if (records[i * STEP])
                ck_abort_msg("a slot that was not emptied");
        records[0] = turn;
        records[63 * STEP] = turn ^ stream;
        ck_assert_int_eq(atomic_fetch_sub(owner_of(slot), 1), 1);
        hs_slots__submit(slot);
    }
    return NULL;
}

static void check_submitted(struct hs_slot *slot)
{
    ck_assert_int_eq(atomic_fetch_add(owner_of(slot), 1), 0);
    const struct hs_slot_header *header = hs_slot__header(slot);
    ck_assert_uint_eq(header->use, HS_SLOT_EVENTS);
    ck_assert_uint_eq(header->base_time, 7);
    uint64_t turn = hs_slot__records(slot)[0];
    ck_assert_uint_eq(turn, ++seen_turns[header->stream]);
    ck_assert_uint_eq(hs_slot__records(slot)[63 * STEP], turn ^ header->stream);
    ck_assert_int_eq(atomic_fetch_sub(owner_of(slot), 1), 1);
}

static void *write_out(void *unused)
{
    for (bool last = false; !last;) {
        last = finished;
        for (struct hs_slot *slot = hs_slots__collect(), *next; slot; slot = next) {
            next = hs_slots__next(slot);
            check_submitted(slot);
            hs_slots__give_back(slot);
        }
    }
    return unused;
}

START_TEST(slots_go_round)
{
    pthread_t recorders[RECORDERS], writer;
    ck_assert_int_eq(pthread_create(&writer, NULL, write_out, NULL), 0);
    for (uintptr_t t = 0; t < RECORDERS; t++)
        ck_assert_int_eq(pthread_create(&recorders[t], NULL, record, (void *)(t + 1)), 0);
    for (int t = 0; t < RECORDERS; t++)
        ck_assert_int_eq(pthread_join(recorders[t], NULL), 0);
    finished = true;
    ck_assert_int_eq(pthread_join(writer, NULL), 0);
    for (int t = 1; t <= RECORDERS; t++)
        ck_assert_uint_eq(seen_turns[t], TURNS);
    ck_assert_uint_eq(hs_slots__free(), SLOTS);
    ck_assert_uint_eq(hs_slots__submitted(), 0);
    bool taken[SLOTS] = {false};
    for (int i = 0; i < SLOTS; i++) {
        struct hs_slot *slot = hs_slots__take(HS_SLOT_META, 0, 0);
        ck_assert_ptr_nonnull(slot);
        ck_assert_uint_eq(hs_slot__header(slot)->sequence, (uint64_t)RECORDERS * TURNS + (uint64_t)i + 1);
        size_t place = (size_t)(slot->memory - memory) / HS_SLOT_SIZE;
        ck_assert(!taken[place]);
        taken[place] = true;
    }
    ck_assert_ptr_null(hs_slots__take(HS_SLOT_META, 0, 0));
}
END_TEST

// As far as its use may fill it, and no page further.
START_TEST(slot_is_emptied)
{
    static const struct {
        uint32_t use;
        size_t size;
    } uses[] = {{HS_SLOT_META, HS_SLOT_RECORDS_SIZE}, {HS_SLOT_EVENTS, HS_SLOT_EVENTS_SIZE}};
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        struct hs_slot *slot = hs_slots__take(uses[i].use, 1, 0);
        uint8_t *records = (uint8_t *)hs_slot__records(slot);
        if (uses[i].use == HS_SLOT_META)
            slot->filled = HS_SLOT_RECORDS_SIZE;
        ck_assert_uint_eq(slot->filled, uses[i].size);
        memset(records, 0xff, uses[i].size);
        size_t behind = HS_SLOT_RECORDS_SIZE - uses[i].size;
        if (behind)
            ck_assert_int_eq(mprotect(records + uses[i].size, behind, PROT_NONE), 0);
        hs_slots__give_back(slot);
        for (size_t at = 0; at < uses[i].size; at++)
            ck_assert_uint_eq(records[at], 0);
        if (behind) // a checker of leaks reads them
            ck_assert_int_eq(mprotect(records + uses[i].size, behind, PROT_READ | PROT_WRITE), 0);
    }
}
END_TEST

START_TEST(new_slot_is_a_live_chunk)
{
    struct hs_chunk_header chunk;
    for (int i = 0; i < SLOTS; i++) {
        ck_assert_int_eq(hs_chunk_read(memory + (size_t)i * HS_SLOT_SIZE, &chunk), 0);
        ck_assert_uint_eq(chunk.kind, HS_CHUNK_SLOT);
        ck_assert_uint_eq(chunk.flags, HS_CHUNK_LIVE);
        ck_assert_uint_eq(hs_chunk_size(chunk.stored_length), HS_SLOT_SIZE);
    }
}
END_TEST

static sigjmp_buf before_fault;

static void on_fault(int number)
{
    siglongjmp(before_fault, number);
}

// Whoever outlives a killed program reads all slots that are counted. Here the program ends within each of the new
// ones.
START_TEST(what_is_counted_is_there)
{
    enum { ADDED = 8 };
    signal(SIGSEGV, on_fault);
    for (volatile size_t missing = 0; missing < ADDED; missing++) {
        uint8_t *added =
            mmap(NULL, (size_t)ADDED * HS_SLOT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(added, MAP_FAILED);
        ck_assert_int_eq(mprotect(added + missing * HS_SLOT_SIZE, HS_SLOT_SIZE, PROT_NONE), 0);
        if (sigsetjmp(before_fault, 1) == 0) {
            hs_slots__add(added, true, ADDED);
            ck_abort_msg("nothing was written to slot %zu", missing);
        }
        ck_assert_uint_ge(hs_slots__total(), SLOTS);
        for (uint32_t i = 0; i < hs_slots__total(); i++)
            ck_assert_ptr_nonnull(hs_slots__at(i)->memory);
    }
}
END_TEST

START_TEST(table_has_an_end)
{
    uint32_t total = hs_slots__total();
    uint8_t *block = calloc(8, HS_SLOT_SIZE);
    while (hs_slots__add(block, false, 8))
        total += 8;
    ck_assert_uint_eq(hs_slots__total(), total);
    ck_assert_uint_le(total, 8192);
    hs_slots__reset();
    ck_assert_uint_eq(hs_slots__total(), 0);
    ck_assert_ptr_null(hs_slots__take(HS_SLOT_EVENTS, 1, 0));
    ck_assert(hs_slots__add(memory, false, 1));
    ck_assert_ptr_nonnull(hs_slots__take(HS_SLOT_EVENTS, 1, 0));
    free(block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slots");
    TCase *slots = tcase_create("slots");
    tcase_add_checked_fixture(slots, setup, NULL);
    tcase_add_test(slots, slots_go_round);
    tcase_add_test(slots, slot_is_emptied);
    tcase_add_test(slots, new_slot_is_a_live_chunk);
    tcase_add_test(slots, what_is_counted_is_there);
    tcase_add_test(slots, table_has_an_end);
    suite_add_tcase(suite, slots);
    return run_suite(suite);
}
