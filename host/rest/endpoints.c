// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/endpoint.h"

#include "host/rest/answers.h"

#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"
#define ALL  (HS_TAKES_FILTER | HS_TAKES_PAGE | HS_TAKES_STRIP)

const struct hs_rest_parameter hs_at_parameters[] = {
    {.name = "at",
     .kind = HS_REST_INSTANT,
     .help = "only blocks that were there at this instant: a time, or 'peak' for when the heap was largest"},
    {0},
};

const struct hs_rest_parameter hs_page_parameters[] = {
    {.name = "order",
     .kind = HS_REST_CHOICE,
     .choices = "asc dsc",
     .otherwise = "asc",
     .help = "ascending or descending"},
    {.name = "count", .kind = HS_REST_NUMBER, .help = "at most so many, all when not given"},
    {.name = "skip", .kind = HS_REST_NUMBER, .otherwise = "0", .help = "leave out so many at the beginning"},
    {0},
};

const struct hs_rest_parameter hs_strip_parameters[] = {
    {.name = "strip_template_args",
     .kind = HS_REST_FLAG,
     .otherwise = "false",
     .help = "write <...> for what stands in the brackets of templates"},
    {0},
};

const struct hs_endpoint hs_endpoints[] = {
    {.path = "/", .summary = "What can be asked for", .type = TEXT, .write = hs_answer__overview, .uncached = true},
    {.path = "/openapi.json",
     .summary = "This description",
     .type = JSON,
     .schema = "Description",
     .write = hs_answer__openapi,
     .uncached = true},
    {.path = "/list",
     .summary = "The traces that are served",
     .type = JSON,
     .schema = "List",
     .write = hs_answer__list,
     .uncached = true},
    {.path = "/data/{id}/timeline",
     .summary = "The heap over time",
     .type = JSON,
     .schema = "Timeline",
     .takes = HS_TAKES_FILTER,
     .parameters = hs_timeline_parameters,
     .prepare = hs_prepare__timeline,
     .write = hs_answer__timeline},
    {.path = "/data/{id}/timeline_leaked",
     .summary = "What was never freed, over time",
     .type = JSON,
     .schema = "Timeline",
     .takes = HS_TAKES_FILTER,
     .parameters = hs_timeline_parameters,
     .prepare = hs_prepare__timeline_leaked,
     .write = hs_answer__timeline},
    {.path = "/data/{id}/timeline_maps",
     .summary = "Mapped memory over time; what of it was resident is not recorded and null",
     .type = JSON,
     .schema = "TimelineOfMaps",
     .parameters = hs_timeline_parameters,
     .prepare = hs_prepare__timeline_maps,
     .write = hs_answer__timeline_maps},
    {.path = "/data/{id}/allocations",
     .summary = "Single blocks",
     .type = JSON,
     .schema = "Allocations",
     .takes = ALL,
     .parameters = hs_allocations_parameters,
     .prepare = hs_prepare__allocations,
     .write = hs_answer__allocations},
    {.path = "/data/{id}/allocation_groups",
     .summary = "Blocks by the stack that allocated them",
     .type = JSON,
     .schema = "AllocationGroups",
     .takes = ALL,
     .parameters = hs_groups_parameters,
     .prepare = hs_prepare__groups,
     .write = hs_answer__groups},
    {.path = "/data/{id}/raw_allocations",
     .summary = "The addresses of the stack of every allocation, in the order of time",
     .type = JSON,
     .schema = "RawAllocations",
     .write = hs_answer__raw_allocations},
    {.path = "/data/{id}/backtraces",
     .summary = "The stacks that allocated",
     .type = JSON,
     .schema = "Backtraces",
     .takes = HS_TAKES_FILTER | HS_TAKES_STRIP,
     .prepare = hs_prepare__backtraces,
     .write = hs_answer__backtraces},
    {.path = "/data/{id}/backtrace/{number}",
     .summary = "One stack",
     .type = JSON,
     .schema = "Backtrace",
     .takes = HS_TAKES_STRIP,
     .prepare = hs_prepare__backtrace,
     .write = hs_answer__backtrace},
    {0},
};

size_t hs_endpoint__parameters(const struct hs_endpoint *endpoint,
                               const struct hs_rest_parameter *arrays[HS_PARAMETER_ARRAYS])
{
    size_t count = 0;
    if (endpoint->parameters)
        arrays[count++] = endpoint->parameters;
    if (endpoint->takes & HS_TAKES_PAGE)
        arrays[count++] = hs_page_parameters;
    if (endpoint->takes & HS_TAKES_STRIP)
        arrays[count++] = hs_strip_parameters;
    if (endpoint->takes & HS_TAKES_FILTER)
        arrays[count++] = hs_at_parameters;
    return count;
}
