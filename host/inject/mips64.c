// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/arch.h"
#include "host/inject/code_words.h"

#include <elf.h>
#include <linux/audit.h>
#include <string.h>

#if defined(__mips64) && defined(__LP64__)
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#endif

// What else glibc's versions have is in symbols of theirs. musl has a word that only other machines use.
static const struct hs_thread_words words[] = {
    {"glibc", -0x7008, -0x7000 - 1680},
    {"musl", -0x7000 - 176, -0x7000 - 168},
    {0},
};

// ---- code ----------------------------------------------------------------------------------------------------------

enum { UNIT = 4, PATCH = 2 * UNIT, SEGMENT_BITS = 28 };

enum { ZERO, AT, V0, V1, A0, A1, A2, A3, T0 = 12, T1, T2, T3, S0, T8 = 24, T9, K0, SP = 29, FP, RA };

enum { NOP = 0, SYSTEM_CALL = 0x0c, BREAK = 0x0d, THREAD_POINTER_TO_V1 = 0x7c03e83b };

// Opcodes: of instructions with a number of 16 bits, and of those with three registers.
enum { BEQ = 4, BNE = 5, ORI = 13, LUI = 15, DADDIU = 25, LW = 35, SW = 43, LD = 55, SD = 63 };
enum { JR = 8, JALR = 9, MTHI = 17, MTLO = 19, SLTU = 43, DADDU = 45, DSUBU = 47, DSLL = 56 };

struct mips_code {
    uint8_t *start;
    size_t length;
    uint64_t at; // address of `start`
    bool is_wrong;
};

static void put(struct mips_code *code, uint32_t word)
{
    memcpy(code->start + code->length, &word, sizeof word);
    code->length += sizeof word;
}

// Of a load or store, `target` is loaded or stored, and `source` has the address.
static void put_with(struct mips_code *code, uint32_t opcode, uint32_t target, uint32_t source, int64_t number)
{
    put(code, opcode << 26 | source << 21 | target << 16 | ((uint32_t)number & 0xffff));
}

static void put_three(struct mips_code *code, uint32_t opcode, uint32_t target, uint32_t a, uint32_t b)
{
    put(code, a << 21 | b << 16 | target << 11 | opcode);
}

static void put_constant(struct mips_code *code, uint32_t reg, uint64_t value)
{
    int64_t top = (int64_t)value;
    uint32_t shift = 0;
    while (top != (int32_t)top) {
        top >>= 16;
        shift += 16;
    }
    if (top == (int16_t)top) {
        put_with(code, DADDIU, reg, ZERO, top);
    } else {
        put_with(code, LUI, reg, ZERO, top >> 16);
        put_with(code, ORI, reg, reg, top);
    }
    while (shift) {
        shift -= 16;
        put(code, reg << 16 | reg << 11 | 16 << 6 | DSLL);
        put_with(code, ORI, reg, reg, (int64_t)(value >> shift));
    }
}

// j or jal, which keep the upper bits of the address of what follows.
static void put_near(struct mips_code *code, uint32_t opcode, uint64_t to)
{
    code->is_wrong |= (code->at + code->length + UNIT) >> SEGMENT_BITS != to >> SEGMENT_BITS;
    put(code, opcode << 26 | ((uint32_t)(to / UNIT) & 0x3ffffff));
}

enum { J = 2, JAL = 3 };

static void put_jump(struct mips_code *code, uint64_t to)
{
    put_near(code, J, to);
    put(code, NOP);
}

// Functions find their data by the register that they are called with.
static void put_far_jump(struct mips_code *code, uint64_t to)
{
    put_constant(code, T9, to);
    put_three(code, JR, ZERO, T9, ZERO);
    put(code, NOP);
}

static size_t put_patch(uint8_t *bytes, uint64_t at, uint64_t to)
{
    struct mips_code code = {.start = bytes, .at = at};
    put_jump(&code, to);
    return code.is_wrong ? 0 : code.length;
}

static size_t put_return_zero(uint8_t *bytes)
{
    struct mips_code code = {.start = bytes};
    put_three(&code, JR, ZERO, RA, ZERO);
    put_constant(&code, V0, 0);
    return code.length;
}

