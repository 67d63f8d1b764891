// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/load_dumps.h"

#include "format/trace_format.h"
#include "host/base/array.h"
#include "host/base/id_map.h"
#include "host/dump/dump.h"
#include "host/dump/machine.h"
#include "host/dump/series.h"
#include "host/fleet/keys.h"
#include "host/fleet/tsv.h"
#include "host/symbols/symbols.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SECOND    ((uint64_t)1000000000)
#define NS_2001   ((uint64_t)978307200 * SECOND)
#define LAST_TIME (UINT32_MAX * SECOND) // that the tables can hold

enum { CONTENT_BITS = 12 }; // of a moment, whose 20 upper bits are microseconds

struct dump_file {
    char *path;
    const struct hs_sender_device *device;
    uint64_t session, time_ns, instant;
    uint64_t clock_ns; // added to the dump's own times: its clock was never set
};

// A stack of a session: since when it is known, and what the current dump has of it.
struct dump_stack {
    uint64_t key, first;
    bool here;
    struct hs_dump_estimate sums;
};

struct hs_fleet_dump_files {
    struct hs_sender *sender;
    struct hs_database *database;
    struct hs_array files; // struct dump_file
    // Of the current session.
    struct hs_array stacks;    // struct dump_stack
    struct hs_id_map stack_of; // by key
    struct hs_array times;     // uint64_t: the instants that the database has
    uint64_t start_ns;
};

struct hs_fleet_dump_files *hs_fleet_dump_files__create(struct hs_sender *sender, struct hs_database *database)
{
    struct hs_fleet_dump_files *files = calloc(1, sizeof(*files));
    if (files)
        *files = (struct hs_fleet_dump_files){.sender = sender, .database = database};
    return files;
}

static void forget_session(struct hs_fleet_dump_files *files)
{
    free(files->stacks.data);
    free(files->times.data);
    hs_id_map__free(&files->stack_of);
    files->stacks = files->times = (struct hs_array){0};
    files->stack_of = (struct hs_id_map){0};
}

void hs_fleet_dump_files__free(struct hs_fleet_dump_files *files)
{
    if (!files)
        return;
    const struct dump_file *file = files->files.data;
    for (size_t i = 0; i < files->files.count; i++)
        free(file[i].path);
    free(files->files.data);
    forget_session(files);
    free(files);
}

// ---- which session -------------------------------------------------------------------------------------------------

static const char *fact(const struct hs_dump *dump, const char *key)
{
    const char *value = hs_dump__fact(dump, key);
    return value ? value : "";
}

static int mix_file(uint64_t *hash, const char *path)
{
    FILE *file = fopen(path, "rbe");
    uint8_t bytes[16384];
    if (!file)
        return -errno;
    for (size_t got; (got = fread(bytes, 1, sizeof(bytes), file)) > 0;)
        for (size_t i = 0; i < got; i++)
            *hash = hs_fleet_key__mixed(*hash + bytes[i]);
    int failed = ferror(file) ? -EIO : 0;
    fclose(file);
    return failed;
}

// Dumps of one process are ordered by their times. Those of one microsecond have different contents, which order them
// in some way, but always in the same.
static int set_keys(struct dump_file *file, const struct hs_dump *dump)
{
    const char *device = file->device->device ? file->device->device : fact(dump, "host");
    const char *pid = fact(dump, "pid"), *since = fact(dump, "since");
    uint64_t content = 1;
    int failed = mix_file(&content, file->path);
    if (*pid && *since)
        file->session = hs_fleet_key__dumped(device, dump->executable, pid, since);
    else
        file->session = hs_fleet_key__mixed(hs_fleet_key__dumped(device, dump->executable, NULL, NULL) + content);
    const uint64_t moment = file->time_ns % SECOND / 1000 << CONTENT_BITS | content >> (64 - CONTENT_BITS);
    file->instant = file->time_ns / SECOND << 32 | moment;
    return failed;
}

static bool has_places(const struct hs_dump *dump)
{
    for (size_t i = 0; i < dump->location_count; i++)
        if (!dump->location[i].has_address)
            return false;
    return dump->mapping_count || !dump->location_count;
}

