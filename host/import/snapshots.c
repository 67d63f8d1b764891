// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/snapshots.h"

#include "format/trace_format.h"
#include "host/base/hash_index.h"
#include "host/base/search.h"
#include "host/import/snapshot_files.h"
#include "host/import/snapshot_words.h"
#include "host/symbols/expand.h"
#include "host/unwind/offline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UNASKED = -2, NO_FILE = -1 };

// ---- nodes ---------------------------------------------------------------------------------------------------------

struct unwinding {
    const struct hs_trace *trace;
    struct hs_import_tables *tables;
    struct hs_offline *session;
    struct hs_snapshot_files files;
    struct hs_snapshot_form form;
    struct hs_summary *summary;
    struct hs_symbols_module *modules;
    int *file_of; // by module
    uint32_t epoch;
    bool has_epoch;
    struct hs_hash_index index; // of the nodes that were added
};

struct snapshot_node_key {
    const struct hs_import_tables *tables;
    uint64_t pc;
    uint32_t parent, epoch;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct snapshot_node_key *wanted = key;
    const struct hs_node *node = (const struct hs_node *)wanted->tables->nodes.data + number;
    return node->pc == wanted->pc && node->parent == wanted->parent &&
           ((const uint32_t *)wanted->tables->node_epochs.data)[number] == wanted->epoch;
}

// Appends a node after those of the trace. Returns it, or a negative errno.
static int64_t append_node(struct unwinding *self, uint32_t parent, uint64_t pc)
{
    struct hs_import_tables *tables = self->tables;
    uint32_t node = tables->node_count;
    if (node >= HS_STACK_SNAPSHOT - 1)
        return -EOVERFLOW;
    int failed = hs_column_file__reserve(&tables->nodes, (uint64_t)node + 1);
    if (!failed)
        failed = hs_growing__reserve(&tables->node_epochs, ((size_t)node + 1) * sizeof(uint32_t));
    if (failed)
        return failed;
    ((struct hs_node *)tables->nodes.data)[node] = (struct hs_node){.pc = pc, .parent = parent};
    ((uint32_t *)tables->node_epochs.data)[node] = self->epoch;
    tables->node_count++;
    return node;
}

static int64_t find_node(struct unwinding *self, uint32_t parent, uint64_t pc)
{
    const struct snapshot_node_key wanted = {self->tables, pc, parent, self->epoch};
    const uint64_t hash = hs_hash__pair(pc, (uint64_t)parent << 32 | self->epoch);
    const uint32_t found = hs_hash_index__find(&self->index, hash, is_wanted, &wanted);
    if (found != HS_HASH_NONE)
        return found;
    int64_t node = append_node(self, parent, pc);
    if (node < 0)
        return node;
    return hs_hash_index__add(&self->index, hash, (uint32_t)node) ? -ENOMEM : node;
}

static int64_t node_of(struct unwinding *self, const struct hs_offline_stack *stack)
{
    int64_t node = stack->end ? find_node(self, 0, (uint64_t)stack->end) : 0;
    for (uint32_t i = stack->depth; i-- && node >= 0;) {
        if (stack->guessed[i] && node)
            node = find_node(self, (uint32_t)node, HS_NODE_GUESSED);
        if (node >= 0)
            node = find_node(self, (uint32_t)node, stack->pcs[i]);
    }
    return node;
}

// ---- modules -------------------------------------------------------------------------------------------------------

static int open_module(void *context, size_t number)
{
    struct unwinding *self = context;
    int *file = &self->file_of[number];
    if (*file == UNASKED) {
        int code, debug;
        hs_snapshot_files__find(&self->files, &self->modules[number], &code, &debug);
        code = hs_expand__sections(code, NULL);
        debug = hs_expand__sections(debug, NULL);
        *file = code < 0 ? NO_FILE : hs_offline__add_file(self->session, code, debug);
    }
    return *file;
}

static bool overlaps(const struct hs_offline_module *chosen, size_t count, const struct hs_stored_module *module)
{
    for (size_t i = 0; i < count; i++)
        if (chosen[i].start < module->end && module->start < chosen[i].end)
            return true;
    return false;
}

