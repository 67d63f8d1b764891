// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/series.h"

#include "format/trace_format.h"
#include "host/base/array.h"
#include "host/report/text.h"
#include "host/store/layout.h"
#include "host/store/tables.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MOST_DUMPS    10000 // each is in memory as a whole
#define MOST_INSTANTS 1000  // of a file: massif itself has no more
#define SECOND        ((uint64_t)1000000000)
#define LATEST        (UINT64_MAX / 2)    // ns since 1970: in 2262
#define APART         ((uint64_t)1000000) // ns between dumps that claim one time

// ---- finding --------------------------------------------------------------------------------------------------------

static bool is_trace(const char *path)
{
    char magic[HS_FILE_MAGIC_LENGTH] = "";
    FILE *file = fopen(path, "rbe");
    const size_t got = file ? fread(magic, 1, sizeof(magic), file) : 0;
    if (file)
        fclose(file);
    return got == sizeof(magic) && !memcmp(magic, HS_FILE_MAGIC, sizeof(magic));
}

static bool is_dump(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && !is_trace(path) && hs_dump__recognise(path);
}

static char *join(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void free_names(struct dirent **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

// The paths of the dumps in a folder, numbers in names by value. Their number, or -errno.
static int list_dumps(const char *folder, char ***paths)
{
    struct dirent **names = NULL;
    const int count = scandir(folder, &names, is_visible, versionsort);
    int found = 0;
    if (count < 0)
        return -errno;
    *paths = calloc((size_t)count + 1, sizeof(**paths));
    for (int i = 0; *paths && i < count && found < MOST_DUMPS; i++) {
        char *path = join(folder, names[i]->d_name);
        if (path && is_dump(path))
            (*paths)[found++] = path;
        else
            free(path);
    }
    free_names(names, count);
    return *paths ? found : -ENOMEM;
}

static void free_paths(char **paths)
{
    for (char **at = paths; at && *at; at++)
        free(*at);
    free(paths);
}

static bool is_store(const char *folder)
{
    char *head = join(folder, "head");
    struct stat status;
    const bool there = head && !stat(head, &status);
    free(head);
    return there;
}

static bool has_dump(const char *folder)
{
    struct dirent **names = NULL;
    const int count = scandir(folder, &names, is_visible, versionsort);
    bool found = false;
    for (int i = 0; i < count && !found; i++) {
        char *path = join(folder, names[i]->d_name);
        found = path && is_dump(path);
        free(path);
    }
    free_names(names, count > 0 ? count : 0);
    return found;
}

bool hs_dump_series__recognise(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return false;
    return S_ISDIR(status.st_mode) ? !is_store(path) && has_dump(path) : is_dump(path);
}

// ---- times ----------------------------------------------------------------------------------------------------------

uint64_t hs_dump_series__time_in(const char *text)
{
    struct tm parts = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    rest = text && !rest ? strptime(text, "%Y-%m-%d %H:%M:%S", &parts) : rest;
    const time_t seconds = rest ? timegm(&parts) : -1;
    if (seconds < 0)
        return 0;
    if ((uint64_t)seconds > LATEST / SECOND)
        return LATEST;
    const double fraction = *rest == '.' ? strtod(rest, NULL) : 0;
    return (uint64_t)seconds * SECOND + (uint64_t)(fraction * 1e9);
}

uint64_t hs_dump_series__time_of(const struct hs_dump *dump, const char *path)
{
    struct stat status;
    uint64_t time = hs_dump_series__time_in(hs_dump__fact(dump, "time"));
    time = time ? time : dump->time_ns;
    if (time || stat(path, &status) || status.st_mtim.tv_sec < 0)
        return time;
    return (uint64_t)status.st_mtim.tv_sec * SECOND + (uint64_t)status.st_mtim.tv_nsec;
}

// Stable: dumps of one time stay in the order of their names. Instants of a file are only as far apart as they have to
// be, because their times may be exact.
static void sort_by_time(struct hs_dump_series *series)
{
    for (size_t i = 1; i < series->count; i++) {
        struct hs_dump *dump = series->dump[i];
        const uint64_t time = series->time[i];
        size_t at = i;
        for (; at && series->time[at - 1] > time; at--) {
            series->dump[at] = series->dump[at - 1];
            series->time[at] = series->time[at - 1];
        }
        series->dump[at] = dump;
        series->time[at] = time;
    }
    for (size_t i = 1; i < series->count; i++)
        if (series->time[i] <= series->time[i - 1])
            series->time[i] = series->time[i - 1] + (series->dump[i]->part ? 1 : APART);
}

// ---- one process ----------------------------------------------------------------------------------------------------

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

// jemalloc's names are PREFIX.PID.NUMBER.KIND.heap. 0: not known.
static unsigned long process_in_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    char name[NAME_MAX + 1], *part[4]; // from the end
    snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
        char *dot = strrchr(name, '.');
        if (!dot)
            return 0;
        *dot = 0;
        part[i] = dot + 1;
    }
    const bool is_jemallocs =
        !strcmp(part[0], "heap") && *part[1] && strchr("fimu", *part[1]) && is_number(part[2]) && is_number(part[3]);
    return is_jemallocs ? strtoul(part[3], NULL, 10) : 0;
}

