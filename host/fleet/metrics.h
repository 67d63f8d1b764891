// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What `gather` receives, as metrics for Prometheus: /metrics. Traces are read when somebody asks, each from where the
// last question ended, so a gatherer that nobody asks reads nothing.
#ifndef HEAPSONDE_HOST_FLEET_METRICS_H
#define HEAPSONDE_HOST_FLEET_METRICS_H

#include "host/gather/notices.h"
#include "host/gather/traces.h"

struct hs_fleet_metrics;

struct hs_fleet_metrics_options {
    const char *listen, *token; // as of hs_http_options
    const char *directory;      // of the traces
    const char *firmware_label; // the label that names the firmware
};

// The strings of `options` stay valid. NULL: out of memory.
struct hs_fleet_metrics *hs_fleet_metrics__create(const struct hs_fleet_metrics_options *options);

// Listens, and says where. `traces` and `notices` stay valid until hs_fleet_metrics__stop.
int hs_fleet_metrics__start(struct hs_fleet_metrics *metrics, struct hs_traces *traces, struct hs_notices *notices,
                            struct hs_error *error);
void hs_fleet_metrics__stop(struct hs_fleet_metrics *metrics);
void hs_fleet_metrics__free(struct hs_fleet_metrics *metrics);

#endif
