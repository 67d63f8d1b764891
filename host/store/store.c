// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/store.h"

#include "format/trace_format.h"
#include "host/base/folders.h"
#include "host/base/search.h"
#include "host/base/text_stream.h"
#include "host/store/attach.h"
#include "host/store/clock_points.h"
#include "host/store/column_file.h"
#include "host/store/files.h"
#include "host/store/kept.h"
#include "host/store/seal.h"
#include "host/store/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct hs_store {
    struct hs_store_head head;
    struct hs_columns columns;
    struct hs_column_file zones, links, chains, nodes, node_times, pools, mappings, timeline, strings, modules, threads,
        clock, side, info, culled, embedded, functions, samples;
    struct hs_packed totals, stack_peaks;
    struct hs_module *module_list;
    uint64_t *module_reach; // largest end of the modules up to this one
    struct hs_thread *thread_list;
    struct hs_side_event *side_list;
    struct hs_embedded *embedded_list;
    struct hs_timeline_level levels[HS_TIMELINE_LEVELS];
    hs_embedded_reader reader;
    void (*close_reader)(void *context);
    void *reader_context;
    bool keeps_nothing;
    struct hs_store_files files; // only when it was opened from a directory
};

// ---- opening -------------------------------------------------------------------------------------------------------

int hs_store__read_head(const char *directory, struct hs_store_head *head)
{
    int directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory_fd < 0)
        return -errno;
    int fd = openat(directory_fd, "head", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int failed = fd < 0 ? -errno : 0;
    close(directory_fd);
    if (failed)
        return failed;
    ssize_t got = read(fd, head, sizeof *head);
    close(fd);
    if (got != (ssize_t)sizeof *head || head->magic != HS_STORE_MAGIC || head->version != HS_STORE_VERSION ||
        head->head_size != sizeof *head)
        return -EBADMSG;
    return 0;
}

static int open_tables(struct hs_store *store, int directory_fd)
{
    uint64_t points = 0, zones = (store->head.rows + HS_ZONE_ROWS - 1) / HS_ZONE_ROWS;
    for (unsigned i = 0; i < HS_TIMELINE_LEVELS; i++)
        points += store->head.timeline_points[i];
    int failed = hs_column_file__open(&store->zones, directory_fd, "zones", sizeof(struct hs_zone), zones);
    if (!failed)
        failed =
            hs_column_file__open(&store->timeline, directory_fd, "timeline", sizeof(struct hs_timeline_point), points);
    const struct {
        struct hs_column_file *file;
        const char *name;
        size_t element;
    } files[] = {
        {&store->links, "links", sizeof(struct hs_chain_link)},
        {&store->chains, "chains", sizeof(struct hs_chain)},
        {&store->nodes, "nodes", sizeof(struct hs_node)},
        {&store->node_times, "node_times", sizeof(struct hs_stored_node_time)},
        {&store->pools, "pools", sizeof(uint64_t)},
        {&store->mappings, "mappings", sizeof(struct hs_mapping)},
        {&store->strings, "strings", 1},
        {&store->modules, "modules", sizeof(struct hs_stored_module)},
        {&store->threads, "threads", sizeof(struct hs_stored_thread)},
        {&store->clock, "clock", sizeof(struct hs_clock_point)},
        {&store->side, "side", sizeof(struct hs_stored_side_event)},
        {&store->info, "info", sizeof(struct hs_stored_info)},
        {&store->culled, "culled", sizeof(struct hs_culled)},
        {&store->samples, "samples", sizeof(struct hs_sample)},
        {&store->embedded, "embedded", sizeof(struct hs_stored_embedded)},
        {&store->functions, "functions", sizeof(struct hs_stored_function)},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files && !failed; i++)
        failed = hs_column_file__open_any(files[i].file, directory_fd, files[i].name, files[i].element);
    store->columns.links = store->links.data;
    store->columns.link_count = store->links.capacity;
    if (!failed && (!store->strings.capacity || ((const char *)store->strings.data)[store->strings.capacity - 1]))
        failed = -EBADMSG;
    return failed;
}

