// SPDX-License-Identifier: MIT OR Apache-2.0
//
// AArch64, from the encoding index of the Arm Architecture Reference Manual (A64, section C4.1), with the scalar writes
// of SVE and SME. Pointer authentication of x30 is invisible here: signed or not, it is the same return address.
#include "arch/aarch64/decode.h"

static void flow(struct a64 *a64, enum hs_flow kind)
{
    a64->instruction->flow = (uint8_t)kind;
}

static void flow_to(struct a64 *a64, enum hs_flow kind, int32_t words)
{
    flow(a64, kind);
    a64->instruction->target = a64->address + (uintptr_t)((intptr_t)words * 4);
}

static void call(struct a64 *a64, int32_t words, bool direct)
{
    flow(a64, HS_FLOW_CALL);
    if (direct)
        a64->instruction->target = a64->address + (uintptr_t)((intptr_t)words * 4);
    clobber(a64, A64_LR);
}

// Data processing with immediates

static void add_immediate(struct a64 *a64)
{
    bool sets_flags = bit(a64, 29), is_64_bits = bit(a64, 31);
    int32_t value = (int32_t)(bits(a64, 10, 12) << (bit(a64, 22) ? 12 : 0));
    if (sets_flags && rd(a64) == A64_ZERO)
        return;
    if (!is_64_bits)
        clobber_or_sp(a64, rd(a64));
    else
        add(a64, rd(a64), rn(a64), bit(a64, 30) ? -value : value);
}

// The value of a logical immediate: a run of ones, rotated within an element, repeated.
static bool logical_value(const struct a64 *a64, uint64_t *value)
{
    unsigned n = bits(a64, 22, 1), rotation = bits(a64, 16, 6), run = bits(a64, 10, 6);
    unsigned size_bits = n << 6 | (~run & 0x3f);
    if (size_bits < 2)
        return false;
    unsigned element = 1u << (31 - __builtin_clz(size_bits));
    unsigned ones = (run & (element - 1)) + 1;
    rotation &= element - 1;
    if (ones == element)
        return false;
    uint64_t pattern = (UINT64_C(1) << ones) - 1;
    if (rotation)
        pattern = pattern >> rotation | pattern << (element - rotation);
    if (element < 64)
        pattern &= (UINT64_C(1) << element) - 1;
    for (; element < 64; element *= 2)
        pattern |= pattern << element;
    *value = pattern;
    return true;
}

static bool logical_immediate(struct a64 *a64)
{
    enum { AND, ORR, EOR, ANDS };
    unsigned operation = bits(a64, 29, 2);
    uint64_t value;
    if (!logical_value(a64, &value) || (!bit(a64, 31) && bit(a64, 22)))
        return false;
    if (!bit(a64, 31))
        value = (uint32_t)value;
    if (operation == ANDS)
        clobber(a64, rd(a64));
    else if (operation == ORR && rn(a64) == A64_ZERO && rd(a64) != A64_SP)
        set(a64, rd(a64), (int64_t)value);
    else if (operation == ORR && bit(a64, 31) && rd(a64) != A64_SP && value <= INT32_MAX)
        hs_effect__add(a64->instruction, HS_EFFECT_OR, rd(a64), rn(a64), 0, (int32_t)value);
    else
        clobber_or_sp(a64, rd(a64));
    return true;
}

// `movz` leaves in the context what it set, so that the `movk` behind it can be exact: bits 0-15 the value, bits 16-20
// the register, bit 21: there is one.
#define CONTEXT_OF(reg, value) ((uint32_t)(value) | (uint32_t)(reg) << 16 | 1u << 21)