// Branches over what follows are completed by land().
static size_t put_branch(struct mips_code *code, uint32_t opcode, uint32_t a, uint32_t b)
{
    put_with(code, opcode, a, b, 0);
    put(code, NOP);
    return code->length;
}

static void land(struct mips_code *code, size_t branch)
{
    uint32_t word;
    memcpy(&word, code->start + branch - PATCH, sizeof word);
    word |= (uint32_t)((code->length - branch) / UNIT + 1);
    memcpy(code->start + branch - PATCH, &word, sizeof word);
}

// A new thread may find the record of one that has ended.
static void put_thread_check(struct mips_code *code, const struct hs_island *island)
{
    put(code, THREAD_POINTER_TO_V1);
    put_constant(code, T0, (uint64_t)island->words.word);
    put_three(code, DADDU, T0, T0, V1);
    put_with(code, LD, T1, T0, 0);
    size_t none = put_branch(code, BEQ, T1, ZERO);
    put_constant(code, T2, (uint64_t)island->words.tid);
    put_three(code, DADDU, T2, T2, V1);
    put_with(code, LW, T2, T2, 0);
    put_with(code, LW, T1, T1, island->number_at);
    size_t same = put_branch(code, BEQ, T1, T2);
    if (island->no_record) {
        land(code, none);
        put_constant(code, T1, island->no_record);
    }
    put_with(code, SD, island->no_record ? T1 : ZERO, T0, 0);
    if (!island->no_record)
        land(code, none);
    land(code, same);
}

// $2, $3, $12 to $15, $24 and $25 are free at the entry of a function.
static size_t put_island(uint8_t *bytes, const struct hs_island *island)
{
    struct mips_code code = {.start = bytes};
    size_t own = 0;
    if (island->own_end) {
        put_constant(&code, T0, island->own);
        put_three(&code, DSUBU, T0, RA, T0);
        put_constant(&code, T1, island->own_end - island->own);
        put_three(&code, SLTU, T0, T0, T1);
        own = put_branch(&code, BNE, T0, ZERO);
    }
    if (!island->is_loaded)
        put_thread_check(&code, island);
    if (island->function)
        put_constant(&code, T8, island->function);
    put_far_jump(&code, island->hook);
    if (own) {
        land(&code, own);
        put_far_jump(&code, island->original);
    }
    return code.length;
}

// ---- moving an instruction -----------------------------------------------------------------------------------------

enum mips_kind { ORDINARY, JUMP, CALL, CONDITIONAL, INDIRECT, INDIRECT_CALL, KERNEL, UNKNOWN };

static enum mips_kind kind_of_special(uint32_t word)
{
    switch (word & 63) {
    case JR:
        return INDIRECT;
    case JALR:
        return word >> 11 & 31 ? INDIRECT_CALL : INDIRECT;
    case SYSTEM_CALL:
    case BREAK:
        return KERNEL;
    default:
        return ORDINARY;
    }
}

// Comparisons with zero: branches, those that are calls, traps, synci.
static enum mips_kind kind_of_comparison(uint32_t word)
{
    uint32_t what = word >> 16 & 31;
    return what < 4 ? CONDITIONAL : (what >= 8 && what <= 14) || what == 31 ? ORDINARY : UNKNOWN;
}

// Of the floating-point unit; 24 and above are branches of MSA's, which has others below 16, too.
static enum mips_kind kind_of_float(uint32_t word)
{
    uint32_t what = word >> 21 & 31;
    return what == 8 ? CONDITIONAL : what < 8 || (what >= 16 && what < 24) ? ORDINARY : UNKNOWN;
}

// What release 6 has made branches of is not known, nor is what only kernels and other coprocessors have.
static enum mips_kind kind_of(uint32_t word)
{
    static const uint64_t unknown = 1ull << 8 | 1ull << 16 | 1ull << 18 | 1ull << 19 | 1ull << 24 | 1ull << 29 |
                                    1ull << 30 | 1ull << 50 | 1ull << 54 | 1ull << 58 | 1ull << 59 | 1ull << 62;
    uint32_t opcode = word >> 26;
    switch (opcode) {
    case 0:
        return kind_of_special(word);
    case 1:
        return kind_of_comparison(word);
    case J:
        return JUMP;
    case JAL:
        return CALL;
    case BEQ:
    case BNE:
    case 20: // beql, bnel
    case 21:
        return CONDITIONAL;
    case 6: // blez, bgtz, blezl, bgtzl
    case 7:
    case 22:
    case 23:
        return word >> 16 & 31 ? UNKNOWN : CONDITIONAL;
    case 17:
        return kind_of_float(word);
    default:
        return unknown >> opcode & 1 ? UNKNOWN : ORDINARY;
    }
}

