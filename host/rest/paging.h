// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The page of a list that is asked for: `skip` and `count`. Without a count it ends where the answer has become long,
// and `next_skip` says where the rest begins.
#ifndef HEAPSONDE_HOST_REST_PAGING_H
#define HEAPSONDE_HOST_REST_PAGING_H

#include "host/report/json.h"
#include "host/rest/question.h"

// Answers have at most so many bytes unless more is asked for.
#define HS_ANSWER_MOST ((uint64_t)4 << 20)

struct hs_paging {
    const struct hs_question *question;
    FILE *out;
    uint64_t total, at, end; // of the list; the place of the next entry; where the page ends
    bool counted;            // a count was given
};

struct hs_paging hs_paging__start(const struct hs_question *question, FILE *out, uint64_t total);
// Whether another entry is written: that at `place`.
bool hs_paging__next(struct hs_paging *paging, uint64_t *place);
// Writes where the rest begins, if something is left because the answer became long. Behind the list.
void hs_paging__end(const struct hs_paging *paging, struct hs_json *json);

#endif