static void move_wide(struct a64 *a64, uint32_t context)
{
    enum { MOVN = 0, MOVZ = 2, MOVK = 3 };
    unsigned operation = bits(a64, 29, 2), shift = bits(a64, 21, 2) * 16, reg = rd(a64);
    uint64_t value = (uint64_t)bits(a64, 5, 16) << shift;
    if (operation == MOVK && shift == 16 && context == CONTEXT_OF(reg, context & 0xffff)) {
        set(a64, reg, (int64_t)(value | (context & 0xffff)));
    } else if (operation == MOVK) {
        clobber(a64, reg);
    } else {
        value = operation == MOVN ? ~value : value;
        set(a64, reg, (int64_t)(bit(a64, 31) ? value : (uint32_t)value));
        if (operation == MOVZ && shift == 0)
            *a64->context = CONTEXT_OF(reg, value);
    }
}

static void bitfield(struct a64 *a64)
{
    unsigned rotation = bits(a64, 16, 6), last = bits(a64, 10, 6);
    bool unsigned_64_bits = bits(a64, 29, 3) == 6;
    if (unsigned_64_bits && last != 63 && last + 1 == rotation && rn(a64) != A64_ZERO && rd(a64) != A64_ZERO)
        hs_effect__add(a64->instruction, HS_EFFECT_SHIFT_LEFT, rd(a64), rn(a64), 0, (int32_t)(63 - last));
    else
        clobber(a64, rd(a64));
}

static void compute_address(struct a64 *a64)
{
    int32_t distance = hs_bits__signed(a64->word, 5, 19) * 4 + (int32_t)bits(a64, 29, 2);
    bool pages = bit(a64, 31);
    if (rd(a64) == A64_ZERO)
        return;
    clobber(a64, rd(a64));
    if (pages)
        a64->instruction->target = (a64->address & ~(uintptr_t)4095) + (uintptr_t)((intptr_t)distance * 4096);
    else
        a64->instruction->target = a64->address + (uintptr_t)(intptr_t)distance;
}

static bool data_immediate(struct a64 *a64, uint32_t context)
{
    switch (bits(a64, 23, 3)) {
    case 0:
    case 1: // adr, adrp
        compute_address(a64);
        return true;
    case 2:
        add_immediate(a64);
        return true;
    case 3: // addg, subg; smax and its kin
        if (bit(a64, 22))
            clobber(a64, rd(a64));
        else
            clobber_or_sp(a64, rd(a64));
        return true;
    case 4:
        return logical_immediate(a64);
    case 5:
        if (bits(a64, 29, 2) == 1 || (!bit(a64, 31) && bit(a64, 22)))
            return false;
        move_wide(a64, context);
        return true;
    case 6:
        bitfield(a64);
        return true;
    default: // extr
        clobber(a64, rd(a64));
        return true;
    }
}

// Branches, exceptions and system instructions

static bool exception(struct a64 *a64)
{
    switch (a64->word >> 21 & 7) {
    case 0: // svc, hvc, smc
        clobber(a64, 0);
        return (a64->word & 3) != 0;
    case 1: // brk
    case 2: // hlt
    case 5: // dcps
        flow(a64, HS_FLOW_STOP);
        return true;
    default: // tcancel
        return true;
    }
}

static void hint(struct a64 *a64)
{
    enum { CHKFEAT = 40 };
    unsigned number = bits(a64, 5, 7);
    if (number == 8 || number == 10 || number == 12 || number == 14) // pacia1716 and its kin
        clobber(a64, 17);
    else if (number == CHKFEAT)
        clobber(a64, 16);
}

static void system_instruction(struct a64 *a64)
{
    if ((a64->word & 0xfffff01f) == 0xd503201f) {
        hint(a64);
        return;
    }
    bool reads = bit(a64, 21), pair = bit(a64, 22);
    if (!reads)
        return;
    clobber(a64, rd(a64));
    if (pair && rd(a64) < A64_LR)
        clobber(a64, rd(a64) + 1);
}

