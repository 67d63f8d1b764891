// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A process under ptrace: its memory, its mappings and the threads of it that are stopped (stop.h).
#ifndef HEAPSONDE_HOST_INJECT_TARGET_H
#define HEAPSONDE_HOST_INJECT_TARGET_H

#include "host/base/error.h"
#include "host/inject/arch.h"

#include <limits.h>

struct hs_thread_stop {
    pid_t tid;
    bool is_stopped;
    bool is_seen; // the next three are known
    uint64_t pc, sp, pointer;
    uintptr_t word; // the one that struct hs_thread_words names, once it was checked
};

struct hs_inject_mapping {
    uint64_t start, end, offset;
    bool is_readable, is_writable, is_executable;
    char *path; // "" for anonymous memory
};

struct hs_inject_target {
    pid_t pid;
    int memory; // /proc/PID/mem
    const struct hs_inject_arch *arch;
    struct hs_thread_stop *threads;
    size_t thread_count, thread_room;
    bool has_lost;          // threads whose end was not told
    uint64_t stopped_since; // when the first of its threads was interrupted, of CLOCK_MONOTONIC
    struct hs_inject_mapping *mappings;
    size_t mapping_count, mapping_room;
    bool is_starting;     // its only thread is stopped already and stays so
    bool is_before_libc;  // which has not begun: threads have no control block yet
    bool is_joined;       // other processes wait meanwhile for the one that traces it, so that it may not take long
    bool has_handlers;    // of signals
    bool has_own_numbers; // processes have other numbers in its namespace
};

int hs_inject_target__open(struct hs_inject_target *target, pid_t pid, struct hs_error *error);
void hs_inject_target__close(struct hs_inject_target *target); // also lets go of stopped threads
// They stay stopped, and traced by this process.
void hs_inject_target__keep(struct hs_inject_target *target);

int hs_inject_target__read_mappings(struct hs_inject_target *target, struct hs_error *error);

// Whether its stopped first thread can still be told anything: not if the process is killed, which ends every stop.
bool hs_inject_target__is_held(const struct hs_inject_target *target);

// Whether the program whose memory was opened has ended, or its process has executed another one.
bool hs_inject_target__is_gone(const struct hs_inject_target *target);

// How many of the bytes from `at` on can be read, up to memory that cannot.
size_t hs_inject_target__read_some(const struct hs_inject_target *target, uint64_t at, void *bytes, size_t length);
// 0 or a negative errno; a part counts as nothing.
int hs_inject_target__read(const struct hs_inject_target *target, uint64_t at, void *bytes, size_t length);
int hs_inject_target__write(const struct hs_inject_target *target, uint64_t at, const void *bytes, size_t length);
// Says that a write has failed. Returns `failed`.
int hs_inject_target__not_written(const struct hs_inject_target *target, int failed, struct hs_error *error);

// Detaches from its threads, which go on.
void hs_inject_target__let_go(struct hs_inject_target *target);
void hs_inject_target__let_thread_go(struct hs_inject_target *target, size_t index);
// Takes a thread out of the list of those that are traced.
void hs_inject_target__drop_thread(struct hs_inject_target *target, size_t index);
// Other threads of this machine wait while threads of the target do. Where it is not allowed, it takes longer.
void hs_inject_target__hurry(bool on);

// The thread's number in its own namespace of processes.
pid_t hs_inject_target__own_tid(const struct hs_inject_target *target, pid_t tid);

// Whether it has a thread of that number, which is one of its own namespace.
bool hs_inject_target__has_thread(const struct hs_inject_target *target, pid_t own_tid);

// A line "Name:\tvalue" of /proc/PID/status; false: there is none.
bool hs_inject_target__status(pid_t pid, const char *name, char *value, size_t size);
// The first line of /proc/PID/task/TID/NAME; false: there is none.
bool hs_inject_target__thread_line(const struct hs_inject_target *target, pid_t tid, const char *name, char *line,
                                   size_t size);

#endif
