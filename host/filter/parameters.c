// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/parameters.h"

#include <stddef.h>

const struct hs_parameter hs_parameters[HS_PARAMETER_COUNT] = {
#define ENTRY(id, name, option, letter, kind, argument, choices, repeatable, help)                                     \
    {name, "--" option, HS_PARAMETER_##kind, argument, choices, repeatable, help},
    HS_FILTER_PARAMETERS(ENTRY)
#undef ENTRY
};

// Whether `text` is `name`, in which _ may be written as -.
static bool is_name(const char *text, const char *name)
{
    while (*text && *name && (*text == *name || (*text == '-' && *name == '_'))) {
        text++;
        name++;
    }
    return !*text && !*name;
}

const struct hs_parameter *hs_parameter__find(const char *name)
{
    for (size_t i = 0; i < HS_PARAMETER_COUNT; i++) {
        if (is_name(name, hs_parameters[i].name))
            return &hs_parameters[i];
    }
    return NULL;
}

bool hs_parameter__is_of_frames(enum hs_parameter_id id)
{
    switch (id) {
    case HS_PARAMETER_FUNCTION_REGEX:
    case HS_PARAMETER_SOURCE_REGEX:
    case HS_PARAMETER_NEGATIVE_FUNCTION_REGEX:
    case HS_PARAMETER_NEGATIVE_SOURCE_REGEX:
    case HS_PARAMETER_LIBRARY:
    case HS_PARAMETER_NEGATIVE_LIBRARY:
    case HS_PARAMETER_BACKTRACE_DEPTH_MIN:
    case HS_PARAMETER_BACKTRACE_DEPTH_MAX:
    case HS_PARAMETER_WHERE:
        return true;
    default:
        return false;
    }
}

bool hs_parameter__is_of_samples(enum hs_parameter_id id)
{
    switch (id) {
    case HS_PARAMETER_FROM:
    case HS_PARAMETER_TO:
    case HS_PARAMETER_BACKTRACES:
    case HS_PARAMETER_THREAD:
    case HS_PARAMETER_MARKER:
    case HS_PARAMETER_ERA:
    case HS_PARAMETER_TIME_UNIT:
        return true;
    default:
        return hs_parameter__is_of_frames(id);
    }
}

const char *hs_parameter_kind__takes(enum hs_parameter_kind kind)
{
    static const char *const takes[HS_PARAMETER_KIND_COUNT] = {
        [HS_PARAMETER_TIME] = "a time since the start such as 1.5s or 300ms, since 1970 such as 1700000000, or 10%",
        [HS_PARAMETER_TIME_END] = "a time since the start such as 1.5s or 300ms, since 1970 such as 1700000000, or 10%",
        [HS_PARAMETER_INTERVAL] = "a length of time such as 2s, 300ms or 4h3m2s",
        [HS_PARAMETER_INTERVAL_OR_PERCENT] = "a length of time such as 2s or 300ms, or 10% of the runtime",
        [HS_PARAMETER_COUNT_OR_PERCENT] = "a whole number such as 10, or 50% of the group's allocations",
        [HS_PARAMETER_SIZE] = "a size such as 4096, 64K or 1.5M",
        [HS_PARAMETER_ADDRESS] = "an address such as 140737488355328 or 0x7f0000000000",
        [HS_PARAMETER_NUMBER] = "a whole number such as 10, up to 4294967295",
        [HS_PARAMETER_NUMBER_64] = "a whole number such as 10",
        [HS_PARAMETER_CHOICE] = "one of its words",
        [HS_PARAMETER_REGEX] = "a Perl regular expression",
        [HS_PARAMETER_TEXT] = "a name",
        [HS_PARAMETER_EXPRESSION] = "filters such as size>=4K and not thread=main",
    };
    return takes[kind];
}
