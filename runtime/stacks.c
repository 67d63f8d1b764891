// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stacks.h"

#include "runtime/journal.h"
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/modules.h"

#include "arch/system.h"

#include <stdatomic.h>
#include <sys/mman.h>

// key:  pc (48 bits) | low 16 bits of parent << 48; never 0 in use, written last
// rest: id (32 bits) | high 16 bits of parent << 32
// A parent above 2^32 does not exist: ids are 32 bits.
struct entry {
    _Atomic uint64_t key;
    uint64_t rest;
};

struct table {
    uint64_t capacity;
    struct entry entries[];
};

enum { FIRST_CAPACITY = 4096, PROBES_LIMIT = 4096 };
#define NODES_LIMIT   0xfffffff0u
#define PC_MASK       0x0000ffffffffffffull
#define KEPT_TOO_DEEP 128u // innermost frames that are kept of a stack deeper than the memo

static struct {
    struct table *_Atomic table; // owner: whoever holds lock; readers see a complete table
    struct hs_lock lock;
    uint32_t count;              // under lock
} trie;

static uint64_t key_of(uint32_t parent, uintptr_t pc)
{
    return (pc & PC_MASK) | (uint64_t)parent << 48;
}

static uint64_t rest_of(uint32_t parent, uint32_t id)
{
    return id | (uint64_t)(parent >> 16) << 32;
}

static uint64_t place_of(const struct table *table, uint32_t parent, uintptr_t pc)
{
    uint64_t hash = (pc ^ (uint64_t)parent << 32 ^ parent) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9ull;
    return (uint64_t)((unsigned __int128)hash * table->capacity >> 64);
}

static uint32_t find(const struct table *table, uint32_t parent, uintptr_t pc)
{
    if (!table)
        return 0;
    uint64_t key = key_of(parent, pc);
    uint64_t place = place_of(table, parent, pc);
    for (unsigned probe = 0; probe < PROBES_LIMIT; probe++) {
        const struct entry *entry = &table->entries[place];
        uint64_t seen = atomic_load_explicit(&entry->key, memory_order_acquire);
        if (seen == 0)
            return 0;
        if (seen == key && entry->rest >> 32 == parent >> 16)
            return (uint32_t)entry->rest;
        place = place + 1 == table->capacity ? 0 : place + 1;
    }
    return 0;
}

static void place_entry(struct table *table, uint32_t parent, uintptr_t pc, uint32_t id)
{
    uint64_t place = place_of(table, parent, pc);
    while (atomic_load_explicit(&table->entries[place].key, memory_order_relaxed))
        place = place + 1 == table->capacity ? 0 : place + 1;
    table->entries[place].rest = rest_of(parent, id);
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
        uint64_t rest = from->entries[i].rest;
        if (key)
            place_entry(to, (uint32_t)(key >> 48) | (uint32_t)(rest >> 32) << 16, key & PC_MASK, (uint32_t)rest);
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
    atomic_store_explicit(&trie.table, table, memory_order_release);
    if (old) {
        // The first page keeps `capacity`, which a lookup may still read.
        size_t page = hs_memory__page_size();
        HS_SYSTEM3(SYS_madvise, (char *)old + page, table_bytes(old->capacity) - page, MADV_DONTNEED);
    }
    return table;
}

static uint32_t insert(uint32_t parent, uintptr_t pc, uint32_t tid)
{
    struct table *table = atomic_load_explicit(&trie.table, memory_order_relaxed);
    uint32_t id = find(table, parent, pc);
    if (id || trie.count >= NODES_LIMIT)
        return id;
    if (!table || (trie.count + 1) * 4ull > table->capacity * 3)
        if (!(table = grow(table)))
            return 0;
    id = trie.count + 1;
    if (!hs_journal__node(tid, id, parent, pc))
        return 0;
    trie.count = id;
    place_entry(table, parent, pc, id);
    return id;
}

