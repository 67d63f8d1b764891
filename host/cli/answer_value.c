// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/answer_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 8000, IN_BLOCK = 4096 };

struct hs_answer_values {
    struct hs_answer_values *before;
    size_t count;
    struct hs_answer_value value[IN_BLOCK];
};

struct answer_reading {
    struct hs_answer_values *values;
    char *at;
    unsigned depth;
    int failed;
};

static struct hs_answer_value *make(struct answer_reading *reading)
{
    struct hs_answer_values *block = reading->values;
    if (!block || block->count == IN_BLOCK) {
        block = malloc(sizeof(*block));
        if (!block) {
            reading->failed = -ENOMEM;
            return NULL;
        }
        block->before = reading->values;
        block->count = 0;
        reading->values = block;
    }
    struct hs_answer_value *value = &block->value[block->count++];
    *value = (struct hs_answer_value){0};
    return value;
}

static char peek(struct answer_reading *reading)
{
    while (*reading->at && strchr(" \t\r\n", *reading->at))
        reading->at++;
    return *reading->at;
}

static unsigned read_hexadecimal(const char *text)
{
    unsigned number = 0;
    for (unsigned i = 0; i < 4 && isxdigit((unsigned char)text[i]); i++)
        number = number * 16 + (unsigned)(isdigit((unsigned char)text[i]) ? text[i] - '0' : (text[i] | 32) - 'a' + 10);
    return number;
}

// The characters that a writer of JSON has to escape are below 0x80; others come as they are.
static char unescape(char **from)
{
    static const char signs[] = "nrtbf", meant[] = "\n\r\t\b\f";
    const char sign = *(*from)++;
    const char *known = sign ? strchr(signs, sign) : NULL;
    if (sign != 'u')
        return known ? meant[known - signs] : sign;
    const unsigned number = read_hexadecimal(*from);
    for (unsigned i = 0; i < 4 && isxdigit((unsigned char)**from); i++)
        ++*from;
    return number && number < 0x80 ? (char)number : '?';
}

static const char *read_string(struct answer_reading *reading)
{
    char *text = ++reading->at, *to = text, *from = text;
    while (*from && *from != '"') {
        char sign = *from++;
        if (sign == '\\')
            sign = unescape(&from);
        *to++ = sign;
    }
    if (!*from)
        reading->failed = -EINVAL;
    else
        from++;
    *to = 0;
    reading->at = from;
    return text;
}

static struct hs_answer_value *read_value(struct answer_reading *reading);

static void read_members(struct answer_reading *reading, struct hs_answer_value *value, char end)
{
    struct hs_answer_value **to = &value->first;
    reading->at++;
    while (!reading->failed && peek(reading) && *reading->at != end) {
        const char *name = NULL;
        if (end == '}') {
            name = *reading->at == '"' ? read_string(reading) : NULL;
            if (!name || peek(reading) != ':') {
                reading->failed = -EINVAL;
                return;
            }
            reading->at++;
        }
        struct hs_answer_value *member = read_value(reading);
        if (!member)
            return;
        member->name = name;
        *to = member;
        to = &member->next;
        value->count++;
        if (peek(reading) == ',')
            *reading->at++ = 0; // the end of a word before it
        else if (*reading->at != end)
            reading->failed = -EINVAL;
    }
    if (*reading->at == end)
        *reading->at++ = 0;
    else
        reading->failed = -EINVAL;
}

static struct hs_answer_value *read_value(struct answer_reading *reading)
{
    const char sign = peek(reading);
    struct hs_answer_value *value = sign && reading->depth < DEEPEST ? make(reading) : NULL;
    if (!value) {
        reading->failed = reading->failed ? reading->failed : -EINVAL;
        return NULL;
    }
    reading->depth++;
    if (sign == '{' || sign == '[') {
        value->kind = sign == '{' ? HS_ANSWER_OBJECT : HS_ANSWER_ARRAY;
        read_members(reading, value, sign == '{' ? '}' : ']');
    } else if (sign == '"') {
        value->kind = HS_ANSWER_STRING;
        value->text = read_string(reading);
    } else {
        value->text = reading->at;
        reading->at += strcspn(reading->at, ",]} \t\r\n");
        if (value->text == reading->at)
            reading->failed = -EINVAL;
    }
    reading->depth--;
    return reading->failed ? NULL : value;
}

int hs_answer_values__read(struct hs_answer_values **values, char *text, struct hs_answer_value **value)
{
    struct answer_reading reading = {.at = text};
    *value = read_value(&reading);
    if (!reading.failed && peek(&reading))
        reading.failed = -EINVAL;
    *values = reading.values;
    return reading.failed;
}

void hs_answer_values__free(struct hs_answer_values *values)
{
    while (values) {
        struct hs_answer_values *before = values->before;
        free(values);
        values = before;
    }
}

const struct hs_answer_value *hs_answer_value__member(const struct hs_answer_value *value, const char *name)
{
    const struct hs_answer_value *member = value->kind == HS_ANSWER_OBJECT ? value->first : NULL;
    while (member && strcmp(member->name, name) != 0)
        member = member->next;
    return member;
}
