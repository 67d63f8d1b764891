// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/gather_metrics.h"

#include <stdlib.h>

static int opened(void *context, struct hs_traces *traces, struct hs_notices *notices, struct hs_error *error)
{
    return hs_fleet_metrics__start(context, traces, notices, error);
}

static void closing(void *context)
{
    hs_fleet_metrics__stop(context);
}

int hs_gather_metrics__prepare(struct hs_fleet_metrics **metrics, const struct hs_arguments *arguments,
                               struct hs_gather_options *options)
{
    const struct hs_fleet_metrics_options wanted = {
        .listen = hs_arguments__text(arguments, "metrics", NULL),
        .token = hs_arguments__text(arguments, "token", getenv("HEAPSONDE_TOKEN")),
        .directory = options->directory,
        .firmware_label = hs_arguments__text(arguments, "firmware-label", "firmware")};
    *metrics = NULL;
    if (!wanted.listen)
        return 0;
    *metrics = hs_fleet_metrics__create(&wanted);
    if (!*metrics) {
        hs_complain(arguments->command, "out of memory");
        return HS_EXIT_FAILURE;
    }
    options->observers[options->observer_count++] = (struct hs_gather_observer){opened, closing, *metrics};
    return 0;
}
