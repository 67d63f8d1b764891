// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stacks.h"

#include "arch/invariant.h"
#include "arch/likely.h"
#include "arch/system.h"
#include "format/trace_format.h"
#include "runtime/journal.h"
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/modules.h"

#include <stdatomic.h>
#include <sys/mman.h>

// A node of the window. In a table, each number is stored into `id` of an entry at most once, and only the owner of the
// lock writes, except for USED. So it is safe to read an entry while it changes: what was read between two loads of the
// same number belongs to that number.
//
// id: 0: the entry is free, or is being written; else the node's number, stored last (release)
// pc, parent: written only while id is 0. parent also has the bit USED, which any thread may set: the node was found
//   since the last choice of an entry to replace among its neighbours
struct stacks_entry {
    _Atomic uintptr_t pc;
    _Atomic uint32_t parent;
    _Atomic uint32_t id;
};

// Most nodes of a new stack have the number after that of their parent. Such a node is one word in the ring, its pc, at
// the place of its parent's number. So a new stack is written to successive words, and found there. Later numbers
// overwrite it. If it is in use when it is old, it is moved to an entry.
//
// Any other node is an entry in the line of its hash, or in another one of the group of lines around it. Small groups
// are found soon. In large ones the lines are half full before a node has no free place.
enum {
    LINE = 4,
    RING = 8, // words of the ring for each line
    FIRST_LINES = 64,
    FIRST_SHIFT = 32 - 6,
    SHIFT_MASK = 31,
    SMALL_GROUP = 2,
    LARGE_GROUP = 16,
    PART = 1 << 17,
    HUGE = 2 << 20
};
enum { LINE_SIZE = LINE * sizeof(struct stacks_entry) };
_Static_assert(FIRST_LINES *(LINE_SIZE + RING * sizeof(uintptr_t)) == HS_STACKS_WINDOW_LEAST, "the least window");
#define USED          0x80000000u
#define NODES_LIMIT   0x7fffffffu
#define GUESSED       ((uintptr_t)HS_NODE_GUESSED)
#define KEPT_TOO_DEEP 128u // innermost frames that are kept of a stack deeper than the memo

static struct {
    struct hs_lock lock;
    _Atomic uint32_t count;  // set under the lock; ids are 1 to count, id 0 is the parent of the outermost frames
    _Atomic uintptr_t table; // the address of 2^n lines and the ring, and 32 - n in its low bits; 0: no memory yet
    uintptr_t tables[32];    // by 32 - n. Those that were outgrown stay mapped for lookups that are still in them
    size_t window;           // the most bytes of a table
    uint32_t group;          // lines, a power of two
    _Atomic uint32_t taken;  // nodes that were moved from the ring to entries; set under the lock
    uint32_t ageing;         // 1: a node is old when half of the ring was written after it. 0: it never is
    _Atomic bool holes;      // nodes were taken out. Else a group is filled in the order in which it is searched
} trie = {.window = HS_STACKS_WINDOW, .group = SMALL_GROUP, .ageing = 1};

struct hs_made_range hs_stacks__made;

static inline uint32_t hash_of(uint32_t parent, uintptr_t pc)
{
    uint32_t hash = ((uint32_t)pc ^ parent * 0x9e3779b1u) * 0x85ebca77u;
    return (hash ^ hash >> 15) * 0x9e3779b1u;
}

// The number of the node's line in a table.
static inline uint32_t home_of(uintptr_t table, uint32_t parent, uintptr_t pc)
{
    return hash_of(parent, pc) >> (table & SHIFT_MASK);
}

static inline struct stacks_entry *line_at(uintptr_t table, uint32_t number)
{
    return (struct stacks_entry *)(table & ~(uintptr_t)SHIFT_MASK) + (size_t)number * LINE;
}

static size_t table_size(uint32_t shift)
{
    return (LINE_SIZE + RING * sizeof(uintptr_t)) << (32 - shift);
}

// The places of the ring, less one.
static inline uint32_t ring_mask(uintptr_t table)
{
    return ((uint32_t)RING << (32 - (table & SHIFT_MASK))) - 1;
}

