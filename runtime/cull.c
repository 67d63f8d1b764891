// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/cull.h"

#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/live_blocks.h"
#include "runtime/memory.h"
#include "runtime/shared_word.h"
#include "runtime/slot_record.h"

#include <stdatomic.h>

// Allocators give such a block memory of its own, which goes back when it is freed: it stays for what is resident.
enum { LARGE_BLOCK = 128 * 1024 };

enum { HELD_LIMIT = 256, SLOT_WORDS = HS_SLOT_RECORDS_SIZE / 8, STACKS_FIRST = 256 };

// The minimal size of a realloc's record in words.
enum { REALLOC_WORDS = 3, UNSEEN_BITS = 12 };

// An allocation in a held slot. Holders are numbered from the start on.
struct cull_place {
    uint64_t time;
    uint32_t holder, word;
};

struct held {
    struct hs_slot *slot;
    uint64_t last_time;
    uint64_t clock;                                              // recorded time before the record at `word`
    uint32_t word;                                               // the first record that is not matched yet
    uint32_t allocations;                                        // in it
    uint8_t struck[SLOT_WORDS / 8 + 1];                          // a bit for each word: set at that of a record
    struct cull_place continued[SLOT_WORDS / REALLOC_WORDS + 1]; // by word / REALLOC_WORDS: what a realloc goes on from
};

// What slots that are not held yet contain about the addresses with one hash.
struct unseen {
    uint64_t earliest, behind; // times; behind 0: nothing
};

// In the link of a slot, which holds no list together meanwhile.
#define IS_HELD UINT32_MAX

struct statistics {
    uint32_t stack;
    uint64_t count, size, usable, lifetime;
};

static struct {
    struct held *ring; // HELD_LIMIT entries, oldest at `first`
    struct unseen *unseen;
    uint32_t first, count;
    uint64_t forgotten;            // up to this time there were allocations of which nothing is known any more
    uint32_t matched;              // all before this one are
    uint32_t allocations;          // in held slots
    struct held *open[HELD_LIMIT]; // of those that are matched now: by time, then those still to come
    struct statistics *stacks;     // open addressing by stack
    uint32_t stacks_capacity, stacks_used;
} cull;

bool hs_cull__is_on(void)
{
    return hs_config.cull;
}

uint32_t hs_cull__held(void)
{
    return cull.count;
}

// ---- one record ----------------------------------------------------------------------------------------------------

static bool allocates(const struct hs_slot_record *record)
{
    return record->kind >= HS_RECORD_MALLOC && record->kind <= HS_RECORD_REALLOC;
}

// ---- striking out --------------------------------------------------------------------------------------------------

static struct held *held_at(uint32_t place)
{
    return &cull.ring[place % HELD_LIMIT];
}

static void strike(struct held *held, uint32_t word)
{
    held->struck[word / 8] |= (uint8_t)(1u << word % 8);
}

static bool is_struck(const struct held *held, uint32_t word)
{
    return held->struck[word / 8] >> word % 8 & 1;
}

static struct statistics *find_statistics(struct statistics *table, uint32_t capacity, uint32_t stack)
{
    uint32_t place = (uint32_t)((uint64_t)(stack * 0x9e3779b1u) * capacity >> 32);
    while (table[place].count && table[place].stack != stack)
        place = place + 1 == capacity ? 0 : place + 1;
    return &table[place];
}

static bool grow_statistics(void)
{
    uint32_t capacity = cull.stacks ? cull.stacks_capacity * 2 : STACKS_FIRST;
    bool may_grow = capacity * sizeof(struct statistics) <= hs_config.memory / 4;
    struct statistics *table = may_grow ? hs_memory__map(capacity * sizeof *table) : NULL;
    if (!table)
        return false;
    for (uint32_t i = 0; i < cull.stacks_capacity; i++)
        if (cull.stacks[i].count)
            *find_statistics(table, capacity, cull.stacks[i].stack) = cull.stacks[i];
    if (cull.stacks)
        hs_memory__unmap(cull.stacks, cull.stacks_capacity * sizeof *table);
    cull.stacks = table;
    cull.stacks_capacity = capacity;
    return true;
}

