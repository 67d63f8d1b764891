// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/resume.h"

#include "format/crc32c.h"
#include "host/import/store_key.h"
#include "host/import/trace.h"
#include "host/store/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x31656d7573657268u

// X(name, contents): consecutive arrays. Arrays that are aligned to four bytes come last.
#define ARRAYS(X)                                                                                                      \
    X(links, struct hs_chain_link)                                                                                     \
    X(chains, struct hs_chain)                                                                                         \
    X(pools, uint64_t)                                                                                                 \
    X(mappings, struct hs_mapping)                                                                                     \
    X(maps, struct hs_live_mapping)                                                                                    \
    X(side, struct hs_stored_side_event)                                                                               \
    X(samples, struct hs_sample)                                                                                       \
    X(stacks, struct hs_stack_state)                                                                                   \
    X(recent, struct hs_recent_block)                                                                                  \
    X(points, struct hs_timeline_point)                                                                                \
    X(consumed, struct hs_consumed)                                                                                    \
    X(rest, struct hs_row_start)                                                                                       \
    X(time_blocks, struct hs_packed_block)                                                                             \
    X(address_blocks, struct hs_packed_block)                                                                          \
    X(size_blocks, struct hs_packed_block)                                                                             \
    X(slack_blocks, struct hs_packed_block)                                                                            \
    X(stack_blocks, struct hs_packed_block)                                                                            \
    X(stream_blocks, struct hs_packed_block)                                                                           \
    X(detail_blocks, struct hs_packed_block)                                                                           \
    X(free_time_blocks, struct hs_packed_block)                                                                        \
    X(free_stack_blocks, struct hs_packed_block)                                                                       \
    X(free_stream_blocks, struct hs_packed_block)                                                                      \
    X(state_blocks, struct hs_packed_block)                                                                            \
    X(streams, struct hs_stream_state)                                                                                 \
    X(at_peak, uint32_t)

enum array {
#define NUMBER(name, type) ARRAY_##name,
    ARRAYS(NUMBER) ARRAY_COUNT
#undef NUMBER
};

static const size_t element_size[ARRAY_COUNT] = {
#define SIZE(name, type) sizeof(type),
    ARRAYS(SIZE)
#undef SIZE
};

struct resume_head {
    uint64_t magic;
    uint32_t version, head_size;
    uint32_t crc;       // of everything after the head; of the head with crc 0
    uint32_t nodes_crc; // of the nodes, as many as `stacks`
    struct hs_store_key key;
    uint64_t time, now;
    uint64_t rows, peak_rows, map_peak_rows, live_count;
    uint64_t stack_peaks_now, timeline_interval;
    struct hs_allowance block_allowance, map_allowance, sample_allowance;
    struct hs_live_total live_total, map_total;
    struct hs_summary summary;
    uint64_t count[ARRAY_COUNT];
};

struct hs_resume {
    struct hs_store *store;    // a whole one
    struct hs_columns partial; // else: of an import that did not end
    void *data;
    size_t size;
    struct resume_head head;
    const void *array[ARRAY_COUNT];
};

static uint32_t checksum(const struct resume_head *head, const void *const array[])
{
    struct resume_head plain = *head;
    plain.crc = 0;
    uint32_t crc = hs_crc32c(0, &plain, sizeof plain);
    for (size_t i = 0; i < ARRAY_COUNT; i++)
        crc = hs_crc32c(crc, array[i], head->count[i] * element_size[i]);
    return crc;
}

// ---- writing -------------------------------------------------------------------------------------------------------

