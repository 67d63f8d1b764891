// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The option --metrics of `gather`.
#ifndef HEAPSONDE_HOST_CLI_GATHER_METRICS_H
#define HEAPSONDE_HOST_CLI_GATHER_METRICS_H

#include "host/cli/command.h"
#include "host/fleet/metrics.h"
#include "host/gather/gather.h"

// Prepares `options` when --metrics was given; else *metrics is NULL. Returns 0, or the exit status after a line on
// standard error. To be freed when gather has ended.
int hs_gather_metrics__prepare(struct hs_fleet_metrics **metrics, const struct hs_arguments *arguments,
                               struct hs_gather_options *options);

#endif
