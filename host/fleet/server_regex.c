// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/server_regex.h"

#include "host/base/text_stream.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct translation {
    FILE *out;
    const char *at;
    bool in_class;
};

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

// With PCRE2's Unicode properties these are more than ASCII's. NULL: it is the same in both.
static const char *class_of(char letter, bool in_class)
{
    switch (letter) {
    case 'w':
        return in_class ? "\\p{L}\\p{N}_" : "[\\p{L}\\p{N}_]";
    case 'W':
        return in_class ? NULL : "[^\\p{L}\\p{N}_]";
    case 'd':
        return "\\p{Nd}";
    case 'D':
        return "\\P{Nd}";
    case 's':
        return in_class ? "\\t-\\r\\p{Z}" : "[\\t-\\r\\p{Z}]";
    case 'S':
        return in_class ? NULL : "[^\\t-\\r\\p{Z}]";
    default:
        return NULL;
    }
}

static void copy(struct translation *translation, size_t length)
{
    fwrite(translation->at, 1, length, translation->out);
    translation->at += length;
}

// What is behind \Q stands for itself.
static void quote(struct translation *translation)
{
    const char *end = strstr(translation->at, "\\E");
    const size_t length = end ? (size_t)(end - translation->at) : strlen(translation->at);
    for (size_t i = 2; i < length; i++) {
        const char letter = translation->at[i];
        if (ispunct((unsigned char)letter))
            fputc('\\', translation->out);
        fputc(letter, translation->out);
    }
    translation->at += length + (end ? 2 : 0);
}

static bool escape(struct translation *translation)
{
    const char letter = translation->at[1];
    const char *class = class_of(letter, translation->in_class);
    if (class) {
        fputs(class, translation->out);
        translation->at += 2;
        return true;
    }
    if (letter == 'Q') {
        quote(translation);
        return true;
    }
    const char *known = translation->in_class ? "fnrtaxpP" : "fnrtaxpPbBAz";
    if (!ispunct((unsigned char)letter) && !(letter && strchr(known, letter)))
        return false;
    copy(translation, 2);
    return true;
}

static bool open_class(struct translation *translation)
{
    translation->in_class = true;
    copy(translation, 1 + (translation->at[1] == '^'));
    // Here it is a letter.
    if (*translation->at == ']') {
        fputc('\\', translation->out);
        copy(translation, 1);
    }
    return true;
}

static bool in_class(struct translation *translation)
{
    if (begins(translation->at, "[:")) {
        const char *end = strstr(translation->at, ":]");
        copy(translation, end ? (size_t)(end - translation->at) + 2 : 1);
        return true;
    }
    translation->in_class = *translation->at != ']';
    copy(translation, 1);
    return true;
}

// Groups with a flag that both know; no looking around, no conditions, no calls.
static bool open_group(struct translation *translation)
{
    const char *at = translation->at + 1;
    if (*at == '*')
        return false; // a verb
    if (*at == '?' && at[1] != ':' && !begins(at, "?P<")) {
        size_t flags = strspn(at + 1, "ims-");
        if (!flags || (at[1 + flags] != ':' && at[1 + flags] != ')'))
            return false;
    }
    copy(translation, 1);
    // So that what follows is not taken for a repetition.
    if (*translation->at == '?')
        copy(translation, 1);
    return true;
}

// A second + gives nothing back.
static bool repeat(struct translation *translation)
{
    copy(translation, 1);
    return *translation->at != '+';
}

static bool step(struct translation *translation)
{
    if (*translation->at == '\\')
        return escape(translation);
    if (translation->in_class)
        return in_class(translation);
    switch (*translation->at) {
    case '[':
        return open_class(translation);
    case '(':
        return open_group(translation);
    case '*':
    case '+':
    case '?':
    case '}':
        return repeat(translation);
    default:
        copy(translation, 1);
        return true;
    }
}

char *hs_server_regex__of_perl(const char *name, const char *text, struct hs_error *error)
{
    struct hs_text_stream stream;
    struct translation translation = {.out = hs_text_stream__open(&stream), .at = text};
    // The server first looks for the letters that a match has to have, and takes no notice of (?i) there. With an
    // alternative, which matches nothing here, there are none.
    const bool has_flags = strstr(text, "(?");
    bool good = true;
    if (translation.out && has_flags)
        fputs("(?:", translation.out);
    while (translation.out && good && *translation.at)
        good = step(&translation);
    if (translation.out && has_flags)
        fputs(")|z\\Az", translation.out);
    char *result = hs_text_stream__close(&stream);
    if (good && !result)
        hs_error__set(error, ENOMEM, "%s: out of memory", name);
    if (good)
        return result;
    hs_error__set(
        error, EINVAL,
        "%s: the database matches with RE2, which does not know '%.20s'; write it without looking around, back "
        "references and possessive quantifiers",
        name, translation.at);
    free(result);
    return NULL;
}

// As fnmatch has them. Without an end it is a letter.
static const char *put_brackets(FILE *out, const char *at, bool of_name)
{
    const bool negative = at[1] == '!' || at[1] == '^';
    const char *first = at + 1 + negative;
    const char *end = *first ? strchr(first + 1, ']') : NULL;
    if (!end) {
        fputs("\\[", out);
        return at + 1;
    }
    fputs(negative ? of_name ? "[^/" : "[^" : "[", out);
    for (at = first; at < end; at++) {
        if (strchr("\\[]^", *at))
            fputc('\\', out);
        fputc(*at, out);
    }
    fputc(']', out);
    return end + 1;
}

static const char *put_letter(FILE *out, const char *at)
{
    at += *at == '\\' && at[1];
    if (ispunct((unsigned char)*at))
        fputc('\\', out);
    fputc(*at, out);
    return at + 1;
}

char *hs_server_regex__of_library(const char *text)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    const bool of_name = !strchr(text, '/');
    if (out)
        fputs(of_name ? "^(?:.*/)?" : "^", out);
    while (out && *text) {
        if (*text == '[') {
            text = put_brackets(out, text, of_name);
        } else if (*text == '*' || *text == '?') {
            fprintf(out, "%s%s", of_name ? "[^/]" : "(?s:.)", *text == '*' ? "*" : "");
            text++;
        } else {
            text = put_letter(out, text);
        }
    }
    if (out)
        fputc('$', out);
    return hs_text_stream__close(&stream);
}
