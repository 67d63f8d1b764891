// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /openapi.json, made from the table of endpoints, that of the filter's parameters, and schemas.json; and the overview.
#include "host/base/json.h"
#include "host/rest/answers.h"
#include "host/rest/fleet_slice.h"
#include "host/rest/rest.h"

#include <schemas.h> // made from schemas.json
#include <string.h>

static const char *filter_type(enum hs_parameter_kind kind)
{
    return kind == HS_PARAMETER_NUMBER || kind == HS_PARAMETER_NUMBER_64 ? "integer" : "string";
}

static void write_choices(struct hs_json *json, const char *choices)
{
    hs_json__open_array(json, "enum");
    while (*choices) {
        size_t length = strcspn(choices, " ");
        hs_json__bytes(json, NULL, choices, length);
        choices += length + strspn(choices + length, " ");
    }
    hs_json__close_array(json);
}

static void open_parameter(struct hs_json *json, const char *name, const char *in, bool required, const char *help)
{
    hs_json__open_object(json, NULL);
    hs_json__string(json, "name", name);
    hs_json__string(json, "in", in);
    hs_json__boolean(json, "required", required);
    hs_json__string(json, "description", help);
    hs_json__open_object(json, "schema");
}

static void close_parameter(struct hs_json *json)
{
    hs_json__close_object(json);
    hs_json__close_object(json);
}

static void write_parameter(struct hs_json *json, const struct hs_rest_parameter *parameter)
{
    static const char *const types[] = {
        [HS_REST_NUMBER] = "integer", [HS_REST_CHOICE] = "string", [HS_REST_FLAG] = "boolean",
        [HS_REST_REAL] = "number",    [HS_REST_TIME] = "string",   [HS_REST_INSTANT] = "string",
        [HS_REST_TEXT] = "string",    [HS_REST_CHOICES] = "array"};
    open_parameter(json, parameter->name, "query", parameter->required, parameter->help);
    hs_json__string(json, "type", types[parameter->kind]);
    if (parameter->kind == HS_REST_CHOICES) {
        hs_json__open_object(json, "items");
        hs_json__string(json, "type", "string");
    }
    if (parameter->choices)
        write_choices(json, parameter->choices);
    if (parameter->kind == HS_REST_CHOICES)
        hs_json__close_object(json);
    if (parameter->kind == HS_REST_NUMBER)
        hs_json__number(json, "minimum", parameter->least);
    if (parameter->kind == HS_REST_NUMBER && parameter->most)
        hs_json__number(json, "maximum", parameter->most);
    hs_json__close_object(json);
    // With commas in one value.
    if (parameter->kind == HS_REST_CHOICES)
        hs_json__boolean(json, "explode", false);
    hs_json__close_object(json);
}

static bool is_own(const struct hs_endpoint *endpoint, const char *name)
{
    for (const struct hs_rest_parameter *own = endpoint->parameters; own && own->name; own++)
        if (!strcmp(own->name, name))
            return true;
    return false;
}

static void write_filter_parameters(struct hs_json *json, const struct hs_endpoint *endpoint)
{
    for (size_t i = 0; i < HS_PARAMETER_COUNT; i++) {
        char reference[96];
        bool is_of_blocks = !hs_parameter__is_of_samples((enum hs_parameter_id)i);
        if (endpoint->takes & HS_TAKES_SLICE && !hs_slice__takes((enum hs_parameter_id)i))
            continue;
        if (is_own(endpoint, hs_parameters[i].name) || (is_of_blocks && hs_events__are_samples(endpoint->events)))
            continue;
        snprintf(reference, sizeof(reference), "#/components/parameters/%s", hs_parameters[i].name);
        hs_json__open_object(json, NULL);
        hs_json__string(json, "$ref", reference);
        hs_json__close_object(json);
    }
}

