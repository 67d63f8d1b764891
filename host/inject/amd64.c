// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/arch.h"

#include "arch/amd64/decode.h"

#include <elf.h>
#include <linux/audit.h>
#include <string.h>

#if defined(__x86_64__) && defined(__LP64__)
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#endif

enum { JUMP = 5 };

static const struct hs_thread_words words[] = {
    {"glibc", 0x60, 0x2d0},
    {"musl", 0x20, 0x30},
    {0},
};

// ---- code ----------------------------------------------------------------------------------------------------------

struct code {
    uint8_t *start;
    size_t length;
    uint64_t at; // address of `start`
    bool is_wrong;
};

static void put(struct code *code, const void *bytes, size_t length)
{
    memcpy(code->start + code->length, bytes, length);
    code->length += length;
}

#define PUT(code, ...) put(code, (const uint8_t[]){__VA_ARGS__}, sizeof(uint8_t[]){__VA_ARGS__})

static void put_32(struct code *code, int64_t value)
{
    int32_t word = (int32_t)value;
    put(code, &word, sizeof word);
}

static void put_64(struct code *code, uint64_t value)
{
    put(code, &value, sizeof value);
}

// The distance from the end of the instruction, of which `more` bytes follow.
static void put_distance(struct code *code, uint64_t to, size_t more)
{
    int64_t distance = (int64_t)(to - (code->at + code->length + 4 + more));
    code->is_wrong |= distance != (int32_t)distance;
    put_32(code, distance);
}

// jmp *0(%rip); the address
static void put_far_jump(struct code *code, uint64_t to)
{
    PUT(code, 0xff, 0x25, 0, 0, 0, 0);
    put_64(code, to);
}

static void put_jump(struct code *code, uint64_t to)
{
    struct code near = *code;
    PUT(&near, 0xe9);
    put_distance(&near, to, 0);
    if (near.is_wrong)
        put_far_jump(code, to);
    else
        *code = near;
}

static size_t put_patch(uint8_t *bytes, uint64_t at, uint64_t to)
{
    struct code code = {.start = bytes, .at = at};
    PUT(&code, 0xe9);
    put_distance(&code, to, 0);
    return code.is_wrong ? 0 : code.length;
}

static size_t put_return_zero(uint8_t *bytes)
{
    struct code code = {.start = bytes};
    PUT(&code, 0x31, 0xc0, 0xc3); // xor %eax, %eax; ret
    return code.length;
}

// jcc over `skipped` bytes are filled in afterwards.
static size_t put_short_jump(struct code *code, uint8_t opcode)
{
    PUT(code, opcode, 0);
    return code->length;
}

static void land(struct code *code, size_t jump)
{
    code->start[jump - 1] = (uint8_t)(code->length - jump);
}

// A new thread may find the record of one that has ended.
static void put_thread_check(struct code *code, const struct hs_island *island)
{
    PUT(code, 0x64, 0x4c, 0x8b, 0x1c, 0x25); // mov %fs:word, %r11
    put_32(code, island->words.word);
    PUT(code, 0x4d, 0x85, 0xdb); // test %r11, %r11
    size_t none = put_short_jump(code, 0x74);
    PUT(code, 0x64, 0x44, 0x8b, 0x14, 0x25); // mov %fs:tid, %r10d
    put_32(code, island->words.tid);
    PUT(code, 0x45, 0x39, 0x93); // cmp %r10d, number_at(%r11)
    put_32(code, island->number_at);
    size_t same = put_short_jump(code, 0x74);
    if (!island->no_record) {
        PUT(code, 0x64, 0x48, 0xc7, 0x04, 0x25); // movq $0, %fs:word
        put_32(code, island->words.word);
        put_32(code, 0);
        land(code, none);
    } else {
        land(code, none);
        PUT(code, 0x49, 0xbb); // mov $no_record, %r11
        put_64(code, island->no_record);
        PUT(code, 0x64, 0x4c, 0x89, 0x1c, 0x25); // mov %r11, %fs:word
        put_32(code, island->words.word);
    }
    land(code, same);
}