static uint64_t target_of(uint32_t word, enum mips_kind kind, uint64_t at)
{
    if (kind == JUMP || kind == CALL)
        return ((at + UNIT) >> SEGMENT_BITS << SEGMENT_BITS) | (word & 0x3ffffff) * (uint64_t)UNIT;
    return at + UNIT + (uint64_t)((int64_t)(int16_t)word * UNIT);
}

// With the instruction behind it, which is carried out before it leads elsewhere. *goes_on: behind it, the code goes on
// behind the old place of both.
static void move_branch(struct mips_code *code, const uint8_t *bytes, uint64_t at, bool *goes_on)
{
    const uint32_t word = hs_code_words__at(bytes, 0), behind = hs_code_words__at(bytes, UNIT);
    const enum mips_kind kind = kind_of(word);
    const uint64_t target = target_of(word, kind, at);
    *goes_on = kind == CALL || kind == INDIRECT_CALL;
    if (kind == JUMP || kind == CALL)
        put_near(code, kind == CALL ? JAL : J, target);
    else
        put(code, kind == CONDITIONAL ? (word & 0xffff0000) | 3 : word);
    put(code, behind);
    if (kind != CONDITIONAL)
        return;
    put_jump(code, at + PATCH);
    put_jump(code, target);
}

static const char *move_next(struct mips_code *code, struct hs_moved_code *moved, const uint8_t *bytes, uint64_t end,
                             bool *goes_on)
{
    if (!*goes_on || moved->consumed + UNIT > end)
        return "is too short";
    const uint8_t *next = bytes + moved->consumed;
    const enum mips_kind kind = kind_of(hs_code_words__at(next, 0));
    switch (kind) {
    case ORDINARY:
        put(code, hs_code_words__at(next, 0));
        moved->consumed += UNIT;
        return NULL;
    case KERNEL:
        return "makes a system call in its first instructions";
    case UNKNOWN:
        return "has an instruction that was not understood";
    case CALL:
    case INDIRECT_CALL:
        if (!moved->may_call)
            return "calls at once";
        break;
    default:
        break;
    }
    if (moved->consumed + PATCH > end)
        return "is too short";
    if (kind_of(hs_code_words__at(next, UNIT)) != ORDINARY)
        return "has an instruction that was not understood";
    move_branch(code, next, moved->at + moved->consumed, goes_on);
    moved->consumed += PATCH;
    return NULL;
}

// Of a function whose size is not known: it ends with an instruction that leads elsewhere, where no earlier one jumps
// further.
static uint64_t size_of(uint64_t function, const uint8_t *bytes, uint64_t length)
{
    uint64_t last = function, offset = 0;
    while (offset + PATCH <= length) {
        uint32_t word = hs_code_words__at(bytes, offset);
        enum mips_kind kind = kind_of(word);
        uint64_t target = kind == CONDITIONAL ? target_of(word, kind, function + offset) : 0;
        offset += UNIT;
        if (target > last && target < function + length)
            last = target;
        if (function + offset + UNIT > last && (kind == JUMP || kind == INDIRECT || word >> 16 == BEQ << 10))
            return offset + UNIT;
    }
    return length;
}

// A loop that begins with the first instruction would call the hook again and again, and others would end in the middle
// of the patch. Other functions may end with a jump to the beginning.
static bool is_jumped_to(const struct hs_moved_code *moved, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t offset = 0; offset + UNIT <= size; offset += UNIT) {
        uint32_t word = hs_code_words__at(bytes, offset);
        enum mips_kind kind = kind_of(word);
        if (kind != JUMP && kind != CONDITIONAL)
            continue;
        uint64_t target = target_of(word, kind, moved->at + offset);
        if (target >= moved->at && target < moved->at + moved->consumed)
            return true;
    }
    return false;
}

