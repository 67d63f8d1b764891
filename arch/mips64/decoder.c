// SPDX-License-Identifier: MIT OR Apache-2.0
//
// MIPS64 release 2 with the additions of its common processors (Octeon), and the compact branches of release 6.
//
// Some encodings mean one thing in release 2 and another in release 6; compilers emit only one of the two, and where
// that does not tell (Octeon's bbit against release 6's bc) the operands do.
#include "arch/decode_bits.h"

enum { ZERO = 0, V0 = 2, A3 = 7, T3 = 15, T9 = 25, GP = 28, SP = 29, S8 = 30, RA = 31 };

// Primary opcodes.
enum {
    SPECIAL = 0x00,
    REGIMM = 0x01,
    J = 0x02,
    JAL = 0x03,
    BEQ = 0x04,
    BNE = 0x05,
    BLEZ = 0x06,
    BGTZ = 0x07,
    ADDI = 0x08,
    ADDIU = 0x09,
    SLTI = 0x0a,
    SLTIU = 0x0b,
    ANDI = 0x0c,
    ORI = 0x0d,
    XORI = 0x0e,
    LUI = 0x0f,
    COP0 = 0x10,
    COP1 = 0x11,
    COP2 = 0x12,
    COP1X = 0x13,
    BEQL = 0x14,
    BNEL = 0x15,
    BLEZL = 0x16,
    BGTZL = 0x17,
    DADDI = 0x18,
    DADDIU = 0x19,
    LDL = 0x1a,
    LDR = 0x1b,
    SPECIAL2 = 0x1c,
    DAUI = 0x1d,
    MSA = 0x1e,
    SPECIAL3 = 0x1f,
    LB = 0x20,
    LWU = 0x27,
    SB = 0x28,
    CACHE = 0x2f,
    LL = 0x30,
    LWC1 = 0x31,
    BC = 0x32, // release 6; Octeon: bbit0
    PREF = 0x33,
    LLD = 0x34,
    LDC1 = 0x35,
    BEQZC = 0x36, // release 6, with jic; Octeon: bbit032
    LD = 0x37,
    SC = 0x38,
    SWC1 = 0x39,
    BALC = 0x3a, // release 6; Octeon: bbit1
    PCREL = 0x3b,
    SCD = 0x3c,
    SDC1 = 0x3d,
    BNEZC = 0x3e, // release 6, with jialc; Octeon: bbit132
    SD = 0x3f,
};

static unsigned opcode(uint32_t word)
{
    return word >> 26;
}

static unsigned rs(uint32_t word)
{
    return hs_bits__field(word, 21, 5);
}

static unsigned rt(uint32_t word)
{
    return hs_bits__field(word, 16, 5);
}

static unsigned rd(uint32_t word)
{
    return hs_bits__field(word, 11, 5);
}

static unsigned shift_amount(uint32_t word)
{
    return hs_bits__field(word, 6, 5);
}

static unsigned function(uint32_t word)
{
    return hs_bits__field(word, 0, 6);
}

static int32_t immediate(uint32_t word)
{
    return hs_bits__signed(word, 0, 16);
}

static uintptr_t relative(uintptr_t address, uint32_t word, unsigned width)
{
    return address + 4 + (uintptr_t)((intptr_t)hs_bits__signed(word, 0, width) * 4);
}

static uintptr_t in_region(uintptr_t address, uint32_t word)
{
    return ((address + 4) & ~(uintptr_t)0x0fffffff) | (uintptr_t)hs_bits__field(word, 0, 26) << 2;
}

// Nothing can be written to $0.
static void effect(struct hs_instruction *instruction, enum hs_effect_kind kind, unsigned reg, unsigned source,
                   unsigned other, int32_t value)
{
    if (reg != ZERO)
        hs_effect__add(instruction, kind, reg, source, other, value);
}

static bool clobber(struct hs_instruction *instruction, unsigned reg)
{
    effect(instruction, HS_EFFECT_CLOBBER, reg, 0, 0, 0);
    return true;
}

static bool clobber_two(struct hs_instruction *instruction, unsigned first, unsigned second)
{
    clobber(instruction, first);
    return first == second || clobber(instruction, second);
}

