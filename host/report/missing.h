// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The modules whose names or lines are missing: how much of what is reported on passes through them, why they are
// missing and which file would mend it.
#ifndef HEAPSONDE_HOST_REPORT_MISSING_H
#define HEAPSONDE_HOST_REPORT_MISSING_H

#include "host/base/json.h"
#include "host/report/report.h"

struct hs_module_use {
    uint32_t module; // its number in the store
    struct hs_symbols_status status;
    uint64_t frames;  // frames of the stacks that lie in it: nodes of their tree
    uint64_t unnamed; // of them: those without a function's name
    uint64_t stacks;  // that pass through it
    uint64_t bytes;   // allocated by those stacks
    bool matters;     // frames besides those that only start a thread are unnamed
};

// The nodes of one place (host/symbols/places.h) that the stacks pass through.
struct hs_place_use {
    uint64_t nodes;
    uint32_t node;         // one of them
    uint32_t use;          // private
    bool behind_the_start; // one of them has more callers than those that only start a thread
};

struct hs_module_uses {
    struct hs_module_use *use; // by bytes, largest first
    size_t count;
    struct hs_place_use *places; // that were passed, by their nodes
    size_t place_count;
};

// The modules that the subject's stacks pass through. Returns 0 or -ENOMEM. Other threads may ask for frames meanwhile.
int hs_module_uses__collect(struct hs_module_uses *uses, const struct hs_subject *subject);
// The same from the places alone, without `stacks` and `bytes`, which are the caller's to add, and so not in order.
int hs_module_uses__of_places(struct hs_module_uses *uses, const struct hs_subject *subject,
                              const struct hs_place_use *places, size_t count);
void hs_module_uses__sort(struct hs_module_uses *uses);
void hs_module_uses__free(struct hs_module_uses *uses);

// For people: the first few of these that matter. Writes nothing when nothing that matters is missing.
void hs_report__missing(FILE *out, const struct hs_subject *subject, const struct hs_module_uses *uses);
// For people: every module that the subject's stacks pass through, and where its symbols come from.
int hs_report__modules(FILE *out, const struct hs_subject *subject);
// For programs: those with something missing, as the array `missing_symbols`.
int hs_report__missing_json(struct hs_json *json, const struct hs_subject *subject);

// The member `wanted` of the open object: the files that would mend what is missing of a module.
void hs_report__wanted_json(struct hs_json *json, const struct hs_symbols_status *status);

#endif
