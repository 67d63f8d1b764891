// SPDX-License-Identifier: MIT OR Apache-2.0
//
// For a recorder's stream: sends copies of the threads' buffers, so that no thread of the program is disturbed.
#include "runtime/stream/slot_copies.h"

#include "format/chunk.h"
#include "runtime/stream/stream_internal.h"

// Without the part of the records that was never written.
static uint32_t copied_length(const struct hs_slot *slot)
{
    const uint64_t *records = hs_slot__records(slot);
    uint32_t count = HS_SLOT_RECORDS_SIZE / 8;
    while (count && !records[count - 1])
        count--;
    return HS_SLOT_RECORDS_OFFSET - HS_CHUNK_HEADER_SIZE + count * 8;
}

bool hs_stream__copy_slot(const struct hs_slot *slot)
{
    if (__atomic_load_n(&hs_slot__header(slot)->use, __ATOMIC_ACQUIRE) == HS_SLOT_FREE)
        return true;
    uint32_t length = copied_length(slot);
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_SLOT, .flags = HS_CHUNK_LIVE, .stored_length = length, .plain_length = length};
    uint8_t header[HS_CHUNK_HEADER_SIZE];
    hs_chunk_seal(&chunk, NULL, header);
    if (!hs_stream__lock())
        return false;
    bool done = hs_stream_ring__room(&hs_stream.ring) >= hs_chunk_size(length) + hs_chunk_size(HS_LIVE_WORDS * 8);
    if (done)
        hs_stream__put_chunk(header, slot->memory + HS_CHUNK_HEADER_SIZE, length);
    hs_stream__unlock();
    return done;
}

bool hs_stream_source__finish(uint32_t *progress)
{
    while (*progress < hs_slots__total() && hs_stream__copy_slot(hs_slots__at(*progress)))
        ++*progress;
    return *progress == hs_slots__total();
}

void hs_stream_source__sender_begins(void)
{
}
