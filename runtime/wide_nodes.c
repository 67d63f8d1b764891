// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/wide_nodes.h"

#include "arch/system.h"
#include "runtime/memory.h"

#include <stdatomic.h>
#include <sys/mman.h>

// key:  pc (48 bits) | low 16 bits of parent << 48; 0: empty; written last
// rest: id (32 bits) | high 16 bits of parent << 32; FORGOTTEN matches no parent
struct entry {
    _Atomic uint64_t key;
    _Atomic uint64_t rest;
};

struct table {
    uint64_t capacity;
    struct entry entries[];
};

enum { FIRST_CAPACITY = 1024 };
#define PC_MASK   0x0000ffffffffffffull
#define FORGOTTEN (~0ull)

static struct {
    struct table *_Atomic table; // readers see a complete table
    uint64_t count;              // under the stack table's lock
} wide;

static uint64_t key_of(uint32_t parent, uintptr_t pc)
{
    return (pc & PC_MASK) | (uint64_t)parent << 48;
}

static uint64_t place_of(const struct table *table, uint32_t parent, uintptr_t pc)
{
    uint64_t hash = (pc ^ (uint64_t)parent << 32 ^ parent) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9ull;
    return (uint64_t)((unsigned __int128)hash * table->capacity >> 64);
}

static uint64_t next_place(const struct table *table, uint64_t place)
{
    return place + 1 == table->capacity ? 0 : place + 1;
}

uint32_t hs_wide_nodes__find(uint32_t parent, uintptr_t pc)
{
    const struct table *table = atomic_load_explicit(&wide.table, memory_order_acquire);
    if (!table)
        return 0;
    uint64_t key = key_of(parent, pc), seen;
    uint64_t place = place_of(table, parent, pc);
    while ((seen = atomic_load_explicit(&table->entries[place].key, memory_order_acquire))) {
        uint64_t rest = atomic_load_explicit(&table->entries[place].rest, memory_order_relaxed);
        if (seen == key && rest >> 32 == parent >> 16)
            return (uint32_t)rest;
        place = next_place(table, place);
    }
    return 0;
}

static void store(struct table *table, uint32_t parent, uintptr_t pc, uint32_t id)
{
    uint64_t place = place_of(table, parent, pc);
    while (atomic_load_explicit(&table->entries[place].key, memory_order_relaxed))
        place = next_place(table, place);
    uint64_t rest = id | (uint64_t)(parent >> 16) << 32;
    atomic_store_explicit(&table->entries[place].rest, rest, memory_order_relaxed);
    atomic_store_explicit(&table->entries[place].key, key_of(parent, pc), memory_order_release);
}

static size_t table_bytes(uint64_t capacity)
{
    return sizeof(struct table) + capacity * sizeof(struct entry);
}

static void copy_entries(struct table *to, const struct table *from)
{
    for (uint64_t i = 0; i < from->capacity; i++) {
        uint64_t key = atomic_load_explicit(&from->entries[i].key, memory_order_relaxed);
        uint64_t rest = atomic_load_explicit(&from->entries[i].rest, memory_order_relaxed);
        if (key && rest != FORGOTTEN)
            store(to, (uint32_t)(key >> 48) | (uint32_t)(rest >> 32) << 16, key & PC_MASK, (uint32_t)rest);
    }
}

static struct table *grow(struct table *old)
{
    uint64_t capacity = old ? old->capacity + old->capacity / 2 : FIRST_CAPACITY;
    struct table *table = hs_memory__map(table_bytes(capacity));
    if (!table)
        return NULL;
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

bool hs_wide_nodes__insert(uint32_t parent, uintptr_t pc, uint32_t id)
{
    struct table *table = atomic_load_explicit(&wide.table, memory_order_relaxed);
    if (!table || (wide.count + 1) * 4 > table->capacity * 3)
        if (!(table = grow(table)))
            return false;
    wide.count++;
    store(table, parent, pc, id);
    return true;
}

void hs_wide_nodes__forget(uintptr_t start, uintptr_t end)
{
    struct table *table = atomic_load_explicit(&wide.table, memory_order_relaxed);
    for (uint64_t i = 0; table && i < table->capacity; i++) {
        uint64_t key = atomic_load_explicit(&table->entries[i].key, memory_order_relaxed);
        if (key && (key & PC_MASK) - 1 - start < end - start)
            atomic_store_explicit(&table->entries[i].rest, FORGOTTEN, memory_order_relaxed);
    }
}

void hs_wide_nodes__reset(void)
{
    struct table *table = atomic_load_explicit(&wide.table, memory_order_relaxed);
    if (table)
        hs_memory__unmap(table, table_bytes(table->capacity));
    atomic_store_explicit(&wide.table, NULL, memory_order_relaxed);
    wide.count = 0;
}
