// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stacks.h"

#include "arch/far.h"
#include "arch/invariant.h"
#include "arch/likely.h"
#include "format/trace_format.h"
#include "runtime/journal.h"
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/modules.h"
#include "runtime/wide_nodes.h"

#include <stdatomic.h>

// A node is found from its parent: through the list of the parent's children, newest first. Nodes that are made
// together lie together, so that a stack met again touches few cache lines.
//
// pc: return address; DEAD when its code was unloaded, so that no lookup matches it
// first_child, next: ids; a node is complete before its id is stored into either
struct stacks_node {
    _Atomic uintptr_t pc;
    _Atomic uint32_t first_child;
    _Atomic uint32_t next;
};

enum { SEGMENT_BITS = 17, SEGMENT_NODES = 1 << SEGMENT_BITS, SEGMENTS_LIMIT = 1 << 14 };
#define SEGMENT_SIZE  (sizeof(struct stacks_node) * SEGMENT_NODES) // 2 MiB, with pointers of 32 bits 1.5 MiB
#define NODES_LIMIT   ((uint32_t)SEGMENTS_LIMIT << SEGMENT_BITS)
#define DEAD          UINTPTR_MAX
#define GUESSED       ((uintptr_t)HS_NODE_GUESSED)
#define KEPT_TOO_DEEP 128u // innermost frames that are kept of a stack deeper than the memo

static struct {
    struct hs_lock lock;
    uint32_t count;              // under the lock; ids are 1 to count, id 0 is the parent of the outermost frames
    _Atomic uint32_t generation; // changes when a (parent, pc) may have got another id
} trie;

static struct stacks_node *_Atomic segments[SEGMENTS_LIMIT] HS_FAR;

static inline struct stacks_node *_Atomic *segment_at(uint32_t number)
{
    return *HS_FAR_AT(segments) + number;
}

static inline struct stacks_node *node_of(uint32_t id)
{
    struct stacks_node *segment = atomic_load_explicit(segment_at(id >> SEGMENT_BITS), memory_order_relaxed);
    return segment ? &segment[id & (SEGMENT_NODES - 1)] : NULL;
}

// For ids that were read from the trie, whose memory exists.
static inline struct stacks_node *known_node(uint32_t id)
{
    struct stacks_node *segment = atomic_load_explicit(segment_at(id >> SEGMENT_BITS), memory_order_relaxed);
    HS_INVARIANT(segment);
    return &segment[id & (SEGMENT_NODES - 1)];
}

// Moves a child to the front of its parent's list, so that frequent nodes are found early. A concurrent reader of the
// list may miss nodes; a miss is looked up again under the lock.
static __attribute__((noinline)) void promote(uint32_t tid, uint32_t parent, uint32_t before, uint32_t child)
{
    uint32_t open = 0;
    if (!atomic_compare_exchange_strong(&trie.lock.word, &open, tid))
        return;
    struct stacks_node *above = node_of(parent), *left = node_of(before), *node = node_of(child);
    if (atomic_load_explicit(&left->next, memory_order_relaxed) == child) {
        uint32_t first = atomic_load_explicit(&above->first_child, memory_order_relaxed);
        atomic_store_explicit(&left->next, atomic_load_explicit(&node->next, memory_order_relaxed),
                              memory_order_release);
        atomic_store_explicit(&node->next, first, memory_order_release);
        atomic_store_explicit(&above->first_child, child, memory_order_release);
    }
    hs_lock__release(&trie.lock);
}

// Every fourth time, and only while there is one thread: threads must not write what others read on their hot path.
static inline void maybe_promote(struct hs_node_cache *cache, uint32_t parent, uint32_t before, uint32_t child)
{
    if (cache && cache->alone_as && (++cache->late_finds & 3) == 0)
        promote(cache->alone_as, parent, before, child);
}