// The place of the number's child: its pc, or 0 if the next number is not that of a child.
static inline _Atomic uintptr_t *ring_at(uintptr_t table, uint32_t number)
{
    return (_Atomic uintptr_t *)line_at(table, 1u << (32 - (table & SHIFT_MASK))) + (number & ring_mask(table));
}

static uint32_t entry_count(uintptr_t table)
{
    return table ? LINE << (32 - (table & SHIFT_MASK)) : 0;
}

// Whether the entry holds the node, and its number in *id.
static inline bool is_node(struct stacks_entry *entry, uint32_t parent, uintptr_t pc, uint32_t *id)
{
    *id = atomic_load_explicit(&entry->id, memory_order_acquire);
    uint32_t seen = atomic_load_explicit(&entry->parent, memory_order_relaxed);
    bool same = atomic_load_explicit(&entry->pc, memory_order_relaxed) == pc && (seen & ~USED) == parent && *id;
    atomic_thread_fence(memory_order_acquire);
    if (!same || atomic_load_explicit(&entry->id, memory_order_relaxed) != *id)
        return false;
    if (!(seen & USED))
        atomic_fetch_or_explicit(&entry->parent, USED, memory_order_relaxed);
    return true;
}

// Whether the ring holds the node; with `ageing` 1, in the younger half. The place belongs to `parent` from before
// `count` passes `parent` until after `count` has gone round.
static inline bool follows(uintptr_t table, uint32_t parent, uintptr_t pc, uint32_t ageing)
{
    if (!table || !pc || atomic_load_explicit(&trie.count, memory_order_acquire) <= parent)
        return false;
    bool same = atomic_load_explicit(ring_at(table, parent), memory_order_acquire) == pc;
    uint32_t age = atomic_load_explicit(&trie.count, memory_order_relaxed) - parent;
    return same && age <= ring_mask(table) >> ageing;
}

// The child of `parent` for `pc`, or 0: there is none, or it was moved meanwhile. Under the lock 0 means that there is
// none.
static inline uint32_t find(uint32_t parent, uintptr_t pc)
{
    uintptr_t table = atomic_load_explicit(&trie.table, memory_order_acquire);
    if (follows(table, parent, pc, trie.ageing))
        return parent + 1;
    uint32_t id, home = home_of(table, parent, pc);
    for (uint32_t number = 0; number < trie.group && table; number++) {
        struct stacks_entry *line = line_at(table, home ^ number);
        for (unsigned way = 0; way < LINE; way++)
            if (atomic_load_explicit(&line[way].pc, memory_order_relaxed) == pc && is_node(&line[way], parent, pc, &id))
                return id;
        if (!atomic_load_explicit(&line[LINE - 1].id, memory_order_relaxed) &&
            !atomic_load_explicit(&trie.holes, memory_order_relaxed))
            break;
    }
    return 0;
}

// Used for new stacks and for marks: not inlined, to save space.
static __attribute__((noinline)) uint32_t find_seldom(uint32_t parent, uintptr_t pc)
{
    return find(parent, pc);
}

// ---- the window, under the lock ------------------------------------------------------------------------------------

static void fill(struct stacks_entry *entry, uint32_t parent, uintptr_t pc, uint32_t id)
{
    atomic_store_explicit(&entry->id, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&entry->pc, pc, memory_order_relaxed);
    atomic_store_explicit(&entry->parent, parent, memory_order_relaxed);
    atomic_store_explicit(&entry->id, id, memory_order_release);
}

// The least: of a free entry, then of the oldest node that was not found of late.
static inline uint32_t rank_of(struct stacks_entry *entry)
{
    return atomic_load_explicit(&entry->id, memory_order_relaxed) |
           (atomic_load_explicit(&entry->parent, memory_order_relaxed) & USED);
}

// None of the line's nodes counts as found any more. A mark that another thread makes meanwhile may get lost.
static void clear_marks(struct stacks_entry *line)
{
    for (unsigned way = 0; way < LINE; way++) {
        uint32_t parent = atomic_load_explicit(&line[way].parent, memory_order_relaxed);
        atomic_store_explicit(&line[way].parent, parent & ~USED, memory_order_relaxed);
    }
}