static bool move(struct hs_moved_code *moved, uint64_t function, const uint8_t *bytes, size_t length, size_t size,
                 uint64_t to)
{
    uint64_t end = size && size < length ? size : length;
    struct mips_code code = {.start = moved->code, .at = to};
    bool goes_on = true;
    *moved = (struct hs_moved_code){.may_call = moved->may_call, .at = function};
    if (function % UNIT)
        moved->problem = "is code of 16 bits";
    put_constant(&code, T9, function);
    while (!moved->problem && moved->consumed < PATCH)
        moved->problem = move_next(&code, moved, bytes, end, &goes_on);
    if (!moved->problem && goes_on)
        put_jump(&code, moved->at + moved->consumed);
    if (!moved->problem && code.is_wrong)
        moved->problem = "is out of reach";
    if (!moved->problem && is_jumped_to(moved, bytes, size ? end : size_of(function, bytes, length)))
        moved->problem = "jumps back to its beginning";
    moved->length = code.length;
    return !moved->problem;
}

// ---- stopped threads -----------------------------------------------------------------------------------------------

#if defined(__mips64) && defined(__LP64__)

enum { ARGUMENTS = 6, RESTART_BLOCK = 516, FIRST_RESTART = 512, SETS_MASK = 3, MASK_SIZE = 8 * HS_INJECT_MASK };

#ifndef PTRACE_GET_THREAD_AREA
#define PTRACE_GET_THREAD_AREA 25
#endif

// In place of $0, the number of a system call that has failed; in that of $26, its fourth argument.
struct mips_registers {
    uint64_t values[32], lo, hi, pc, bad_address, status, cause;
};

static const struct mips_registers *saved(const struct hs_borrowed *borrowed)
{
    return (const struct mips_registers *)(const void *)borrowed->registers;
}

static int get(pid_t tid, void *registers)
{
    return ptrace(PTRACE_GETREGS, tid, 0, registers) ? -errno : 0;
}

static int set(pid_t tid, const void *registers)
{
    return ptrace(PTRACE_SETREGS, tid, 0, registers) ? -errno : 0;
}

// The kernel begins no call again for which it has no number.
static void send(void *to, uint64_t pc)
{
    struct mips_registers *registers = to;
    registers->pc = pc;
    registers->values[ZERO] = 0;
}

// $16 leads to the stub's values: no call changes it.
static void ask(void *of, const struct hs_system_call *call)
{
    struct mips_registers *registers = of;
    registers->values[S0] = registers->pc;
    registers->values[V0] = (uint64_t)call->number;
    for (size_t i = 0; i < ARGUMENTS; i++)
        registers->values[A0 + i] = (uint64_t)call->arguments[i];
}

static long answer(const void *of)
{
    const struct mips_registers *registers = of;
    return registers->values[A3] ? -(long)registers->values[V0] : (long)registers->values[V0];
}

static void look(const void *of, uint64_t *pc, uint64_t *sp)
{
    const struct mips_registers *registers = of;
    *pc = registers->pc;
    *sp = registers->values[SP];
}

static int thread_pointer(pid_t tid, const void *of, uint64_t *pointer)
{
    (void)of;
    return ptrace(PTRACE_GET_THREAD_AREA, tid, 0, pointer) ? -errno : 0;
}

// As the kernel would begin an interrupted system call again.
static void begin_again(struct mips_registers *registers)
{
    uint64_t value = registers->values[V0];
    if (!registers->values[ZERO] || value < FIRST_RESTART || value > RESTART_BLOCK || value == 515)
        return;
    registers->values[V0] = value == RESTART_BLOCK ? SYS_restart_syscall : registers->values[ZERO];
    registers->values[A3] = registers->values[K0];
    registers->pc -= UNIT;
}

// The stub's values: $1 to $16 and what follows.
enum {
    VALUE_T8 = S0 + 1,
    VALUE_T9,
    VALUE_LO,
    VALUE_HI,
    VALUE_PC,
    VALUE_DONE,
    VALUE_MASK,
    VALUE_COUNT = VALUE_MASK + HS_INJECT_MASK,
    VALUES_AT = HS_INJECT_CODE - 8 * VALUE_COUNT
};

static void put_load_value(struct mips_code *code, uint32_t reg, unsigned value)
{
    put_with(code, LD, reg, S0, VALUES_AT + 8 * (int64_t)value);
}

