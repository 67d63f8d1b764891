// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is taken for a value, what is refused and how, and that the table is in order.
#include "host/filter/condition.h"
#include "host/filter/filter.h"
#include "host/filter/quantity.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hs_parameter_result take(struct hs_filter_parameters *parameters, const char *name, const char *value,
                                     struct hs_error *error)
{
    error->message[0] = '\0';
    return hs_filter_parameters__take(parameters, name, value, error);
}

// ---- the table -----------------------------------------------------------------------------------------------------

START_TEST(names_and_options_agree)
{
    for (int id = 0; id < HS_PARAMETER_COUNT; id++) {
        const struct hs_parameter *parameter = &hs_parameters[id];
        ck_assert_msg(!strncmp(parameter->option, "--", 2), "%s", parameter->name);
        ck_assert_uint_eq(strlen(parameter->option), strlen(parameter->name) + 2);
        for (size_t i = 0; parameter->name[i]; i++) {
            char letter = parameter->name[i], of_option = parameter->option[i + 2];
            ck_assert_msg(letter == '_' ? of_option == '-' : of_option == letter, "%s", parameter->name);
        }
        ck_assert_ptr_eq(hs_parameter__find(parameter->name), parameter);
        ck_assert_ptr_eq(hs_parameter__find(parameter->option + 2), parameter);
        ck_assert_int_eq(parameter->choices != NULL, parameter->kind == HS_PARAMETER_CHOICE);
        ck_assert_int_ne(parameter->help[strlen(parameter->help) - 1], '.');
    }
    ck_assert_ptr_null(hs_parameter__find("size"));
    ck_assert_ptr_null(hs_parameter__find("size_min_"));
    ck_assert_ptr_null(hs_parameter__find(""));
}
END_TEST

// ---- the document --------------------------------------------------------------------------------------------------

static char *read_document(void)
{
    FILE *file = fopen(PATH_DOCUMENT, "rb");
    ck_assert_ptr_nonnull(file);
    char *text = calloc(1, 1 << 20);
    ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, file), 1000);
    fclose(file);
    return text;
}

// The row of the table whose first cell has the word; NULL: none.
static const char *row_of(const char *document, const char *word)
{
    char cell[160];
    snprintf(cell, sizeof(cell), "`%s`", word);
    for (const char *line = document; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *found = line[0] == '|' ? strstr(line, cell) : NULL;
        if (found && found < strchr(line + 1, '|'))
            return line;
    }
    return NULL;
}

static bool is_documented_choice(const char *document, const struct hs_parameter *parameter, const char *word)
{
    char cell[160];
    const char *row = row_of(document, parameter->name);
    snprintf(cell, sizeof(cell), "`%s`", word);
    const char *found = strstr(row, cell);
    return (found && found < strchr(row, '\n')) || row_of(document, word);
}

START_TEST(the_document_has_every_parameter_and_word)
{
    char *document = read_document();
    for (int id = 0; id < HS_PARAMETER_COUNT; id++) {
        const struct hs_parameter *parameter = &hs_parameters[id];
        ck_assert_msg(row_of(document, parameter->name), "docs/filters.md does not have %s", parameter->name);
        char words[512];
        snprintf(words, sizeof(words), "%s", parameter->choices ? parameter->choices : "");
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
            ck_assert_msg(is_documented_choice(document, parameter, word), "docs/filters.md: %s: no %s",
                          parameter->name, word);
    }
    for (int total = 0; total < HS_CONDITION_TOTAL_COUNT; total++)
        ck_assert_ptr_nonnull(row_of(document, hs_condition_total__name((enum hs_condition_total)total)));
    free(document);
}
END_TEST

// Between "## Parameters" and the first heading behind it: nothing but parameters in the first cells.
START_TEST(the_document_invents_nothing)
{
    char *document = read_document(), name[160];
    char *at = strstr(document, "## Parameters"), *end = strstr(at, "\n### ");
    unsigned names = 0;
    for (char *line = strstr(at, "|---|"); line && line < end; line = strchr(line, '\n') + 1) {
        char *cell_end = line[0] == '|' ? strchr(line + 1, '|') : NULL;
        char *quote = line;
        while (cell_end && (quote = strchr(quote + 1, '`')) && quote < cell_end) {
            char *close = strchr(quote + 1, '`');
            snprintf(name, sizeof(name), "%.*s", (int)(close - quote - 1), quote + 1);
            ck_assert_msg(hs_parameter__find(name), "docs/filters.md has %s, which is no parameter", name);
            names++;
            quote = close;
        }
    }
    ck_assert_uint_eq(names, HS_PARAMETER_COUNT);
    free(document);
}
END_TEST

// ---- refusals ------------------------------------------------------------------------------------------------------

