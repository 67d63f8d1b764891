// SPDX-License-Identifier: MIT OR Apache-2.0
//
// HEAPSONDE_UNWINDER=kernel: the kernel's stacks of allocations beside the recorder's own.
#ifndef HEAPSONDE_HOST_REPORT_KERNEL_STACKS_H
#define HEAPSONDE_HOST_REPORT_KERNEL_STACKS_H

#include "host/report/report.h"

struct hs_kernel_stacks {
    uint64_t stacks, equal; // equal: all frames that the kernel found are the innermost ones of the recorder's stack
    uint64_t frames;        // of the equal ones
    uint32_t differing, differing_own; // the first that is not: the kernel's, and the recorder's. 0: none
};
struct hs_kernel_stacks hs_kernel_stacks__compare(const struct hs_store *store);

// Parts of the reports; nothing where the trace has no such stacks.
void hs_report__kernel_stacks(FILE *out, const struct hs_subject *subject);
void hs_report__kernel_stacks_json(struct hs_json *json, const struct hs_subject *subject);

#endif
