// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Metrics as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0 for those who ask for it.
//
//   hs_exposition__family(&to, HS_METRIC_COUNTER, "heapsonde_samples", "Samples.");
//   hs_exposition__begin(&to);
//   hs_exposition__label(&to, "program", name);
//   hs_exposition__end(&to, count);
//
// Samples of one family have to differ in their labels.
#ifndef HEAPSONDE_HOST_SERVER_EXPOSITION_H
#define HEAPSONDE_HOST_SERVER_EXPOSITION_H

#include "host/server/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum hs_metric { HS_METRIC_GAUGE, HS_METRIC_COUNTER };

enum { HS_METRIC_LABEL = 128 }; // bytes of a label's value, with a NUL; longer ones are cut

struct hs_exposition {
    FILE *out;
    bool open_metrics;
    // private
    const char *name;
    bool counter, labelled;
};

// A counter's name is given without "_total", which is added. `help` is one sentence.
void hs_exposition__family(struct hs_exposition *to, enum hs_metric kind, const char *name, const char *help);

void hs_exposition__begin(struct hs_exposition *to);
// The value may contain any bytes: it is cleaned and escaped. An empty one is left out, which means the same.
void hs_exposition__label(struct hs_exposition *to, const char *name, const char *value);
void hs_exposition__end(struct hs_exposition *to, double value);

// A sample without labels.
void hs_exposition__value(struct hs_exposition *to, double value);

// Makes a label's value of `text`: UTF-8 of at most `size` - 1 bytes, '?' in place of all that is none, or that no
// terminal should get.
void hs_exposition__clean(char *to, size_t size, const char *text);

// A page of metrics: `write` writes them. It stands twice in the table of pages, first with `accept` set to
// HS_OPEN_METRICS.
#define HS_OPEN_METRICS "application/openmetrics-text"
void hs_exposition__serve(const struct hs_http_request *request, struct hs_http_answer *answer,
                          void (*write)(void *context, struct hs_exposition *to), void *context);

#endif
