// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/slots.h"

#include "arch/far.h"
#include "arch/invariant.h"
#include "format/chunk.h"
#include "runtime/lock.h"

#include <stdatomic.h>
#include <stddef.h>

enum { INDEX_BITS = 14 };

#define ONE_TAG    ((uintptr_t)1 << INDEX_BITS)
#define INDEX_MASK (ONE_TAG - 1)

static struct {
    _Atomic uint32_t total; // all slots below have memory: a process that outlives a killed program reads them
    _Atomic uintptr_t free_head;
    _Atomic uint32_t full_head;
    _Atomic uint32_t free_count; // approximate: a hint for growing
    _Atomic uint32_t submitted;
    _Atomic uintptr_t sequence;
    _Atomic uint32_t returned; // counts returned slots; threads without a slot sleep on it
    _Atomic uint32_t waiting;  // threads asleep on `returned`
} slots;
static struct hs_slot table[HS_SLOTS_LIMIT] HS_FAR;

static inline struct hs_slot *slot_at(uint32_t index)
{
    HS_INVARIANT(index < HS_SLOTS_LIMIT);
    return *HS_FAR_AT(table) + index;
}

uint32_t hs_slots__index(const struct hs_slot *slot)
{
    return (uint32_t)(slot - *HS_FAR_AT(table));
}

// Only invariants ask.
__attribute__((unused)) static bool is_in_use(const struct hs_slot *slot)
{
    return __atomic_load_n(&hs_slot__header(slot)->use, __ATOMIC_RELAXED) != HS_SLOT_FREE;
}

static void push_free(struct hs_slot *slot)
{
    HS_INVARIANT(!is_in_use(slot) && hs_slots__index(slot) < atomic_load(&slots.total));
    uintptr_t head = atomic_load_explicit(&slots.free_head, memory_order_relaxed);
    uintptr_t next;
    do {
        atomic_store_explicit(&slot->next, head & INDEX_MASK, memory_order_relaxed);
        next = ((head & ~INDEX_MASK) + ONE_TAG) | (hs_slots__index(slot) + 1);
    } while (!atomic_compare_exchange_weak_explicit(&slots.free_head, &head, next, memory_order_release,
                                                    memory_order_relaxed));
    atomic_fetch_add_explicit(&slots.free_count, 1, memory_order_relaxed);
}

static struct hs_slot *pop_free(void)
{
    uintptr_t head = atomic_load_explicit(&slots.free_head, memory_order_acquire);
    struct hs_slot *slot;
    uintptr_t next;
    do {
        if ((head & INDEX_MASK) == 0)
            return NULL;
        slot = slot_at((head & INDEX_MASK) - 1);
        next = (head & ~INDEX_MASK) | atomic_load_explicit(&slot->next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&slots.free_head, &head, next, memory_order_acquire,
                                                    memory_order_acquire));
    atomic_fetch_sub_explicit(&slots.free_count, 1, memory_order_relaxed);
    return slot;
}

static void wake_waiting(uint32_t count)
{
    atomic_fetch_add_explicit(&slots.returned, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&slots.waiting, memory_order_seq_cst))
        hs_futex__wake(&slots.returned, (int)count);
}

static void fill_chunk_header(uint8_t *memory)
{
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_SLOT,
        .flags = HS_CHUNK_LIVE,
        .stored_length = HS_SLOT_SIZE - HS_CHUNK_HEADER_SIZE,
        .plain_length = HS_SLOT_SIZE - HS_CHUNK_HEADER_SIZE,
    };
    hs_chunk_seal(&chunk, NULL, memory);
}

uint64_t hs_slots__next_sequence(void)
{
    return atomic_fetch_add_explicit(&slots.sequence, 1, memory_order_relaxed) + 1;
}

bool hs_slots__add(uint8_t *memory, bool in_file, uint32_t count)
{
    uint32_t total = atomic_load_explicit(&slots.total, memory_order_relaxed);
    if (total + count > HS_SLOTS_LIMIT)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct hs_slot *slot = slot_at(total + i);
        slot->memory = memory + (size_t)i * HS_SLOT_SIZE;
        slot->in_file = in_file;
        fill_chunk_header(slot->memory);
    }
    atomic_store_explicit(&slots.total, total + count, memory_order_release);
    for (uint32_t i = count; i-- > 0;)
        push_free(slot_at(total + i));
    wake_waiting(count);
    return true;
}

