// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/expression.h"

#include "host/base/array.h"
#include "host/filter/given.h"
#include "host/filter/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A parameter may be an expression, and an expression consists of parameters: both are read here.

// ---- parameters ----------------------------------------------------------------------------------------------------

void hs_filter_parameters__init(struct hs_filter_parameters *parameters, enum hs_time_unit time_unit)
{
    *parameters = (struct hs_filter_parameters){.time_unit = time_unit};
}

static void free_given(struct hs_given_parameter *given)
{
    free(given->text);
    hs_pattern__destroy(given->pattern);
    hs_expression__destroy(given->expression);
}

void hs_filter_parameters__free(struct hs_filter_parameters *parameters)
{
    for (size_t i = 0; i < parameters->count; i++)
        free_given(&parameters->given[i]);
    free(parameters->given);
    parameters->given = NULL;
    parameters->count = parameters->capacity = 0;
}

// Parses all of a text; `name` begins the messages.
static struct hs_expression *parse_text(const char *name, const char *text, struct hs_error *error);

// Returns 0 or a negative errno.
static int understand(struct hs_given_parameter *given, const char *name, struct hs_error *error)
{
    const struct hs_parameter *parameter = &hs_parameters[given->id];
    int result = hs_given_parameter__read(given, name, error);
    if (result)
        return result;
    if (parameter->kind == HS_PARAMETER_REGEX)
        return hs_pattern__create(name, given->text, &given->pattern, error);
    if (parameter->kind == HS_PARAMETER_EXPRESSION)
        return (given->expression = parse_text(name, given->text, error)) ? 0 : -EINVAL;
    return 0;
}

static int make_room(struct hs_filter_parameters *parameters)
{
    return HS_ARRAY_HAS_ROOM(parameters->given, parameters->count, parameters->capacity) ? 0 : -ENOMEM;
}

static void replace(struct hs_given_parameter *old, struct hs_given_parameter given)
{
    free_given(old);
    *old = given;
}

static struct hs_given_parameter *place_of(struct hs_filter_parameters *parameters, enum hs_parameter_id id)
{
    for (size_t i = 0; i < parameters->count; i++) {
        if (parameters->given[i].id == id && !hs_parameters[id].repeatable)
            return &parameters->given[i];
    }
    return NULL;
}

enum hs_parameter_result hs_filter_parameters__take(struct hs_filter_parameters *parameters, const char *name,
                                                    const char *value, struct hs_error *error)
{
    const struct hs_parameter *parameter = hs_parameter__find(name);
    if (!parameter)
        return HS_PARAMETER_UNKNOWN;
    const char *shown = parameters->as_options ? parameter->option : parameter->name;
    struct hs_given_parameter given = {.id = (enum hs_parameter_id)(parameter - hs_parameters)};
    int result = 0;
    if (!parameters->as_options && place_of(parameters, given.id))
        result = hs_error__set(error, EINVAL, "%s is given twice; give it once", shown);
    if (!result && (make_room(parameters) || !(given.text = strdup(value))))
        result = hs_error__set(error, ENOMEM, "%s: out of memory", shown);
    if (!result)
        result = understand(&given, shown, error);
    if (result) {
        free_given(&given);
        return HS_PARAMETER_WRONG;
    }
    struct hs_given_parameter *place = place_of(parameters, given.id);
    if (place)
        replace(place, given);
    else
        parameters->given[parameters->count++] = given;
    return HS_PARAMETER_TAKEN;
}

// Several values of one parameter are one statement: those of `more` take the place of those that were there.
static void remove_given(struct hs_filter_parameters *parameters, const struct hs_filter_parameters *more)
{
    size_t kept = 0;
    for (size_t i = 0; i < parameters->count; i++) {
        if (hs_filter_parameters__have(more, parameters->given[i].id))
            free_given(&parameters->given[i]);
        else
            parameters->given[kept++] = parameters->given[i];
    }
    parameters->count = kept;
}

int hs_filter_parameters__add(struct hs_filter_parameters *parameters, const struct hs_filter_parameters *more,
                              struct hs_error *error)
{
    bool as_options = parameters->as_options;
    remove_given(parameters, more);
    parameters->as_options = true; // values are taken again as they were
    enum hs_parameter_result result = HS_PARAMETER_TAKEN;
    for (size_t i = 0; result == HS_PARAMETER_TAKEN && i < more->count; i++)
        result =
            hs_filter_parameters__take(parameters, hs_parameters[more->given[i].id].name, more->given[i].text, error);
    parameters->as_options = as_options;
    return result == HS_PARAMETER_TAKEN ? 0 : -EINVAL;
}

