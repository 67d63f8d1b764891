// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/unknown.h"

#include "host/filter/filter.h"
#include "host/filter/nearest.h"
#include "host/filter/parameters.h"

#include <errno.h>
#include <string.h>

static void offer_all(struct hs_nearest *nearest, const struct hs_endpoint *endpoint)
{
    const struct hs_rest_parameter *arrays[HS_PARAMETER_ARRAYS];
    const size_t count = hs_endpoint__parameters(endpoint, arrays);
    for (size_t i = 0; i < count; i++)
        for (const struct hs_rest_parameter *parameter = arrays[i]; parameter->name; parameter++)
            hs_nearest__offer(nearest, parameter->name);
    for (size_t i = 0; endpoint->takes & (HS_TAKES_FILTER | HS_TAKES_SLICE) && i < HS_PARAMETER_COUNT; i++)
        hs_nearest__offer(nearest, hs_parameters[i].name);
}

bool hs_unknown__is_known(const char *name)
{
    if (hs_parameter__find(name) || !strcmp(name, "token"))
        return true;
    for (const struct hs_endpoint *endpoint = hs_endpoints; endpoint->path; endpoint++) {
        const struct hs_rest_parameter *arrays[HS_PARAMETER_ARRAYS];
        const size_t count = hs_endpoint__parameters(endpoint, arrays);
        for (size_t i = 0; i < count; i++)
            for (const struct hs_rest_parameter *parameter = arrays[i]; parameter->name; parameter++)
                if (!strcmp(parameter->name, name))
                    return true;
    }
    return false;
}

int hs_unknown__check(const struct hs_endpoint *endpoint, const char *name, struct hs_error *error)
{
    struct hs_nearest nearest = {.word = name, .length = strlen(name)};
    offer_all(&nearest, endpoint);
    if (!nearest.found || !nearest.distance || hs_unknown__is_known(name))
        return 0;
    return hs_error__set(error, EINVAL, "%s: is not a parameter; did you mean %s?", name, nearest.found);
}
