// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/builder.h"

#include "format/trace_format.h"
#include "host/base/array.h"
#include "host/base/check.h"
#include "host/import/import.h"
#include "host/import/trace_clock.h"

#include <errno.h>
#include <string.h>

// ---- blocks of rows, on the thread that writes ---------------------------------------------------------------------

static void widen(uint64_t *least, uint64_t *most, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        *least = values[i] < *least ? values[i] : *least;
        *most = values[i] > *most ? values[i] : *most;
    }
}

static struct hs_zone *zone_of(struct hs_builder *builder, uint64_t row)
{
    uint64_t number = row / HS_ZONE_ROWS;
    if (number < builder->zones.count)
        return (struct hs_zone *)builder->zones.data + number;
    struct hs_zone *zone = hs_array__add(&builder->zones, sizeof *zone);
    if (zone)
        *zone = (struct hs_zone){.time_min = UINT64_MAX,
                                 .free_min = UINT64_MAX,
                                 .size_min = UINT64_MAX,
                                 .address_min = UINT64_MAX,
                                 .lifetime_min = UINT64_MAX,
                                 .stack_min = UINT32_MAX};
    return zone;
}

// To how it is stored.
static void pack_slack(struct hs_staged_block *staged, unsigned pointer_size)
{
    for (size_t i = 0; i < staged->count; i++) {
        uint64_t unexpected = staged->slack[i] - hs_row__expected_slack(staged->size[i], pointer_size);
        staged->slack[i] = unexpected << 1 ^ (0 - (unexpected >> 63));
    }
}

int hs_builder__widen_zone(struct hs_builder *builder, const struct hs_staged_block *staged)
{
    size_t count = staged->count;
    struct hs_zone *zone = zone_of(builder, staged->first);
    if (!zone)
        return -ENOMEM;
    uint64_t stack_min = zone->stack_min, stack_max = zone->stack_max;
    widen(&zone->size_min, &zone->size_max, staged->size, count);
    widen(&zone->address_min, &zone->address_max, staged->address, count);
    widen(&stack_min, &stack_max, staged->stack, count);
    zone->stack_min = (uint32_t)stack_min;
    zone->stack_max = (uint32_t)stack_max;
    // Time never goes back.
    zone->time_min = staged->time[0] < zone->time_min ? staged->time[0] : zone->time_min;
    zone->time_max = staged->time[count - 1];
    return 0;
}

static int write_block(void *context, struct hs_staged_block *staged)
{
    struct hs_builder *builder = context;
    size_t count = staged->count;
    int failed = hs_builder__widen_zone(builder, staged);
    if (failed)
        return failed;
    pack_slack(staged, builder->summary->pointer_size);
    hs_packed_writer__add(&builder->time, staged->time, count);
    hs_packed_writer__add(&builder->address, staged->address, count);
    hs_packed_writer__add(&builder->size, staged->size, count);
    hs_packed_writer__add(&builder->slack, staged->slack, count);
    hs_packed_writer__add(&builder->stack, staged->stack, count);
    hs_packed_writer__add(&builder->stream, staged->stream, count);
    hs_packed_writer__add(&builder->detail, staged->detail, count);
    hs_row_ends__spill(&builder->row_ends, staged->retired);
    return builder->time.failed;
}

// ---- from beginning to end -----------------------------------------------------------------------------------------

static int take_tied(void *context, struct hs_step *step, bool last);

