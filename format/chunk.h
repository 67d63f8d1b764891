// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Chunk headers and the file header: filling and checking. Headers are little-endian whatever the machine.
#ifndef HEAPSONDE_FORMAT_CHUNK_H
#define HEAPSONDE_FORMAT_CHUNK_H

#include "format/trace_format.h"

#include <stddef.h>
#include <stdint.h>

// Bytes that a chunk with this stored length takes in the file, header and padding included.
static inline uint64_t hs_chunk_size(uint32_t stored_length)
{
    return ((uint64_t)HS_CHUNK_HEADER_SIZE + stored_length + HS_CHUNK_ALIGNMENT - 1) &
           ~(uint64_t)(HS_CHUNK_ALIGNMENT - 1);
}

// Fills magic, payload_crc and header_crc of `chunk`, whose other fields are set in this machine's order, and writes
// the header's HS_CHUNK_HEADER_SIZE bytes to `to` (which may be `chunk` itself). `payload` is ignored if HS_CHUNK_LIVE
// is set.
void hs_chunk_seal(struct hs_chunk_header *chunk, const void *payload, void *to);

// Reads a header into this machine's order. Returns 0, or -1 if it is not a chunk header: wrong magic, wrong
// header_crc, length above HS_CHUNK_MAX_LENGTH.
int hs_chunk_read(const void *from, struct hs_chunk_header *chunk);

// The payload of a FOOTER chunk: one entry per chunk before it, in file order, without slots and pads; 64 bytes each:
// the chunk's offset (little-endian), then its sealed header.
#define HS_FOOTER_ENTRY_SIZE (8 + HS_CHUNK_HEADER_SIZE)
void hs_footer_entry_write(uint8_t *to, uint64_t offset, const void *sealed_header);
int hs_footer_entry_read(const uint8_t *from, uint64_t *offset, struct hs_chunk_header *chunk); // as hs_chunk_read

// Fills header->crc; the fields are set in this machine's order. Writes all bytes before `live` to `to`.
void hs_file_header_seal(struct hs_file_header *header, void *to);

enum { HS_HEADER_GOOD = 0, HS_HEADER_NO_MAGIC, HS_HEADER_BAD_CRC, HS_HEADER_NEWER, HS_HEADER_BAD_FIELD };
// Reads a file header into this machine's order, with the live part converted from the target's.
// HS_HEADER_NEWER leaves the version readable.
int hs_file_header_read(const void *from, struct hs_file_header *header);

#endif