static unsigned long process_of(const struct hs_dump *dump)
{
    const char *pid = hs_dump__fact(dump, "pid");
    return pid ? strtoul(pid, NULL, 10) : process_in_name(dump->name);
}

// Not every format says the host.
static bool is_of_another(const struct hs_dump *dump, const struct hs_dump *than)
{
    const unsigned long process = process_of(dump);
    const char *host = hs_dump__fact(dump, "host"), *other = hs_dump__fact(than, "host");
    return process && (process != process_of(than) || (host && other && strcmp(host, other) != 0));
}

static const struct hs_dump *last_with_process(const struct hs_dump_series *series)
{
    for (size_t i = series->count; i-- > 0;)
        if (process_of(series->dump[i]))
            return series->dump[i];
    return NULL;
}

// They are in the order of their times.
static void keep_one_process(struct hs_dump_series *series)
{
    const struct hs_dump *last = last_with_process(series);
    size_t kept = 0;
    if (!last)
        return;
    const size_t count = series->count;
    for (size_t i = 0; i < count; i++) {
        if (is_of_another(series->dump[i], last)) {
            hs_dump__close(series->dump[i]);
            continue;
        }
        series->dump[kept] = series->dump[i];
        series->time[kept++] = series->time[i];
    }
    series->count = kept;
    if (kept < count)
        snprintf(
            series->left_out, sizeof(series->left_out),
            "the folder also has %zu dump%s of other processes, which %s left out: this is process %lu, which wrote "
            "the last dump; for another one, put its dumps into a folder of their own",
            count - kept, count - kept == 1 ? "" : "s", count - kept == 1 ? "is" : "are", process_of(last));
}

// ---- sums -----------------------------------------------------------------------------------------------------------

struct series_sums {
    struct hs_dump_series *series;
    struct hs_live_total *whole; // by dump: the sum of its stacks, which are rounded
    size_t largest;              // dump
    struct hs_culled *culled;
    struct hs_timeline_point *points;
};

// Of a dump, since the start.
static uint64_t time_since(const struct hs_dump_series *series, size_t which)
{
    return series->time[which] - series->begin;
}

static struct hs_live_total live_of(const struct hs_total *total)
{
    return (struct hs_live_total){total->live_bytes, total->live_usable, total->live_count};
}

// Among equals the file decides which is the peak.
static bool is_larger(const struct series_sums *sums, size_t which)
{
    const struct hs_dump *const *dump = (const struct hs_dump *const *)sums->series->dump;
    const uint64_t bytes = sums->whole[which].bytes, largest = sums->whole[sums->largest].bytes;
    return bytes != largest ? bytes > largest : dump[which]->is_peak && !dump[sums->largest]->is_peak;
}

static int add_up_dump(struct series_sums *sums, const struct hs_dump_view *view, unsigned which)
{
    struct hs_totals totals = {0};
    struct hs_live_total *whole = &sums->whole[which];
    const int failed = hs_dump_view__totals(view, which, NULL, &totals);
    for (size_t i = 0; i < totals.count; i++) {
        whole->bytes += totals.total[i].live_bytes;
        whole->usable += totals.total[i].live_usable;
        whole->count += totals.total[i].live_count;
    }
    hs_totals__free(&totals);
    if (!failed && is_larger(sums, which))
        sums->largest = which;
    return failed;
}

