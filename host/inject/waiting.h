// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the kernel tells of threads that this process traces.
#ifndef HEAPSONDE_HOST_INJECT_WAITING_H
#define HEAPSONDE_HOST_INJECT_WAITING_H

#include "host/inject/target.h"

#include <time.h>

// ---- one word ------------------------------------------------------------------------------------------------------

// Waits for the next status of a thread, as waitpid gives it. False: nothing will be told.
bool hs_inject_waiting__next(const struct hs_inject_target *target, const struct hs_thread_stop *thread, int *status);
// The same by the number alone. The end of a process's first thread is not told before that of the others.
bool hs_inject_waiting__next_of_thread(pid_t tid, int *status);
// The next stop of a child whose end is left for the one who started it. False: it has ended.
bool hs_inject_waiting__next_of_child(pid_t pid, int *status);

// ---- until it has stopped ------------------------------------------------------------------------------------------

// Whether a status is of the stop that PTRACE_INTERRUPT asks for.
bool hs_inject_waiting__is_stop(int status);
// Waits for that stop. A signal that comes before it is delivered. False: the thread has ended.
bool hs_inject_waiting__stop(const struct hs_inject_target *target, struct hs_thread_stop *thread);

// ---- whether it has ended ------------------------------------------------------------------------------------------

// The state as /proc names it; 0: there is no such thread.
char hs_inject_waiting__state(const struct hs_inject_target *target, pid_t tid);
// Whether a thread is ending. Such a thread can no longer be seized.
bool hs_inject_waiting__is_ending(const struct hs_inject_target *target, pid_t tid);
// Whether wait() would report the end of a child; the report is left for the code that started it. `how`: WSTOPPED
// waits for the end or a stop, WNOHANG does not wait.
bool hs_inject_waiting__has_ended(pid_t pid, int how);

// ---- pauses between looks ------------------------------------------------------------------------------------------

enum { HS_INJECT_SHORTEST_PAUSE_NS = 10 * 1000 };
// Each time a little longer, up to a limit.
void hs_inject_waiting__pause(struct timespec *pause);

#endif
