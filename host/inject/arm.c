// SPDX-License-Identifier: MIT OR Apache-2.0
//
// 32-bit ARM. Functions are ARM or Thumb code, as bit 0 of a pointer to them says; what is added is ARM code, but for
// moved instructions of Thumb code.
#include "host/inject/arch.h"
#include "host/inject/arm_code.h"
#include "host/inject/register_set.h"

#include <elf.h>
#include <linux/audit.h>
#include <string.h>

#if defined(__arm__) && defined(__ARMEL__)
#include <errno.h>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#endif

// What else glibc's versions have is in symbols of theirs.
static const struct hs_thread_words words[] = {
    {"glibc", 4, -1176},
    {"musl", 4, -96},
    {0},
};

enum { UNIT = 4, THUMB = 1, LONGEST_MOVED = 40 };

#define LOAD_PC 0xe51ff004u // ldr pc, of the next word

// ---- what the processor has ----------------------------------------------------------------------------------------

#if defined(__arm__) && defined(__ARMEL__)

enum { HAS_THREAD_REGISTER = 1 << 15 };

static bool has_thread_register(void)
{
    return getauxval(AT_HWCAP) & HAS_THREAD_REGISTER;
}

// Its version: "v7l"
static bool has_thumb_2(void)
{
    const char *platform = (const char *)getauxval(AT_PLATFORM);
    return !platform || platform[0] != 'v' || platform[1] >= '7';
}

#else

static bool has_thread_register(void)
{
    return true;
}

static bool has_thumb_2(void)
{
    return true;
}

#endif

// ---- patches -------------------------------------------------------------------------------------------------------

static size_t near_jump(struct hs_arm_code *code, uint64_t from, uint64_t to)
{
    return from & THUMB ? hs_thumb_code__near_jump(code, to | THUMB) : hs_arm_code__near_jump(code, to);
}

// An island begins with a change to ARM code where Thumb code jumps to it.
static size_t put_patch(uint8_t *bytes, uint64_t at, uint64_t to)
{
    struct hs_arm_code code = {.start = bytes, .at = at & ~(uint64_t)THUMB};
    if (near_jump(&code, at, to))
        return code.length;
    if (at & THUMB)
        hs_thumb_code__jump(&code, to | THUMB);
    else
        hs_arm_code__jump(&code, to);
    return code.length;
}

static size_t put_return_zero(uint8_t *bytes)
{
    struct hs_arm_code code = {.start = bytes};
    hs_arm_code__put(&code, 0xe3a00000); // mov r0, 0
    hs_arm_code__put(&code, 0xe12fff1e); // bx lr
    return code.length;
}

// ---- islands -------------------------------------------------------------------------------------------------------

enum arm_condition { EQUAL = 0, LOWER = 3 };

// b, completed by land().
static size_t put_branch(struct hs_arm_code *code, enum arm_condition condition)
{
    hs_arm_code__put(code, (uint32_t)condition << 28 | 0x0a000000);
    return code->length;
}

static void land(struct hs_arm_code *code, size_t branch)
{
    uint32_t word;
    memcpy(&word, code->start + branch - UNIT, sizeof word);
    word |= (uint32_t)((int32_t)(code->length - branch - UNIT) / UNIT) & 0xffffff;
    memcpy(code->start + branch - UNIT, &word, sizeof word);
}

// ldr reg, and the word behind it, which is jumped over.
static void put_constant(struct hs_arm_code *code, uint32_t reg, uint64_t value)
{
    hs_arm_code__put(code, 0xe59f0000 | reg << 12);
    hs_arm_code__put(code, 0xea000000);
    hs_arm_code__put(code, (uint32_t)value);
}

static void put_far_jump(struct hs_arm_code *code, uint64_t to)
{
    hs_arm_code__put(code, LOAD_PC);
    hs_arm_code__put(code, (uint32_t)to);
}

// ldr or str reg, [base, index]
static void put_access(struct hs_arm_code *code, uint32_t opcode, uint32_t reg, uint32_t base, uint32_t index)
{
    hs_arm_code__put(code, opcode | base << 16 | reg << 12 | index);
}

#define LOAD  0xe7900000u
#define STORE 0xe7800000u

// To r0. Processors before ARMv6K have the kernel's function for it, which changes lr.
static void put_thread_pointer(struct hs_arm_code *code)
{
    if (has_thread_register()) {
        hs_arm_code__put(code, 0xee1d0f70); // mrc p15, 0, r0, c13, c0, 3
        return;
    }
    hs_arm_code__put(code, 0xe3e00a0f); // mvn r0, 0xf000
    hs_arm_code__put(code, 0xe1a0e00f); // mov lr, pc
    hs_arm_code__put(code, 0xe240f01f); // sub pc, r0, 0x1f: 0xffff0fe0
}

