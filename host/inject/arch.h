// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What an injector has to know about an architecture: one table each.
#ifndef HEAPSONDE_HOST_INJECT_ARCH_H
#define HEAPSONDE_HOST_INJECT_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A system call may change most registers of MIPS, where there are also more signals.
#if defined(__mips__)
enum { HS_INJECT_CODE = 384, HS_INJECT_MASK = 2 };
#else
enum { HS_INJECT_CODE = 256, HS_INJECT_MASK = 1 };
#endif
enum { HS_INJECT_PATCH = 12, HS_INJECT_REGISTERS = 512 };

// The first instructions of a function, moved elsewhere.
struct hs_moved_code {
    bool may_call;                // given: a call may be moved. No exception may pass the function then
    uint64_t at;                  // where the patch goes: behind a landing pad
    size_t consumed;              // bytes of whole instructions that the patch touches
    uint8_t code[HS_INJECT_CODE]; // what stands for them, and leads behind them
    size_t length;
    uint32_t signing;    // the instruction before the patch that has signed the return address; 0: none
    const char *problem; // why it is not possible
};

// A word of the thread control block that libc reserves and does not use, and where it keeps the thread's number; both
// from the thread pointer on.
struct hs_thread_words {
    const char *libc;
    int64_t word;
    int64_t tid;
};

// What a patched function jumps to.
struct hs_island {
    uint64_t at;           // where it will be
    uint64_t hook;         // function of the library
    uint64_t original;     // the moved code
    uint64_t function;     // the record that `hook` gets in a register; 0: none
    uint32_t signing;      // of struct hs_moved_code
    bool is_loaded;        // the library was loaded by a dynamic linker: threads are as it expects them
    uint64_t own, own_end; // calls from here are the allocator's own and go to `original`; 0, 0: none
    struct hs_thread_words words;
    uint32_t number_at; // of the owner's tid in a thread's record
    uint64_t no_record; // what `words.word` becomes in a thread that has no record: an address, or 0
};

// A stopped thread that carries out system calls.
struct hs_borrowed {
    pid_t tid;
    uint64_t mask[HS_INJECT_MASK]; // of blocked signals
    uint64_t stub;
    _Alignas(16) uint8_t registers[HS_INJECT_REGISTERS];
};

struct hs_system_call {
    long number;
    long arguments[6];
};

struct hs_inject_arch {
    uint16_t machine;     // e_machine of ELF
    uint32_t audit;       // as filters of system calls (seccomp) name it
    uint8_t class;        // e_ident[EI_CLASS]
    uint64_t reach;       // how far a patch can jump
    uint8_t segment_bits; // 0, or the upper bits of its target's address are those above these of its own
    bool has_far_patch;   // further, if it is longer
    uint64_t mode;        // bits of a pointer to code that are no part of its address, e.g. Thumb
    uint32_t relative, thread_offset, symbol[3]; // types of relocations
    bool has_no_adopted;                         // no library takes other functions than libc's, or samples
    const struct hs_thread_words *words;         // the first is glibc's; a `libc` of NULL ends them
    bool is_thread_below;                        // what glibc knows of a thread is below the thread pointer

    // `function` and `at` are pointers as programs have them, with bits for the mode. All other addresses are plain.
    // `code`: `length` bytes from `function` on, of which the function has `size` (0: not known).
    bool (*move)(struct hs_moved_code *moved, uint64_t function, const uint8_t *code, size_t length, size_t size,
                 uint64_t to);
    // Returns the patch's length, 0 if `to` is out of reach.
    size_t (*patch)(uint8_t *code, uint64_t at, uint64_t to);
    size_t (*island)(uint8_t *code, const struct hs_island *island);
    const uint8_t *trap, *trap_of_mode; // an instruction that stops a thread; the same in code of the other mode
    size_t trap_length;
    size_t trap_passed; // how many bytes behind its start the thread then is
    size_t (*return_zero)(uint8_t *code);

    // The rest is for threads that ptrace has stopped; NULL on other machines.
    // Instructions for `stub`: a system call, after which everything is as before the thread was borrowed, so that it
    // needs nobody. With `done` a new thread may come out of the call: it calls the function on its stack, writes 1 to
    // `done` and ends. Returns at most HS_INJECT_CODE; 0: the instructions have no room before the values.
    size_t (*stub)(uint8_t *code, const struct hs_borrowed *borrowed, uint64_t done);
    size_t stub_values; // bytes at its end that differ from call to call
    // Registers as ptrace has them; 0 or a negative errno. See also register_set.h.
    int (*get)(pid_t tid, void *registers);
    int (*set)(pid_t tid, const void *registers);
    void (*send)(void *registers, uint64_t pc);                      // to another place in the code
    void (*ask)(void *registers, const struct hs_system_call *call); // sent to the stub: for a call there
    long (*answer)(const void *registers);                           // of that call
    void (*look)(const void *registers, uint64_t *pc, uint64_t *sp);
    int (*thread_pointer)(pid_t tid, const void *registers, uint64_t *pointer);
    // The stub could not bring the thread back to where it is. NULL: it always can.
    bool (*is_unfit)(const void *registers);
    unsigned clone_pointer; // which argument of clone is the thread pointer
    // Whether this call waits for a time from its beginning on, also if a borrowed thread was in it. NULL: none does.
    bool (*waits_anew)(const struct hs_system_call *call);
    long mmap; // number of the system call
};

// Whether a jump leads from one to the other, as far as the upper bits of their addresses go.
static inline bool hs_inject_arch__is_segment(const struct hs_inject_arch *arch, uint64_t a, uint64_t b)
{
    return !arch->segment_bits || a >> arch->segment_bits == b >> arch->segment_bits;
}

// NULL: none for this machine.
const struct hs_inject_arch *hs_inject_arch__native(void);
extern const struct hs_inject_arch hs_inject_amd64, hs_inject_aarch64, hs_inject_arm, hs_inject_mips64;

#endif