// Modules are announced when the recorder first meets them: one that was there at no other's place is taken for one
// that was there all the time.
static int choose_modules(struct unwinding *self, uint64_t time)
{
    const struct hs_stored_module *modules = self->tables->modules.data;
    size_t all = self->tables->modules.count, count = 0;
    struct hs_offline_module *chosen = malloc((all + 1) * sizeof *chosen);
    if (!chosen)
        return -ENOMEM;
    for (int late = 0; late < 2; late++)
        for (size_t i = 0; i < all; i++) {
            bool there = modules[i].load_time <= time && time < modules[i].unload_time;
            if (modules[i].end > modules[i].start && there != late && (!late || !overlaps(chosen, count, &modules[i])))
                chosen[count++] =
                    (struct hs_offline_module){modules[i].start, modules[i].end, modules[i].bias, (uint32_t)i};
        }
    hs_offline__set_modules(self->session, chosen, count);
    free(chosen);
    return 0;
}

static int enter_epoch(struct unwinding *self, uint64_t time)
{
    const uint64_t *epochs = self->tables->epochs.data;
    const size_t epoch = HS_SEARCH_LAST(self->tables->epochs.count, i, epochs[i] <= time);
    if (self->has_epoch && self->epoch == epoch)
        return 0;
    self->has_epoch = true;
    self->epoch = (uint32_t)epoch;
    return choose_modules(self, time);
}

// ---- snapshots -----------------------------------------------------------------------------------------------------

// The node of a record's stack, 0 for a damaged one, or a negative errno.
static int64_t unwind(struct unwinding *self, const struct hs_snapshot_record *record)
{
    static _Thread_local struct hs_offline_stack stack;
    struct hs_offline_snapshot snapshot = {.size = 0};
    uint8_t *copy = NULL;
    const uint8_t *bytes = (const uint8_t *)self->tables->snapshots.bytes.data + record->at;
    int failed = enter_epoch(self, record->time);
    if (failed)
        return failed;
    if (!hs_snapshot_words__read(&self->form, bytes, record->length, snapshot.registers, &copy, &snapshot.size)) {
        self->summary->damaged_snapshots++;
        return 0;
    }
    snapshot.copy = copy;
    hs_offline__walk(self->session, &snapshot, &stack);
    free(copy);
    self->summary->truncated[stack.end & 15] += stack.end != 0;
    bool guessed = false;
    for (uint32_t i = 0; i < stack.depth; i++)
        guessed |= stack.guessed[i];
    self->summary->guessed += guessed;
    return node_of(self, &stack);
}