// Makes room for this many more stacks. At most half of the table is used, as long as it may grow.
static bool reserve_statistics(uint32_t stacks)
{
    while ((cull.stacks_used + stacks) * 2 >= cull.stacks_capacity && grow_statistics())
        ;
    return cull.stacks_used + stacks < cull.stacks_capacity;
}

static void count_culled(uint32_t stack, uint64_t size, uint64_t usable, uint64_t lifetime)
{
    struct statistics *entry = find_statistics(cull.stacks, cull.stacks_capacity, stack);
    cull.stacks_used += entry->count == 0;
    entry->stack = stack;
    entry->count++;
    entry->size += size;
    entry->usable += usable;
    entry->lifetime += lifetime;
}

// value * numerator / denominator, exact to 32 bits.
static uint64_t scaled(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    while ((numerator | denominator) >> 32) {
        numerator >>= 1;
        denominator >>= 1;
    }
    denominator += denominator == 0;
    return value / denominator * numerator + value % denominator * numerator / denominator;
}

static uint64_t threshold(void)
{
    uint64_t ns = hs_config.cull_threshold_ms * 1000000;
    uint64_t elapsed = hs_clock__monotonic_ns() - hs_clock.start_monotonic_ns;
    return elapsed ? scaled(ns, hs_clock__now(), elapsed) : ns;
}

// The allocation that a realloc there goes on from. NULL: it is no realloc.
static const struct cull_place *before(const struct cull_place *place)
{
    const struct held *held = held_at(place->holder);
    uint64_t kind = hs_slot__records(held->slot)[place->word] & HS_RECORD_KIND_MASK;
    bool goes_on = kind == HS_RECORD_REALLOC || kind == HS_RECORD_REALLOC_USABLE;
    return goes_on ? &held->continued[place->word / REALLOC_WORDS] : NULL;
}

static struct unseen *unseen_of(uint64_t address)
{
    return &cull.unseen[address * 0x9e3779b97f4a7c15ull >> (64 - UNSEEN_BITS)];
}

static void forget_until(uint64_t time)
{
    cull.forgotten = time > cull.forgotten ? time : cull.forgotten;
}

// Whether nothing that is not known, yet or any more, may have happened at the address between two times.
static bool is_certain(uint64_t address, uint64_t begin, uint64_t end)
{
    const struct unseen *unseen = unseen_of(address);
    return begin > cull.forgotten && (unseen->behind <= begin || unseen->earliest > end);
}

// Whether the allocation is there, young and small.
static bool may_go(const struct cull_place *place, uint64_t time, uint64_t limit)
{
    if (place->holder - cull.first >= cull.count || time - place->time >= limit)
        return false;
    return hs_slot_record__size(hs_slot__records(held_at(place->holder)->slot) + place->word) < LARGE_BLOCK;
}

static void count_one(const struct cull_place *place, uint64_t ended)
{
    const uint64_t *at = hs_slot__records(held_at(place->holder)->slot) + place->word;
    uint64_t clock = 0;
    const struct hs_slot_record record = hs_slot_record__read(at[0], &clock);
    count_culled((uint32_t)(at[1] >> 32), hs_slot_record__size(at), hs_slot_record__usable(at, &record),
                 ended - place->time);
}

static uint64_t realloc_begin(const struct cull_place *place)
{
    return place->time - (hs_slot__records(held_at(place->holder)->slot)[place->word + 2] >> 48);
}

