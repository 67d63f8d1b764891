// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/aggregate/aggregate.h"

#include "arch/far.h"
#include "arch/system.h"
#include "format/aggregate.h"
#include "format/meta.h"
#include "runtime/aggregate/blocks.h"
#include "runtime/aggregate/nodes.h"
#include "runtime/aggregate/stack_aggregates.h"
#include "runtime/clock.h"
#include "runtime/journal.h"
#include "runtime/memory.h"
#include "runtime/modules.h"
#include "runtime/output.h"
#include "runtime/sealer.h"
#include "runtime/shared_word.h"
#include "runtime/slot_record.h"
#include "runtime/stacks.h"
#include "runtime/stream/stream.h"
#include "runtime/threads.h"

enum { SLOT_WORDS = HS_SLOT_RECORDS_SIZE / 8, PART_SIZE = 32 << 10, LAST_CALLS = 256 };

#define SECOND_NS 1000000000ull

// How far a slot was read.
struct reading {
    uint64_t sequence, clock;
    uint32_t words;
};

// The last allocation of a stream: if the stream's next call frees it, it was temporary. Several streams share an
// entry.
struct last_call {
    uintptr_t address;
    size_t size;
    uint32_t stream, stack;
};

static struct {
    uint64_t ended, frees, reallocations; // of the heap
    uint64_t events;                      // since the last tick
    uint64_t emitted_until, next_tick_ns; // recorded time; monotonic
    uint8_t *nodes_memory;                // PART_SIZE, and as much again for `sums`
    struct hs_meta_writer nodes;
    bool nodes_full;
    bool is_explained; // the modules of all stacks with names are in the trace
    bool owes_whole;   // the last tick is not marked as whole, so an empty one has to follow if nothing changes
    bool wrote;        // a part of the domain that is being written
    struct hs_aggregate_writer sums;
    struct hs_aggregate_head head;
    uint64_t tick;       // recorded time of the one in progress
    uint64_t not_before; // what happened before the record that is read, in its stream
    uint64_t all_read_until, next_sweep_ns;
    bool in_order; // as long as there was one stream alone
    struct last_call last_calls[LAST_CALLS];
} aggregate;

static struct reading readings[HS_SLOTS_LIMIT] HS_FAR;

// ---- events ---------------------------------------------------------------------------------------------------------

static unsigned domain_of(const struct hs_aggregate_block *block)
{
    return block->stack & HS_BLOCK_OF_POOL ? HS_AGGREGATE_POOLS : HS_AGGREGATE_HEAP;
}

static void add(enum hs_sum sum, const struct hs_aggregate_block *block)
{
    unsigned domain = domain_of(block);
    uint32_t slack = domain == HS_AGGREGATE_HEAP ? block->other : 0;
    hs_stack_aggregates__add(domain, block->stack & HS_BLOCK_STACK_MASK, sum, block->size, slack);
}

static void end(const struct hs_aggregate_block *block)
{
    aggregate.ended += domain_of(block) == HS_AGGREGATE_HEAP;
    add(HS_SUM_FREED_COUNT, block);
}

// One stream's events come in order, whatever its clock says.
static bool is_later(const struct hs_aggregate_block *known, const struct hs_aggregate_block *block)
{
    return !aggregate.in_order && known->time > block->time;
}

static void begin_block(const struct hs_aggregate_block *block)
{
    struct hs_aggregate_block *known = hs_blocks__find(block);
    add(HS_SUM_ALLOCATED_COUNT, block);
    if (!known) {
        hs_shared_word__add(&hs_output__live()->dropped[HS_DROP_BLOCK_TABLE], 1);
        end(block);
    } else if (known->address && is_later(known, block)) {
        end(block);
    } else {
        if (known->address && !hs_aggregate_block__is_over(known))
            end(known);
        hs_blocks__fill(known, block);
    }
}

static void end_block(struct hs_aggregate_block *block)
{
    aggregate.frees += domain_of(block) == HS_AGGREGATE_HEAP;
    block->stack |= HS_BLOCK_OVER;
    struct hs_aggregate_block *known = hs_blocks__find(block);
    if (!known || (known->address && is_later(known, block)))
        return;
    if (known->address && !hs_aggregate_block__is_over(known))
        end(known);
    if (!aggregate.in_order)
        hs_blocks__fill(known, block);
    else if (known->address)
        hs_blocks__take_out(known);
}

