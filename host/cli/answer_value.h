// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A JSON text of our own as values.
#ifndef HEAPSONDE_HOST_CLI_ANSWER_VALUE_H
#define HEAPSONDE_HOST_CLI_ANSWER_VALUE_H

#include <stdbool.h>
#include <stddef.h>

enum hs_answer_kind {
    HS_ANSWER_WORD,
    HS_ANSWER_STRING,
    HS_ANSWER_ARRAY,
    HS_ANSWER_OBJECT
}; // word: a number, true, null

struct hs_answer_value {
    enum hs_answer_kind kind;
    const char *name; // of a member
    const char *text; // of a word or a string, ended by a NUL
    struct hs_answer_value *first, *next;
    size_t count; // members or elements
};

struct hs_answer_values; // owns all values

// Changes the text, which has to stay and to end in a NUL. 0, -EINVAL where it is not JSON, or -ENOMEM.
int hs_answer_values__read(struct hs_answer_values **values, char *text, struct hs_answer_value **value);
void hs_answer_values__free(struct hs_answer_values *values);

const struct hs_answer_value *hs_answer_value__member(const struct hs_answer_value *value, const char *name);

#endif