// The allocation that ends at `time` in the thread `stream`. In one tick of the clock other threads' may come in any
// order.
static bool take_out(uint64_t address, uint64_t time, uint32_t stream, struct cull_place *place)
{
    struct hs_live_block block;
    if (!hs_live_blocks__remove(address, time, &block))
        return false;
    *place = (struct cull_place){block.time, block.holder, block.word};
    return is_certain(address, block.time, time) &&
           (block.time != time || hs_slot__header(held_at(block.holder)->slot)->stream == stream);
}

// Whether the block at `address`, freed at `time`, may go: then it is struck out with all that it was reallocated from.
static bool ends_early(uint64_t address, uint64_t time, uint64_t limit, uint32_t stream)
{
    struct cull_place last;
    uint32_t length = 0;
    if (!take_out(address, time, stream, &last))
        return false;
    for (const struct cull_place *place = &last; place; place = before(place), length++)
        if (!may_go(place, time, limit))
            return false;
    if (!reserve_statistics(length))
        return false;
    for (const struct cull_place *place = &last; place; place = before(place)) {
        count_one(place, time);
        strike(held_at(place->holder), place->word);
        if (before(place))
            time = realloc_begin(place);
    }
    return true;
}

static void insert(const struct hs_slot_record *record, uint32_t holder, uint32_t word)
{
    if (!hs_live_blocks__insert(record->address, record->time, holder, word))
        forget_until(record->time);
}

// A realloc goes on from a block that is known, or from one that stays: then it stays, too.
static void go_on(struct held *held, uint32_t holder, const struct hs_slot_record *record)
{
    const uint64_t old = hs_slot__records(held->slot)[held->word + 2];
    struct cull_place *from = &held->continued[held->word / REALLOC_WORDS];
    struct hs_live_block block;
    if (take_out(old & ((1ull << 48) - 1), record->time - (old >> 48), hs_slot__header(held->slot)->stream, from))
        insert(record, holder, held->word);
    else
        hs_live_blocks__remove(record->address, record->time, &block);
}

// A wide record is kept unchanged. The blocks that it ends, or whose address it reuses, must not be matched with a
// later free.
static void forget_blocks_of_wide(const uint64_t *at, uint64_t time)
{
    struct hs_live_block block;
    uint64_t kind = at[0] >> HS_RECORD_ADDRESS_POS & 0xff;
    if (kind == HS_WIDE_REALLOC)
        hs_live_blocks__remove(at[5], time, &block);
    if (kind == HS_WIDE_ALLOC || kind == HS_WIDE_REALLOC || kind == HS_WIDE_FREE)
        hs_live_blocks__remove(at[1], time, &block);
}

static uint32_t number_of(const struct held *held)
{
    return cull.first + ((uint32_t)(held - cull.ring) - cull.first) % HELD_LIMIT;
}

static void match_record(struct held *held, uint64_t limit)
{
    const uint64_t *at = hs_slot__records(held->slot) + held->word;
    const struct hs_slot_record record = hs_slot_record__read(at[0], &held->clock);
    const uint32_t stream = hs_slot__header(held->slot)->stream;
    if (record.kind == HS_RECORD_FREE || record.kind == HS_RECORD_FREE_STACK) {
        if (ends_early(record.address, record.time, limit, stream))
            strike(held, held->word);
    } else if (record.kind == HS_RECORD_REALLOC) {
        go_on(held, number_of(held), &record);
    } else if (record.kind == HS_RECORD_WIDE) {
        forget_blocks_of_wide(at, record.time);
    } else if (allocates(&record)) {
        insert(&record, number_of(held), held->word);
    }
    held->word += record.words;
}

// ---- what is not held yet ------------------------------------------------------------------------------------------

static void note_unseen(uint64_t address, uint64_t time)
{
    struct unseen *unseen = unseen_of(address);
    unseen->earliest = unseen->behind && unseen->earliest < time ? unseen->earliest : time;
    unseen->behind = unseen->behind > time ? unseen->behind : time + 1;
}