static int open_columns(struct hs_store *store, int directory_fd)
{
    int failed = 0;
    store->columns.rows = store->head.rows;
    store->columns.pointer_size = store->head.summary.pointer_size;
#define OPEN(name)                                                                                                     \
    if (!failed)                                                                                                       \
        failed = hs_packed__open(&store->columns.name, directory_fd, #name, store->head.rows);
    HS_STORE_COLUMNS(OPEN)
#undef OPEN
    return failed;
}

static const char *string_at(const struct hs_store *store, uint32_t offset)
{
    return offset < store->strings.capacity ? (const char *)store->strings.data + offset : "";
}

static int list_modules(struct hs_store *store)
{
    const struct hs_stored_module *stored = store->modules.data;
    store->module_list = calloc(store->modules.capacity + 1, sizeof *store->module_list);
    store->module_reach = calloc(store->modules.capacity + 1, sizeof *store->module_reach);
    if (!store->module_list || !store->module_reach)
        return -ENOMEM;
    uint64_t reach = 0;
    for (size_t i = 0; i < store->modules.capacity; i++) {
        const struct hs_stored_module *from = &stored[i];
        int whole = (uint64_t)from->build_id + from->build_id_length <= store->strings.capacity;
        store->module_list[i] = (struct hs_module){.start = from->start,
                                                   .end = from->end,
                                                   .bias = from->bias,
                                                   .load_time = from->load_time,
                                                   .unload_time = from->unload_time,
                                                   .layout = from->layout,
                                                   .inode = from->inode,
                                                   .path = string_at(store, from->path),
                                                   .build_id = (const uint8_t *)string_at(store, from->build_id),
                                                   .build_id_length = whole ? from->build_id_length : 0};
        reach = from->end > reach ? from->end : reach;
        store->module_reach[i] = reach;
    }
    return 0;
}

static int list_others(struct hs_store *store)
{
    const struct hs_stored_thread *threads = store->threads.data;
    const struct hs_stored_side_event *side = store->side.data;
    const struct hs_stored_embedded *embedded = store->embedded.data;
    store->thread_list = calloc(store->threads.capacity + 1, sizeof *store->thread_list);
    store->side_list = calloc(store->side.capacity + 1, sizeof *store->side_list);
    store->embedded_list = calloc(store->embedded.capacity + 1, sizeof *store->embedded_list);
    if (!store->thread_list || !store->side_list || !store->embedded_list)
        return -ENOMEM;
    for (size_t i = 0; i < store->threads.capacity; i++)
        store->thread_list[i] = (struct hs_thread){threads[i].stream, threads[i].tid, threads[i].start_time,
                                                   string_at(store, threads[i].name)};
    for (size_t i = 0; i < store->side.capacity; i++)
        store->side_list[i] = (struct hs_side_event){.time = side[i].time,
                                                     .kind = side[i].kind,
                                                     .stream = side[i].stream,
                                                     .stack = side[i].stack,
                                                     .result = side[i].result,
                                                     .value = side[i].value,
                                                     .parameter = side[i].parameter,
                                                     .text = string_at(store, side[i].text)};
    for (size_t i = 0; i < store->embedded.capacity; i++)
        store->embedded_list[i] = (struct hs_embedded){string_at(store, embedded[i].name), embedded[i].length};
    return 0;
}

static void list_levels(struct hs_store *store)
{
    const struct hs_timeline_point *at = store->timeline.data;
    for (unsigned i = 0; i < HS_TIMELINE_LEVELS; i++) {
        store->levels[i] =
            (struct hs_timeline_level){store->head.timeline_interval << (2 * i), store->head.timeline_points[i], at};
        at = at ? at + store->head.timeline_points[i] : NULL; // without points there is no column
    }
}

static int open_store(const char *directory, bool sealed, struct hs_store **result, struct hs_error *error)
{
    *result = NULL;
    struct hs_store *store = calloc(1, sizeof *store);
    if (!store)
        return hs_error__set(error, ENOMEM, "%s: out of memory", directory);
    int failed = hs_store__read_head(directory, &store->head);
    int directory_fd = failed ? -1 : open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!failed && directory_fd < 0)
        failed = -errno;
    // As long as the store is open: the cache is not cleared of it (host/import/cache.h).
    if (!failed)
        flock(directory_fd, LOCK_SH | LOCK_NB);
    if (!failed && sealed)
        failed = hs_seal__check(directory_fd);
    if (!failed)
        failed = open_columns(store, directory_fd);
    if (!failed)
        failed = open_tables(store, directory_fd);
    // Without it the rows are added up.
    if (!failed)
        hs_packed__open(&store->totals, directory_fd, "totals", UINT64_MAX);
    if (!failed)
        failed = hs_packed__open(&store->stack_peaks, directory_fd, "stack_peaks", UINT64_MAX);
    if (!failed)
        hs_store_files__list(&store->files, directory_fd);
    if (directory_fd >= 0)
        close(directory_fd);
    if (!failed)
        failed = list_modules(store);
    if (!failed)
        failed = list_others(store);
    if (failed) {
        hs_store__close(store);
        return hs_error__set(error, -failed, "%s: %s", directory,
                             failed == -EBADMSG  ? "not a complete store of this version of heapsonde"
                             : failed == -ENOENT ? "not a store"
                                                 : strerror(-failed));
    }
    list_levels(store);
    *result = store;
    return 0;
}

