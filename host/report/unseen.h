// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions of the program that give out memory and that the recorder does not see: an allocator that is linked into
// it, operators new of its own. Known from the symbols of its files, as far as they are on this machine.
#ifndef HEAPSONDE_HOST_REPORT_UNSEEN_H
#define HEAPSONDE_HOST_REPORT_UNSEEN_H

#include "host/base/json.h"
#include "host/report/report.h"

#include <stdbool.h>

struct hs_unseen {
    const char *module;   // its path
    const char *function; // "malloc", "je_malloc", "operator new"
    bool may_pass;        // it may take blocks from malloc, which are recorded
};

enum { HS_UNSEEN_MAX = 16 };

// Those of which no stack shows that they call malloc. Returns their number.
size_t hs_unseen__find(const struct hs_subject *subject, struct hs_unseen found[HS_UNSEEN_MAX]);

// Bytes by which the process has grown and which neither recorded blocks nor files explain, if these are most of what
// it needed: a sign of an allocator that gets its memory from the kernel. 0: too few to be sure.
uint64_t hs_unseen__memory(const struct hs_store *store);

// What to say of them: a sentence without its subject, the program.
struct hs_unseen_advice {
    char text[320];
};
struct hs_unseen_advice hs_unseen__advice(const struct hs_store *store, uint64_t bytes);

// Whether the trace says that the recorder stood before this function of the program: "je_malloc".
bool hs_unseen__is_recorded(const struct hs_store *store, const char *function);

// How to record the allocator whose function is "je_malloc": the option of `heapsonde run` and `attach`.
struct hs_unseen_option {
    char text[128];
};
struct hs_unseen_option hs_unseen__option(const char *function);

// For programs: the array `unseen`, and `unseen_bytes`.
void hs_report__unseen_json(struct hs_json *json, const struct hs_subject *subject);

#endif
