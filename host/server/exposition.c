// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/exposition.h"

#include "host/base/text_stream.h"
#include "host/base/utf8.h"
#include "host/report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hs_exposition__family(struct hs_exposition *to, enum hs_metric kind, const char *name, const char *help)
{
    to->name = name;
    to->counter = kind == HS_METRIC_COUNTER;
    // In OpenMetrics, the family of a counter is named without the suffix of its samples.
    const char *suffix = to->counter && !to->open_metrics ? "_total" : "";
    fprintf(to->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix,
            to->counter ? "counter" : "gauge");
}

void hs_exposition__begin(struct hs_exposition *to)
{
    fprintf(to->out, "%s%s", to->name, to->counter ? "_total" : "");
    to->labelled = false;
}

void hs_exposition__clean(char *to, size_t size, const char *text)
{
    char *whole = strdup(text);
    *to = 0;
    if (!whole)
        return;
    hs_text__clean(whole);
    size_t length = strlen(whole), used = 0, sequence;
    while (used < length && (sequence = hs_utf8__length(whole + used, length - used)) && used + sequence < size)
        used += sequence;
    memcpy(to, whole, used);
    to[used] = 0;
    free(whole);
}

void hs_exposition__label(struct hs_exposition *to, const char *name, const char *value)
{
    char clean[HS_METRIC_LABEL];
    hs_exposition__clean(clean, sizeof(clean), value);
    if (!*clean)
        return;
    fprintf(to->out, "%c%s=\"", to->labelled ? ',' : '{', name);
    for (const char *at = clean; *at; at++) {
        if (*at == '\\' || *at == '"')
            fputc('\\', to->out);
        fputc(*at, to->out);
    }
    fputc('"', to->out);
    to->labelled = true;
}

void hs_exposition__end(struct hs_exposition *to, double value)
{
    fputs(to->labelled ? "} " : " ", to->out);
    if (value == floor(value) && fabs(value) < 0x1p63)
        fprintf(to->out, "%" PRId64 "\n", (int64_t)value);
    else
        fprintf(to->out, "%.17g\n", value);
}

void hs_exposition__value(struct hs_exposition *to, double value)
{
    hs_exposition__begin(to);
    hs_exposition__end(to, value);
}

void hs_exposition__serve(const struct hs_http_request *request, struct hs_http_answer *answer,
                          void (*write)(void *context, struct hs_exposition *to), void *context)
{
    struct hs_text_stream stream;
    struct hs_exposition to = {.out = hs_text_stream__open(&stream), .open_metrics = request->page->accept != NULL};
    if (to.out)
        write(context, &to);
    if (to.out && to.open_metrics)
        fputs("# EOF\n", to.out);
    char *text = hs_text_stream__close(&stream);
    if (!text) {
        hs_http_answer__text(answer, 503, "out of memory\n");
        return;
    }
    *answer = (struct hs_http_answer){.status = 200,
                                      .type = to.open_metrics ? HS_OPEN_METRICS "; version=1.0.0; charset=utf-8"
                                                              : "text/plain; version=0.0.4; charset=utf-8",
                                      .body = text,
                                      .length = stream.size};
}
