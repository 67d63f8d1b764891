// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Meta records packed: stack nodes are most of them, and few return addresses make many nodes. A packed payload
// (HS_CHUNK_PACKED) unpacks to exactly the plain record stream. docs/format.md, "Packed meta records".
#ifndef HEAPSONDE_FORMAT_META_CODEC_H
#define HEAPSONDE_FORMAT_META_CODEC_H

#include <stddef.h>
#include <stdint.h>

// 16-byte aligned; HS_CODEC_SCRATCH_SIZE is enough for it too.
#define HS_META_SCRATCH_SIZE (288u << 10)
// Longer streams are not packed. One META slot is shorter.
#define HS_META_PACK_MAX (32u << 10)

// Packs `length` bytes of meta records up to their end (a zero tag or `length`). Returns the packed length, and the
// length that was packed in *taken; 0 if it would not be shorter than *taken, does not fit, or is not a stream of
// records.
size_t hs_meta_pack(const void *plain, size_t length, void *scratch, uint8_t *output, size_t capacity, size_t *taken);

// Writes exactly plain_length bytes. Returns 0, or -1 when the bytes are not a packed payload of that length.
int hs_meta_unpack(const uint8_t *packed, size_t length, void *scratch, uint8_t *plain, size_t plain_length);

#endif