// A new thread may find the record of one that has ended.
static void put_thread_check(struct hs_arm_code *code, const struct hs_island *island)
{
    hs_arm_code__put(code, 0xe92d4007); // push {r0, r1, r2, lr}
    put_thread_pointer(code);
    put_constant(code, HS_ARM_IP, (uint64_t)island->words.word);
    put_access(code, LOAD, 1, 0, HS_ARM_IP);
    hs_arm_code__put(code, 0xe3510000); // cmp r1, 0
    size_t none = put_branch(code, EQUAL);
    put_constant(code, 2, (uint64_t)island->words.tid);
    put_access(code, LOAD, 2, 0, 2);
    hs_arm_code__put(code, 0xe5911000 | island->number_at); // ldr r1, [r1, number_at]
    hs_arm_code__put(code, 0xe1510002);                     // cmp r1, r2
    size_t same = put_branch(code, EQUAL);
    if (island->no_record)
        land(code, none);
    put_constant(code, 1, island->no_record);
    put_access(code, STORE, 1, 0, HS_ARM_IP);
    if (!island->no_record)
        land(code, none);
    land(code, same);
    hs_arm_code__put(code, 0xe8bd4007); // pop {r0, r1, r2, lr}
}

// Only ip is free at the entry of a function.
static size_t put_island(uint8_t *bytes, const struct hs_island *island)
{
    struct hs_arm_code code = {.start = bytes};
    size_t below = 0, own = 0;
    if (island->original & THUMB)
        hs_arm_code__put_halves(&code, 0x4778, 0x46c0); // bx pc; nop
    if (island->own_end) {
        put_constant(&code, HS_ARM_IP, island->own);
        hs_arm_code__put(&code, 0xe15e000c); // cmp lr, ip
        below = put_branch(&code, LOWER);
        put_constant(&code, HS_ARM_IP, island->own_end);
        hs_arm_code__put(&code, 0xe15e000c);
        own = put_branch(&code, LOWER);
        land(&code, below);
    }
    if (!island->is_loaded)
        put_thread_check(&code, island);
    if (island->function)
        put_constant(&code, HS_ARM_IP, island->function);
    put_far_jump(&code, island->hook);
    if (own) {
        land(&code, own);
        put_far_jump(&code, island->original);
    }
    return code.length;
}

// ---- moving --------------------------------------------------------------------------------------------------------

// How many bytes a patch takes that leads to memory around `to`.
static size_t patch_length(uint64_t function, uint64_t to)
{
    enum { AROUND = 1 << 20 };
    uint8_t bytes[HS_INJECT_PATCH];
    struct hs_arm_code code = {.start = bytes, .at = function & ~(uint64_t)THUMB};
    uint64_t first = to > AROUND ? to - AROUND : 0, last = to + AROUND;
    if (near_jump(&code, function, first & ~3ull) && (code.length = 0, near_jump(&code, function, last & ~3ull)))
        return UNIT;
    return function & THUMB && code.at % UNIT ? 10 : 8;
}

// Of an instruction that has been moved.
static bool may_set_ip(const uint8_t *bytes, size_t length, bool is_thumb)
{
    static const unsigned places[] = {16, 12, 8, 0};
    uint16_t halves[2] = {0};
    memcpy(halves, bytes, length);
    if (length < UNIT)
        return (halves[0] & 0xfc87) == 0x4484; // of high registers
    uint32_t word = is_thumb ? (uint32_t)halves[0] << 16 | halves[1] : (uint32_t)halves[1] << 16 | halves[0];
    bool found = is_thumb ? (word & 0xfe400000) == 0xe8000000 : (word & 0x0e000000) == 0x08000000; // ldm
    found = found && word >> HS_ARM_IP & 1;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        found |= (word >> places[i] & 15) == HS_ARM_IP;
    return found;
}

static const char *move_all(struct hs_arm_code *code, struct hs_moved_code *moved, uint64_t function,
                            const uint8_t *bytes, size_t end, size_t needed)
{
    const char *problem = NULL;
    while (!problem && moved->consumed < needed) {
        size_t length = 0;
        if (!code->goes_on || moved->consumed >= end)
            return "is too short";
        if (code->length + LONGEST_MOVED > HS_INJECT_CODE)
            return HS_ARM_NOT_UNDERSTOOD;
        code->from = moved->at + moved->consumed;
        problem = (function & THUMB ? hs_thumb_code__move : hs_arm_code__move)(code, bytes + moved->consumed,
                                                                               end - moved->consumed, &length);
        code->is_ip_free &= !may_set_ip(bytes + moved->consumed, length, function & THUMB);
        moved->consumed += length;
    }
    return problem;
}