// The child of `parent` for `pc`, or 0. Children beyond the first few of a node are found by hash. `cache`: the calling
// thread's, NULL: nothing is promoted.
static inline uint32_t find(struct hs_node_cache *cache, uint32_t parent, uintptr_t pc)
{
    const struct stacks_node *node = node_of(parent);
    uint32_t child = node ? atomic_load_explicit(&node->first_child, memory_order_acquire) : 0, before = 0;
    for (unsigned steps = 0; child; steps++) {
        if (steps == HS_WIDE_LIST)
            return hs_wide_nodes__find(parent, pc);
        node = known_node(child);
        if (atomic_load_explicit(&node->pc, memory_order_relaxed) == pc) {
            if (steps)
                maybe_promote(cache, parent, before, child);
            return child;
        }
        before = child;
        child = atomic_load_explicit(&node->next, memory_order_acquire);
    }
    return 0;
}

// Used for new stacks and for marks: not inlined, to save space.
static __attribute__((noinline)) uint32_t find_seldom(uint32_t parent, uintptr_t pc)
{
    return find(NULL, parent, pc);
}

static struct stacks_node *make_node(uint32_t id)
{
    struct stacks_node *node = node_of(id);
    if (node)
        return node;
    // A program with few stacks pays for few pages; one with millions would miss the TLB with each lookup.
    bool large = id >= SEGMENT_NODES && (SEGMENT_SIZE & (SEGMENT_SIZE - 1)) == 0;
    struct stacks_node *segment = large ? hs_memory__map_huge(SEGMENT_SIZE) : hs_memory__map(SEGMENT_SIZE);
    if (!segment)
        return NULL;
    atomic_store_explicit(segment_at(id >> SEGMENT_BITS), segment, memory_order_release);
    return &segment[id & (SEGMENT_NODES - 1)];
}

// A parent whose list becomes too long to be searched gets its children into the hash, and every new one from then on.
// 0 when the hash cannot take them.
static uint32_t index_if_wide(uint32_t parent, uint32_t first, uint32_t id, uintptr_t pc)
{
    uint32_t children[HS_WIDE_LIST], length = 0;
    for (uint32_t child = first; child && length < HS_WIDE_LIST; length++) {
        children[length] = child;
        child = atomic_load_explicit(&node_of(child)->next, memory_order_relaxed);
    }
    if (length < HS_WIDE_LIST - 1)
        return id;
    for (uint32_t i = 0; length == HS_WIDE_LIST - 1 && i < length; i++) {
        uintptr_t known = atomic_load_explicit(&node_of(children[i])->pc, memory_order_relaxed);
        if (known != DEAD && !hs_wide_nodes__insert(parent, known, children[i]))
            return 0;
    }
    return hs_wide_nodes__insert(parent, pc, id);
}

// Appends a node that does not exist. Under the lock.
static uint32_t append(uint32_t parent, uintptr_t pc)
{
    uint32_t id = trie.count + 1;
    HS_INVARIANT(parent < id && pc != DEAD && atomic_load(&trie.lock.word));
    struct stacks_node *above = make_node(parent), *node = make_node(id);
    if (!above || !node || id >= NODES_LIMIT)
        return 0;
    uint32_t first = atomic_load_explicit(&above->first_child, memory_order_relaxed);
    if ((first && !index_if_wide(parent, first, id, pc)) || !hs_journal__node(id, parent, pc))
        return 0;
    __atomic_store_n(&trie.count, id, __ATOMIC_RELAXED);
    atomic_store_explicit(&node->pc, pc, memory_order_relaxed);
    atomic_store_explicit(&node->next, first, memory_order_relaxed);
    atomic_store_explicit(&above->first_child, id, memory_order_release);
    return id;
}

// The node that marks a cut stack, or a guess. Under the lock.
static uint32_t marker_below(uint32_t parent, uintptr_t mark)
{
    uint32_t id = find_seldom(parent, mark);
    return id ? id : append(parent, mark);
}

// Under the lock, from the first frame that had no id without it. Below a new node everything is new.
static uint32_t append_frames(struct hs_memo *memo, uint32_t first, uint32_t parent)
{
    bool fresh = false;
    for (uint32_t i = first; i < memo->depth; i++) {
        uintptr_t pc = memo->pcs[i];
        if (HS_UNLIKELY(memo->guessed) && hs_memo_guessed_from(memo, i) && !(parent = marker_below(parent, GUESSED)))
            return 0;
        uint32_t id = fresh ? 0 : find_seldom(parent, pc);
        if (!id) {
            hs_modules__see(pc);
            id = append(parent, pc);
            fresh = true;
        }
        if (!id)
            return 0;
        memo->ids[i] = parent = id;
    }
    return parent;
}