// By kind: what is no value of it.
static const char *const wrong[HS_PARAMETER_KIND_COUNT][8] = {
    [HS_PARAMETER_TIME] = {"", "soon", "-1", "10 %", "%", "5x", "18446744073709551616", "1..2"},
    [HS_PARAMETER_TIME_END] = {"", "later", "-1", "1%%", "0x10", "5x", "1e9"},
    [HS_PARAMETER_INTERVAL] = {"long", "-1s", "10%", "5x", "1 2s", "s", "99999999999h"},
    [HS_PARAMETER_INTERVAL_OR_PERCENT] = {"long", "-1s", "%", "5x", "s", "10%%"},
    [HS_PARAMETER_COUNT_OR_PERCENT] = {"", "many", "-1", "1.5", "%", "50% ", "0x10"},
    [HS_PARAMETER_SIZE] = {"", "big", "-1", "0x10", "1Q", "1.5", "16777216T", "1e3"},
    [HS_PARAMETER_ADDRESS] = {"", "here", "-1", "0x", "0xg", "12ab", "0x10000000000000000"},
    [HS_PARAMETER_NUMBER] = {"", "one", "-1", "1.5", "4294967296", "0x1", "1 "},
    [HS_PARAMETER_NUMBER_64] = {"", "one", "-1", "1.5", "18446744073709551616"},
    [HS_PARAMETER_CHOICE] = {"", "perhaps", "YES", "yes no", "all "},
    [HS_PARAMETER_REGEX] = {"(", "[", "a{2,1}", "(?P<n", "\\", "*", "(?<=a+)b", "\\C"},
    [HS_PARAMETER_EXPRESSION] = {"", "size", "size>=", "size>=1 or", "(size>=1", "size>=1)", "where=(size>=1)", "not"},
};

static void expect_refusal(const struct hs_parameter *parameter, const char *value)
{
    struct hs_filter_parameters parameters;
    struct hs_error error;
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    ck_assert_msg(take(&parameters, parameter->name, value, &error) == HS_PARAMETER_WRONG, "%s took '%s'",
                  parameter->name, value);
    ck_assert_msg(strstr(error.message, parameter->name), "%s: %s", parameter->name, error.message);
    ck_assert_msg(strstr(error.message, "give"), "%s: %s", parameter->name, error.message);
    ck_assert_ptr_null(strchr(error.message, '\n'));
    ck_assert_msg(hs_filter_parameters__are_empty(&parameters), "%s", parameter->name);
    parameters.as_options = true;
    ck_assert_int_eq(take(&parameters, parameter->name, value, &error), HS_PARAMETER_WRONG);
    ck_assert_msg(strstr(error.message, parameter->option), "%s: %s", parameter->option, error.message);
    hs_filter_parameters__free(&parameters);
}

START_TEST(every_parameter_refuses)
{
    struct hs_filter_parameters parameters;
    struct hs_error error;
    for (int id = 0; id < HS_PARAMETER_COUNT; id++) {
        const struct hs_parameter *parameter = &hs_parameters[id];
        for (size_t i = 0; i < 8 && wrong[parameter->kind][i]; i++)
            expect_refusal(parameter, wrong[parameter->kind][i]);
    }
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    ck_assert_int_eq(take(&parameters, "custom_filter", "allocations()", &error), HS_PARAMETER_WRONG);
    ck_assert_ptr_nonnull(strstr(error.message, "failed to evaluate custom filter: "));
    ck_assert_int_eq(take(&parameters, "custom_filter", "", &error), HS_PARAMETER_TAKEN);
    ck_assert(hs_filter_parameters__are_empty(&parameters));
    hs_filter_parameters__free(&parameters);
}
END_TEST

START_TEST(a_value_of_others_is_not_shown_as_it_is)
{
    struct hs_filter_parameters parameters;
    struct hs_error error;
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    ck_assert_int_eq(take(&parameters, "size_min", "\033[2J\n\x7f", &error), HS_PARAMETER_WRONG);
    ck_assert_ptr_nonnull(strstr(error.message, "'?[2J"));
    ck_assert_ptr_null(strpbrk(error.message, "\033\n\x7f"));
    hs_filter_parameters__free(&parameters);
}
END_TEST

START_TEST(twice_is_wrong_but_for_options)
{
    struct hs_filter_parameters parameters;
    struct hs_error error;
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    ck_assert_int_eq(take(&parameters, "size_min", "1", &error), HS_PARAMETER_TAKEN);
    ck_assert_int_eq(take(&parameters, "size-min", "2", &error), HS_PARAMETER_WRONG);
    ck_assert_str_eq(error.message, "size_min is given twice; give it once");
    ck_assert_int_eq(take(&parameters, "thread", "main", &error), HS_PARAMETER_TAKEN);
    ck_assert_int_eq(take(&parameters, "thread", "worker", &error), HS_PARAMETER_TAKEN);
    ck_assert_int_eq(take(&parameters, "sort_by", "size", &error), HS_PARAMETER_UNKNOWN);
    parameters.as_options = true;
    ck_assert_int_eq(take(&parameters, "size-min", "2", &error), HS_PARAMETER_TAKEN);
    char *text = hs_filter_parameters__text(&parameters);
    ck_assert_str_eq(text, "size_min=2&thread=main&thread=worker");
    free(text);
    hs_filter_parameters__free(&parameters);
}
END_TEST