// The entry of the group that a new node takes.
static struct stacks_entry *choose(uintptr_t table, uint32_t home)
{
    struct stacks_entry *chosen = NULL;
    uint32_t least = UINT32_MAX;
    for (uint32_t number = 0; number < trie.group && least; number++) {
        struct stacks_entry *line = line_at(table, home ^ number);
        for (unsigned way = 0; way < LINE; way++) {
            uint32_t rank = rank_of(&line[way]);
            chosen = rank < least ? &line[way] : chosen;
            least = rank < least ? rank : least;
        }
    }
    if (least >= USED)
        clear_marks(line_at(table, home));
    return chosen;
}

static void copy_entry(uintptr_t to, struct stacks_entry *entry)
{
    uint32_t parent = atomic_load_explicit(&entry->parent, memory_order_relaxed) & ~USED;
    uint32_t id = atomic_load_explicit(&entry->id, memory_order_relaxed);
    uintptr_t pc = atomic_load_explicit(&entry->pc, memory_order_relaxed);
    if (id)
        fill(choose(to, home_of(to, parent, pc)), parent, pc, id);
}

// Leaves zeros for lookups that are still in the old ring, because its words do not say which number they belong to.
// The place of the last number is not in use yet.
static void move_ring(uintptr_t to, uintptr_t from)
{
    uint32_t last = hs_stacks__count(), mask = ring_mask(from);
    for (uint32_t number = last < mask ? 0 : last - mask; number <= last; number++) {
        _Atomic uintptr_t *place = ring_at(from, number);
        atomic_store_explicit(ring_at(to, number), *place, memory_order_relaxed);
        atomic_store_explicit(place, 0, memory_order_relaxed);
    }
}

// Gives the pages of large tables back as it goes: a lookup that is still in them reads zeros. Lines that follow one
// another are copied to lines that do.
static void move_entries(uintptr_t to, uintptr_t from)
{
    for (uint32_t i = 0; i < entry_count(from); i++) {
        struct stacks_entry *entry = line_at(from, 0) + i;
        copy_entry(to, entry);
        if ((i + 1) % PART == 0)
            HS_SYSTEM3(SYS_madvise, entry + 1 - PART, PART * sizeof *entry, MADV_DONTNEED);
    }
}

static void move_all(uintptr_t to, uintptr_t from)
{
    move_ring(to, from);
    move_entries(to, from);
    HS_SYSTEM3(SYS_madvise, line_at(from, 0), table_size(from & SHIFT_MASK), MADV_DONTNEED);
}

// Twice as many lines, or the first ones. False: the window has its size, or there is no memory.
static HS_COLD bool grow(void)
{
    uintptr_t old = trie.table;
    uint32_t shift = old ? (uint32_t)(old & SHIFT_MASK) - 1 : FIRST_SHIFT;
    if (old && (!shift || table_size(shift) > trie.window))
        return false;
    // A large one would miss the TLB with each lookup.
    size_t size = table_size(shift);
    bool huge = size >= HUGE && (size & (size - 1)) == 0;
    uintptr_t table = (uintptr_t)(huge ? hs_memory__map_huge(size) : hs_memory__map(size));
    if (!table)
        return false;
    trie.tables[shift] = table;
    table |= shift;
    if (old)
        move_all(table, old);
    atomic_store_explicit(&trie.holes, false, memory_order_relaxed);
    atomic_store_explicit(&trie.table, table, memory_order_release);
    return true;
}

// `parent` may have the bit USED.
static void keep(uint32_t parent, uintptr_t pc, uint32_t id)
{
    struct stacks_entry *entry;
    do
        entry = choose(trie.table, home_of(trie.table, parent & ~USED, pc));
    while (atomic_load_explicit(&entry->id, memory_order_relaxed) && grow());
    fill(entry, parent, pc, id);
}

// `last`: the last number. `pc`: of its child, which gets the next number; 0: another node gets that.
static void enter_ring(uint32_t last, uintptr_t pc)
{
    if (last >= ring_mask(trie.table))
        grow();
    atomic_store_explicit(ring_at(trie.table, last), pc, memory_order_release);
}

