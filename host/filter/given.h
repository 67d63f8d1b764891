// SPDX-License-Identifier: MIT OR Apache-2.0
//
// For what translates filters (resolve.c, host/fleet/conditions.c): the values that were given.
#ifndef HEAPSONDE_FILTER_GIVEN_H
#define HEAPSONDE_FILTER_GIVEN_H

#include "host/filter/filter.h"
#include "host/filter/quantity.h"

#include <string.h>

struct hs_pattern;
struct hs_expression;

enum hs_value_form {
    HS_VALUE_PLAIN,   // `number`; of times: `decimal`, in units that are not said
    HS_VALUE_PERCENT, // `decimal` of something
    HS_VALUE_LENGTH   // of times: `number` nanoseconds since the start
};

struct hs_given_parameter {
    enum hs_parameter_id id;
    char *text;
    enum hs_value_form form;
    bool fraction; // a time with a point in it
    uint64_t number;
    struct hs_decimal decimal;
    struct hs_pattern *pattern;       // REGEX
    struct hs_expression *expression; // EXPRESSION
};

// The last value that was given, or NULL.
const struct hs_given_parameter *hs_given_parameter__find(const struct hs_filter_parameters *parameters,
                                                          enum hs_parameter_id id);

static inline bool hs_given_parameter__is(const struct hs_given_parameter *given, const char *word)
{
    return given && !strcmp(given->text, word);
}

// Reads the number, the word or the time that `text` is. 0, or a negative errno with a message about `name`.
int hs_given_parameter__read(struct hs_given_parameter *given, const char *name, struct hs_error *error);

// Whether it restricts what matches.
bool hs_given_parameter__restricts(const struct hs_given_parameter *given);
// The name that messages call a parameter by.
const char *hs_filter_parameters__shown_name(const struct hs_filter_parameters *parameters, enum hs_parameter_id id);

#endif
