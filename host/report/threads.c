// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/threads.h"

#include "host/query/block_scan.h"
#include "host/query/scan.h"
#include "host/report/text.h"
#include "host/report/top.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- sums ----------------------------------------------------------------------------------------------------------

struct threads_adding {
    struct hs_total **sum; // by worker, then by stream; the last is that of streams without a thread
    size_t streams;
    unsigned workers;
};

static int add_block(void *context, unsigned worker, struct hs_matcher *matcher)
{
    const struct threads_adding *adding = context;
    const uint64_t *stream = hs_column_block__column(&matcher->block, HS_BLOCK_STREAM);
    const uint64_t *size = hs_column_block__column(&matcher->block, HS_BLOCK_SIZE);
    const uint64_t *freed = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t *state = hs_column_block__column(&matcher->block, HS_BLOCK_STATE);
    for (size_t n = 0; n < matcher->count; n++) {
        const size_t i = matcher->place[n];
        const unsigned flags = hs_row__flags_of_state(state[i]);
        const bool live = freed[i] == HS_NEVER, peak = flags & HS_ROW_AT_PEAK, brief = flags & HS_ROW_TEMPORARY;
        struct hs_total *sum = &adding->sum[worker][stream[i] < adding->streams ? stream[i] : adding->streams];
        sum->allocated_bytes += size[i];
        sum->allocated_count++;
        sum->live_bytes += live ? size[i] : 0;
        sum->live_count += live;
        sum->peak_bytes += peak ? size[i] : 0;
        sum->peak_count += peak;
        sum->temporary_bytes += brief ? size[i] : 0;
        sum->temporary_count += brief;
    }
    return 0;
}

static void move(struct hs_total *to, struct hs_total *from, const struct hs_total *amount)
{
    to->allocated_bytes += amount->allocated_bytes;
    to->allocated_count += amount->allocated_count;
    to->live_bytes += amount->live_bytes;
    to->live_count += amount->live_count;
    to->peak_bytes += amount->peak_bytes;
    to->peak_count += amount->peak_count;
    to->temporary_bytes += amount->temporary_bytes;
    to->temporary_count += amount->temporary_count;
    from->allocated_bytes -= amount->allocated_bytes;
    from->allocated_count -= amount->allocated_count;
    from->live_bytes -= amount->live_bytes;
    from->live_count -= amount->live_count;
    from->peak_bytes -= amount->peak_bytes;
    from->peak_count -= amount->peak_count;
    from->temporary_bytes -= amount->temporary_bytes;
    from->temporary_count -= amount->temporary_count;
}

// What is in no thread's sum is left.
static void give_to_threads(struct hs_thread_totals *totals, const struct hs_thread *threads,
                            const struct threads_adding *adding)
{
    for (size_t i = 0; i < totals->threads; i++)
        for (unsigned worker = 0; worker < adding->workers; worker++)
            if (threads[i].stream < adding->streams)
                move(&totals->total[i], &totals->total[totals->threads], &adding->sum[worker][threads[i].stream]);
}

static bool make_sums(struct threads_adding *adding)
{
    bool good = adding->sum;
    for (unsigned worker = 0; good && worker < adding->workers; worker++) {
        adding->sum[worker] = calloc(adding->streams + 1, sizeof(struct hs_total));
        good = adding->sum[worker];
    }
    return good;
}

static int scan(struct threads_adding *adding, const struct hs_subject *subject, const struct hs_filter *filter,
                struct hs_error *error)
{
    const struct hs_block_scan blocks = {
        .store = subject->store, .filter = filter, .workers = adding->workers, .work = add_block, .context = adding};
    return make_sums(adding) ? hs_block_scan__run(&blocks, error) : hs_error__set(error, ENOMEM, "out of memory");
}

int hs_thread_totals__make(struct hs_thread_totals *totals, const struct hs_subject *subject, struct hs_error *error)
{
    struct hs_filter heap;
    const struct hs_filter *filter = hs_filter__or_heap(subject->filter, &heap);
    const struct hs_thread *threads = hs_store__threads(subject->store, &totals->threads);
    totals->are_known = !hs_store__summary(subject->store)->is_aggregate;
    totals->total = calloc(totals->threads + 1, sizeof(*totals->total));
    if (!totals->total)
        return hs_error__set(error, ENOMEM, "out of memory");
    totals->total[totals->threads] = subject->totals.sum;
    if (!totals->are_known)
        return 0;
    struct threads_adding adding = {.workers = hs_scan__workers(subject->store, NULL)};
    for (size_t i = 0; i < totals->threads; i++)
        adding.streams = threads[i].stream >= adding.streams ? (size_t)threads[i].stream + 1 : adding.streams;
    adding.sum = calloc(adding.workers, sizeof(*adding.sum));
    int result = scan(&adding, subject, filter, error);
    if (!result)
        give_to_threads(totals, threads, &adding);
    for (unsigned worker = 0; adding.sum && worker < adding.workers; worker++)
        free(adding.sum[worker]);
    free(adding.sum);
    if (result)
        hs_thread_totals__free(totals);
    return result;
}

