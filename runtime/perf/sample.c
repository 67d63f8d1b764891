// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/perf/sample.h"

#include "unwind/reader.h"

#include <sys/mman.h>

// The kernel's numbers of registers, by DWARF number: those that the kernel has in another place.
#if defined(__x86_64__)
static const uint8_t kernel_numbers[HS_DWARF_REGISTERS] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
static unsigned kernel_number(unsigned number)
{
    return kernel_numbers[number];
}
#elif defined(__mips__)
// 0: the pc, which stands where r0 would.
static unsigned kernel_number(unsigned number)
{
    return number == HS_DWARF_PC ? 0 : number;
}
#else
static unsigned kernel_number(unsigned number)
{
    return number;
}
#endif

uint64_t hs_perf_sample__registers(void)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < HS_DWARF_REGISTERS; i++)
        mask |= (uint64_t)1 << kernel_number(i);
    return mask;
}

static void read_registers(struct hs_reader *reader, struct hs_all_registers *registers)
{
    uint64_t mask = hs_perf_sample__registers(), values[64];
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1)
            values[i] = hs_read_u64(reader);
    for (unsigned i = 0; i < HS_DWARF_REGISTERS; i++)
        registers->values[i] = (uintptr_t)values[kernel_number(i)];
#if defined(__mips__)
    registers->values[0] = 0;
#endif
}

// A thread without user state has neither registers nor a stack. Only a part of the copy is used.
static void read_snapshot(struct hs_reader *reader, struct hs_perf_sample *sample)
{
    if (hs_read_u64(reader) == PERF_SAMPLE_REGS_ABI_NONE)
        return;
    read_registers(reader, &sample->snapshot.registers);
    uint64_t size = hs_read_u64(reader);
    const uint8_t *copy = reader->at;
    hs_reader_skip(reader, size);
    uint64_t filled = size ? hs_read_u64(reader) : 0;
    sample->has_stack = !reader->failed && filled <= size;
    sample->snapshot.copy = filled ? copy : NULL;
    sample->snapshot.size = (size_t)filled;
    reader->failed |= filled > size;
}

// Markers say whose the addresses behind them are: there are only the user's.
static void read_chain(struct hs_reader *reader, struct hs_perf_sample *sample)
{
    uint64_t length = hs_read_u64(reader);
    sample->chain = (const uint64_t *)(const void *)reader->at;
    if (length > HS_CHAIN_MAX)
        reader->failed = true;
    hs_reader_skip(reader, length * 8);
    sample->chain_length = reader->failed ? 0 : length;
}

static void read_sample(struct hs_reader *reader, uint64_t type, struct hs_perf_sample *sample)
{
    uint64_t ip = type & PERF_SAMPLE_IP ? hs_read_u64(reader) : 0;
    sample->pid = hs_read_u32(reader);
    sample->tid = hs_read_u32(reader);
    sample->time = hs_read_u64(reader);
    sample->address = hs_read_u64(reader);
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
        sample->page_size = hs_read_u64(reader);
    if (type & PERF_SAMPLE_CALLCHAIN)
        read_chain(reader, sample);
    if (type & PERF_SAMPLE_REGS_USER)
        read_snapshot(reader, sample);
    if (type & PERF_SAMPLE_IP) {
        sample->snapshot.registers.values[HS_DWARF_PC] = (uintptr_t)ip;
        sample->has_stack = true;
    }
    sample->kind = reader->failed ? HS_SAMPLE_DAMAGED : HS_SAMPLE_TAKEN;
}

// Whose it is and when it was stands at the end of records that are no samples, as sample_id_all asks for.
static void read_whose(struct hs_reader *reader, struct hs_perf_sample *sample, int kind)
{
    sample->pid = hs_read_u32(reader);
    sample->tid = hs_read_u32(reader);
    sample->time = hs_read_u64(reader);
    sample->kind = reader->failed ? HS_SAMPLE_DAMAGED : kind;
}

// Code of no file is of no module.
static void read_mapping(struct hs_reader *reader, struct hs_perf_sample *sample)
{
    sample->pid = hs_read_u32(reader);
    sample->tid = hs_read_u32(reader);
    hs_reader_skip(reader, 4 * 8); // address, length, offset, device
    uint64_t inode = hs_read_u64(reader);
    hs_reader_skip(reader, 8); // generation of the inode
    uint32_t protection = hs_read_u32(reader);
    sample->kind = reader->failed                           ? HS_SAMPLE_DAMAGED
                   : inode != 0 && (protection & PROT_EXEC) ? HS_SAMPLE_CODE_MAPPED
                                                            : HS_SAMPLE_OTHER;
}

void hs_perf_sample__read(const void *record, size_t length, uint64_t type, struct hs_perf_sample *sample)
{
    struct hs_reader reader = {record, (const uint8_t *)record + length, false};
    uint32_t kind = hs_read_u32(&reader);
    uint16_t misc = hs_read_u16(&reader);
    hs_read_u16(&reader);
    *sample = (struct hs_perf_sample){.kind = reader.failed ? HS_SAMPLE_DAMAGED : HS_SAMPLE_OTHER};
    if (kind == PERF_RECORD_SAMPLE) {
        read_sample(&reader, type, sample);
    } else if (kind == PERF_RECORD_MMAP2) {
        read_mapping(&reader, sample);
    } else if (kind == PERF_RECORD_SWITCH && !(misc & PERF_RECORD_MISC_SWITCH_OUT)) {
        read_whose(&reader, sample, HS_SAMPLE_SWITCHED_IN);
    } else if (kind == PERF_RECORD_LOST) {
        hs_read_u64(&reader);
        sample->lost = hs_read_u64(&reader);
        read_whose(&reader, sample, HS_SAMPLE_LOST);
    }
}