// %r10 and %r11 are free at the entry of a C function.
static size_t put_island(uint8_t *bytes, const struct hs_island *island)
{
    struct code code = {.start = bytes, .at = island->at};
    size_t own = 0;
    if (island->own_end) {
        PUT(&code, 0x49, 0xbb); // mov $-own, %r11
        put_64(&code, 0 - island->own);
        PUT(&code, 0x4c, 0x03, 0x1c, 0x24); // add (%rsp), %r11
        PUT(&code, 0x49, 0x81, 0xfb);       // cmp $size, %r11
        put_32(&code, (int64_t)(island->own_end - island->own));
        own = put_short_jump(&code, 0x72); // jb
    }
    if (!island->is_loaded)
        put_thread_check(&code, island);
    if (island->function) {
        PUT(&code, 0x49, 0xbb); // mov $function, %r11
        put_64(&code, island->function);
    }
    put_jump(&code, island->hook);
    if (own) {
        land(&code, own);
        put_jump(&code, island->original);
    }
    return code.length;
}

// ---- moving instructions -------------------------------------------------------------------------------------------

struct instruction {
    struct amd64 parts;
    const uint8_t *bytes;
    uint64_t next, target; // target: of a branch
    bool is_main, is_second;
};

static bool take(struct instruction *instruction, const uint8_t *bytes, size_t length, uint64_t at)
{
    memset(instruction, 0, sizeof *instruction);
    if (!hs_amd64_take_apart(&instruction->parts, bytes, length))
        return false;
    const struct amd64 *parts = &instruction->parts;
    instruction->bytes = bytes;
    instruction->next = at + parts->at;
    instruction->target = instruction->next + (uint64_t)parts->immediate;
    instruction->is_main = parts->map == AMD64_MAP_MAIN && !parts->vector;
    instruction->is_second = parts->map == AMD64_MAP_0F && !parts->vector;
    return true;
}

static bool is_jump(const struct instruction *instruction)
{
    return instruction->is_main && (instruction->parts.opcode == 0xe9 || instruction->parts.opcode == 0xeb);
}

static bool is_conditional(const struct instruction *instruction)
{
    uint8_t high = instruction->parts.opcode & 0xf0;
    return (instruction->is_main && high == 0x70) || (instruction->is_second && high == 0x80);
}

static bool is_direct_call(const struct instruction *instruction)
{
    return instruction->is_main && instruction->parts.opcode == 0xe8;
}

static bool is_indirect_call(const struct instruction *instruction)
{
    return instruction->is_main && instruction->parts.opcode == 0xff &&
           (instruction->parts.reg_opcode == 2 || instruction->parts.reg_opcode == 3);
}

static bool is_loop(const struct instruction *instruction)
{
    return instruction->is_main && instruction->parts.opcode >= 0xe0 && instruction->parts.opcode <= 0xe3;
}

static bool is_transaction(const struct instruction *instruction)
{
    return instruction->is_main && instruction->parts.opcode == 0xc7 && instruction->bytes[1] == 0xf8; // xbegin
}

static bool branches(const struct instruction *instruction)
{
    return is_jump(instruction) || is_conditional(instruction) || is_loop(instruction) || is_transaction(instruction);
}

// syscall, sysenter, int, xbegin
static bool is_for_kernel(const struct instruction *instruction)
{
    uint8_t opcode = instruction->parts.opcode;
    return (instruction->is_second && (opcode == 0x05 || opcode == 0x34)) ||
           (instruction->is_main && (opcode == 0xcc || opcode == 0xcd || is_transaction(instruction)));
}

static bool leaves(const struct instruction *instruction)
{
    uint8_t opcode = instruction->parts.opcode, extension = instruction->parts.reg_opcode;
    return instruction->is_main &&
           (opcode == 0xc3 || opcode == 0xc2 || (opcode == 0xff && (extension == 4 || extension == 5)));
}

// ud2, hlt, int3: compilers put them where execution never gets.
static bool traps(const struct instruction *instruction)
{
    uint8_t opcode = instruction->parts.opcode;
    return (instruction->is_second && opcode == 0x0b) || (instruction->is_main && (opcode == 0xf4 || opcode == 0xcc));
}

static bool is_filler(const struct instruction *instruction)
{
    uint8_t opcode = instruction->parts.opcode;
    return (instruction->is_second && opcode == 0x1f) || (instruction->is_main && (opcode == 0x90 || opcode == 0xcc));
}

static bool is_relative(const struct instruction *instruction)
{
    return instruction->parts.has_modrm && instruction->parts.is_memory && (instruction->parts.modrm & 0xc7) == 5;
}

// Behind the displacement there is an immediate of 0, 1, 2 or 4 bytes.
static size_t displacement_at(const struct instruction *instruction)
{
    static const uint8_t tails[] = {4, 5, 6, 8};
    size_t length = instruction->parts.at, found = 0;
    for (size_t i = 0; i < sizeof tails; i++) {
        int32_t value;
        if (tails[i] >= length)
            break;
        memcpy(&value, instruction->bytes + length - tails[i], sizeof value);
        if (value != instruction->parts.memory.displacement ||
            instruction->bytes[length - tails[i] - 1] != instruction->parts.modrm)
            continue;
        if (found)
            return 0; // it could be either
        found = length - tails[i];
    }
    return found;
}