// The first parameter that restricts and for which `is_of` is false, also within `where`.
static const char *find_other(const struct hs_filter_parameters *parameters, bool (*is_of)(enum hs_parameter_id id))
{
    const char *other = NULL;
    for (size_t i = 0; i < parameters->count && !other; i++) {
        const struct hs_given_parameter *given = &parameters->given[i];
        if (hs_given_parameter__restricts(given) && !is_of(given->id))
            other = hs_filter_parameters__shown_name(parameters, given->id);
        for (uint32_t k = 0; given->expression && k < given->expression->parts && !other; k++)
            other = find_other(&given->expression->part[k], is_of);
    }
    return other;
}

const char *hs_filter_parameters__not_of_samples(const struct hs_filter_parameters *parameters)
{
    return find_other(parameters, hs_parameter__is_of_samples);
}

const char *hs_filter_parameters__not_of_frames(const struct hs_filter_parameters *parameters)
{
    return find_other(parameters, hs_parameter__is_of_frames);
}

// ---- expressions ---------------------------------------------------------------------------------------------------

#define VALUE_LONGEST 1024

// The prefix and suffix that an operator adds to a name.
static const struct {
    const char *sign, *before, *behind;
} operators[] = {{"=~", "", "_regex"},
                 {"!~", "negative_", "_regex"},
                 {"!=", "negative_", ""},
                 {">=", "", "_min"},
                 {"<=", "", "_max"},
                 {"==", "", ""},
                 {"=", "", ""}};
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

static int take_parameter(struct hs_reader *reader, struct hs_filter_parameters *part, const char *parameter,
                          const char *value, const char *start)
{
    struct hs_error error = {.message = ""};
    const struct hs_parameter *known = hs_parameter__find(parameter);
    const char *after = reader->at;
    reader->at = start;
    if (known == &hs_parameters[HS_PARAMETER_WHERE])
        return hs_reader__complain(reader, "where cannot be within where; use parentheses");
    enum hs_parameter_result result = hs_filter_parameters__take(part, parameter, value, &error);
    if (result == HS_PARAMETER_WRONG)
        return hs_reader__complain(reader, error.message);
    if (result == HS_PARAMETER_UNKNOWN)
        return hs_reader__complain(
            reader, "no such filter; docs/filters.md has them all, such as function=~\"cache\" or size_min=4K");
    reader->at = after;
    return 0;
}

static int take_filter(struct hs_reader *reader, struct hs_filter_parameters *part)
{
    char name[64], parameter[96], value[VALUE_LONGEST];
    hs_reader__skip_spaces(reader);
    const char *start = reader->at;
    int result = hs_reader__take_word(reader, name, sizeof(name), "the name of a filter is missing");
    if (result)
        return result;
    size_t i = 0;
    while (i < OPERATORS && !hs_reader__take_sign(reader, operators[i].sign))
        i++;
    if (i == OPERATORS)
        return hs_reader__complain(reader, "= or =~ or !~ or != or >= or <= is missing");
    snprintf(parameter, sizeof(parameter), "%s%s%s", operators[i].before, name, operators[i].behind);
    result = hs_reader__take_value(reader, value, sizeof(value));
    return result ? result : take_parameter(reader, part, parameter, value, start);
}

static int take_part(void *context, struct hs_reader *reader, uint32_t *number)
{
    struct hs_expression *expression = context;
    if (expression->parts == HS_EXPRESSION_PARTS)
        return hs_reader__complain(reader, "too many filters");
    struct hs_filter_parameters *part = &expression->part[expression->parts];
    hs_filter_parameters__init(part, HS_TIME_UNIT_START);
    *number = expression->parts++;
    int result;
    do {
        result = take_filter(reader, part);
    } while (!result && hs_reader__take_sign(reader, ","));
    return result;
}

struct hs_expression *hs_expression__read(struct hs_reader *reader)
{
    struct hs_expression *expression = calloc(1, sizeof(*expression));
    if (!expression) {
        hs_error__set(reader->error, ENOMEM, "out of memory");
        return NULL;
    }
    if (!hs_logic__read(&expression->logic, reader, take_part, expression))
        return expression;
    hs_expression__destroy(expression);
    return NULL;
}

static struct hs_expression *parse_text(const char *name, const char *text, struct hs_error *error)
{
    struct hs_error wrong = {.message = ""};
    struct hs_reader reader = {.text = text, .at = text, .error = &wrong};
    struct hs_expression *expression = NULL;
    if (strlen(text) > HS_READER_LONGEST)
        hs_reader__complain(&reader, "too long");
    else
        expression = hs_expression__read(&reader);
    hs_reader__skip_spaces(&reader);
    if (expression && *reader.at) {
        hs_reader__complain(&reader, "and, or, a comma or the end is expected here");
        hs_expression__destroy(expression);
        expression = NULL;
    }
    if (!expression)
        hs_error__set(error, EINVAL, "%s: %s; give filters such as size>=4K and not thread=main", name, wrong.message);
    return expression;
}

void hs_expression__destroy(struct hs_expression *expression)
{
    for (uint32_t i = 0; expression && i < expression->parts; i++)
        hs_filter_parameters__free(&expression->part[i]);
    free(expression);
}
