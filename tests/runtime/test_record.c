// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What goes into the recorder comes out of its file: every kind of record, with a clock that the test sets.
#include "random.h"
#include "trace_reader.h"

#include "runtime/clock.h"
#include "runtime/cull.h"
#include "runtime/enter.h"
#include "runtime/journal.h"
#include "runtime/record.h"
#include "runtime/stacks.h"
#include "runtime/stream/slot_copies.h"
#include "runtime/stream/stream_internal.h"
#include "runtime/vdso.h"
#include "runtime/writer.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MOST = 200000 };

static char path[] = "/tmp/heapsonde-record-XXXXXX";
static uint64_t fake_now; // 0: the real time
static struct hs_event *expected;
static size_t count;
static uint64_t last_time;
static struct hs_registers caller;

// In place of the kernel's, for the recorder alone.
static long fake_clock(int clock, struct hs_time *time)
{
    if (!fake_now || clock != CLOCK_MONOTONIC)
        return hs_system_clock(clock, time);
    *time = hs_system_time((int64_t)fake_now);
    return 0;
}

static void set_time(uint64_t now)
{
    hs_vdso__clock = fake_clock;
    fake_now = hs_clock.start + now;
}

static void __attribute__((noinline)) record_to(const char *output)
{
    close(mkstemp(path));
    setenv("HEAPSONDE_OUTPUT", output, 1);
    setenv("HEAPSONDE_WRITER", "inline", 1);
    ck_assert_uint_eq(hs_process__wake(), HS_MODE_ALLOC | HS_MODE_FREE);
    hs_clock.source = HS_CLOCK_MONOTONIC;
    hs_clock.shift = 0;
    hs_clock.start = hs_clock.start_monotonic_ns;
    set_time(1);
    HS_CAPTURE_CALLER(&caller);
    expected = calloc(EVENTS_MOST, sizeof *expected);
}

static void setup(void)
{
    record_to(path);
}

static void teardown(void)
{
    unlink(path);
}

// The recorder's time for an event at `now`: never before the one before it, except where a slot begins.
static void expect(const struct hs_thread *thread, struct hs_event event, uint64_t now)
{
    bool new_slot = thread->at >= thread->limit;
    last_time = new_slot || now > last_time ? now : last_time;
    event.time = last_time;
    if (event.kind == HS_EVENT_REALLOC)
        event.begin_time = last_time - event.begin_time;
    expected[count++] = event;
}

static struct hs_thread *enter(void)
{
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
    if (!thread || thread->inside != HS_INSIDE_REAL)
        ck_abort_msg("not let in");
    return thread;
}

static void allocate(uint64_t kind, uint64_t address, uint64_t size, uint64_t usable, uint64_t now)
{
    struct hs_thread *thread = enter();
    set_time(now);
    expect(thread, (struct hs_event){.kind = (uint8_t)kind, .address = address, .size = size, .usable = usable}, now);
    hs_record__allocation(thread, &caller, (uint32_t)kind, address, size, usable);
    hs_record__leave(thread);
}

static void release(uint64_t address, uint64_t now, bool at)
{
    struct hs_thread *thread = enter();
    set_time(at ? now + 1000000 : now);
    expect(thread, (struct hs_event){.kind = HS_EVENT_FREE, .address = address}, now);
    if (at)
        hs_record__free_at(thread, &caller, address, now);
    else
        hs_record__free(thread, &caller, address);
    hs_record__leave(thread);
}

static void reallocate(uint64_t old, uint64_t began, uint64_t address, uint64_t size, uint64_t usable, uint64_t now)
{
    struct hs_thread *thread = enter();
    set_time(now);
    expect(thread,
           (struct hs_event){.kind = HS_EVENT_REALLOC,
                             .address = address,
                             .size = size,
                             .usable = usable,
                             .old_address = old,
                             .begin_time = now > began ? now - began : 0},
           now);
    hs_record__reallocation(thread, &caller, old, began, address, size, usable);
    hs_record__leave(thread);
}

