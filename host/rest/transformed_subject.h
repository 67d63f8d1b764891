// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is exported, with transformed stacks: the totals of stacks that have become equal are added up.
#ifndef HEAPSONDE_HOST_REST_TRANSFORMED_SUBJECT_H
#define HEAPSONDE_HOST_REST_TRANSFORMED_SUBJECT_H

#include "host/report/report.h"
#include "host/rest/transforms.h"

struct hs_transformed_subject {
    struct hs_transformed transformed;
    struct hs_trace_symbols *symbols;
    struct hs_totals totals;
    char *text;
};

// Gives the subject other symbols and totals, which are valid until `to` is freed; those that it had have to stay until
// then. The totals are in the order of stacks. 0, or a negative errno with the error set and the subject unchanged.
int hs_transformed_subject__make(struct hs_transformed_subject *to, struct hs_subject *subject,
                                 const struct hs_transforms *transforms, const struct hs_query_control *control,
                                 struct hs_error *error);
void hs_transformed_subject__free(struct hs_transformed_subject *self);

#endif
