// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/elf_probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_PROGRAM_HEADERS   256
#define HASHED_PROGRAM_HEADERS 64
#define LONGEST_NOTES          (64u << 10)

// The source of the bytes: a descriptor, or memory if fd is -1.
struct source {
    int fd;
    const uint8_t *bytes;
    size_t size;
};

struct segment {
    uint32_t type;
    uint64_t offset;
    uint64_t address;
    uint64_t length;
};

static size_t source_read(const struct source *source, uint64_t offset, void *buffer, size_t length)
{
    if (source->fd >= 0) {
        if (offset > INT64_MAX)
            return 0;
        ssize_t count = pread(source->fd, buffer, length, (off_t)offset);
        return count > 0 ? (size_t)count : 0;
    }
    if (offset >= source->size)
        return 0;
    size_t count = source->size - offset < length ? source->size - offset : length;
    memcpy(buffer, source->bytes + offset, count);
    return count;
}

static uint64_t number(const struct hs_probe *probe, const uint8_t *bytes, unsigned length)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < length; i++) {
        unsigned place = probe->big_endian ? length - 1 - i : i;
        value |= (uint64_t)bytes[i] << (8 * place);
    }
    return value;
}

static void read_script(struct hs_probe *probe, const uint8_t *bytes, size_t size)
{
    probe->kind = HS_PROBE_SCRIPT;
    size_t i = 2;
    while (i < size && (bytes[i] == ' ' || bytes[i] == '\t'))
        i++;
    size_t length = 0;
    while (i < size && length + 1 < sizeof(probe->interpreter) && !strchr(" \t\r\n", bytes[i]))
        probe->interpreter[length++] = (char)bytes[i++];
}

static void read_interpreter(struct hs_probe *probe, const struct source *source, const struct segment *segment)
{
    probe->has_interpreter = true;
    size_t length = segment->length < sizeof(probe->interpreter) ? segment->length : sizeof(probe->interpreter) - 1;
    source_read(source, segment->offset, probe->interpreter, length);
    probe->interpreter[sizeof(probe->interpreter) - 1] = 0;
}

static void read_notes(struct hs_probe *probe, const struct source *source, const struct segment *segment)
{
    if (segment->length > LONGEST_NOTES || probe->build_id_length)
        return;
    uint8_t *notes = malloc(segment->length + 1);
    if (!notes)
        return;
    size_t size = source_read(source, segment->offset, notes, segment->length);
    size_t at = 0;
    while (size - at >= 12) {
        uint64_t name_size = number(probe, notes + at, 4);
        uint64_t data_size = number(probe, notes + at + 4, 4);
        uint64_t type = number(probe, notes + at + 8, 4);
        uint64_t data = at + 12 + ((name_size + 3) & ~3ull);
        uint64_t next = data + ((data_size + 3) & ~3ull);
        if (data > size || data_size > size - data)
            break;
        bool is_id = type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(notes + at + 12, "GNU", 4);
        if (is_id && data_size <= HS_BUILD_ID_MAX) {
            memcpy(probe->build_id, notes + data, data_size);
            probe->build_id_length = data_size;
            break;
        }
        if (next > size)
            break;
        at = next;
    }
    free(notes);
}

static void parse_segment(const struct hs_probe *probe, const uint8_t *header, struct segment *segment)
{
    bool wide = probe->pointer_size == 8;
    segment->type = (uint32_t)number(probe, header, 4);
    segment->offset = wide ? number(probe, header + 8, 8) : number(probe, header + 4, 4);
    segment->address = wide ? number(probe, header + 16, 8) : number(probe, header + 8, 4);
    segment->length = wide ? number(probe, header + 32, 8) : number(probe, header + 16, 4);
}

static bool ends_in_file(const struct source *source, const struct segment *segment)
{
    uint8_t last;
    return !segment->length || (segment->offset <= UINT64_MAX - segment->length &&
                                source_read(source, segment->offset + segment->length - 1, &last, 1));
}

static void note_load(struct hs_probe *probe, const struct source *source, const struct segment *segment)
{
    probe->incomplete |= !ends_in_file(source, segment);
    if (segment->length && segment->address <= UINT64_MAX - segment->length && probe->load_count < HS_PROBE_LOADS_MAX)
        probe->loads[probe->load_count++] = (struct hs_probe_load){
            .offset = segment->offset, .address = segment->address, .end = segment->address + segment->length};
}

