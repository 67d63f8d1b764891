// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The architecture behind one header. Everything above `arch/` includes this file and nothing else of `arch/`.
// A port is one folder that provides:
//
//   syscall.h       hs_arch_syscall(): one raw system call, returns the kernel's value (-errno on failure)
//   clock.h         hs_arch_ticks(), hs_arch_ticks_usable(): a constant, synchronous counter
//   thread.h        hs_arch_clone_thread(): start a thread on an own stack without libc; hs_arch_thread_pointer()
//   registers.h     struct hs_registers, HS_CAPTURE_CALLER(): the state the unwinder starts from
//   signal_frame.h  where the kernel keeps the interrupted registers
//   start_code.h    how to tell the first code of a process, where every stack ends
//   rule.h          the 30-bit encoding of an unwind rule
//   trace_arch.h    HS_ARCH_ADDRESS_SHIFT and the number of this architecture in trace files
#ifndef HEAPSONDE_ARCH_ARCH_H
#define HEAPSONDE_ARCH_ARCH_H

#if defined(__x86_64__) && defined(__LP64__)
#define HS_ARCH_DIRECTORY amd64
#include "amd64/clock.h"
#include "amd64/registers.h"
#include "amd64/rule.h"
#include "amd64/signal_frame.h"
#include "amd64/start_code.h"
#include "amd64/syscall.h"
#include "amd64/thread.h"
#include "amd64/trace_arch.h"
#else
#error "heapsonde: no arch/ folder for this target"
#endif

#endif