// What was allocated is at least what was in use. Some formats have no numbers of blocks; a stack with bytes has at
// least one.
static void complete(struct hs_culled *culled, uint32_t stack, uint64_t end)
{
    const struct hs_live_total live = culled->live, peak = culled->peak;
    culled->stack = stack;
    culled->kind = HS_CULLED_SUMS;
    culled->domain = HS_DOMAIN_HEAP;
    culled->last_time = end;
    culled->size = culled->size > live.bytes ? culled->size : live.bytes;
    culled->size = culled->size > peak.bytes ? culled->size : peak.bytes;
    culled->usable = culled->size;
    culled->count = culled->count > live.count ? culled->count : live.count;
    culled->count = culled->count > peak.count ? culled->count : peak.count;
    culled->count = culled->count ? culled->count : culled->size > 0;
}

// By stack; zeros where nothing is known.
static int take_dumps(struct series_sums *sums, const struct hs_dump_view *view)
{
    struct hs_totals last = {0}, largest = {0};
    int failed = hs_dump_view__totals(view, (unsigned)sums->series->count - 1, NULL, &last);
    if (!failed)
        failed = hs_dump_view__totals(view, (unsigned)sums->largest, NULL, &largest);
    for (size_t i = 0; !failed && i < last.count; i++) {
        struct hs_culled *culled = &sums->culled[last.total[i].stack];
        culled->live = live_of(&last.total[i]);
        culled->size = last.total[i].allocated_bytes;
        culled->count = last.total[i].allocated_count;
    }
    for (size_t i = 0; !failed && i < largest.count; i++)
        sums->culled[largest.total[i].stack].peak = live_of(&largest.total[i]);
    hs_totals__free(&last);
    hs_totals__free(&largest);
    return failed;
}

static int make_culled(struct series_sums *sums, const struct hs_dump_view *view, struct hs_store_tables *tables)
{
    const struct hs_dump_series *series = sums->series;
    // What was allocated never becomes less.
    if (series->dump[series->count - 1]->lacks_live)
        sums->largest = series->count - 1;
    sums->culled = calloc(tables->node_count, sizeof(*sums->culled));
    if (!sums->culled || take_dumps(sums, view))
        return -ENOMEM;
    for (uint32_t stack = 0; stack < tables->node_count; stack++) {
        struct hs_culled one = sums->culled[stack];
        complete(&one, stack, time_since(series, series->count - 1));
        if (one.count)
            sums->culled[tables->culled_count++] = one;
    }
    tables->culled = sums->culled;
    return 0;
}

// ---- the timeline ---------------------------------------------------------------------------------------------------

static struct hs_timeline_point point_of(const struct hs_live_total *whole)
{
    return (struct hs_timeline_point){whole->bytes, whole->count, whole->bytes, whole->count, 0, 0, 0, 0};
}

static void add_tick(struct hs_timeline_point *point, const struct hs_live_total *whole)
{
    const struct hs_timeline_point tick = point_of(whole);
    point->live_bytes_end = tick.live_bytes_end;
    point->live_count_end = tick.live_count_end;
    if (tick.live_bytes_max > point->live_bytes_max)
        point->live_bytes_max = tick.live_bytes_max;
    if (tick.live_count_max > point->live_count_max)
        point->live_count_max = tick.live_count_max;
}

// Between two dumps there is what the first of them said, and before the first what it says itself.
static int make_timeline(struct series_sums *sums, struct hs_store_tables *tables)
{
    const struct hs_dump_series *series = sums->series;
    const uint64_t end = time_since(series, series->count - 1);
    const uint64_t interval = end / (HS_TIMELINE_POINTS - 1) + 1;
    const size_t count = (size_t)(end / interval) + 1;
    struct hs_timeline_point *points = calloc(count, sizeof(*points));
    if (!points)
        return -ENOMEM;
    sums->points = points;
    size_t at = 0; // the first point that no dump has reached
    for (size_t i = 0; i < series->count; i++) {
        const size_t here = (size_t)(time_since(series, i) / interval);
        for (; at <= here; at++)
            points[at] = at < here ? point_of(&sums->whole[i ? i - 1 : 0]) : (struct hs_timeline_point){0};
        add_tick(&points[here], &sums->whole[i]);
    }
    tables->points = points;
    tables->point_count = count;
    tables->interval = interval;
    return 0;
}