static void map(uint64_t address, uint64_t length, uint64_t now)
{
    uint32_t before;
    struct hs_thread *thread = hs_record__enter_map(&before);
    ck_assert_ptr_nonnull(thread);
    set_time(now);
    uint64_t words[] = {address, length, 3 | 0x22ull << 32, (uint32_t)-1, 0x1000, 77};
    expect(thread,
           (struct hs_event){.kind = HS_EVENT_MMAP,
                             .address = address,
                             .size = length,
                             .protection = 3,
                             .map_flags = 0x22,
                             .fd = -1,
                             .offset = 0x1000,
                             .asked = 77},
           now);
    hs_record__wide(thread, &caller, HS_WIDE_MMAP, words, 6, 3, 32);
    thread->inside = before;
}

// Not by Check's assertions, which are system calls.
static bool same_event(const struct trace *trace, const struct hs_event *got, const struct hs_event *wanted)
{
    bool stack = got->kind == HS_EVENT_FREE ? got->stack == 0 : trace->nodes[got->stack].pc == caller.pc;
    return stack && got->kind == wanted->kind && got->time == wanted->time && got->address == wanted->address &&
           got->size == wanted->size && got->usable == wanted->usable && got->old_address == wanted->old_address &&
           got->begin_time == wanted->begin_time && got->fd == wanted->fd;
}

static void expect_trace(size_t sealed_at_least)
{
    struct trace trace;
    ck_assert(trace_read(path, &trace));
    ck_assert_uint_eq(trace.damaged, 0);
    ck_assert_uint_eq(trace.count, count);
    ck_assert_uint_ge(trace.sealed, sealed_at_least);
    for (size_t i = 0; i < count; i++)
        if (!same_event(&trace, &trace.events[i], &expected[i]))
            ck_abort_msg("event %zu of kind %u is another one", i, expected[i].kind);
    for (int i = 0; i < HS_DROP_COUNT; i++)
        ck_assert_uint_eq(trace.header.live.dropped[i], 0);
    fake_now = 0;
    trace_free(&trace);
}

// ---- single records ------------------------------------------------------------------------------------------------

START_TEST(every_kind_and_every_edge)
{
    uint64_t t = 10;
    for (uint64_t kind = HS_EVENT_MALLOC; kind <= HS_EVENT_ALIGNED; kind++) {
        allocate(kind, 0x1000, 100, hs_usable_model(100, 8), t += 5);
        allocate(kind, 0x2000, 100, 4096, t += 5);
        allocate(kind, 0x2001, 100, 100, t += 5);               // unaligned
        allocate(kind, 0x7ffffffffff8, 0, 24, t += 5);          // the last user address
        allocate(kind, 0xffffffffff600000, 1, 24, t += 5);      // more than 47 bits
        allocate(kind, 0x3000, UINT32_MAX, UINT64_MAX, t += 5); // the largest short size
        allocate(kind, 0x4000, 1ull << 32, 1ull << 33, t += 5); // the smallest wide one
        allocate(kind, 0x5000, UINT64_MAX, UINT64_MAX, t += 5); //
    }
    for (int at = 0; at < 2; at++) {
        release(0x1000, t += 5, at);
        release(0x2001, t += 5, at);
        release(0xffffffffff600000, t += 5, at);
    }
    reallocate(0x1000, t, 0x9000, 50, hs_usable_model(50, 8), t + 20);
    reallocate(0x9001, t + 20, 0xa000, 50, 70, t + 40);
    reallocate(1ull << 48, t + 40, 0xa000, 50, 70, t + 60);
    reallocate(0xa000, t + 60, 0xa004, 50, 70, t + 80);
    reallocate(0xa000, t + 80, 0xb000, 1ull << 40, 1ull << 40, t + 100);
    reallocate(0xb000, t + 100, 0xb000, 9, 24, t + 100 + 0xffff);
    reallocate(0xb000, t + 200 + 0xffff, 0xb000, 9, 24, t + 200 + 0xffff + 0x10000);
    map(0x10000, 1ull << 45, t + 0x30000);
    expect_trace(0);
    hs_process__exit();
    expect_trace(count);
}
END_TEST

START_TEST(gaps_and_steps_back_in_time)
{
    static const uint64_t times[] = {1, 0x10000, 0x20000,          0x2ffff,         1ull << 40,
                                     5, 6,       (1ull << 40) + 1, (1ull << 59) - 1};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        release(0x1000 + i * 8, times[i], false);
        allocate(HS_EVENT_MALLOC, 0x2001 + i * 8, 9, 24, times[i]);
    }
    expect_trace(0);
    hs_process__exit();
    expect_trace(count);
}
END_TEST