static const char *move_to(struct hs_moved_code *moved, uint64_t function, const uint8_t *bytes, size_t length,
                           size_t size, uint64_t to)
{
    const bool is_thumb = function & THUMB;
    struct hs_arm_code code = {
        .start = moved->code, .at = to, .may_call = moved->may_call, .goes_on = true, .is_ip_free = true};
    if (is_thumb && !has_thumb_2())
        return "is Thumb code of a processor without long branches";
    if (!is_thumb && moved->at % UNIT)
        return HS_ARM_NOT_UNDERSTOOD;
    const char *problem =
        move_all(&code, moved, function, bytes, size && size < length ? size : length, patch_length(function, to));
    if (problem)
        return problem;
    if (code.goes_on && is_thumb)
        hs_thumb_code__jump(&code, (moved->at + moved->consumed) | THUMB);
    else if (code.goes_on)
        hs_arm_code__jump(&code, moved->at + moved->consumed);
    moved->length = code.length;
    bool is_jumped_to =
        (is_thumb ? hs_thumb_code__is_jumped_to : hs_arm_code__is_jumped_to)(bytes, length, size, moved->consumed);
    return is_jumped_to ? "jumps back to its beginning" : NULL;
}

static bool move(struct hs_moved_code *moved, uint64_t function, const uint8_t *bytes, size_t length, size_t size,
                 uint64_t to)
{
    *moved = (struct hs_moved_code){.may_call = moved->may_call, .at = function & ~(uint64_t)THUMB};
    moved->problem = move_to(moved, function, bytes, length, size, to);
    return !moved->problem;
}

// ---- stopped threads -----------------------------------------------------------------------------------------------

#if defined(__arm__) && defined(__ARMEL__)

enum {
    ARGUMENTS = 6,
    NUMBER = 7,
    STATUS = 16, // cpsr
    THUMB_STATE = 1 << 5,
    SETS_MASK = 2,
    MASK_SIZE = 8,
};

#define CONDITIONAL_STATE 0x0600fc00u // of an IT block

#ifndef PTRACE_GET_THREAD_AREA
#define PTRACE_GET_THREAD_AREA 22
#endif

struct registers {
    uint32_t values[18]; // r0 to r15, cpsr, r0 of the system call
};

static const struct registers *saved(const struct hs_borrowed *borrowed)
{
    return (const struct registers *)(const void *)borrowed->registers;
}

static void send(void *to, uint64_t pc)
{
    struct registers *registers = to;
    registers->values[HS_ARM_PC] = (uint32_t)pc & ~(uint32_t)THUMB;
    registers->values[STATUS] &= ~(CONDITIONAL_STATE | THUMB_STATE);
    if (pc & THUMB)
        registers->values[STATUS] |= THUMB_STATE;
}

static void ask(void *of, const struct hs_system_call *call)
{
    struct registers *registers = of;
    registers->values[NUMBER] = (uint32_t)call->number;
    for (size_t i = 0; i < ARGUMENTS; i++)
        registers->values[i] = (uint32_t)call->arguments[i];
}

static long answer(const void *of)
{
    return (long)((const struct registers *)of)->values[0];
}

static void look(const void *of, uint64_t *pc, uint64_t *sp)
{
    const struct registers *registers = of;
    *pc = registers->values[HS_ARM_PC];
    *sp = registers->values[HS_ARM_SP];
}

static int thread_pointer(pid_t tid, const void *of, uint64_t *pointer)
{
    (void)of;
    uint32_t value = 0;
    if (ptrace(PTRACE_GET_THREAD_AREA, tid, 0, &value))
        return -errno;
    *pointer = value;
    return 0;
}

// No jump leads into the middle of an IT block.
static bool is_unfit(const void *of)
{
    return ((const struct registers *)of)->values[STATUS] & CONDITIONAL_STATE;
}

