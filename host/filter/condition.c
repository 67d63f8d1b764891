// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/condition.h"

#include "host/filter/expression.h"
#include "host/filter/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum relation { ABOVE, AT_LEAST, BELOW, AT_MOST, EQUAL, UNEQUAL };

struct condition_side {
    bool is_total;
    enum hs_condition_total total;
    struct hs_filter_parameters filter;
    char words[128]; // of findings
    char number[32]; // as it was given, until the other side says what it is
    uint64_t value;
};

struct comparison {
    enum relation relation;
    struct condition_side side[2];
    size_t first, end; // of the text
};

struct hs_condition {
    char *text;
    struct hs_logic logic;
    bool holds[HS_LOGIC_NODES]; // by node
    struct comparison comparison[HS_LOGIC_NODES];
    uint32_t count;
};

static const struct {
    const char *name;
    bool is_bytes;
} totals[HS_CONDITION_TOTAL_COUNT] = {
#define ENTRY(id, name, is_bytes, help) {name, is_bytes},
    HS_CONDITION_TOTALS(ENTRY)
#undef ENTRY
};

const char *hs_condition_total__name(enum hs_condition_total total)
{
    return totals[total].name;
}

bool hs_condition_total__is_bytes(enum hs_condition_total total)
{
    return totals[total].is_bytes;
}

// ---- filters -------------------------------------------------------------------------------------------------------

// One list of filters is taken as parameters, what is joined by more than commas as the parameter `where`.
static int use_expression(struct hs_reader *reader, struct hs_filter_parameters *filter,
                          struct hs_expression *expression, const char *start)
{
    struct hs_error error = {.message = ""};
    if (expression->logic.count == 1)
        return hs_filter_parameters__add(filter, &expression->part[0], reader->error);
    char *text = strndup(start, (size_t)(reader->at - start));
    if (!text)
        return hs_error__set(reader->error, ENOMEM, "out of memory");
    int result = hs_filter_parameters__take(filter, "where", text, &error) == HS_PARAMETER_TAKEN
                     ? 0
                     : hs_reader__complain(reader, error.message);
    free(text);
    return result;
}

static int take_filters(struct hs_reader *reader, struct hs_filter_parameters *filter)
{
    if (!hs_reader__take_sign(reader, "(") || hs_reader__take_sign(reader, ")"))
        return 0;
    const char *start = reader->at;
    struct hs_expression *expression = hs_expression__read(reader);
    if (!expression)
        return -EINVAL;
    int result = use_expression(reader, filter, expression, start);
    hs_expression__destroy(expression);
    if (result || hs_reader__take_sign(reader, ")"))
        return result;
    return hs_reader__complain(reader, ", or ) is missing");
}

// ---- comparisons ---------------------------------------------------------------------------------------------------

static int find_total(struct hs_reader *reader, struct condition_side *side, const char *word, const char *start)
{
    for (int total = 0; total < HS_CONDITION_TOTAL_COUNT; total++) {
        if (strcmp(word, totals[total].name) != 0)
            continue;
        side->is_total = true;
        side->total = (enum hs_condition_total)total;
        return 0;
    }
    reader->at = start;
    if (*word == '-' && isdigit((unsigned char)word[1]))
        return hs_reader__complain(reader, "a total is never negative; give a number without a sign");
    return hs_reader__complain(
        reader, "no such total; give one of: live_bytes live_count peak_bytes peak_count max_bytes "
                "allocated_bytes allocated_count temporary_bytes temporary_count freed_bytes freed_count "
                "grown_bytes grown_count shrunk_bytes shrunk_count findings");
}

static bool is_keyword(const char *word, size_t length)
{
    return (length == 3 && !strncasecmp(word, "and", 3)) || (length == 2 && !strncasecmp(word, "or", 2));
}

// The unit of a number, which may stand apart.
static int take_unit(struct hs_reader *reader, char *number, size_t size)
{
    char with_unit[40];
    uint64_t value;
    const char *start = reader->at;
    hs_reader__skip_spaces(reader);
    size_t length = hs_reader__word_length(reader->at);
    int written = snprintf(with_unit, sizeof(with_unit), "%s%.*s", number, (int)length, reader->at);
    if (length && isalpha((unsigned char)*reader->at) && (size_t)written < size &&
        hs_quantity__size(with_unit, &value)) {
        strcpy(number, with_unit);
        reader->at += length;
        return 0;
    }
    if (length && isalpha((unsigned char)*reader->at) && !is_keyword(reader->at, length))
        return hs_reader__complain(reader, "no such unit; give K, M or G");
    reader->at = start;
    return 0;
}

