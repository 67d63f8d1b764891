// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What each thread allocated.
#ifndef HEAPSONDE_HOST_REPORT_THREADS_H
#define HEAPSONDE_HOST_REPORT_THREADS_H

#include "host/base/json.h"
#include "host/report/report.h"

#include <stdio.h>

// One for each of hs_store__threads, and a last one for blocks that belong to no thread: the recorder summed them up
// without their threads.
struct hs_thread_totals {
    struct hs_total *total;
    size_t threads;
    bool are_known; // an aggregate trace does not say which thread allocated
};

// Of a trace. Returns 0, or a negative errno with the error set.
int hs_thread_totals__make(struct hs_thread_totals *totals, const struct hs_subject *subject, struct hs_error *error);
void hs_thread_totals__free(struct hs_thread_totals *totals);

// The threads with the most of the cost come first. They return 0 or -ENOMEM.
int hs_report__threads(FILE *out, const struct hs_subject *subject, const struct hs_thread_totals *totals,
                       enum hs_cost cost);
int hs_report__threads_json(struct hs_json *json, const struct hs_subject *subject,
                            const struct hs_thread_totals *totals, enum hs_cost cost);

#endif