// reg := source + value, where the source may be $0.
static bool add(struct hs_instruction *instruction, unsigned reg, unsigned source, int32_t value)
{
    effect(instruction, source == ZERO ? HS_EFFECT_SET : HS_EFFECT_ADD, reg, source, 0, value);
    return true;
}

static bool go(struct hs_instruction *instruction, enum hs_flow flow, uintptr_t target)
{
    instruction->flow = (uint8_t)flow;
    instruction->target = target;
    instruction->delay_slot = flow != HS_FLOW_STOP;
    return true;
}

static bool go_compact(struct hs_instruction *instruction, enum hs_flow flow, uintptr_t target)
{
    go(instruction, flow, target);
    instruction->delay_slot = false;
    if (flow == HS_FLOW_CALL)
        clobber(instruction, RA);
    return true;
}

static bool branch_likely(struct hs_instruction *instruction, uintptr_t target)
{
    instruction->likely = true;
    return go(instruction, HS_FLOW_BRANCH, target);
}

static bool call(struct hs_instruction *instruction, unsigned link, uintptr_t target)
{
    clobber(instruction, link);
    return go(instruction, HS_FLOW_CALL, target);
}

static bool jump_register(struct hs_instruction *instruction, unsigned reg)
{
    return go(instruction, reg == RA ? HS_FLOW_RETURN : HS_FLOW_INDIRECT, 0);
}

// The kernel keeps what calls keep, and s-registers.
static bool system_call(struct hs_instruction *instruction)
{
    for (unsigned reg = 1; reg <= T9; reg++)
        if (reg <= 3 || reg == A3 || (reg >= 8 && reg <= 15) || reg >= 24)
            clobber(instruction, reg);
    return true;
}

// Sums and moves of two registers.
static bool add_registers(struct hs_instruction *instruction, uint32_t word)
{
    if (rt(word) == ZERO)
        return add(instruction, rd(word), rs(word), 0);
    if (rs(word) == ZERO)
        return add(instruction, rd(word), rt(word), 0);
    effect(instruction, HS_EFFECT_ADD_REGISTER, rd(word), rs(word), rt(word), 0);
    return true;
}

static bool subtract_registers(struct hs_instruction *instruction, uint32_t word)
{
    if (rt(word) == ZERO)
        return add(instruction, rd(word), rs(word), 0);
    if (rs(word) == ZERO)
        return clobber(instruction, rd(word));
    effect(instruction, HS_EFFECT_SUB_REGISTER, rd(word), rs(word), rt(word), 0);
    return true;
}

static bool or_registers(struct hs_instruction *instruction, uint32_t word)
{
    if (rs(word) != ZERO && rt(word) != ZERO)
        return clobber(instruction, rd(word));
    return add_registers(instruction, word);
}

static bool shift_left(struct hs_instruction *instruction, uint32_t word, unsigned amount)
{
    effect(instruction, HS_EFFECT_SHIFT_LEFT, rd(word), rt(word), 0, (int32_t)amount);
    return true;
}

static bool special(struct hs_instruction *instruction, uint32_t word)
{
    switch (function(word)) {
    case 0x08: // jr
        return jump_register(instruction, rs(word));
    case 0x09: // jalr
        if (rd(word) == ZERO)
            return jump_register(instruction, rs(word));
        return call(instruction, rd(word), 0);
    case 0x0c:
        return system_call(instruction);
    case 0x0d: // break
    case 0x0e: // sdbbp of release 6
        return go(instruction, HS_FLOW_STOP, 0);
    case 0x0f: // sync
    case 0x30: // tge, tgeu, tlt, tltu
    case 0x31:
    case 0x32:
    case 0x33:
    case 0x36: // tne
        return true;
    case 0x34: // teq
        return rs(word) != rt(word) || go(instruction, HS_FLOW_STOP, 0);
    case 0x25:
        return or_registers(instruction, word);
    case 0x21: // addu: 32 bits
        if (rs(word) == ZERO && rt(word) == ZERO)
            return add(instruction, rd(word), ZERO, 0);
        return clobber(instruction, rd(word));
    case 0x2d: // daddu
        return add_registers(instruction, word);
    case 0x2f: // dsubu
        return subtract_registers(instruction, word);
    case 0x38: // dsll
        return shift_left(instruction, word, shift_amount(word));
    case 0x3c: // dsll32
        return shift_left(instruction, word, shift_amount(word) + 32);
    default: // mult, div, mthi and mtlo of release 2 have $0 here
        return clobber(instruction, rd(word));
    }
}

