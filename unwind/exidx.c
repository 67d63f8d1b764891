// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/exidx.h"

#include <elf.h>
#include <link.h>

// ARM's DWARF numbers: they are those of the architecture that is looked at, whatever this is compiled for.
enum { SP = 13, LR = 14, PC = 15, REGISTERS = 16 };

enum { ENTRY_SIZE = 8, CANTUNWIND = 1 };

static const uint8_t *bytes_at(const struct hs_exidx *exidx, uint32_t address, uint32_t length)
{
    uint32_t offset = address - exidx->address;
    return offset <= exidx->size && length <= exidx->size - offset ? exidx->bytes + offset : NULL;
}

static bool read_word(const struct hs_exidx *exidx, uint32_t address, uint32_t *word)
{
    const uint8_t *at = bytes_at(exidx, address, 4);
    if (!at)
        return false;
    *word = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return true;
}

// An address as the tables write it: 31 bits, relative to where it is written.
static uint32_t relative_address(uint32_t place, uint32_t word)
{
    return place + (word << 1 & 0x80000000 ? word | 0x80000000 : word & 0x7fffffff);
}

bool hs_exidx_start(const struct hs_exidx *exidx, uint32_t number, uint32_t *start)
{
    uint32_t place = exidx->index + number * ENTRY_SIZE, word;
    if (number >= exidx->count || !read_word(exidx, place, &word))
        return false;
    *start = relative_address(place, word) & ~UINT32_C(1);
    return true;
}