// Without a clock, a dump is as old as its file.
static int set_time(struct dump_file *file, const struct hs_dump *dump, struct hs_error *error)
{
    struct stat status;
    file->time_ns = hs_dump_series__time_of(dump, file->path);
    if (file->time_ns < NS_2001) {
        if (stat(file->path, &status))
            return hs_error__set(error, errno, "%s: %s", file->path, strerror(errno));
        const uint64_t changed_ns = (uint64_t)status.st_mtim.tv_sec * SECOND + (uint64_t)status.st_mtim.tv_nsec;
        file->clock_ns = changed_ns - file->time_ns;
        file->time_ns += file->clock_ns;
    }
    if (file->time_ns <= LAST_TIME)
        return 0;
    return hs_error__set(error, EINVAL, "%s: its time is after 2106", file->path);
}

static int note(struct hs_fleet_dump_files *files, const struct hs_dump *dump, const struct hs_sender_device *device,
                const char *path, struct hs_error *error)
{
    if (dump->lacks_live)
        return hs_error__set(error, ENOTSUP, "%s: does not contain the memory in use", path);
    if (!has_places(dump))
        return hs_error__set(error, ENOTSUP, "%s: has no addresses in files, by which a fleet identifies stacks", path);
    struct dump_file file = {.path = strdup(path), .device = device};
    if (!file.path)
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    int failed = hs_dump_series__check_size(dump, error);
    if (!failed)
        failed = set_time(&file, dump, error);
    if (!failed && (failed = set_keys(&file, dump)))
        hs_error__set(error, -failed, "%s: %s", path, strerror(-failed));
    struct dump_file *added = failed ? NULL : hs_array__add(&files->files, sizeof(*added));
    if (!failed && !added)
        failed = hs_error__set(error, ENOMEM, "%s: out of memory", path);
    if (failed)
        free(file.path);
    else
        *added = file;
    return failed;
}

int hs_fleet_dump_files__add(struct hs_fleet_dump_files *files, const struct hs_sender_device *device, const char *path,
                             struct hs_error *error)
{
    struct hs_dump *dump;
    int failed = hs_dump__open(path, &dump, error);
    if (failed)
        return failed;
    failed = note(files, dump, device, path, error);
    hs_dump__close(dump);
    return failed;
}

// ---- what the database has -----------------------------------------------------------------------------------------

static struct dump_stack *stack_of(struct hs_fleet_dump_files *files, uint64_t key, uint64_t first)
{
    uint32_t place = hs_id_map__find(&files->stack_of, key);
    if (place == UINT32_MAX && files->stacks.count >= HS_SENDER_STACKS && key)
        return stack_of(files, 0, first);
    struct dump_stack *stack = place == UINT32_MAX ? hs_array__add(&files->stacks, sizeof(*stack))
                                                   : (struct dump_stack *)files->stacks.data + place;
    if (!stack || place != UINT32_MAX)
        return stack;
    *stack = (struct dump_stack){.key = key, .first = first};
    return hs_id_map__set(&files->stack_of, key, (uint32_t)files->stacks.count - 1) ? NULL : stack;
}

static int ask(const struct hs_fleet_dump_files *files, const char *statement, uint64_t session,
               struct hs_buffer *answer, struct hs_error *error)
{
    char text[384];
    *answer = (struct hs_buffer){0};
    snprintf(text, sizeof(text), statement, session, session);
    return hs_database__ask(files->database, text, answer, error);
}

// The table of samples has the sessions in order, and the rollup the stacks.
static int read_stacks(struct hs_fleet_dump_files *files, uint64_t session, struct hs_error *error)
{
    struct hs_buffer answer;
    char *field[2];
    int failed =
        ask(files,
            "SELECT stack, minMerge(first_instant) FROM stack_of_session WHERE session = %" PRIu64
            " AND stack IN (SELECT stack FROM sample WHERE session = %" PRIu64 ") GROUP BY stack FORMAT TabSeparated",
            session, &answer, error);
    struct hs_tsv table = hs_tsv__begin(&answer);
    while (!failed && hs_tsv__next(&table, field, 2))
        if (!stack_of(files, strtoull(field[0], NULL, 10), strtoull(field[1], NULL, 10)))
            failed = hs_error__set(error, ENOMEM, "out of memory");
    hs_buffer__free(&answer);
    return failed;
}