// Makes a node that find() did not find. If the ring has it, it is old, but in use: it leaves the ring, because its
// number may not get into an entry again after it left that. Under the lock.
static uint32_t append(uint32_t parent, uintptr_t pc)
{
    uint32_t last = hs_stacks__count(), id = last + 1;
    HS_INVARIANT(parent < id && atomic_load(&trie.lock.word));
    if (follows(trie.table, parent, pc, 0)) {
        id = parent + 1;
        atomic_store_explicit(&trie.taken, trie.taken + 1, memory_order_release);
        atomic_store_explicit(ring_at(trie.table, parent), 0, memory_order_relaxed);
        parent |= USED;
    } else {
        bool in_ring = parent == last && pc;
        if (id >= NODES_LIMIT || (!trie.table && !grow()) || !hs_journal__node(id, parent, pc))
            return 0;
        enter_ring(last, in_ring ? pc : 0);
        atomic_store_explicit(&trie.count, id, memory_order_release);
        if (in_ring)
            return id;
    }
    keep(parent, pc, id);
    return id;
}

// The node that marks a cut stack, or a guess. Under the lock.
static uint32_t marker_below(uint32_t parent, uintptr_t mark)
{
    uint32_t id = find_seldom(parent, mark);
    return id ? id : append(parent, mark);
}

// Under the lock, from the first frame that had no id without it. `fresh`: it still has none. Below a new node
// everything is new.
static uint32_t append_frames(struct hs_memo *memo, uint32_t first, uint32_t parent, bool fresh)
{
    for (uint32_t i = first; i < memo->depth; i++) {
        uintptr_t pc = memo->pcs[i];
        if (HS_UNLIKELY(memo->guessed) && hs_memo_guessed_from(memo, i) && !(parent = marker_below(parent, GUESSED)))
            return 0;
        uint32_t id = fresh ? 0 : find_seldom(parent, pc);
        if (!id) {
            if (pc - hs_stacks__made.start >= hs_stacks__made.size)
                hs_modules__see(pc);
            id = append(parent, pc);
            fresh = id == hs_stacks__count();
        }
        if (!id)
            return 0;
        memo->ids[i] = parent = id;
    }
    return parent;
}

// Where the nodes of a stack begin: at the first fresh frame or, if the stack is too deep for the memo, at the
// innermost frames, so that a recursion does not fill the table.
//
// marker: not HS_END_ROOT: the parent is the node that marks a cut stack
// changes: of the window before the search; UINT32_MAX: another thread was in the middle of one
struct beginning {
    uint32_t first;
    uint32_t parent;
    enum hs_end marker;
    uint32_t changes;
};

static uint32_t changes_so_far(void)
{
    return (atomic_load_explicit(&trie.count, memory_order_acquire) +
            atomic_load_explicit(&trie.taken, memory_order_acquire)) &
           NODES_LIMIT;
}

static struct beginning beginning_of(const struct hs_memo *memo, uint32_t kept)
{
    // The lock after the changes: whoever made the last of them has released it.
    uint32_t changes = changes_so_far();
    if (atomic_load_explicit(&trie.lock.word, memory_order_acquire))
        changes = UINT32_MAX;
    if (memo->end == HS_END_TOO_DEEP)
        return (struct beginning){memo->depth > KEPT_TOO_DEEP ? memo->depth - KEPT_TOO_DEEP : 0, 0, memo->end, changes};
    if (kept == 0)
        return (struct beginning){0, 0, memo->end, changes};
    return (struct beginning){kept, memo->ids[kept - 1], HS_END_ROOT, changes};
}

static uint32_t identify_known(struct hs_memo *memo, struct beginning *at)
{
    if (at->marker != HS_END_ROOT) {
        at->parent = find_seldom(0, (uintptr_t)at->marker);
        if (!at->parent)
            return 0;
        at->marker = HS_END_ROOT;
    }
    for (; at->first < memo->depth; at->first++) {
        uint32_t parent = at->parent;
        if (HS_UNLIKELY(memo->guessed) && hs_memo_guessed_from(memo, at->first) &&
            !(parent = find_seldom(parent, GUESSED)))
            return 0;
        uint32_t id = find(parent, memo->pcs[at->first]);
        if (!id)
            return 0;
        memo->ids[at->first] = at->parent = id;
    }
    return at->parent;
}

