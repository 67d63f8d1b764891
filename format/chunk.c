// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/chunk.h"

#include "format/crc32c.h"

static void put16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *to, uint32_t value)
{
    put16(to, (uint16_t)value);
    put16(to + 2, (uint16_t)(value >> 16));
}

static void put64(uint8_t *to, uint64_t value)
{
    put32(to, (uint32_t)value);
    put32(to + 4, (uint32_t)(value >> 32));
}

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t get32(const uint8_t *at)
{
    return get16(at) | (uint32_t)get16(at + 2) << 16;
}

static uint64_t get64(const uint8_t *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

#define AT(type, field) __builtin_offsetof(struct type, field)

// ---- chunk header --------------------------------------------------------------------------------------------------

void hs_chunk_seal(struct hs_chunk_header *chunk, const void *payload, void *to)
{
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    chunk->magic = HS_CHUNK_MAGIC;
    chunk->payload_crc = chunk->flags & HS_CHUNK_LIVE ? 0 : hs_crc32c(0, payload, chunk->stored_length);
    put32(bytes + AT(hs_chunk_header, magic), chunk->magic);
    put16(bytes + AT(hs_chunk_header, kind), chunk->kind);
    put16(bytes + AT(hs_chunk_header, flags), chunk->flags);
    put32(bytes + AT(hs_chunk_header, stored_length), chunk->stored_length);
    put32(bytes + AT(hs_chunk_header, plain_length), chunk->plain_length);
    put32(bytes + AT(hs_chunk_header, stream), chunk->stream);
    put32(bytes + AT(hs_chunk_header, count), chunk->count);
    put64(bytes + AT(hs_chunk_header, sequence), chunk->sequence);
    put64(bytes + AT(hs_chunk_header, first_time), chunk->first_time);
    put64(bytes + AT(hs_chunk_header, last_time), chunk->last_time);
    put32(bytes + AT(hs_chunk_header, payload_crc), chunk->payload_crc);
    chunk->header_crc = hs_crc32c(0, bytes, AT(hs_chunk_header, header_crc));
    put32(bytes + AT(hs_chunk_header, header_crc), chunk->header_crc);
    __builtin_memcpy(to, bytes, sizeof bytes);
}

int hs_chunk_read(const void *from, struct hs_chunk_header *chunk)
{
    const uint8_t *at = from;
    chunk->magic = get32(at + AT(hs_chunk_header, magic));
    chunk->kind = get16(at + AT(hs_chunk_header, kind));
    chunk->flags = get16(at + AT(hs_chunk_header, flags));
    chunk->stored_length = get32(at + AT(hs_chunk_header, stored_length));
    chunk->plain_length = get32(at + AT(hs_chunk_header, plain_length));
    chunk->stream = get32(at + AT(hs_chunk_header, stream));
    chunk->count = get32(at + AT(hs_chunk_header, count));
    chunk->sequence = get64(at + AT(hs_chunk_header, sequence));
    chunk->first_time = get64(at + AT(hs_chunk_header, first_time));
    chunk->last_time = get64(at + AT(hs_chunk_header, last_time));
    chunk->payload_crc = get32(at + AT(hs_chunk_header, payload_crc));
    chunk->header_crc = get32(at + AT(hs_chunk_header, header_crc));
    if (chunk->magic != HS_CHUNK_MAGIC || chunk->stored_length > HS_CHUNK_MAX_LENGTH ||
        chunk->plain_length > HS_CHUNK_MAX_LENGTH)
        return -1;
    return chunk->header_crc == hs_crc32c(0, at, AT(hs_chunk_header, header_crc)) ? 0 : -1;
}

void hs_footer_entry_write(uint8_t *to, uint64_t offset, const void *sealed_header)
{
    put64(to, offset);
    __builtin_memcpy(to + 8, sealed_header, HS_CHUNK_HEADER_SIZE);
}

int hs_footer_entry_read(const uint8_t *from, uint64_t *offset, struct hs_chunk_header *chunk)
{
    *offset = get64(from);
    return hs_chunk_read(from + 8, chunk);
}

// ---- file header ---------------------------------------------------------------------------------------------------

void hs_file_header_seal(struct hs_file_header *header, void *to)
{
    uint8_t bytes[AT(hs_file_header, live)] = {0};
    __builtin_memcpy(bytes, header->magic, HS_FILE_MAGIC_LENGTH);
    put16(bytes + AT(hs_file_header, version_major), header->version_major);
    put16(bytes + AT(hs_file_header, version_minor), header->version_minor);
    bytes[AT(hs_file_header, byte_order)] = header->byte_order;
    bytes[AT(hs_file_header, pointer_size)] = header->pointer_size;
    bytes[AT(hs_file_header, address_shift)] = header->address_shift;
    bytes[AT(hs_file_header, clock_source)] = header->clock_source;
    bytes[AT(hs_file_header, tick_shift)] = header->tick_shift;
    bytes[AT(hs_file_header, content)] = header->content;
    put16(bytes + AT(hs_file_header, machine), header->machine);
    put32(bytes + AT(hs_file_header, pid), header->pid);
    put32(bytes + AT(hs_file_header, parent_pid), header->parent_pid);
    put32(bytes + AT(hs_file_header, header_size), header->header_size);
    put64(bytes + AT(hs_file_header, trace_id), header->trace_id[0]);
    put64(bytes + AT(hs_file_header, trace_id) + 8, header->trace_id[1]);
    put64(bytes + AT(hs_file_header, start_monotonic_ns), header->start_monotonic_ns);
    put64(bytes + AT(hs_file_header, start_realtime_ns), header->start_realtime_ns);
    put64(bytes + AT(hs_file_header, forked_at), header->forked_at);
    header->crc = hs_crc32c(0, bytes, AT(hs_file_header, crc));
    put32(bytes + AT(hs_file_header, crc), header->crc);
    __builtin_memcpy(to, bytes, sizeof bytes);
}

static void read_live(const uint8_t *at, int big, struct hs_live *live)
{
    uint64_t words[sizeof *live / 8];
    for (size_t i = 0; i < sizeof words / 8; i++) {
        uint64_t word = get64(at + 8 * i);
        words[i] = big ? __builtin_bswap64(word) : word;
    }
    __builtin_memcpy(live, words, sizeof words);
}

int hs_file_header_read(const void *from, struct hs_file_header *header)
{
    const uint8_t *at = from;
    __builtin_memset(header, 0, sizeof *header);
    __builtin_memcpy(header->magic, at, HS_FILE_MAGIC_LENGTH);
    if (__builtin_memcmp(at, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH))
        return HS_HEADER_NO_MAGIC;
    header->version_major = get16(at + AT(hs_file_header, version_major));
    header->version_minor = get16(at + AT(hs_file_header, version_minor));
    header->crc = get32(at + AT(hs_file_header, crc));
    if (header->crc != hs_crc32c(0, at, AT(hs_file_header, crc)))
        return header->version_major > HS_FILE_VERSION_MAJOR && header->version_major < 256 ? HS_HEADER_NEWER
                                                                                            : HS_HEADER_BAD_CRC;
    if (header->version_major != HS_FILE_VERSION_MAJOR)
        return HS_HEADER_NEWER;
    header->byte_order = at[AT(hs_file_header, byte_order)];
    header->pointer_size = at[AT(hs_file_header, pointer_size)];
    header->address_shift = at[AT(hs_file_header, address_shift)];
    header->clock_source = at[AT(hs_file_header, clock_source)];
    header->tick_shift = at[AT(hs_file_header, tick_shift)];
    header->content = at[AT(hs_file_header, content)];
    header->machine = get16(at + AT(hs_file_header, machine));
    header->pid = get32(at + AT(hs_file_header, pid));
    header->parent_pid = get32(at + AT(hs_file_header, parent_pid));
    header->header_size = get32(at + AT(hs_file_header, header_size));
    header->trace_id[0] = get64(at + AT(hs_file_header, trace_id));
    header->trace_id[1] = get64(at + AT(hs_file_header, trace_id) + 8);
    header->start_monotonic_ns = get64(at + AT(hs_file_header, start_monotonic_ns));
    header->start_realtime_ns = get64(at + AT(hs_file_header, start_realtime_ns));
    header->forked_at = get64(at + AT(hs_file_header, forked_at));
    int order = header->byte_order, size = header->pointer_size;
    if ((order != HS_BYTE_ORDER_LITTLE && order != HS_BYTE_ORDER_BIG) || (size != 4 && size != 8) ||
        header->address_shift > 16 || header->header_size < AT(hs_file_header, live) + sizeof(struct hs_live))
        return HS_HEADER_BAD_FIELD;
    read_live(at + AT(hs_file_header, live), order == HS_BYTE_ORDER_BIG, &header->live);
    return HS_HEADER_GOOD;
}