// Where the nodes of a stack begin: at the first fresh frame or, if the stack is too deep for the memo, at the
// innermost frames, so that a recursion does not fill the table.
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

static void empty_cache(struct hs_node_cache *cache, uint32_t generation)
{
    __builtin_memset(cache->entries, 0, sizeof cache->entries);
    cache->generation = generation;
}

_Static_assert(HS_NODE_CACHE_WAYS == 4, "find_cached() gives 2 bits");

static inline uint32_t find_cached(struct hs_node_cache *cache, uint32_t depth, uint32_t parent, uintptr_t pc)
{
    unsigned way = (uint32_t)pc * 0x9e3779b1u >> 30;
    __auto_type entry = &cache->entries[depth % HS_NODE_CACHE_DEPTHS][way];
    if (entry->pc == pc && entry->parent == parent)
        return entry->id;
    uint32_t id = find(cache, parent, pc);
    if (id) {
        entry->pc = pc;
        entry->parent = parent;
        entry->id = id;
    }
    return id;
}

static uint32_t identify_known(struct hs_memo *memo, struct beginning *at, struct hs_node_cache *cache)
{
    uint32_t generation = atomic_load_explicit(&trie.generation, memory_order_acquire);
    if (cache->generation != generation)
        empty_cache(cache, generation);
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
        uint32_t id = find_cached(cache, at->first, parent, memo->pcs[at->first]);
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
    if (at->marker != HS_END_ROOT)
        parent = marker_below(0, (uintptr_t)at->marker);
    if (parent || at->marker == HS_END_ROOT)
        id = append_frames(memo, at->first, parent);
    hs_lock__release(&trie.lock);
    return id;
}

uint32_t hs_stacks__identify(struct hs_memo *memo, uint32_t kept, struct hs_node_cache *cache, uint32_t tid)
{
    struct beginning at = beginning_of(memo, kept);
    uint32_t id = identify_known(memo, &at, cache);
    if (!id)
        id = identify_new(memo, &at, tid);
    HS_INVARIANT(id <= hs_stacks__count());
    if (!id || memo->end == HS_END_TOO_DEEP)
        memo->depth = 0;
    return id;
}

static void kill(uint32_t id, struct stacks_node *node)
{
    HS_INVARIANT(id && id <= trie.count);
    hs_journal__node_ends(id);
    atomic_store_explicit(&node->pc, DEAD, memory_order_relaxed);
}

static HS_COLD void forget_code(const struct hs_code_range *code, uint32_t count)
{
    for (uint32_t id = 1; id <= trie.count; id++) {
        struct stacks_node *node = node_of(id);
        uintptr_t pc = atomic_load_explicit(&node->pc, memory_order_relaxed);
        if (pc != DEAD && hs_modules__hold(code, count, pc))
            kill(id, node);
    }
    hs_wide_nodes__forget(code, count);
    atomic_fetch_add_explicit(&trie.generation, 1, memory_order_release);
}

HS_COLD bool hs_stacks__forget_unloaded(uint32_t tid)
{
    if (!hs_lock__acquire(&trie.lock, tid))
        return false;
    bool unloaded = hs_modules__rescan(forget_code);
    hs_lock__release(&trie.lock);
    return unloaded;
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
    return __atomic_load_n(&trie.count, __ATOMIC_RELAXED);
}

HS_COLD void hs_stacks__before_fork(uint32_t tid)
{
    hs_lock__acquire(&trie.lock, tid);
}

HS_COLD void hs_stacks__after_fork(bool in_child)
{
    if (in_child)
        trie.lock = (struct hs_lock){0};
    else
        hs_lock__release(&trie.lock);
}

HS_COLD void hs_stacks__reset(void)
{
    for (uint32_t i = 0; i < SEGMENTS_LIMIT && *segment_at(i); i++) {
        hs_memory__unmap(*segment_at(i), SEGMENT_SIZE);
        atomic_store_explicit(segment_at(i), NULL, memory_order_relaxed);
    }
    hs_wide_nodes__reset();
    trie.lock = (struct hs_lock){0};
    trie.count = 0;
    atomic_fetch_add_explicit(&trie.generation, 1, memory_order_release);
}