static const char *move_branch(struct code *code, const struct instruction *instruction,
                               const struct hs_moved_code *moved)
{
    if (instruction->target > moved->at && instruction->target < moved->at + JUMP)
        return "jumps within the patch";
    if (is_jump(instruction))
        PUT(code, 0xe9);
    else
        PUT(code, 0x0f, (uint8_t)(0x80 | (instruction->parts.opcode & 15)));
    put_distance(code, instruction->target, 0);
    return NULL;
}

static const char *move_relative(struct code *code, const struct instruction *instruction)
{
    size_t place = displacement_at(instruction), length = instruction->parts.at;
    if (!place)
        return "uses an address in a way that is not known";
    uint64_t address = instruction->next + (uint64_t)(int64_t)instruction->parts.memory.displacement;
    put(code, instruction->bytes, place);
    put_distance(code, address, length - place - 4);
    put(code, instruction->bytes + place + 4, length - place - 4);
    return NULL;
}

static const char *move_one(struct code *code, const struct instruction *instruction, const struct hs_moved_code *moved)
{
    if (is_jump(instruction) || is_conditional(instruction))
        return move_branch(code, instruction, moved);
    if (is_loop(instruction))
        return "is a loop";
    if ((is_direct_call(instruction) || is_indirect_call(instruction)) && !moved->may_call)
        return "calls at once";
    if (is_direct_call(instruction)) {
        PUT(code, 0xe8);
        put_distance(code, instruction->target, 0);
        return NULL;
    }
    if (is_for_kernel(instruction))
        return "makes a system call in its first instructions";
    if (is_relative(instruction))
        return move_relative(code, instruction);
    put(code, instruction->bytes, instruction->parts.at);
    return NULL;
}

static bool is_padding(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0xcc && bytes[i] != 0x90)
            return false;
    return true;
}

// Code from the function's first byte on.
struct extent {
    uint64_t function;
    const uint8_t *code;
    size_t length; // of the code
    size_t size;   // of the function; 0: not known
};

// Whether another function may begin behind filler.
static bool is_followed_by_another(const struct extent *extent, size_t at)
{
    enum { ALIGNMENT = 16 };
    struct instruction instruction;
    size_t first = at;
    while ((extent->function + at) % ALIGNMENT) {
        if (!take(&instruction, extent->code + at, extent->length - at, extent->function + at) ||
            !is_filler(&instruction))
            return false;
        at += instruction.parts.at;
    }
    return at > first;
}

// The size of a function: it ends with an instruction that leads elsewhere, or with a call that does not return, where
// no earlier one jumps further.
static size_t size_of(const struct extent *extent)
{
    struct instruction instruction;
    uint64_t last = extent->function;
    if (extent->size)
        return extent->size < extent->length ? extent->size : extent->length;
    for (size_t at = 0; at < extent->length;) {
        if (!take(&instruction, extent->code + at, extent->length - at, extent->function + at))
            return at;
        at += instruction.parts.at;
        if (branches(&instruction) && instruction.target > last &&
            instruction.target < extent->function + extent->length)
            last = instruction.target;
        if (extent->function + at > last &&
            (is_jump(&instruction) || leaves(&instruction) || traps(&instruction) ||
             ((is_direct_call(&instruction) || is_indirect_call(&instruction)) && is_followed_by_another(extent, at))))
            return at;
    }
    return extent->length;
}

// Whether an instruction jumps to what was moved, or a function to its own beginning: registers are not then as they
// are at a call. Other functions may end with a jump to the beginning.
static bool is_jumped_into(const struct hs_moved_code *moved, const struct extent *extent)
{
    const size_t size = size_of(extent), end = extent->size ? size : extent->length;
    struct instruction instruction;
    for (size_t at = 0; at < end;) {
        if (!take(&instruction, extent->code + at, end - at, extent->function + at)) {
            at++;
            continue;
        }
        bool is_own = at < size && branches(&instruction);
        uint64_t first = is_own ? extent->function : moved->at + 1;
        if ((branches(&instruction) || is_direct_call(&instruction)) && instruction.target >= first &&
            instruction.target < moved->at + moved->consumed)
            return true;
        at += instruction.parts.at;
    }
    return false;
}