// ---- many records --------------------------------------------------------------------------------------------------

static uint64_t random_address(struct random_numbers *random)
{
    uint64_t address = 0x550000000000 + random_below(random, 1 << 20) * 16;
    return random_below(random, 30) ? address : address + random_below(random, 16);
}

static void random_event(struct random_numbers *random, uint64_t now, uint64_t before)
{
    uint64_t size = random_below(random, 20) ? random_below(random, 1 << 16) : random_next(random);
    uint64_t usable = random_below(random, 3) ? hs_usable_model(size, 8) : size + 5;
    switch (random_below(random, 6)) {
    case 0:
    case 1:
        release(random_address(random), now, random_below(random, 4) == 0);
        break;
    case 2:
        reallocate(random_address(random), before, random_address(random), size, usable, now);
        break;
    case 3:
        if (random_below(random, 40) == 0)
            map(random_address(random) & ~0xfffull, size, now);
        break;
    default:
        allocate(HS_EVENT_MALLOC + random_below(random, 3), random_address(random), size, usable, now);
    }
}

START_TEST(random_records_through_many_slots)
{
    struct random_numbers random = random_from(200 + (uint64_t)_i);
    uint64_t now = 1;
    for (int i = 0; i < 60000; i++) {
        uint64_t before = now;
        now += random_below(&random, random_below(&random, 30) ? 300 : 400000);
        random_event(&random, now, before);
    }
    expect_trace(1); // as a kill would leave it
    hs_process__exit();
    expect_trace(count);
}
END_TEST

// ---- hooks inside hooks --------------------------------------------------------------------------------------------

START_TEST(hooks_are_refused_inside)
{
    struct hs_thread *thread = enter();
    ck_assert_ptr_null(hs_record__enter(HS_MODE_ALLOC));
    uint32_t before;
    ck_assert_ptr_eq(hs_record__enter_map(&before), thread);
    ck_assert_uint_eq(before, HS_INSIDE_REAL);
    thread->inside = HS_INSIDE_RECORDER;
    ck_assert_ptr_null(hs_record__enter_map(&before));
    hs_record__leave(thread);
    ck_assert_ptr_nonnull(hs_record__enter(HS_MODE_FREE));
}
END_TEST

// A thread that was left inside recovers; one whose handlers allocate now and then is never taken for that.
START_TEST(only_refusals_in_a_row_mean_abandoned)
{
    enum { MANY = 9000 };
    struct hs_thread *thread = enter();
    hs_record__leave(thread);
    for (int round = 0; round < 5; round++) {
        thread = enter();
        thread->inside = HS_INSIDE_RECORDER;
        for (int i = 0; i < MANY; i++)
            ck_assert_ptr_null(hs_record__enter(HS_MODE_ALLOC));
        ck_assert_uint_eq(thread->inside, HS_INSIDE_RECORDER);
        hs_record__leave(thread);
    }
    thread = enter();
    int refused = 0;
    for (; thread->inside && refused < 100000; refused++)
        hs_record__enter(HS_MODE_ALLOC);
    ck_assert_int_gt(refused, MANY);
    ck_assert_int_lt(refused, 100000);
    allocate(HS_EVENT_MALLOC, 0x1000, 8, 24, 50);
    hs_process__exit();
    struct trace trace;
    ck_assert(trace_read(path, &trace));
    ck_assert_uint_eq(trace.header.live.dropped[HS_DROP_NESTED], 5 * MANY);
    ck_assert_uint_eq(trace.count, 1);
    trace_free(&trace);
}
END_TEST

START_TEST(pause_keeps_frees)
{
    allocate(HS_EVENT_MALLOC, 0x1000, 8, 24, 50);
    hs_process__set_recording(false);
    ck_assert_ptr_null(hs_record__enter(HS_MODE_ALLOC));
    struct hs_thread *thread = hs_record__enter(HS_MODE_FREE);
    ck_assert_ptr_nonnull(thread);
    hs_record__leave(thread);
    hs_process__set_recording(true);
    ck_assert(hs_journal__mark(thread->stream, 4, "four"));
    release(0x1000, 60, false);
    hs_process__exit();
    struct trace trace;
    ck_assert(trace_read(path, &trace));
    ck_assert_uint_eq(trace.toggles, 2);
    ck_assert_uint_eq(trace.marks, 1);
    ck_assert_uint_eq(trace.threads, 1);
    ck_assert_uint_eq(trace.header.live.state, HS_STATE_CLOSED);
    trace_free(&trace);
    expect_trace(2);
}
END_TEST

