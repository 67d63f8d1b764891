// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How fast traces are imported.
//
//   import_bench generate EVENTS FILE    writes a trace like a busy program's: four threads, size classes, reused
//   blocks import_bench FILE...                 imports each (into a temporary store) and says what it cost
#include "host/import/import.h"
#include "host/query/query.h"
#include "tests/store/trace_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define THREADS 4
#define CLASSES 32
#define LIVE    100000 // blocks per thread
#define BATCH   1500

// ---- generating ----------------------------------------------------------------------------------------------------

struct thread {
    struct random_state random;
    uint64_t free_list[CLASSES][64];
    unsigned free_count[CLASSES];
    uint64_t live[LIVE];
    uint8_t live_class[LIVE];
    size_t lives;
    uint64_t next_address;
};

static void make_free(struct thread *thread, struct hs_event *event)
{
    // Most blocks die young.
    size_t back =
        random_below(&thread->random, 10) < 7 ? random_below(&thread->random, 6) : random_next(&thread->random);
    size_t index = thread->lives - 1 - back % thread->lives;
    unsigned class = thread->live_class[index];
    event->kind = HS_EVENT_FREE;
    event->address = thread->live[index];
    if (thread->free_count[class] < 64)
        thread->free_list[class][thread->free_count[class]++] = event->address;
    thread->lives--;
    thread->live[index] = thread->live[thread->lives];
    thread->live_class[index] = thread->live_class[thread->lives];
}

static void make_alloc(struct thread *thread, struct hs_event *event)
{
    event->kind = HS_EVENT_MALLOC;
    uint64_t site = random_below(&thread->random, 64) * random_below(&thread->random, 64);
    unsigned class = (unsigned)(site % CLASSES);
    event->stack = 1 + (uint32_t)site;
    event->size = 16 * class + 8;
    event->usable = hs_usable_model(event->size, 8);
    if (thread->free_count[class]) {
        event->address = thread->free_list[class][--thread->free_count[class]];
    } else {
        event->address = thread->next_address;
        thread->next_address += event->usable + 8;
    }
    thread->live[thread->lives] = event->address;
    thread->live_class[thread->lives++] = (uint8_t) class;
}

static void write_stacks(struct trace_writer *writer)
{
    static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
    struct hs_meta_writer meta;
    hs_meta_begin(&meta, bytes, sizeof bytes);
    for (uint32_t id = 1; id <= 4096; id++)
        hs_meta_node(&meta, id, id / 2, 0x400000 + id % 500 * 16);
    trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), false);
}

static void generate(uint64_t events, const char *path)
{
    static struct thread threads[THREADS];
    static struct hs_event batch[BATCH];
    struct trace_writer writer;
    uint64_t time = 0;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    writer.pack_meta = true;
    write_stacks(&writer);
    for (unsigned i = 0; i < THREADS; i++)
        threads[i] = (struct thread){.random = {i + 1}, .next_address = 0x100000000ull * (i + 1)};
    for (uint64_t done = 0; done < events;) {
        uint64_t start = time;
        for (unsigned t = 0; t < THREADS && done < events; t++) {
            struct thread *thread = &threads[t];
            time = start + t;
            for (unsigned i = 0; i < BATCH; i++, done++) {
                time += THREADS * (10 + random_below(&thread->random, 60));
                batch[i] = (struct hs_event){.time = time};
                bool full = thread->lives == LIVE || (thread->lives && random_below(&thread->random, 200) < 99);
                if (full)
                    make_free(thread, &batch[i]);
                else
                    make_alloc(thread, &batch[i]);
            }
            trace_writer__events(&writer, t, batch, BATCH, false);
        }
    }
    trace_writer__close(&writer, true, time);
}

// ---- measuring -----------------------------------------------------------------------------------------------------

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void import(const char *path)
{
    struct hs_error error;
    struct hs_store *store;
    struct rusage usage;
    struct hs_totals totals;
    const struct hs_import_options options = {.temporary = true};
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (hs_import__open(path, &options, &store, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    getrusage(RUSAGE_SELF, &usage);
    const struct hs_summary *summary = hs_store__summary(store);
    double million = (double)summary->events / 1e6;
    printf("%s: %.1f M events, %.2f bytes per event; %.2f s, %.2f s of processor: %.1f M events/s per core; %ld MiB\n",
           path, million, (double)summary->file_size / (double)summary->events, wall, cpu, million / cpu,
           usage.ru_maxrss >> 10);
    wall = seconds(CLOCK_MONOTONIC);
    if (!hs_query__totals(store, NULL, NULL, &totals, &error))
        printf("%s: totals of %zu stacks over %.1f M rows in %.0f ms\n", path, totals.count,
               (double)hs_store__columns(store)->rows / 1e6, 1e3 * (seconds(CLOCK_MONOTONIC) - wall));
    hs_totals__free(&totals);
    hs_store__close(store);
}

int main(int count, char **arguments)
{
    if (count == 4 && !strcmp(arguments[1], "generate")) {
        generate(strtoull(arguments[2], NULL, 0), arguments[3]);
        return 0;
    }
    for (int i = 1; i < count; i++)
        import(arguments[i]);
    return 0;
}