// `bal` to the instruction after its delay slot only asks for the pc.
static bool call_if_sign(struct hs_instruction *instruction, uint32_t word, uintptr_t address)
{
    uintptr_t target = relative(address, word, 16);
    if (target == address + 8)
        return clobber(instruction, RA);
    return call(instruction, RA, target);
}

static bool regimm(struct hs_instruction *instruction, uint32_t word, uintptr_t address)
{
    uintptr_t target = relative(address, word, 16);
    switch (rt(word)) {
    case 0x00: // bltz
        return go(instruction, HS_FLOW_BRANCH, target);
    case 0x01: // bgez
        return go(instruction, rs(word) == ZERO ? HS_FLOW_JUMP : HS_FLOW_BRANCH, target);
    case 0x02: // bltzl
    case 0x03: // bgezl
        return branch_likely(instruction, target);
    case 0x06: // dahi
    case 0x1e: // dati
        return clobber(instruction, rs(word));
    case 0x10: // bltzal; with $0 (nal) it only asks for the pc
    case 0x12:
        if (rs(word) == ZERO)
            return clobber(instruction, RA);
        return call_if_sign(instruction, word, address);
    case 0x11: // bgezal, bal
    case 0x13:
        return call_if_sign(instruction, word, address);
    case 0x17: // sigrie
        return go(instruction, HS_FLOW_STOP, 0);
    case 0x1c: // bposge32
    case 0x1d: // bposge64
        return go(instruction, HS_FLOW_BRANCH, target);
    case 0x08: // traps, and synci
    case 0x09:
    case 0x0a:
    case 0x0b:
    case 0x0c:
    case 0x0e:
    case 0x1f:
        return true;
    default:
        return false;
    }
}

static bool branch_if_equal(struct hs_instruction *instruction, uint32_t word, uintptr_t target)
{
    return go(instruction, rs(word) == rt(word) ? HS_FLOW_JUMP : HS_FLOW_BRANCH, target);
}

// blez and bgtz have no second register; release 6 made compact branches, and calls, of those that have.
static bool branch_or_compact_call(struct hs_instruction *instruction, uint32_t word, uintptr_t target)
{
    if (rt(word) == ZERO)
        return go(instruction, HS_FLOW_BRANCH, target);
    bool calls = rs(word) == ZERO || rs(word) == rt(word);
    return go_compact(instruction, calls ? HS_FLOW_CALL : HS_FLOW_BRANCH, target);
}

static bool likely_or_compact(struct hs_instruction *instruction, uint32_t word, uintptr_t target)
{
    if (rt(word) == ZERO)
        return branch_likely(instruction, target);
    return go_compact(instruction, HS_FLOW_BRANCH, target);
}

// Release 6 compares two registers, in this order, where release 2 adds and traps: what no compiler does.
static bool trapping_add_or_compact(struct hs_instruction *instruction, uint32_t word, uintptr_t address)
{
    if (rs(word) != ZERO && rs(word) < rt(word) && rt(word) != SP)
        return go_compact(instruction, HS_FLOW_BRANCH, relative(address, word, 16));
    return add(instruction, rt(word), rs(word), immediate(word));
}

// addiu works in 32 bits; constants are built with it all the same.
static bool add_32(struct hs_instruction *instruction, uint32_t word)
{
    if (rs(word) == SP)
        return clobber(instruction, rt(word));
    return add(instruction, rt(word), rs(word), immediate(word));
}

static bool or_immediate(struct hs_instruction *instruction, uint32_t word)
{
    int32_t value = (int32_t)(word & 0xffff);
    effect(instruction, rs(word) == ZERO ? HS_EFFECT_SET : HS_EFFECT_OR, rt(word), rs(word), 0, value);
    return true;
}

// lui; with a register it is release 6's aui.
static bool load_upper(struct hs_instruction *instruction, uint32_t word)
{
    return add(instruction, rt(word), rs(word), (int32_t)(word << 16));
}

// Release 6's jump is almost never so far that its offset's upper bits differ from its sign; Octeon's branch has a
// register there, which is neither $0 nor ra.
static bool is_wide_branch(uint32_t word)
{
    return rs(word) == ZERO || rs(word) == RA;
}