// ---- the summary ----------------------------------------------------------------------------------------------------

static void fill_summary(const struct series_sums *sums, struct hs_store_tables *tables)
{
    const struct hs_dump_series *series = sums->series;
    const size_t last = series->count - 1;
    struct hs_summary *summary = &tables->summary;
    const struct hs_dump *known = last_with_process(series);
    summary->pid = known ? (uint32_t)process_of(known) : 0;
    snprintf(summary->trace_id, sizeof(summary->trace_id), "%s", series->id);
    summary->file_size = series->file_size;
    summary->state = HS_STATE_CLOSED;
    summary->start_realtime_ns = series->begin;
    summary->end_time = summary->aggregate_until = time_since(series, last);
    summary->is_aggregate = true;
    summary->aggregate_ticks = series->count;
    summary->live = sums->whole[last];
    summary->peak = sums->whole[sums->largest];
    summary->peak_time = time_since(series, sums->largest);
    for (size_t i = 0; i < tables->culled_count; i++) {
        summary->allocations += tables->culled[i].count;
        summary->allocated_bytes += tables->culled[i].size;
        summary->allocated_usable += tables->culled[i].usable;
    }
}

// In the words of the costs.
static const char *known_costs(const struct hs_dump_series *series)
{
    const struct hs_dump *last = series->dump[series->count - 1];
    return last->lacks_live ? "allocated" : last->has_all ? "peak live allocated" : "peak live";
}

// What the numbers are, if they are not exact.
static void describe(struct hs_dump_series *series)
{
    const struct hs_dump *last = series->dump[series->count - 1];
    double samples = 0;
    for (size_t i = 0; i < last->context_count; i++)
        samples += (double)last->context[i].counts.live_blocks;
    if (last->sampling == HS_SAMPLING_NONE && last->period > 1)
        snprintf(series->estimate, sizeof(series->estimate),
                 "estimates of the profiler, which took a sample every %s on average",
                 hs_text__bytes(last->period).text);
    else if (last->sampling == HS_SAMPLING_POISSON && last->period > 1)
        snprintf(series->estimate, sizeof(series->estimate), "estimated from %s, one every %s on average%s",
                 hs_text__samples((uint64_t)samples).text, hs_text__bytes(last->period).text,
                 samples < 100 ? "; with so few samples, a share may be wrong by more than a tenth" : "");
}

static int make_sums(void *context, const struct hs_dump_view *view, struct hs_store_tables *tables)
{
    struct series_sums *sums = context;
    struct hs_dump_series *series = sums->series;
    sums->whole = calloc(series->count, sizeof(*sums->whole));
    int result = sums->whole ? 0 : -ENOMEM;
    for (unsigned which = 0; !result && which < series->count; which++)
        result = add_up_dump(sums, view, which);
    if (!result)
        result = make_culled(sums, view, tables);
    if (!result)
        result = make_timeline(sums, tables);
    if (result)
        return result;
    fill_summary(sums, tables);
    describe(series);
    snprintf(series->counted, sizeof(series->counted), "%zu", series->count);
    series->facts[0] = (struct hs_store_fact){"dumps", series->counted};
    series->facts[1] = (struct hs_store_fact){"known-costs", known_costs(series)};
    series->facts[2] = (struct hs_store_fact){"estimate", *series->estimate ? series->estimate : NULL};
    series->facts[3] = (struct hs_store_fact){"attached", hs_dump__fact(series->dump[series->count - 1], "attached")};
    series->facts[4] =
        (struct hs_store_fact){"older-bytes", hs_dump__fact(series->dump[series->count - 1], "older-bytes")};
    series->facts[5] = (struct hs_store_fact){"host", hs_dump__fact(series->dump[series->count - 1], "host")};
    series->facts[6] = (struct hs_store_fact){"since", hs_dump__fact(series->dump[series->count - 1], "since")};
    series->facts[7] = (struct hs_store_fact){"clock", series->clock};
    series->facts[8] = (struct hs_store_fact){"incomplete", *series->left_out ? series->left_out : NULL};
    tables->facts = series->facts;
    tables->fact_count = sizeof(series->facts) / sizeof(series->facts[0]);
    return 0;
}