static void write_path_parameters(struct hs_json *json, const char *path)
{
    for (const char *at = strchr(path, '{'); at; at = strchr(at + 1, '{')) {
        char name[32];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1, "}"), at + 1);
        const char *help = !strcmp(name, "id")     ? "the trace: its 32 hexadecimal digits, or 'last'"
                           : !strcmp(name, "name") ? "any file name, for saving the answer"
                                                   : "which one";
        open_parameter(json, name, "path", true, help);
        hs_json__string(json, "type", "string");
        close_parameter(json);
    }
}

static void write_parameters(struct hs_json *json, const struct hs_endpoint *endpoint, const char *path)
{
    const struct hs_rest_parameter *arrays[HS_PARAMETER_ARRAYS];
    size_t count = hs_endpoint__parameters(endpoint, arrays);
    hs_json__open_array(json, "parameters");
    write_path_parameters(json, path);
    for (size_t i = 0; i < count; i++)
        for (const struct hs_rest_parameter *parameter = arrays[i]; parameter->name; parameter++)
            write_parameter(json, parameter);
    if (endpoint->takes & (HS_TAKES_FILTER | HS_TAKES_SLICE))
        write_filter_parameters(json, endpoint);
    hs_json__close_array(json);
}

static void write_good_answer(struct hs_json *json, const struct hs_endpoint *endpoint)
{
    hs_json__open_object(json, "200");
    hs_json__string(json, "description", "the answer");
    hs_json__open_object(json, "headers");
    hs_json__open_object(json, "X-Heapsonde-Warning");
    hs_json__string(json, "$ref", "#/components/headers/Warning");
    hs_json__close_object(json);
    hs_json__close_object(json);
    hs_json__open_object(json, "content");
    hs_json__open_object(json, endpoint->type);
    hs_json__open_object(json, "schema");
    if (endpoint->schema) {
        char reference[96];
        snprintf(reference, sizeof(reference), "#/components/schemas/%s", endpoint->schema);
        hs_json__string(json, "$ref", reference);
    } else {
        hs_json__string(json, "type", "string");
    }
    hs_json__close_object(json);
    hs_json__close_object(json);
    hs_json__close_object(json);
    hs_json__close_object(json);
}

static void write_error(struct hs_json *json, const char *status)
{
    char reference[64];
    snprintf(reference, sizeof(reference), "#/components/responses/%s", status);
    hs_json__open_object(json, status);
    hs_json__string(json, "$ref", reference);
    hs_json__close_object(json);
}

static void write_operation(struct hs_json *json, const struct hs_endpoint *endpoint, const char *path)
{
    hs_json__open_object(json, endpoint->changes ? "post" : "get");
    hs_json__string(json, "summary", endpoint->summary);
    write_parameters(json, endpoint, path);
    hs_json__open_object(json, "responses");
    write_good_answer(json, endpoint);
    write_error(json, "400");
    if (endpoint->takes & HS_TAKES_SLICE) {
        write_error(json, "502");
        write_error(json, "504");
    }
    if (strchr(path, '{') || endpoint->takes & HS_TAKES_SLICE)
        write_error(json, "404");
    if (!strncmp(path, "/data/", 6)) {
        write_error(json, "410");
    }
    if (endpoint->changes) {
        write_error(json, "403");
        write_error(json, "409");
    }
    hs_json__close_object(json);
    hs_json__close_object(json);
}

static void write_paths(struct hs_json *json)
{
    hs_json__open_object(json, "paths");
    for (const struct hs_endpoint *endpoint = hs_endpoints; endpoint->path; endpoint++) {
        char named[128];
        hs_json__open_object(json, endpoint->path);
        write_operation(json, endpoint, endpoint->path);
        if (endpoint[1].path && endpoint[1].changes)
            write_operation(json, endpoint + 1, endpoint->path);
        hs_json__close_object(json);
        endpoint += endpoint[1].path && endpoint[1].changes;
        if (!endpoint->named)
            continue;
        snprintf(named, sizeof(named), "%s/{name}", endpoint->path);
        hs_json__open_object(json, named);
        write_operation(json, endpoint, named);
        hs_json__close_object(json);
    }
    hs_json__close_object(json);
}

