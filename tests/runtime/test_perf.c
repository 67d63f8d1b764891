// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rings of samples as the kernel fills them, and as it never would.
#include "runtime/perf/cpu_clocks.h"
#include "runtime/perf/ring.h"
#include "runtime/perf/sample.h"
#include "runtime/perf/thread_stacks.h"
#include "tests/suite.h"

#include <check.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 4096, COPY = 64 };

static uint64_t head, tail;
static uint8_t data[SIZE];
static uint64_t record[HS_RING_RECORD_MAX / 8];

static struct hs_kernel_ring new_ring(uint64_t at)
{
    head = tail = at;
    memset(data, 0, sizeof data);
    return (struct hs_kernel_ring){.head = &head, .tail = &tail, .data = data, .size = SIZE};
}

static void put(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        data[(head + i) % SIZE] = ((const uint8_t *)bytes)[i];
    head += length;
}

static void put_header(uint32_t type, uint16_t size)
{
    struct perf_event_header header = {.type = type, .size = size};
    put(&header, sizeof header);
}

// A record of `size` bytes whose words count from `first`.
static void put_record(uint32_t type, uint16_t size, uint64_t first)
{
    put_header(type, size);
    for (size_t i = sizeof(struct perf_event_header); i < size; i += 8, first++)
        put(&first, 8);
}

START_TEST(records_come_in_order_across_the_end)
{
    // Positions beyond what fits 32 bits, too: the low halves alone are exchanged where there are no others.
    for (uint64_t start = 0; start < SIZE; start += 8) {
        struct hs_kernel_ring ring = new_ring(start);
        put_record(PERF_RECORD_SAMPLE, 1000, 1);
        put_record(PERF_RECORD_LOST, 24, 500);
        put_record(PERF_RECORD_SAMPLE, 3072, 1000);
        ck_assert_uint_eq(hs_kernel_ring__unread(&ring), 4096);
        ck_assert_uint_eq(hs_kernel_ring__next(&ring, record), 1000);
        for (uint64_t i = 1; i < 1000 / 8; i++)
            ck_assert_uint_eq(record[i], i);
        ck_assert_uint_eq(hs_kernel_ring__next(&ring, record), 24);
        ck_assert_uint_eq(record[2], 501);
        ck_assert_uint_eq(hs_kernel_ring__next(&ring, record), 3072);
        ck_assert_uint_eq(record[3072 / 8 - 1], 1000 + 3072 / 8 - 2);
        ck_assert_uint_eq(hs_kernel_ring__next(&ring, record), 0);
        ck_assert_uint_eq(tail, head);
        ck_assert_uint_eq(ring.damaged, 0);
    }
}
END_TEST

// Whatever is given up, what comes later is read.
static void expect_damage(struct hs_kernel_ring *ring)
{
    ck_assert_uint_eq(hs_kernel_ring__next(ring, record), 0);
    ck_assert_uint_eq(ring->damaged, 1);
    ck_assert_uint_eq(tail, head);
    put_record(PERF_RECORD_SAMPLE, 64, 7);
    ck_assert_uint_eq(hs_kernel_ring__next(ring, record), 64);
    ck_assert_uint_eq(ring->damaged, 1);
}

START_TEST(damaged_rings_are_given_up)
{
    static const uint16_t sizes[] = {0, 1, 7, 12, 63, 4096, 65528};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct hs_kernel_ring ring = new_ring(SIZE - 16);
        put_header(PERF_RECORD_SAMPLE, sizes[i]);
        head += 56;
        expect_damage(&ring);
    }
    struct hs_kernel_ring ring = new_ring(64);
    head += SIZE + 8; // more than there can be: it was written over
    expect_damage(&ring);
    ring = new_ring(64);
    head -= 8; // it went back
    expect_damage(&ring);
    ring = new_ring(64);
    head += 4;
    ck_assert_uint_eq(hs_kernel_ring__next(&ring, record), 0);
    ck_assert_uint_eq(ring.damaged, 1);
}
END_TEST