// ---- opening --------------------------------------------------------------------------------------------------------

// The same files have the same id, wherever they lie.
static void add_file(struct hs_dump_series *series, uint64_t id[2], const char *path)
{
    unsigned char bytes[65536];
    FILE *file = fopen(path, "rbe");
    for (size_t got; file && (got = fread(bytes, 1, sizeof(bytes), file)) > 0;) {
        series->file_size += got;
        for (size_t i = 0; i < got; i++) {
            id[0] = (id[0] ^ bytes[i]) * 0x100000001b3u;
            id[1] = (id[1] + bytes[i]) * 0x9e3779b97f4a7c15u;
            id[1] ^= id[1] >> 29;
        }
    }
    if (file)
        fclose(file);
}

// Sums of several dumps must not overflow.
int hs_dump_series__check_size(const struct hs_dump *dump, struct hs_error *error)
{
    const struct hs_dump_estimate sum = hs_dump__sum(dump);
    if (sum.live_bytes < 0x1p60 && sum.live_blocks < 0x1p60 && sum.all_bytes < 0x1p60 && sum.all_blocks < 0x1p60)
        return 0;
    return hs_error__set(error, EINVAL,
                         "%s: its blocks have 1 EiB or more in all, which no process has: the file is damaged",
                         dump->name);
}

// Takes the dump over.
static int add_dump(struct hs_dump_series *series, struct hs_dump *dump, uint64_t time, const int *cancel,
                    struct hs_error *error)
{
    if (!HS_ARRAY_HAS_ROOM(series->dump, series->count, series->room) ||
        !HS_ARRAY_HAS_ROOM(series->time, series->count, series->time_room)) {
        hs_error__set(error, ENOMEM, "%s: out of memory", dump->name);
        hs_dump__close(dump);
        return -ENOMEM;
    }
    series->dump[series->count] = dump;
    series->time[series->count++] = time;
    if (cancel && *cancel)
        return hs_error__set(error, ECANCELED, "%s: cancelled", dump->name);
    if (series->count > MOST_DUMPS)
        return hs_error__set(error, E2BIG, "%s: more than %d dumps and instants in one series", dump->name, MOST_DUMPS);
    return hs_dump_series__check_size(dump, error);
}

// The file was written at the last of its instants. Where these are no times, nobody knows when its process started.
static int add_parts(struct hs_dump_series *series, const struct hs_dump *of, uint64_t written, const int *cancel,
                     struct hs_error *error)
{
    const size_t first = series->count;
    uint64_t last = 0;
    int result = 0;
    for (uint64_t next = HS_DUMP_FIRST; !result && next;) {
        struct hs_dump *part;
        if (series->count - first == MOST_INSTANTS)
            return hs_error__set(error, E2BIG, "%s: more than %d instants, which massif itself never writes", of->name,
                                 MOST_INSTANTS);
        result = hs_dump__open_part(of, next, &part, error);
        if (result)
            return result;
        next = part->next_part;
        last = part->elapsed_ns < LATEST ? part->elapsed_ns : LATEST;
        result = add_dump(series, part, last, cancel, error);
    }
    series->begin = of->clock ? written : written > last ? written - last : 0;
    for (size_t i = first; i < series->count; i++)
        series->time[i] += series->begin;
    return result;
}

static int read_dump(struct hs_dump_series *series, const char *path, uint64_t id[2], const int *cancel,
                     struct hs_error *error)
{
    struct hs_dump *dump;
    int result = hs_dump__open(path, &dump, error);
    if (result)
        return result;
    const uint64_t time = hs_dump_series__time_of(dump, path);
    add_file(series, id, path);
    if (!dump->part)
        return add_dump(series, dump, time, cancel, error);
    result = add_parts(series, dump, time, cancel, error);
    hs_dump__close(dump);
    return result;
}