int hs_store__open(const char *directory, struct hs_store **store, struct hs_error *error)
{
    return open_store(directory, true, store, error);
}

int hs_store__open_unsealed(const char *directory, struct hs_store **store, struct hs_error *error)
{
    return open_store(directory, false, store, error);
}

void hs_store__close(struct hs_store *store)
{
    if (!store)
        return;
#define CLOSE(name) hs_packed__close(&store->columns.name);
    HS_STORE_COLUMNS(CLOSE)
#undef CLOSE
    struct hs_column_file *files[] = {
        &store->zones,    &store->links,    &store->chains,  &store->nodes,    &store->node_times, &store->pools,
        &store->mappings, &store->timeline, &store->strings, &store->modules,  &store->threads,    &store->clock,
        &store->side,     &store->info,     &store->culled,  &store->embedded, &store->functions,  &store->samples};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        hs_column_file__close(files[i]);
    hs_packed__close(&store->totals);
    hs_packed__close(&store->stack_peaks);
    free(store->module_list);
    free(store->module_reach);
    free(store->thread_list);
    free(store->side_list);
    free(store->embedded_list);
    if (store->close_reader)
        store->close_reader(store->reader_context);
    if (store->files.count)
        hs_store_files__close(&store->files);
    free(store);
    hs_folders__sweep();
}

bool hs_store__is_whole(const struct hs_store *store)
{
    return hs_store_files__are_whole(&store->files);
}

// ---- what is kept with it -------------------------------------------------------------------------------------------

static bool keeps(const struct hs_store *store)
{
    return store->files.count && !store->keeps_nothing;
}

int hs_store__read_kept(const struct hs_store *store, uint8_t **bytes, size_t *count)
{
    return keeps(store) ? hs_kept__read(store->files.directory_fd, &store->head, bytes, count) : -ENOENT;
}

int hs_store__keep(const struct hs_store *store, const void *bytes, size_t count)
{
    return keeps(store) ? hs_kept__write(store->files.directory_fd, &store->head, bytes, count) : -EROFS;
}

// ---- tables from elsewhere -----------------------------------------------------------------------------------------

