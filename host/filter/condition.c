// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/condition.h"

#include "host/filter/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MOST 256
#define WORD_MOST  1024

enum node_kind { NODE_OR, NODE_AND, NODE_NOT, NODE_COMPARISON };
enum relation { ABOVE, AT_LEAST, BELOW, AT_MOST, EQUAL, UNEQUAL };

struct side {
    bool is_total;
    enum hs_condition_total total;
    struct hs_filter_parameters filter;
    char number[32]; // as it was given, until the other side says what it is
    uint64_t value;
};

struct node {
    enum node_kind kind;
    int left, right; // of AND, OR; NOT: left
    enum relation relation;
    struct side side[2];
    size_t first, end; // of the text
    bool holds;
};

struct hs_condition {
    char *text;
    struct node node[NODES_MOST];
    int count, root;
};

struct parser {
    struct hs_condition *condition;
    const char *at;
    unsigned depth;
    struct hs_error *error;
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

// ---- words ---------------------------------------------------------------------------------------------------------

static int complain(struct parser *parser, const char *what)
{
    return hs_error__set(parser->error, EINVAL, "at position %zu: %s",
                         (size_t)(parser->at - parser->condition->text) + 1, what);
}

static void skip_spaces(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool take_sign(struct parser *parser, const char *sign)
{
    skip_spaces(parser);
    size_t length = strlen(sign);
    if (strncmp(parser->at, sign, length) != 0)
        return false;
    parser->at += length;
    return true;
}

static bool is_letter(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '-' || letter == '.' || letter == '%';
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (is_letter(at[length]))
        length++;
    return length;
}

static bool take_keyword(struct parser *parser, const char *keyword)
{
    skip_spaces(parser);
    size_t length = word_length(parser->at);
    if (length != strlen(keyword) || strncmp(parser->at, keyword, length) != 0)
        return false;
    parser->at += length;
    return true;
}

// Letters, digits and what numbers and names have within them.
static int take_word(struct parser *parser, char *word, size_t size, const char *missing)
{
    skip_spaces(parser);
    size_t length = word_length(parser->at);
    if (!length || length >= size)
        return complain(parser, missing);
    memcpy(word, parser->at, length);
    word[length] = '\0';
    parser->at += length;
    return 0;
}

static int take_quoted(struct parser *parser, char *value, size_t size)
{
    char quote = *parser->at++;
    size_t length = 0;
    while (*parser->at && *parser->at != quote) {
        bool escaped = *parser->at == '\\' && (parser->at[1] == quote || parser->at[1] == '\\');
        parser->at += escaped;
        if (length + 1 >= size)
            return complain(parser, "a shorter value is needed");
        value[length++] = *parser->at++;
    }
    value[length] = '\0';
    if (!*parser->at)
        return complain(parser, "the quote that ends the value is missing");
    parser->at++;
    return 0;
}

static int take_value(struct parser *parser, char *value, size_t size)
{
    skip_spaces(parser);
    if (*parser->at == '"' || *parser->at == '\'')
        return take_quoted(parser, value, size);
    size_t length = strcspn(parser->at, " \t\r\n,()\"'");
    if (!length || length >= size)
        return complain(parser, "a value is missing: a word, or any text in quotes");
    memcpy(value, parser->at, length);
    value[length] = '\0';
    parser->at += length;
    return 0;
}

// ---- filters -------------------------------------------------------------------------------------------------------

// What is put before and behind a name for an operator of filters.
static const struct {
    const char *sign, *before, *behind;
} filter_operators[] = {{"=~", "", "_regex"},
                        {"!~", "negative_", "_regex"},
                        {"!=", "negative_", ""},
                        {">=", "", "_min"},
                        {"<=", "", "_max"},
                        {"==", "", ""},
                        {"=", "", ""}};

static int take_parameter(struct parser *parser, struct hs_filter_parameters *filter, const char *parameter,
                          const char *value, const char *start)
{
    struct hs_error error = {.message = ""};
    enum hs_parameter_result result = hs_filter_parameters__take(filter, parameter, value, &error);
    if (result == HS_PARAMETER_TAKEN)
        return 0;
    parser->at = start;
    if (result == HS_PARAMETER_WRONG)
        return complain(parser, error.message);
    return complain(parser, "no such filter; docs/filters.md has them all, such as function=~\"cache\" or size_min=4K");
}

static int take_filter(struct parser *parser, struct hs_filter_parameters *filter)
{
    char name[64], parameter[96], value[WORD_MOST];
    skip_spaces(parser);
    const char *start = parser->at;
    int result = take_word(parser, name, sizeof(name), "the name of a filter is missing");
    if (result)
        return result;
    size_t operators = sizeof(filter_operators) / sizeof(filter_operators[0]), i = 0;
    while (i < operators && !take_sign(parser, filter_operators[i].sign))
        i++;
    if (i == operators)
        return complain(parser, "= or =~ or !~ or != or >= or <= is missing");
    snprintf(parameter, sizeof(parameter), "%s%s%s", filter_operators[i].before, name, filter_operators[i].behind);
    result = take_value(parser, value, sizeof(value));
    return result ? result : take_parameter(parser, filter, parameter, value, start);
}

static int take_filters(struct parser *parser, struct hs_filter_parameters *filter)
{
    if (!take_sign(parser, "(") || take_sign(parser, ")"))
        return 0;
    do {
        int result = take_filter(parser, filter);
        if (result)
            return result;
    } while (take_sign(parser, ","));
    return take_sign(parser, ")") ? 0 : complain(parser, ", or ) is missing");
}

// ---- comparisons ---------------------------------------------------------------------------------------------------

static int find_total(struct parser *parser, struct side *side, const char *word, const char *start)
{
    for (int total = 0; total < HS_CONDITION_TOTAL_COUNT; total++) {
        if (strcmp(word, totals[total].name) != 0)
            continue;
        side->is_total = true;
        side->total = (enum hs_condition_total)total;
        return 0;
    }
    parser->at = start;
    return complain(parser, "no such total; give one of: live_bytes live_count peak_bytes peak_count max_bytes "
                            "allocated_bytes allocated_count temporary_bytes temporary_count freed_bytes freed_count");
}

// The unit of a number, which may stand apart.
static void take_unit(struct parser *parser, char *number, size_t size)
{
    char with_unit[40];
    uint64_t value;
    const char *start = parser->at;
    skip_spaces(parser);
    size_t length = word_length(parser->at);
    int written = snprintf(with_unit, sizeof(with_unit), "%s%.*s", number, (int)length, parser->at);
    if (length && isalpha((unsigned char)*parser->at) && (size_t)written < size &&
        hs_quantity__size(with_unit, &value)) {
        strcpy(number, with_unit);
        parser->at += length;
    } else {
        parser->at = start;
    }
}

static int take_side(struct parser *parser, struct side *side)
{
    char word[32];
    hs_filter_parameters__init(&side->filter, HS_TIME_UNIT_START);
    skip_spaces(parser);
    const char *start = parser->at;
    int result = take_word(parser, word, sizeof(word), "a total such as live_bytes, or a number, is missing");
    if (result)
        return result;
    if (isdigit((unsigned char)*word)) {
        strcpy(side->number, word);
        take_unit(parser, side->number, sizeof(side->number));
        return 0;
    }
    result = find_total(parser, side, word, start);
    return result ? result : take_filters(parser, &side->filter);
}

static int take_relation(struct parser *parser, enum relation *relation)
{
    static const struct {
        const char *sign;
        enum relation relation;
    } signs[] = {{">=", AT_LEAST}, {"<=", AT_MOST}, {"==", EQUAL}, {"!=", UNEQUAL}, {">", ABOVE}, {"<", BELOW}};
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (!take_sign(parser, signs[i].sign))
            continue;
        *relation = signs[i].relation;
        return 0;
    }
    return complain(parser, "> or >= or < or <= or == or != is missing");
}

// A number is what the other side is.
static int read_number(struct parser *parser, struct side *side, const struct side *other)
{
    if (side->is_total)
        return 0;
    if (!other->is_total)
        return complain(parser, "one side has to be a total such as live_bytes");
    if (totals[other->total].is_bytes)
        return hs_quantity__size(side->number, &side->value)
                   ? 0
                   : complain(parser, "the number in front of this is no size such as 4096, 64K or 1.5M");
    return hs_quantity__number(side->number, &side->value)
               ? 0
               : complain(parser, "the number in front of this is no whole number such as 1000");
}

static int add_node(struct parser *parser, enum node_kind kind, int *number)
{
    struct hs_condition *condition = parser->condition;
    if (condition->count == NODES_MOST)
        return complain(parser, "too many parts");
    *number = condition->count++;
    condition->node[*number] = (struct node){.kind = kind, .first = (size_t)(parser->at - condition->text)};
    return 0;
}

static int take_comparison(struct parser *parser, int *number)
{
    skip_spaces(parser);
    int result = add_node(parser, NODE_COMPARISON, number);
    if (result)
        return result;
    struct node *node = &parser->condition->node[*number];
    result = take_side(parser, &node->side[0]);
    if (!result)
        result = take_relation(parser, &node->relation);
    if (!result)
        result = take_side(parser, &node->side[1]);
    if (!result)
        result = read_number(parser, &node->side[0], &node->side[1]);
    if (!result)
        result = read_number(parser, &node->side[1], &node->side[0]);
    if (!result && node->side[0].is_total && node->side[1].is_total &&
        totals[node->side[0].total].is_bytes != totals[node->side[1].total].is_bytes)
        result = complain(parser, "bytes are compared with numbers of blocks");
    node->end = (size_t)(parser->at - parser->condition->text);
    return result;
}

// ---- and, or, not --------------------------------------------------------------------------------------------------

static int take_condition(struct parser *parser, int *number);

static int take_negation(struct parser *parser, int *number);

static int take_factor(struct parser *parser, int *number)
{
    int result;
    if (parser->depth++ >= HS_CONDITION_DEEPEST)
        return complain(parser, "too deep");
    if (take_keyword(parser, "not")) {
        result = take_negation(parser, number);
    } else if (take_sign(parser, "(")) {
        result = take_condition(parser, number);
        if (!result && !take_sign(parser, ")"))
            result = complain(parser, ") is missing");
    } else {
        result = take_comparison(parser, number);
    }
    parser->depth--;
    return result;
}

static int take_negation(struct parser *parser, int *number)
{
    int inner, result = take_factor(parser, &inner);
    if (!result)
        result = add_node(parser, NODE_NOT, number);
    if (!result)
        parser->condition->node[*number].left = inner;
    return result;
}

static int take_list(struct parser *parser, const char *keyword, enum node_kind kind,
                     int (*take)(struct parser *, int *), int *number)
{
    int result = take(parser, number);
    while (!result && take_keyword(parser, keyword)) {
        int left = *number, right;
        result = take(parser, &right);
        if (!result)
            result = add_node(parser, kind, number);
        if (result)
            return result;
        parser->condition->node[*number].left = left;
        parser->condition->node[*number].right = right;
    }
    return result;
}

static int take_term(struct parser *parser, int *number)
{
    return take_list(parser, "and", NODE_AND, take_factor, number);
}

static int take_condition(struct parser *parser, int *number)
{
    return take_list(parser, "or", NODE_OR, take_term, number);
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
    struct parser parser = {.condition = condition, .at = condition->text, .error = error};
    int result = strlen(text) > HS_CONDITION_LONGEST ? complain(&parser, "too long") : 0;
    if (!result)
        result = take_condition(&parser, &condition->root);
    skip_spaces(&parser);
    if (!result && *parser.at)
        result = complain(&parser, "and, or or the end is expected here");
    if (!result)
        return condition;
    hs_condition__free(condition);
    return NULL;
}

void hs_condition__free(struct hs_condition *condition)
{
    if (!condition)
        return;
    for (int i = 0; i < condition->count; i++) {
        hs_filter_parameters__free(&condition->node[i].side[0].filter);
        hs_filter_parameters__free(&condition->node[i].side[1].filter);
    }
    free(condition->text);
    free(condition);
}

// ---- evaluating ----------------------------------------------------------------------------------------------------

static bool compare(const struct node *node)
{
    uint64_t left = node->side[0].value, right = node->side[1].value;
    switch (node->relation) {
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

// Nodes come after those that they are made of.
static void combine(struct hs_condition *condition)
{
    for (int i = 0; i < condition->count; i++) {
        struct node *node = &condition->node[i];
        bool left = condition->node[node->left].holds, right = condition->node[node->right].holds;
        node->holds = node->kind == NODE_COMPARISON ? compare(node)
                      : node->kind == NODE_NOT      ? !left
                      : node->kind == NODE_AND      ? left && right
                                                    : left || right;
    }
}

int hs_condition__evaluate(struct hs_condition *condition, hs_condition_ask ask, void *context, struct hs_error *error)
{
    for (int i = 0; i < condition->count; i++) {
        for (int k = 0; k < 2 && condition->node[i].kind == NODE_COMPARISON; k++) {
            struct side *side = &condition->node[i].side[k];
            int result = side->is_total ? ask(context, side->total, &side->filter, &side->value, error) : 0;
            if (result)
                return result;
        }
    }
    combine(condition);
    return condition->node[condition->root].holds;
}

// What decides a node that is what it is: of OR, the parts that hold; below NOT, the parts that do not.
static size_t find_reasons(const struct hs_condition *condition, int number, struct hs_comparison *reasons, size_t most,
                           size_t count)
{
    const struct node *node = &condition->node[number];
    if (node->kind == NODE_COMPARISON) {
        const struct side *side = node->side[0].is_total ? &node->side[0] : &node->side[1];
        if (count < most)
            reasons[count++] = (struct hs_comparison){.text = condition->text + node->first,
                                                      .length = node->end - node->first,
                                                      .holds = node->holds,
                                                      .is_bytes = totals[side->total].is_bytes,
                                                      .left = node->side[0].value,
                                                      .right = node->side[1].value};
        return count;
    }
    if (node->kind == NODE_NOT)
        return find_reasons(condition, node->left, reasons, most, count);
    if (condition->node[node->left].holds == node->holds)
        count = find_reasons(condition, node->left, reasons, most, count);
    if (condition->node[node->right].holds == node->holds)
        count = find_reasons(condition, node->right, reasons, most, count);
    return count;
}

size_t hs_condition__reasons(const struct hs_condition *condition, struct hs_comparison *reasons, size_t most)
{
    return find_reasons(condition, condition->root, reasons, most, 0);
}
