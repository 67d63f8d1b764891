// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/top_growing.h"

#include "host/base/array.h"
#include "host/base/clock.h"
#include "host/base/path.h"
#include "host/import/running_sums.h"
#include "host/rest/state.h"
#include "host/rest/sum_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// One after the other. The sums are begun again in at most a fifth of the time, like a whole reading.
enum { MOST_FAILURES = 3, WAITS = 4 };

// What makes a row. The name is that of the row.
struct growing_key {
    const char *text;
    uint64_t number;
};

struct hs_top_growing {
    char *path;
    const struct hs_symbols_options *options;
    struct hs_running_sums *running; // NULL: not now
    unsigned failures;               // since there were rows
    uint64_t begun_in_ns;            // time that the first events took
    uint64_t again_at_ns;
    struct hs_rest_state *state; // whose modules the symbols are of; NULL: not yet
    struct hs_trace_symbols *symbols;
    enum hs_sum_by by;
    struct hs_top_known *row;
    struct growing_key *key;
    size_t rows, row_room, key_room;
    struct hs_hash_index index;
    uint32_t *row_of; // by stack; its row + 1, NO_ROW, or 0: not known yet
    size_t stack_count, stack_room;
};

#define NO_ROW UINT32_MAX

static void drop_rows(struct hs_top_growing *growing)
{
    for (size_t i = 0; i < growing->rows; i++)
        free((char *)(uintptr_t)growing->row[i].name);
    growing->rows = 0;
    hs_hash_index__clear(&growing->index);
    if (growing->row_of)
        memset(growing->row_of, 0, growing->stack_count * sizeof(*growing->row_of));
}

static void drop_symbols(struct hs_top_growing *growing)
{
    drop_rows(growing);
    hs_trace_symbols__destroy(growing->symbols);
    growing->symbols = NULL;
    if (growing->state)
        hs_rest__release_state(growing->state);
    growing->state = NULL;
}

void hs_top_growing__free(struct hs_top_growing *growing)
{
    if (!growing)
        return;
    drop_symbols(growing);
    hs_running_sums__free(growing->running);
    hs_hash_index__free(&growing->index);
    free(growing->row);
    free(growing->key);
    free(growing->row_of);
    free(growing->path);
    free(growing);
}

