// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/cull.h"

#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/live_blocks.h"
#include "runtime/memory.h"
#include "runtime/slot_record.h"

// Allocators give such a block memory of its own, which goes back when it is freed: it stays for what is resident.
enum { LARGE_BLOCK = 128 * 1024 };

enum { HELD_LIMIT = 256, SLOT_WORDS = HS_SLOT_RECORDS_SIZE / 8, STACKS_FIRST = 4096 };

// What is struck out of a record, two bits for each word of a slot (set at the record's first word).
enum { STRUCK_NEW = 1, STRUCK_OLD = 2, STRUCK_BITS = 2 };

struct held {
    struct hs_slot *slot;
    uint64_t last_time;
    uint8_t struck[SLOT_WORDS / 4 + 1];
};

struct statistics {
    uint32_t stack;
    uint64_t count, size, usable, lifetime;
};

static struct {
    struct held *ring; // HELD_LIMIT entries, oldest at `first`
    uint32_t first, count;
    struct statistics *stacks; // open addressing by stack
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

static void strike(struct held *held, uint32_t word, unsigned what)
{
    held->struck[word / 4] |= (uint8_t)(what << word % 4 * STRUCK_BITS);
}

static unsigned struck(const struct held *held, uint32_t word)
{
    return held->struck[word / 4] >> word % 4 * STRUCK_BITS & 3;
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
    struct statistics *table = hs_memory__map(capacity * sizeof *table);
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

static bool count_culled(uint32_t stack, uint64_t size, uint64_t usable, uint64_t lifetime)
{
    if (cull.stacks_used * 2 >= cull.stacks_capacity && !grow_statistics())
        return false;
    struct statistics *entry = find_statistics(cull.stacks, cull.stacks_capacity, stack);
    cull.stacks_used += entry->count == 0;
    entry->stack = stack;
    entry->count++;
    entry->size += size;
    entry->usable += usable;
    entry->lifetime += lifetime;
    return true;
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

// Whether the block at `address`, freed at `time`, may go; its allocation is then struck out.
static bool ends_early(uint64_t address, uint64_t time, uint64_t limit, uint32_t stream)
{
    struct hs_live_block block;
    if (!hs_live_blocks__remove(address, time, &block) || time - block.time >= limit)
        return false;
    struct held *held = held_at(block.holder);
    if (hs_slot__header(held->slot)->stream != stream)
        return false;
    const uint64_t *at = hs_slot__records(held->slot) + block.word;
    if (hs_slot_record__size(at) >= LARGE_BLOCK)
        return false;
    struct hs_slot_record record = {.kind = at[0] & HS_RECORD_KIND_MASK, .words = hs_record_words(at[0])};
    record.has_usable = record.kind > HS_RECORD_FREE_STACK;
    if (!count_culled((uint32_t)(at[1] >> 32), hs_slot_record__size(at), hs_slot_record__usable(at, &record),
                      time - block.time))
        return false;
    strike(held, block.word, STRUCK_NEW);
    return true;
}

// A wide record is left as it is; the blocks that it ends, or whose address it gives out again, may not be taken for
// the ones that a later free ends.
static void forget_blocks_of_wide(const uint64_t *at, uint64_t time)
{
    struct hs_live_block block;
    uint64_t kind = at[0] >> HS_RECORD_ADDRESS_POS & 0xff;
    if (kind == HS_WIDE_REALLOC)
        hs_live_blocks__remove(at[5], time, &block);
    if (kind == HS_WIDE_ALLOC || kind == HS_WIDE_REALLOC || kind == HS_WIDE_FREE)
        hs_live_blocks__remove(at[1], time, &block);
}

static void scan(struct held *held, uint32_t holder)
{
    const uint64_t *records = hs_slot__records(held->slot);
    uint64_t clock = hs_slot__header(held->slot)->base_time, limit = threshold();
    uint32_t stream = hs_slot__header(held->slot)->stream;
    for (uint32_t word = 0; word < SLOT_WORDS && records[word];) {
        struct hs_slot_record record = hs_slot_record__read(records[word], &clock);
        const uint64_t *at = records + word;
        if (record.kind == HS_RECORD_FREE || record.kind == HS_RECORD_FREE_STACK) {
            if (ends_early(record.address, record.time, limit, stream))
                strike(held, word, STRUCK_OLD);
        } else if (record.kind == HS_RECORD_REALLOC) {
            uint64_t old = at[2] & ((1ull << 48) - 1);
            if (ends_early(old, record.time - (at[2] >> 48), limit, stream))
                strike(held, word, STRUCK_OLD);
        }
        if (record.kind == HS_RECORD_WIDE)
            forget_blocks_of_wide(at, record.time);
        if (allocates(&record))
            hs_live_blocks__insert(record.address, record.time, holder, word);
        word += record.words;
    }
    held->last_time = clock;
}

bool hs_cull__hold(struct hs_slot *slot)
{
    if (!cull.ring)
        cull.ring = hs_memory__map(HELD_LIMIT * sizeof *cull.ring);
    if (!cull.ring)
        return false;
    uint32_t holder = cull.first + cull.count;
    struct held *held = held_at(holder);
    __builtin_memset(held, 0, sizeof *held);
    held->slot = slot;
    cull.count++;
    scan(held, holder % HELD_LIMIT);
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

// A realloc of which one half is struck out becomes the other half.
static void put_half(struct squeezed *out, const uint64_t *at, const struct hs_slot_record *record, unsigned gone)
{
    uint64_t middle = ((1ull << HS_RECORD_ADDRESS_BITS) - 1) << HS_RECORD_ADDRESS_POS;
    if (gone == STRUCK_OLD) {
        uint64_t words[3] = {(at[0] & middle) | HS_RECORD_MALLOC | (record->has_usable ? HS_RECORD_USABLE : 0), at[1],
                             record->has_usable ? at[3] : 0};
        put_record(out, words, record->has_usable ? 3 : 2, record->time);
        return;
    }
    uint64_t old = at[2] & ((1ull << 48) - 1);
    uint64_t word = HS_RECORD_FREE | old >> HS_ARCH_ADDRESS_SHIFT << HS_RECORD_ADDRESS_POS;
    put_record(out, &word, 1, record->time - (at[2] >> 48));
}

static void squeeze(const struct held *held, uint32_t holder, uint64_t *records)
{
    const uint64_t *from = hs_slot__records(held->slot);
    uint64_t clock = hs_slot__header(held->slot)->base_time;
    struct squeezed out = {records, clock};
    for (uint32_t word = 0; word < SLOT_WORDS && from[word];) {
        struct hs_slot_record record = hs_slot_record__read(from[word], &clock);
        unsigned gone = struck(held, word);
        if (allocates(&record) && !(gone & STRUCK_NEW))
            hs_live_blocks__forget(record.address, holder, word);
        bool whole = record.kind == HS_RECORD_REALLOC ? gone == (STRUCK_NEW | STRUCK_OLD) : gone != 0;
        if (record.kind == HS_RECORD_TIME || whole)
            ;
        else if (gone)
            put_half(&out, from + word, &record, gone);
        else
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
    bool crowded =
        cull.count == HELD_LIMIT || hs_live_blocks__count() > hs_config.cull_pending || hs_live_blocks__is_crowded();
    if (!all && !crowded && hs_clock__now() - oldest->last_time < threshold())
        return NULL;
    squeeze(oldest, cull.first % HELD_LIMIT, records);
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
    cull.first = cull.count = 0;
    if (cull.stacks)
        hs_memory__unmap(cull.stacks, cull.stacks_capacity * sizeof *cull.stacks);
    cull.stacks = NULL;
    cull.stacks_capacity = cull.stacks_used = 0;
    hs_live_blocks__reset();
}
