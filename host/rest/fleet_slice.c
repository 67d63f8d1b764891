// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/fleet_slice.h"

#include "host/base/json.h"
#include "host/rest/answers.h"
#include "host/rest/fleet.h"

#include <errno.h>

// ---- parameters ----------------------------------------------------------------------------------------------------

#define SLICE                                                                                                          \
    {.name = "app", .kind = HS_REST_TEXT, .help = "only this program"},                                                \
        {.name = "firmware", .kind = HS_REST_TEXT, .help = "only this firmware"},                                      \
    {                                                                                                                  \
        .name = "device", .kind = HS_REST_TEXT, .help = "only this device"                                             \
    }
#define PAGE                                                                                                           \
    {.name = "count",                                                                                                  \
     .kind = HS_REST_NUMBER,                                                                                           \
     .least = 1,                                                                                                       \
     .most = 1000,                                                                                                     \
     .default_value = "100",                                                                                           \
     .help = "at most this many rows; next_skip is the skip of the next page"},                                        \
    {                                                                                                                  \
        .name = "skip", .kind = HS_REST_NUMBER, .most = 1000000, .default_value = "0",                                 \
        .help = "leave out this many rows at the beginning"                                                            \
    }
#define FRAMES                                                                                                         \
    {                                                                                                                  \
        .name = "frames", .kind = HS_REST_CHOICE, .choices = "short none", .default_value = "short",                   \
        .help = "the functions of stacks: the innermost twelve, or none"                                               \
    }

const struct hs_rest_parameter hs_fleet_row_parameters[] = {SLICE, PAGE, {0}};
const struct hs_rest_parameter hs_fleet_stacks_parameters[] = {SLICE, PAGE, FRAMES, {0}};
const struct hs_rest_parameter hs_fleet_growth_parameters[] = {
    {.name = "app", .kind = HS_REST_TEXT, .help = "only this program"},
    {.name = "firmware", .kind = HS_REST_TEXT, .help = "only this firmware"},
    PAGE,
    FRAMES,
    {0}};
const struct hs_rest_parameter hs_fleet_new_parameters[] = {
    {.name = "app", .kind = HS_REST_TEXT, .help = "only this program"},
    {.name = "firmware", .kind = HS_REST_TEXT, .required = true, .help = "the firmware that has the stacks"},
    {.name = "than", .kind = HS_REST_TEXT, .required = true, .help = "the firmware that does not have them"},
    PAGE,
    FRAMES,
    {0}};

#define PER                                                                                                            \
    {                                                                                                                  \
        .name = "per", .kind = HS_REST_CHOICE, .choices = "fleet device", .default_value = "fleet",                    \
        .help = "fleet: sums of all selected devices; device: these sums divided by the number of devices"             \
    }

const struct hs_rest_parameter hs_fleet_flame_parameters[] = {
    SLICE,
    {.name = "than", .kind = HS_REST_TEXT, .help = "compare with this firmware: the tree has the differences from it"},
    PER,
    HS_INVERTED_PARAMETER,
    {.name = "nodes",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 100000,
     .default_value = "16000",
     .help = "at most this many nodes, the largest ones"},
    {0},
};
const struct hs_rest_parameter hs_fleet_export_parameters[] = {
    SLICE,
    PER,
    {.name = "unit",
     .kind = HS_REST_CHOICE,
     .choices = "bytes count",
     .default_value = "bytes",
     .help = "bytes, or the number of blocks (count)"},
    {0},
};

// ---- slices --------------------------------------------------------------------------------------------------------

bool hs_slice__takes(enum hs_parameter_id id)
{
    return hs_fleet_conditions__takes(id);
}

int hs_question__slice(struct hs_question *question, const char *name, enum hs_fleet_reach reach,
                       struct hs_fleet_slice *slice, struct hs_fleet_conditions *conditions)
{
    struct hs_filter_parameters parameters;
    *conditions = (struct hs_fleet_conditions){0};
    *slice = (struct hs_fleet_slice){.app = hs_question__text(question, "app"),
                                     .firmware = hs_question__text(question, "firmware"),
                                     .device = hs_question__text(question, "device"),
                                     .than = hs_question__text(question, "than"),
                                     .least = HS_FLEET_LEAST,
                                     .conditions = conditions};
    int result = hs_question__filter_parameters(question, &parameters);
    if (!result)
        result = hs_fleet_conditions__make(conditions, &parameters, &question->error);
    hs_filter_parameters__free(&parameters);
    if (!result)
        result = hs_fleet_question__check_reach(name, reach, slice, "device", &question->error);
    return result;
}

int hs_question__ask_fleet(struct hs_question *question, hs_fleet_asker ask, void *context)
{
    struct hs_rest_fleet *fleet = question->rest->fleet;
    struct hs_database *database;
    if (!fleet)
        return hs_error__set(&question->error, ENOENT,
                             "the server has no database of devices; 'heapsonde server --fleet clickhouse://...' asks "
                             "one");
    int result = hs_rest_fleet__take(fleet, question->control.cancel, &database, &question->error);
    if (result)
        return result;
    result = ask(question, database, context);
    hs_rest_fleet__give_back(fleet, database);
    const bool known = !result || result == -ECANCELED || result == -ETIMEDOUT || result == -ENOMEM;
    return known ? result : -ECONNREFUSED;
}

int hs_answer__fleet(struct hs_question *question, FILE *out)
{
    const struct hs_rest_fleet *fleet = question->rest->fleet;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "database", fleet ? hs_rest_fleet__address(fleet) : NULL);
    hs_json__open_array(&json, "filters");
    for (size_t i = 0; i < HS_PARAMETER_COUNT; i++)
        if (hs_slice__takes((enum hs_parameter_id)i))
            hs_json__string(&json, NULL, hs_parameters[i].name);
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    putc('\n', out);
    return ferror(out) ? -EPIPE : 0;
}
