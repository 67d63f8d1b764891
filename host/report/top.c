// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A heap with the last of the chosen numbers on top: a number that comes before it replaces it.
#include "host/report/top.h"

#include <errno.h>
#include <stdlib.h>

int hs_top__start(struct hs_top *top, size_t most, size_t of, hs_top_before before, const void *context)
{
    *top = (struct hs_top){.most = most < of ? most : of, .before = before, .context = context};
    top->number = calloc(top->most + 1, sizeof(*top->number));
    return top->number ? 0 : -ENOMEM;
}

void hs_top__free(struct hs_top *top)
{
    free(top->number);
    *top = (struct hs_top){0};
}

static void swap(struct hs_top *top, size_t a, size_t b)
{
    uint32_t number = top->number[a];
    top->number[a] = top->number[b];
    top->number[b] = number;
}

static void sift_up(struct hs_top *top, size_t at)
{
    while (at) {
        size_t parent = (at - 1) / 2;
        if (!top->before(top->context, top->number[parent], top->number[at]))
            return;
        swap(top, parent, at);
        at = parent;
    }
}

static void sift_down(struct hs_top *top, size_t at, size_t count)
{
    for (;;) {
        size_t last = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            if (top->before(top->context, top->number[last], top->number[child]))
                last = child;
        }
        if (last == at)
            return;
        swap(top, at, last);
        at = last;
    }
}

void hs_top__offer(struct hs_top *top, uint32_t number)
{
    if (top->count < top->most) {
        top->number[top->count++] = number;
        sift_up(top, top->count - 1);
    } else if (top->count && top->before(top->context, number, top->number[0])) {
        top->number[0] = number;
        sift_down(top, 0, top->count);
    }
}

void hs_top__finish(struct hs_top *top)
{
    for (size_t left = top->count; left > 1; left--) {
        swap(top, 0, left - 1);
        sift_down(top, 0, left - 1);
    }
}