static int compare_records(const void *left, const void *right)
{
    const struct hs_snapshot_record *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static uint32_t node_of_number(const struct hs_array *records, const uint32_t *nodes, uint32_t number)
{
    const struct hs_snapshot_record wanted = {.number = number}, *all = records->data;
    const struct hs_snapshot_record *found =
        records->count ? bsearch(&wanted, all, records->count, sizeof wanted, compare_records) : NULL;
    return found ? nodes[found - all] : 0;
}

static int unwind_all(struct unwinding *self, uint32_t *nodes)
{
    const struct hs_snapshot_record *records = self->tables->snapshots.record.data;
    for (size_t i = 0; i < self->tables->snapshots.record.count; i++) {
        int64_t node = unwind(self, &records[i]);
        if (node < 0)
            return (int)node;
        nodes[i] = (uint32_t)node;
    }
    self->summary->snapshots = self->tables->snapshots.record.count;
    return 0;
}

static struct hs_symbols_module *describe_modules(const struct hs_import_tables *tables)
{
    const struct hs_stored_module *stored = tables->modules.data;
    const char *strings = tables->strings.data;
    struct hs_symbols_module *modules = calloc(tables->modules.count + 1, sizeof *modules);
    for (size_t i = 0; modules && i < tables->modules.count; i++)
        modules[i] = (struct hs_symbols_module){.start = stored[i].start,
                                                .end = stored[i].end,
                                                .bias = stored[i].bias,
                                                .path = strings + stored[i].path,
                                                .build_id = (const uint8_t *)strings + stored[i].build_id,
                                                .build_id_length = stored[i].build_id_length};
    return modules;
}

static int prepare(struct unwinding *self)
{
    const struct hs_summary *summary = self->summary;
    bool big_endian = summary->byte_order == HS_BYTE_ORDER_BIG, unknown;
    self->session = hs_offline__create(summary->machine, summary->pointer_size, big_endian, &unknown);
    self->file_of = malloc((self->tables->modules.count + 1) * sizeof *self->file_of);
    if (!self->file_of || (!self->session && !unknown))
        return -ENOMEM;
    for (size_t i = 0; i < self->tables->modules.count; i++)
        self->file_of[i] = UNASKED;
    if (unknown)
        return -ENOTSUP;
    hs_offline__on_first_use(self->session, open_module, self);
    self->form = (struct hs_snapshot_form){.pointer_size = summary->pointer_size,
                                           .big_endian = big_endian,
                                           .registers = hs_offline__registers(self->session)};
    return 0;
}

static int unwind_here(struct unwinding *self, const struct hs_symbols_options *symbols, uint32_t *nodes,
                       struct hs_store_head *head)
{
    struct hs_import_tables *tables = self->tables;
    self->modules = describe_modules(tables);
    if (!self->modules)
        return -ENOMEM;
    hs_snapshot_files__create(&self->files, symbols, self->summary);
    self->files.trace = self->trace;
    self->files.embedded = tables->embedded.data;
    self->files.embedded_count = tables->embedded.count;
    self->files.strings = tables->strings.data;
    head->unwound_with = hs_snapshot_files__identity(&self->files, self->modules, tables->modules.count);
    qsort(tables->snapshots.record.data, tables->snapshots.record.count, sizeof(struct hs_snapshot_record),
          compare_records);
    int failed = prepare(self);
    if (!failed)
        failed = unwind_all(self, nodes);
    return failed == -ENOTSUP ? 0 : failed; // of a machine that is not known, samples have no stacks
}

int hs_snapshots__unwind(const struct hs_trace *trace, const struct hs_symbols_options *symbols,
                         struct hs_import_tables *tables, struct hs_array *samples, struct hs_store_head *head)
{
    struct unwinding self = {.tables = tables, .summary = &head->summary, .trace = trace};
    struct hs_sample *sample = samples->data;
    uint32_t *nodes = calloc(tables->snapshots.record.count + 1, sizeof *nodes);
    int failed = nodes ? 0 : -ENOMEM;
    if (!failed && tables->snapshots.record.count)
        failed = unwind_here(&self, symbols, nodes, head);
    for (size_t i = 0; i < samples->count && !failed; i++)
        if (sample[i].stack & HS_STACK_SNAPSHOT)
            sample[i].stack = node_of_number(&tables->snapshots.record, nodes, sample[i].stack);
    hs_offline__destroy(self.session);
    free(self.modules);
    free(self.file_of);
    hs_hash_index__free(&self.index);
    free(nodes);
    return failed;
}

uint64_t hs_snapshots__found_files(const char *directory, const struct hs_symbols_options *symbols)
{
    struct hs_store *store;
    struct hs_snapshot_files files;
    size_t count;
    if (hs_store__open(directory, &store, NULL))
        return 0;
    const struct hs_module *stored = hs_store__modules(store, &count);
    struct hs_symbols_module *modules = calloc(count + 1, sizeof *modules);
    for (size_t i = 0; modules && i < count; i++)
        modules[i] = (struct hs_symbols_module){.start = stored[i].start,
                                                .end = stored[i].end,
                                                .bias = stored[i].bias,
                                                .path = stored[i].path,
                                                .build_id = stored[i].build_id,
                                                .build_id_length = stored[i].build_id_length};
    hs_snapshot_files__create(&files, symbols, hs_store__summary(store));
    uint64_t identity = modules ? hs_snapshot_files__identity(&files, modules, count) : 0;
    free(modules);
    hs_store__close(store);
    return identity;
}
