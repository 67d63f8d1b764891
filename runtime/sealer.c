// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/sealer.h"

#include "format/chunk.h"
#include "format/event_codec.h"
#include "format/meta_codec.h"
#include "runtime/memory.h"
#include "runtime/output.h"

#include <stddef.h>

#define SCRATCH_SIZE (HS_META_SCRATCH_SIZE > HS_CODEC_SCRATCH_SIZE ? HS_META_SCRATCH_SIZE : HS_CODEC_SCRATCH_SIZE)

struct hs_sealer hs_sealers[HS_SEALERS];

struct hs_sealer *hs_sealer__prepare(unsigned number)
{
    struct hs_sealer *sealer = &hs_sealers[number];
    if (!sealer->scratch)
        sealer->scratch = hs_memory__map(SCRATCH_SIZE + HS_CODEC_MAX_OUTPUT);
    sealer->encoded = sealer->scratch + SCRATCH_SIZE;
    return sealer->scratch ? sealer : NULL;
}

void hs_sealer__reset_all(void)
{
    for (unsigned i = 0; i < HS_SEALERS; i++) {
        if (hs_sealers[i].scratch)
            hs_memory__unmap(hs_sealers[i].scratch, SCRATCH_SIZE + HS_CODEC_MAX_OUTPUT);
        hs_sealers[i] = (struct hs_sealer){0};
    }
}

void hs_sealer__append_meta(struct hs_sealer *sealer, const void *data, uint32_t length, uint64_t sequence)
{
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_META, .stored_length = length, .plain_length = length, .sequence = sequence};
    size_t taken;
    size_t packed = hs_meta_pack(data, length, sealer->scratch, sealer->encoded, HS_CODEC_MAX_OUTPUT, &taken);
    if (packed && taken == length) {
        chunk.flags = HS_CHUNK_PACKED;
        chunk.stored_length = (uint32_t)packed;
        data = sealer->encoded;
    }
    hs_output__append(&chunk, data);
}

void hs_sealer__append_meta_slot(struct hs_sealer *sealer, struct hs_slot *slot)
{
    const struct hs_slot_header *header = hs_slot__header(slot);
    hs_sealer__append_meta(sealer, hs_slot__records(slot), (uint32_t)header->used, header->sequence);
    hs_slots__give_back(slot);
}
