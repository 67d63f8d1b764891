// SPDX-License-Identifier: MIT OR Apache-2.0
//
// For a recorder's stream: sends copies of the threads' buffers, so that no thread of the program is disturbed.
#include "runtime/stream/slot_copies.h"

#include "arch/system.h"
#include "format/chunk.h"
#include "runtime/config.h"
#include "runtime/cull.h"
#include "runtime/journal.h"
#include "runtime/shared_word.h"
#include "runtime/stacks.h"
#include "runtime/stream/stream.h"
#include "runtime/stream/stream_internal.h"
#include "runtime/threads.h"

typedef uintptr_t word __attribute__((may_alias));

enum { PAYLOAD_WORDS = (HS_SLOT_SIZE - HS_CHUNK_HEADER_SIZE) / sizeof(word) };
enum { FIRST_RECORD = (HS_SLOT_RECORDS_OFFSET - HS_CHUNK_HEADER_SIZE) / sizeof(word) };
// A record may end with zeros, like what was never written.
enum { LONGEST_RECORD = 96 };

static word copy[PAYLOAD_WORDS]; // under the stream's lock

// By slot: its last copy. Written by the sender, `sequence` under the stream's lock.
static struct copied {
    uint32_t sequence; // its low half; 0: none
    uint32_t words;    // of records, if what is new is copied now and then
} copied[HS_SLOTS_LIMIT];
static uint32_t copied_slots;   // how many of them may be filled
static uint32_t copied_process; // whose slots they were: a forked child begins anew

// In the order in which a reader has to read what is being written. Returns the length without the part of the records
// that was never written.
static uint32_t copy_payload(const struct hs_slot *slot)
{
    const word *from = (const word *)(slot->memory + HS_CHUNK_HEADER_SIZE);
    uint32_t end = FIRST_RECORD;
    for (uint32_t i = 0; i < PAYLOAD_WORDS; i++) {
        copy[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
        if (copy[i] && i >= end)
            end = i + 1;
    }
    uint32_t length = (uint32_t)(end * sizeof(word) + LONGEST_RECORD) & ~7u;
    return length < sizeof copy ? length : (uint32_t)sizeof copy;
}

// Whether the copy is of a slot in use that was not emptied meanwhile. One that was taken again has another sequence,
// which is there before it is in use.
static bool is_whole(const struct hs_slot *slot)
{
    const struct hs_slot_header *now = hs_slot__header(slot);
    struct hs_slot_header then;
    __builtin_memcpy(&then, copy, sizeof then);
    return then.use != HS_SLOT_FREE && __atomic_load_n(&now->use, __ATOMIC_ACQUIRE) == then.use &&
           now->sequence == then.sequence;
}

static bool is_copied(uint32_t index, uint32_t sequence)
{
    return copied_process == hs_stream.process && copied[index].sequence == sequence;
}

// Under the stream's lock.
static void note_copy(const struct hs_slot *slot)
{
    const uint32_t index = hs_slots__index(slot), sequence = (uint32_t)hs_slot__header(slot)->sequence;
    if (copied_process != hs_stream.process) {
        __builtin_memset(copied, 0, copied_slots * sizeof *copied);
        copied_process = hs_stream.process;
    }
    if (copied[index].sequence != sequence)
        copied[index] = (struct copied){sequence, 0};
    copied_slots = index < copied_slots ? copied_slots : index + 1;
}

// Under the stream's lock. False: no room now.
static bool put_copy(const struct hs_slot *slot)
{
    uint32_t length = copy_payload(slot);
    if (!is_whole(slot))
        return true;
    if (hs_stream_ring__room(&hs_stream.ring) < hs_chunk_size(length) + hs_chunk_size(HS_LIVE_WORDS * 8))
        return false;
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_SLOT, .flags = HS_CHUNK_LIVE, .stored_length = length, .plain_length = length};
    uint8_t header[HS_CHUNK_HEADER_SIZE];
    hs_chunk_seal(&chunk, NULL, header);
    hs_stream__put_chunk(header, copy, length);
    note_copy(slot);
    return true;
}

void hs_stream__flush_journals(void)
{
    hs_stacks__flush((uint32_t)hs_system_gettid());
    hs_journal__flush_others();
}

bool hs_stream__copy_slot(const struct hs_slot *slot)
{
    if (__atomic_load_n(&hs_slot__header(slot)->use, __ATOMIC_ACQUIRE) == HS_SLOT_FREE)
        return true;
    if (!hs_stream__lock())
        return false;
    bool done = put_copy(slot);
    hs_stream__unlock();
    return done;
}

uint64_t hs_stream__lost(void)
{
    return hs_shared_word__load(&hs_stream.dropped[HS_STREAM_DROPPED_EVENTS]);
}

// Under the lock, so that no copy is made meanwhile. Returns whether there is one.
static bool give_back(struct hs_slot *slot)
{
    const uint32_t sequence = (uint32_t)hs_slot__header(slot)->sequence;
    bool locked = hs_stream__lock();
    hs_slots__give_back(slot);
    bool replace = is_copied(hs_slots__index(slot), sequence);
    if (locked)
        hs_stream__unlock();
    return replace;
}