static const char *move_all(struct hs_moved_code *moved, struct code *code, const uint8_t *bytes, size_t length)
{
    bool ended = false;
    while (moved->consumed < JUMP && !ended) {
        struct instruction instruction;
        if (!take(&instruction, bytes + moved->consumed, length - moved->consumed, moved->at + moved->consumed))
            return "has an instruction that was not understood";
        const char *problem = move_one(code, &instruction, moved);
        if (problem)
            return problem;
        moved->consumed += instruction.parts.at;
        ended = is_jump(&instruction) || leaves(&instruction);
    }
    if (moved->consumed < JUMP) {
        if (!is_padding(bytes + moved->consumed, JUMP - moved->consumed))
            return "is too short";
        moved->consumed = JUMP;
    }
    if (!ended) {
        PUT(code, 0xe9);
        put_distance(code, moved->at + moved->consumed, 0);
    }
    return code->is_wrong ? "is out of reach" : NULL;
}

static bool move(struct hs_moved_code *moved, uint64_t function, const uint8_t *bytes, size_t length, size_t size,
                 uint64_t to)
{
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const struct extent extent = {function, bytes, length, size};
    *moved = (struct hs_moved_code){.may_call = moved->may_call, .at = function};
    if (length >= sizeof endbr + JUMP && !memcmp(bytes, endbr, sizeof endbr)) {
        moved->at += sizeof endbr;
        bytes += sizeof endbr;
        length -= sizeof endbr;
    }
    struct code code = {.start = moved->code, .at = to};
    moved->problem = move_all(moved, &code, bytes, length);
    moved->length = code.length;
    if (!moved->problem && is_jumped_into(moved, &extent))
        moved->problem = "jumps back to its beginning";
    return !moved->problem;
}

// ---- stopped threads -----------------------------------------------------------------------------------------------

#if defined(__x86_64__) && defined(__LP64__)

enum { RESTART_BLOCK = 516, FIRST_RESTART = 512, SYSCALL_LENGTH = 2 };

static const struct user_regs_struct *saved(const struct hs_borrowed *borrowed)
{
    return (const struct user_regs_struct *)(const void *)borrowed->registers;
}

static int get(pid_t tid, void *registers)
{
    return ptrace(PTRACE_GETREGS, tid, 0, registers) ? -errno : 0;
}

static int set(pid_t tid, const void *registers)
{
    return ptrace(PTRACE_SETREGS, tid, 0, registers) ? -errno : 0;
}

static void send(void *to, uint64_t pc)
{
    struct user_regs_struct *registers = to;
    registers->rip = pc;
}

static void ask(void *of, const struct hs_system_call *call)
{
    struct user_regs_struct *registers = of;
    registers->rax = (unsigned long long)call->number;
    registers->orig_rax = ~0ull;
    registers->rdi = (unsigned long long)call->arguments[0];
    registers->rsi = (unsigned long long)call->arguments[1];
    registers->rdx = (unsigned long long)call->arguments[2];
    registers->r10 = (unsigned long long)call->arguments[3];
    registers->r8 = (unsigned long long)call->arguments[4];
    registers->r9 = (unsigned long long)call->arguments[5];
}

static long answer(const void *of)
{
    return (long)((const struct user_regs_struct *)of)->rax;
}

static void look(const void *of, uint64_t *pc, uint64_t *sp)
{
    const struct user_regs_struct *registers = of;
    *pc = registers->rip;
    *sp = registers->rsp;
}

static int thread_pointer(pid_t tid, const void *of, uint64_t *pointer)
{
    (void)tid;
    *pointer = ((const struct user_regs_struct *)of)->fs_base;
    return 0;
}

// As the kernel would begin an interrupted system call again.
static void begin_again(struct user_regs_struct *registers)
{
    long value = (long)registers->rax;
    if ((long)registers->orig_rax < 0 || value > -FIRST_RESTART || value < -RESTART_BLOCK || value == -515)
        return;
    registers->rax = value == -RESTART_BLOCK ? SYS_restart_syscall : registers->orig_rax;
    registers->rip -= SYSCALL_LENGTH;
}

// mov rest(%rip), %register
static void put_load(struct code *code, uint8_t rex, uint8_t modrm, uint64_t from)
{
    PUT(code, rex, 0x8b, modrm);
    put_distance(code, from, 0);
}

enum {
    WORD_RAX,
    WORD_RCX,
    WORD_RDX,
    WORD_RSI,
    WORD_RDI,
    WORD_R8,
    WORD_R9,
    WORD_R10,
    WORD_R11,
    WORD_RSP,
    WORD_RIP,
    WORD_FLAGS,
    WORD_MASK,
    WORD_COUNT
};