static bool branch_to_register(struct a64 *a64)
{
    if (bits(a64, 16, 5) != 0x1f)
        return false;
    switch (bits(a64, 21, 4)) {
    case 0: // br, braaz
    case 8: // braa
        flow(a64, rn(a64) == A64_LR ? HS_FLOW_RETURN : HS_FLOW_INDIRECT);
        return true;
    case 1:
    case 9:
        call(a64, 0, false);
        return true;
    case 2: // ret, retaa
    case 4: // eret, eretaa
        flow(a64, HS_FLOW_RETURN);
        return true;
    case 5: // drps
        flow(a64, HS_FLOW_STOP);
        return true;
    default:
        return false;
    }
}

static bool branch(struct a64 *a64)
{
    switch (a64->word >> 24) {
    case 0x54: // b.cond, bc.cond
        flow_to(a64, HS_FLOW_BRANCH, hs_bits__signed(a64->word, 5, 19));
        a64->instruction->unless_equal = bits(a64, 0, 4) == 1;
        return true;
    case 0x55: // retaasppc
        flow(a64, HS_FLOW_RETURN);
        return (a64->word & 0xffc0001f) == 0x5500001f;
    case 0xd4:
        return exception(a64);
    case 0xd5:
        system_instruction(a64);
        return true;
    case 0xd6:
    case 0xd7:
        return branch_to_register(a64);
    default:
        break;
    }
    switch (bits(a64, 29, 2) << 1 | bits(a64, 25, 1)) {
    case 0:
    case 1:
        if (bit(a64, 31))
            call(a64, hs_bits__signed(a64->word, 0, 26), true);
        else
            flow_to(a64, HS_FLOW_JUMP, hs_bits__signed(a64->word, 0, 26));
        return true;
    case 2: // cbz
        flow_to(a64, HS_FLOW_BRANCH, hs_bits__signed(a64->word, 5, 19));
        return true;
    case 3: // tbz
        flow_to(a64, HS_FLOW_BRANCH, hs_bits__signed(a64->word, 5, 14));
        return true;
    case 6: // cb<cc>, cbb<cc>, cbh<cc>
        flow_to(a64, HS_FLOW_BRANCH, hs_bits__signed(a64->word, 5, 9));
        return true;
    default:
        return false;
    }
}

// Data processing with registers

static void logical_register(struct a64 *a64)
{
    bool copies = (a64->word & 0xffe0ffe0) == 0xaa0003e0; // orr rd, xzr, rm
    if (copies && rm(a64) == A64_ZERO)
        set(a64, rd(a64), 0);
    else if (copies && rd(a64) != A64_ZERO)
        add(a64, rd(a64), rm(a64), 0);
    else
        clobber(a64, rd(a64));
}

// add and sub of [sp or register] and a register that is neither shifted nor extended.
static void add_whole_register(struct a64 *a64)
{
    bool subtracts = bit(a64, 30);
    if (rm(a64) == A64_ZERO)
        add(a64, rd(a64), rn(a64), 0);
    else
        hs_effect__add(a64->instruction, subtracts ? HS_EFFECT_SUB_REGISTER : HS_EFFECT_ADD_REGISTER, rd(a64), rn(a64),
                       rm(a64), 0);
}

static void add_shifted(struct a64 *a64)
{
    bool whole = bit(a64, 31) && bits(a64, 10, 6) == 0, subtracts = bit(a64, 30);
    if (rd(a64) == A64_ZERO) {
        if (whole && subtracts && bit(a64, 29) && rn(a64) != A64_ZERO && rm(a64) != A64_ZERO)
            hs_instruction__compare(a64->instruction, rn(a64), rm(a64));
        return;
    }
    if (whole && rn(a64) != A64_ZERO)
        add_whole_register(a64);
    else if (whole && !subtracts && rm(a64) != A64_ZERO)
        add(a64, rd(a64), rm(a64), 0);
    else
        clobber(a64, rd(a64));
}