static int copy_column(struct hs_column_file *file, const void *elements, size_t count, size_t element)
{
    *file = (struct hs_column_file){.element = element, .fd = -1};
    if (!count)
        return 0;
    void *data = mmap(NULL, count * element, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return -ENOMEM;
    memcpy(data, elements, count * element);
    file->data = data;
    file->capacity = count;
    return 0;
}

static void write_fact(FILE *stream, const struct hs_store_fact *fact, struct hs_stored_info *info, size_t *count)
{
    if (!fact->value)
        return;
    info[*count].key = (uint32_t)ftell(stream);
    fprintf(stream, "%s%c", fact->key, 0);
    info[(*count)++].value = (uint32_t)ftell(stream);
    fprintf(stream, "%s%c", fact->value, 0);
}

static int copy_info(struct hs_store *store, const struct hs_store_tables *tables)
{
    struct hs_stored_info *info = calloc(tables->fact_count + 2, sizeof *info);
    struct hs_text_stream strings;
    size_t count = 0;
    FILE *stream = info ? hs_text_stream__open(&strings) : NULL;
    if (!stream) {
        free(info);
        return -ENOMEM;
    }
    putc(0, stream);
    write_fact(stream, &(struct hs_store_fact){"executable", tables->executable}, info, &count);
    write_fact(stream, &(struct hs_store_fact){"command", tables->command}, info, &count);
    for (size_t i = 0; i < tables->fact_count; i++)
        write_fact(stream, &tables->facts[i], info, &count);
    char *text = hs_text_stream__close(&strings);
    int failed = text ? copy_column(&store->strings, text, strings.size, 1) : -ENOMEM;
    free(text);
    if (!failed)
        failed = copy_column(&store->info, info, count, sizeof *info);
    free(info);
    return failed;
}

static int copy_modules(struct hs_store *store, const struct hs_store_tables *tables)
{
    store->module_list = calloc(tables->module_count + 1, sizeof *store->module_list);
    store->module_reach = calloc(tables->module_count + 1, sizeof *store->module_reach);
    if (!store->module_list || !store->module_reach)
        return -ENOMEM;
    uint64_t reach = 0;
    for (size_t i = 0; i < tables->module_count; i++) {
        store->module_list[i] = tables->modules[i];
        reach = tables->modules[i].end > reach ? tables->modules[i].end : reach;
        store->module_reach[i] = reach;
    }
    store->modules.capacity = tables->module_count;
    return 0;
}

// All levels: four points of one are one of the next.
static int copy_timeline(struct hs_store *store, const struct hs_store_tables *tables)
{
    size_t count = tables->point_count, all = 0;
    struct hs_timeline_point *points = calloc(2 * count + HS_TIMELINE_LEVELS, sizeof *points);
    if (!points)
        return -ENOMEM;
    for (unsigned level = 0; level < HS_TIMELINE_LEVELS && count; level++) {
        const struct hs_timeline_point *from = level ? points + all - store->head.timeline_points[level - 1] : NULL;
        const size_t finer = level ? store->head.timeline_points[level - 1] : count;
        count = level ? (finer + 3) / 4 : finer;
        for (size_t i = 0; i < finer; i++) {
            struct hs_timeline_point *to = &points[all + (level ? i / 4 : i)];
            if (!level || i % 4 == 0)
                *to = (struct hs_timeline_point){0};
            hs_timeline_point__add(to, level ? &from[i] : &tables->points[i]);
        }
        store->head.timeline_points[level] = count;
        all += count;
    }
    store->head.timeline_interval = tables->interval;
    const int failed = copy_column(&store->timeline, points, all, sizeof *points);
    free(points);
    return failed;
}

int hs_store__of_tables(const struct hs_store_tables *tables, struct hs_store **result)
{
    *result = NULL;
    struct hs_store *store = calloc(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    store->head.summary = tables->summary;
    store->thread_list = calloc(tables->thread_count + 1, sizeof *store->thread_list);
    int failed = store->thread_list
                     ? copy_column(&store->nodes, tables->nodes, tables->node_count, sizeof *tables->nodes)
                     : -ENOMEM;
    if (!failed)
        failed = copy_info(store, tables);
    if (!failed)
        failed = copy_modules(store, tables);
    if (!failed)
        failed = copy_column(&store->culled, tables->culled, tables->culled_count, sizeof *tables->culled);
    if (!failed)
        failed = copy_timeline(store, tables);
    if (failed) {
        hs_store__close(store);
        return failed;
    }
    if (tables->thread_count)
        memcpy(store->thread_list, tables->threads, tables->thread_count * sizeof *store->thread_list);
    store->threads.capacity = tables->thread_count;
    list_levels(store);
    *result = store;
    return 0;
}

// ---- attaching and removing ----------------------------------------------------------------------------------------

void hs_store__attach(struct hs_store *store, hs_embedded_reader reader, void (*close_reader)(void *context),
                      void *context)
{
    store->reader = reader;
    store->close_reader = close_reader;
    store->reader_context = context;
}

void hs_store__keep_nothing(struct hs_store *store)
{
    store->keeps_nothing = true;
}

void hs_store__remove(const char *directory)
{
    static const char *const names[] = {
        "head",
#define NAME(name) #name,
        HS_STORE_COLUMNS(NAME)
#undef NAME
            "zones",
        "links",
        "totals",
        "stack_peaks",
        "chains",
        "node_times",
        "pools",
        "mappings",
        "timeline",
        "strings",
        "modules",
        "threads",
        "clock",
        "side",
        "info",
        "culled",
        "embedded",
        "functions",
        "samples",
        "resume",
        "partial",
        "partial.new",
        "partial_free_time",
        "partial_free_stack",
        "partial_free_stream",
        "partial_state",
        "ends",
        HS_KEPT_FILE,
        HS_KEPT_UNDER_WAY,
        HS_SEAL_FILE,
        HS_SEAL_UNDER_WAY,
        "nodes", // last: while it exists, the remaining files are recognised as leftovers
    };
    // A link would lead to files of the same names elsewhere. By path: this must also work when no more files can be
    // opened; where others can exchange a folder for a link meanwhile, there are descriptors.
    char path[PATH_MAX];
    struct stat status;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && ((errno != EMFILE && errno != ENFILE) || lstat(directory, &status) || !S_ISDIR(status.st_mode)))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fd >= 0)
            unlinkat(fd, names[i], 0);
        else if (snprintf(path, sizeof path, "%s/%s", directory, names[i]) < (int)sizeof path)
            unlink(path);
    if (fd >= 0)
        close(fd);
    hs_folders__remove(directory);
}

