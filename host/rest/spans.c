// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/spans.h"

#include "host/base/array.h"
#include "host/base/search.h"

#include <errno.h>
#include <stdlib.h>

// This many are collected before they are sorted.
enum { AT_ONCE = 1 << 20 };

static int compare(const void *left, const void *right)
{
    const struct hs_span *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static size_t join(struct hs_span *spans, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!kept || spans[i].start > spans[kept - 1].end)
            spans[kept++] = spans[i];
        else if (spans[i].end > spans[kept - 1].end)
            spans[kept - 1].end = spans[i].end;
    }
    return kept;
}

static bool take(const struct hs_spans *spans, size_t old, size_t added)
{
    return added == spans->added_count || (old < spans->count && spans->at[old].start <= spans->added[added].start);
}

int hs_spans__settle(struct hs_spans *spans)
{
    size_t old = 0, added = 0, count = 0;
    if (spans->added_count)
        qsort(spans->added, spans->added_count, sizeof(*spans->added), compare);
    spans->added_count = join(spans->added, spans->added_count);
    struct hs_span *all = malloc((spans->count + spans->added_count + 1) * sizeof(*all));
    if (!all)
        return -ENOMEM;
    while (old < spans->count || added < spans->added_count)
        all[count++] = take(spans, old, added) ? spans->at[old++] : spans->added[added++];
    free(spans->at);
    spans->at = all;
    spans->count = join(all, count);
    spans->added_count = 0;
    return 0;
}

// The last one that begins at or before the address, if any.
static const struct hs_span *find(const struct hs_spans *spans, uint64_t start)
{
    size_t low = HS_SEARCH(spans->count, i, spans->at[i].start <= start);
    return low ? &spans->at[low - 1] : NULL;
}

static bool has(struct hs_spans *spans, uint64_t start, uint64_t end)
{
    if (start >= spans->last.start && end <= spans->last.end)
        return true;
    const struct hs_span *found = find(spans, start);
    if (!found || end > found->end)
        return false;
    spans->last = *found;
    return true;
}

int hs_spans__add(struct hs_spans *spans, uint64_t start, uint64_t end)
{
    end = end > start ? end : start;
    if (has(spans, start, end))
        return 0;
    if (!HS_ARRAY_HAS_ROOM(spans->added, spans->added_count, spans->room))
        return -ENOMEM;
    spans->added[spans->added_count++] = (struct hs_span){start, end};
    return spans->added_count < AT_ONCE ? 0 : hs_spans__settle(spans);
}

void hs_spans__free(struct hs_spans *spans)
{
    free(spans->at);
    free(spans->added);
    *spans = (struct hs_spans){0};
}