// ---- samples -------------------------------------------------------------------------------------------------------

struct words {
    uint64_t word[256];
    size_t count;
};

static void add(struct words *words, uint64_t word)
{
    words->word[words->count++] = word;
}

// MIPS has its pc where r0 would be, which is 0 always.
#if defined(__mips__)
enum { REGISTERS_ASKED = HS_DWARF_REGISTERS - 1 };
#else
enum { REGISTERS_ASKED = HS_DWARF_REGISTERS };
#endif

static unsigned registers_asked(void)
{
    unsigned count = 0;
    for (uint64_t mask = hs_perf_sample__registers(); mask; mask &= mask - 1)
        count++;
    return count;
}

static void begin_sample(struct words *words)
{
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE};
    uint32_t ids[2] = {11, 22};
    *words = (struct words){0};
    words->count = 2;
    memcpy(&words->word[0], &header, 8);
    memcpy(&words->word[1], ids, 8);
    add(words, 333);
    add(words, 0x4444);
}

// The n-th register of the kernel's order holds 1000 + n; of the copied stack `filled` bytes are there.
static void full_sample(struct words *words, uint64_t size, uint64_t filled)
{
    begin_sample(words);
    add(words, PERF_SAMPLE_REGS_ABI_64);
    uint64_t mask = hs_perf_sample__registers();
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1)
            add(words, 1000 + i);
    add(words, size);
    for (uint64_t i = 0; i < COPY / 8; i++)
        add(words, 0xabc0 + i);
    add(words, filled);
}

static struct hs_perf_sample read_words(const struct words *words, size_t length, uint64_t type)
{
    struct hs_perf_sample sample;
    uint8_t *exact = malloc(length ? length : 1); // so that reading behind it is seen
    memcpy(exact, words->word, length);
    hs_perf_sample__read(exact, length, type, &sample);
    if (sample.snapshot.copy)
        ck_assert(sample.snapshot.copy >= exact && sample.snapshot.copy + sample.snapshot.size <= exact + length);
    free(exact);
    return sample;
}

START_TEST(samples_are_read)
{
    struct words words;
    begin_sample(&words);
    struct hs_perf_sample sample = read_words(&words, words.count * 8, HS_SAMPLE_SHORT);
    ck_assert_int_eq(sample.kind, HS_SAMPLE_TAKEN);
    ck_assert_uint_eq(sample.pid, 11);
    ck_assert_uint_eq(sample.tid, 22);
    ck_assert_uint_eq(sample.time, 333);
    ck_assert_uint_eq(sample.address, 0x4444);
    ck_assert_uint_eq(sample.page_size, 0);
    ck_assert(!sample.has_stack);
    words.word[words.count++] = 2 << 20;
    sample = read_words(&words, words.count * 8, HS_SAMPLE_PAGE);
    ck_assert_uint_eq(sample.page_size, 2 << 20);
    ck_assert_int_eq(read_words(&words, words.count * 8 - 8, HS_SAMPLE_PAGE).kind, HS_SAMPLE_DAMAGED);
    full_sample(&words, COPY, 40);
    sample = read_words(&words, words.count * 8, HS_SAMPLE_STACK);
    ck_assert_int_eq(sample.kind, HS_SAMPLE_TAKEN);
    ck_assert(sample.has_stack);
    ck_assert_uint_eq(sample.snapshot.size, 40);
    ck_assert_uint_eq(registers_asked(), REGISTERS_ASKED);
#if defined(__x86_64__)
    ck_assert_uint_eq(sample.snapshot.registers.values[HS_DWARF_SP], 1007);
    ck_assert_uint_eq(sample.snapshot.registers.values[HS_DWARF_FP], 1006);
    ck_assert_uint_eq(sample.snapshot.registers.values[HS_DWARF_PC], 1008);
    ck_assert_uint_eq(sample.snapshot.registers.values[3], 1001);  // rbx
    ck_assert_uint_eq(sample.snapshot.registers.values[15], 1023); // r15
#elif defined(__mips__)
    ck_assert_uint_eq(sample.snapshot.registers.values[HS_DWARF_PC], 1000);
    ck_assert_uint_eq(sample.snapshot.registers.values[HS_DWARF_SP], 1029);
#else
    ck_assert_uint_eq(sample.snapshot.registers.values[HS_DWARF_PC], 1000 + HS_DWARF_PC);
#endif
    full_sample(&words, COPY, 0);
    sample = read_words(&words, words.count * 8, HS_SAMPLE_STACK);
    ck_assert_int_eq(sample.kind, HS_SAMPLE_TAKEN);
    ck_assert_ptr_null(sample.snapshot.copy);
}
END_TEST