static bool bit_branch_or_compact(struct hs_instruction *instruction, uint32_t word, uintptr_t address)
{
    if (is_wide_branch(word))
        return go_compact(instruction, opcode(word) == BC ? HS_FLOW_JUMP : HS_FLOW_CALL, relative(address, word, 26));
    return go(instruction, HS_FLOW_BRANCH, relative(address, word, 16));
}

// beqzc, jic, bbit032 and bnezc, jialc, bbit132: the second register is part of release 6's offset, or Octeon's bit.
static bool upper_bit_branch_or_compact(struct hs_instruction *instruction, uint32_t word, uintptr_t address)
{
    if (rs(word) == ZERO && opcode(word) == BNEZC)
        return go_compact(instruction, HS_FLOW_CALL, 0);
    if (rs(word) == ZERO)
        return go_compact(instruction, rt(word) == RA ? HS_FLOW_RETURN : HS_FLOW_INDIRECT, 0);
    if (rt(word) == 0 || rt(word) == 31)
        return go_compact(instruction, HS_FLOW_BRANCH, relative(address, word, 21));
    return go(instruction, HS_FLOW_BRANCH, relative(address, word, 16));
}

static bool coprocessor(struct hs_instruction *instruction, uint32_t word, uintptr_t address)
{
    unsigned kind = rs(word);
    if (kind <= 0x03) // mfc, dmfc, cfc, mfhc
        return clobber(instruction, rt(word));
    if (opcode(word) == COP0) {
        if (kind == 0x0b) // di, ei
            return clobber(instruction, rt(word));
        return kind < 0x10 || function(word) != 0x18 || go(instruction, HS_FLOW_STOP, 0); // eret
    }
    uintptr_t target = relative(address, word, 16);
    if (kind == 0x08 && rt(word) & 2)
        return branch_likely(instruction, target);
    bool vector = opcode(word) == COP1 && (kind == 0x0b || kind == 0x0f || kind >= 0x18);
    if (kind == 0x08 || kind == 0x09 || kind == 0x0d || vector)
        return go(instruction, HS_FLOW_BRANCH, target);
    return true;
}

static bool special2(struct hs_instruction *instruction, uint32_t word)
{
    switch (function(word)) {
    case 0x00: // madd, maddu, msub, msubu: the accumulator
    case 0x01:
    case 0x04:
    case 0x05:
    case 0x08: // Octeon's multiplier: mtm0, mtp0, ...
    case 0x09:
    case 0x0a:
    case 0x0b:
    case 0x0c:
    case 0x0d:
    case 0x18: // saa, saad
    case 0x19:
        return true;
    case 0x3f: // sdbbp
        return go(instruction, HS_FLOW_STOP, 0);
    case 0x02: // mul
    case 0x03: // dmul
    case 0x28: // baddu, pop, dpop, seq, sne
    case 0x2a:
    case 0x2b:
    case 0x2c:
    case 0x2d:
        return clobber(instruction, rd(word));
    case 0x2e: // seqi, snei, cins, cins32, exts, exts32
    case 0x2f:
    case 0x32:
    case 0x33:
    case 0x3a:
    case 0x3b:
        return clobber(instruction, rt(word));
    default: // clz and its like name their destination twice
        return clobber_two(instruction, rd(word), rt(word));
    }
}

static bool special3(struct hs_instruction *instruction, uint32_t word)
{
    switch (function(word)) {
    case 0x00: // ext, dextm, dextu, dext
    case 0x01:
    case 0x02:
    case 0x03:
    case 0x04: // ins, dinsm, dinsu, dins
    case 0x05:
    case 0x06:
    case 0x07:
    case 0x3b: // rdhwr
    case 0x26: // sc, scd, ll, lld of release 6
    case 0x27:
    case 0x36:
    case 0x37:
        return clobber(instruction, rt(word));
    case 0x20: // wsbh, seb, seh
    case 0x24: // dsbh, dshd
    case 0x0a: // lwx, lhx, lbux, ldx
        return clobber(instruction, rd(word));
    case 0x25: // cache, pref of release 6
    case 0x35:
        return true;
    default: // the DSP extension
        return clobber_two(instruction, rd(word), rt(word));
    }
}

