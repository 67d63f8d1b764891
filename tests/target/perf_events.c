// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the kernel's samples need of a machine: a ring of the task clock and one of page faults fill with samples whose
// addresses lie in the code that ran and in the memory that was touched. Skipped where the kernel refuses.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGES = 200, RING_PAGES = 16, WANTED_TICKS = 20, SKIPPED = 77 };

struct ring {
    int fd;
    size_t page;
    struct perf_event_mmap_page *head;
    const uint8_t *data;
    uint64_t size;
};

struct sample { // as PERF_SAMPLE_IP | PERF_SAMPLE_ADDR lays it out
    struct perf_event_header header;
    uint64_t ip, address;
};

struct seen {
    uint64_t samples, inside, lost;
};

static void fail(const char *what)
{
    printf("FAILED: %s (%s)\n", what, strerror(errno));
    exit(1);
}

static struct ring ring_of(uint64_t config, uint64_t period)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = config,
        .sample_period = period,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    struct ring ring = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    ring.fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0ul);
    if (ring.fd < 0 && (errno == ENOSYS || errno == EACCES || errno == EPERM)) {
        printf("SKIPPED: perf_event_open: %s\n", strerror(errno));
        exit(SKIPPED);
    }
    if (ring.fd < 0)
        fail("perf_event_open");
    ring.size = RING_PAGES * ring.page;
    void *memory = mmap(NULL, ring.page + ring.size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
    if (memory == MAP_FAILED)
        fail("the ring cannot be mapped");
    ring.head = memory;
    ring.data = (const uint8_t *)memory + ring.page;
    return ring;
}

static void switch_to(const struct ring *ring, bool on)
{
    if (ioctl(ring->fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) != 0)
        fail("the event cannot be switched");
}

static void copy_out(const struct ring *ring, uint64_t at, void *to, size_t length)
{
    for (size_t i = 0; i < length; i++)
        ((uint8_t *)to)[i] = ring->data[(at + i) % ring->size];
}

// Takes what is in the ring. `by_address`: what lies in [from, to) is the address that was touched, not the code.
static void read_ring(struct ring *ring, struct seen *seen, bool by_address, uintptr_t from, uintptr_t to)
{
    // Not as one access where the machine has none of 64 bits: the words above the lowest stay 0.
    uint64_t head = *(volatile __u64 *)&ring->head->data_head, at = ring->head->data_tail;
    atomic_thread_fence(memory_order_acquire);
    while (at < head) {
        struct sample sample = {0};
        copy_out(ring, at, &sample.header, sizeof sample.header);
        if (sample.header.size < sizeof sample.header)
            fail("a record without a size");
        if (sample.header.type == PERF_RECORD_SAMPLE) {
            copy_out(ring, at, &sample, sizeof sample);
            uint64_t place = by_address ? sample.address : sample.ip;
            seen->samples++;
            seen->inside += place >= from && place < to;
        }
        seen->lost += sample.header.type == PERF_RECORD_LOST;
        at += sample.header.size;
    }
    atomic_thread_fence(memory_order_release);
    *(volatile __u64 *)&ring->head->data_tail = head;
}

static volatile uint64_t sum;

__attribute__((noinline, noclone)) static void burn(void)
{
    for (uint64_t i = 0; i < 1000000; i++)
        sum += i * i;
}

// Burns until the clock has told often enough that it did; a test that never ends is a failure of the machine.
static void check_clock(void)
{
    struct ring ring = ring_of(PERF_COUNT_SW_TASK_CLOCK, 1000000);
    struct seen seen = {0};
    uintptr_t from = (uintptr_t)burn & ~(uintptr_t)1, to = from + 512;
    switch_to(&ring, true);
    while (seen.inside < WANTED_TICKS && seen.samples < 1000 * WANTED_TICKS) {
        burn();
        read_ring(&ring, &seen, false, from, to);
    }
    switch_to(&ring, false);
    printf("task clock: %llu samples, %llu of them in the loop, %llu losses\n", (unsigned long long)seen.samples,
           (unsigned long long)seen.inside, (unsigned long long)seen.lost);
    errno = 0;
    if (seen.inside < WANTED_TICKS)
        fail("samples of the task clock lie elsewhere");
}

static void check_faults(void)
{
    struct ring ring = ring_of(PERF_COUNT_SW_PAGE_FAULTS, 1);
    struct seen seen = {0};
    size_t length = PAGES * ring.page;
    char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("no memory");
    madvise(memory, length, MADV_NOHUGEPAGE); // a kernel without huge pages refuses, and needs none
    switch_to(&ring, true);
    for (size_t page = 0; page < PAGES; page++) {
        memory[page * ring.page] = 1;
        read_ring(&ring, &seen, true, (uintptr_t)memory, (uintptr_t)memory + length);
    }
    switch_to(&ring, false);
    printf("page faults: %llu samples, %llu of them of the %d pages, %llu losses\n", (unsigned long long)seen.samples,
           (unsigned long long)seen.inside, PAGES, (unsigned long long)seen.lost);
    errno = 0;
    if (seen.inside != PAGES)
        fail("not every page has its sample");
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    check_clock();
    check_faults();
    return 0;
}
