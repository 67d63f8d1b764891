// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/uri.h"

#include "host/base/strings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Decodes in place. False when a byte would end the text.
static bool decode(char *text, bool plus_is_space)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        int high = *from == '%' ? hs_string__digit(from[1]) : -1;
        int low = high >= 0 ? hs_string__digit(from[2]) : -1;
        if (low >= 0) {
            if (!high && !low)
                return false;
            *to++ = (char)(high * 16 + low);
            from += 2;
        } else {
            *to++ = plus_is_space && *from == '+' ? ' ' : *from;
        }
    }
    *to = 0;
    return true;
}

static int parse_path(struct hs_uri *uri, char *path, struct hs_error *error)
{
    if (*path != '/')
        return hs_error__set(error, EINVAL, "a path begins with /");
    for (char *next, *at = path + 1; at; at = next) {
        next = strchr(at, '/');
        if (next)
            *next++ = 0;
        if (!*at && !next && !uri->segments)
            return 0;
        if (uri->segments == HS_URI_SEGMENTS)
            return hs_error__set(error, EINVAL, "the path has more than %d parts", HS_URI_SEGMENTS);
        if (!decode(at, false))
            return hs_error__set(error, EINVAL, "the path contains %%00");
        uri->segment[uri->segments++] = at;
    }
    return 0;
}

static int parse_pair(struct hs_uri *uri, char *pair, struct hs_error *error)
{
    char *value = strchr(pair, '=');
    if (value)
        *value++ = 0;
    if (!decode(pair, true))
        return hs_error__set(error, EINVAL, "the name of a parameter contains %%00");
    if (value && !decode(value, true))
        return hs_error__set(error, EINVAL, "%s: the value contains %%00", pair);
    uri->parameter[uri->parameters++] = (struct hs_uri_parameter){pair, value ? value : ""};
    return 0;
}

static int parse_query(struct hs_uri *uri, char *query, struct hs_error *error)
{
    size_t most = 1;
    for (const char *at = query; *at; at++)
        most += *at == '&';
    if (most > HS_URI_PARAMETERS)
        return hs_error__set(error, EINVAL, "the query has more than %d parameters", HS_URI_PARAMETERS);
    uri->parameter = calloc(most, sizeof(*uri->parameter));
    if (!uri->parameter)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = 0;
    for (char *next, *at = query; at && !result; at = next) {
        next = strchr(at, '&');
        if (next)
            *next++ = 0;
        if (*at)
            result = parse_pair(uri, at, error);
    }
    return result;
}

int hs_uri__parse(struct hs_uri *uri, const char *text, struct hs_error *error)
{
    *uri = (struct hs_uri){.memory = strdup(text), .length = strlen(text) + 1};
    if (!uri->memory)
        return hs_error__set(error, ENOMEM, "out of memory");
    char *end = strchr(uri->memory, '#');
    if (end)
        *end = 0;
    char *query = strchr(uri->memory, '?');
    if (query)
        *query++ = 0;
    int result = parse_path(uri, uri->memory, error);
    if (!result && query)
        result = parse_query(uri, query, error);
    if (result)
        hs_uri__free(uri);
    return result;
}

static const char *moved(const char *text, const struct hs_uri *from, const struct hs_uri *to)
{
    return *text ? to->memory + (text - from->memory) : "";
}

int hs_uri__copy(struct hs_uri *uri, const struct hs_uri *from, struct hs_error *error)
{
    *uri = *from;
    uri->memory = malloc(from->length);
    uri->parameter = calloc(from->parameters + 1, sizeof(*uri->parameter));
    if (!uri->memory || !uri->parameter) {
        hs_uri__free(uri);
        return hs_error__set(error, ENOMEM, "out of memory");
    }
    memcpy(uri->memory, from->memory, from->length);
    for (size_t i = 0; i < uri->segments; i++)
        uri->segment[i] = moved(from->segment[i], from, uri);
    for (size_t i = 0; i < uri->parameters; i++)
        uri->parameter[i] = (struct hs_uri_parameter){moved(from->parameter[i].name, from, uri),
                                                      moved(from->parameter[i].value, from, uri)};
    return 0;
}

void hs_uri__free(struct hs_uri *uri)
{
    free(uri->parameter);
    free(uri->memory);
    *uri = (struct hs_uri){0};
}

const char *hs_uri__value(const struct hs_uri *uri, const char *name)
{
    for (size_t i = 0; i < uri->parameters; i++)
        if (!strcmp(uri->parameter[i].name, name))
            return uri->parameter[i].value;
    return NULL;
}

bool hs_uri__matches(const struct hs_uri *uri, const char *pattern, const char **values, size_t most)
{
    size_t taken = 0;
    size_t at = 0;
    if (!strcmp(pattern, "/"))
        return !uri->segments;
    while (*pattern == '/') {
        size_t length = strcspn(++pattern, "/");
        if (at == uri->segments)
            return false;
        const char *segment = uri->segment[at++];
        if (*pattern == '{') {
            if (!*segment || taken == most)
                return false;
            values[taken++] = segment;
        } else if (strlen(segment) != length || memcmp(segment, pattern, length) != 0) {
            return false;
        }
        pattern += length;
    }
    return at == uri->segments;
}