START_TEST(a_thread_without_user_registers_has_no_stack)
{
    struct words words;
    begin_sample(&words);
    add(&words, PERF_SAMPLE_REGS_ABI_NONE);
    add(&words, 0);
    struct hs_perf_sample sample = read_words(&words, words.count * 8, HS_SAMPLE_STACK);
    ck_assert_int_eq(sample.kind, HS_SAMPLE_TAKEN);
    ck_assert(!sample.has_stack);
}
END_TEST

START_TEST(cut_samples_are_damaged)
{
    struct words words;
    full_sample(&words, COPY, COPY);
    for (size_t length = 0; length < words.count * 8; length++) {
        struct hs_perf_sample sample = read_words(&words, length, HS_SAMPLE_STACK);
        ck_assert_int_eq(sample.kind, HS_SAMPLE_DAMAGED);
    }
    ck_assert_int_eq(read_words(&words, words.count * 8, HS_SAMPLE_STACK).kind, HS_SAMPLE_TAKEN);
}
END_TEST

START_TEST(impossible_sizes_of_the_copy_are_damage)
{
    static const uint64_t sizes[][2] = {{COPY, COPY + 1}, {COPY, UINT64_MAX},  {COPY + 16, 8},      {UINT64_MAX, 8},
                                        {1ull << 63, 8},  {UINT64_MAX - 7, 8}, {UINT64_MAX / 2, 0}, {COPY + 8, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct words words;
        full_sample(&words, sizes[i][0], sizes[i][1]);
        ck_assert_int_eq(read_words(&words, words.count * 8, HS_SAMPLE_STACK).kind, HS_SAMPLE_DAMAGED);
    }
}
END_TEST

START_TEST(lost_records_say_how_many)
{
    struct words words = {.count = 5, .word = {0, 5, 1234, 0, 777}};
    struct perf_event_header header = {.type = PERF_RECORD_LOST};
    uint32_t ids[2] = {11, 22};
    memcpy(words.word, &header, 8);
    memcpy(&words.word[3], ids, 8);
    struct hs_perf_sample sample = read_words(&words, 40, HS_SAMPLE_STACK);
    ck_assert_int_eq(sample.kind, HS_SAMPLE_LOST);
    ck_assert_uint_eq(sample.lost, 1234);
    ck_assert_uint_eq(sample.pid, 11);
    ck_assert_uint_eq(sample.tid, 22);
    ck_assert_uint_eq(sample.time, 777);
    for (size_t length = 0; length < 40; length++)
        ck_assert_int_eq(read_words(&words, length, HS_SAMPLE_STACK).kind, HS_SAMPLE_DAMAGED);
    header.type = PERF_RECORD_EXIT;
    memcpy(words.word, &header, 8);
    ck_assert_int_eq(read_words(&words, 24, HS_SAMPLE_STACK).kind, HS_SAMPLE_OTHER);
}
END_TEST

static void chain_sample(struct words *words, uint64_t length)
{
    begin_sample(words);
    add(words, length);
    add(words, PERF_CONTEXT_USER);
    add(words, 0x1111);
    add(words, 0x2222);
}

START_TEST(call_chains_are_read)
{
    struct words words;
    chain_sample(&words, 3);
    struct hs_perf_sample sample;
    hs_perf_sample__read(words.word, words.count * 8, HS_SAMPLE_CHAIN, &sample);
    ck_assert_int_eq(sample.kind, HS_SAMPLE_TAKEN);
    ck_assert_uint_eq(sample.chain_length, 3);
    ck_assert_uint_eq(sample.chain[0], PERF_CONTEXT_USER);
    ck_assert_uint_eq(sample.chain[2], 0x2222);
    ck_assert_uint_eq(sample.address, 0x4444);
    for (size_t length = 0; length < words.count * 8; length++)
        ck_assert_int_eq(read_words(&words, length, HS_SAMPLE_CHAIN).kind, HS_SAMPLE_DAMAGED);
    static const uint64_t lengths[] = {4, 5, HS_CHAIN_MAX + 1, 1ull << 61, (1ull << 61) + 3, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        chain_sample(&words, lengths[i]);
        sample = read_words(&words, words.count * 8, HS_SAMPLE_CHAIN);
        ck_assert_int_eq(sample.kind, HS_SAMPLE_DAMAGED);
        ck_assert_uint_eq(sample.chain_length, 0);
    }
    chain_sample(&words, 0);
    sample = read_words(&words, words.count * 8, HS_SAMPLE_CHAIN);
    ck_assert_uint_eq(sample.chain_length, 0);
}
END_TEST

static void mapping(struct words *words, uint64_t inode, uint32_t protection)
{
    struct perf_event_header header = {.type = PERF_RECORD_MMAP2};
    uint32_t ids[2] = {11, 22}, ends[2] = {protection, MAP_PRIVATE};
    *words = (struct words){.count = 10, .word = {[2] = 0x1000, [3] = 0x2000, [6] = inode}};
    memcpy(&words->word[0], &header, 8);
    memcpy(&words->word[1], ids, 8);
    memcpy(&words->word[8], ends, 8);
    memcpy(&words->word[9], "/lib/x", 7);
}

START_TEST(mappings_of_code_are_read)
{
    struct words words;
    mapping(&words, 5, PROT_READ | PROT_EXEC);
    struct hs_perf_sample sample = read_words(&words, 80, HS_SAMPLE_STACK);
    ck_assert_int_eq(sample.kind, HS_SAMPLE_CODE_MAPPED);
    ck_assert_uint_eq(sample.pid, 11);
    for (size_t length = 0; length < 68; length++)
        ck_assert_int_eq(read_words(&words, length, HS_SAMPLE_STACK).kind, HS_SAMPLE_DAMAGED);
    mapping(&words, 5, PROT_READ);
    ck_assert_int_eq(read_words(&words, 80, HS_SAMPLE_STACK).kind, HS_SAMPLE_OTHER);
    mapping(&words, 0, PROT_READ | PROT_EXEC);
    ck_assert_int_eq(read_words(&words, 80, HS_SAMPLE_STACK).kind, HS_SAMPLE_OTHER);
}
END_TEST

// A switch record: whose it is and when it was stand at its end.
START_TEST(threads_that_come_back_are_read)
{
    struct words words = {.count = 3, .word = {0, 0, 777}};
    struct perf_event_header header = {.type = PERF_RECORD_SWITCH};
    uint32_t ids[2] = {11, 22};
    memcpy(&words.word[1], ids, 8);
    memcpy(words.word, &header, 8);
    struct hs_perf_sample sample = read_words(&words, 24, HS_SAMPLE_STACK);
    ck_assert_int_eq(sample.kind, HS_SAMPLE_SWITCHED_IN);
    ck_assert_uint_eq(sample.pid, 11);
    ck_assert_uint_eq(sample.tid, 22);
    ck_assert_uint_eq(sample.time, 777);
    for (size_t length = 0; length < 24; length++)
        ck_assert_int_eq(read_words(&words, length, HS_SAMPLE_STACK).kind, HS_SAMPLE_DAMAGED);
    header.misc = PERF_RECORD_MISC_SWITCH_OUT;
    memcpy(words.word, &header, 8);
    ck_assert_int_eq(read_words(&words, 24, HS_SAMPLE_STACK).kind, HS_SAMPLE_OTHER);
}
END_TEST

static uint32_t told[8];
static unsigned told_count;

static void emit(uint32_t tid, uint64_t ns)
{
    ck_assert_uint_gt(ns, 0);
    ck_assert_uint_lt(told_count, 8);
    told[told_count++] = tid;
}

// Own threads alone have clocks; one that shares another's place has that one told.
START_TEST(cpu_clocks_are_told_once)
{
    struct hs_cpu_clocks clocks = {{0}};
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    hs_cpu_clocks__sampled(&clocks, self, emit);
    hs_cpu_clocks__sampled(&clocks, self, emit);
    ck_assert_uint_eq(told_count, 0);
    hs_cpu_clocks__emit(&clocks, emit);
    hs_cpu_clocks__emit(&clocks, emit);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_uint_eq(told[0], self);
    hs_cpu_clocks__sampled(&clocks, self, emit);
    hs_cpu_clocks__sampled(&clocks, self + HS_CPU_CLOCKS * 1000003u, emit);
    ck_assert_uint_eq(told_count, 2);
    hs_cpu_clocks__emit(&clocks, emit);
    ck_assert_uint_eq(told_count, 2);
}
END_TEST

// ---- stacks of threads ---------------------------------------------------------------------------------------------

static struct {
    uint64_t start, end;
} found[HS_THREAD_STACKS_WANTED];
static unsigned found_count;

static void note_found(uint64_t start, uint64_t end)
{
    ck_assert_uint_lt(found_count, HS_THREAD_STACKS_WANTED);
    found[found_count].start = start;
    found[found_count++].end = end;
}

static void find_in(struct hs_thread_stacks *stacks, const char *maps)
{
    char path[] = "/tmp/heapsonde-maps-XXXXXX";
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, maps, strlen(maps)), (ssize_t)strlen(maps));
    close(fd);
    found_count = 0;
    hs_thread_stacks__find(stacks, path, note_found);
    unlink(path);
}