// What is in the parentheses of `findings`, with commas and without spaces.
static int take_words(struct hs_reader *reader, char *words, size_t size)
{
    char word[32];
    size_t used = 0;
    if (!hs_reader__take_sign(reader, "(") || hs_reader__take_sign(reader, ")"))
        return 0;
    do {
        hs_reader__skip_spaces(reader);
        const int result = hs_reader__take_word(reader, word, sizeof(word), "a kind of finding is missing");
        if (result)
            return result;
        if (used + strlen(word) + 2 > size)
            return hs_reader__complain(reader, "too many kinds of findings");
        used += (size_t)snprintf(words + used, size - used, "%s%s", used ? "," : "", word);
    } while (hs_reader__take_sign(reader, ","));
    return hs_reader__take_sign(reader, ")") ? 0 : hs_reader__complain(reader, ", or ) is missing");
}

static int take_side(struct hs_reader *reader, struct condition_side *side)
{
    char word[32];
    hs_filter_parameters__init(&side->filter, HS_TIME_UNIT_START);
    hs_reader__skip_spaces(reader);
    const char *start = reader->at;
    int result =
        hs_reader__take_word(reader, word, sizeof(word), "a total such as live_bytes, or a number, is missing");
    if (result)
        return result;
    if (isdigit((unsigned char)*word)) {
        strcpy(side->number, word);
        return take_unit(reader, side->number, sizeof(side->number));
    }
    result = find_total(reader, side, word, start);
    if (!result && side->total == HS_CONDITION_FINDINGS)
        return take_words(reader, side->words, sizeof(side->words));
    return result ? result : take_filters(reader, &side->filter);
}

static int take_relation(struct hs_reader *reader, enum relation *relation)
{
    static const struct {
        const char *sign;
        enum relation relation;
    } signs[] = {{">=", AT_LEAST}, {"<=", AT_MOST}, {"==", EQUAL}, {"!=", UNEQUAL}, {">", ABOVE}, {"<", BELOW}};
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (!hs_reader__take_sign(reader, signs[i].sign))
            continue;
        *relation = signs[i].relation;
        return 0;
    }
    return hs_reader__complain(reader, "> or >= or < or <= or == or != is missing");
}

// A number is what the other side is.
static int read_number(struct hs_reader *reader, struct condition_side *side, const struct condition_side *other)
{
    if (side->is_total)
        return 0;
    if (!other->is_total)
        return hs_reader__complain(reader, "one side has to be a total such as live_bytes");
    if (totals[other->total].is_bytes)
        return hs_quantity__size(side->number, &side->value)
                   ? 0
                   : hs_reader__complain(reader, "the number in front of this is not a size such as 4096, 64K or 1.5M");
    return hs_quantity__number(side->number, &side->value)
               ? 0
               : hs_reader__complain(reader, "the number in front of this is not a whole number such as 1000");
}

static int take_comparison(void *context, struct hs_reader *reader, uint32_t *number)
{
    struct hs_condition *condition = context;
    hs_reader__skip_spaces(reader);
    *number = condition->count++;
    struct comparison *comparison = &condition->comparison[*number];
    comparison->first = (size_t)(reader->at - reader->text);
    int result = take_side(reader, &comparison->side[0]);
    if (!result)
        result = take_relation(reader, &comparison->relation);
    if (!result)
        result = take_side(reader, &comparison->side[1]);
    if (!result)
        result = read_number(reader, &comparison->side[0], &comparison->side[1]);
    if (!result)
        result = read_number(reader, &comparison->side[1], &comparison->side[0]);
    if (!result && comparison->side[0].is_total && comparison->side[1].is_total &&
        totals[comparison->side[0].total].is_bytes != totals[comparison->side[1].total].is_bytes)
        result = hs_reader__complain(reader, "bytes are compared with numbers of blocks");
    comparison->end = (size_t)(reader->at - reader->text);
    return result;
}