// Flags are loaded with a stack that is in the code, which no signal interrupts.
static void put_rest(struct code *code, uint64_t data)
{
    static const struct {
        uint8_t rex, modrm, word;
    } loads[] = {{0x48, 0x05, WORD_RAX}, {0x48, 0x0d, WORD_RCX}, {0x48, 0x15, WORD_RDX},
                 {0x48, 0x35, WORD_RSI}, {0x48, 0x3d, WORD_RDI}, {0x4c, 0x05, WORD_R8},
                 {0x4c, 0x0d, WORD_R9},  {0x4c, 0x15, WORD_R10}, {0x4c, 0x1d, WORD_R11}};
    PUT(code, 0x48, 0x8d, 0x25); // lea flags(%rip), %rsp
    put_distance(code, data + 8 * WORD_FLAGS, 0);
    PUT(code, 0x9d); // popf
    put_load(code, 0x48, 0x25, data + 8 * WORD_RSP);
    PUT(code, 0xb8);
    put_32(code, SYS_rt_sigprocmask);
    PUT(code, 0xbf, 2, 0, 0, 0); // SIG_SETMASK
    PUT(code, 0x48, 0x8d, 0x35); // lea mask(%rip), %rsi
    put_distance(code, data + 8 * WORD_MASK, 0);
    PUT(code, 0xba, 0, 0, 0, 0, 0x41, 0xba, 8, 0, 0, 0, 0x0f, 0x05); // no old one, 8 bytes, syscall
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        put_load(code, loads[i].rex, loads[i].modrm, data + 8 * loads[i].word);
    PUT(code, 0xff, 0x25); // jmp *rip(%rip)
    put_distance(code, data + 8 * WORD_RIP, 0);
}

static void put_child(struct code *code, uint64_t done)
{
    PUT(code, 0x31, 0xed, 0xff, 0x14, 0x24); // xor %ebp, %ebp; call *(%rsp), with a stack aligned as for any call
    PUT(code, 0x48, 0xb8);
    put_64(code, done);
    PUT(code, 0xc7, 0x00, 1, 0, 0, 0); // movl $1, (%rax)
    PUT(code, 0xb8);
    put_32(code, SYS_exit);
    PUT(code, 0x31, 0xff, 0x0f, 0x05);
}

static size_t put_stub(uint8_t *bytes, const struct hs_borrowed *borrowed, uint64_t done)
{
    struct user_regs_struct registers = *saved(borrowed);
    begin_again(&registers);
    struct code code = {.start = bytes, .at = borrowed->stub};
    uint64_t data = borrowed->stub + HS_INJECT_CODE - 8 * WORD_COUNT;
    memset(bytes, 0, HS_INJECT_CODE);
    PUT(&code, 0x0f, 0x05); // syscall
    if (done) {
        PUT(&code, 0x85, 0xc0);                      // test %eax, %eax
        size_t parent = put_short_jump(&code, 0x75); // jne
        put_child(&code, done);
        land(&code, parent);
    }
    put_rest(&code, data);
    const uint64_t values[WORD_COUNT] = {
        registers.rax, registers.rcx, registers.rdx, registers.rsi, registers.rdi,    registers.r8,     registers.r9,
        registers.r10, registers.r11, registers.rsp, registers.rip, registers.eflags, borrowed->mask[0]};
    if (code.length > HS_INJECT_CODE - sizeof values)
        return 0;
    memcpy(bytes + HS_INJECT_CODE - sizeof values, values, sizeof values);
    return HS_INJECT_CODE;
}

#endif

const struct hs_inject_arch hs_inject_amd64 = {
    .machine = EM_X86_64,
    .audit = AUDIT_ARCH_X86_64,
    .class = ELFCLASS64,
    .reach = 0x70000000,
    .relative = R_X86_64_RELATIVE,
    .thread_offset = R_X86_64_TPOFF64,
    .symbol = {R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_64},
    .words = words,
    .move = move,
    .patch = put_patch,
    .island = put_island,
    .return_zero = put_return_zero,
    .trap = (const uint8_t[]){0xcc},
    .trap_length = 1,
    .trap_passed = 1,
#if defined(__x86_64__) && defined(__LP64__)
    .stub = put_stub,
    .stub_values = 8 * WORD_COUNT,
    .get = get,
    .set = set,
    .send = send,
    .ask = ask,
    .answer = answer,
    .look = look,
    .thread_pointer = thread_pointer,
    .clone_pointer = 4,
    .mmap = SYS_mmap,
#endif
};
