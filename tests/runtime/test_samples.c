// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a ring to the trace: the whole recorder, and in place of the kernel a ring in memory that this suite fills.
#include "trace_reader.h"

#include "runtime/output.h"
#include "runtime/perf/open.h"
#include "runtime/perf/perf.h"
#include "runtime/perf/sample.h"
#include "runtime/process.h"
#include "tests/suite.h"
#include "unwind/walk.h"

#include <check.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 1 << 20, COPY = 512 };

static char path[] = "/tmp/heapsonde-samples-XXXXXX";
static uint64_t head, tail;
static uint8_t data[SIZE];
static const uintptr_t nothing[COPY / sizeof(uintptr_t)];

// ---- in place of the kernel ----------------------------------------------------------------------------------------

long hs_perf_rings__ask(struct hs_perf_rings *rings)
{
    (void)rings;
    return 0;
}

// Its descriptor is none: nobody is woken, and what is in the ring is taken at each flush.
long hs_perf_rings__open(struct hs_perf_rings *rings, uint32_t self, void (*emit)(uint32_t tid))
{
    (void)self, (void)emit;
    rings->ring[rings->count++] = (struct hs_perf_ring){
        .ring = {.head = &head, .tail = &tail, .data = data, .size = SIZE},
        .role = HS_PERF_INTERRUPTED,
        .type = HS_SAMPLE_STACK,
        .fd = -1,
    };
    return 0;
}

void hs_perf_rings__unmap(struct hs_perf_rings *rings)
{
    rings->count = 0;
}

void hs_perf__explain(long error, char line[HS_PERF_LINE])
{
    snprintf(line, HS_PERF_LINE, "error %ld", error);
}

static void put(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        data[(head + i) % SIZE] = ((const uint8_t *)bytes)[i];
    __atomic_store_n(&head, head + length, __ATOMIC_RELEASE);
}

// ---- records -------------------------------------------------------------------------------------------------------

struct record {
    uint64_t word[256];
    size_t count;
};

static void add(struct record *record, uint64_t word)
{
    record->word[record->count++] = word;
}

static void begin_sample(struct record *record)
{
    uint32_t ids[2] = {(uint32_t)getpid(), (uint32_t)syscall(SYS_gettid)};
    record->count = 1;
    add(record, 0);
    memcpy(&record->word[1], ids, sizeof ids);
    add(record, 1000); // when
    add(record, 0);    // no page fault
}

static void put_record(struct record *record)
{
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)(8 * record->count)};
    memcpy(&record->word[0], &header, sizeof header);
    put(record->word, header.size);
}

static void put_sample_without_registers(void)
{
    struct record record;
    begin_sample(&record);
    add(&record, PERF_SAMPLE_REGS_ABI_NONE);
    add(&record, 0);
    put_record(&record);
}

static unsigned kernel_number(unsigned number)
{
#if defined(__x86_64__)
    return number == HS_DWARF_PC ? 8 : number;
#elif defined(__mips__)
    return number == HS_DWARF_PC ? 0 : number;
#else
    return number;
#endif
}

// Registers other than pc and sp hold `others`.
static void full_sample(struct record *record, uintptr_t pc, uintptr_t sp, uint64_t others, const uintptr_t *copy)
{
    begin_sample(record);
    add(record, PERF_SAMPLE_REGS_ABI_64);
    for (unsigned i = 0; i < 64; i++)
        if (hs_perf_sample__registers() >> i & 1)
            add(record, i == kernel_number(HS_DWARF_PC) ? pc : i == kernel_number(HS_DWARF_SP) ? sp : others);
    add(record, COPY);
    memcpy(&record->word[record->count], copy, COPY);
    record->count += COPY / 8;
    add(record, COPY);
}

// ---- what came of them ---------------------------------------------------------------------------------------------

static struct hs_live before;

static void setup(void)
{
    close(mkstemp(path));
    setenv("HEAPSONDE_OUTPUT", path, 1);
    setenv("HEAPSONDE_EVENTS", "heap,cpu", 1);
    ck_assert_uint_eq(hs_process__wake(), HS_MODE_ALLOC | HS_MODE_FREE);
    while (!hs_perf__threads()) // the recorder goes on after two seconds
        usleep(1000);
    hs_perf__flush();
    before = *hs_output__live();
}

static void teardown(void)
{
    unlink(path);
}

static uint64_t dropped(enum hs_drop reason)
{
    return hs_output__live()->dropped[reason] - before.dropped[reason];
}

static uint64_t truncated(enum hs_end end)
{
    return hs_output__live()->truncated[end] - before.truncated[end];
}

static uint64_t all_dropped(void)
{
    uint64_t sum = 0;
    for (int reason = 0; reason < HS_DROP_COUNT; reason++)
        sum += dropped((enum hs_drop)reason);
    return sum;
}

static uint64_t all_truncated(void)
{
    uint64_t sum = 0;
    for (int end = 1; end < HS_END_COUNT; end++)
        sum += truncated((enum hs_end)end);
    return sum;
}

static void expect_samples(uint64_t count)
{
    struct trace trace;
    hs_process__exit();
    ck_assert(trace_read(path, &trace));
    ck_assert_uint_eq(trace.damaged, 0);
    uint64_t samples = 0;
    for (size_t i = 0; i < trace.count; i++)
        samples += trace.events[i].kind == HS_EVENT_SAMPLE && trace.events[i].sampled == HS_SAMPLE_CPU;
    ck_assert_uint_eq(samples, count);
    trace_free(&trace);
}

START_TEST(samples_without_registers_are_counted)
{
    for (int i = 0; i < 3; i++)
        put_sample_without_registers();
    hs_perf__flush();
    ck_assert_uint_eq(dropped(HS_DROP_NO_REGISTERS), 3);
    ck_assert_uint_eq(all_dropped(), 3);
    ck_assert_uint_eq(all_truncated(), 0);
    expect_samples(3);
}
END_TEST

START_TEST(what_was_overwritten_is_counted_and_the_rest_is_taken)
{
    static const uint64_t positions[] = {SIZE + 8, UINT64_MAX / 2, 4, 0};
    uint64_t damaged = 0;
    for (size_t i = 0; positions[i]; i++) {
        __atomic_store_n(&head, head + positions[i], __ATOMIC_RELEASE);
        hs_perf__flush();
        ck_assert_uint_eq(dropped(HS_DROP_SAMPLES), ++damaged);
        put_sample_without_registers();
        hs_perf__flush();
        ck_assert_uint_eq(dropped(HS_DROP_NO_REGISTERS), i + 1);
    }
    expect_samples(damaged);
}
END_TEST

START_TEST(truncated_samples_are_counted)
{
    uint64_t count = 0;
    struct record record;
    full_sample(&record, (uintptr_t)put, 0x10000, 0, nothing);
    for (record.count--; record.count > 1; record.count--, count++)
        put_record(&record);
    hs_perf__flush();
    ck_assert_uint_eq(dropped(HS_DROP_SAMPLES), count);
    ck_assert_uint_eq(all_dropped(), count);
    expect_samples(0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("samples");
    TCase *cases = tcase_create("samples");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, samples_without_registers_are_counted);
    tcase_add_test(cases, what_was_overwritten_is_counted_and_the_rest_is_taken);
    tcase_add_test(cases, truncated_samples_are_counted);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