struct hs_condition *hs_condition__parse(const char *text, struct hs_error *error)
{
    struct hs_condition *condition = calloc(1, sizeof(*condition));
    if (condition)
        condition->text = strdup(text);
    if (!condition || !condition->text) {
        hs_condition__free(condition);
        hs_error__set(error, ENOMEM, "out of memory");
        return NULL;
    }
    struct hs_reader reader = {.text = condition->text, .at = condition->text, .error = error};
    int result = strlen(text) > HS_READER_LONGEST ? hs_reader__complain(&reader, "too long") : 0;
    if (!result)
        result = hs_logic__read(&condition->logic, &reader, take_comparison, condition);
    hs_reader__skip_spaces(&reader);
    if (!result && *reader.at)
        result = hs_reader__complain(&reader, "and, or or the end is expected here");
    if (!result)
        return condition;
    hs_condition__free(condition);
    return NULL;
}

void hs_condition__free(struct hs_condition *condition)
{
    if (!condition)
        return;
    for (uint32_t i = 0; i < condition->count; i++) {
        hs_filter_parameters__free(&condition->comparison[i].side[0].filter);
        hs_filter_parameters__free(&condition->comparison[i].side[1].filter);
    }
    free(condition->text);
    free(condition);
}

// ---- evaluating ----------------------------------------------------------------------------------------------------

static bool compare(const struct comparison *comparison)
{
    uint64_t left = comparison->side[0].value, right = comparison->side[1].value;
    switch (comparison->relation) {
    case ABOVE:
        return left > right;
    case AT_LEAST:
        return left >= right;
    case BELOW:
        return left < right;
    case AT_MOST:
        return left <= right;
    case EQUAL:
        return left == right;
    default:
        return left != right;
    }
}

static void combine(struct hs_condition *condition)
{
    for (uint32_t i = 0; i < condition->logic.count; i++) {
        const struct hs_logic_node *node = &condition->logic.node[i];
        const bool *holds = condition->holds;
        condition->holds[i] = node->join == HS_LOGIC_PART  ? compare(&condition->comparison[node->left])
                              : node->join == HS_LOGIC_NOT ? !holds[node->left]
                              : node->join == HS_LOGIC_AND ? holds[node->left] && holds[node->right]
                                                           : holds[node->left] || holds[node->right];
    }
}

int hs_condition__evaluate(struct hs_condition *condition, hs_condition_ask ask, void *context, struct hs_error *error)
{
    for (uint32_t i = 0; i < condition->count; i++) {
        for (int k = 0; k < 2; k++) {
            struct condition_side *side = &condition->comparison[i].side[k];
            int result =
                side->is_total ? ask(context, side->total, &side->filter, side->words, &side->value, error) : 0;
            if (result)
                return result;
        }
    }
    combine(condition);
    return condition->holds[condition->logic.count - 1];
}

const char *hs_condition__findings(const struct hs_condition *condition, size_t n)
{
    for (uint32_t i = 0; i < 2 * condition->count; i++) {
        const struct condition_side *side = &condition->comparison[i / 2].side[i % 2];
        if (side->is_total && side->total == HS_CONDITION_FINDINGS && !n--)
            return side->words;
    }
    return NULL;
}

// The parts that decide the result of a node: of OR, those that hold; below NOT, those that do not.
static size_t find_reasons(const struct hs_condition *condition, uint32_t number, struct hs_comparison *reasons,
                           size_t most, size_t count)
{
    const struct hs_logic_node *node = &condition->logic.node[number];
    const bool holds = condition->holds[number];
    if (node->join == HS_LOGIC_PART) {
        const struct comparison *comparison = &condition->comparison[node->left];
        const struct condition_side *side = comparison->side[0].is_total ? &comparison->side[0] : &comparison->side[1];
        if (count < most)
            reasons[count++] = (struct hs_comparison){.text = condition->text + comparison->first,
                                                      .length = comparison->end - comparison->first,
                                                      .holds = holds,
                                                      .is_bytes = totals[side->total].is_bytes,
                                                      .left = comparison->side[0].value,
                                                      .right = comparison->side[1].value};
        return count;
    }
    if (node->join == HS_LOGIC_NOT)
        return find_reasons(condition, node->left, reasons, most, count);
    if (condition->holds[node->left] == holds)
        count = find_reasons(condition, node->left, reasons, most, count);
    if (condition->holds[node->right] == holds)
        count = find_reasons(condition, node->right, reasons, most, count);
    return count;
}

size_t hs_condition__reasons(const struct hs_condition *condition, struct hs_comparison *reasons, size_t most)
{
    return find_reasons(condition, condition->logic.count - 1, reasons, most, 0);
}