START_TEST(stacks_are_the_mappings_of_addresses_on_them)
{
    static struct hs_thread_stacks stacks;
    char maps[20000] = "10000-20000 r-xp 00000000 08:01 7 /bin/program\n";
    for (int i = 0; i < 100; i++) // more than is read at once
        snprintf(maps + strlen(maps), 120,
                 "%x-%x r--p 00000000 08:01 7 /lib/a/long/name/that/fills/the/lines/of/the/list\n",
                 0x100000 + i * 0x1000, 0x100800 + i * 0x1000);
    strcat(maps, "700000-710000 rw-p 00000000 00:00 0 [heap]\n800000-801000 ---p 00000000 00:00 0 \n"
                 "801000-900000 rw-p 00000000 00:00 0 \na00000-b00000 rw-p 00000000 00:00 0 [anon:stack]\n"
                 "c00000-d00000 rw-p 00000000 00:00 0 [stack]\n");
    ck_assert(hs_thread_stacks__see(&stacks, 1, 0xc00010));
    ck_assert(hs_thread_stacks__see(&stacks, 2, 0x8fffff));
    ck_assert(hs_thread_stacks__see(&stacks, 2, 0x8ff000));
    ck_assert(hs_thread_stacks__see(&stacks, 3, 0xa00000));
    ck_assert(hs_thread_stacks__see(&stacks, 4, 0x701000)); // in the heap
    ck_assert(hs_thread_stacks__see(&stacks, 5, 0x11000));  // in a file
    ck_assert(hs_thread_stacks__see(&stacks, 6, 0x950000)); // it is gone
    ck_assert_uint_eq(stacks.wanted_count, 6);
    find_in(&stacks, maps);
    ck_assert_uint_eq(found_count, 3);
    ck_assert(found[0].start == 0x801000 && found[0].end == 0x900000);
    ck_assert(found[1].start == 0xa00000 && found[2].end == 0xd00000);
    // What is known is not searched again.
    ck_assert(hs_thread_stacks__see(&stacks, 7, 0x801000));
    ck_assert_uint_eq(stacks.wanted_count, 0);
    find_in(&stacks, maps);
    ck_assert_uint_eq(found_count, 0);
}
END_TEST

