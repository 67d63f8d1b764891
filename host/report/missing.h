// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The modules whose names or lines are missing: how much of what is reported on passes through them, why they are
// missing and which file would mend it.
#ifndef HEAPSONDE_HOST_REPORT_MISSING_H
#define HEAPSONDE_HOST_REPORT_MISSING_H

#include "host/report/json.h"
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

struct hs_module_uses {
    struct hs_module_use *use; // by bytes, largest first
    size_t count;
};

// The modules that the subject's stacks pass through. Returns 0 or -ENOMEM. Other threads may ask for frames meanwhile.
int hs_module_uses__collect(struct hs_module_uses *uses, const struct hs_subject *subject);
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