START_TEST(text_is_in_order_and_escaped)
{
    struct hs_filter_parameters parameters;
    struct hs_error error;
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    ck_assert_int_eq(take(&parameters, "function_regex", "a&b=c %", &error), HS_PARAMETER_TAKEN);
    ck_assert_int_eq(take(&parameters, "from", "10%", &error), HS_PARAMETER_TAKEN);
    char *text = hs_filter_parameters__text(&parameters);
    ck_assert_str_eq(text, "from=10%25&function_regex=a%26b%3Dc%20%25");
    free(text);
    hs_filter_parameters__free(&parameters);
}
END_TEST

START_TEST(contradictions)
{
    static const char *const pairs[][4] = {{"size_min", "2K", "size_max", "1K"},
                                           {"from", "2s", "to", "1s"},
                                           {"from", "20%", "to", "19.9%"},
                                           {"lifetime_min", "1m", "lifetime_max", "59s"},
                                           {"chain_length_min", "3", "chain_length_max", "2"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct hs_filter_parameters parameters;
        struct hs_error error;
        const char *least, *most;
        hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
        ck_assert_int_eq(take(&parameters, pairs[i][0], pairs[i][1], &error), HS_PARAMETER_TAKEN);
        ck_assert(!hs_filter_parameters__contradict(&parameters, &least, &most));
        ck_assert_int_eq(take(&parameters, pairs[i][2], pairs[i][3], &error), HS_PARAMETER_TAKEN);
        ck_assert(hs_filter_parameters__contradict(&parameters, &least, &most));
        ck_assert_str_eq(least, pairs[i][0]);
        ck_assert_str_eq(most, pairs[i][2]);
        hs_filter_parameters__free(&parameters);
    }
}
END_TEST

// ---- quantities ----------------------------------------------------------------------------------------------------

START_TEST(intervals)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } examples[] = {{"", 0},
                    {"1", 1000000000},
                    {"10s", 10000000000},
                    {"3m", 180000000000},
                    {"4h3m2s", 14582000000000},
                    {"100ms", 100000000},
                    {"100us", 100000},
                    {"7ns", 7},
                    {"1H2M", 3720000000000},
                    {" 1 h 30 ", 3630000000000},
                    {"1.5s", 1500000000},
                    {"2d", 172800000000000},
                    {"1.5min", 90000000000},
                    {"0.0000000004s", 0},
                    {"1s1s", 2000000000}};
    uint64_t ns;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        ck_assert_msg(hs_quantity__interval(examples[i].text, &ns), "%s", examples[i].text);
        ck_assert_msg(ns == examples[i].ns, "%s: %llu", examples[i].text, (unsigned long long)ns);
    }
}
END_TEST

START_TEST(shares_are_rounded_down_and_do_not_overflow)
{
    struct hs_decimal percent;
    ck_assert(hs_quantity__percent("50%", &percent));
    ck_assert_uint_eq(hs_quantity__share(percent, 1), 0);
    ck_assert_uint_eq(hs_quantity__share(percent, 11), 5);
    ck_assert_uint_eq(hs_quantity__share(percent, UINT64_MAX), UINT64_MAX / 2);
    ck_assert(hs_quantity__percent("51%", &percent));
    ck_assert_uint_eq(hs_quantity__share(percent, 2), 1);
    ck_assert(hs_quantity__percent("12.5%", &percent));
    ck_assert_uint_eq(hs_quantity__share(percent, 80), 10);
    ck_assert(hs_quantity__percent("18446744073709551615%", &percent));
    ck_assert_uint_eq(hs_quantity__share(percent, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(hs_quantity__share(percent, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parameters");
    TCase *cases = tcase_create("parameters");
    tcase_add_test(cases, names_and_options_agree);
    tcase_add_test(cases, the_document_has_every_parameter_and_word);
    tcase_add_test(cases, the_document_invents_nothing);
    tcase_add_test(cases, every_parameter_refuses);
    tcase_add_test(cases, a_value_of_others_is_not_shown_as_it_is);
    tcase_add_test(cases, twice_is_wrong_but_for_options);
    tcase_add_test(cases, text_is_in_order_and_escaped);
    tcase_add_test(cases, contradictions);
    tcase_add_test(cases, intervals);
    tcase_add_test(cases, shares_are_rounded_down_and_do_not_overflow);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