int hs_builder__create(struct hs_builder *builder, int directory_fd, struct hs_summary *summary, uint64_t end_ns)
{
    builder->directory_fd = directory_fd;
    hs_row_ends__create(&builder->row_ends, directory_fd);
    builder->ties =
        (struct hs_ties){.take = take_tied, .context = builder, .window = hs_trace_clock__window(&builder->clock)};
    builder->summary = summary;
    builder->block_allowance.left = HS_ALLOWANCE_LARGE;
    builder->map_allowance.left = HS_ALLOWANCE_MAPS;
    builder->sample_allowance.left = HS_ALLOWANCE_SAMPLES;
    builder->live_most = UINT64_MAX;
    int failed = hs_live_map__create(&builder->live);
    if (!failed)
        failed = hs_timeline_builder__create(&builder->timeline, end_ns);
    builder->behind = hs_write_behind__create(write_block, builder);
    if (!failed && !builder->behind)
        failed = -ENOMEM;
#define CREATE(name)                                                                                                   \
    builder->name.fd = -1;                                                                                             \
    if (!failed)                                                                                                       \
        failed = hs_packed_writer__create(&builder->name, directory_fd, #name);
    HS_STORE_COLUMNS(CREATE)
#undef CREATE
    // Chain 0 is none.
    struct hs_chain *none = failed ? NULL : hs_array__add(&builder->chains, sizeof *none);
    if (!failed && !none)
        failed = -ENOMEM;
    if (none)
        *none = (struct hs_chain){0};
    return failed;
}

void hs_builder__free(struct hs_builder *builder)
{
    hs_write_behind__free(builder->behind);
#define ABANDON(name) hs_packed_writer__abandon(&builder->name);
    HS_STORE_COLUMNS(ABANDON)
#undef ABANDON
    hs_live_map__free(&builder->live);
    hs_clock_map__free(&builder->clock);
    hs_timeline_builder__free(&builder->timeline);
    hs_stack_peaks__free(&builder->stack_peaks);
    hs_row_ends__free(&builder->row_ends);
    hs_ties__free(&builder->ties);
    free(builder->streams.data);
    free(builder->zones.data);
    free(builder->links.data);
    free(builder->chains.data);
    free(builder->pools.data);
    free(builder->mappings.data);
    hs_live_ranges__free(&builder->maps);
    free(builder->side.data);
    free(builder->samples.data);
    free(builder->large.data);
    free(builder->at_peak.data);
}

// ---- rows ----------------------------------------------------------------------------------------------------------

// Growing moves what the other thread may be reading.
static int make_room(struct hs_builder *builder)
{
    if (builder->rows >= HS_NO_ROW - 1)
        return -EOVERFLOW;
    int failed = hs_write_behind__finish(builder->behind);
    return failed ? failed : hs_row_ends__make_room(&builder->row_ends);
}

// ---- the word of a live row ----------------------------------------------------------------------------------------

#define WORD_BITS  62
#define SLACK_BITS 7
#define IS_LARGE   ((uint64_t)1 << WORD_BITS) // the rest is the number of a large block

// For values below `limit`.
static unsigned bits_below(uint32_t limit)
{
    return limit > 1 ? 32 - (unsigned)__builtin_clz(limit - 1) : 0;
}

int hs_builder__expect(struct hs_builder *builder, uint32_t stacks, uint32_t streams)
{
    struct hs_live_bits *bits = &builder->live_bits;
    *bits = (struct hs_live_bits){.slack = SLACK_BITS, .stream = bits_below(streams), .stack = bits_below(stacks)};
    if (bits->stream > HS_STREAM_BITS)
        bits->stream = HS_STREAM_BITS;
    bits->size = WORD_BITS - bits->slack - bits->stream - bits->stack;
    builder->stack_limit = stacks;
    return hs_stack_peaks__create(&builder->stack_peaks, stacks);
}

static uint64_t note_large(struct hs_builder *builder, const struct hs_known_block *block)
{
    struct hs_known_block *large = hs_array__add(&builder->large, sizeof *large);
    if (!large)
        return 0;
    *large = *block;
    return ROW_IS_LIVE | IS_LARGE | (builder->large.count - 1);
}

// 0 without memory.
static inline uint64_t live_word(struct hs_builder *builder, const struct hs_new_row *row, uint32_t slack)
{
    const struct hs_live_bits bits = builder->live_bits;
    uint64_t above =
        row->size >> bits.size | (uint64_t)row->stack >> bits.stack | row->stream >> bits.stream | slack >> SLACK_BITS;
    if (__builtin_expect(above != 0, 0))
        return note_large(builder, &(struct hs_known_block){row->size, slack, row->stack, row->stream});
    return ROW_IS_LIVE | ((row->size << bits.stack | row->stack) << bits.stream | row->stream) << SLACK_BITS | slack;
}

bool hs_builder__mark_live(struct hs_builder *builder, uint64_t row, const struct hs_new_row *as, uint32_t slack)
{
    return (hs_row_ends__times(&builder->row_ends)[row] = live_word(builder, as, slack)) != 0;
}

static inline uint64_t low_bits(uint64_t word, unsigned bits)
{
    return word & (((uint64_t)1 << bits) - 1);
}

// Out of line: what ends a row is not to grow by it. The number may be that of a row which is not live, in a damaged
// file of an earlier import.
static __attribute__((noinline)) struct hs_known_block large_block(const struct hs_builder *builder, uint64_t number)
{
    return number < builder->large.count ? ((const struct hs_known_block *)builder->large.data)[number]
                                         : (struct hs_known_block){0};
}

static inline struct hs_known_block live_block(const struct hs_builder *builder, uint64_t word)
{
    if (__builtin_expect(word & IS_LARGE, 0))
        return large_block(builder, word & ~(ROW_IS_LIVE | IS_LARGE));
    const struct hs_live_bits bits = builder->live_bits;
    uint64_t stream = word >> SLACK_BITS, stack = stream >> bits.stream;
    return (struct hs_known_block){.size = low_bits(stack >> bits.stack, bits.size),
                                   .slack = (uint32_t)low_bits(word, SLACK_BITS),
                                   .stack = (uint32_t)low_bits(stack, bits.stack),
                                   .stream = (uint32_t)low_bits(stream, bits.stream)};
}

// ---- adding and ending rows ----------------------------------------------------------------------------------------

// Hands the staged rows over, and the regions that are retired.
static int hand_over(struct hs_builder *builder)
{
    struct hs_staged_block *staged = builder->staged;
    builder->staged = NULL;
    if (!staged)
        return 0;
    staged->retired = builder->retired;
    builder->retired = NULL;
    staged->count = (size_t)(builder->rows - staged->first);
    return hs_write_behind__hand_over(builder->behind, staged);
}

static int start_block(struct hs_builder *builder)
{
    if (hs_row_ends__begins_region(builder->rows) && !builder->retired)
        builder->retired = hs_row_ends__retire(&builder->row_ends, builder->rows);
    int failed = hand_over(builder);
    builder->staged = failed ? NULL : hs_write_behind__empty_block(builder->behind);
    if (!builder->staged)
        return failed ? failed : -ENOMEM;
    builder->staged->first = builder->rows;
    return 0;
}

int hs_builder__write_rest(struct hs_builder *builder)
{
    int failed = hand_over(builder), result = hs_write_behind__finish(builder->behind);
    return failed ? failed : result;
}

struct hs_allowed_size hs_builder__allow_large(struct hs_allowance *allowance, uint64_t size, uint64_t usable)
{
    uint64_t slack = hs_builder__slack_of(size, usable);
    size = hs_allowance__take_size(allowance, size);
    return (struct hs_allowed_size){size, size + hs_allowance__take(allowance, slack)};
}

static inline __attribute__((always_inline)) int64_t add_row(struct hs_builder *builder, const struct hs_new_row *row)
{
    size_t place = builder->rows % HS_PACKED_BLOCK;
    if (!place) {
        int failed = start_block(builder);
        if (failed)
            return failed;
    }
    if (builder->rows == builder->row_ends.room) {
        int failed = make_room(builder);
        if (failed)
            return failed;
    }
    struct hs_staged_block *staged = builder->staged;
    uint64_t number = builder->rows++;
    uint32_t slack = hs_builder__slack_of(row->size, row->usable);
    staged->time[place] = builder->now;
    staged->address[place] = row->address;
    staged->size[place] = row->size;
    staged->slack[place] = slack;
    staged->stack[place] = row->stack;
    staged->stream[place] = row->stream;
    staged->detail[place] = row->detail;
    hs_row_ends__states(&builder->row_ends)[number] = row->kind;
    uint64_t word = live_word(builder, row, slack);
    hs_row_ends__times(&builder->row_ends)[number] = word;
    return word ? (int64_t)number : -ENOMEM;
}

int64_t hs_builder__add_row(struct hs_builder *builder, const struct hs_new_row *row)
{
    return add_row(builder, row);
}

static void note_end_at_peak(struct hs_builder *builder, uint32_t row, uint64_t peak_time, uint64_t peak_rows)
{
    if (builder->now != peak_time || row >= peak_rows)
        return;
    uint32_t *noted = hs_array__add(&builder->at_peak, sizeof *noted);
    if (noted)
        *noted = row;
}

// Stored in either case: in a heap that grows and shrinks a condition would be guessed wrong.
static inline uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline void add_live(struct hs_builder *builder, uint64_t size, uint64_t usable)
{
    struct hs_live_total *live = &builder->live_total;
    struct hs_timeline_point *point = &builder->timeline.point[builder->timeline.current];
    builder->summary->allocations++;
    builder->summary->allocated_bytes += size;
    builder->summary->allocated_usable += usable;
    live->bytes += size;
    live->usable += usable;
    live->count++;
    point->allocated_bytes += size;
    point->allocated_count++;
    point->live_bytes_max = most(point->live_bytes_max, live->bytes);
    point->live_count_max = most(point->live_count_max, live->count);
    if (live->bytes > builder->summary->peak.bytes) {
        builder->summary->peak = *live;
        builder->summary->peak_time = builder->now;
        builder->peak_rows = builder->rows;
        builder->at_peak.count = 0;
    }
}

static __attribute__((noinline)) struct hs_known_block end_late_row(struct hs_builder *builder, uint32_t row,
                                                                    uint32_t stream, uint32_t stack, uint8_t flags)
{
    struct hs_late_row *late = hs_row_ends__late_row(&builder->row_ends, row);
    if (!late || !(late->time & ROW_IS_LIVE))
        return (struct hs_known_block){0};
    const struct hs_known_block block = live_block(builder, late->time);
    late->time = builder->now;
    late->stack = stack;
    late->stream = stream ^ block.stream;
    late->state |= (uint8_t)(flags << 3);
    return block;
}

// Ends a row now and returns what it was.
static inline struct hs_known_block end_row(struct hs_builder *builder, uint32_t row, uint32_t stream, uint32_t stack,
                                            uint8_t flags)
{
    uint64_t *time = &hs_row_ends__times(&builder->row_ends)[row];
    if (__builtin_expect(!(*time & ROW_IS_LIVE), 0))
        return end_late_row(builder, row, stream, stack, flags);
    const struct hs_known_block block = live_block(builder, *time);
    *time = builder->now;
    if (stack)
        hs_row_ends__stacks(&builder->row_ends)[row] = stack;
    if (stream != block.stream)
        hs_row_ends__streams(&builder->row_ends)[row] = stream ^ block.stream;
    if (flags)
        hs_row_ends__states(&builder->row_ends)[row] |= (uint8_t)(flags << 3);
    return block;
}

void hs_builder__end_mapping(struct hs_builder *builder, uint32_t row, uint32_t stream, uint32_t stack, uint8_t flags)
{
    const struct hs_known_block block = end_row(builder, row, stream, stack, flags);
    builder->map_total.bytes -= block.size;
    builder->map_total.usable -= block.size + block.slack;
    builder->map_total.count--;
}

static uint32_t stream_of_live(const struct hs_builder *builder, uint32_t row)
{
    const struct hs_late_row *late = hs_row_ends__late_row(&builder->row_ends, row);
    return live_block(builder, late ? late->time : hs_row_ends__times(&builder->row_ends)[row]).stream;
}

// Returns the block's size.
static inline uint64_t end_block(struct hs_builder *builder, uint32_t row, uint32_t space, uint32_t stream,
                                 uint32_t stack, uint8_t flags)
{
    const struct hs_known_block block = end_row(builder, row, stream, stack, flags);
    if (space)
        return block.size;
    hs_stack_peaks__end(&builder->stack_peaks, builder->now, row, block.size, block.stack);
    struct hs_timeline_point *point = &builder->timeline.point[builder->timeline.current];
    note_end_at_peak(builder, row, builder->summary->peak_time, builder->peak_rows);
    builder->live_total.bytes -= block.size;
    builder->live_total.usable -= block.size + block.slack;
    builder->live_total.count--;
    point->freed_bytes += block.size;
    point->freed_count++;
    return block.size;
}

// Adds a link and returns it + 1, or a negative errno.
static int64_t add_link(struct hs_builder *builder, uint32_t row, uint32_t chain, uint32_t position)
{
    if (builder->links.count >= HS_LIVE_OTHER - 1)
        return -EOVERFLOW;
    struct hs_chain_link *link = hs_array__add(&builder->links, sizeof *link);
    if (!link)
        return -ENOMEM;
    *link = (struct hs_chain_link){.row = row, .chain = chain, .position = position};
    return (int64_t)builder->links.count;
}

// The link of a row that is in no chain yet.
static int64_t start_chain(struct hs_builder *builder, uint32_t row)
{
    uint32_t number = (uint32_t)builder->chains.count;
    struct hs_chain *chain = hs_array__add(&builder->chains, sizeof *chain);
    if (!chain)
        return -ENOMEM;
    *chain = (struct hs_chain){.first = row, .length = 1};
    return add_link(builder, row, number, 0);
}

int64_t hs_builder__link(struct hs_builder *builder, uint32_t row, uint32_t link, uint32_t next)
{
    int64_t from = link ? link : start_chain(builder, row);
    if (from < 0)
        return from;
    struct hs_chain_link *links = builder->links.data;
    links[from - 1].next = next;
    uint32_t number = links[from - 1].chain;
    struct hs_chain *chain = (struct hs_chain *)builder->chains.data + number;
    chain->last = next;
    return add_link(builder, next, number, chain->length++);
}

// ---- heap and pools ------------------------------------------------------------------------------------------------

// In place of a row.
#define WAITS INT64_MIN

static int result_of(int64_t row)
{
    return row == WAITS ? HS_TIE_WAITS : (int)row;
}

static uint8_t row_kind(uint8_t event_kind)
{
    static const uint8_t kinds[HS_EVENT_KINDS] = {
        [HS_EVENT_MALLOC] = HS_KIND_MALLOC,   [HS_EVENT_CALLOC] = HS_KIND_CALLOC,
        [HS_EVENT_ALIGNED] = HS_KIND_ALIGNED, [HS_EVENT_REALLOC] = HS_KIND_REALLOC,
        [HS_EVENT_POOL_ALLOC] = HS_KIND_POOL,
    };
    return kinds[event_kind];
}

// Adds a block to the live ones, which have room; *place is its entry. Returns the row or a negative errno; WAITS: see
// visit_now.
static inline int64_t add_block(struct hs_builder *builder, const struct hs_step *step, uint32_t space,
                                struct hs_live_entry **place)
{
    uint64_t at = space ? hs_live_map__slot(&builder->live, step->address, space) : step->slot;
    struct hs_live_entry *entry = hs_live_map__find_from(&builder->live, at, step->address, space);
    if (__builtin_expect(entry->row_plus_1, 0)) {
        if (!builder->takes_all)
            return WAITS;
        builder->summary->missed_frees++;
        uint32_t row = entry->row_plus_1 - 1;
        end_block(builder, row, space, stream_of_live(builder, row), 0, HS_ROW_MISSED_FREE);
    } else {
        builder->live.count++;
    }
    const struct hs_allowed_size allowed = hs_builder__allow(&builder->block_allowance, step->size, step->usable);
    const struct hs_new_row row = {.address = step->address,
                                   .size = allowed.size,
                                   .usable = allowed.usable,
                                   .stack = hs_builder__known_stack(builder, step->stack),
                                   .stream = step->stream,
                                   .detail = space ? (space & ~HS_LIVE_OTHER) - 1 : 0,
                                   .kind = row_kind(step->kind)};
    int64_t number = add_row(builder, &row);
    if (number < 0)
        return number;
    *entry = (struct hs_live_entry){.address = step->address, .row_plus_1 = (uint32_t)number + 1, .tag = space};
    *place = entry;
    if (space)
        return number;
    add_live(builder, row.size, row.usable);
    struct hs_stack_peaks *peaks = &builder->stack_peaks;
    if (step->last_of_time && hs_stack_peaks__is_first(peaks, builder->now)) {
        hs_stack_peaks__add(peaks, row.size, row.stack);
        return number;
    }
    int failed = hs_stack_peaks__begin(peaks, builder->now, (uint32_t)number, row.size, row.stack);
    return failed ? failed : number;
}

struct removed {
    uint64_t size;
    uint32_t row_plus_1; // 0: the trace does not know the block
    uint32_t tag;
    bool waits; // nothing was done
};

// Ends the block at an address.
static inline struct removed remove_block(struct hs_builder *builder, const struct hs_step *step, uint32_t space,
                                          uint8_t flags)
{
    uint64_t at = space ? hs_live_map__slot(&builder->live, step->address, space) : step->slot;
    struct hs_live_entry *entry = hs_live_map__find_from(&builder->live, at, step->address, space);
    struct removed removed = {.row_plus_1 = entry->row_plus_1, .tag = entry->tag};
    if (!removed.row_plus_1) {
        removed.waits = !builder->takes_all;
        builder->summary->unknown_frees += builder->takes_all;
        return removed;
    }
    hs_live_map__remove(&builder->live, entry);
    removed.size = end_block(builder, removed.row_plus_1 - 1, space, step->stream,
                             hs_builder__known_stack(builder, step->stack), flags);
    return removed;
}

static inline int free_block(struct hs_builder *builder, struct hs_stream_state *state, const struct hs_step *step)
{
    const struct removed removed = remove_block(builder, step, HS_LIVE_HEAP, 0);
    if (__builtin_expect(removed.waits, 0))
        return HS_TIE_WAITS;
    builder->summary->frees++;
    if (removed.row_plus_1 && removed.row_plus_1 == state->last_row_plus_1) {
        hs_row_ends__add_to_state(&builder->row_ends, removed.row_plus_1 - 1, HS_ROW_TEMPORARY << 3);
        builder->summary->temporary_count++;
        builder->summary->temporary_bytes += removed.size;
    }
    state->last_row_plus_1 = 0;
    return 0;
}

static inline int allocate_block(struct hs_builder *builder, struct hs_stream_state *state, const struct hs_step *step)
{
    struct hs_live_entry *entry;
    int64_t row = add_block(builder, step, HS_LIVE_HEAP, &entry);
    if (__builtin_expect(row < 0, 0))
        return result_of(row);
    state->last_row_plus_1 = (uint32_t)row + 1;
    if (step->kind != HS_EVENT_REALLOC)
        return 0;
    uint32_t old = state->realloc_row_plus_1;
    state->realloc_row_plus_1 = 0;
    builder->summary->reallocations++;
    int64_t link = old ? hs_builder__link(builder, old - 1, state->realloc_link, (uint32_t)row) : 0;
    if (link > 0)
        entry->tag = (uint32_t)link;
    return link < 0 ? (int)link : 0;
}

static int begin_realloc(struct hs_builder *builder, struct hs_stream_state *state, const struct hs_step *step)
{
    const struct removed removed = remove_block(builder, step, HS_LIVE_HEAP, HS_ROW_REALLOCATED);
    if (removed.waits)
        return HS_TIE_WAITS;
    state->realloc_row_plus_1 = removed.row_plus_1;
    state->realloc_link = removed.row_plus_1 ? removed.tag : 0;
    return 0;
}

// The space of a pool's blocks; 0 without memory or with too many pools. Handles live in the same map as blocks, in a
// space of their own.
static uint32_t pool_space(struct hs_builder *builder, uint64_t handle)
{
    struct hs_live_entry *entry = hs_live_map__find(&builder->live, handle, UINT32_MAX);
    if (entry->row_plus_1)
        return HS_LIVE_OTHER | entry->row_plus_1;
    uint64_t *added = builder->pools.count < HS_POOL_LIMIT ? hs_array__add(&builder->pools, sizeof *added) : NULL;
    if (!added)
        return 0;
    *added = handle;
    const struct hs_live_entry pool = {
        .address = handle, .row_plus_1 = (uint32_t)builder->pools.count, .tag = UINT32_MAX};
    hs_live_map__fill(&builder->live, entry, &pool);
    return HS_LIVE_OTHER | (uint32_t)builder->pools.count;
}

static int pool_event(struct hs_builder *builder, const struct hs_step *step)
{
    struct hs_live_entry *entry;
    uint32_t space = pool_space(builder, step->event->pool);
    if (!space)
        return -ENOMEM;
    if (step->kind == HS_EVENT_POOL_FREE)
        return remove_block(builder, step, space, 0).waits ? HS_TIE_WAITS : 0;
    int64_t row = add_block(builder, step, space, &entry);
    builder->summary->pool_allocations += row >= 0;
    return row < 0 ? result_of(row) : 0;
}

// ---- one step ------------------------------------------------------------------------------------------------------

// All but frees, mallocs, callocs and aligned allocations.
static int visit_rare(struct hs_builder *builder, struct hs_stream_state *state, const struct hs_step *step)
{
    switch (step->kind) {
    case HS_EVENT_REALLOC:
        if (step->phase == HS_PHASE_END)
            return allocate_block(builder, state, step);
        return begin_realloc(builder, state, step);
    case HS_EVENT_POOL_ALLOC:
    case HS_EVENT_POOL_FREE:
        return pool_event(builder, step);
    case HS_EVENT_MALLOPT:
    case HS_EVENT_MARK:
        return hs_builder__side_event(builder, step);
    case HS_EVENT_SAMPLE:
        return hs_builder__sample_event(builder, step);
    default:
        return builder->map_event(builder, step);
    }
}

// HS_TIE_WAITS: it ends a block that is not live, or begins one where one is, and nothing was done.
static inline __attribute__((always_inline)) int visit_now(struct hs_builder *builder, const struct hs_step *step)
{
    struct hs_stream_state *state = hs_array__reach(&builder->streams, step->stream, sizeof *state);
    if (!state)
        return -ENOMEM;
    HS_CHECK_SLOW(step->time >= builder->now);
    builder->now = step->time;
    if (builder->now >= builder->timeline.current_end)
        hs_timeline_builder__advance(builder);
    if (step->kind == HS_EVENT_FREE)
        return free_block(builder, state, step);
    if (step->kind - HS_EVENT_MALLOC <= HS_EVENT_ALIGNED - HS_EVENT_MALLOC)
        return allocate_block(builder, state, step);
    return visit_rare(builder, state, step);
}

// The live map may have grown while the step was put aside.
static int take_tied(void *context, struct hs_step *step, bool last)
{
    struct hs_builder *builder = context;
    step->slot = hs_live_map__slot(&builder->live, step->address, HS_LIVE_HEAP);
    builder->takes_all = last;
    int result = visit_now(builder, step);
    builder->takes_all = false;
    return result;
}

static int visit_tied(struct hs_builder *builder, struct hs_step *step)
{
    int failed = hs_ties__expire(&builder->ties, step->time);
    if (failed)
        return failed;
    if (hs_ties__waits(&builder->ties))
        return hs_ties__visit(&builder->ties, step);
    int result = visit_now(builder, step);
    return result == HS_TIE_WAITS ? hs_ties__hold(&builder->ties, step) : result;
}

static inline int visit(struct hs_builder *builder, struct hs_step *step)
{
    if (__builtin_expect(hs_ties__waits(&builder->ties), 0))
        return visit_tied(builder, step);
    int result = visit_now(builder, step);
    return __builtin_expect(result == HS_TIE_WAITS, 0) ? hs_ties__hold(&builder->ties, step) : result;
}

// Makes room for the blocks of `count` steps. Each step may also name a new pool. The slots then do not move.
static int make_live_room(struct hs_builder *builder, size_t count)
{
    while (!hs_live_map__has_room(&builder->live, 2 * count)) {
        if (builder->live.count + 2 * count >= builder->live_most)
            return -E2BIG;
        if (hs_live_map__grow(&builder->live))
            return -ENOMEM;
    }
    return 0;
}

// From recorded time to nanoseconds that never go back.
static void convert_times(struct hs_builder *builder, struct hs_step *steps, size_t count)
{
    uint64_t now = builder->now;
    for (size_t i = 0; i < count; i++) {
        const uint64_t time = hs_trace_clock__next(&builder->clock, now, steps[i].time);
        steps[i].last_of_time = 0;
        if (i)
            steps[i - 1].last_of_time = time != now;
        steps[i].time = now = time;
    }
}

// First prefetches the entries of all blocks in the live map, then the rows that end, then their stacks. Which steps
// are frees is unpredictable, so they are selected without a branch. (Not a function: gcc removes a function that only
// prefetches, because it has no effect.)
static void fetch(struct hs_builder *builder, struct hs_step *steps, size_t count)
{
    const struct hs_live_entry *entries = builder->live.entry;
    const uint64_t *row_ends = hs_row_ends__times(&builder->row_ends);
    const struct hs_live_bits bits = builder->live_bits;
    uint64_t ending[HS_STEPS];
    uint8_t free[HS_STEPS];
    size_t frees = 0;
    for (size_t i = 0; i < count; i++) {
        if (steps[i].stream >= HS_STREAM_LIMIT)
            steps[i].stream = 0;
        steps[i].slot = hs_live_map__slot(&builder->live, steps[i].address, HS_LIVE_HEAP);
        __builtin_prefetch(&entries[steps[i].slot], 1);
        if (steps[i].stack < builder->stack_limit)
            __builtin_prefetch(&builder->stack_peaks.state[steps[i].stack], 1);
        else if (!(steps[i].stack & HS_STACK_SNAPSHOT))
            builder->unknown_stacks = true;
        free[frees] = (uint8_t)i;
        frees += steps[i].kind == HS_EVENT_FREE;
    }
    if (!builder->rows)
        return;
    for (size_t i = 0; i < frees; i++) {
        // Row 0 for none that is known yet. The entry may also be a pool, whose number is no row's.
        const struct hs_live_entry *entry = &entries[steps[free[i]].slot];
        uint64_t row = (uint64_t)entry->row_plus_1 - 1;
        row &= 0 - (uint64_t)((entry->address == steps[free[i]].address) & (row < builder->rows));
        ending[i] = row;
        __builtin_prefetch(&row_ends[row], 1);
    }
    for (size_t i = 0; i < frees; i++) {
        uint64_t stack = low_bits(row_ends[ending[i]] >> bits.stream >> SLACK_BITS, bits.stack);
        __builtin_prefetch(&builder->stack_peaks.state[stack], 1);
    }
}

// Gives the steps the numbers that their stacks have in the store.
static void merge_stacks(const struct hs_builder *builder, struct hs_step *steps, size_t count)
{
    if (!builder->same || !builder->same->merged)
        return;
    const uint32_t *numbers = builder->same->numbers.data;
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&numbers[steps[i].stack < builder->same->count ? steps[i].stack : 0]);
    for (size_t i = 0; i < count; i++)
        steps[i].stack = hs_same_stacks__number(builder->same, steps[i].stack);
}

int hs_builder__visit(struct hs_builder *builder, struct hs_step *steps, size_t count)
{
    int failed = make_live_room(builder, count + builder->ties.held.count);
    if (failed)
        return failed;
    merge_stacks(builder, steps, count);
    fetch(builder, steps, count);
    convert_times(builder, steps, count);
    for (size_t i = 0; i < count && !failed; i++)
        failed = visit(builder, &steps[i]);
    return failed;
}

int hs_builder__expire(struct hs_builder *builder, uint64_t time)
{
    int failed = make_live_room(builder, builder->ties.held.count);
    return failed ? failed
                  : hs_ties__expire(&builder->ties, hs_trace_clock__next(&builder->clock, builder->now, time) + 1);
}

int hs_builder__settle(struct hs_builder *builder)
{
    int failed = make_live_room(builder, builder->ties.held.count);
    return failed ? failed : hs_ties__settle(&builder->ties);
}
