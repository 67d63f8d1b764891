// SPDX-License-Identifier: MIT OR Apache-2.0
//
// libheapsonde-unwind: stack traces of the calling thread, fast enough to take one at every allocation.
//
// How it works. A code address is looked up in a cache of unwind rules that all threads share; a rule that is missing
// is read from the module's .eh_frame, from frames registered with hs_register_frames(), or from the .debug_frame of
// the module's file. Each thread keeps its last stack; a new walk continues only until it meets that stack. It then
// proves that the rest is unchanged: it re-reads the words that the earlier walk depended on. Nothing is written
// outside of the library's own memory, so exceptions, longjmp, coroutines, fork and other unwinders are unaffected.
//
// These rules hold for every function, unless stated otherwise:
// - It may be called from any thread and from signal handlers, also while the same thread is inside the library.
// - It takes no lock, allocates nothing, does not change errno, and needs no libc.
// - It never faults, whatever the stack contains, as long as the stack pointer itself is on readable memory.
// - It needs at most 4 KiB of stack.
// - Lengths are numbers of array elements. The library keeps no pointer that is passed to it, except where stated.
//
// A thread must have its own thread control block, as every thread made by libc has.
#ifndef HEAPSONDE_UNWIND_H
#define HEAPSONDE_UNWIND_H

#ifdef __cplusplus
extern "C" {
#endif

#define HS_API __attribute__((visibility("default")))

// Why a stack ends where it ends. New values may be added.
enum hs_backtrace_end {
    HS_BACKTRACE_COMPLETE = 0,  // at the outermost frame
    HS_BACKTRACE_NO_RULE = 1,   // there is no unwind information for the last frame
    HS_BACKTRACE_BAD_RULE = 2,  // the unwind information of the last frame is damaged or not supported
    HS_BACKTRACE_BAD_STACK = 3, // the last frame's stack does not make sense: it shrinks or cannot be read
    HS_BACKTRACE_TOO_DEEP = 4,  // there are more frames than the array holds
};

struct hs_backtrace_info {
    int end;     // enum hs_backtrace_end
    int guessed; // 1: at least one frame was found by a chain of frame pointers, without a table that confirms it
};

// Stores the return addresses of the calling thread's stack into pcs[0, max), the innermost first: pcs[0] is in the
// caller of hs_backtrace(). If there are more than `max`, the innermost are stored. Returns the number of stored
// addresses; 0 if max <= 0. To look up the calling instruction, subtract 1 from an address.
//
// The first call of a thread maps about 64 KiB. Only the part that the depth of the stacks needs is touched. If the
// mapping fails, the function works without it, but slower. The memory of a thread that has ended is given to a new
// thread. A page of the stack that is seen for the first time, and a code address in a module that the loader does not
// know, may cost system calls; otherwise there are none.
HS_API int hs_backtrace(void **pcs, int max);

// Like hs_backtrace(); also stores in *info how the stack ended. `info` may be NULL.
HS_API int hs_backtrace_reason(void **pcs, int max, struct hs_backtrace_info *info);

// The stack that a signal interrupted: `context` is the third argument of a SA_SIGINFO handler (a ucontext_t).
// pcs[0] is the interrupted instruction itself, not a return address. To be called only in that handler, on its thread.
HS_API int hs_backtrace_context(void **pcs, int max, const void *context, struct hs_backtrace_info *info);

// Tells the library that code was unloaded or replaced: every cached rule and every kept stack is dropped. Call it
// before and after each dlclose(), and after code that was generated at run time is replaced.
HS_API void hs_unwind_forget_rules(void);

// Announces call frame information that was made at run time: `eh_frame` is the start of an .eh_frame section that ends
// with a zero word, as for __register_frame() of libgcc. The memory belongs to the caller; it must stay readable and
// unchanged until hs_deregister_frames(). Returns 0, or -1 if the section is damaged or the table (4,096 sections) is
// full.
HS_API int hs_register_frames(const void *eh_frame);

// Removes `eh_frame` and the rules that came from it. Returns 0 when no other thread reads it any more, -1 if it is not
// registered. It may wait for readers in other threads, in practice at most a few microseconds. It must not be called
// from a signal handler.
HS_API int hs_deregister_frames(const void *eh_frame);

#ifdef __cplusplus
}
#endif

#endif
