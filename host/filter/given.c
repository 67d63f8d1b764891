// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/given.h"

#include "host/base/text_stream.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct hs_given_parameter *hs_given_parameter__find(const struct hs_filter_parameters *parameters,
                                                          enum hs_parameter_id id)
{
    for (size_t i = parameters->count; i-- > 0;) {
        if (parameters->given[i].id == id)
            return &parameters->given[i];
    }
    return NULL;
}

bool hs_filter_parameters__have(const struct hs_filter_parameters *parameters, enum hs_parameter_id id)
{
    return hs_given_parameter__find(parameters, id) != NULL;
}

// ---- values --------------------------------------------------------------------------------------------------------

static bool read_time(struct hs_given_parameter *given)
{
    given->form = HS_VALUE_PLAIN;
    given->fraction = strchr(given->text, '.') != NULL;
    if (hs_quantity__decimal(given->text, &given->decimal))
        return true;
    given->form = HS_VALUE_PERCENT;
    if (hs_quantity__percent(given->text, &given->decimal))
        return true;
    given->form = HS_VALUE_LENGTH;
    return *given->text && hs_quantity__interval(given->text, &given->number);
}

static bool read_or_percent(struct hs_given_parameter *given, bool (*read)(const char *, uint64_t *))
{
    if (read(given->text, &given->number))
        return true;
    given->form = HS_VALUE_PERCENT;
    return hs_quantity__percent(given->text, &given->decimal);
}

static bool is_word(const char *text, const char *words)
{
    size_t length = strlen(text);
    while (*words) {
        size_t word = strcspn(words, " ");
        if (word == length && !memcmp(words, text, length))
            return true;
        words += word + (words[word] == ' ');
    }
    return false;
}

static bool read_value(struct hs_given_parameter *given)
{
    const struct hs_parameter *parameter = &hs_parameters[given->id];
    switch (parameter->kind) {
    case HS_PARAMETER_TIME:
    case HS_PARAMETER_TIME_END:
        return read_time(given);
    case HS_PARAMETER_INTERVAL:
        return hs_quantity__interval(given->text, &given->number);
    case HS_PARAMETER_INTERVAL_OR_PERCENT:
        return read_or_percent(given, hs_quantity__interval);
    case HS_PARAMETER_COUNT_OR_PERCENT:
        return read_or_percent(given, hs_quantity__number);
    case HS_PARAMETER_SIZE:
        return hs_quantity__size(given->text, &given->number);
    case HS_PARAMETER_ADDRESS:
        return hs_quantity__address(given->text, &given->number);
    case HS_PARAMETER_NUMBER:
        return hs_quantity__number(given->text, &given->number) && given->number <= UINT32_MAX;
    case HS_PARAMETER_NUMBER_64:
        return hs_quantity__number(given->text, &given->number);
    case HS_PARAMETER_CHOICE:
        return is_word(given->text, parameter->choices);
    default:
        return true;
    }
}

// The part of a wrong value that a message shows: its beginning, without control characters.
static void printable(const char *text, char *shown, size_t size)
{
    size_t length = 0;
    for (; text[length] && length + 1 < size; length++)
        shown[length] = (unsigned char)text[length] < 0x20 || text[length] == 0x7f ? '?' : text[length];
    shown[length] = '\0';
}

static int complain(const struct hs_given_parameter *given, const char *name, struct hs_error *error)
{
    const struct hs_parameter *parameter = &hs_parameters[given->id];
    char shown[64];
    printable(given->text, shown, sizeof(shown));
    if (parameter->kind == HS_PARAMETER_CHOICE)
        return hs_error__set(error, EINVAL, "%s does not know '%s'; give one of: %s", name, shown, parameter->choices);
    return hs_error__set(error, EINVAL, "%s cannot use '%s'; give %s", name, shown,
                         hs_parameter_kind__takes(parameter->kind));
}