static void add_extended(struct a64 *a64)
{
    bool whole = bit(a64, 31) && bits(a64, 13, 2) == 3 && bits(a64, 10, 3) == 0, sets_flags = bit(a64, 29);
    if (sets_flags && rd(a64) == A64_ZERO) {
        if (whole && bit(a64, 30) && rm(a64) != A64_ZERO) // cmp sp, register
            hs_instruction__compare(a64->instruction, rn(a64), rm(a64));
        return;
    }
    if (whole)
        add_whole_register(a64);
    else
        clobber_or_sp(a64, rd(a64));
}

static void add_with_carry(struct a64 *a64)
{
    bool sets_flags = bit(a64, 29);
    if (sets_flags && bits(a64, 10, 5) != 0) // rmif, setf8
        return;
    if (!sets_flags && bits(a64, 13, 3) == 1) // addpt, subpt
        clobber_or_sp(a64, rd(a64));
    else
        clobber(a64, rd(a64));
}

static void one_or_two_sources(struct a64 *a64)
{
    bool one_source = bit(a64, 30), authenticates = bits(a64, 16, 5) == 1;
    if (one_source && authenticates && rd(a64) == A64_LR)
        return;
    if (!one_source && bits(a64, 10, 6) == 4) // irg
        clobber_or_sp(a64, rd(a64));
    else
        clobber(a64, rd(a64));
}

static bool data_register(struct a64 *a64)
{
    if (!bit(a64, 28)) {
        if (!bit(a64, 24))
            logical_register(a64);
        else if (!bit(a64, 21))
            add_shifted(a64);
        else
            add_extended(a64);
        return true;
    }
    switch (bits(a64, 21, 4)) {
    case 0:
        add_with_carry(a64);
        return true;
    case 2: // conditional compare
        return true;
    case 6:
        one_or_two_sources(a64);
        return true;
    case 4: // conditional select
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15: // multiply and add
        clobber(a64, rd(a64));
        return true;
    default:
        return false;
    }
}

// Vectors and floating point: only what writes general registers matters.

static void floating_point(struct a64 *a64)
{
    if ((a64->word & 0xbfe0ec00) == 0x0e002c00) { // smov, umov
        clobber(a64, rd(a64));
        return;
    }
    if ((a64->word & 0x7f000000) != 0x1e000000)
        return;
    unsigned operation = bits(a64, 16, 3);
    bool to_integer = operation <= 1 || (bit(a64, 21) && operation >= 4 && operation <= 6);
    if (to_integer && (!bit(a64, 21) || bits(a64, 10, 6) == 0))
        clobber(a64, rd(a64));
}

static void scalable_vectors(struct a64 *a64)
{
    uint32_t word = a64->word;
    switch (word >> 24) {
    case 0x04:
        if (!bit(a64, 21))
            return;
        if (bits(a64, 12, 4) == 5) { // addvl, addpl; rdvl
            if (bit(a64, 23))
                clobber(a64, rd(a64));
            else
                clobber_or_sp(a64, rd(a64));
        } else if (bits(a64, 12, 4) == 15 || bits(a64, 11, 5) == 28) { // cnt, inc, dec, and saturating
            clobber(a64, rd(a64));
        }
        return;
    case 0x05: // lasta, lastb, clasta, clastb
        if ((word & 0xff3ee000) == 0x0530a000 || (word & 0xff3ee000) == 0x0520a000)
            clobber(a64, rd(a64));
        return;
    case 0x25: { // cntp, incp, decp, and saturating
        bool counts = bits(a64, 19, 3) == 4 && bits(a64, 14, 2) == 2;
        bool steps = bits(a64, 19, 3) == 5 && bits(a64, 11, 5) == 17;
        if (counts || steps)
            clobber(a64, rd(a64));
        return;
    }
    default:
        return;
    }
}

static bool reserved(struct a64 *a64)
{
    if (a64->word >> 16 == 0) { // udf
        flow(a64, HS_FLOW_STOP);
        return true;
    }
    if ((a64->word & 0xffff8fe0) == 0xc04c03e0) // movt
        clobber(a64, rd(a64));
    return bit(a64, 31); // the matrix extension
}

