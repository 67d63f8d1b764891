// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/server_regex.h"

#include "host/base/strings.h"
#include "host/base/text_stream.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SPACES "\\t-\\r\\x{85}\\x{180e}\\p{Z}"

struct translation {
    FILE *out;
    const char *at;
    bool in_class, ignores_case;
};

// With PCRE2's Unicode properties these are more than ASCII's. NULL: it is the same in both, or cannot be said.
static const char *class_of(char letter, bool in_class)
{
    switch (letter) {
    case 'w':
        return in_class ? "_\\p{L}\\p{N}" : "[_\\p{L}\\p{N}]";
    case 'W':
        return in_class ? NULL : "[^_\\p{L}\\p{N}]";
    case 'd':
        return "\\p{Nd}";
    case 'D':
        return "\\P{Nd}";
    case 's':
        return in_class ? SPACES : "[" SPACES "]";
    case 'S':
        return in_class ? NULL : "[^" SPACES "]";
    default:
        return NULL;
    }
}

// The same of [:alpha:] and others; "": it cannot be said. Those that are left out are ASCII's in both.
static const char *named_class_of(const char *name, size_t length, bool is_negative)
{
    static const struct {
        const char *name, *class, *negative;
    } known[] = {
        {"alpha", "\\p{L}", "\\P{L}"},
        {"lower", "\\p{Ll}", "\\P{Ll}"},
        {"upper", "\\p{Lu}", "\\P{Lu}"},
        {"digit", "\\p{Nd}", "\\P{Nd}"},
        {"cntrl", "\\p{Cc}", "\\P{Cc}"},
        {"alnum", "\\p{L}\\p{N}", ""},
        {"word", "_\\p{L}\\p{N}", ""},
        {"blank", "\\t\\x{180e}\\p{Zs}", ""},
        {"space", SPACES, ""},
        {"punct", "$+<=>\\^`|~\\p{P}", ""},
        {"graph", "", ""},
        {"print", "", ""},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strlen(known[i].name) == length && !strncmp(known[i].name, name, length))
            return is_negative ? known[i].negative : known[i].class;
    return NULL;
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

// Up to two digits; none are 0.
static void number(struct translation *translation)
{
    size_t digits = 0;
    while (digits < 2 && isxdigit((unsigned char)translation->at[2 + digits]))
        digits++;
    fprintf(translation->out, "\\x{%.*s}", digits ? (int)digits : 1, digits ? translation->at + 2 : "0");
    translation->at += 2 + digits;
}

// Without regard to case, RE2 takes letters of the other case for those that are asked for, and PCRE2 does not.
static bool is_of_case(const char *property)
{
    return strchr("lut", property[1]) && property[0] == 'L' && property[1];
}

static bool property(struct translation *translation)
{
    const char *at = translation->at + 2;
    if (translation->ignores_case && *at == '{' && is_of_case(at + 1 + (at[1] == '^')))
        return false;
    copy(translation, 2);
    return true;
}

static bool escape(struct translation *translation)
{
    const unsigned char letter = (unsigned char)translation->at[1];
    const char *class = class_of((char)letter, translation->in_class);
    if (class) {
        fputs(class, translation->out);
        translation->at += 2;
        return true;
    }
    if (letter == 'Q') {
        quote(translation);
        return true;
    }
    if (letter == 'p' || letter == 'P')
        return property(translation);
    if (letter == 'x' && translation->at[2] != '{') {
        number(translation);
        return true;
    }
    const char *known = translation->in_class ? "fnrtax" : "fnrtaxbBAz";
    if (!letter || (isalnum(letter) && !strchr(known, letter)))
        return false;
    if (letter >= 0x80)
        translation->at++;
    copy(translation, letter < 0x80 ? 2 : 1);
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

static bool named_class(struct translation *translation, size_t length)
{
    const bool is_negative = translation->at[2] == '^';
    const char *name = translation->at + 2 + is_negative;
    const char *class = named_class_of(name, length, is_negative);
    if (class && (!*class || (translation->ignores_case && is_of_case(class + 3))))
        return false;
    if (!class) {
        copy(translation, 4 + is_negative + length);
        return true;
    }
    fputs(class, translation->out);
    translation->at = name + length + 2;
    return true;
}

static bool in_class(struct translation *translation)
{
    const char *at = translation->at;
    if (hs_string__begins_with(at, "[:")) {
        const char *name = at + 2 + (at[2] == '^');
        const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        if (hs_string__begins_with(name + length, ":]"))
            return named_class(translation, length);
    }
    // Here it is a letter.
    if (*at == '[')
        fputc('\\', translation->out);
    translation->in_class = *at != ']';
    copy(translation, 1);
    return true;
}

// Groups with a flag that both know; no looking around, no conditions, no calls.
static bool open_group(struct translation *translation)
{
    const char *at = translation->at + 1;
    if (*at == '*')
        return false; // a verb
    if (*at == '?' && at[1] != ':' && !hs_string__begins_with(at, "?P<")) {
        size_t flags = strspn(at + 1, "ims-");
        if (!flags || (at[1 + flags] != ':' && at[1 + flags] != ')'))
            return false;
        translation->ignores_case |= memchr(at + 1, 'i', flags) != NULL;
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

// The server first searches for letters that each match must contain, and ignores what they are part of. With an
// alternative that matches nothing, there are no such letters.
#define NEVER "|z\\Az"

char *hs_server_regex__of_perl(const char *name, const char *text, struct hs_error *error)
{
    struct hs_text_stream stream;
    struct translation translation = {.out = hs_text_stream__open(&stream), .at = text};
    bool good = true;
    // The server has the dot match ends of lines.
    if (translation.out)
        fputs("(?-s:", translation.out);
    while (translation.out && good && *translation.at)
        good = step(&translation);
    if (translation.out)
        fputs(")" NEVER, translation.out);
    char *result = hs_text_stream__close(&stream);
    if (good && !result)
        hs_error__set(error, ENOMEM, "%s: out of memory", name);
    if (good)
        return result;
    hs_error__set(error, EINVAL,
                  "%s: the database matches with RE2, which does not know '%.20s'; write it without look-ahead, "
                  "look-behind, back references and possessive quantifiers",
                  name, translation.at);
    free(result);
    return NULL;
}

// ---- libraries -----------------------------------------------------------------------------------------------------
//
// Names are any bytes, and the server matches letters of UTF-8: so these are matched as hexadecimal digits, two a byte.

// Behind the end of a bracket expression, or NULL: it has none, and [ stands for itself.
static const char *end_of_brackets(const char *at)
{
    at++;
    at += *at == '!' || *at == '^';
    at += *at == ']';
    while (*at && *at != ']') {
        const char close[] = {at[1], ']', 0};
        const char *end = *at == '[' && at[1] && strchr(":.=", at[1]) ? strstr(at + 2, close) : NULL;
        if (end)
            at = end + 2;
        else
            at += *at == '\\' && at[1] ? 2 : 1;
    }
    return *at ? at + 1 : NULL;
}

// What it matches is what fnmatch says of each byte.
static void put_brackets(FILE *out, const char *at, const char *end, bool of_name)
{
    char *brackets = strndup(at, (size_t)(end - at));
    const char *between = "(?:";
    for (unsigned byte = 1; byte <= UINT8_MAX && brackets; byte++) {
        const char name[] = {(char)byte, 0};
        if ((of_name && byte == '/') || fnmatch(brackets, name, 0))
            continue;
        fprintf(out, "%s%02X", between, byte);
        between = "|";
    }
    fputs(*between == '|' ? ")" : "z", out);
    free(brackets);
}

char *hs_server_regex__of_library(const char *text)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    const bool of_name = !strchr(text, '/');
    const char *any = of_name ? "(?:[013-9A-F].|2[0-9A-E])" : "(?:..)";
    if (out)
        fputs(of_name ? "^(?:(?:..)*2F)?" : "^", out);
    while (out && *text) {
        const char *end = *text == '[' ? end_of_brackets(text) : NULL;
        if (end) {
            put_brackets(out, text, end, of_name);
            text = end;
        } else if (*text == '*' || *text == '?') {
            fprintf(out, "%s%s", any, *text == '*' ? "*" : "");
            text++;
        } else {
            const bool is_escape = *text == '\\';
            text += is_escape;
            if (*text)
                fprintf(out, "%02X", (uint8_t)*text++);
            else
                fputc('z', out); // fnmatch wants something behind it
        }
    }
    if (out)
        fputs("$" NEVER, out);
    return hs_text_stream__close(&stream);
}
