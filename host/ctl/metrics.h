// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a process that samples says about itself, as metrics for Prometheus.
#ifndef HEAPSONDE_HOST_CTL_METRICS_H
#define HEAPSONDE_HOST_CTL_METRICS_H

#include "host/ctl/addresses.h"
#include "host/ctl/client.h"
#include "host/ctl/find.h"
#include "host/server/exposition.h"

struct hs_ctl_metrics {
    const struct hs_ctl_process *process;
    const struct hs_ctl_answer *status;
    const struct hs_ctl_answer *dump; // heap_v2; NULL: there is none
    struct hs_addresses *addresses;   // NULL: no names
};

// `context`: a struct hs_ctl_metrics.
void hs_ctl_metrics__write(void *context, struct hs_exposition *to);

#endif
