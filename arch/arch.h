// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The architecture behind one header. Everything above `arch/` includes this file and nothing else of `arch/`.
// A port is one folder that provides:
//
//   syscall.h       hs_arch_syscall(): one raw system call, returns the kernel's value (-errno on failure)
//   clock.h         hs_arch_ticks(), hs_arch_ticks_usable(): a constant, synchronous counter; HS_ARCH_TICK_SHIFT
//   kernel.h        numbers and layouts of system calls that arch/system.h makes the same everywhere
//   thread.h        hs_arch_clone_thread(): start a thread on an own stack without libc; hs_arch_thread_pointer(),
//                   hs_arch_set_thread_pointer()
//   registers.h     struct hs_registers and how it is captured: the state the unwinder starts from
//   signal_frame.h  where the kernel keeps the interrupted registers
//   other_stack.h   how to tell code that called on another stack; not where frame pointers tell it
//   start_code.h    how to tell the first code of a process, where every stack ends
//   rule.h          the 30-bit encoding of an unwind rule, register numbers, keys of code addresses
//   trace_arch.h    HS_ARCH_ADDRESS_SHIFT and the number of this architecture in trace files
//   decoder.c       what an instruction does to a stack frame (arch/decoder.h)
#ifndef HEAPSONDE_ARCH_ARCH_H
#define HEAPSONDE_ARCH_ARCH_H

#include "arch/decoder.h"

// HS_ARCH_HEADER: a header that stands for all of that when unwind/ is compiled to look at the stacks of another
// machine.
#if defined(HS_ARCH_HEADER)
#include HS_ARCH_HEADER
#elif defined(__x86_64__) && defined(__LP64__)
#include "amd64/clock.h"
#include "amd64/kernel.h"
#include "amd64/registers.h"
#include "amd64/rule.h"
#include "amd64/signal_frame.h"
#include "amd64/start_code.h"
#include "amd64/syscall.h"
#include "amd64/thread.h"
#include "amd64/trace_arch.h"
#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)
#include "aarch64/clock.h"
#include "aarch64/kernel.h"
#include "aarch64/other_stack.h"
#include "aarch64/registers.h"
#include "aarch64/rule.h"
#include "aarch64/signal_frame.h"
#include "aarch64/start_code.h"
#include "aarch64/syscall.h"
#include "aarch64/thread.h"
#include "aarch64/trace_arch.h"
#elif defined(__arm__) && defined(__ARM_EABI__) && defined(__ARMEL__)
#include "arm/clock.h"
#include "arm/kernel.h"
#include "arm/other_stack.h"
#include "arm/registers.h"
#include "arm/rule.h"
#include "arm/signal_frame.h"
#include "arm/start_code.h"
#include "arm/syscall.h"
#include "arm/thread.h"
#include "arm/trace_arch.h"
#elif defined(__mips64) && _MIPS_SIM == _ABI64
#include "mips64/clock.h"
#include "mips64/kernel.h"
#include "mips64/other_stack.h"
#include "mips64/registers.h"
#include "mips64/rule.h"
#include "mips64/signal_frame.h"
#include "mips64/start_code.h"
#include "mips64/syscall.h"
#include "mips64/thread.h"
#include "mips64/trace_arch.h"
#else
#error "heapsonde: no arch/ folder for this target"
#endif

#endif
