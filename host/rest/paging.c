// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/paging.h"

#include "host/rest/answers.h"

// Room for one more entry and for what follows the list.
#define ROOM ((uint64_t)256 << 10)

struct hs_paging hs_paging__start(const struct hs_question *question, FILE *out, uint64_t total)
{
    const uint64_t skip = hs_question__number(question, "skip", 0);
    const uint64_t count = hs_question__number(question, "count", UINT64_MAX);
    struct hs_paging paging = {.question = question,
                               .out = out,
                               .total = total,
                               .at = skip < total ? skip : total,
                               .counted = hs_question__text(question, "count") != NULL};
    paging.end = count < total - paging.at ? paging.at + count : total;
    return paging;
}

bool hs_paging__next(struct hs_paging *paging, uint64_t *place)
{
    if (paging->at == paging->end || ferror(paging->out) ||
        (!paging->counted && hs_question__written(paging->question, paging->out) > HS_ANSWER_MOST - ROOM))
        return false;
    *place = paging->at++;
    return true;
}

void hs_paging__end(const struct hs_paging *paging, struct hs_json *json)
{
    if (paging->at < paging->end)
        hs_json__number(json, "next_skip", paging->at);
}

struct hs_array_page hs_array_page__start(const struct hs_question *question, FILE *out, struct hs_json *json)
{
    hs_json__start(json, out, false);
    hs_json__open_array(json, NULL);
    return (struct hs_array_page){.question = question,
                                  .out = out,
                                  .json = json,
                                  .skip = hs_question__number(question, "skip", 0),
                                  .count = hs_question__number(question, "count", UINT64_MAX),
                                  .counted = hs_question__text(question, "count") != NULL};
}

// The object of an entry is closed when it is known whether others follow.
enum hs_array_page_step hs_array_page__next(struct hs_array_page *page)
{
    if (page->at < page->skip) {
        page->at++;
        return HS_ARRAY_PAGE_SKIP;
    }
    if (page->at - page->skip >= page->count || ferror(page->out))
        return HS_ARRAY_PAGE_END;
    if (!page->counted && page->open && hs_question__written(page->question, page->out) > HS_ANSWER_MOST - ROOM) {
        hs_json__number(page->json, "next_skip", page->at);
        return HS_ARRAY_PAGE_END;
    }
    if (page->open)
        hs_json__close_object(page->json);
    page->open = true;
    page->at++;
    hs_json__open_object(page->json, NULL);
    return HS_ARRAY_PAGE_WRITE;
}

void hs_array_page__end(struct hs_array_page *page)
{
    if (page->open)
        hs_json__close_object(page->json);
    hs_json__close_array(page->json);
}
