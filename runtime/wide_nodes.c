// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/wide_nodes.h"

#include "arch/likely.h"
#include "arch/system.h"
#include "runtime/memory.h"
#include "runtime/modules.h"

#include <stdatomic.h>
#include <sys/mman.h>

// pc: 0: empty; written last
// parent: FORGOTTEN belongs to no node
struct wide_nodes_entry {
    _Atomic uintptr_t pc;
    _Atomic uint32_t parent, id;
};

struct wide_nodes_table {
    uint32_t capacity;
    _Alignas(16) struct wide_nodes_entry entries[]; // none lies across two cache lines
};

enum { FIRST_CAPACITY = 1024, LARGEST_CAPACITY = sizeof(void *) == 8 ? 1 << 30 : 1 << 26 };
#define FORGOTTEN UINT32_MAX

// madvise(2): MADV_POPULATE_WRITE, which headers from before Linux 5.14 lack, as musl's do, and kernels of then refuse.
enum { POPULATE_WRITE = 23 };

static struct {
    struct wide_nodes_table *_Atomic table; // readers see a complete table
    uint32_t count;                         // under the stack table's lock
} wide;

static uint32_t place_of(const struct wide_nodes_table *table, uint32_t parent, uintptr_t pc)
{
    uint64_t hash = (pc ^ (uint64_t)parent << 32 ^ parent) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
    hash *= 0x85ebca6bull;
    return (uint32_t)((hash >> 32) * table->capacity >> 32);
}

static uint32_t next_place(const struct wide_nodes_table *table, uint32_t place)
{
    return place + 1 == table->capacity ? 0 : place + 1;
}

uint32_t hs_wide_nodes__find(uint32_t parent, uintptr_t pc)
{
    const struct wide_nodes_table *table = atomic_load_explicit(&wide.table, memory_order_acquire);
    if (!table)
        return 0;
    uint32_t place = place_of(table, parent, pc);
    uintptr_t seen;
    while ((seen = atomic_load_explicit(&table->entries[place].pc, memory_order_acquire))) {
        const struct wide_nodes_entry *entry = &table->entries[place];
        if (seen == pc && atomic_load_explicit(&entry->parent, memory_order_relaxed) == parent)
            return atomic_load_explicit(&entry->id, memory_order_relaxed);
        place = next_place(table, place);
    }
    return 0;
}

static void store(struct wide_nodes_table *table, uint32_t parent, uintptr_t pc, uint32_t id)
{
    uint32_t place = place_of(table, parent, pc);
    while (atomic_load_explicit(&table->entries[place].pc, memory_order_relaxed))
        place = next_place(table, place);
    struct wide_nodes_entry *entry = &table->entries[place];
    atomic_store_explicit(&entry->parent, parent, memory_order_relaxed);
    atomic_store_explicit(&entry->id, id, memory_order_relaxed);
    atomic_store_explicit(&entry->pc, pc, memory_order_release);
}

static size_t table_bytes(uint32_t capacity)
{
    return sizeof(struct wide_nodes_table) + capacity * sizeof(struct wide_nodes_entry);
}

static void copy_entries(struct wide_nodes_table *to, const struct wide_nodes_table *from)
{
    for (uint32_t i = 0; i < from->capacity; i++) {
        const struct wide_nodes_entry *entry = &from->entries[i];
        uintptr_t pc = atomic_load_explicit(&entry->pc, memory_order_relaxed);
        uint32_t parent = atomic_load_explicit(&entry->parent, memory_order_relaxed);
        if (pc && parent != FORGOTTEN)
            store(to, parent, pc, atomic_load_explicit(&entry->id, memory_order_relaxed));
    }
}

static struct wide_nodes_table *grow(struct wide_nodes_table *old)
{
    uint32_t capacity = old ? old->capacity + old->capacity / 2 : FIRST_CAPACITY;
    struct wide_nodes_table *table = capacity < LARGEST_CAPACITY ? hs_memory__map(table_bytes(capacity)) : NULL;
    if (!table)
        return NULL;
    // The hash spreads over all pages: at once they cost less than one fault after the other.
    HS_SYSTEM3(SYS_madvise, table, table_bytes(capacity), POPULATE_WRITE);
    table->capacity = capacity;
    if (old)
        copy_entries(table, old);
    atomic_store_explicit(&wide.table, table, memory_order_release);
    if (old) {
        // The first page keeps `capacity`, which a lookup may still read.
        size_t page = hs_memory__page_size();
        HS_SYSTEM3(SYS_madvise, (char *)old + page, table_bytes(old->capacity) - page, MADV_DONTNEED);
    }
    return table;
}

HS_COLD uint32_t hs_wide_nodes__insert(uint32_t parent, uintptr_t pc, uint32_t id)
{
    struct wide_nodes_table *table = atomic_load_explicit(&wide.table, memory_order_relaxed);
    if (!table || wide.count >= table->capacity / 4 * 3)
        if (!(table = grow(table)))
            return 0;
    wide.count++;
    store(table, parent, pc, id);
    return id;
}

void hs_wide_nodes__forget(const struct hs_code_range *code, uint32_t count)
{
    struct wide_nodes_table *table = atomic_load_explicit(&wide.table, memory_order_relaxed);
    for (uint32_t i = 0; table && i < table->capacity; i++) {
        uintptr_t pc = atomic_load_explicit(&table->entries[i].pc, memory_order_relaxed);
        if (pc && hs_modules__hold(code, count, pc))
            atomic_store_explicit(&table->entries[i].parent, FORGOTTEN, memory_order_relaxed);
    }
}

void hs_wide_nodes__reset(void)
{
    struct wide_nodes_table *table = atomic_load_explicit(&wide.table, memory_order_relaxed);
    if (table)
        hs_memory__unmap(table, table_bytes(table->capacity));
    atomic_store_explicit(&wide.table, NULL, memory_order_relaxed);
    wide.count = 0;
}
