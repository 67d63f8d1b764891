// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The call frame instructions (DWARF 5 section 6.4.2), executed up to one address.
#include "unwind/cfi.h"

#include "unwind/work.h"

enum { REMEMBERED_STATES = 8 };

enum {
    CFA_ADVANCE_LOC = 0x40, // with the operand in the low 6 bits
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_WINDOW_SAVE = 0x2d, // AArch64: negate_ra_state
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct cfi_row_machine {
    const struct hs_cfi_section *section;
    const struct hs_fde *fde;
    struct hs_cfi_row *cfi_row;
    const struct hs_cfi_row *initial; // NULL while the CIE's instructions run
    uintptr_t address;                // wanted
    uintptr_t location;
    unsigned remembered;
    bool failed;
    struct hs_cfi_row states[REMEMBERED_STATES];
};

static void set_register(struct cfi_row_machine *machine, uint64_t number, enum hs_cfi_kind kind, int64_t value)
{
    if (number >= HS_DWARF_REGISTERS)
        return; // vector and other registers that no walk follows
    if (value != (int32_t)value)
        machine->failed = true;
    machine->cfi_row->registers[number] = (struct hs_cfi_register){(int32_t)value, (uint8_t)kind};
}

static void restore_register(struct cfi_row_machine *machine, uint64_t number)
{
    if (number >= HS_DWARF_REGISTERS)
        return;
    struct hs_cfi_register none = {0, HS_CFI_SAME};
    machine->cfi_row->registers[number] = machine->initial ? machine->initial->registers[number] : none;
}

static void set_cfa_register(struct cfi_row_machine *machine, uint64_t number)
{
    if (number >= HS_DWARF_REGISTERS)
        machine->failed = true;
    machine->cfi_row->cfa_register = (uint8_t)number;
    machine->cfi_row->cfa_expression = false;
}

static void remember(struct cfi_row_machine *machine)
{
    if (machine->remembered == REMEMBERED_STATES)
        machine->failed = true;
    else
        machine->states[machine->remembered++] = *machine->cfi_row;
}

static void restore_remembered(struct cfi_row_machine *machine)
{
    if (!machine->remembered)
        machine->failed = true;
    else
        *machine->cfi_row = machine->states[--machine->remembered];
}

// The place of the expression block that starts here; the block is skipped.
static int64_t skip_expression(struct cfi_row_machine *machine, struct hs_reader *reader)
{
    int64_t place = reader->at - machine->section->start;
    hs_reader_skip(reader, hs_read_uleb128(reader));
    return place;
}

static int64_t factored(const struct cfi_row_machine *machine, int64_t value)
{
    return (int64_t)((uint64_t)value * (uint64_t)machine->fde->data_alignment);
}

static void advance(struct cfi_row_machine *machine, uint64_t delta)
{
    machine->location += (uintptr_t)(delta * machine->fde->code_alignment);
}

static void execute_cfa(struct cfi_row_machine *machine, struct hs_reader *reader, uint8_t opcode)
{
    struct hs_cfi_row *cfi_row = machine->cfi_row;
    switch (opcode) {
    case CFA_DEF_CFA:
        set_cfa_register(machine, hs_read_uleb128(reader));
        cfi_row->cfa_offset = (int64_t)hs_read_uleb128(reader);
        break;
    case CFA_DEF_CFA_SF:
        set_cfa_register(machine, hs_read_uleb128(reader));
        cfi_row->cfa_offset = factored(machine, hs_read_sleb128(reader));
        break;
    case CFA_DEF_CFA_REGISTER:
        set_cfa_register(machine, hs_read_uleb128(reader));
        break;
    case CFA_DEF_CFA_OFFSET:
        cfi_row->cfa_offset = (int64_t)hs_read_uleb128(reader);
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        cfi_row->cfa_offset = factored(machine, hs_read_sleb128(reader));
        break;
    case CFA_DEF_CFA_EXPRESSION:
        cfi_row->cfa_expression = true;
        cfi_row->cfa_offset = skip_expression(machine, reader);
        break;
    }
}

static void execute_register(struct cfi_row_machine *machine, struct hs_reader *reader, uint8_t opcode)
{
    uint64_t number = hs_read_uleb128(reader);
    switch (opcode) {
    case CFA_OFFSET_EXTENDED:
        set_register(machine, number, HS_CFI_AT_OFFSET, factored(machine, (int64_t)hs_read_uleb128(reader)));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        set_register(machine, number, HS_CFI_AT_OFFSET, factored(machine, hs_read_sleb128(reader)));
        break;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        set_register(machine, number, HS_CFI_AT_OFFSET,
                     (int64_t)(0 - (uint64_t)factored(machine, (int64_t)hs_read_uleb128(reader))));
        break;
    case CFA_VAL_OFFSET:
        set_register(machine, number, HS_CFI_VALUE_OFFSET, factored(machine, (int64_t)hs_read_uleb128(reader)));
        break;
    case CFA_VAL_OFFSET_SF:
        set_register(machine, number, HS_CFI_VALUE_OFFSET, factored(machine, hs_read_sleb128(reader)));
        break;
    case CFA_RESTORE_EXTENDED:
        restore_register(machine, number);
        break;
    case CFA_UNDEFINED:
        set_register(machine, number, HS_CFI_UNDEFINED, 0);
        break;
    case CFA_SAME_VALUE:
        set_register(machine, number, HS_CFI_SAME, 0);
        break;
    case CFA_REGISTER:
        set_register(machine, number, HS_CFI_REGISTER, (int64_t)(hs_read_uleb128(reader) & 0xffff));
        break;
    case CFA_EXPRESSION:
        set_register(machine, number, HS_CFI_AT_EXPRESSION, skip_expression(machine, reader));
        break;
    case CFA_VAL_EXPRESSION:
        set_register(machine, number, HS_CFI_VALUE_EXPRESSION, skip_expression(machine, reader));
        break;
    }
}

static void execute(struct cfi_row_machine *machine, struct hs_reader *reader, uint8_t opcode)
{
    switch (opcode) {
    case CFA_NOP:
    case CFA_GNU_WINDOW_SAVE:
        break;
    case CFA_SET_LOC:
        machine->location = hs_cfi_read_pointer(reader, machine->fde->pointer_encoding, machine->section);
        break;
    case CFA_ADVANCE_LOC1:
        advance(machine, hs_read_u8(reader));
        break;
    case CFA_ADVANCE_LOC2:
        advance(machine, hs_read_u16(reader));
        break;
    case CFA_ADVANCE_LOC4:
        advance(machine, hs_read_u32(reader));
        break;
    case CFA_REMEMBER_STATE:
        remember(machine);
        break;
    case CFA_RESTORE_STATE:
        restore_remembered(machine);
        break;
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
    case CFA_DEF_CFA_REGISTER:
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF:
    case CFA_DEF_CFA_EXPRESSION:
        execute_cfa(machine, reader, opcode);
        break;
    case CFA_GNU_ARGS_SIZE:
        hs_read_uleb128(reader);
        break;
    case CFA_OFFSET_EXTENDED:
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
    case CFA_RESTORE_EXTENDED:
    case CFA_UNDEFINED:
    case CFA_SAME_VALUE:
    case CFA_REGISTER:
    case CFA_EXPRESSION:
    case CFA_VAL_EXPRESSION:
        execute_register(machine, reader, opcode);
        break;
    default:
        machine->failed = true;
    }
}

static bool run(struct cfi_row_machine *machine, const uint8_t *start, const uint8_t *end)
{
    struct hs_reader reader = {start, end, false};
    while (reader.at < reader.end && machine->location <= machine->address && !machine->failed && !reader.failed) {
        uint8_t byte = hs_read_u8(&reader);
        uint8_t operand = byte & 0x3f;
        switch (byte & 0xc0) {
        case CFA_ADVANCE_LOC:
            advance(machine, operand);
            break;
        case CFA_OFFSET:
            set_register(machine, operand, HS_CFI_AT_OFFSET, factored(machine, (int64_t)hs_read_uleb128(&reader)));
            break;
        case CFA_RESTORE:
            restore_register(machine, operand);
            break;
        default:
            execute(machine, &reader, byte);
        }
    }
    return !machine->failed && !reader.failed;
}

bool hs_cfi_row_at(const struct hs_cfi_section *section, const struct hs_fde *fde, uintptr_t address,
                   struct hs_cfi_row *cfi_row)
{
    struct cfi_row_machine machine;
    machine.section = section;
    machine.fde = fde;
    machine.cfi_row = cfi_row;
    machine.initial = NULL;
    machine.address = address;
    machine.location = fde->start;
    machine.remembered = 0;
    machine.failed = false;
    *cfi_row = (struct hs_cfi_row){0};
    if (!HS_MAY_LOOK_AT((size_t)(fde->instructions_end - fde->instructions)) ||
        !run(&machine, fde->initial_instructions, fde->initial_instructions_end))
        return false;
    struct hs_cfi_row initial = *cfi_row;
    machine.initial = &initial;
    machine.location = fde->start;
    return run(&machine, fde->instructions, fde->instructions_end);
}