// Its thread may be writing. What is not there yet happens after all that is held: a free is recorded before the block
// is given back, and an allocation before anybody else knows of it.
static void look_at_slot(const struct hs_slot *slot)
{
    const uint64_t *records = hs_slot__records(slot);
    uint64_t clock = hs_slot__header(slot)->base_time, first;
    for (uint32_t word = 0; word < SLOT_WORDS && (first = hs_shared_word__load(&records[word]));) {
        const struct hs_slot_record record = hs_slot_record__read(first, &clock);
        const uint64_t *at = records + word;
        if (record.kind == HS_RECORD_WIDE) {
            note_unseen(at[1], record.time);
            if ((first >> HS_RECORD_ADDRESS_POS & 0xff) == HS_WIDE_REALLOC)
                note_unseen(at[5], record.time);
        } else if (record.kind != HS_RECORD_TIME) {
            note_unseen(record.address, record.time);
        }
        if (record.kind == HS_RECORD_REALLOC)
            note_unseen(at[2] & ((1ull << 48) - 1), record.time - (at[2] >> 48));
        word += record.words;
    }
}

static void look_at_unseen(void)
{
    __builtin_memset(cull.unseen, 0, sizeof *cull.unseen << UNSEEN_BITS);
    for (uint32_t i = 0; i < hs_slots__total(); i++) {
        const struct hs_slot *slot = hs_slots__at(i);
        if (atomic_load_explicit(&slot->next, memory_order_relaxed) != IS_HELD &&
            __atomic_load_n(&hs_slot__header(slot)->use, __ATOMIC_ACQUIRE) == HS_SLOT_EVENTS)
            look_at_slot(slot);
    }
}

// ---- matching ------------------------------------------------------------------------------------------------------

// The time of the next record; UINT64_MAX: no more.
static uint64_t next_time(const struct held *held)
{
    uint64_t clock = held->clock, first = held->word < SLOT_WORDS ? hs_slot__records(held->slot)[held->word] : 0;
    if (first)
        hs_slot_record__read(first, &clock);
    return first ? clock : UINT64_MAX;
}

// Sorts by the time of the first record.
static uint32_t sort_unmatched(void)
{
    uint32_t count = 0;
    for (uint32_t number = cull.matched; number != cull.first + cull.count; number++) {
        struct held *held = held_at(number);
        uint32_t at = count++;
        for (; at && cull.open[at - 1]->clock > held->clock; at--)
            cull.open[at] = cull.open[at - 1];
        cull.open[at] = held;
    }
    return count;
}

// Goes through the records of all held slots in the order of time, so that another thread's free finds its block.
static void match_all(void)
{
    const uint64_t limit = threshold();
    uint32_t count = sort_unmatched(), done = 0;
    look_at_unseen();
    while (done < count) {
        uint64_t least = UINT64_MAX, second = UINT64_MAX, time;
        uint32_t first = done, i = done;
        // Slots without records come last.
        for (; i < count && cull.open[i]->clock <= least; i++) {
            time = next_time(cull.open[i]);
            second = time < least ? least : time < second ? time : second;
            first = time < least ? i : first;
            least = time < least ? time : least;
        }
        if (i < count && cull.open[i]->clock < second)
            second = cull.open[i]->clock;
        struct held *held = cull.open[first];
        while ((time = next_time(held)) <= second && time != UINT64_MAX)
            match_record(held, limit);
        if (time == UINT64_MAX) {
            cull.open[first] = cull.open[done];
            cull.open[done++] = held;
        }
    }
    cull.matched = cull.first + cull.count;
}

static void count_records(struct held *held)
{
    const uint64_t *records = hs_slot__records(held->slot);
    held->last_time = held->clock;
    for (uint32_t word = 0; word < SLOT_WORDS && records[word];) {
        const struct hs_slot_record record = hs_slot_record__read(records[word], &held->last_time);
        held->allocations += allocates(&record);
        word += record.words;
    }
}

