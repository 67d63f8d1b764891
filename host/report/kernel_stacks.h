// SPDX-License-Identifier: MIT OR Apache-2.0
//
// HEAPSONDE_UNWINDER=kernel: the kernel's stacks of allocations beside the recorder's own.
#ifndef HEAPSONDE_HOST_REPORT_KERNEL_STACKS_H
#define HEAPSONDE_HOST_REPORT_KERNEL_STACKS_H

#include "host/report/report.h"

// Parts of the reports; nothing where the trace has no such stacks.
void hs_report__kernel_stacks(FILE *out, const struct hs_subject *subject);
void hs_report__kernel_stacks_json(struct hs_json *json, const struct hs_subject *subject);

#endif