static bool decode(const uint8_t *code, size_t length, uintptr_t address, uint32_t *context,
                   struct hs_instruction *instruction)
{
    hs_instruction__clear(instruction, 0);
    uint32_t before = *context;
    *context = 0;
    if (length < 4)
        return false;
    struct a64 a64 = {instruction, hs_bits__little32(code), address, context};
    bool known;
    switch (bits(&a64, 25, 4)) {
    case 0:
        known = reserved(&a64);
        break;
    case 2:
        scalable_vectors(&a64);
        known = true;
        break;
    case 8:
    case 9:
        known = data_immediate(&a64, before);
        break;
    case 10:
    case 11:
        known = branch(&a64);
        break;
    case 4:
    case 6:
    case 12:
    case 14:
        known = hs_aarch64_decode_memory(&a64);
        break;
    case 5:
    case 13:
        known = data_register(&a64);
        break;
    case 7:
    case 15:
        floating_point(&a64);
        known = true;
        break;
    default:
        known = false;
    }
    if (!known)
        hs_instruction__clear(instruction, 0);
    else
        instruction->size = 4;
    return known;
}

// A store of x30 to the stack, or of a pair with it.
static bool saves_return_address(uint32_t word)
{
    bool pair = (word & 0xfe4003e0) == 0xa80003e0 && ((word & 31) == A64_LR || (word >> 10 & 31) == A64_LR);
    bool single =
        (word & 0xffc003ff) == 0xf90003fe || (word & 0xffe00fff) == 0xf8000ffe || (word & 0xfff00fff) == 0xf8100ffe;
    return pair || single;
}

static bool lowers_sp(uint32_t word)
{
    bool by_constant = (word & 0xff8003ff) == 0xd10003ff && word & 0x003ffc00;
    bool by_register = (word & 0xffe0e3ff) == 0xcb2063ff;
    bool pushes = (word & 0x3be003e0) == 0x29a003e0 || (word & 0x3b700fe0) == 0x38100fe0; // a pair, one
    return by_constant || by_register || pushes;
}

// A landing place of calls, or a way to where room is made and the return address saved, which is done nowhere else.
static bool starts_function(const uint8_t *code, size_t length)
{
    enum { NEAR = 16 };
    bool room = false;
    for (size_t i = 0; i < NEAR && length >= (i + 1) * 4; i++) {
        uint32_t word = hs_bits__little32(code + i * 4);
        bool bti_c = (word & 0xffffff7f) == 0xd503245f, signs_lr = (word & 0xffffffbf) == 0xd503233f;
        bool branches = (word & 0x7c000000) == 0x34000000 || word >> 24 == 0x54;
        bool goes_elsewhere = (word >> 26 & 7) == 5 && !branches && word >> 24 != 0xd5;
        if (bti_c || signs_lr)
            return i == 0;
        room = room || lowers_sp(word);
        if (room && saves_return_address(word))
            return true;
        if (goes_elsewhere || word == 0)
            return false;
    }
    return false;
}

static bool ends_with_call(const uint8_t *end, size_t length)
{
    if (length < 4)
        return false;
    uint32_t word = hs_bits__little32(end - 4);
    return word >> 26 == 0x25 || (word & 0xfffffc1f) == 0xd63f0000 || (word & 0xfefff800) == 0xd63f0800;
}

const struct hs_decoder hs_decoder_aarch64 = {
    .name = "aarch64",
    .word_size = 8,
    .alignment = 4,
    .sp = A64_SP,
    .fp = A64_FP,
    .ra = A64_LR,
    .call_size = 4,
    .callee_saved = UINT64_C(0x7ff) << 19 | UINT64_C(1) << A64_SP, // x19-x29
    .entry_sp_from_cfa = 0,
    .decode = decode,
    .starts_function = starts_function,
    .ends_with_call = ends_with_call,
};