bool hs_cull__hold(struct hs_slot *slot)
{
    if (!cull.ring)
        cull.ring = hs_memory__map(HELD_LIMIT * sizeof *cull.ring);
    if (!cull.unseen)
        cull.unseen = hs_memory__map(sizeof *cull.unseen << UNSEEN_BITS);
    if (!cull.ring || !cull.unseen) {
        forget_until(hs_clock__now());
        return false;
    }
    struct held *held = held_at(cull.first + cull.count++);
    __builtin_memset(held, 0, __builtin_offsetof(struct held, continued));
    held->slot = slot;
    held->clock = hs_slot__header(slot)->base_time;
    count_records(held);
    cull.allocations += held->allocations;
    atomic_store_explicit(&slot->next, IS_HELD, memory_order_relaxed);
    return true;
}

// ---- what is left --------------------------------------------------------------------------------------------------

struct squeezed {
    uint64_t *to;
    uint64_t clock; // recorded time of the last record written
};

static void put_record(struct squeezed *out, const uint64_t *words, uint32_t count, uint64_t time)
{
    uint64_t delta = time > out->clock ? time - out->clock : 0;
    if (delta >= HS_RECORD_DELTA_LIMIT) {
        *out->to++ = HS_RECORD_TIME | time << HS_RECORD_ADDRESS_POS;
        delta = 0;
    }
    out->clock = time > out->clock ? time : out->clock;
    out->to[0] = (words[0] & ((1ull << HS_RECORD_DELTA_POS) - 1)) | delta << HS_RECORD_DELTA_POS;
    for (uint32_t i = 1; i < count; i++)
        out->to[i] = words[i];
    out->to += count;
}

static void squeeze(const struct held *held, uint32_t holder, uint64_t *records)
{
    const uint64_t *from = hs_slot__records(held->slot);
    uint64_t clock = hs_slot__header(held->slot)->base_time;
    struct squeezed out = {records, clock};
    for (uint32_t word = 0; word < SLOT_WORDS && from[word];) {
        struct hs_slot_record record = hs_slot_record__read(from[word], &clock);
        bool gone = is_struck(held, word);
        if (allocates(&record) && !gone)
            hs_live_blocks__forget(record.address, holder, word);
        if (record.kind != HS_RECORD_TIME && !gone)
            put_record(&out, from + word, record.words, record.time);
        word += record.words;
    }
    while (out.to < records + SLOT_WORDS)
        *out.to++ = 0;
}

struct hs_slot *hs_cull__release(bool all, uint64_t *records)
{
    if (cull.count == 0)
        return NULL;
    struct held *oldest = held_at(cull.first);
    bool crowded = cull.count == HELD_LIMIT || cull.allocations > hs_config.cull_pending;
    if (!all && !crowded && hs_clock__now() - oldest->last_time < threshold())
        return NULL;
    if (cull.matched == cull.first)
        match_all();
    squeeze(oldest, cull.first, records);
    forget_until(oldest->last_time);
    cull.allocations -= oldest->allocations;
    cull.first++;
    cull.count--;
    return oldest->slot;
}

void hs_cull__report(void (*visit)(uint32_t stack, uint64_t count, uint64_t size, uint64_t usable, uint64_t lifetime))
{
    for (uint32_t i = 0; i < cull.stacks_capacity; i++) {
        struct statistics *entry = &cull.stacks[i];
        if (entry->count)
            visit(entry->stack, entry->count, entry->size, entry->usable, entry->lifetime);
        *entry = (struct statistics){0};
    }
    cull.stacks_used = 0;
}

void hs_cull__reset(void)
{
    cull.first = cull.count = cull.matched = cull.allocations = 0;
    cull.forgotten = 0;
    if (cull.stacks)
        hs_memory__unmap(cull.stacks, cull.stacks_capacity * sizeof *cull.stacks);
    cull.stacks = NULL;
    cull.stacks_capacity = cull.stacks_used = 0;
    hs_live_blocks__reset();
}