struct hs_slot *hs_slots__take(uint32_t use, uint32_t stream, uint64_t base_time)
{
    struct hs_slot *slot = pop_free();
    if (!slot)
        return NULL;
    HS_INVARIANT(!is_in_use(slot) && use != HS_SLOT_FREE);
    slot->filled = HS_SLOT_EVENTS_SIZE;
    struct hs_slot_header *header = hs_slot__header(slot);
    header->stream = stream;
    header->sequence = hs_slots__next_sequence();
    header->base_time = base_time;
    __atomic_store_n(&header->use, use, __ATOMIC_RELEASE);
    return slot;
}

void hs_slots__submit(struct hs_slot *slot)
{
    HS_INVARIANT(is_in_use(slot));
    atomic_fetch_add_explicit(&slots.submitted, 1, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&slots.full_head, memory_order_relaxed);
    do
        atomic_store_explicit(&slot->next, head, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&slots.full_head, &head, hs_slots__index(slot) + 1,
                                                  memory_order_release, memory_order_relaxed));
}

struct hs_slot *hs_slots__next(const struct hs_slot *slot)
{
    uint32_t next = atomic_load_explicit(&slot->next, memory_order_relaxed);
    return next ? slot_at(next - 1) : NULL;
}

struct hs_slot *hs_slots__collect(void)
{
    uint32_t head = atomic_exchange_explicit(&slots.full_head, 0, memory_order_acquire);
    uint32_t ordered = 0, count = 0;
    while (head) {
        struct hs_slot *slot = slot_at(head - 1);
        uint32_t next = atomic_load_explicit(&slot->next, memory_order_relaxed);
        atomic_store_explicit(&slot->next, ordered, memory_order_relaxed);
        ordered = head;
        head = next;
        count++;
    }
    atomic_fetch_sub_explicit(&slots.submitted, count, memory_order_relaxed);
    return ordered ? slot_at(ordered - 1) : NULL;
}

void hs_slots__give_back(struct hs_slot *slot)
{
    struct hs_slot_header *header = hs_slot__header(slot);
    HS_INVARIANT(is_in_use(slot) && slot->filled <= HS_SLOT_SIZE - HS_SLOT_RECORDS_OFFSET);
    __atomic_store_n(&header->use, HS_SLOT_FREE, __ATOMIC_RELEASE);
    atomic_thread_fence(memory_order_release); // who copies it and finds zeros also finds that it is free
    __builtin_memset(hs_slot__records(slot), 0, slot->filled);
    push_free(slot);
    wake_waiting(1);
}

void hs_slots__wait(int64_t timeout_ns)
{
    uint32_t seen = atomic_load_explicit(&slots.returned, memory_order_seq_cst);
    atomic_fetch_add_explicit(&slots.waiting, 1, memory_order_seq_cst);
    if ((atomic_load_explicit(&slots.free_head, memory_order_seq_cst) & INDEX_MASK) == 0)
        hs_futex__wait(&slots.returned, seen, timeout_ns);
    atomic_fetch_sub_explicit(&slots.waiting, 1, memory_order_relaxed);
}

const struct hs_slot *hs_slots__at(uint32_t index)
{
    return slot_at(index);
}

uint32_t hs_slots__total(void)
{
    return atomic_load_explicit(&slots.total, memory_order_acquire);
}

uint32_t hs_slots__free(void)
{
    return atomic_load_explicit(&slots.free_count, memory_order_relaxed);
}

uint32_t hs_slots__submitted(void)
{
    return atomic_load_explicit(&slots.submitted, memory_order_relaxed);
}

bool hs_slots__waited_for(void)
{
    return atomic_load_explicit(&slots.waiting, memory_order_relaxed) != 0;
}

bool hs_slots__withdraw(void)
{
    uint32_t left = hs_slots__total();
    if (hs_slots__free() != left)
        return false;
    while (left && pop_free())
        left--;
    if (!left)
        atomic_store_explicit(&slots.total, 0, memory_order_release);
    return !left;
}

void hs_slots__reset(void)
{
    uint32_t total = hs_slots__total();
    for (uint32_t i = 0; i < total; i++)
        *slot_at(i) = (struct hs_slot){0};
    atomic_store(&slots.total, 0);
    atomic_store(&slots.free_head, 0);
    atomic_store(&slots.full_head, 0);
    atomic_store(&slots.free_count, 0);
    atomic_store(&slots.submitted, 0);
    atomic_store(&slots.sequence, 0);
    atomic_store(&slots.waiting, 0);
}