static void mix_layout(struct hs_probe *probe, size_t index, const uint8_t *bytes, size_t length)
{
    if (index == 0)
        probe->layout = 2166136261u;
    for (size_t i = 0; index < HASHED_PROGRAM_HEADERS && i < length; i++)
        probe->layout = (probe->layout ^ bytes[i]) * 16777619u;
}

static void read_segments(struct hs_probe *probe, const struct source *source, const uint8_t *header)
{
    bool wide = probe->pointer_size == 8;
    uint64_t table = wide ? number(probe, header + 32, 8) : number(probe, header + 28, 4);
    size_t entry = number(probe, header + (wide ? 54 : 42), 2);
    size_t count = number(probe, header + (wide ? 56 : 44), 2);
    size_t least = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    if (count && entry < least) {
        probe->damaged = true;
        return;
    }
    for (size_t i = 0; i < count && i < MOST_PROGRAM_HEADERS; i++) {
        uint8_t bytes[sizeof(Elf64_Phdr)];
        if (table > UINT64_MAX - i * entry || source_read(source, table + i * entry, bytes, least) != least) {
            probe->damaged = true;
            return;
        }
        mix_layout(probe, i, bytes, least);
        struct segment segment;
        parse_segment(probe, bytes, &segment);
        if (segment.type == PT_INTERP)
            read_interpreter(probe, source, &segment);
        else if (segment.type == PT_LOAD)
            note_load(probe, source, &segment);
        else if (segment.type == PT_DYNAMIC)
            probe->has_dynamic = true;
        else if (segment.type == PT_NOTE)
            read_notes(probe, source, &segment);
    }
}

static void read_elf(struct hs_probe *probe, const struct source *source, const uint8_t *header, size_t size)
{
    probe->kind = HS_PROBE_ELF;
    probe->pointer_size = header[EI_CLASS] == ELFCLASS64 ? 8 : 4;
    probe->big_endian = header[EI_DATA] == ELFDATA2MSB;
    size_t least = probe->pointer_size == 8 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    bool known = (header[EI_CLASS] == ELFCLASS64 || header[EI_CLASS] == ELFCLASS32) &&
                 (header[EI_DATA] == ELFDATA2MSB || header[EI_DATA] == ELFDATA2LSB);
    if (!known || size < least) {
        probe->damaged = true;
        return;
    }
    probe->type = (uint16_t)number(probe, header + 16, 2);
    probe->machine = (uint16_t)number(probe, header + 18, 2);
    probe->flags = (uint32_t)number(probe, header + (probe->pointer_size == 8 ? 48 : 36), 4);
    read_segments(probe, source, header);
}

static void probe_source(struct hs_probe *probe, const struct source *source)
{
    uint8_t head[256];
    memset(probe, 0, sizeof(*probe));
    size_t size = source_read(source, 0, head, sizeof(head));
    if (size >= EI_NIDENT && !memcmp(head, ELFMAG, SELFMAG))
        read_elf(probe, source, head, size);
    else if (size >= 2 && head[0] == '#' && head[1] == '!')
        read_script(probe, head, size);
}

void hs_probe__bytes(struct hs_probe *probe, const uint8_t *bytes, size_t size)
{
    probe_source(probe, &(struct source){.fd = -1, .bytes = bytes, .size = size});
}

int hs_probe__descriptor(struct hs_probe *probe, int fd)
{
    char byte;
    if (pread(fd, &byte, 1, 0) < 0)
        return -errno;
    probe_source(probe, &(struct source){.fd = fd});
    return 0;
}

int hs_probe__file(struct hs_probe *probe, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int result = hs_probe__descriptor(probe, fd);
    close(fd);
    return result;
}

const char *hs_machine_name(uint16_t machine, char buffer[32])
{
    static const struct {
        uint16_t machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_386, "i386"},       {EM_AARCH64, "AArch64"}, {EM_ARM, "ARM"},
                 {EM_MIPS, "MIPS"},     {EM_RISCV, "RISC-V"},   {EM_PPC64, "PowerPC64"}, {EM_S390, "s390"},
                 {EM_PPC, "PowerPC"},   {EM_SPARCV9, "SPARC64"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].machine == machine)
            return names[i].name;
    }
    snprintf(buffer, 32, "machine %u", machine);
    return buffer;
}
