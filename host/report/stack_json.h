// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks as JSON, in the report, the exports and the answers.
#ifndef HEAPSONDE_HOST_REPORT_STACK_JSON_H
#define HEAPSONDE_HOST_REPORT_STACK_JSON_H

#include "host/base/json.h"
#include "host/report/report.h"

void hs_report__frame_json(struct hs_json *json, const struct hs_frame *frame); // an element of an array

// The members "frames", "cut" and "guessed" of an object that is a stack.
void hs_report__stack_json(struct hs_json *json, const struct hs_subject *subject, uint32_t stack);

#endif
