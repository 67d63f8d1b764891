// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/fleet_gate.h"

#include "host/cli/values.h"
#include "host/fleet/tsv.h"
#include "host/report/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MOST = 16, ROWS = -1 };

static const char *const comparisons[] = {">=", "<=", "==", "!=", ">", "<"};

struct fleet_condition {
    const char *text;
    int column; // ROWS: the number of rows
    const char *comparison;
    double number;
};

struct hs_fleet_gate {
    const struct hs_arguments *arguments;
    const struct hs_fleet_question *question;
    struct fleet_condition *condition;
    size_t count;
};

// ---- parsing -------------------------------------------------------------------------------------------------------

static bool find_column(const struct hs_fleet_question *question, const char *word, size_t length, int *column)
{
    *column = ROWS;
    if (length == 4 && !memcmp(word, "rows", 4))
        return true;
    for (int i = 0; question->columns[i]; i++) {
        *column = i;
        if (strlen(question->columns[i]) == length && !memcmp(question->columns[i], word, length))
            return hs_fleet_column__is_number(question->columns[i]);
    }
    return false;
}

// A size, or a number with a fraction; columns such as bytes_per_hour may be negative.
static bool read_number(const char *text, double *number)
{
    const double sign = *text == '-' ? -1 : 1;
    uint64_t size;
    char *end;
    text += *text == '-';
    if (hs_value__size(text, &size)) {
        *number = sign * (double)size;
        return true;
    }
    if (!isdigit((unsigned char)*text) || text[strspn(text, "0123456789.")])
        return false;
    *number = sign * strtod(text, &end);
    return !*end;
}

static bool parse(struct fleet_condition *condition, const struct hs_fleet_question *question, const char *text)
{
    const char *word = text + strspn(text, " ");
    size_t length = strcspn(word, " <>=!");
    const char *at = word + length + strspn(word + length, " ");
    condition->text = text;
    condition->comparison = NULL;
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(*comparisons) && !condition->comparison; i++)
        if (!strncmp(at, comparisons[i], strlen(comparisons[i])))
            condition->comparison = comparisons[i];
    if (!condition->comparison || !find_column(question, word, length, &condition->column))
        return false;
    at += strlen(condition->comparison);
    return read_number(at + strspn(at, " "), &condition->number);
}

static int complain(const struct hs_arguments *arguments, const struct hs_fleet_question *question, const char *text)
{
    char columns[256] = "";
    for (size_t i = 0; question->columns[i]; i++) {
        size_t used = strlen(columns);
        if (hs_fleet_column__is_number(question->columns[i]))
            snprintf(columns + used, sizeof(columns) - used, ", %s", question->columns[i]);
    }
    hs_complain(arguments->command,
                "--fail-if %s: a condition is NAME OPERATOR NUMBER, such as 'rows > 0'; the names of '%s' are rows%s",
                text, question->name, columns);
    return HS_EXIT_USAGE;
}

int hs_fleet_gate__read(struct hs_fleet_gate **result, const struct hs_arguments *arguments,
                        const struct hs_fleet_question *question)
{
    size_t count;
    const char **texts = hs_arguments__texts(arguments, "fail-if", &count);
    struct hs_fleet_gate *gate = count ? calloc(1, sizeof(*gate)) : NULL;
    int status = texts && (gate || !count) ? 0 : HS_EXIT_FAILURE;
    *result = gate;
    if (gate) {
        *gate = (struct hs_fleet_gate){arguments, question, calloc(count, sizeof(*gate->condition)), 0};
        status = gate->condition ? status : HS_EXIT_FAILURE;
    }
    for (size_t i = 0; i < count && !status; i++) {
        if (!parse(&gate->condition[gate->count++], question, texts[i]))
            status = complain(arguments, question, texts[i]);
    }
    free(texts);
    return status;
}

void hs_fleet_gate__free(struct hs_fleet_gate *gate)
{
    if (gate)
        free(gate->condition);
    free(gate);
}

// ---- checking ------------------------------------------------------------------------------------------------------

static bool holds(const struct fleet_condition *condition, double value)
{
    const double number = condition->number;
    switch (condition->comparison[0]) {
    case '>':
        return condition->comparison[1] ? value >= number : value > number;
    case '<':
        return condition->comparison[1] ? value <= number : value < number;
    case '=':
        return value == number;
    default:
        return value != number;
    }
}

// The texts of a row, which say what it is about: "gwd, 1.5, 4711".
static void print_row(const struct hs_fleet_question *question, char **field)
{
    bool first = true;
    for (size_t i = 0; question->columns[i]; i++) {
        if (hs_fleet_column__is_number(question->columns[i]))
            continue;
        fprintf(stderr, "%s%s ", first ? "" : ", ", question->columns[i]);
        hs_text__print(stderr, field[i], strlen(field[i]));
        first = false;
    }
}

static void say(const struct hs_fleet_gate *gate, const struct fleet_condition *condition, char **field, uint64_t rows)
{
    fprintf(stderr, "heapsonde fleet: %s holds: ", condition->text);
    if (condition->column == ROWS) {
        fprintf(stderr, "%s row%s", hs_text__count(rows).text, rows == 1 ? "" : "s");
        if (rows)
            fputs("; the first: ", stderr);
    } else {
        fprintf(stderr, "%s is %s; ", gate->question->columns[condition->column], field[condition->column]);
    }
    if (condition->column != ROWS || rows)
        print_row(gate->question, field);
    fputc('\n', stderr);
}

// The first row for which it holds.
static bool check(const struct hs_fleet_gate *gate, const struct fleet_condition *condition,
                  const struct hs_buffer *answer)
{
    char *field[FIELDS_MOST] = {NULL}, *first[FIELDS_MOST] = {NULL};
    uint64_t rows = 0;
    bool found = false;
    for (struct hs_tsv table = hs_tsv__begin(answer); !found && hs_tsv__next(&table, field, FIELDS_MOST); rows++) {
        if (!rows)
            memcpy(first, field, sizeof(first));
        found = condition->column != ROWS && holds(condition, strtod(field[condition->column], NULL));
    }
    if (condition->column == ROWS)
        found = holds(condition, (double)rows);
    if (found)
        say(gate, condition, condition->column == ROWS ? first : field, rows);
    return found;
}

int hs_fleet_gate__check(const struct hs_fleet_gate *gate, const struct hs_buffer *answer)
{
    int status = 0;
    for (size_t i = 0; gate && i < gate->count; i++) {
        // Reading changes it.
        struct hs_buffer copy = {0};
        hs_buffer__put(&copy, answer->bytes, answer->count);
        hs_buffer__put(&copy, "", 1);
        if (copy.failed) {
            hs_complain(gate->arguments->command, "out of memory");
            status = HS_EXIT_FAILURE;
        } else if (check(gate, &gate->condition[i], &copy) && !status) {
            status = HS_EXIT_CONDITION;
        }
        hs_buffer__free(&copy);
    }
    return status;
}