// ---- reading -------------------------------------------------------------------------------------------------------

const struct hs_summary *hs_store__summary(const struct hs_store *store)
{
    return &store->head.summary;
}

const struct hs_columns *hs_store__columns(const struct hs_store *store)
{
    return &store->columns;
}

const struct hs_chain_link *hs_row__link(const struct hs_columns *columns, uint64_t row)
{
    size_t low = HS_SEARCH(columns->link_count, i, columns->links[i].row < row);
    return low < columns->link_count && columns->links[low].row == row ? &columns->links[low] : NULL;
}

const struct hs_packed *hs_store__stack_peaks(const struct hs_store *store)
{
    return &store->stack_peaks;
}

const struct hs_packed *hs_store__totals(const struct hs_store *store)
{
    return store->totals.bytes ? &store->totals : NULL;
}

const struct hs_zone *hs_store__zones(const struct hs_store *store, size_t *count)
{
    *count = store->zones.capacity;
    return store->zones.data;
}

const struct hs_chain *hs_store__chains(const struct hs_store *store, size_t *count)
{
    *count = store->chains.capacity;
    return store->chains.data;
}

const struct hs_node *hs_store__nodes(const struct hs_store *store, size_t *count)
{
    *count = store->nodes.capacity;
    return store->nodes.data;
}

const struct hs_module *hs_store__modules(const struct hs_store *store, size_t *count)
{
    *count = store->modules.capacity;
    return store->module_list;
}