static void list_arrays(const struct hs_builder *builder, const struct hs_array *consumed, const void *array[],
                        uint64_t count[])
{
#define LIST(name, of)                                                                                                 \
    array[ARRAY_##name] = (of).data;                                                                                   \
    count[ARRAY_##name] = (of).count;
    LIST(streams, builder->streams)
    LIST(links, builder->links)
    LIST(chains, builder->chains)
    LIST(pools, builder->pools)
    LIST(mappings, builder->mappings)
    LIST(side, builder->side)
    LIST(samples, builder->samples)
    LIST(at_peak, builder->at_peak)
    LIST(recent, builder->stack_peaks.recent)
    LIST(consumed, *consumed)
#undef LIST
    array[ARRAY_stacks] = builder->stack_peaks.state;
    count[ARRAY_stacks] = builder->stack_peaks.stacks;
    array[ARRAY_points] = builder->timeline.point;
    count[ARRAY_points] = builder->timeline.current + 1;
}

static void list_blocks(const struct hs_builder *builder, const struct hs_partial *partial, const void *array[],
                        uint64_t count[])
{
#define LIST(of, name)                                                                                                 \
    array[ARRAY_##name##_blocks] = (of)->name.block;                                                                   \
    count[ARRAY_##name##_blocks] = (of)->name.blocks;
#define LIST_START(name) LIST(builder, name)
#define LIST_END(name)   LIST(partial, name)
    HS_PARTIAL_STARTS(LIST_START)
    HS_PARTIAL_ENDS(LIST_END)
#undef LIST_START
#undef LIST_END
#undef LIST
}

// The rows of the block in progress.
static int list_rest(const struct hs_builder *builder, struct hs_array *rest)
{
    const struct hs_staged_block *staged = builder->staged;
    for (size_t i = 0; i < builder->rows % HS_PACKED_BLOCK; i++) {
        struct hs_row_start *row = hs_array__add(rest, sizeof *row);
        if (!row)
            return -ENOMEM;
        *row = (struct hs_row_start){.time = staged->time[i],
                                     .address = staged->address[i],
                                     .size = staged->size[i],
                                     .slack = staged->slack[i],
                                     .stack = staged->stack[i],
                                     .stream = staged->stream[i],
                                     .detail = staged->detail[i]};
    }
    return 0;
}

static bool write_bytes(FILE *file, const void *bytes, size_t size)
{
    return !size || fwrite(bytes, 1, size, file) == size;
}

static int write_file(const struct resume_head *head, const void *const array[], int directory_fd, const char *name,
                      bool synced)
{
    int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        int failed = -errno;
        if (fd >= 0)
            close(fd);
        return failed;
    }
    bool whole = write_bytes(file, head, sizeof *head);
    for (size_t i = 0; i < ARRAY_COUNT && whole; i++)
        whole = write_bytes(file, array[i], head->count[i] * element_size[i]);
    whole = whole && !fflush(file) && !(synced && fdatasync(fileno(file)));
    int failed = whole ? 0 : -errno;
    return fclose(file) && !failed ? -errno : failed;
}

// In one step.
static int replace_partial(const struct resume_head *head, const void *const array[], int directory_fd)
{
    int failed = write_file(head, array, directory_fd, "partial.new", true);
    return failed || !renameat(directory_fd, "partial.new", directory_fd, "partial") ? failed : -errno;
}

int hs_resume__write(const struct hs_builder *builder, const struct hs_resume_state *state, int directory_fd)
{
    const void *array[ARRAY_COUNT] = {0};
    struct hs_array rest = {0}, maps = {0};
    struct resume_head head;
    memset(&head, 0, sizeof head);
    head.magic = MAGIC;
    head.version = HS_STORE_VERSION;
    head.head_size = sizeof head;
    hs_store_key__of(state->trace, &head.key);
    head.nodes_crc = hs_crc32c(0, state->nodes, builder->stack_limit * sizeof *state->nodes);
    head.time = state->time;
    head.now = builder->now;
    head.rows = builder->rows;
    head.peak_rows = builder->peak_rows;
    head.map_peak_rows = builder->map_peak_rows;
    head.live_count = builder->live.count;
    head.stack_peaks_now = builder->stack_peaks.now;
    head.timeline_interval = builder->timeline.interval;
    head.block_allowance = builder->block_allowance;
    head.map_allowance = builder->map_allowance;
    head.sample_allowance = builder->sample_allowance;
    head.live_total = builder->live_total;
    head.map_total = builder->map_total;
    memcpy(&head.summary, builder->summary, sizeof head.summary);
    list_arrays(builder, state->consumed, array, head.count);
    int failed = hs_live_ranges__list(&builder->maps, &maps);
    if (state->partial) {
        list_blocks(builder, state->partial, array, head.count);
        failed = failed ? failed : list_rest(builder, &rest);
    }
    array[ARRAY_maps] = maps.data;
    head.count[ARRAY_maps] = maps.count;
    array[ARRAY_rest] = rest.data;
    head.count[ARRAY_rest] = rest.count;
    head.crc = failed ? 0 : checksum(&head, array);
    if (!failed)
        failed = state->partial ? replace_partial(&head, array, directory_fd)
                                : write_file(&head, array, directory_fd, "resume", false);
    free(maps.data);
    free(rest.data);
    return failed;
}

// ---- reading -------------------------------------------------------------------------------------------------------

static bool find_arrays(struct hs_resume *resume)
{
    const uint8_t *at = (const uint8_t *)resume->data + sizeof resume->head;
    size_t left = resume->size - sizeof resume->head;
    for (size_t i = 0; i < ARRAY_COUNT; i++) {
        if (resume->head.count[i] > left / element_size[i])
            return false;
        size_t size = resume->head.count[i] * element_size[i];
        resume->array[i] = at;
        at += size;
        left -= size;
    }
    return !left;
}

// It is read into memory: others may cut the file.
static bool read_file(struct hs_resume *resume, const char *directory, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    bool whole = size >= (long)sizeof resume->head && !fseek(file, 0, SEEK_SET);
    resume->size = whole ? (size_t)size : 0;
    resume->data = whole ? malloc(resume->size) : NULL;
    whole = resume->data && fread(resume->data, 1, resume->size, file) == resume->size;
    fclose(file);
    if (whole)
        memcpy(&resume->head, resume->data, sizeof resume->head);
    return whole;
}

static bool is_of(const struct hs_resume *resume, const struct hs_trace *trace)
{
    const struct resume_head *head = &resume->head;
    const struct hs_trace_info *info = hs_trace__info(trace);
    return head->magic == MAGIC && head->version == HS_STORE_VERSION && head->head_size == sizeof *head &&
           head->key.trace_id[0] == info->header.trace_id[0] && head->key.trace_id[1] == info->header.trace_id[1] &&
           head->key.size <= info->file_size;
}

static bool open_store(struct hs_resume *resume, const char *directory)
{
    return !resume->head.count[ARRAY_rest] && !hs_store__open(directory, &resume->store, NULL) &&
           resume->head.rows <= hs_store__columns(resume->store)->rows;
}

static bool open_column(const struct hs_resume *resume, enum array blocks, int directory_fd, const char *name,
                        uint64_t rows, struct hs_packed *packed)
{
    return resume->head.count[blocks] == (rows + HS_PACKED_BLOCK - 1) / HS_PACKED_BLOCK &&
           !hs_packed__open_part(packed, directory_fd, name, resume->array[blocks], rows);
}

static bool open_columns(struct hs_resume *resume, int directory_fd)
{
    struct hs_columns *columns = &resume->partial;
    const uint64_t rows = resume->head.rows, rest = rows % HS_PACKED_BLOCK;
    bool right = resume->head.count[ARRAY_rest] == rest && rows < HS_NO_ROW;
#define OPEN(name, file, count)                                                                                        \
    right = right && open_column(resume, ARRAY_##name##_blocks, directory_fd, file, count, &columns->name);
#define OPEN_START(name) OPEN(name, #name, rows - rest)
#define OPEN_END(name)   OPEN(name, "partial_" #name, rows)
    HS_PARTIAL_STARTS(OPEN_START)
    HS_PARTIAL_ENDS(OPEN_END)
#undef OPEN_START
#undef OPEN_END
#undef OPEN
    return right;
}

static struct hs_resume *open_file(const char *directory, const char *name, const struct hs_trace *trace)
{
    struct hs_resume *resume = calloc(1, sizeof *resume);
    if (resume && read_file(resume, directory, name) && is_of(resume, trace) && find_arrays(resume) &&
        checksum(&resume->head, resume->array) == resume->head.crc)
        return resume;
    hs_resume__close(resume);
    return NULL;
}

struct hs_resume *hs_resume__open(const char *directory, const struct hs_trace *trace)
{
    struct hs_resume *resume = open_file(directory, "resume", trace);
    if (resume && open_store(resume, directory))
        return resume;
    hs_resume__close(resume);
    return NULL;
}

struct hs_resume *hs_resume__open_partial(const char *directory, const struct hs_trace *trace)
{
    struct hs_resume *resume = open_file(directory, "partial", trace);
    int directory_fd = resume ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (resume)
        resume->partial.pointer_size = hs_trace__info(trace)->header.pointer_size;
    bool right = directory_fd >= 0 && open_columns(resume, directory_fd);
    if (directory_fd >= 0)
        close(directory_fd);
    if (right)
        return resume;
    hs_resume__close(resume);
    return NULL;
}

void hs_resume__close(struct hs_resume *resume)
{
    if (!resume)
        return;
#define CLOSE(name) hs_packed__close(&resume->partial.name);
    HS_STORE_COLUMNS(CLOSE)
#undef CLOSE
    hs_store__close(resume->store);
    free(resume->data);
    free(resume);
}

uint64_t hs_resume__time(const struct hs_resume *resume)
{
    return resume->head.time;
}

const struct hs_consumed *hs_resume__consumed(const struct hs_resume *resume, size_t *count)
{
    *count = resume->head.count[ARRAY_consumed];
    return resume->array[ARRAY_consumed];
}

// ---- what makes sense ----------------------------------------------------------------------------------------------
// A checksum shows damage, not intent: no number of the file may lead out of an array.

static bool are_links_right(const struct hs_resume *resume)
{
    const struct hs_chain_link *link = resume->array[ARRAY_links];
    const struct hs_chain *chain = resume->array[ARRAY_chains];
    const uint64_t *count = resume->head.count, rows = resume->head.rows;
    bool right = count[ARRAY_chains] && count[ARRAY_links] < HS_LIVE_OTHER;
    for (uint64_t i = 0; right && i < count[ARRAY_links]; i++)
        right = link[i].row < rows && link[i].chain < count[ARRAY_chains] && link[i].next < rows;
    for (uint64_t i = 1; right && i < count[ARRAY_chains]; i++)
        right = chain[i].first < rows && chain[i].last < rows;
    return right;
}

static bool are_streams_right(const struct hs_resume *resume)
{
    const struct hs_stream_state *stream = resume->array[ARRAY_streams];
    const uint64_t rows = resume->head.rows;
    bool right = true;
    for (uint64_t i = 0; right && i < resume->head.count[ARRAY_streams]; i++)
        right = stream[i].last_row_plus_1 <= rows && stream[i].realloc_row_plus_1 <= rows &&
                stream[i].realloc_link <= resume->head.count[ARRAY_links];
    return right;
}

static bool are_maps_right(const struct hs_resume *resume)
{
    const struct hs_live_mapping *map = resume->array[ARRAY_maps];
    const uint64_t *count = resume->head.count;
    uint64_t end = 0;
    bool right = true;
    for (uint64_t i = 0; right && i < count[ARRAY_maps]; end = map[i++].end)
        right = map[i].start >= end && map[i].end > map[i].start && map[i].row < resume->head.rows &&
                map[i].link <= count[ARRAY_links] && (map[i].detail < count[ARRAY_mappings] || !map[i].detail);
    return right;
}

static bool are_stacks_right(const struct hs_resume *resume, uint32_t stack_limit)
{
    const struct hs_recent_block *recent = resume->array[ARRAY_recent];
    const uint32_t *at_peak = resume->array[ARRAY_at_peak];
    const struct resume_head *head = &resume->head;
    bool right = head->count[ARRAY_stacks] <= (stack_limit ? stack_limit : 1) && head->peak_rows <= head->rows &&
                 head->map_peak_rows <= head->rows;
    for (uint64_t i = 0; right && i < head->count[ARRAY_recent]; i++)
        right = recent[i].stack < head->count[ARRAY_stacks] && recent[i].row < head->rows;
    for (uint64_t i = 0; right && i < head->count[ARRAY_at_peak]; i++)
        right = at_peak[i] < head->rows;
    return right;
}

static bool are_others_right(const struct hs_resume *resume, uint32_t stack_limit)
{
    const struct hs_sample *sample = resume->array[ARRAY_samples];
    const struct hs_stored_side_event *side = resume->array[ARRAY_side];
    bool right = resume->head.now <= LAST_TIME;
    for (uint64_t i = 0; right && i < resume->head.count[ARRAY_samples]; i++)
        right = sample[i].stack & HS_STACK_SNAPSHOT || !sample[i].stack || sample[i].stack < stack_limit;
    for (uint64_t i = 0; right && i < resume->head.count[ARRAY_side]; i++)
        right = !side[i].text && (!side[i].stack || side[i].stack < stack_limit) &&
                (side[i].kind == HS_SIDE_MARK || side[i].kind == HS_SIDE_MALLOPT);
    return right;
}

static bool are_consumed_right(const struct hs_resume *resume)
{
    const struct hs_consumed *consumed = resume->array[ARRAY_consumed];
    bool right = true;
    for (uint64_t i = 1; right && i < resume->head.count[ARRAY_consumed]; i++)
        right = consumed[i - 1].sequence < consumed[i].sequence;
    return right;
}

// ---- restoring -----------------------------------------------------------------------------------------------------

static int restore_array(const struct hs_resume *resume, enum array which, struct hs_array *to)
{
    size_t count = resume->head.count[which], size = count * element_size[which];
    free(to->data);
    *to = (struct hs_array){.data = count ? malloc(size) : NULL, .count = count, .capacity = count};
    if (count && !to->data)
        return -ENOMEM;
    if (count)
        memcpy(to->data, resume->array[which], size);
    return 0;
}

static int restore_arrays(const struct hs_resume *resume, struct hs_builder *builder)
{
    const struct {
        enum array which;
        struct hs_array *to;
    } arrays[] = {{ARRAY_streams, &builder->streams},
                  {ARRAY_links, &builder->links},
                  {ARRAY_chains, &builder->chains},
                  {ARRAY_pools, &builder->pools},
                  {ARRAY_mappings, &builder->mappings},
                  {ARRAY_side, &builder->side},
                  {ARRAY_samples, &builder->samples},
                  {ARRAY_at_peak, &builder->at_peak},
                  {ARRAY_recent, &builder->stack_peaks.recent}};
    int failed = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && !failed; i++)
        failed = restore_array(resume, arrays[i].which, arrays[i].to);
    return failed ? failed
                  : hs_live_ranges__restore(&builder->maps, resume->array[ARRAY_maps], resume->head.count[ARRAY_maps]);
}

// The counters of the replay.
static void restore_summary(struct hs_summary *summary, const struct hs_summary *before)
{
    summary->allocations = before->allocations;
    summary->frees = before->frees;
    summary->reallocations = before->reallocations;
    summary->allocated_bytes = before->allocated_bytes;
    summary->allocated_usable = before->allocated_usable;
    summary->temporary_count = before->temporary_count;
    summary->temporary_bytes = before->temporary_bytes;
    summary->peak = before->peak;
    summary->peak_time = before->peak_time;
    summary->map_peak = before->map_peak;
    summary->map_peak_time = before->map_peak_time;
    summary->pool_allocations = before->pool_allocations;
    summary->unknown_frees = before->unknown_frees;
    summary->missed_frees = before->missed_frees;
    summary->unknown_unmaps = before->unknown_unmaps;
    summary->cpu_samples = before->cpu_samples;
    summary->faulted_bytes = before->faulted_bytes;
    summary->fault_stack_samples = before->fault_stack_samples;
    summary->stacked_faults = before->stacked_faults;
}

static int restore(const struct hs_resume *resume, struct hs_builder *builder)
{
    const struct resume_head *head = &resume->head;
    int failed = restore_arrays(resume, builder);
    if (!failed)
        failed = hs_timeline_builder__continue(&builder->timeline, head->timeline_interval, resume->array[ARRAY_points],
                                               head->count[ARRAY_points]);
    if (failed)
        return failed;
    memcpy(builder->stack_peaks.state, resume->array[ARRAY_stacks],
           head->count[ARRAY_stacks] * element_size[ARRAY_stacks]);
    builder->stack_peaks.now = head->stack_peaks_now;
    builder->now = head->now;
    builder->block_allowance = head->block_allowance;
    builder->map_allowance = head->map_allowance;
    builder->sample_allowance = head->sample_allowance;
    builder->live_total = head->live_total;
    builder->map_total = head->map_total;
    builder->peak_rows = head->peak_rows;
    builder->map_peak_rows = head->map_peak_rows;
    restore_summary(builder->summary, &head->summary);
    failed = resume->store ? hs_builder__continue(builder, hs_store__columns(resume->store), head->rows, NULL)
                           : hs_builder__continue(builder, &resume->partial, head->rows, resume->array[ARRAY_rest]);
    // Rows that ended in the nanosecond of the cut, but after it, cannot be told from rows that ended before it.
    return !failed && builder->live.count != head->live_count ? -EBADMSG : failed;
}

// A node that was missing may turn out to be the same as another one; then later nodes have other numbers than before.
static bool are_nodes_right(const struct hs_resume *resume, const struct hs_node *nodes)
{
    return hs_crc32c(0, nodes, resume->head.count[ARRAY_stacks] * sizeof *nodes) == resume->head.nodes_crc;
}

int hs_resume__restore(const struct hs_resume *resume, struct hs_builder *builder, const struct hs_node *nodes)
{
    bool right = are_links_right(resume) && are_streams_right(resume) && are_maps_right(resume) &&
                 are_stacks_right(resume, builder->stack_limit) && are_nodes_right(resume, nodes) &&
                 are_others_right(resume, builder->stack_limit) && are_consumed_right(resume) &&
                 resume->head.count[ARRAY_streams] <= HS_STREAM_LIMIT &&
                 resume->head.count[ARRAY_pools] <= HS_POOL_LIMIT;
    int failed = right ? restore(resume, builder) : -EBADMSG;
    return failed == -EBADMSG ? -ESTALE : failed;
}