START_TEST(a_thread_has_its_own_stack_and_that_of_a_coroutine)
{
    static struct hs_thread_stacks stacks;
    ck_assert(hs_thread_stacks__see(&stacks, 1, 0x801000));
    ck_assert(hs_thread_stacks__see_own(&stacks, 0xa01000));
    ck_assert(hs_thread_stacks__see_own(&stacks, 0xc01000)); // another thread's
    find_in(&stacks, "801000-900000 rw-p 00000000 00:00 0 \na00000-b00000 rw-p 00000000 00:00 0 \n"
                     "c00000-d00000 rw-p 00000000 00:00 0 \n");
    ck_assert_uint_eq(found_count, 3);
}
END_TEST

START_TEST(stacks_wait_until_the_list_can_be_opened)
{
    static struct hs_thread_stacks stacks;
    struct rlimit files, none;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = files;
    none.rlim_cur = 0;
    ck_assert(hs_thread_stacks__see(&stacks, 1, 0x801000));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    found_count = 0;
    hs_thread_stacks__find(&stacks, "/proc/self/maps", note_found);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    ck_assert_uint_eq(found_count, 0);
    ck_assert(!stacks.failed);
    find_in(&stacks, "801000-900000 rw-p 00000000 00:00 0 \n");
    ck_assert_uint_eq(found_count, 1);
    ck_assert_uint_eq(stacks.wanted_count, 0);
}
END_TEST

