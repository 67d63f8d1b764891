// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What looks wrong in a trace, in sentences. The text report, the JSON report, the server and --fail-if all use this.
// A new kind of finding is a file with its function, and an entry in kinds.c.
#ifndef HEAPSONDE_HOST_FINDINGS_FINDINGS_H
#define HEAPSONDE_HOST_FINDINGS_FINDINGS_H

#include "host/base/json.h"
#include "host/findings/finding.h"

#include <stdio.h>

// Returns 0, or a negative errno with the error set.
int hs_findings__find(struct hs_findings *findings, const struct hs_findings_question *question,
                      struct hs_error *error);
void hs_findings__free(struct hs_findings *findings);

// For people, and for programs: members of the open object.
void hs_findings__text(FILE *out, const struct hs_findings *findings, const char *path);
void hs_findings__json(struct hs_json *json, const struct hs_findings *findings);

#endif
