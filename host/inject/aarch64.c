// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/arch.h"
#include "host/inject/code_words.h"
#include "host/inject/register_set.h"

#include <elf.h>
#include <linux/audit.h>
#include <string.h>

#if defined(__aarch64__) && defined(__LP64__)
#include <errno.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <time.h>
#endif

// What else glibc's versions have is in symbols of theirs.
static const struct hs_thread_words words[] = {
    {"glibc", 8, -1648},
    {"musl", 8, -168},
    {0},
};

// ---- code ----------------------------------------------------------------------------------------------------------

enum { UNIT = 4, X1 = 1, X15 = 15, X16, X17, X29 = 29, X30, ZERO };

enum {
    SYSTEM_CALL = 0xd4000001,
    NOP = 0xd503201f,
    RETURN = 0xd65f03c0,
    JUMP_X16 = 0xd61f0200,
    CALL_X16 = 0xd63f0200,
    SIGN_A = 0xd503233f, // paciasp
    SIGN_B = 0xd503237f,
    CHECK_SIGNED = 0x80, // more than SIGN: autiasp
};

enum condition { EQUAL = 0, LOWER = 3 };

struct code_words {
    uint8_t *start;
    size_t length;
    uint64_t at; // address of `start`
    bool is_wrong;
};

static void put(struct code_words *code, uint32_t word)
{
    memcpy(code->start + code->length, &word, sizeof word);
    code->length += sizeof word;
}

static bool is_near(int64_t distance)
{
    return distance >= -(1 << 27) && distance < 1 << 27;
}

// b, or bl
static void put_branch(struct code_words *code, uint32_t opcode, uint64_t to)
{
    int64_t distance = (int64_t)(to - (code->at + code->length));
    code->is_wrong |= !is_near(distance);
    put(code, opcode | ((uint32_t)(distance / UNIT) & 0x3ffffff));
}

static void put_jump(struct code_words *code, uint64_t to)
{
    put_branch(code, 0x14000000, to);
}

// movz or movn, and movk
static void put_constant(struct code_words *code, uint32_t reg, uint64_t value)
{
    bool is_negative = value >> 32 == 0xffffffff;
    uint64_t most = is_negative ? 0xffff : 0;
    bool is_first = true;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t part = value >> 16 * i & 0xffff;
        if (part == most && !(is_first && i == 3))
            continue;
        uint32_t opcode = !is_first ? 0xf2800000 : is_negative ? 0x92800000 : 0xd2800000;
        uint64_t given = is_first && is_negative ? part ^ 0xffff : part;
        put(code, opcode | i << 21 | (uint32_t)given << 5 | reg);
        is_first = false;
    }
}

// Also into pages that guard the targets of jumps: x16 may jump to where functions begin.
static void put_far_jump(struct code_words *code, uint64_t to)
{
    put_constant(code, X16, to);
    put(code, JUMP_X16);
}

static size_t put_patch(uint8_t *bytes, uint64_t at, uint64_t to)
{
    struct code_words code = {.start = bytes, .at = at};
    put_jump(&code, to);
    return code.is_wrong ? 0 : code.length;
}

static size_t put_return_zero(uint8_t *bytes)
{
    struct code_words code = {.start = bytes};
    put_constant(&code, 0, 0);
    put(&code, RETURN);
    return code.length;
}

// Branches over what follows are completed by land().
static size_t put_conditional(struct code_words *code, enum condition condition)
{
    put(code, 0x54000000 | condition);
    return code->length;
}

static size_t put_if_zero(struct code_words *code, uint32_t reg)
{
    put(code, 0xb4000000 | reg); // cbz
    return code->length;
}

static void land(struct code_words *code, size_t branch)
{
    uint32_t word;
    memcpy(&word, code->start + branch - UNIT, sizeof word);
    word |= (uint32_t)((code->length - branch) / UNIT + 1) << 5;
    memcpy(code->start + branch - UNIT, &word, sizeof word);
}

// Of a register that is loaded or stored, with the address in two others.
static void put_access(struct code_words *code, uint32_t opcode, uint32_t reg, uint32_t base, uint32_t index)
{
    put(code, opcode | index << 16 | base << 5 | reg);
}

enum { LOAD_64 = 0xf8606800, LOAD_32 = 0xb8606800, STORE_64 = 0xf8206800 };