// copy_s, copy_u and cfcmsa are the vector instructions that write to a general register.
static bool vector(struct hs_instruction *instruction, uint32_t word)
{
    unsigned operation = hs_bits__field(word, 22, 4);
    bool copies = operation == 2 || operation == 3 || hs_bits__field(word, 16, 10) == 0x7e;
    return function(word) != 0x19 || !copies || clobber(instruction, shift_amount(word));
}

static bool memory(struct hs_instruction *instruction, uint32_t word)
{
    switch (opcode(word)) {
    case LD:
        effect(instruction, HS_EFFECT_LOAD, rt(word), rs(word), 0, immediate(word));
        return true;
    case SD:
        effect(instruction, HS_EFFECT_STORE, rt(word), rs(word), 0, immediate(word));
        return true;
    case LDL:
    case LDR:
    case LL:
    case LLD:
    case SC:
    case SCD:
        return clobber(instruction, rt(word));
    default:
        return opcode(word) > LWU || clobber(instruction, rt(word));
    }
}

static bool arithmetic(struct hs_instruction *instruction, uint32_t word)
{
    switch (opcode(word)) {
    case ADDIU:
        return add_32(instruction, word);
    case DADDIU:
        return add(instruction, rt(word), rs(word), immediate(word));
    case ORI:
        return or_immediate(instruction, word);
    case LUI:
        return load_upper(instruction, word);
    default:
        return clobber(instruction, rt(word));
    }
}

static bool decode_word(uint32_t word, uintptr_t address, struct hs_instruction *instruction)
{
    uintptr_t target = relative(address, word, 16);
    switch (opcode(word)) {
    case SPECIAL:
        return special(instruction, word);
    case REGIMM:
        return regimm(instruction, word, address);
    case J:
        return go(instruction, HS_FLOW_JUMP, in_region(address, word));
    case JAL:
        return call(instruction, RA, in_region(address, word));
    case BEQ:
        return branch_if_equal(instruction, word, target);
    case BNE:
        return go(instruction, HS_FLOW_BRANCH, target);
    case BLEZ:
    case BGTZ:
        return branch_or_compact_call(instruction, word, target);
    case BEQL:
    case BNEL:
        return branch_likely(instruction, target);
    case BLEZL:
    case BGTZL:
        return likely_or_compact(instruction, word, target);
    case ADDI:
    case DADDI:
        return trapping_add_or_compact(instruction, word, address);
    case ADDIU:
    case SLTI:
    case SLTIU:
    case ANDI:
    case ORI:
    case XORI:
    case LUI:
    case DADDIU:
    case DAUI:
        return arithmetic(instruction, word);
    case COP0:
    case COP1:
    case COP2:
        return coprocessor(instruction, word, address);
    case SPECIAL2:
        return special2(instruction, word);
    case SPECIAL3:
        return special3(instruction, word);
    case MSA:
        return vector(instruction, word);
    case BC:
    case BALC:
        return bit_branch_or_compact(instruction, word, address);
    case BEQZC:
    case BNEZC:
        return upper_bit_branch_or_compact(instruction, word, address);
    case COP1X: // loads and stores of floating point registers, at the sum of two others
        return true;
    case PCREL:
        return clobber(instruction, rs(word));
    default:
        return memory(instruction, word);
    }
}

static bool decode(uint32_t word, uintptr_t address, struct hs_instruction *instruction)
{
    hs_instruction__clear(instruction, 4);
    if (decode_word(word, address, instruction))
        return true;
    hs_instruction__clear(instruction, 0);
    return false;
}

// daddiu sp, sp, -n; dsubu sp, sp, r
static bool makes_room(uint32_t word)
{
    return (word >> 16 == 0x67bd && immediate(word) < 0) || (word & 0xffe0ffff) == 0x03a0e82f;
}

static bool leaves(uint32_t word)
{
    unsigned op = opcode(word), code = function(word);
    return op == J || op == JAL || (op == SPECIAL && (code == 0x08 || code == 0x09)) || word >> 16 == 0x1000 ||
           (op == REGIMM && (rt(word) & 0x1e) == 0x10);
}

// What a function has before it calls anything: room for a frame in which ra is saved, or lui r, hi; daddu r, r, t9.
// That finds code which can run anywhere, and only its caller has left its address in t9.
struct prologue {
    uint32_t upper; // bit n: lui has set register n
    bool room;
};