const struct hs_thread *hs_store__threads(const struct hs_store *store, size_t *count)
{
    *count = store->threads.capacity;
    return store->thread_list;
}

const struct hs_mapping *hs_store__mappings(const struct hs_store *store, size_t *count)
{
    *count = store->mappings.capacity;
    return store->mappings.data;
}

const uint64_t *hs_store__pools(const struct hs_store *store, size_t *count)
{
    *count = store->pools.capacity;
    return store->pools.data;
}

const struct hs_culled *hs_store__culled(const struct hs_store *store, size_t *count)
{
    *count = store->culled.capacity;
    return store->culled.data;
}

const struct hs_sample *hs_store__samples(const struct hs_store *store, size_t *count)
{
    *count = store->samples.capacity;
    return store->samples.data;
}

const struct hs_side_event *hs_store__side_events(const struct hs_store *store, size_t *count)
{
    *count = store->side.capacity;
    return store->side_list;
}

const struct hs_timeline_level *hs_store__timeline(const struct hs_store *store, size_t *count)
{
    *count = HS_TIMELINE_LEVELS;
    return store->levels;
}

// The i-th pair; false after the last.
static bool info_at(const struct hs_store *store, size_t i, const char **key, const char **value)
{
    const struct hs_stored_info *info = store->info.data;
    if (i >= store->info.capacity)
        return false;
    *key = string_at(store, info[i].key);
    *value = string_at(store, info[i].value);
    return true;
}

const char *hs_store__info(const struct hs_store *store, const char *wanted)
{
    const char *key, *value;
    for (size_t i = 0; info_at(store, i, &key, &value); i++)
        if (!strcmp(key, wanted))
            return value;
    return NULL;
}

size_t hs_store__frames(const struct hs_store *store, uint32_t stack, uint64_t *pcs, size_t max, unsigned *cut)
{
    const struct hs_node *nodes = store->nodes.data;
    size_t depth = 0;
    if (cut)
        *cut = HS_CUT_NONE;
    while (stack && stack < store->nodes.capacity) {
        const struct hs_node *node = &nodes[stack];
        if (hs_node__is_cut(node)) {
            if (cut)
                *cut = (unsigned)node->pc;
            break;
        }
        bool guess = hs_node__is_guess(node);
        if (!guess && depth < max)
            pcs[depth] = node->pc;
        depth += !guess;
        // Parents come before their children; anything else is a damaged store.
        stack = node->parent < stack ? node->parent : 0;
    }
    return depth;
}

uint32_t *hs_store__depths(const struct hs_store *store)
{
    const struct hs_node *nodes = store->nodes.data;
    uint32_t *depths = calloc(store->nodes.capacity + 1, sizeof *depths);
    for (size_t i = 1; depths && i < store->nodes.capacity; i++) {
        uint32_t parent = nodes[i].parent < i ? nodes[i].parent : 0;
        depths[i] = hs_node__is_cut(&nodes[i]) ? 0 : depths[parent] + !hs_node__is_guess(&nodes[i]);
    }
    return depths;
}

uint64_t hs_store__node_time(const struct hs_store *store, uint32_t node)
{
    const struct hs_stored_node_time *times = store->node_times.data;
    size_t low = HS_SEARCH(store->node_times.capacity, i, times[i].first <= node);
    return low ? times[low - 1].time : 0;
}

const struct hs_module *hs_store__module_at(const struct hs_store *store, uint64_t pc, uint64_t time)
{
    uint64_t from, until;
    return hs_store__module_during(store, pc, time, &from, &until);
}

// A module that begins or ends at another time may be the answer then.
static void narrow(uint64_t change, uint64_t time, uint64_t *from, uint64_t *until)
{
    if (change <= time)
        *from = change > *from ? change : *from;
    else
        *until = change < *until ? change : *until;
}