static struct last_call *last_call_of(uint32_t stream)
{
    struct last_call *last = &aggregate.last_calls[stream % LAST_CALLS];
    if (last->stream != stream)
        *last = (struct last_call){.stream = stream};
    return last;
}

// Adds a short or wide allocation record.
struct aggregate_allocation {
    uint64_t address, time, size, usable;
    uint32_t stack;
};

static void allocated(uint32_t stream, const struct aggregate_allocation *allocation)
{
    uint64_t slack = allocation->usable - allocation->size;
    struct hs_aggregate_block block = {.time = allocation->time,
                                       .address = (uintptr_t)allocation->address,
                                       .size = (size_t)allocation->size,
                                       .stack = allocation->stack,
                                       .other = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX};
    struct last_call *last = last_call_of(stream);
    begin_block(&block);
    last->address = block.address;
    last->size = block.size;
    last->stack = block.stack;
}

static void freed(uint32_t stream, uint64_t address, uint64_t time)
{
    struct hs_aggregate_block block = {.time = time, .address = (uintptr_t)address};
    struct last_call *last = last_call_of(stream);
    end_block(&block);
    if (last->address == block.address)
        hs_stack_aggregates__add(HS_AGGREGATE_HEAP, last->stack, HS_SUM_TEMPORARY_COUNT, last->size, 0);
    last->address = 0;
}

static void reallocated(uint64_t old_address, uint64_t began)
{
    // A counter may run backwards between cores: a stream's events are in order all the same.
    uint64_t time = began > aggregate.not_before ? began : aggregate.not_before;
    struct hs_aggregate_block old = {.time = time, .address = (uintptr_t)old_address};
    end_block(&old);
    aggregate.reallocations++;
}

// A pool's number is not kept: two handles that look the same here would have to hold the same address.
static void pooled(const uint64_t *at, uint64_t time, bool begins)
{
    struct hs_aggregate_block block = {.time = time,
                                       .address = (uintptr_t)at[2],
                                       .size = begins ? (size_t)at[3] : 0,
                                       .stack = (begins ? (uint32_t)at[4] : 0) | HS_BLOCK_OF_POOL,
                                       .other = (uint32_t)(at[1] * 0x9e3779b97f4a7c15ull >> 32)};
    if (begins)
        begin_block(&block);
    else
        end_block(&block);
}

static void add_wide(uint32_t stream, const uint64_t *at, uint64_t time)
{
    const struct aggregate_allocation allocation = {at[1], time, at[2], at[3], (uint32_t)at[4]};
    uint32_t kind = at[0] >> HS_RECORD_ADDRESS_POS & 0xff;
    if (kind == HS_WIDE_REALLOC)
        reallocated(at[5], time - at[6]);
    if (kind == HS_WIDE_ALLOC || kind == HS_WIDE_REALLOC)
        allocated(stream, &allocation);
    else if (kind == HS_WIDE_FREE)
        freed(stream, at[1], time);
    else if (kind == HS_WIDE_POOL_ALLOC || kind == HS_WIDE_POOL_FREE)
        pooled(at, time, kind == HS_WIDE_POOL_ALLOC);
}

static void add_short(uint32_t stream, const uint64_t *at, const struct hs_slot_record *record)
{
    if (record->kind == HS_RECORD_FREE || record->kind == HS_RECORD_FREE_STACK) {
        freed(stream, record->address, record->time);
        return;
    }
    const struct aggregate_allocation allocation = {record->address, record->time, hs_slot_record__size(at),
                                                    hs_slot_record__usable(at, record), (uint32_t)(at[1] >> 32)};
    if (record->kind == HS_RECORD_REALLOC)
        reallocated(at[2] & ((1ull << 48) - 1), record->time - (at[2] >> 48));
    allocated(stream, &allocation);
}

// ---- slots ----------------------------------------------------------------------------------------------------------