// ---- a stream that loses events ------------------------------------------------------------------------------------

// To a pipe that is full.
static void setup_stream(void)
{
    char output[32];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], ends, 1) == 1)
        continue;
    snprintf(output, sizeof output, "fd:%d", ends[1]);
    setenv("HEAPSONDE_CULL_TEMPORARY_ALLOCATIONS", "1", 1);
    setenv("HEAPSONDE_STREAM_BUFFER", "262144", 1);
    record_to(output);
}

// What would be sent.
static void write_stream(void)
{
    FILE *file = fopen(path, "wb");
    const uint8_t *data;
    uint32_t length, head = hs_stream_ring__head(&hs_stream.ring);
    ck_assert_uint_le(head, hs_stream.ring.size);
    length = hs_stream_ring__peek(&hs_stream.ring, 0, &data);
    ck_assert_uint_eq(length, head);
    fwrite(data, 1, head, file);
    fwrite(hs_stream.kept + hs_stream.kept_begin, 1, hs_stream.kept_end - hs_stream.kept_begin, file);
    fclose(file);
}

// Each block of a buffer that was flushed before it got lost counts as lost or as culled, not in the copy.
START_TEST(a_lost_buffer_leaves_no_copy)
{
    struct trace trace;
    uint64_t now = 1;
    allocate(HS_EVENT_MALLOC, 0x2000, 100, 4096, ++now);
    const struct hs_slot *slot = hs_thread_self->slot;
    while (!hs_cull__held()) {
        allocate(HS_EVENT_MALLOC, 0x1000, 100, 4096, ++now);
        release(0x1000, ++now, false);
    }
    while (hs_stream__copy_slot(slot))
        continue;
    ck_assert(hs_writer__sync());
    write_stream();
    ck_assert(trace_read(path, &trace));
    ck_assert_uint_eq(trace.damaged, 0);
    ck_assert_uint_eq(trace.count, 0);
    ck_assert_uint_gt(trace.culled, 100);
    ck_assert_uint_eq(hs_stream.dropped[HS_STREAM_DROPPED_META], 0);
    // One or two events are in the next buffer.
    ck_assert_uint_lt(2 * trace.culled + hs_stream__lost(), count);
    ck_assert_uint_ge(2 * trace.culled + hs_stream__lost() + 2, count);
    trace_free(&trace);
}
END_TEST

static uint32_t times_locked;

static long clock_that_looks(int clock, struct hs_time *time)
{
    if (hs_stacks__try_lock((uint32_t)getppid()))
        hs_stacks__unlock();
    else
        times_locked++;
    return hs_system_clock(clock, time);
}

// A detach ends the recording while threads are still in it: they lock what they share as before.
START_TEST(a_record_that_nobody_owns)
{
    struct hs_thread *thread = enter();
    hs_threads__disown();
    hs_vdso__clock = clock_that_looks;
    hs_record__allocation(thread, &caller, HS_RECORD_MALLOC, 0x1000, 10, 16);
    hs_record__leave(thread);
    ck_assert_uint_gt(times_locked, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *records = tcase_create("records");
    tcase_add_checked_fixture(records, setup, teardown);
    tcase_add_test(records, every_kind_and_every_edge);
    tcase_add_test(records, gaps_and_steps_back_in_time);
    tcase_add_loop_test(records, random_records_through_many_slots, 0, 4);
    tcase_add_test(records, hooks_are_refused_inside);
    tcase_add_test(records, only_refusals_in_a_row_mean_abandoned);
    tcase_add_test(records, pause_keeps_frees);
    tcase_add_test(records, a_record_that_nobody_owns);
    suite_add_tcase(suite, records);
    TCase *stream = tcase_create("stream");
    tcase_add_checked_fixture(stream, setup_stream, teardown);
    tcase_add_test(stream, a_lost_buffer_leaves_no_copy);
    suite_add_tcase(suite, stream);
    return run_suite(suite);
}