// A system call may change all of these. No jump leads to an address in memory: $26, which programs do not use, is lost
// if the kernel takes the processor between two instructions.
static void put_rest(struct mips_code *code)
{
    put_constant(code, A0, SETS_MASK);
    put_with(code, DADDIU, A1, S0, VALUES_AT + 8 * VALUE_MASK);
    put_constant(code, A2, 0);
    put_constant(code, A3, MASK_SIZE);
    put_constant(code, V0, SYS_rt_sigprocmask);
    put(code, SYSTEM_CALL);
    put_load_value(code, AT, VALUE_LO);
    put_three(code, MTLO, ZERO, AT, ZERO);
    put_load_value(code, AT, VALUE_HI);
    put_three(code, MTHI, ZERO, AT, ZERO);
    for (uint32_t i = AT; i < S0; i++)
        put_load_value(code, i, i);
    put_load_value(code, T8, VALUE_T8);
    put_load_value(code, T9, VALUE_T9);
    put_load_value(code, K0, VALUE_PC);
    put_three(code, JR, ZERO, K0, ZERO);
    put_load_value(code, S0, S0);
}

static void put_child(struct mips_code *code)
{
    put_constant(code, FP, 0);
    put_constant(code, RA, 0);
    put_with(code, LD, T9, SP, 0);
    put_three(code, JALR, RA, T9, ZERO);
    put_with(code, DADDIU, SP, SP, 16);
    put_load_value(code, A0, VALUE_DONE);
    put_constant(code, A1, 1);
    put_with(code, SW, A1, A0, 0);
    put_constant(code, V0, SYS_exit);
    put_constant(code, A0, 0);
    put(code, SYSTEM_CALL);
}

static size_t put_stub(uint8_t *bytes, const struct hs_borrowed *borrowed, uint64_t done)
{
    struct mips_registers registers = *saved(borrowed);
    struct mips_code code = {.start = bytes, .at = borrowed->stub};
    size_t child = 0;
    begin_again(&registers);
    memset(bytes, 0, HS_INJECT_CODE);
    put(&code, SYSTEM_CALL);
    if (done)
        child = put_branch(&code, BEQ, V0, ZERO);
    put_rest(&code);
    if (done) {
        land(&code, child);
        put_child(&code);
    }
    if (code.length > VALUES_AT)
        return 0;
    uint64_t values[VALUE_COUNT];
    memcpy(values, registers.values, sizeof *values * VALUE_T8);
    values[VALUE_T8] = registers.values[T8];
    values[VALUE_T9] = registers.values[T9];
    values[VALUE_LO] = registers.lo;
    values[VALUE_HI] = registers.hi;
    values[VALUE_PC] = registers.pc;
    values[VALUE_DONE] = done;
    memcpy(values + VALUE_MASK, borrowed->mask, sizeof borrowed->mask);
    memcpy(bytes + VALUES_AT, values, sizeof values);
    return HS_INJECT_CODE;
}

#endif

const struct hs_inject_arch hs_inject_mips64 = {
    .machine = EM_MIPS,
    .audit = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? AUDIT_ARCH_MIPSEL64 : AUDIT_ARCH_MIPS64,
    .class = ELFCLASS64,
    .reach = 1ull << SEGMENT_BITS,
    .segment_bits = SEGMENT_BITS,
    .relative = R_MIPS_REL32 | R_MIPS_64 << 8,
    .thread_offset = R_MIPS_TLS_TPREL64,
    .symbol = {R_MIPS_REL32 | R_MIPS_64 << 8, R_MIPS_JUMP_SLOT, R_MIPS_GLOB_DAT},
    .has_no_adopted = true,
    .words = words,
    .is_thread_below = true,
    .move = move,
    .patch = put_patch,
    .island = put_island,
    .return_zero = put_return_zero,
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    .trap = (const uint8_t[]){BREAK, 0, 0, 0},
#else
    .trap = (const uint8_t[]){0, 0, 0, BREAK},
#endif
    .trap_length = UNIT,
    .trap_passed = 0,
#if defined(__mips64) && defined(__LP64__)
    .stub = put_stub,
    .stub_values = 8 * VALUE_COUNT,
    .get = get,
    .set = set,
    .send = send,
    .ask = ask,
    .answer = answer,
    .look = look,
    .thread_pointer = thread_pointer,
    .clone_pointer = 3,
    .mmap = SYS_mmap,
#endif
};
