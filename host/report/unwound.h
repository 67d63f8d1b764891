// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks of samples that the host unwound: those that end early, by the module that they end in and the reason, and
// which files would mend it.
#ifndef HEAPSONDE_HOST_REPORT_UNWOUND_H
#define HEAPSONDE_HOST_REPORT_UNWOUND_H

#include "host/base/json.h"
#include "host/report/report.h"

// For people. Writes nothing for traces whose stacks were unwound where they were recorded. 0 or -ENOMEM.
int hs_report__unwound(FILE *out, const struct hs_subject *subject);

// The member "unwound" of the open object, for such traces alone.
int hs_report__unwound_json(struct hs_json *json, const struct hs_subject *subject);

#endif
