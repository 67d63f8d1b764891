// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The parts of resident memory in words: for people and for programs.
#ifndef HEAPSONDE_HOST_REPORT_BUDGET_WRITE_H
#define HEAPSONDE_HOST_REPORT_BUDGET_WRITE_H

#include "host/base/json.h"
#include "host/report/budget.h"
#include "host/report/report.h"

#include <stdio.h>

// Parts of the report; nothing is written without page faults. They return 0 or a negative errno. With a filter, the
// text has nothing and the JSON null: the parts are those of the whole process.
int hs_report__budget(FILE *out, const struct hs_subject *subject);
int hs_report__budget_json(struct hs_json *json, const struct hs_subject *subject);

// Members of the open object: `peak` and `end`.
void hs_budgets__json(struct hs_json *json, const struct hs_budgets *budgets);

#endif