const struct hs_module *hs_store__module_during(const struct hs_store *store, uint64_t pc, uint64_t time,
                                                uint64_t *from, uint64_t *until)
{
    size_t low = HS_SEARCH(store->modules.capacity, i, store->module_list[i].start <= pc);
    const struct hs_module *nearest = NULL;
    *from = 0;
    *until = HS_NEVER;
    for (size_t i = low; i-- && store->module_reach[i] > pc;) {
        const struct hs_module *module = &store->module_list[i];
        if (pc >= module->end)
            continue;
        narrow(module->load_time, time, from, until);
        narrow(module->unload_time, time, from, until);
        if (module->load_time <= time && time < module->unload_time)
            return module;
        // None at that very time: the one that was there at another time is better than none.
        if (!nearest)
            nearest = module;
    }
    return nearest;
}

const struct hs_thread *hs_store__thread(const struct hs_store *store, uint32_t stream)
{
    size_t low = HS_SEARCH(store->threads.capacity, i, store->thread_list[i].stream < stream);
    return low < store->threads.capacity && store->thread_list[low].stream == stream ? &store->thread_list[low] : NULL;
}

uint64_t hs_store__monotonic_ns(const struct hs_store *store, uint64_t time)
{
    return store->head.summary.start_monotonic_ns + time;
}

static struct hs_clock_points clock_points(const struct hs_store *store)
{
    return (struct hs_clock_points){store->clock.data, store->clock.capacity, store->head.summary.start_realtime_ns};
}

uint64_t hs_store__realtime_during(const struct hs_store *store, uint64_t time, uint64_t *from, uint64_t *until)
{
    const struct hs_clock_points points = clock_points(store);
    return hs_clock_points__at(&points, time, from, until);
}

uint64_t hs_store__realtime_ns(const struct hs_store *store, uint64_t time)
{
    uint64_t from, until;
    return hs_store__realtime_during(store, time, &from, &until);
}

uint64_t hs_store__latest_realtime_ns(const struct hs_store *store, uint64_t time)
{
    const struct hs_clock_points points = clock_points(store);
    return hs_clock_points__latest(&points, time);
}

uint64_t hs_store__time_of_realtime(const struct hs_store *store, uint64_t realtime_ns)
{
    const struct hs_clock_points points = clock_points(store);
    return hs_clock_points__time_of(&points, realtime_ns);
}

bool hs_store__function(const struct hs_store *store, uint64_t address, struct hs_interpreted *function,
                        uint32_t *number)
{
    const struct hs_stored_function *stored = store->functions.data;
    size_t low = HS_SEARCH(store->functions.capacity, i, stored[i].start <= address);
    if (!low || address >= stored[low - 1].end)
        return false;
    stored += low - 1;
    int whole = (uint64_t)stored->lines + stored->lines_length <= store->strings.capacity;
    *function = (struct hs_interpreted){.start = stored->start,
                                        .end = stored->end,
                                        .first_line = stored->first_line,
                                        .kind = stored->kind,
                                        .function = string_at(store, stored->function),
                                        .file = string_at(store, stored->file),
                                        .lines = (const uint8_t *)string_at(store, stored->lines),
                                        .lines_length = whole ? stored->lines_length : 0};
    *number = (uint32_t)low - 1;
    return true;
}

const struct hs_embedded *hs_store__embedded(const struct hs_store *store, size_t *count)
{
    *count = store->embedded.capacity;
    return store->embedded_list;
}

int hs_store__read_embedded(const struct hs_store *store, size_t index, void *to, struct hs_error *error)
{
    if (index >= store->embedded.capacity)
        return hs_error__set(error, ENOENT, "there is no embedded file %zu", index);
    const struct hs_stored_embedded *embedded = (const struct hs_stored_embedded *)store->embedded.data + index;
    if (!store->reader)
        return hs_error__set(error, ENOTSUP, "%s: the trace that holds it is not open",
                             string_at(store, embedded->name));
    return store->reader(store->reader_context, embedded->chunk_offset, to, embedded->length, error);
}