// A new thread may find the record of one that has ended.
static void put_thread_check(struct code_words *code, const struct hs_island *island)
{
    put(code, 0xd53bd040 | X16); // mrs x16, tpidr_el0
    put_constant(code, X17, (uint64_t)island->words.word);
    put_access(code, LOAD_64, X17, X16, X17);
    size_t none = put_if_zero(code, X17);
    put_constant(code, X15, (uint64_t)island->words.tid);
    put_access(code, LOAD_32, X15, X16, X15);
    put(code, 0xb9400000 | island->number_at / 4 << 10 | X17 << 5 | X17); // ldr w17, [x17, number_at]
    put(code, 0x6b000000 | X17 << 16 | X15 << 5 | ZERO);                  // cmp w15, w17
    size_t same = put_conditional(code, EQUAL);
    if (island->no_record)
        land(code, none);
    put_constant(code, X17, (uint64_t)island->words.word);
    if (island->no_record)
        put_constant(code, X15, island->no_record);
    put_access(code, STORE_64, island->no_record ? X15 : ZERO, X16, X17);
    if (!island->no_record)
        land(code, none);
    land(code, same);
}

// x9 to x17 are free at the entry of a C function.
static size_t put_island(uint8_t *bytes, const struct hs_island *island)
{
    struct code_words code = {.start = bytes};
    size_t own = 0;
    if (island->signing)
        put(&code, island->signing | CHECK_SIGNED);
    if (island->own_end) {
        put_constant(&code, X16, island->own);
        put(&code, 0xcb000000 | X16 << 16 | X30 << 5 | X16); // sub x16, x30, x16
        put_constant(&code, X17, island->own_end - island->own);
        put(&code, 0xeb000000 | X17 << 16 | X16 << 5 | ZERO); // cmp x16, x17
        own = put_conditional(&code, LOWER);
    }
    if (!island->is_loaded)
        put_thread_check(&code, island);
    if (island->function)
        put_constant(&code, X17, island->function);
    put_far_jump(&code, island->hook);
    if (own) {
        land(&code, own);
        put_far_jump(&code, island->original);
    }
    return code.length;
}

// ---- moving an instruction -----------------------------------------------------------------------------------------

enum kind {
    ORDINARY,
    JUMP,
    CALL,
    CONDITIONAL,
    TEST,
    ADDRESS,
    LITERAL,
    INDIRECT,
    INDIRECT_CALL,
    KERNEL,
    SIGNING,
    UNKNOWN
};

static const struct {
    uint32_t mask, value;
    enum kind kind;
} encodings[] = {
    {0xfc000000, 0x14000000, JUMP},          // b
    {0xfc000000, 0x94000000, CALL},          // bl
    {0xff000000, 0x54000000, CONDITIONAL},   // b.cond, bc.cond
    {0x7e000000, 0x34000000, CONDITIONAL},   // cbz, cbnz
    {0x7e000000, 0x36000000, TEST},          // tbz, tbnz
    {0x7e000000, 0x74000000, UNKNOWN},       // cb<cond>
    {0x1f000000, 0x10000000, ADDRESS},       // adr, adrp
    {0xff000000, 0x98000000, LITERAL},       // ldrsw
    {0x3b000000, 0x18000000, LITERAL},       // ldr, prfm
    {0xfe600000, 0xd6200000, INDIRECT_CALL}, // blr, blraa
    {0xfe000000, 0xd6000000, INDIRECT},      // br, ret
    {0xff000000, 0xd4000000, KERNEL},        // svc, brk, hlt
    {0xffffdbff, 0xdac183fe, SIGNING},       // pacnbiasppc, paciasppc
    {0xffffffff, 0xd50324ff, SIGNING},       // pacm
    {0xff800000, 0xf3800000, SIGNING},       // autiasppc
    {0xffc00000, 0x55000000, SIGNING},       // retaasppc
    {0xffffffbf, SIGN_A, SIGNING},           // paciasp
};

static enum kind kind_of(uint32_t word)
{
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
        if ((word & encodings[i].mask) == encodings[i].value)
            return encodings[i].kind;
    return word >> 16 ? ORDINARY : UNKNOWN; // udf
}

static int64_t distance_19(uint32_t word)
{
    return hs_code_words__extend(word >> 5 & 0x7ffff, 19) * UNIT;
}

static uint64_t target_of(uint32_t word, enum kind kind, uint64_t at)
{
    if (kind == JUMP || kind == CALL)
        return at + (uint64_t)(hs_code_words__extend(word & 0x3ffffff, 26) * UNIT);
    if (kind == TEST)
        return at + (uint64_t)(hs_code_words__extend(word >> 5 & 0x3fff, 14) * UNIT);
    return at + (uint64_t)distance_19(word);
}