START_TEST(more_stacks_than_are_remembered)
{
    static struct hs_thread_stacks stacks;
    char line[100];
    for (uint32_t i = 0; i < HS_THREAD_STACKS_WANTED; i++)
        ck_assert(hs_thread_stacks__see(&stacks, i + 1, 0x1000u * (i + 1)));
    ck_assert(!hs_thread_stacks__see(&stacks, 999, 0x5000000));
    find_in(&stacks, "");
    for (uint32_t i = 0; i < 2 * HS_THREAD_STACKS_KNOWN; i++) {
        ck_assert(hs_thread_stacks__see(&stacks, i + 1, 0x10000u * (i + 1)));
        snprintf(line, sizeof line, "%x-%x rw-p 00000000 00:00 0\n", 0x10000 * (i + 1), 0x10000 * (i + 1) + 0x8000);
        find_in(&stacks, line);
        ck_assert_uint_eq(found_count, 1);
    }
    ck_assert_uint_eq(stacks.count, HS_THREAD_STACKS_KNOWN);
    hs_thread_stacks__see(&stacks, 1, 0x99);
    hs_thread_stacks__find(&stacks, "/none", note_found);
    ck_assert(stacks.failed && hs_thread_stacks__see(&stacks, 2, 0x77) && !stacks.wanted_count);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("perf");
    TCase *cases = tcase_create("rings and samples");
    tcase_add_test(cases, records_come_in_order_across_the_end);
    tcase_add_test(cases, damaged_rings_are_given_up);
    tcase_add_test(cases, samples_are_read);
    tcase_add_test(cases, a_thread_without_user_registers_has_no_stack);
    tcase_add_test(cases, cut_samples_are_damaged);
    tcase_add_test(cases, impossible_sizes_of_the_copy_are_damage);
    tcase_add_test(cases, lost_records_say_how_many);
    tcase_add_test(cases, call_chains_are_read);
    tcase_add_test(cases, mappings_of_code_are_read);
    tcase_add_test(cases, threads_that_come_back_are_read);
    tcase_add_test(cases, cpu_clocks_are_told_once);
    tcase_add_test(cases, stacks_are_the_mappings_of_addresses_on_them);
    tcase_add_test(cases, a_thread_has_its_own_stack_and_that_of_a_coroutine);
    tcase_add_test(cases, stacks_wait_until_the_list_can_be_opened);
    tcase_add_test(cases, more_stacks_than_are_remembered);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
