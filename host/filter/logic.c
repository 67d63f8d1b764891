// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/filter/logic.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

// ---- words ---------------------------------------------------------------------------------------------------------

int hs_reader__complain(struct hs_reader *reader, const char *what)
{
    return hs_error__set(reader->error, EINVAL, "at position %zu: %s", (size_t)(reader->at - reader->text) + 1, what);
}

void hs_reader__skip_spaces(struct hs_reader *reader)
{
    while (isspace((unsigned char)*reader->at))
        reader->at++;
}

bool hs_reader__take_sign(struct hs_reader *reader, const char *sign)
{
    hs_reader__skip_spaces(reader);
    size_t length = strlen(sign);
    if (strncmp(reader->at, sign, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool is_letter(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '-' || letter == '.' || letter == '%';
}

size_t hs_reader__word_length(const char *at)
{
    size_t length = 0;
    while (is_letter(at[length]))
        length++;
    return length;
}

// In capital or small letters.
static bool take_keyword(struct hs_reader *reader, const char *keyword)
{
    hs_reader__skip_spaces(reader);
    size_t length = hs_reader__word_length(reader->at);
    if (length != strlen(keyword) || strncasecmp(reader->at, keyword, length) != 0)
        return false;
    reader->at += length;
    return true;
}

int hs_reader__take_word(struct hs_reader *reader, char *word, size_t size, const char *missing)
{
    hs_reader__skip_spaces(reader);
    size_t length = hs_reader__word_length(reader->at);
    if (!length || length >= size)
        return hs_reader__complain(reader, missing);
    memcpy(word, reader->at, length);
    word[length] = '\0';
    reader->at += length;
    return 0;
}

static int take_quoted(struct hs_reader *reader, char *value, size_t size)
{
    char quote = *reader->at++;
    size_t length = 0;
    while (*reader->at && *reader->at != quote) {
        bool escaped = *reader->at == '\\' && (reader->at[1] == quote || reader->at[1] == '\\');
        reader->at += escaped;
        if (length + 1 >= size)
            return hs_reader__complain(reader, "a shorter value is needed");
        value[length++] = *reader->at++;
    }
    value[length] = '\0';
    if (!*reader->at)
        return hs_reader__complain(reader, "the quote that ends the value is missing");
    reader->at++;
    return 0;
}

int hs_reader__take_value(struct hs_reader *reader, char *value, size_t size)
{
    hs_reader__skip_spaces(reader);
    if (*reader->at == '"' || *reader->at == '\'')
        return take_quoted(reader, value, size);
    size_t length = strcspn(reader->at, " \t\r\n,()\"'");
    if (!length || length >= size)
        return hs_reader__complain(reader, "a value is missing: a word, or any text in quotes");
    memcpy(value, reader->at, length);
    value[length] = '\0';
    reader->at += length;
    return 0;
}

// ---- and, or, not --------------------------------------------------------------------------------------------------

struct logic_reading {
    struct hs_logic *logic;
    struct hs_reader *reader;
    hs_logic_taker take;
    void *context;
};

static int add_node(struct logic_reading *reading, struct hs_logic_node node, uint32_t *number)
{
    if (reading->logic->count == HS_LOGIC_NODES)
        return hs_reader__complain(reading->reader, "too many parts");
    *number = reading->logic->count++;
    reading->logic->node[*number] = node;
    return 0;
}

static int take_part(struct logic_reading *reading, uint32_t *number)
{
    struct hs_logic_node node = {.join = HS_LOGIC_PART};
    if (reading->logic->count == HS_LOGIC_NODES)
        return hs_reader__complain(reading->reader, "too many parts");
    int result = reading->take(reading->context, reading->reader, &node.left);
    return result ? result : add_node(reading, node, number);
}

static int take_logic(struct logic_reading *reading, uint32_t *number);

static int take_factor(struct logic_reading *reading, uint32_t *number);

static int take_negation(struct logic_reading *reading, uint32_t *number)
{
    struct hs_logic_node node = {.join = HS_LOGIC_NOT};
    int result = take_factor(reading, &node.left);
    return result ? result : add_node(reading, node, number);
}

static int take_factor(struct logic_reading *reading, uint32_t *number)
{
    int result;
    if (reading->reader->depth++ >= HS_READER_DEEPEST)
        return hs_reader__complain(reading->reader, "too deep");
    if (take_keyword(reading->reader, "not")) {
        result = take_negation(reading, number);
    } else if (hs_reader__take_sign(reading->reader, "(")) {
        result = take_logic(reading, number);
        if (!result && !hs_reader__take_sign(reading->reader, ")"))
            result = hs_reader__complain(reading->reader, ") is missing");
    } else {
        result = take_part(reading, number);
    }
    reading->reader->depth--;
    return result;
}

static int take_list(struct logic_reading *reading, const char *keyword, enum hs_logic_join join,
                     int (*take)(struct logic_reading *, uint32_t *), uint32_t *number)
{
    int result = take(reading, number);
    while (!result && take_keyword(reading->reader, keyword)) {
        struct hs_logic_node node = {.join = join, .left = *number};
        result = take(reading, &node.right);
        if (!result)
            result = add_node(reading, node, number);
    }
    return result;
}

static int take_term(struct logic_reading *reading, uint32_t *number)
{
    return take_list(reading, "and", HS_LOGIC_AND, take_factor, number);
}

static int take_logic(struct logic_reading *reading, uint32_t *number)
{
    return take_list(reading, "or", HS_LOGIC_OR, take_term, number);
}

int hs_logic__read(struct hs_logic *logic, struct hs_reader *reader, hs_logic_taker take, void *context)
{
    struct logic_reading reading = {logic, reader, take, context};
    uint32_t root;
    logic->count = 0;
    return take_logic(&reading, &root);
}
