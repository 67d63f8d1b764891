// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which part of a list is requested: `skip` and `count`. Without a count, the part ends when the answer has become
// long, and `next_skip` is the `skip` of the rest.
#ifndef HEAPSONDE_HOST_REST_PAGING_H
#define HEAPSONDE_HOST_REST_PAGING_H

#include "host/base/json.h"
#include "host/rest/question.h"

// The length after which an answer without a count ends.
#define HS_ANSWER_MOST ((uint64_t)4 << 20)

struct hs_paging {
    const struct hs_question *question;
    FILE *out;
    uint64_t total, at, end; // entries of the list; index of the next entry; index after the last one of the page
    bool counted;            // the request has a count
};

struct hs_paging hs_paging__start(const struct hs_question *question, FILE *out, uint64_t total);
// Whether to write another entry; `place` is then its index.
bool hs_paging__next(struct hs_paging *paging, uint64_t *place);
// Called after the list. Writes `next_skip` if the answer ended because it had become long.
void hs_paging__end(const struct hs_paging *paging, struct hs_json *json);

// The same for answers that are bare arrays of objects. If a page ended because it had become long, its last entry has
// the additional field `next_skip`.
struct hs_array_page {
    const struct hs_question *question;
    FILE *out;
    struct hs_json *json;
    uint64_t at, skip, count; // index of the next entry; entries to leave out; to write at most
    bool counted, open;       // the request has a count; the object of the last entry is open
};

enum hs_array_page_step { HS_ARRAY_PAGE_SKIP, HS_ARRAY_PAGE_WRITE, HS_ARRAY_PAGE_END };

// Opens the array.
struct hs_array_page hs_array_page__start(const struct hs_question *question, FILE *out, struct hs_json *json);
// Called for each entry. To be written: its object is open, and its fields follow.
enum hs_array_page_step hs_array_page__next(struct hs_array_page *page);
void hs_array_page__end(struct hs_array_page *page);

#endif