// The kernel goes back to the instruction that calls before it stops the thread, and forgets how much time has passed
// when the thread does something else. Headers differ in the names of calls with 32 and with 64 bits for seconds.
static bool waits_anew(const struct hs_system_call *system_call)
{
    enum { CLOCK_NANOSLEEP = 265, CLOCK_NANOSLEEP_TIME64 = 407, FUTEX_TIME64 = 422 };
    const long *arguments = system_call->arguments;
    switch (system_call->number) {
    case SYS_nanosleep:
        return true;
    case SYS_poll:
        return arguments[2] > 0;
    case CLOCK_NANOSLEEP:
    case CLOCK_NANOSLEEP_TIME64:
        return !(arguments[1] & TIMER_ABSTIME);
    case SYS_futex:
    case FUTEX_TIME64:
        return (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && arguments[3];
    default:
        return false;
    }
}

// The stub's values: r0 to r7, the mask, and where to go.
enum {
    VALUE_MASK = NUMBER + 1,
    VALUE_PC = VALUE_MASK + 2,
    VALUE_COUNT,
    VALUES_AT = HS_INJECT_CODE - UNIT * VALUE_COUNT
};

static uint32_t distance_to(const struct hs_arm_code *code, unsigned value)
{
    return (uint32_t)(VALUES_AT + UNIT * value - (code->length + 8));
}

static void put_load_value(struct hs_arm_code *code, uint32_t reg, unsigned value)
{
    hs_arm_code__put(code, 0xe59f0000 | reg << 12 | distance_to(code, value));
}

static void put_small(struct hs_arm_code *code, uint32_t reg, uint32_t value)
{
    hs_arm_code__put(code, 0xe3a00000 | reg << 12 | value);
}

// A system call changes no register but r0, so that only what was needed for calls is not yet as before.
static void put_rest(struct hs_arm_code *code)
{
    put_small(code, 0, SETS_MASK);
    hs_arm_code__put(code, 0xe28f1000 | distance_to(code, VALUE_MASK)); // add r1, pc, distance
    put_small(code, 2, 0);
    put_small(code, 3, MASK_SIZE);
    put_small(code, NUMBER, SYS_rt_sigprocmask);
    hs_arm_code__put(code, 0xef000000); // svc 0
    for (uint32_t i = 0; i <= NUMBER; i++)
        put_load_value(code, i, i);
    put_load_value(code, HS_ARM_PC, VALUE_PC);
}

static void put_child(struct hs_arm_code *code, uint64_t done)
{
    put_small(code, 11, 0);
    put_small(code, HS_ARM_LR, 0);
    hs_arm_code__put(code, 0xe49dc008); // ldr ip, [sp], 8
    hs_arm_code__put(code, 0xe12fff3c); // blx ip
    put_constant(code, 0, done);
    put_small(code, 1, 1);
    hs_arm_code__put(code, 0xe5801000); // str r1, [r0]
    put_small(code, NUMBER, SYS_exit);
    put_small(code, 0, 0);
    hs_arm_code__put(code, 0xef000000);
}

// The flags are as before, too.
static size_t put_stub(uint8_t *bytes, const struct hs_borrowed *borrowed, uint64_t done)
{
    const uint32_t *values = saved(borrowed)->values;
    struct hs_arm_code code = {.start = bytes, .at = borrowed->stub};
    size_t child = 0;
    memset(bytes, 0, HS_INJECT_CODE);
    hs_arm_code__put(&code, 0xef000000);
    if (done) {
        hs_arm_code__put(&code, 0xe10f1000); // mrs r1, cpsr
        hs_arm_code__put(&code, 0xe3500000); // cmp r0, 0
        child = put_branch(&code, EQUAL);
        hs_arm_code__put(&code, 0xe128f001); // msr cpsr_f, r1
    }
    put_rest(&code);
    if (done) {
        land(&code, child);
        put_child(&code, done);
    }
    if (code.length > VALUES_AT)
        return 0;
    code.length = VALUES_AT;
    for (size_t i = 0; i <= NUMBER; i++)
        hs_arm_code__put(&code, values[i]);
    hs_arm_code__put(&code, (uint32_t)borrowed->mask[0]);
    hs_arm_code__put(&code, (uint32_t)(borrowed->mask[0] >> 32));
    hs_arm_code__put(&code, values[HS_ARM_PC] | (values[STATUS] & THUMB_STATE ? THUMB : 0));
    return HS_INJECT_CODE;
}

#endif

const struct hs_inject_arch hs_inject_arm = {
    .machine = EM_ARM,
    .audit = AUDIT_ARCH_ARM,
    .class = ELFCLASS32,
    .reach = 0xe00000,
    .has_far_patch = true,
    .mode = THUMB,
    .relative = R_ARM_RELATIVE,
    .thread_offset = R_ARM_TLS_TPOFF32,
    .symbol = {R_ARM_GLOB_DAT, R_ARM_JUMP_SLOT, R_ARM_ABS32},
    .words = words,
    .is_thread_below = true,
    .move = move,
    .patch = put_patch,
    .island = put_island,
    .return_zero = put_return_zero,
    .trap = (const uint8_t[]){0xf0, 0x01, 0xf0, 0xe7},
    .trap_of_mode = (const uint8_t[]){0x01, 0xde, 0x01, 0xde},
    .trap_length = UNIT,
    .trap_passed = 0,
#if defined(__arm__) && defined(__ARMEL__)
    .stub = put_stub,
    .stub_values = UNIT * VALUE_COUNT,
    .get = hs_register_set__get,
    .set = hs_register_set__set,
    .send = send,
    .ask = ask,
    .answer = answer,
    .look = look,
    .thread_pointer = thread_pointer,
    .clone_pointer = 3,
    .is_unfit = is_unfit,
    .mmap = SYS_mmap2,
    .waits_anew = waits_anew,
#endif
};