static int read_times(struct hs_fleet_dump_files *files, uint64_t session, struct hs_error *error)
{
    struct hs_buffer answer;
    char *field[1];
    int failed =
        ask(files,
            "SELECT DISTINCT toUInt64(toUInt32(time)) * 4294967296 + moment FROM total WHERE session = %" PRIu64
            " FORMAT TabSeparated",
            session, &answer, error);
    struct hs_tsv table = hs_tsv__begin(&answer);
    while (!failed && hs_tsv__next(&table, field, 1)) {
        uint64_t *time = hs_array__add(&files->times, sizeof(*time));
        if (!time)
            failed = hs_error__set(error, ENOMEM, "out of memory");
        else
            *time = strtoull(field[0], NULL, 10);
    }
    hs_buffer__free(&answer);
    return failed;
}

// ---- stacks --------------------------------------------------------------------------------------------------------

// A program that is not moved is linked at its addresses. Others are where the kernel chooses: far above.
static bool is_fixed(struct hs_dump_machine machine, uint64_t start)
{
    if (machine.pointer_size == 4)
        return start < (machine.machine == EM_ARM ? 0x400000u : 0x40000000u);
    return start < (uint64_t)1 << 36;
}

// Where the file would begin in memory. Parts of one file lie one after the other.
static uint64_t bias_of(const struct hs_dump *dump, uint32_t number, struct hs_dump_machine machine)
{
    const struct hs_dump_mapping *mapping = dump->mapping;
    const struct hs_dump_mapping *of = &mapping[number];
    uint32_t first = number;
    while (first && mapping[first].offset && !strcmp(mapping[first - 1].path, of->path) &&
           mapping[first - 1].offset <= mapping[first].offset)
        first--;
    const uint64_t start = mapping[first].offset ? of->start - of->offset : mapping[first].start;
    return !strcmp(of->path, dump->executable) && is_fixed(machine, start) ? 0 : start;
}

struct dump_places {
    struct hs_fleet_place *place;     // by location
    uint8_t (*build)[HS_FLEET_BUILD]; // by mapping
};

static void free_places(struct dump_places *places)
{
    free(places->place);
    free(places->build);
}

static int find_places(struct dump_places *places, const struct hs_dump *dump)
{
    const struct hs_dump_machine machine = hs_dump__machine(dump);
    const unsigned call = hs_call_length(machine.machine);
    places->place = calloc(dump->location_count + 1, sizeof(*places->place));
    places->build = calloc(dump->mapping_count + 1, sizeof(*places->build));
    if (!places->place || !places->build)
        return -ENOMEM;
    for (size_t i = 0; i < dump->mapping_count; i++) {
        const struct hs_dump_mapping *mapping = &dump->mapping[i];
        size_t length = mapping->build_id_length < HS_FLEET_BUILD ? mapping->build_id_length : HS_FLEET_BUILD;
        memcpy(places->build[i], mapping->build_id, length);
        if (!length)
            hs_fleet_key__build_of_path(mapping->path, 0, places->build[i]);
    }
    for (size_t i = 0; i < dump->location_count; i++) {
        const struct hs_dump_location *location = &dump->location[i];
        const uint32_t in = location->mapping;
        places->place[i] = (struct hs_fleet_place){hs_fleet_no_build, NULL, HS_CUT_LIMIT};
        if (in != HS_DUMP_NONE && *dump->mapping[in].path)
            places->place[i] = (struct hs_fleet_place){places->build[in], dump->mapping[in].path,
                                                       location->address + call - bias_of(dump, in, machine)};
    }
    return 0;
}