void hs_stream__withdraw_slot(struct hs_slot *slot)
{
    struct hs_chunk_header empty = {.kind = HS_CHUNK_META, .sequence = hs_slot__header(slot)->sequence};
    uint8_t header[HS_CHUNK_HEADER_SIZE];
    if (!give_back(slot))
        return;
    hs_chunk_seal(&empty, "", header);
    hs_stream__append(header, "", 0, 0);
}

bool hs_stream_source__finish(uint32_t *progress)
{
    while (*progress < hs_slots__total() && hs_stream__copy_slot(hs_slots__at(*progress)))
        ++*progress;
    return *progress == hs_slots__total();
}

// ---- what fills slowly ----------------------------------------------------------------------------------------------

// Copies are due when the contents of a buffer have doubled since its last one, or when that takes long and there is
// anything new. When its contents are many, its thread goes on in another buffer. With it goes what is new in all the
// others: a reader takes what is in the stream up to a time for all there was. Copies take at most 200 bytes per second
// on average, but not even large ones delay the next ones for longer than LONGEST.
//
// Times are in units of 0.27 seconds: 32 bits are enough, and take less code.
enum { TIME_SHIFT = 28, QUIET = 19, LOOKS_APART = 4, LONGEST = 64, BYTES_A_UNIT = 50 };
enum { RECORDS_END = HS_SLOT_RECORDS_SIZE / 8, LOOKED_AHEAD = 16, MANY_WORDS = 64 };

// Used only by the sender.
static struct {
    uint32_t due, last; // times of the next and of the last copies
    uint32_t head;      // of the ring
} show;

// How many words of records there are, if there are at least as many as were copied. Memory that was not written is not
// touched.
static uint32_t count_words(const struct hs_slot *slot, uint32_t before)
{
    uint32_t end = before;
    for (uint32_t i = before; i < RECORDS_END && i < end + LOOKED_AHEAD; i++)
        if (hs_slot__records(slot)[i])
            end = i + 1;
    return end;
}

static uint32_t words_copied(uint32_t index, uint32_t sequence)
{
    return is_copied(index, sequence) ? copied[index].words : 0;
}

// Whether a slot has this use and something that was not copied.
static bool has_new(uint32_t index, uint32_t use, struct copied *now)
{
    const struct hs_slot *slot = hs_slots__at(index);
    const struct hs_slot_header *header = hs_slot__header(slot);
    if (__atomic_load_n(&header->use, __ATOMIC_ACQUIRE) != use)
        return false;
    now->sequence = (uint32_t)header->sequence;
    uint32_t before = words_copied(index, now->sequence);
    now->words = count_words(slot, before);
    return now->words > before;
}

// Whether it has something that was not copied, and `factor` times as much as was.
static bool has_grown(uint32_t index, uint32_t factor)
{
    struct copied now;
    return (has_new(index, HS_SLOT_META, &now) || has_new(index, HS_SLOT_EVENTS, &now)) &&
           now.words >= factor * words_copied(index, now.sequence);
}

static bool any_has_grown(uint32_t factor)
{
    uint32_t total = hs_slots__total(), i = 0;
    while (i < total && !has_grown(i, factor))
        i++;
    return i < total;
}

// Returns the bytes that were added to the stream.
static uint32_t copy_new(uint32_t use)
{
    uint32_t bytes = 0;
    struct copied now;
    for (uint32_t i = 0; i < hs_slots__total(); i++) {
        if (!has_new(i, use, &now))
            continue;
        if (!hs_stream__copy_slot(hs_slots__at(i)))
            break;
        if (now.words >= MANY_WORDS)
            hs_threads__part_from(hs_slots__at(i));
        if (is_copied(i, now.sequence))
            copied[i].words = now.words;
        bytes += HS_SLOT_RECORDS_OFFSET + 8 * now.words + LONGEST_RECORD;
    }
    return bytes;
}

// The events of a program that fills buffers are in the stream by themselves. What explains events comes before them.
void hs_stream_source__show(uint64_t now_ns)
{
    uint32_t head = hs_stream_ring__head(&hs_stream.ring), now = (uint32_t)(now_ns >> TIME_SHIFT);
    if (head != show.head) {
        show.head = head;
        show.due = show.due > now + QUIET ? show.due : now + QUIET;
    }
    if (now < show.due)
        return;
    show.due = now + LOOKS_APART;
    if (hs_cull__is_on() || hs_aggregate__is_on() || !any_has_grown(now < show.last + LONGEST ? 2 : 1))
        return;
    hs_stream__flush_journals();
    uint32_t bytes = copy_new(HS_SLOT_META);
    bytes += copy_new(HS_SLOT_EVENTS);
    uint32_t delay = QUIET + bytes / BYTES_A_UNIT;
    show.head = hs_stream_ring__head(&hs_stream.ring);
    show.due = now + (delay < LONGEST ? delay : LONGEST);
    show.last = now;
}

void hs_stream_source__sender_begins(void)
{
    __builtin_memset(&show, 0, sizeof show);
}
