// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stops threads of a process, which then wait until hs_inject_target__let_go().
#ifndef HEAPSONDE_HOST_INJECT_STOP_H
#define HEAPSONDE_HOST_INJECT_STOP_H

#include "host/inject/target.h"

// Stops one thread, preferably one that is not in a call that waits for a signal.
int hs_inject_stop__one(struct hs_inject_target *target, struct hs_error *error);
// Stops this one. If it ends meanwhile, the target has no stopped thread.
int hs_inject_stop__thread(struct hs_inject_target *target, pid_t tid, struct hs_error *error);
// Stops all, also those that are created meanwhile.
int hs_inject_stop__all(struct hs_inject_target *target, struct hs_error *error);
// Where a stopped thread is: asked once a stop. False: it has ended.
bool hs_inject_stop__see(const struct hs_inject_target *target, struct hs_thread_stop *thread);

#endif
