// SPDX-License-Identifier: MIT OR Apache-2.0
//
// CPU time, the heap and resident memory on one time line. Nothing is written of a trace that has neither samples of
// CPU time nor page faults.
#ifndef HEAPSONDE_HOST_REPORT_OVER_TIME_H
#define HEAPSONDE_HOST_REPORT_OVER_TIME_H

#include "host/report/report.h"

// A line of letters for each; the object "over_time", null where something is not known. Return 0 or a negative errno.
int hs_report__over_time(FILE *out, const struct hs_subject *subject);
int hs_report__over_time_json(struct hs_json *json, const struct hs_subject *subject);

#endif
