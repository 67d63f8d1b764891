// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/transformed_subject.h"

#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>

static const struct hs_total empty = {.size_min = UINT64_MAX, .first_time = UINT64_MAX, .lifetime_min = UINT64_MAX};

void hs_transformed_subject__free(struct hs_transformed_subject *self)
{
    hs_trace_symbols__destroy(self->symbols);
    hs_transformed__free(&self->transformed);
    hs_totals__free(&self->totals);
    free(self->text);
    *self = (struct hs_transformed_subject){0};
}

// One total for each made node, of the stacks that have led there; without those of nodes to which none has led.
static int add_totals(struct hs_transformed_subject *to, const struct hs_totals *from, const uint32_t *node)
{
    struct hs_totals *totals = &to->totals;
    *totals = (struct hs_totals){.sum = empty, .total = malloc((to->transformed.count + 1) * sizeof(*totals->total))};
    if (!totals->total)
        return -ENOMEM;
    for (uint32_t i = 0; i < to->transformed.count; i++) {
        totals->total[i] = empty;
        totals->total[i].stack = HS_NO_NODE;
    }
    for (size_t i = 0; i < from->count; i++) {
        if (node[i] == HS_NO_NODE)
            continue;
        totals->total[node[i]].stack = node[i];
        hs_total__add(&totals->total[node[i]], &from->total[i]);
        hs_total__add(&totals->sum, &from->total[i]);
    }
    for (size_t i = 0; i < to->transformed.count; i++)
        if (totals->total[i].stack != HS_NO_NODE)
            totals->total[totals->count++] = totals->total[i];
    return 0;
}

static int transform(struct hs_transformed_subject *to, struct hs_transformer *transformer,
                     const struct hs_totals *totals)
{
    struct hs_stack_values values = {.at = calloc(totals->count + 1, sizeof(*values.at)), .count = totals->count};
    uint32_t *node = malloc((totals->count + 1) * sizeof(*node));
    int result = values.at && node ? 0 : -ENOMEM;
    for (size_t i = 0; !result && i < totals->count; i++)
        values.at[i] = (struct hs_stack_value){.stack = totals->total[i].stack, .value = {1, 1}};
    if (!result)
        result = hs_transformer__add(transformer, &values, NULL, node);
    if (!result) {
        hs_transformer__end(transformer, &to->transformed);
        result = add_totals(to, totals, node);
    }
    free(values.at);
    free(node);
    return result;
}

int hs_transformed_subject__make(struct hs_transformed_subject *to, struct hs_subject *subject,
                                 const struct hs_transforms *transforms, const struct hs_query_control *control,
                                 struct hs_error *error)
{
    struct hs_transformer *transformer = NULL;
    *to = (struct hs_transformed_subject){0};
    int result = hs_transformer__create(&transformer, transforms, subject->symbols, control, error);
    if (!result)
        result = transform(to, transformer, &subject->totals);
    hs_transformer__destroy(transformer);
    if (!result) {
        const struct hs_transformed *made = &to->transformed;
        to->symbols = hs_trace_symbols__create_made(subject->store, made->node, made->frames, made->count);
        to->text = hs_transforms__text(transforms);
        result = to->symbols && to->text ? 0 : -ENOMEM;
    }
    if (result) {
        hs_transformed_subject__free(to);
        return error->message[0] ? result : hs_error__set(error, ENOMEM, "out of memory; a narrower filter needs less");
    }
    subject->symbols = to->symbols;
    subject->totals = to->totals;
    subject->transforms = to->text;
    return 0;
}