static uint64_t address_of(uint32_t word, uint64_t at)
{
    int64_t distance = hs_code_words__extend((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
    return word >> 31 ? (at & ~(uint64_t)0xfff) + ((uint64_t)distance << 12) : at + (uint64_t)distance;
}

// Branches around the way on.
static void move_conditional(struct code_words *code, uint32_t word, enum kind kind, uint64_t at)
{
    uint32_t distance = kind == TEST ? 0x3fffu : 0x7ffffu;
    put(code, (word & ~(distance << 5)) | 2 << 5);
    put_jump(code, at + UNIT);
    put_jump(code, target_of(word, kind, at));
}

// By the address, which the register itself can hold if it is a general one.
static const char *move_literal(struct code_words *code, uint32_t word, uint64_t at)
{
    static const uint32_t loads[2][4] = {{0xb9400000, 0xf9400000, 0xb9800000, 0xf9800000},
                                         {0xbd400000, 0xfd400000, 0x3dc00000, 0}};
    uint32_t is_vector = word >> 26 & 1, size = word >> 30, reg = word & 31;
    uint32_t load = loads[is_vector][size];
    bool has_register = !is_vector && size != 3 && reg != ZERO;
    uint32_t base = has_register ? reg : X17;
    if (!load)
        return "has an instruction that was not understood";
    put_constant(code, base, at + (uint64_t)distance_19(word));
    put(code, load | base << 5 | reg);
    return NULL;
}

// *goes_on: behind it, the code goes on behind the instruction's old place.
static const char *move_one(struct code_words *code, uint32_t word, const struct hs_moved_code *moved, bool *goes_on)
{
    enum kind kind = kind_of(word);
    *goes_on = true;
    switch (kind) {
    case CALL:
    case INDIRECT_CALL:
        if (!moved->may_call)
            return "calls at once";
        if (kind == CALL)
            put_branch(code, 0x94000000, target_of(word, kind, moved->at));
        else
            put(code, word);
        return NULL;
    case JUMP:
        *goes_on = false;
        put_jump(code, target_of(word, kind, moved->at));
        return NULL;
    case CONDITIONAL:
    case TEST:
        *goes_on = false;
        move_conditional(code, word, kind, moved->at);
        return NULL;
    case ADDRESS:
        put_constant(code, word & 31, address_of(word, moved->at));
        return NULL;
    case LITERAL:
        return move_literal(code, word, moved->at);
    case KERNEL:
        return "makes a system call in its first instructions";
    case SIGNING:
        return "signs its return address in a way that is not known";
    case UNKNOWN:
        return "has an instruction that was not understood";
    case INDIRECT:
        *goes_on = false;
        put(code, word);
        return NULL;
    default:
        put(code, word);
        return NULL;
    }
}

// bti
static bool is_landing_pad(uint32_t word)
{
    return (word & 0xffffff3f) == 0xd503241f;
}

static bool is_signing(uint32_t word)
{
    return word == SIGN_A || word == SIGN_B;
}

static bool branches(enum kind kind)
{
    return kind == JUMP || kind == CONDITIONAL || kind == TEST;
}

// brk, hlt, udf: compilers put them where execution never gets.
static bool traps(uint32_t word)
{
    return (word & 0xffe0001f) == 0xd4200000 || (word & 0xffe0001f) == 0xd4400000 || !(word >> 16);
}

// Not directly behind a call that returns: the register of the return address then leads to here.
static bool saves_return(uint32_t word)
{
    return is_signing(word) || (word & 0xffc07fff) == 0xa9807bfd; // stp x29, x30, [sp, #-size]!
}

// Whether another function may begin behind a call, or behind filler after it.
static bool is_followed_by_another(uint64_t function, const uint8_t *bytes, uint64_t length, uint64_t offset)
{
    enum { ALIGNMENT = 16 };
    uint64_t first = offset;
    if (offset + UNIT <= length && saves_return(hs_code_words__at(bytes, offset)))
        return true;
    for (; (function + offset) % ALIGNMENT; offset += UNIT)
        if (offset + UNIT > length || (hs_code_words__at(bytes, offset) != NOP && hs_code_words__at(bytes, offset)))
            return false;
    return offset > first;
}

// Of a function whose size is not known: it ends with an instruction that leads elsewhere, or with a call that does not
// return, where no earlier one jumps further.
static uint64_t size_of(uint64_t function, const uint8_t *bytes, uint64_t length)
{
    uint64_t last = function, offset = 0;
    while (offset + UNIT <= length) {
        uint32_t word = hs_code_words__at(bytes, offset);
        enum kind kind = kind_of(word);
        uint64_t target = branches(kind) ? target_of(word, kind, function + offset) : 0;
        offset += UNIT;
        if (target > last && target < function + length)
            last = target;
        if (function + offset > last &&
            (kind == JUMP || kind == INDIRECT || traps(word) ||
             ((kind == CALL || kind == INDIRECT_CALL) && is_followed_by_another(function, bytes, length, offset))))
            break;
    }
    return offset;
}

// A loop that begins with the first instruction would call the hook again and again. Other functions may end with a
// jump to the beginning.
static bool is_jumped_to(const struct hs_moved_code *moved, uint64_t function, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t offset = 0; offset + UNIT <= size; offset += UNIT) {
        uint32_t word = hs_code_words__at(bytes, offset);
        enum kind kind = kind_of(word);
        uint64_t target = branches(kind) ? target_of(word, kind, function + offset) : 0;
        if (target >= function && target <= moved->at)
            return true;
    }
    return false;
}

// The patch is one instruction, behind a landing pad and behind the one that signs the return address: what it leads to
// finds it as the caller has left it, and the moved code signs it again.
static bool move(struct hs_moved_code *moved, uint64_t function, const uint8_t *bytes, size_t length, size_t size,
                 uint64_t to)
{
    uint64_t end = size && size < length ? size : length, offset = 0;
    struct code_words code = {.start = moved->code, .at = to};
    bool goes_on = false;
    *moved = (struct hs_moved_code){.may_call = moved->may_call, .consumed = UNIT};
    while (offset + UNIT <= end &&
           (is_landing_pad(hs_code_words__at(bytes, offset)) || is_signing(hs_code_words__at(bytes, offset))) &&
           !moved->signing) {
        moved->signing = is_signing(hs_code_words__at(bytes, offset)) ? hs_code_words__at(bytes, offset) : 0;
        offset += UNIT;
    }
    moved->at = function + offset;
    if (moved->signing)
        put(&code, moved->signing);
    if (function % UNIT || offset + UNIT > end)
        moved->problem = "is too short";
    else
        moved->problem = move_one(&code, hs_code_words__at(bytes, offset), moved, &goes_on);
    if (!moved->problem && goes_on)
        put_jump(&code, moved->at + UNIT);
    if (!moved->problem && code.is_wrong)
        moved->problem = "is out of reach";
    if (!moved->problem && is_jumped_to(moved, function, bytes, size ? end : size_of(function, bytes, length)))
        moved->problem = "jumps back to its beginning";
    moved->length = code.length;
    return !moved->problem;
}

// ---- stopped threads -----------------------------------------------------------------------------------------------

#if defined(__aarch64__) && defined(__LP64__)

enum { ARGUMENTS = 6, NUMBER = 8, BRANCH_TYPE = 0xc00, SETS_MASK = 2, MASK_SIZE = 8 };

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

static const struct user_regs_struct *saved(const struct hs_borrowed *borrowed)
{
    return (const struct user_regs_struct *)(const void *)borrowed->registers;
}

// An indirect branch that the thread has just carried out does not lead to the stub.
static void send(void *to, uint64_t pc)
{
    struct user_regs_struct *registers = to;
    registers->pc = pc;
    registers->pstate &= ~(unsigned long long)BRANCH_TYPE;
}

static void ask(void *of, const struct hs_system_call *call)
{
    struct user_regs_struct *registers = of;
    registers->regs[NUMBER] = (unsigned long long)call->number;
    for (size_t i = 0; i < ARGUMENTS; i++)
        registers->regs[i] = (unsigned long long)call->arguments[i];
}

static long answer(const void *of)
{
    return (long)((const struct user_regs_struct *)of)->regs[0];
}

static void look(const void *of, uint64_t *pc, uint64_t *sp)
{
    const struct user_regs_struct *registers = of;
    *pc = registers->pc;
    *sp = registers->sp;
}

static int thread_pointer(pid_t tid, const void *of, uint64_t *pointer)
{
    (void)of;
    struct iovec area = {pointer, sizeof *pointer};
    return ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_ARM_TLS, &area) ? -errno : 0;
}