static void write_component_parameters(struct hs_json *json)
{
    hs_json__open_object(json, "parameters");
    for (size_t i = 0; i < HS_PARAMETER_COUNT; i++) {
        const struct hs_parameter *parameter = &hs_parameters[i];
        hs_json__open_object(json, parameter->name);
        hs_json__string(json, "name", parameter->name);
        hs_json__string(json, "in", "query");
        hs_json__boolean(json, "required", false);
        hs_json__string(json, "description", parameter->help);
        hs_json__open_object(json, "schema");
        hs_json__string(json, "type", parameter->repeatable ? "array" : filter_type(parameter->kind));
        if (parameter->repeatable) {
            hs_json__open_object(json, "items");
            hs_json__string(json, "type", filter_type(parameter->kind));
            hs_json__close_object(json);
        }
        if (parameter->choices)
            write_choices(json, parameter->choices);
        hs_json__close_object(json);
        hs_json__close_object(json);
    }
    hs_json__close_object(json);
}

static void write_responses(struct hs_json *json)
{
    static const char *const answers[][2] = {
        {"400", "a parameter is wrong: a line with its name and its possible values"},
        {"404", "there is no such trace or object"},
        {"403", "the server was started without --control, or the request may come from another site's page"},
        {"409", "the process cannot be reached, or refuses"},
        {"410", "the trace was changed or has disappeared"},
        {"502", "the database of the fleet cannot be reached, or refuses"},
        {"504", "the database of the fleet did not answer in time"},
    };
    hs_json__open_object(json, "responses");
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        hs_json__open_object(json, answers[i][0]);
        hs_json__string(json, "description", answers[i][1]);
        hs_json__close_object(json);
    }
    hs_json__close_object(json);
}

static void write_headers(struct hs_json *json)
{
    hs_json__open_object(json, "headers");
    hs_json__open_object(json, "Warning");
    hs_json__string(json, "description",
                    "unknown parameters that were ignored; answers that are JSON objects have them in 'warnings', too");
    hs_json__open_object(json, "schema");
    hs_json__string(json, "type", "string");
    hs_json__close_object(json);
    hs_json__close_object(json);
    hs_json__close_object(json);
}

static void write_components(struct hs_json *json)
{
    hs_json__open_object(json, "components");
    write_component_parameters(json);
    write_responses(json);
    write_headers(json);
    hs_json__open_object(json, "securitySchemes");
    hs_json__open_object(json, "token");
    hs_json__string(json, "type", "http");
    hs_json__string(json, "scheme", "bearer");
    hs_json__close_object(json);
    hs_json__close_object(json);
    hs_json__raw(json, "schemas", (const char *)schemas, sizeof(schemas));
    hs_json__close_object(json);
}

void hs_rest__write_openapi(FILE *out)
{
    struct hs_json json;
    hs_json__start(&json, out, true);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "openapi", "3.1.0");
    hs_json__open_object(&json, "info");
    hs_json__string(&json, "title", "heapsonde server");
    hs_json__string(&json, "version", "1");
    hs_json__string(&json, "summary", "Queries about recorded allocations");
    hs_json__close_object(&json);
    write_paths(&json);
    write_components(&json);
    hs_json__close_object(&json);
}

int hs_answer__openapi(struct hs_question *question, FILE *out)
{
    (void)question;
    hs_rest__write_openapi(out);
    return 0;
}

int hs_answer__overview(struct hs_question *question, FILE *out)
{
    (void)question;
    fputs("heapsonde server\n\n", out);
    for (const struct hs_endpoint *endpoint = hs_endpoints; endpoint->path; endpoint++)
        fprintf(out, "%s%-*s %s\n", endpoint->changes ? "POST " : "", endpoint->changes ? 37 : 42, endpoint->path,
                endpoint->summary);
    return 0;
}
