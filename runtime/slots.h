// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Slots: the buffers that threads record into (format/trace_format.h). A slot is free, or owned by one thread (or by
// the journal), or submitted to the writer. Only its owner writes its contents.
//
// Shared words:
//   free list   head = tag << 14 | index + 1. Each push changes the tag, so that a pop cannot succeed with a stale
//   head. (On 32-bit machines, unless it sleeps for a quarter of a million pushes.)
//   full list   head = index + 1; pushed by threads, taken as a whole by the writer
// A slot's contents pass from owner to owner by the release/acquire pair of the list.
#ifndef HEAPSONDE_RUNTIME_SLOTS_H
#define HEAPSONDE_RUNTIME_SLOTS_H

#include "format/trace_format.h"

#include <stdbool.h>
#include <stdint.h>

enum { HS_SLOTS_LIMIT = 8192 };

// The part of a slot's records that is filled, unless its owner says otherwise. Pages that are never touched take no
// memory.
#define HS_SLOT_EVENTS_SIZE (HS_SLOT_SIZE / 2 - HS_SLOT_RECORDS_OFFSET)

struct hs_slot {
    uint8_t *memory; // HS_SLOT_SIZE bytes that begin with the chunk header
    _Atomic uint32_t next;
    bool in_file;    // else its contents are copied there in the end
    uint16_t filled; // limit for the bytes of records; this part is zeroed. The owner may raise it
};

// Adds `count` slots at `memory`, HS_SLOT_SIZE apart, and fills their chunk headers. Returns false when the table of
// slots is full. One thread at a time.
bool hs_slots__add(uint8_t *memory, bool in_file, uint32_t count);

// Takes a free slot for `stream` and prepares it: `use` is HS_SLOT_EVENTS or HS_SLOT_META, records are zero. NULL when
// none is free. Lock-free.
struct hs_slot *hs_slots__take(uint32_t use, uint32_t stream, uint64_t base_time);

// A sequence number for a chunk that was never a slot.
uint64_t hs_slots__next_sequence(void);

// Submits a filled slot to the writer. Lock-free; the caller wakes the writer.
void hs_slots__submit(struct hs_slot *slot);

// All submitted slots in order of submission, linked by hs_slots__next(). For the writer.
struct hs_slot *hs_slots__collect(void);
struct hs_slot *hs_slots__next(const struct hs_slot *slot);

// Empties a slot and puts it on the free list, waking threads that wait for one.
void hs_slots__give_back(struct hs_slot *slot);

// Sleeps at most `timeout_ns`, until a slot may be free.
void hs_slots__wait(int64_t timeout_ns);

// A slot by its number, which is below the total. Its contents may be changing.
const struct hs_slot *hs_slots__at(uint32_t index);
uint32_t hs_slots__index(const struct hs_slot *slot);

uint32_t hs_slots__total(void);
uint32_t hs_slots__free(void);
uint32_t hs_slots__submitted(void);
bool hs_slots__waited_for(void);

// Takes all slots away if each of them is free; a thread that needs one then waits. False: one is in use, and free ones
// must not be used any more. Called by the writer at the end; the caller owns the memory.
bool hs_slots__withdraw(void);

// Drops all slots. Only one thread may exist; the caller owns the memory.
void hs_slots__reset(void);

static inline struct hs_slot_header *hs_slot__header(const struct hs_slot *slot)
{
    return (struct hs_slot_header *)(slot->memory + HS_CHUNK_HEADER_SIZE);
}

static inline uint64_t *hs_slot__records(const struct hs_slot *slot)
{
    return (uint64_t *)(slot->memory + HS_SLOT_RECORDS_OFFSET);
}

#endif