uint32_t hs_exidx_entries_before(const struct hs_exidx *exidx, uint32_t address)
{
    uint32_t low = 0, high = exidx->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, start;
        if (!hs_exidx_start(exidx, middle, &start))
            return 0;
        if (start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A word of opcodes by the models that the ABI's own personality routines 0, 1 and 2 have.
static bool read_compact(struct hs_exidx_entry *entry, uint32_t place, uint32_t word)
{
    uint32_t personality = word >> 24 & 0x7f;
    entry->opcodes = place;
    entry->words = (uint16_t)(1 + (personality ? word >> 16 & 0xff : 0));
    entry->skip = personality ? 2 : 1;
    return personality <= 2;
}

// A word that is followed by others and belongs to the language's personality routine.
static bool read_generic(struct hs_exidx_entry *entry, uint32_t place, uint32_t word)
{
    entry->opcodes = place;
    entry->words = (uint16_t)(1 + (word >> 24));
    entry->skip = 1;
    return true;
}

static bool read_table(const struct hs_exidx *exidx, uint32_t place, struct hs_exidx_entry *entry)
{
    uint32_t word;
    if (!read_word(exidx, place, &word))
        return false;
    if (word >> 31)
        return read_compact(entry, place, word);
    return read_word(exidx, place + 4, &word) && read_generic(entry, place + 4, word);
}

bool hs_exidx_find(const struct hs_exidx *exidx, uint32_t address, struct hs_exidx_entry *entry)
{
    uint32_t number = hs_exidx_entries_before(exidx, address & ~UINT32_C(1)), place, word;
    if (!number || !hs_exidx_start(exidx, number - 1, &entry->start))
        return false;
    if (!hs_exidx_start(exidx, number, &entry->end))
        entry->end = entry->start;
    place = exidx->index + (number - 1) * ENTRY_SIZE + 4;
    if (!read_word(exidx, place, &word) || word == CANTUNWIND)
        return false;
    if (word >> 31)
        return word >> 24 == 0x80 && read_compact(entry, place, word);
    return read_table(exidx, relative_address(place, word), entry);
}

// --- the opcodes

// The virtual stack pointer is what register `base` holds at the call, plus `offset`; places are relative to the same.
struct exidx_machine {
    const struct hs_exidx *exidx;
    uint32_t at, left; // the opcodes that are still to come; `at` counts bytes in the order in which they are executed
    uint32_t words;    // the address of the first word
    uint32_t base, offset;
    uint32_t popped; // bit n: register n is at `places`
    uint32_t places[REGISTERS];
};

static bool next_opcode(struct exidx_machine *machine, uint32_t *opcode)
{
    uint32_t word;
    if (!machine->left || !read_word(machine->exidx, machine->words + (machine->at & ~UINT32_C(3)), &word))
        return false;
    *opcode = word >> (24 - 8 * (machine->at & 3)) & 0xff;
    machine->at++;
    machine->left--;
    return true;
}

static bool pop(struct exidx_machine *machine, uint32_t list)
{
    for (uint32_t number = 0; number < REGISTERS; number++) {
        if (!(list >> number & 1))
            continue;
        machine->places[number] = machine->offset;
        machine->offset += 4;
    }
    machine->popped |= list;
    return !(list >> SP & 1); // the caller's sp would be in memory
}

static bool pop_many(struct exidx_machine *machine, uint32_t opcode)
{
    uint32_t low;
    if (!next_opcode(machine, &low))
        return false;
    uint32_t list = ((opcode & 15) << 8 | low) << 4;
    return list && pop(machine, list); // an empty list refuses to unwind
}

static bool take_from_register(struct exidx_machine *machine, uint32_t number)
{
    if (number == SP || number == PC || machine->popped)
        return false;
    machine->base = number;
    machine->offset = 0;
    return true;
}

static bool pop_arguments(struct exidx_machine *machine)
{
    uint32_t list;
    return next_opcode(machine, &list) && list && list < 16 && pop(machine, list);
}

static bool add_large(struct exidx_machine *machine)
{
    uint32_t value = 0, byte;
    for (unsigned shift = 0; shift < 32; shift += 7) {
        if (!next_opcode(machine, &byte))
            return false;
        value |= (byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        machine->offset += 0x204 + (value << 2);
        return value < UINT32_C(1) << 29;
    }
    return false;
}

static void skip(struct exidx_machine *machine, uint32_t bytes)
{
    machine->offset += bytes;
}

// The operand says which registers of 8 bytes; `extra` is what the store puts beside them.
static bool pop_vectors(struct exidx_machine *machine, uint32_t extra)
{
    uint32_t operand;
    if (!next_opcode(machine, &operand))
        return false;
    skip(machine, ((operand & 15) + 1) * 8 + extra);
    return true;
}

static bool pop_control_registers(struct exidx_machine *machine)
{
    uint32_t list;
    if (!next_opcode(machine, &list) || !list || list > 15)
        return false;
    for (; list; list &= list - 1)
        skip(machine, 4);
    return true;
}

// 0xb1 to 0xbf.
static bool execute_b(struct exidx_machine *machine, uint32_t opcode)
{
    switch (opcode) {
    case 0xb1:
        return pop_arguments(machine);
    case 0xb2:
        return add_large(machine);
    case 0xb3:
        return pop_vectors(machine, 4);
    case 0xb4: // the code that authenticates the return address
        skip(machine, 4);
        return true;
    case 0xb5: // the virtual stack pointer is what it was made with
        return true;
    case 0xb6:
    case 0xb7:
        return false;
    default:
        skip(machine, ((opcode & 7) + 1) * 8 + 4);
        return true;
    }
}

// 0xc0 to 0xff.
static bool execute_c(struct exidx_machine *machine, uint32_t opcode)
{
    if (opcode < 0xc6 || (opcode & 0xf8) == 0xd0) {
        skip(machine, ((opcode & 7) + 1) * 8);
        return true;
    }
    if (opcode == 0xc7)
        return pop_control_registers(machine);
    return (opcode == 0xc6 || opcode == 0xc8 || opcode == 0xc9) && pop_vectors(machine, 0);
}

static bool execute(struct exidx_machine *machine, uint32_t opcode)
{
    if (opcode < 0x80) { // bit 6: down
        uint32_t bytes = (opcode & 0x3f) * 4 + 4;
        skip(machine, opcode & 0x40 ? -bytes : bytes);
        return true;
    }
    switch (opcode >> 4) {
    case 8:
        return pop_many(machine, opcode);
    case 9:
        return take_from_register(machine, opcode & 15);
    case 10:
        return pop(machine, ((2u << (opcode & 7)) - 1) << 4 | (opcode & 8 ? 1u << LR : 0));
    case 11:
        return execute_b(machine, opcode);
    default:
        return execute_c(machine, opcode);
    }
}

static bool run(struct exidx_machine *machine)
{
    enum { FINISH = 0xb0 };
    uint32_t opcode;
    while (machine->left) {
        if (!next_opcode(machine, &opcode))
            return false;
        if (opcode == FINISH)
            return true;
        if (!execute(machine, opcode))
            return false;
    }
    return true;
}

static void set_place(struct hs_cfi_row *cfi_row, unsigned number, const struct exidx_machine *machine, unsigned popped)
{
    cfi_row->registers[number] =
        (struct hs_cfi_register){(int32_t)(machine->places[popped] - machine->offset), HS_CFI_AT_OFFSET};
}

bool hs_exidx_cfi_row(const struct hs_exidx *exidx, const struct hs_exidx_entry *entry, struct hs_cfi_row *cfi_row)
{
    struct exidx_machine machine = {
        .exidx = exidx,
        .at = entry->skip,
        .left = entry->words * UINT32_C(4) - entry->skip,
        .words = entry->opcodes,
        .base = SP,
    };
    if (!run(&machine))
        return false;
    *cfi_row = (struct hs_cfi_row){.cfa_register = (uint8_t)machine.base, .cfa_offset = (int32_t)machine.offset};
    for (unsigned number = 4; number < SP; number++)
        if (machine.popped >> number & 1)
            set_place(cfi_row, number, &machine, number);
    if (machine.popped >> PC & 1)
        set_place(cfi_row, LR, &machine, PC);
    else if (machine.popped >> LR & 1)
        set_place(cfi_row, LR, &machine, LR);
    return true;
}

#ifdef HS_ARCH_HAS_EXIDX
bool hs_exidx_of_module(const struct hs_module *module, struct hs_exidx *exidx)
{
    struct hs_range index, memory;
    if (!hs_module_header(module, PT_ARM_EXIDX, &index) || !hs_module_segment(module, index.start, &memory))
        return false;
    exidx->bytes = memory.start;
    exidx->size = (uint32_t)(memory.end - memory.start);
    exidx->address = (uint32_t)(uintptr_t)memory.start;
    exidx->index = (uint32_t)(uintptr_t)index.start;
    exidx->count = (uint32_t)(index.end - index.start) / ENTRY_SIZE;
    return true;
}
#endif
