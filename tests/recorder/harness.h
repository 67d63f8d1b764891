// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the cases are made of: run a program bare or recorded, read its traces, hold them against the counter.
#ifndef HEAPSONDE_TESTS_RECORDER_HARNESS_H
#define HEAPSONDE_TESTS_RECORDER_HARNESS_H

#include "tests/counter/counter.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Where things are: compile definitions, or for another machine's programs the environment: HEAPSONDE_TEST_PROGRAMS,
// _SHIM, _PROF_SHIM, _COUNTER, _ROOT (the folder in which that machine's files are; empty for this machine's own).
extern const char *path_programs, *path_shim, *path_prof_shim, *path_counter, *path_root;
extern const char *const path_heapsonde, *const path_source;

// HEAPSONDE_TEST_CUTS=allowed: stacks may be cut, and nothing is said of the frames that they hold.
extern bool cuts_allowed;

// The folder of this case: made by harness_start, removed by harness_finish when nothing failed.
extern char work[256];

// Ends the case: failed (1), skipped (77, which ctest knows), or broken set-up.
__attribute__((format(printf, 1, 2), noreturn)) void fail(const char *format, ...);
__attribute__((format(printf, 1, 2), noreturn)) void skip(const char *format, ...);
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);

// Notes a failure and goes on, so that one run names everything that is wrong.
__attribute__((format(printf, 1, 2))) void wrong(const char *format, ...);

void harness_start(const char *name);
int harness_finish(void);

__attribute__((format(printf, 1, 2))) char *text(const char *format, ...); // never freed

struct child {
    pid_t pid;
    int output; // read end of its standard output and standard error, -1 when they are ours
};

struct result {
    char *output;
    size_t length;
    int status; // as waitpid gives it
};

// RUN_HOST is for tools of this machine. The others run a program of the target, through HEAPSONDE_TEST_RUNNER
// ("qemu-arm -L FOLDER") where that is set.
enum { RUN_HOST, RUN_BARE, RUN_RECORDED, RUN_RECORDED_UNCOUNTED, RUN_COUNTED };

// Starts a program in `folder` (made when missing). `variables` ends with NULL, as does `command`; recorded runs leave
// trace.PID.N and counter.PID.N in the folder.
struct child start(int how, const char *folder, char *const variables[], char *const command[]);
struct result finish(struct child child);
struct result run(int how, const char *folder, char *const variables[], char *const command[]);
struct result run_words(const char *folder, ...); // RUN_HOST; words until NULL

const char *status_text(int status);

// The files of a folder whose names begin with `prefix`, sorted by number; NULL ends the list.
char **files_of(const char *folder, const char *prefix);

// What `heapsonde report --json` says of a trace. Fails when it does not work.
// With `all_stacks`, "top" holds every stack.
json_t *report_of(const char *trace, bool all_stacks);
uint64_t report_number(const json_t *report, const char *key);
uint64_t report_sum(const json_t *report, const char *key); // of the values of an object
uint64_t report_allocations_below(const json_t *report, const char *function);

struct counter counter_of(const char *path);

struct expectation {
    bool no_counter;       // the program cannot carry it: nothing to compare with
    bool inexact;          // numbers differ in what is known: see the case
    bool sums;             // the trace holds sums per stack
    bool untold;           // what happens after the last of them is only counted
    bool peak;             // one thread: the peak is comparable
    bool drops_allowed;    // nested events
    bool cut_allowed;      // stacks
    bool untracked;        // executed children have no trace
    long traces;           // how many there must be, -1: one for each counter
    long every;            // only each N-th trace is read, 0: all
    const char *frames[8]; // "function=allocations", NULL ends them
    uint64_t guessed;      // allocations whose stack holds a guessed frame; 0: any number
};

// One line for each trace: how many stacks there are, and how many of them are whole.
void print_stack_shares(const char *folder);

void compare_folder(const char *folder, const struct expectation *expectation);
void compare_trace(const char *trace, const char *counter, const struct expectation *expectation);
void compare_results(const struct result *bare, const struct result *recorded, bool output_too);

// Waits until a UNIX socket accepts.
void wait_for_socket(const char *path, pid_t server);

uint64_t seed_of_run(void); // HEAPSONDE_TEST_SEED, else fixed; printed
// The number divided by HEAPSONDE_TEST_SCALE, for targets that are slow; at least 1.
unsigned long smaller(unsigned long number);
uint64_t random_next(uint64_t *state);

// Cases that a line of cases.txt cannot say; named @name there.
struct special {
    const char *name;
    void (*run)(void);
};
extern const struct special specials[];

#endif