static int read_dumps(struct hs_dump_series *series, char **paths, size_t count, const int *cancel,
                      struct hs_error *error)
{
    uint64_t id[2] = {0xcbf29ce484222325u, count};
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = read_dump(series, paths[i], id, cancel, error);
    if (result)
        return result;
    snprintf(series->id, sizeof(series->id), "%016" PRIx64 "%016" PRIx64, id[0], id[1]);
    sort_by_time(series);
    keep_one_process(series);
    // Only a file of several instants says when its process started.
    if (count > 1 || !series->dump[0]->part)
        series->begin = series->time[0];
    else
        series->clock = series->dump[0]->clock;
    return 0;
}

static int read_path(struct hs_dump_series *series, const char *path, const int *cancel, struct hs_error *error)
{
    char **paths = NULL;
    struct stat status;
    int count = 1;
    if (!stat(path, &status) && S_ISDIR(status.st_mode)) {
        count = list_dumps(path, &paths);
    } else {
        paths = calloc(2, sizeof(*paths));
        if (paths)
            paths[0] = strdup(path);
        count = paths && paths[0] ? 1 : -ENOMEM;
    }
    int result = count > 0    ? read_dumps(series, paths, (size_t)count, cancel, error)
                 : count == 0 ? hs_error__set(error, ENOENT, "%s: there is no heap dump in this folder", path)
                              : hs_error__set(error, -count, "%s: %s", path, strerror(-count));
    free_paths(paths);
    return result;
}

int hs_dump_series__open(struct hs_dump_series *series, const char *path, const struct hs_symbols_options *options,
                         const int *cancel, struct hs_error *error)
{
    *series = (struct hs_dump_series){0};
    struct series_sums sums = {.series = series};
    int result = read_path(series, path, cancel, error);
    if (!result && hs_dump_view__open_all(&series->view, (const struct hs_dump *const *)series->dump,
                                          (unsigned)series->count, options, make_sums, &sums))
        result = hs_error__set(error, ENOMEM, "%s: out of memory", path);
    free(sums.whole);
    free(sums.culled);
    free(sums.points);
    if (result)
        hs_dump_series__close(series);
    return result == -EINVAL ? -EBADMSG : result; // the file is wrong, not the question
}

void hs_dump_series__close(struct hs_dump_series *series)
{
    if (series->view.dumps)
        hs_dump_view__close(&series->view);
    for (size_t i = 0; i < series->count; i++)
        hs_dump__close(series->dump[i]);
    free(series->dump);
    free(series->time);
    *series = (struct hs_dump_series){0};
}

// ---- one instant ----------------------------------------------------------------------------------------------------

static size_t dump_at(const struct hs_dump_series *series, uint64_t time)
{
    size_t at = 0;
    while (at + 1 < series->count && time_since(series, at + 1) <= time)
        at++;
    return at;
}

const struct hs_dump *hs_dump_series__at(const struct hs_dump_series *series, uint64_t time)
{
    return series->dump[dump_at(series, time)];
}

static void take_instant(struct hs_total *total, bool lacks_live)
{
    if (lacks_live) {
        total->live_bytes = total->allocated_bytes;
        total->live_usable = total->allocated_usable;
        total->live_count = total->allocated_count;
    }
    hs_total__take_live(total);
}

int hs_dump_series__totals_at(const struct hs_dump_series *series, uint64_t time, const struct hs_set *stacks,
                              struct hs_totals *totals)
{
    const size_t which = dump_at(series, time);
    const struct hs_dump_choice choice = {.stacks = stacks};
    size_t kept = 0;
    *totals = (struct hs_totals){0};
    if (hs_dump_view__totals(&series->view, (unsigned)which, &choice, totals))
        return -ENOMEM;
    totals->sum = (struct hs_total){.lifetime_min = UINT64_MAX};
    for (size_t i = 0; i < totals->count; i++) {
        struct hs_total *total = &totals->total[i];
        take_instant(total, series->dump[which]->lacks_live);
        if (!total->live_bytes && !total->live_count)
            continue;
        totals->total[kept++] = *total;
        hs_total__add(&totals->sum, total);
    }
    totals->count = kept;
    return 0;
}
