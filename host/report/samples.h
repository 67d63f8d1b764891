// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the kernel sampled: CPU time and time off the processor by call site, and what was touched of what was
// allocated.
#ifndef HEAPSONDE_HOST_REPORT_SAMPLES_H
#define HEAPSONDE_HOST_REPORT_SAMPLES_H

#include "host/report/report.h"

// Both parts of the text report, as far as the trace has them. Return 0 or a negative errno.
int hs_report__times(FILE *out, const struct hs_subject *subject, unsigned most);
int hs_report__touched(FILE *out, const struct hs_subject *subject, unsigned most);

// Members of the open object, for programs: "perf", "cpu", "off_cpu", "faults", "touched" and "touched_mappings", as
// far as the trace has them; null what the filter cannot be asked of.
int hs_report__samples_json(struct hs_json *json, const struct hs_subject *subject, size_t most);

// The members of one sum, of anything but the heap.
void hs_report__events_json(struct hs_json *json, enum hs_events events, const struct hs_total *total);

#endif
