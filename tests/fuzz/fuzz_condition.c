// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Conditions on totals: parsed, evaluated with totals of the fuzzer's choice, and reasoned about.
#include "host/filter/condition.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *data;
    size_t size, at;
};

static int ask(void *context, enum hs_condition_total total, const struct hs_filter_parameters *filter,
               const char *words, uint64_t *value, struct hs_error *error)
{
    struct source *source = context;
    (void)filter;
    (void)words;
    (void)error;
    *value = (uint64_t)total * source->data[source->at++ % source->size];
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_comparison reasons[8];
    struct source source = {data, size, 0};
    struct hs_error error;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    struct hs_condition *condition = hs_condition__parse(text, &error);
    if (condition && hs_condition__evaluate(condition, ask, &source, &error) < 0)
        abort();
    if (condition && !hs_condition__reasons(condition, reasons, 8))
        abort();
    hs_condition__free(condition);
    free(text);
    return 0;
}