// A record is there once its first word is.
static void add_slot(const struct hs_slot *slot)
{
    const struct hs_slot_header *header = hs_slot__header(slot);
    const uint64_t *records = hs_slot__records(slot);
    struct reading *reading = *HS_FAR_AT(readings) + hs_slots__index(slot);
    if (reading->sequence != header->sequence)
        *reading = (struct reading){.sequence = header->sequence, .clock = header->base_time};
    aggregate.in_order = hs_threads__streams() <= 1;
    uint64_t first;
    while (reading->words < SLOT_WORDS && (first = hs_shared_word__load(&records[reading->words])) != 0) {
        aggregate.not_before = reading->clock;
        struct hs_slot_record record = hs_slot_record__read(first, &reading->clock);
        const uint64_t *at = records + reading->words;
        reading->words += record.words;
        if (record.kind == HS_RECORD_TIME)
            continue;
        aggregate.events++;
        if (record.kind == HS_RECORD_WIDE)
            add_wide(header->stream, at, record.time);
        else
            add_short(header->stream, at, &record);
    }
}

// The slot in use with the smallest number above `sequence`, or NULL.
static const struct hs_slot *next_slot_in_use(uint64_t sequence)
{
    const struct hs_slot *next = NULL;
    for (uint32_t i = 0; i < hs_slots__total(); i++) {
        const struct hs_slot *slot = hs_slots__at(i);
        if (slot->memory && __atomic_load_n(&hs_slot__header(slot)->use, __ATOMIC_ACQUIRE) == HS_SLOT_EVENTS &&
            hs_slot__header(slot)->sequence > sequence &&
            (!next || hs_slot__header(slot)->sequence < hs_slot__header(next)->sequence))
            next = slot;
    }
    return next;
}

// In the order in which they were taken: a stream may have filled one and begun another.
static void add_slots_in_use(void)
{
    for (const struct hs_slot *slot = NULL; (slot = next_slot_in_use(slot ? hs_slot__header(slot)->sequence : 0));)
        add_slot(slot);
}

// A thread that was recording an event from before the previous read of the slots has finished by now.
static void read_all(void)
{
    uint64_t now = hs_clock__now();
    add_slots_in_use();
    hs_blocks__sweep(aggregate.all_read_until);
    aggregate.all_read_until = now;
    aggregate.next_sweep_ns = hs_clock__monotonic_ns() + SECOND_NS;
}

void hs_aggregate__take_slot(const struct hs_slot *slot)
{
    add_slot(slot);
    if (hs_blocks__are_crowded() && hs_clock__monotonic_ns() > aggregate.next_sweep_ns)
        read_all();
}

// ---- telling --------------------------------------------------------------------------------------------------------

static bool write_node(uint32_t name, uint32_t parent, uintptr_t pc)
{
    bool written = hs_meta_node(&aggregate.nodes, name, parent, pc);
    aggregate.nodes_full |= !written;
    return written;
}

static uint32_t name_stack(uint32_t stack)
{
    return aggregate.nodes_full ? 0 : hs_nodes__name(stack, write_node);
}

// Writes the needed names as one chunk, and before it the modules that explain them, as far as they are known and in no
// slot that was submitted a moment ago. False: try again later; another thread is adding a stack.
static bool choose_stacks(bool last)
{
    uint32_t tid = (uint32_t)hs_system_gettid();
    aggregate.is_explained = false;
    if (!(last ? hs_stacks__lock(tid) : hs_stacks__try_lock(tid)))
        return false;
    hs_meta_begin(&aggregate.nodes, aggregate.nodes_memory, PART_SIZE);
    aggregate.nodes_full = false;
    struct hs_slot *code = hs_journal__take_code();
    aggregate.is_explained = hs_modules__is_settled() && !hs_slots__submitted();
    uint64_t sequence = hs_slots__next_sequence();
    for (unsigned domain = 0; domain < HS_AGGREGATE_DOMAINS; domain++)
        hs_stack_aggregates__choose(domain, name_stack);
    hs_stacks__unlock();
    if (code)
        hs_sealer__append_meta_slot(&hs_sealers[0], code);
    uint32_t length = (uint32_t)(aggregate.nodes.at - aggregate.nodes_memory);
    if (length)
        hs_sealer__append_meta(&hs_sealers[0], aggregate.nodes_memory, length, sequence);
    return true;
}

