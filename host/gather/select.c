// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/select.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_LIMIT = 100000, DEPTH_LIMIT = 1000, HEAP_LIMIT = 1024 };

enum select_kind { OR, AND, NOT, COMPARE };

struct hs_select {
    enum select_kind kind;
    bool negative;           // != and !~
    struct hs_select *left;  // OR, AND, NOT
    struct hs_select *right; // OR, AND
    char *key, *value;
    pcre2_code *pattern; // =~ and !~
};

struct parser {
    const char *text, *at;
    unsigned depth;
    bool failed;
    struct hs_error *error;
};

static struct hs_select *parse_or(struct parser *parser);

void hs_select__free(struct hs_select *select)
{
    if (!select)
        return;
    hs_select__free(select->left);
    hs_select__free(select->right);
    pcre2_code_free(select->pattern);
    free(select->key);
    free(select->value);
    free(select);
}

// ---- parsing --------------------------------------------------------------------------------------------------------

static void fail(struct parser *parser, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(struct parser *parser, const char *place, const char *format, ...)
{
    char reason[512];
    va_list list;
    if (parser->failed)
        return;
    va_start(list, format);
    vsnprintf(reason, sizeof(reason), format, list);
    va_end(list);
    parser->failed = true;
    hs_error__set(parser->error, EINVAL, "--select, at character %zu: %s", (size_t)(place - parser->text) + 1, reason);
}

static struct hs_select *make(struct parser *parser, enum select_kind kind, struct hs_select *left,
                              struct hs_select *right)
{
    struct hs_select *node = calloc(1, sizeof(*node));
    if (!node) {
        fail(parser, parser->at, "out of memory");
        hs_select__free(left);
        hs_select__free(right);
        return NULL;
    }
    node->kind = kind;
    node->left = left;
    node->right = right;
    return node;
}

static void skip_spaces(struct parser *parser)
{
    parser->at += strspn(parser->at, " \t\n");
}

static size_t word_length(const char *at)
{
    return strcspn(at, " \t\n()'\"=!~");
}

// A word of the language, and not the beginning of a longer one.
static bool take_word(struct parser *parser, const char *word)
{
    skip_spaces(parser);
    size_t length = strlen(word);
    if (word_length(parser->at) != length || strncmp(parser->at, word, length))
        return false;
    parser->at += length;
    return true;
}

static bool is_key(const char *key)
{
    static const char *const keys[] = {"name", "device", "pid", "address"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (!strcmp(key, keys[i]))
            return true;
    return !strncmp(key, "labels.", 7) && key[7];
}

static void parse_key(struct parser *parser, struct hs_select *node)
{
    skip_spaces(parser);
    const char *place = parser->at;
    size_t length = word_length(place);
    if (!length) {
        fail(parser, place,
             *place ? "'%.1s' is not a key; keys are name, device, pid, address and labels.WORD"
                    : "a comparison is missing%.0s",
             place);
        return;
    }
    node->key = strndup(place, length);
    if (node->key && !is_key(node->key))
        fail(parser, place, "there is no key '%.64s'; keys are name, device, pid, address and labels.WORD", node->key);
    parser->at += length;
}

// True for =~ and !~.
static bool parse_operator(struct parser *parser, struct hs_select *node)
{
    skip_spaces(parser);
    const char *at = parser->at;
    bool known = (at[0] == '=' || at[0] == '!') && (at[1] == '=' || at[1] == '~');
    if (!known) {
        fail(parser, at, "one of == != =~ !~ has to follow a key");
        return false;
    }
    node->negative = at[0] == '!';
    parser->at += 2;
    return at[1] == '~';
}

static char *parse_quoted(struct parser *parser)
{
    const char *place = parser->at;
    char quote = *parser->at++;
    char *value = malloc(strlen(parser->at) + 1);
    size_t length = 0;
    while (value && *parser->at && *parser->at != quote) {
        // A backslash before anything else belongs to the value: regular expressions are full of them.
        if (*parser->at == '\\' && (parser->at[1] == quote || parser->at[1] == '\\'))
            parser->at++;
        value[length++] = *parser->at++;
    }
    if (value)
        value[length] = 0;
    if (*parser->at == quote)
        parser->at++;
    else
        fail(parser, place, "the closing %c is missing", quote);
    return value;
}

static void parse_value(struct parser *parser, struct hs_select *node)
{
    skip_spaces(parser);
    if (*parser->at == '"' || *parser->at == '\'') {
        node->value = parse_quoted(parser);
        return;
    }
    size_t length = strcspn(parser->at, " \t\n()'\"");
    if (!length) {
        fail(parser, parser->at, "a value has to follow the operator");
        return;
    }
    node->value = strndup(parser->at, length);
    parser->at += length;
}

static void compile(struct parser *parser, struct hs_select *node, const char *place)
{
    int code;
    PCRE2_SIZE offset;
    if (!node->value)
        return;
    node->pattern =
        pcre2_compile((PCRE2_SPTR)node->value, PCRE2_ZERO_TERMINATED, PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
    if (node->pattern)
        return;
    PCRE2_UCHAR reason[128];
    pcre2_get_error_message(code, reason, sizeof(reason));
    fail(parser, place, "the regular expression '%.128s' is wrong: %s", node->value, (const char *)reason);
}

static struct hs_select *parse_comparison(struct parser *parser)
{
    struct hs_select *node = make(parser, COMPARE, NULL, NULL);
    if (!node)
        return NULL;
    parse_key(parser, node);
    bool pattern = !parser->failed && parse_operator(parser, node);
    skip_spaces(parser);
    const char *place = parser->at;
    if (!parser->failed)
        parse_value(parser, node);
    if (!parser->failed && pattern)
        compile(parser, node, place);
    if (!parser->failed && (!node->key || !node->value))
        fail(parser, place, "out of memory");
    return node;
}

static struct hs_select *parse_group(struct parser *parser)
{
    const char *place = parser->at++;
    struct hs_select *node = parse_or(parser);
    skip_spaces(parser);
    if (*parser->at == ')')
        parser->at++;
    else
        fail(parser, place, "the closing ) is missing");
    return node;
}

static struct hs_select *parse_factor(struct parser *parser)
{
    struct hs_select *node = NULL;
    if (++parser->depth > HS_SELECT_DEEPEST)
        fail(parser, parser->at, "too deep");
    skip_spaces(parser);
    if (parser->failed)
        node = NULL;
    else if (take_word(parser, "not"))
        node = make(parser, NOT, parse_factor(parser), NULL);
    else
        node = *parser->at == '(' ? parse_group(parser) : parse_comparison(parser);
    parser->depth--;
    return node;
}

static struct hs_select *parse_and(struct parser *parser)
{
    struct hs_select *node = parse_factor(parser);
    while (!parser->failed && take_word(parser, "and"))
        node = make(parser, AND, node, parse_factor(parser));
    return node;
}

static struct hs_select *parse_or(struct parser *parser)
{
    struct hs_select *node = parse_and(parser);
    while (!parser->failed && take_word(parser, "or"))
        node = make(parser, OR, node, parse_and(parser));
    return node;
}

struct hs_select *hs_select__parse(const char *text, struct hs_error *error)
{
    struct parser parser = {.text = text, .at = text, .error = error};
    if (strlen(text) > HS_SELECT_LONGEST) {
        hs_error__set(error, EINVAL, "--select: longer than %d bytes", HS_SELECT_LONGEST);
        return NULL;
    }
    struct hs_select *select = parse_or(&parser);
    skip_spaces(&parser);
    if (*parser.at)
        fail(&parser, parser.at, "unexpected '%.20s'; put 'and' or 'or' between comparisons", parser.at);
    if (!parser.failed)
        return select;
    hs_select__free(select);
    return NULL;
}

// ---- matching -------------------------------------------------------------------------------------------------------

struct select_text {
    const char *data;
    size_t length;
};

static struct select_text find_label(const char *labels, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = labels; at && *at;) {
        size_t whole = strcspn(at, ",");
        if (whole > length && at[length] == '=' && !strncmp(at, key, length))
            return (struct select_text){at + length + 1, whole - length - 1};
        at += whole + (at[whole] == ',');
    }
    return (struct select_text){"", 0};
}

static struct select_text value_of(const struct hs_select_subject *subject, const char *key)
{
    const char *value = NULL;
    if (!strncmp(key, "labels.", 7))
        return find_label(subject->labels, key + 7);
    if (!strcmp(key, "name"))
        value = subject->name;
    else if (!strcmp(key, "device"))
        value = subject->device;
    else if (!strcmp(key, "pid"))
        value = subject->pid;
    else
        value = subject->address;
    value = value ? value : "";
    return (struct select_text){value, strlen(value)};
}

static bool matches_pattern(const struct hs_select *node, struct select_text value)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    int result = PCRE2_ERROR_NOMEMORY;
    if (data && context) {
        pcre2_set_match_limit(context, MATCH_LIMIT);
        pcre2_set_depth_limit(context, DEPTH_LIMIT);
        pcre2_set_heap_limit(context, HEAP_LIMIT);
        result = pcre2_match(node->pattern, (PCRE2_SPTR)value.data, value.length, 0, 0, data, context);
    }
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    return result >= 0;
}

static bool compare(const struct hs_select *node, const struct hs_select_subject *subject)
{
    struct select_text value = value_of(subject, node->key);
    bool equal = node->pattern ? matches_pattern(node, value)
                               : value.length == strlen(node->value) && !memcmp(value.data, node->value, value.length);
    return equal != node->negative;
}

bool hs_select__matches(const struct hs_select *select, const struct hs_select_subject *subject)
{
    if (!select)
        return true;
    switch (select->kind) {
    case OR:
        return hs_select__matches(select->left, subject) || hs_select__matches(select->right, subject);
    case AND:
        return hs_select__matches(select->left, subject) && hs_select__matches(select->right, subject);
    case NOT:
        return !hs_select__matches(select->left, subject);
    default:
        return compare(select, subject);
    }
}