void hs_thread_totals__free(struct hs_thread_totals *totals)
{
    free(totals->total);
    totals->total = NULL;
}

// ---- the order -----------------------------------------------------------------------------------------------------

struct threads_ranking {
    const struct hs_thread_totals *totals;
    enum hs_cost cost;
};

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct threads_ranking *ranking = context;
    const uint64_t first = hs_cost__bytes(&ranking->totals->total[a], ranking->cost);
    const uint64_t second = hs_cost__bytes(&ranking->totals->total[b], ranking->cost);
    return first != second ? first > second : a < b;
}

// All of them.
static int rank(struct hs_top *top, const struct hs_thread_totals *totals, enum hs_cost cost)
{
    struct threads_ranking ranking = {totals, cost};
    if (hs_top__start(top, totals->threads, totals->threads, comes_before, &ranking))
        return -ENOMEM;
    for (size_t i = 0; i < totals->threads; i++)
        hs_top__offer(top, (uint32_t)i);
    hs_top__finish(top);
    return 0;
}

// ---- text ----------------------------------------------------------------------------------------------------------

static const enum hs_cost columns[] = {HS_COST_PEAK, HS_COST_LIVE, HS_COST_ALLOCATED};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void print_sums(FILE *out, const struct hs_subject *subject, const struct hs_total *total)
{
    for (int i = 0; i < COLUMNS; i++)
        if (hs_subject__knows(subject, columns[i]))
            fprintf(out, "%12s", hs_text__bytes(hs_cost__bytes(total, columns[i])).text);
    if (hs_subject__knows(subject, HS_COST_ALLOCATED) && hs_subject__counts_blocks(subject))
        fprintf(out, "%15s", hs_text__count(total->allocated_count).text);
}

static void print_heading(FILE *out, const struct hs_subject *subject, bool are_known)
{
    static const char *const titles[] = {"peak", "live", "allocated"};
    fprintf(out, "%10s", "tid");
    for (int i = 0; are_known && i < COLUMNS; i++)
        if (hs_subject__knows(subject, columns[i]))
            fprintf(out, "%12s", titles[i]);
    if (are_known && hs_subject__knows(subject, HS_COST_ALLOCATED) && hs_subject__counts_blocks(subject))
        fprintf(out, "%15s", "blocks");
    fputs("  name\n", out);
}

int hs_report__threads(FILE *out, const struct hs_subject *subject, const struct hs_thread_totals *totals,
                       enum hs_cost cost)
{
    struct hs_top top;
    size_t count;
    const struct hs_thread *threads = hs_store__threads(subject->store, &count);
    const struct hs_total *others = &totals->total[totals->threads];
    if (rank(&top, totals, cost))
        return -ENOMEM;
    print_heading(out, subject, totals->are_known);
    for (size_t i = 0; i < top.count; i++) {
        const struct hs_thread *thread = &threads[top.number[i]];
        fprintf(out, "%10" PRIu32, thread->tid);
        if (totals->are_known)
            print_sums(out, subject, &totals->total[top.number[i]]);
        fputs("  ", out);
        hs_text__print(out, thread->name, strlen(thread->name));
        putc('\n', out);
    }
    if (totals->are_known && others->allocated_count + others->live_count) {
        fprintf(out, "%10s", "");
        print_sums(out, subject, others);
        fputs("  not known by thread\n", out);
    }
    if (!totals->are_known)
        fputs("The trace contains sums per stack, but not the allocations of each thread.\n", out);
    hs_top__free(&top);
    return 0;
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static void write_sums(struct hs_json *json, const struct hs_subject *subject, const struct hs_total *total)
{
    char key[64];
    for (int cost = 0; cost < HS_COST_COUNT; cost++) {
        if (!hs_subject__knows(subject, (enum hs_cost)cost))
            continue;
        snprintf(key, sizeof(key), "%s_bytes", hs_cost__name((enum hs_cost)cost));
        hs_json__number(json, key, hs_cost__bytes(total, (enum hs_cost)cost));
        snprintf(key, sizeof(key), "%s_count", hs_cost__name((enum hs_cost)cost));
        if (hs_subject__counts_blocks(subject))
            hs_json__number(json, key, hs_cost__blocks(total, (enum hs_cost)cost));
    }
}

int hs_report__threads_json(struct hs_json *json, const struct hs_subject *subject,
                            const struct hs_thread_totals *totals, enum hs_cost cost)
{
    struct hs_top top;
    size_t count;
    const struct hs_thread *threads = hs_store__threads(subject->store, &count);
    if (rank(&top, totals, cost))
        return -ENOMEM;
    hs_json__open_array(json, "threads");
    for (size_t i = 0; i < top.count; i++) {
        const struct hs_thread *thread = &threads[top.number[i]];
        hs_json__open_object(json, NULL);
        hs_json__number(json, "tid", thread->tid);
        hs_json__string(json, "name", thread->name);
        if (totals->are_known)
            write_sums(json, subject, &totals->total[top.number[i]]);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__open_object(json, "not_known_by_thread");
    write_sums(json, subject, &totals->total[totals->threads]);
    hs_json__close_object(json);
    hs_top__free(&top);
    return 0;
}
