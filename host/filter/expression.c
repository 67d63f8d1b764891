// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/expression.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct hs_expression *hs_expression__parse(const char *name, const char *text, struct hs_error *error)
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