// Compiled for size, with all that it alone calls: what takes time are the lock and memory that was not there before.
static HS_COLD uint32_t identify_new(struct hs_memo *memo, const struct beginning *at, uint32_t tid)
{
    if (!hs_lock__acquire(&trie.lock, tid))
        return 0;
    uint32_t parent = at->parent, id = 0;
    bool same = at->changes == changes_so_far();
    if (at->marker != HS_END_ROOT)
        parent = marker_below(0, (uintptr_t)at->marker);
    if (parent || at->marker == HS_END_ROOT)
        id = append_frames(memo, at->first, parent, same);
    hs_lock__release(&trie.lock);
    return id;
}

uint32_t hs_stacks__identify(struct hs_memo *memo, uint32_t kept, uint32_t tid)
{
    struct beginning at = beginning_of(memo, kept);
    uint32_t id = identify_known(memo, &at);
    if (!id)
        id = identify_new(memo, &at, tid);
    HS_INVARIANT(id <= hs_stacks__count());
    if (!id || memo->end == HS_END_TOO_DEEP)
        memo->depth = 0;
    return id;
}

static void take_out(struct stacks_entry *entry)
{
    atomic_store_explicit(&entry->id, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->parent, 0, memory_order_relaxed);
}

static HS_COLD void forget_code(const struct hs_code_range *code, uint32_t count)
{
    hs_journal__code_ends(code, count);
    struct stacks_entry *entry = line_at(trie.table, 0);
    atomic_store_explicit(&trie.holes, true, memory_order_relaxed);
    for (uint32_t left = entry_count(trie.table); left; left--, entry++)
        if (entry->id && hs_code_ranges__hold(code, count, entry->pc))
            take_out(entry);
    _Atomic uintptr_t *place = (_Atomic uintptr_t *)entry;
    for (uint32_t left = entry_count(trie.table) / LINE * RING; left; left--, place++)
        if (hs_code_ranges__hold(code, count, *place))
            atomic_store_explicit(place, 0, memory_order_relaxed);
}

HS_COLD bool hs_stacks__forget_unloaded(uint32_t tid)
{
    if (!hs_lock__acquire(&trie.lock, tid))
        return false;
    bool unloaded = hs_modules__rescan(forget_code);
    hs_lock__release(&trie.lock);
    return unloaded;
}

HS_COLD void hs_stacks__name_code(uint32_t tid)
{
    if (!hs_lock__acquire(&trie.lock, tid))
        return;
    hs_modules__settle();
    hs_lock__release(&trie.lock);
}

HS_COLD void hs_stacks__flush(uint32_t tid)
{
    if (!hs_lock__acquire(&trie.lock, tid))
        return;
    hs_modules__settle();
    hs_journal__flush_code();
    hs_lock__release(&trie.lock);
}

bool hs_stacks__lock(uint32_t tid)
{
    return hs_lock__acquire(&trie.lock, tid);
}

bool hs_stacks__try_lock(uint32_t tid)
{
    uint32_t open = 0;
    return atomic_compare_exchange_strong(&trie.lock.word, &open, tid);
}

void hs_stacks__unlock(void)
{
    hs_lock__release(&trie.lock);
}

uint32_t hs_stacks__count(void)
{
    return atomic_load_explicit(&trie.count, memory_order_relaxed);
}

HS_COLD bool hs_stacks__before_fork(uint32_t tid)
{
    return !hs_lock__is_of(&trie.lock, tid) && hs_lock__acquire(&trie.lock, tid);
}

HS_COLD void hs_stacks__after_fork(bool in_child, bool taken)
{
    if (in_child)
        trie.lock = (struct hs_lock){0};
    else if (taken)
        hs_lock__release(&trie.lock);
}

void hs_stacks__set_window(size_t bytes)
{
    trie.window = bytes;
    trie.group = bytes == SIZE_MAX ? LARGE_GROUP : SMALL_GROUP;
    trie.ageing = bytes != SIZE_MAX;
}

HS_COLD void hs_stacks__reset(void)
{
    for (uint32_t shift = 0; shift < sizeof trie.tables / sizeof *trie.tables; shift++) {
        if (trie.tables[shift])
            hs_memory__unmap((void *)trie.tables[shift], table_size(shift));
        trie.tables[shift] = 0;
    }
    trie.lock = (struct hs_lock){0};
    trie.table = 0;
    trie.count = 0;
    trie.holes = false;
}