// Under the lock, from the first frame that has no id.
static uint32_t insert_frames(struct hs_memo *memo, uint32_t first, uint32_t parent, uint32_t tid)
{
    for (uint32_t i = first; i < memo->depth; i++) {
        hs_modules__see(memo->pcs[i]);
        parent = insert(parent, memo->pcs[i], tid);
        if (!parent)
            return 0;
        memo->ids[i] = parent;
    }
    return parent;
}

// Where the nodes of a stack begin: at the first fresh frame, or, for a stack too deep for the memo, at the innermost
// frames, so that a recursion does not fill the table.
struct beginning {
    uint32_t first;
    uint32_t parent;
    enum hs_end marker; // not HS_END_ROOT: the parent is the node that marks a cut stack
};

static struct beginning beginning_of(const struct hs_memo *memo, uint32_t kept)
{
    if (memo->end == HS_END_TOO_DEEP)
        return (struct beginning){memo->depth > KEPT_TOO_DEEP ? memo->depth - KEPT_TOO_DEEP : 0, 0, memo->end};
    if (kept == 0)
        return (struct beginning){0, 0, memo->end};
    return (struct beginning){kept, memo->ids[kept - 1], HS_END_ROOT};
}

static uint32_t identify_known(struct hs_memo *memo, struct beginning *at)
{
    const struct table *table = atomic_load_explicit(&trie.table, memory_order_acquire);
    if (at->marker != HS_END_ROOT) {
        at->parent = find(table, 0, (uintptr_t)at->marker);
        if (!at->parent)
            return 0;
        at->marker = HS_END_ROOT;
    }
    for (; at->first < memo->depth; at->first++) {
        uint32_t id = find(table, at->parent, memo->pcs[at->first]);
        if (!id)
            return 0;
        memo->ids[at->first] = at->parent = id;
    }
    return at->parent;
}

static uint32_t identify_new(struct hs_memo *memo, const struct beginning *at, uint32_t tid)
{
    if (!hs_lock__acquire(&trie.lock, tid))
        return 0;
    uint32_t parent = at->parent, id = 0;
    if (at->marker != HS_END_ROOT)
        parent = insert(0, (uintptr_t)at->marker, tid);
    if (parent || at->marker == HS_END_ROOT)
        id = insert_frames(memo, at->first, parent, tid);
    hs_lock__release(&trie.lock);
    return id;
}

uint32_t hs_stacks__identify(struct hs_memo *memo, uint32_t kept, uint32_t tid)
{
    struct beginning at = beginning_of(memo, kept);
    uint32_t id = identify_known(memo, &at);
    if (!id)
        id = identify_new(memo, &at, tid);
    if (!id || memo->end == HS_END_TOO_DEEP)
        memo->depth = 0;
    return id;
}

// An entry that no lookup matches: its parent is a number that no node has.
static void forget_range(uintptr_t start, uintptr_t end)
{
    struct table *table = atomic_load_explicit(&trie.table, memory_order_relaxed);
    for (uint64_t i = 0; table && i < table->capacity; i++) {
        struct entry *entry = &table->entries[i];
        uint64_t key = atomic_load_explicit(&entry->key, memory_order_relaxed);
        if (key && (key & PC_MASK) - 1 - start < end - start)
            atomic_store_explicit(&entry->key, key | 0xffffull << 48, memory_order_relaxed), entry->rest = ~0ull;
    }
}

void hs_stacks__forget_unloaded(uint32_t tid)
{
    if (!hs_lock__acquire(&trie.lock, tid))
        return;
    hs_modules__rescan(forget_range);
    hs_lock__release(&trie.lock);
}

uint32_t hs_stacks__count(void)
{
    return trie.count;
}

void hs_stacks__reset(void)
{
    struct table *table = atomic_load_explicit(&trie.table, memory_order_relaxed);
    if (table)
        hs_memory__unmap(table, table_bytes(table->capacity));
    atomic_store_explicit(&trie.table, NULL, memory_order_relaxed);
    trie.lock = (struct hs_lock){0};
    trie.count = 0;
}