static uint8_t *sums_memory(void)
{
    return aggregate.nodes_memory + PART_SIZE;
}

static void begin_part(void)
{
    hs_aggregate_begin(&aggregate.sums, sums_memory(), PART_SIZE, &aggregate.head);
}

static void write_part(uint32_t whole)
{
    uint32_t length = (uint32_t)(aggregate.sums.at - sums_memory());
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_SUMS,
        .stored_length = length,
        .plain_length = length,
        .stream = whole,
        .count = aggregate.events < UINT32_MAX ? (uint32_t)aggregate.events : UINT32_MAX,
        .first_time = aggregate.emitted_until,
        .last_time = aggregate.tick,
    };
    struct hs_live *live = hs_output__live();
    bool written = hs_output__append(&chunk, sums_memory());
    hs_shared_word__add(written ? &live->events : &live->dropped[HS_DROP_STOPPED], chunk.count);
    aggregate.events = 0;
    aggregate.wrote = true;
}

static void put_record(const struct hs_aggregate_record *record)
{
    if (hs_aggregate_put(&aggregate.sums, record))
        return;
    write_part(0);
    begin_part();
    hs_aggregate_put(&aggregate.sums, record);
}

static void emit_domain(unsigned domain)
{
    bool heap = domain == HS_AGGREGATE_HEAP;
    uint64_t unknown = aggregate.frees - aggregate.ended;
    aggregate.head = (struct hs_aggregate_head){.domain = (uint8_t)domain,
                                                .unknown_frees = heap && (int64_t)unknown > 0 ? unknown : 0,
                                                .reallocations = heap ? aggregate.reallocations : 0,
                                                .folded = hs_stack_aggregates__folded(domain)};
    aggregate.wrote = false;
    begin_part();
    const uint8_t *empty = aggregate.sums.at;
    hs_stack_aggregates__emit(domain, put_record);
    bool changed = aggregate.wrote || aggregate.sums.at > empty || (heap && aggregate.events);
    bool whole = aggregate.is_explained && hs_stream__is_in_order();
    if (changed || (heap && whole && aggregate.owes_whole))
        write_part(whole ? HS_SUMS_WHOLE : 0);
    if (heap)
        aggregate.owes_whole = !whole && (changed || aggregate.owes_whole);
}

// Told together: names first, then sums.
static void emit_all(bool last)
{
    while (choose_stacks(last) && aggregate.nodes_full && (last || hs_stream__has_room(2 * PART_SIZE)))
        continue;
    for (unsigned domain = 0; domain < HS_AGGREGATE_DOMAINS; domain++)
        emit_domain(domain);
    aggregate.emitted_until = aggregate.tick;
}

bool hs_aggregate__prepare(void)
{
    if (!hs_aggregate__is_on())
        return true;
    aggregate.next_tick_ns = hs_clock__monotonic_ns() + hs_config.aggregate_interval * SECOND_NS;
    if (!aggregate.nodes_memory)
        aggregate.nodes_memory = hs_memory__map(2 * PART_SIZE);
    return aggregate.nodes_memory != NULL;
}

int64_t hs_aggregate__due_in_ns(void)
{
    uint64_t now = hs_clock__monotonic_ns();
    return now < aggregate.next_tick_ns ? (int64_t)(aggregate.next_tick_ns - now) : 0;
}

// A stream that has no room now gets the sums later: nothing is lost, they only become larger.
void hs_aggregate__emit(bool last)
{
    bool room = last || hs_stream__has_room(4 * PART_SIZE);
    uint64_t wait_ns = room ? hs_config.aggregate_interval * SECOND_NS : SECOND_NS;
    aggregate.next_tick_ns = hs_clock__monotonic_ns() + wait_ns;
    aggregate.tick = hs_clock__now();
    read_all();
    if (room)
        emit_all(last);
}

void hs_aggregate__reset(void)
{
    if (aggregate.nodes_memory)
        hs_memory__unmap(aggregate.nodes_memory, 2 * PART_SIZE);
    __builtin_memset(&aggregate, 0, sizeof aggregate);
    __builtin_memset(HS_FAR_AT(readings), 0, sizeof readings);
    hs_blocks__reset();
    hs_stack_aggregates__reset();
    hs_nodes__reset();
}