static int add_context(struct hs_fleet_dump_files *files, const struct hs_dump *dump, const struct dump_places *places,
                       const struct hs_dump_context *context, uint64_t instant)
{
    struct hs_fleet_place frames[HS_FOLLOW_FRAMES];
    struct hs_dump_walk walk = hs_dump__walk(dump, context);
    size_t count = 0;
    uint32_t location;
    uint64_t key;
    while (count < HS_FOLLOW_FRAMES && hs_dump_walk__next(&walk, &location))
        frames[count++] = places->place[location];
    if (hs_sender__add_stack(files->sender, frames, count, &key))
        return -ENOMEM;
    struct dump_stack *stack = stack_of(files, key, instant);
    if (!stack)
        return -ENOMEM;
    stack->here = true;
    hs_dump_estimate__add(&stack->sums, hs_dump__estimate(dump, &context->counts));
    return 0;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

static uint64_t whole_number(double value)
{
    return value < 0x1p62 ? (uint64_t)llround(value) : (uint64_t)1 << 62;
}

// As reports round it.
static struct hs_follow_sums rounded(const struct hs_dump_estimate *sums)
{
    return (struct hs_follow_sums){.in_use_bytes = whole_number(sums->live_bytes),
                                   .in_use_count = whole_number(sums->live_blocks),
                                   .allocated_bytes = whole_number(sums->all_bytes),
                                   .allocated_count = whole_number(sums->all_blocks)};
}

static uint32_t age_at(const struct hs_fleet_dump_files *files, uint64_t instant)
{
    const uint64_t start = files->start_ns / SECOND, time = instant >> 32;
    return time > start ? (uint32_t)(time - start) : 0;
}

static void put_state(const struct hs_fleet_dump_files *files, uint64_t session, const struct dump_stack *stack,
                      uint64_t instant, bool here)
{
    static const struct hs_dump_estimate nothing;
    const struct hs_follow_sums sums = rounded(here ? &stack->sums : &nothing);
    hs_sender__add_state(files->sender, stack->key, session, instant, age_at(files, instant), &sums);
}

// A stack that was not known from `from` to `until` is in none of the dumps that the database has of this time.
static bool put_absent(const struct hs_fleet_dump_files *files, uint64_t session, const struct dump_stack *stack,
                       uint64_t from, uint64_t until)
{
    const uint64_t *time = files->times.data;
    uint64_t next = until;
    for (size_t i = 0; i < files->times.count; i++)
        if (time[i] > from && time[i] < next)
            next = time[i];
    if (next < until)
        put_state(files, session, stack, next, false);
    return next < until;
}

// They are in the database before the dump is: of one that is there only in part, nobody would know that they lack.
static int put_absents(struct hs_fleet_dump_files *files, uint64_t session, uint64_t instant, size_t known,
                       struct hs_error *error)
{
    struct dump_stack *stack = files->stacks.data;
    bool some = false;
    for (size_t i = 0; i < files->stacks.count; i++) {
        if (!stack[i].here || (i < known && instant >= stack[i].first))
            continue;
        some |= put_absent(files, session, &stack[i], instant, i < known ? stack[i].first : UINT64_MAX);
        stack[i].first = instant;
    }
    return some ? hs_sender__flush(files->sender, error) : 0;
}

// A stack that is no longer in a dump has nothing in use.
static void put_states(struct hs_fleet_dump_files *files, uint64_t session, uint64_t instant)
{
    struct dump_stack *stack = files->stacks.data;
    for (size_t i = 0; i < files->stacks.count; i++) {
        if (stack[i].here || stack[i].first < instant)
            put_state(files, session, &stack[i], instant, stack[i].here);
        stack[i].here = false;
        stack[i].sums = (struct hs_dump_estimate){0};
    }
}

static int load_dump(struct hs_fleet_dump_files *files, const struct dump_file *file, const struct hs_dump *dump,
                     struct hs_error *error)
{
    struct dump_places places = {0};
    const size_t known = files->stacks.count;
    int failed = find_places(&places, dump);
    for (size_t i = 0; i < dump->context_count && !failed; i++)
        failed = add_context(files, dump, &places, &dump->context[i], file->instant);
    free_places(&places);
    if (failed)
        return hs_error__set(error, ENOMEM, "%s: out of memory", file->path);
    failed = put_absents(files, file->session, file->instant, known, error);
    if (failed)
        return failed;
    const struct hs_dump_estimate sum = hs_dump__sum(dump);
    const struct hs_follow_sums total = rounded(&sum);
    put_states(files, file->session, file->instant);
    hs_sender__add_total(files->sender, file->session, file->instant, &total);
    return 0;
}

static int put_session(struct hs_fleet_dump_files *files, const struct dump_file *file, const struct hs_dump *dump)
{
    uint64_t last = file->time_ns / SECOND;
    const uint64_t *time = files->times.data;
    for (size_t i = 0; i < files->times.count; i++)
        last = time[i] >> 32 > last ? time[i] >> 32 : last;
    const struct hs_sender_session session = {.key = file->session,
                                              .device = file->device,
                                              .host = fact(dump, "host"),
                                              .executable = dump->executable,
                                              .machine = hs_dump__machine(dump).machine,
                                              .pid = (uint32_t)strtoul(fact(dump, "pid"), NULL, 10),
                                              .start_ns = files->start_ns,
                                              .seen_ns = last * SECOND,
                                              .dropped = strtoull(fact(dump, "dropped"), NULL, 10),
                                              .ended = !strcmp(fact(dump, "trigger"), "final"),
                                              .estimated = true};
    return hs_sender__put_session(files->sender, &session);
}

// A process that began before its clock was set began when its first dump was written, as far as is known.
static uint64_t start_of(const struct hs_fleet_dump_files *files, const struct dump_file *file,
                         const struct hs_dump *dump)
{
    const uint64_t since = hs_dump_series__time_in(fact(dump, "since"));
    const uint64_t *time = files->times.data;
    uint64_t start = file->time_ns;
    if (since && (file->clock_ns || since >= NS_2001))
        return since + file->clock_ns < LAST_TIME ? since + file->clock_ns : file->time_ns;
    for (size_t i = 0; i < files->times.count; i++)
        start = (time[i] >> 32) * SECOND < start ? (time[i] >> 32) * SECOND : start;
    return start;
}

static int read_dump(struct hs_fleet_dump_files *files, const struct dump_file *file, bool first, bool last,
                     struct hs_fleet_loaded *loaded, struct hs_error *error)
{
    struct hs_dump *dump;
    const uint64_t before = hs_sender__waiting(files->sender);
    int failed = hs_dump__open(file->path, &dump, error);
    if (failed)
        return failed;
    if (first)
        files->start_ns = start_of(files, file, dump);
    failed = load_dump(files, file, dump, error);
    if (!failed && last && put_session(files, file, dump))
        failed = hs_error__set(error, ENOMEM, "out of memory");
    hs_dump__close(dump);
    loaded->ticks++;
    loaded->rows += hs_sender__waiting(files->sender) - before;
    if (!failed && hs_sender__waiting(files->sender) >= HS_SENDER_BATCH)
        failed = hs_sender__flush(files->sender, error);
    return failed;
}

static int by_session(const void *left, const void *right)
{
    const struct dump_file *a = left, *b = right;
    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    if (a->instant != b->instant)
        return a->instant < b->instant ? -1 : 1;
    return strverscmp(a->path, b->path);
}

// A copy of the same dump.
static bool is_replaced(const struct dump_file *file, const struct dump_file *next)
{
    return next->session == file->session && next->instant == file->instant;
}

static int load_session(struct hs_fleet_dump_files *files, const struct dump_file *file, size_t count,
                        struct hs_fleet_loaded *loaded, struct hs_error *error)
{
    int failed = read_stacks(files, file->session, error);
    if (!failed)
        failed = read_times(files, file->session, error);
    bool first = true;
    for (size_t i = 0; i < count && !failed; i++) {
        if (i + 1 < count && is_replaced(&file[i], &file[i + 1]))
            continue;
        failed = read_dump(files, &file[i], first, i + 1 == count, loaded, error);
        first = false;
    }
    forget_session(files);
    return failed;
}

int hs_fleet_dump_files__load(struct hs_fleet_dump_files *files, struct hs_fleet_loaded *loaded, struct hs_error *error)
{
    struct dump_file *file = files->files.data;
    const size_t count = files->files.count;
    int failed = 0;
    if (count)
        qsort(file, count, sizeof(*file), by_session);
    for (size_t from = 0, to; from < count && !failed; from = to) {
        for (to = from + 1; to < count && file[to].session == file[from].session;)
            to++;
        failed = load_session(files, &file[from], to - from, loaded, error);
    }
    return failed;
}
