// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Between rest.c and question.c.
#ifndef HEAPSONDE_HOST_REST_ASK_H
#define HEAPSONDE_HOST_REST_ASK_H

#include "host/rest/question.h"

// Checks all parameters and resolves the filter: 0, or a negative errno with the question's error set.
int hs_question__check(struct hs_question *question);

#endif