static bool completes(struct prologue *prologue, uint32_t word)
{
    unsigned reg = rt(word);
    if (makes_room(word))
        prologue->room = true;
    if (word >> 16 == 0xffbf) // sd ra, n(sp)
        return prologue->room;
    if (word >> 16 == (LUI << 10 | reg))
        prologue->upper |= UINT32_C(1) << reg;
    reg = rd(word);
    return word == (reg << 21 | (uint32_t)T9 << 16 | reg << 11 | 0x2d) && prologue->upper >> reg & 1;
}

enum { WINDOW = 32 };

typedef uint32_t read_word(const uint8_t *bytes);

// A stub for lazy binding: ld t9, n(gp); move t3, ra. It comes back where it was called from, not behind its call.
static bool is_stub(read_word *read, const uint8_t *code, size_t length)
{
    return length >= 8 && read(code) >> 16 == 0xdf99 && (read(code + 4) | 8) == 0x03e0782d; // or, daddu
}

static bool starts_function_bytes(read_word *read, const uint8_t *code, size_t length)
{
    struct prologue prologue = {0, false};
    if (is_stub(read, code, length))
        return true;
    for (size_t i = 0; i < WINDOW && length / 4 > i; i++) {
        uint32_t word = read(code + 4 * i);
        if ((i == 0 && word == 0) || leaves(word))
            return false;
        if (completes(&prologue, word))
            return true;
    }
    return false;
}

static bool is_call(uint32_t word)
{
    switch (opcode(word)) {
    case SPECIAL:
        return function(word) == 0x09 && rd(word) == RA;
    case REGIMM:
        return (rt(word) & 0x1c) == 0x10 && immediate(word) != 1;
    case JAL:
        return true;
    default:
        return false;
    }
}

static bool is_compact_call(uint32_t word)
{
    switch (opcode(word)) {
    case BALC:
        return is_wide_branch(word);
    case BNEZC:
        return rs(word) == ZERO;
    default:
        return false;
    }
}

static inline __attribute__((always_inline)) bool decode_bytes(read_word *read, const uint8_t *code, size_t length,
                                                               uintptr_t address, struct hs_instruction *instruction)
{
    if (length >= 4)
        return decode(read(code), address, instruction);
    hs_instruction__clear(instruction, 0);
    return false;
}

static bool ends_with_call_bytes(read_word *read, const uint8_t *end, size_t length)
{
    return (length >= 8 && is_call(read(end - 8))) || (length >= 4 && is_compact_call(read(end - 4)));
}

static bool decode_big(const uint8_t *code, size_t length, uintptr_t address, uint32_t *context,
                       struct hs_instruction *instruction)
{
    (void)context;
    return decode_bytes(hs_bits__big32, code, length, address, instruction);
}

static bool decode_little(const uint8_t *code, size_t length, uintptr_t address, uint32_t *context,
                          struct hs_instruction *instruction)
{
    (void)context;
    return decode_bytes(hs_bits__little32, code, length, address, instruction);
}

static bool starts_function_big(const uint8_t *code, size_t length)
{
    return starts_function_bytes(hs_bits__big32, code, length);
}

static bool starts_function_little(const uint8_t *code, size_t length)
{
    return starts_function_bytes(hs_bits__little32, code, length);
}

static bool ends_with_call_big(const uint8_t *end, size_t length)
{
    return ends_with_call_bytes(hs_bits__big32, end, length);
}

static bool ends_with_call_little(const uint8_t *end, size_t length)
{
    return ends_with_call_bytes(hs_bits__little32, end, length);
}

// s0 to s7, gp, sp, s8.
#define CALLEE_SAVED (UINT64_C(0xff) << 16 | UINT64_C(1) << GP | UINT64_C(1) << SP | UINT64_C(1) << S8)

#define DECODER(order)                                                                                                 \
    .word_size = 8, .alignment = 4, .sp = SP, .fp = S8, .ra = RA, .ra_of_stubs = T3, .call_size = 4,                   \
    .callee_saved = CALLEE_SAVED, .entry_sp_from_cfa = 0, .decode = decode_##order,                                    \
    .starts_function = starts_function_##order, .ends_with_call = ends_with_call_##order

const struct hs_decoder hs_decoder_mips64 = {.name = "mips64", DECODER(big)};
const struct hs_decoder hs_decoder_mips64el = {.name = "mips64el", DECODER(little)};
