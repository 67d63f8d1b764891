// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/events.h"
#include "host/rest/endpoint.h"

const struct hs_rest_parameter hs_at_parameters[] = {
    {.name = "at",
     .kind = HS_REST_INSTANT,
     .help =
         "only blocks that were live at this instant: a time, 'peak' for when the heap was largest, or 'peak_rss' for "
         "when the resident memory of the process was largest, which is known if page faults were recorded"},
    {0},
};

const struct hs_rest_parameter hs_order_parameters[] = {
    {.name = "order",
     .kind = HS_REST_CHOICE,
     .choices = "asc dsc",
     .default_value = "asc",
     .help = "ascending (asc) or descending (dsc)"},
    {0},
};

const struct hs_rest_parameter hs_part_parameters[] = {
    {.name = "count",
     .kind = HS_REST_NUMBER,
     .help = "at most this many entries; default as many as fit into 4 MiB; next_skip is the skip of the next page"},
    {.name = "skip",
     .kind = HS_REST_NUMBER,
     .default_value = "0",
     .help = "leave out this many entries at the beginning"},
    {0},
};

const struct hs_rest_parameter hs_strip_parameters[] = {
    {.name = "strip_template_args",
     .kind = HS_REST_FLAG,
     .default_value = "false",
     .help = "write <...> in place of template arguments"},
    {0},
};

const struct hs_rest_parameter hs_frames_parameters[] = {
    {.name = "frames",
     .kind = HS_REST_CHOICE,
     .choices = "full short none",
     .default_value = "full",
     .help = "return addresses of stacks: all, the innermost twelve, or none"},
    {0},
};

const struct hs_rest_parameter hs_events_parameters[] = {
    {.name = "events",
     .kind = HS_REST_CHOICE,
     .choices = HS_EVENTS_CHOICES,
     .default_value = "heap",
     .help = "what sizes are: bytes of allocations, nanoseconds of CPU time or off the processor, page faults, or "
             "touched bytes"},
    {0},
};

const struct hs_rest_parameter hs_explain_parameters[] = {
    {.name = "explain",
     .kind = HS_REST_NUMBER,
     .most = 1,
     .default_value = "0",
     .help = "1: list the indexes that the answer is read from, in place of the answer (schema Explanation)"},
    {0},
};

size_t hs_endpoint__parameters(const struct hs_endpoint *endpoint,
                               const struct hs_rest_parameter *arrays[HS_PARAMETER_ARRAYS])
{
    size_t count = 0;
    if (endpoint->parameters)
        arrays[count++] = endpoint->parameters;
    if (endpoint->takes & HS_TAKES_PAGE) {
        arrays[count++] = hs_order_parameters;
        arrays[count++] = hs_part_parameters;
    }
    if (endpoint->takes & HS_TAKES_STRIP)
        arrays[count++] = hs_strip_parameters;
    if (endpoint->takes & HS_TAKES_FRAMES)
        arrays[count++] = hs_frames_parameters;
    if (endpoint->takes & HS_TAKES_EVENTS)
        arrays[count++] = hs_events_parameters;
    if (endpoint->takes & HS_TAKES_FILTER && !hs_events__are_samples(endpoint->events))
        arrays[count++] = hs_at_parameters;
    if (!endpoint->uncached)
        arrays[count++] = hs_explain_parameters;
    return count;
}