int hs_given_parameter__read(struct hs_given_parameter *given, const char *name, struct hs_error *error)
{
    if (!read_value(given))
        return complain(given, name, error);
    if (given->id == HS_PARAMETER_CUSTOM_FILTER && *given->text)
        return hs_error__set(error, EINVAL,
                             "failed to evaluate custom filter: custom_filter takes no scripts; use the "
                             "other parameters");
    return 0;
}

// ---- contradictions ------------------------------------------------------------------------------------------------

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && !strcmp(text + length - end_length, end);
}

// In the table a least value stands in front of its greatest one.
static bool is_least(enum hs_parameter_id id)
{
    return id == HS_PARAMETER_FROM || ends_in(hs_parameters[id].name, "_min");
}

static bool is_above(const struct hs_given_parameter *least, const struct hs_given_parameter *most)
{
    if (!least || !most || least->form != most->form)
        return false;
    // Percentages of a group are rounded down: in a small group, two percentages may be the same number.
    if (least->form == HS_VALUE_PERCENT && hs_parameters[least->id].kind == HS_PARAMETER_COUNT_OR_PERCENT)
        return false;
    if (least->number != most->number)
        return least->number > most->number;
    return least->decimal.whole != most->decimal.whole ? least->decimal.whole > most->decimal.whole
                                                       : least->decimal.nano > most->decimal.nano;
}

bool hs_filter_parameters__ask_frames(const struct hs_filter_parameters *parameters)
{
    for (size_t i = 0; i < parameters->count; i++)
        if (hs_parameter__is_of_frames(parameters->given[i].id))
            return true;
    return false;
}

const char *hs_filter_parameters__shown_name(const struct hs_filter_parameters *parameters, enum hs_parameter_id id)
{
    return parameters->as_options ? hs_parameters[id].option : hs_parameters[id].name;
}

bool hs_filter_parameters__contradict(const struct hs_filter_parameters *parameters, const char **least,
                                      const char **most)
{
    for (int i = 0; i + 1 < HS_PARAMETER_COUNT; i++) {
        enum hs_parameter_id id = (enum hs_parameter_id)i, next = (enum hs_parameter_id)(i + 1);
        if (!is_least(id) ||
            !is_above(hs_given_parameter__find(parameters, id), hs_given_parameter__find(parameters, next)))
            continue;
        *least = hs_filter_parameters__shown_name(parameters, id);
        *most = hs_filter_parameters__shown_name(parameters, next);
        return true;
    }
    return false;
}

// ---- what was given, as text ---------------------------------------------------------------------------------------

bool hs_given_parameter__restricts(const struct hs_given_parameter *given)
{
    switch (given->id) {
    case HS_PARAMETER_ERA:
    case HS_PARAMETER_TIME_UNIT:
        return false;
    case HS_PARAMETER_LIFETIME:
        return strcmp(given->text, "all") != 0;
    case HS_PARAMETER_CUSTOM_FILTER:
        return *given->text;
    default:
        return true;
    }
}

bool hs_filter_parameters__are_empty(const struct hs_filter_parameters *parameters)
{
    for (size_t i = 0; i < parameters->count; i++) {
        if (hs_given_parameter__restricts(&parameters->given[i]))
            return false;
    }
    return true;
}

static void write_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char letter = (unsigned char)*text;
        if (isalnum(letter) || strchr("-._~", letter))
            fputc(letter, out);
        else
            fprintf(out, "%%%02X", letter);
    }
}

char *hs_filter_parameters__text(const struct hs_filter_parameters *parameters)
{
    bool first = true;
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    for (int id = 0; id < HS_PARAMETER_COUNT; id++) {
        for (size_t i = 0; i < parameters->count; i++) {
            if ((int)parameters->given[i].id != id)
                continue;
            fprintf(out, "%s%s=", first ? "" : "&", hs_parameters[id].name);
            write_escaped(out, parameters->given[i].text);
            first = false;
        }
    }
    return hs_text_stream__close(&stream);
}