struct hs_top_growing *hs_top_growing__create(const char *path, const struct hs_symbols_options *symbols)
{
    struct hs_top_growing *growing = calloc(1, sizeof(*growing));
    if (!growing)
        return NULL;
    growing->options = symbols;
    growing->path = strdup(path);
    growing->running = growing->path ? hs_running_sums__create(path) : NULL;
    if (growing->running)
        return growing;
    hs_top_growing__free(growing);
    return NULL;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

struct growing_search {
    const struct hs_top_growing *growing;
    struct growing_key key;
};

static bool is_wanted(const void *context, uint32_t number)
{
    const struct growing_search *search = context;
    const struct growing_key *key = &search->growing->key[number];
    return key->text == search->key.text && key->number == search->key.number;
}

static char *name_of(enum hs_sum_by by, const struct hs_frame *frame)
{
    char line[24];
    const char *library = frame->module && *frame->module ? hs_path__name(frame->module) : "";
    snprintf(line, sizeof(line), "%" PRIu64, hs_sum_by__number(by, frame));
    return hs_top_name(hs_sum_by__name(by, frame), library, line);
}

static uint32_t add_row(struct hs_top_growing *growing, const struct growing_key *key, uint64_t hash,
                        const struct hs_frame *frame)
{
    if (!HS_ARRAY_HAS_ROOM(growing->row, growing->rows, growing->row_room) ||
        !HS_ARRAY_HAS_ROOM(growing->key, growing->rows, growing->key_room))
        return 0;
    char *name = name_of(growing->by, frame);
    if (!name || hs_hash_index__add(&growing->index, hash, (uint32_t)growing->rows)) {
        free(name);
        return 0;
    }
    growing->row[growing->rows] = (struct hs_top_known){.name = name};
    growing->key[growing->rows] = *key;
    return (uint32_t)++growing->rows;
}

// 0: out of memory.
static uint32_t find_row(struct hs_top_growing *growing, uint32_t node)
{
    const struct hs_frame *frame = hs_sum_by__frame(growing->by, growing->symbols, node);
    const char *text = frame ? hs_sum_by__text(growing->by, frame) : NULL;
    if (!text)
        return NO_ROW;
    const struct growing_search search = {growing, {text, hs_sum_by__number(growing->by, frame)}};
    const uint64_t hash = hs_hash__pair((uintptr_t)text, search.key.number);
    const uint32_t number = hs_hash_index__find(&growing->index, hash, is_wanted, &search);
    return number != HS_HASH_NONE ? number + 1 : add_row(growing, &search.key, hash, frame);
}

// Adds what a stack has now, less what it had before.
static bool add_stack(struct hs_top_growing *growing, const struct hs_running_state *state, uint32_t stack,
                      const struct hs_running_sum *before)
{
    const struct hs_running_sum *now = &state->stack[stack].sums;
    uint32_t *row = &growing->row_of[stack];
    *row = *row ? *row : find_row(growing, state->stack[stack].node);
    if (!*row)
        return false;
    if (*row == NO_ROW)
        return true;
    struct hs_top_sums *sums = &growing->row[*row - 1].sums;
    sums->live_bytes += now->live_bytes - before->live_bytes;
    sums->live_count += now->live_count - before->live_count;
    sums->all_bytes += now->all_bytes - before->all_bytes;
    sums->all_count += now->all_count - before->all_count;
    return true;
}

static bool add_all(struct hs_top_growing *growing, const struct hs_running_state *state)
{
    static const struct hs_running_sum none;
    bool good = true;
    for (uint32_t i = 0; i < state->stacks && good; i++)
        good = add_stack(growing, state, i, &none);
    return good;
}

static bool add_changes(struct hs_top_growing *growing, const struct hs_running_state *state)
{
    bool good = true;
    for (size_t i = 0; i < state->changes && good; i++) {
        const struct hs_running_change *change = &state->change[i];
        good = add_stack(growing, state, change->stack, &change->before);
    }
    return good;
}

// ---- stacks and their names -----------------------------------------------------------------------------------------

// Memory that is not reached yet is not touched.
static bool reach_stacks(struct hs_top_growing *growing, size_t count)
{
    if (count > growing->stack_room) {
        const size_t room = 2 * count;
        uint32_t *grown = reallocarray(growing->row_of, room, sizeof(*grown));
        if (!grown)
            return false;
        growing->row_of = grown;
        growing->stack_room = room;
    }
    if (count > growing->stack_count) {
        memset(growing->row_of + growing->stack_count, 0, (count - growing->stack_count) * sizeof(*growing->row_of));
        growing->stack_count = count;
    }
    return true;
}

static bool has_modules(const struct hs_store *store, uint64_t modules)
{
    size_t count;
    hs_store__modules(store, &count);
    return count >= modules;
}

// Another trace may have taken the place of the file, which `rest` tells.
static bool is_of(const struct hs_running_state *state, const struct hs_store *store)
{
    return !strcmp(state->trace_id, hs_store__summary(store)->trace_id);
}

// False: there is no state yet that has the code.
static bool open_symbols(struct hs_top_growing *growing, struct hs_rest *rest, const struct hs_running_state *state)
{
    growing->state = hs_rest__hold_state(rest);
    if (growing->state && is_of(state, growing->state->store) && has_modules(growing->state->store, state->modules))
        growing->symbols = hs_trace_symbols__create(growing->state->store, growing->options);
    if (!growing->symbols)
        drop_symbols(growing);
    return growing->symbols;
}

static bool bring_up(struct hs_top_growing *growing, enum hs_sum_by by, bool anew, const struct hs_running_state *state)
{
    if (!reach_stacks(growing, state->stacks) ||
        hs_trace_symbols__follow(growing->symbols, state->nodes, state->node_count))
        return false;
    if (!anew)
        return add_changes(growing, state);
    drop_rows(growing);
    growing->by = by;
    return add_all(growing, state);
}

// ---- looks ----------------------------------------------------------------------------------------------------------

// In the stream of a device, what a thread does rarely comes after what others did later: then the sums are wrong.
static void drop_sums(struct hs_top_growing *growing)
{
    drop_symbols(growing);
    hs_running_sums__free(growing->running);
    growing->running = NULL;
    growing->failures++;
    growing->again_at_ns = hs_clock__now() + WAITS * growing->begun_in_ns;
}

static bool begin_again(struct hs_top_growing *growing)
{
    const uint64_t now = hs_clock__now();
    if (growing->failures >= MOST_FAILURES || now < growing->again_at_ns)
        return false;
    growing->running = hs_running_sums__create(growing->path);
    growing->begun_in_ns = hs_clock__now() - now;
    if (!growing->running)
        growing->failures = MOST_FAILURES;
    return growing->running;
}

static int look(struct hs_top_growing *growing, const int *cancel)
{
    const bool is_first = !hs_running_sums__state(growing->running)->time_ns;
    const uint64_t began = hs_clock__now();
    const int failed = hs_running_sums__look(growing->running, cancel);
    growing->begun_in_ns += is_first ? hs_clock__now() - began : 0;
    return failed;
}

static bool fill_rows(struct hs_top_growing *growing, const struct hs_running_state *state, bool is_new,
                      struct hs_top_rows *rows)
{
    const struct hs_running_sum *sum = &state->sum;
    *rows = (struct hs_top_rows){.row = growing->row,
                                 .count = growing->rows,
                                 .sum = {sum->live_bytes, sum->live_count, sum->all_bytes, sum->all_count},
                                 .peak_bytes = state->most_bytes,
                                 .time_ns = state->time_ns,
                                 .is_new = is_new};
    growing->failures = 0;
    return true;
}

bool hs_top_growing__rows(struct hs_top_growing *growing, struct hs_rest *rest, const char *word, const int *cancel,
                          struct hs_top_rows *rows)
{
    const enum hs_sum_by by = hs_sum_by__parse(word);
    if (!growing->running && !begin_again(growing))
        return false;
    const uint64_t code_before = hs_running_sums__state(growing->running)->code_changes;
    const int failed = look(growing, cancel);
    const struct hs_running_state *state = hs_running_sums__state(growing->running);
    if (failed) {
        drop_sums(growing);
        return false;
    }
    // Names of new code are in a newer state, which answering as a whole makes. Changes that are not added are lost.
    if (state->code_changes != code_before || by >= HS_SUM_BY_THREAD || !state->time_ns) {
        drop_symbols(growing);
        return false;
    }
    const bool anew = !growing->symbols || by != growing->by;
    if (!growing->symbols && !open_symbols(growing, rest, state))
        return false;
    if (bring_up(growing, by, anew, state))
        return fill_rows(growing, state, anew || state->changes, rows);
    drop_sums(growing);
    return false;
}