// The kernel goes back to the instruction that calls before it stops the thread, and forgets how much time has passed
// when the thread does something else.
static bool waits_anew(const struct hs_system_call *system_call)
{
    const long *arguments = system_call->arguments;
    switch (system_call->number) {
    case SYS_nanosleep:
        return true;
    case SYS_clock_nanosleep:
        return !(arguments[1] & TIMER_ABSTIME);
    case SYS_futex:
        return (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && arguments[3];
    default:
        return false;
    }
}

// The stub's values.
enum {
    VALUE_NUMBER = ARGUMENTS, // behind the arguments
    VALUE_MASK,
    VALUE_LEAVE, // instructions
    VALUE_LEAVE_2,
    VALUE_COUNT
};

static uint64_t value_at(const struct code_words *code, unsigned value)
{
    return code->at + HS_INJECT_CODE - 8 * VALUE_COUNT + 8 * (uint64_t)value;
}

static void put_64(struct code_words *code, uint64_t value)
{
    memcpy(code->start + code->length, &value, sizeof value);
    code->length += sizeof value;
}

static void put_load_value(struct code_words *code, uint32_t reg, unsigned value)
{
    uint64_t distance = value_at(code, value) - (code->at + code->length);
    put(code, 0x58000000 | (uint32_t)(distance / UNIT) << 5 | reg);
}

// No instruction loads the program counter from memory: where it is not near, x16 is lost.
static void put_leave(struct code_words *code, uint64_t pc)
{
    if (is_near((int64_t)(pc - (code->at + code->length)))) {
        put_jump(code, pc);
        return;
    }
    put(code, 0x58000000 | 2 << 5 | X16); // ldr x16, of two instructions on
    put(code, JUMP_X16);
    put_64(code, pc);
}

// A system call changes no register but x0, so that only what was needed for calls is not yet as before.
static void put_rest(struct code_words *code)
{
    uint64_t mask = value_at(code, VALUE_MASK);
    put_constant(code, 0, SETS_MASK);
    uint64_t distance = mask - (code->at + code->length);
    put(code, 0x10000000 | (uint32_t)(distance & 3) << 29 | (uint32_t)(distance >> 2) << 5 | X1); // adr x1, mask
    put_constant(code, 2, 0);
    put_constant(code, 3, MASK_SIZE);
    put_constant(code, NUMBER, SYS_rt_sigprocmask);
    put(code, SYSTEM_CALL);
    for (uint32_t i = 0; i < ARGUMENTS; i++)
        put_load_value(code, i, i);
    put_load_value(code, NUMBER, VALUE_NUMBER);
    put_jump(code, value_at(code, VALUE_LEAVE));
}

static void put_child(struct code_words *code, uint64_t done)
{
    put_constant(code, X29, 0);
    put_constant(code, X30, 0);
    put(code, 0xf8410400 | ZERO << 5 | X16); // ldr x16, [sp], 16
    put(code, CALL_X16);
    put_constant(code, X16, done);
    put_constant(code, X1, 1);
    put(code, 0xb9000000 | X16 << 5 | X1); // str w1, [x16]
    put_constant(code, NUMBER, SYS_exit);
    put_constant(code, 0, 0);
    put(code, SYSTEM_CALL);
}

static size_t put_stub(uint8_t *bytes, const struct hs_borrowed *borrowed, uint64_t done)
{
    const struct user_regs_struct *registers = saved(borrowed);
    struct code_words code = {.start = bytes, .at = borrowed->stub};
    size_t child = 0;
    memset(bytes, 0, HS_INJECT_CODE);
    put(&code, SYSTEM_CALL);
    if (done)
        child = put_if_zero(&code, 0);
    put_rest(&code);
    if (done) {
        land(&code, child);
        put_child(&code, done);
    }
    if (code.length > HS_INJECT_CODE - 8 * VALUE_COUNT)
        return 0;
    code.length = HS_INJECT_CODE - 8 * VALUE_COUNT;
    for (size_t i = 0; i < ARGUMENTS; i++)
        put_64(&code, registers->regs[i]);
    put_64(&code, registers->regs[NUMBER]);
    put_64(&code, borrowed->mask[0]);
    put_leave(&code, registers->pc);
    return HS_INJECT_CODE;
}

#endif

const struct hs_inject_arch hs_inject_aarch64 = {
    .machine = EM_AARCH64,
    .audit = AUDIT_ARCH_AARCH64,
    .class = ELFCLASS64,
    .reach = 0x7000000,
    .relative = R_AARCH64_RELATIVE,
    .thread_offset = R_AARCH64_TLS_TPREL,
    .symbol = {R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_ABS64},
    .words = words,
    .is_thread_below = true,
    .move = move,
    .patch = put_patch,
    .island = put_island,
    .return_zero = put_return_zero,
    .trap = (const uint8_t[]){0x00, 0x00, 0x20, 0xd4}, // brk 0
    .trap_length = UNIT,
    .trap_passed = 0,
#if defined(__aarch64__) && defined(__LP64__)
    .stub = put_stub,
    .stub_values = 8 * VALUE_COUNT,
    .get = hs_register_set__get,
    .set = hs_register_set__set,
    .send = send,
    .ask = ask,
    .answer = answer,
    .look = look,
    .thread_pointer = thread_pointer,
    .clone_pointer = 3,
    .mmap = SYS_mmap,
    .waits_anew = waits_anew,
#endif
};
