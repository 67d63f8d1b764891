// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The registers of a thread that ptrace has stopped. What returns int returns 0 or a negative errno.
#ifndef HEAPSONDE_HOST_INJECT_THREAD_H
#define HEAPSONDE_HOST_INJECT_THREAD_H

#include "host/inject/arch.h"

int hs_inject_thread__save(const struct hs_inject_arch *arch, struct hs_borrowed *borrowed);
int hs_inject_thread__restore(const struct hs_inject_arch *arch, const struct hs_borrowed *borrowed);
// Sends the thread to the stub, with a call to carry out there.
int hs_inject_thread__call(const struct hs_inject_arch *arch, const struct hs_borrowed *borrowed,
                           const struct hs_system_call *call);
// What the call has returned, or a negative errno.
long hs_inject_thread__result(const struct hs_inject_arch *arch, const struct hs_borrowed *borrowed);

int hs_inject_thread__look(const struct hs_inject_arch *arch, pid_t tid, uint64_t *pc, uint64_t *sp,
                           uint64_t *thread_pointer);
// `pc` is a pointer as programs have them, with bits for the mode.
int hs_inject_thread__go_to(const struct hs_inject_arch *arch, pid_t tid, uint64_t pc);
bool hs_inject_thread__is_unfit(const struct hs_inject_arch *arch, pid_t tid);

#endif
