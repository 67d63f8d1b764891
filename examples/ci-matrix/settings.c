// SPDX-License-Identifier: MIT OR Apache-2.0
#include "settings.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    char *key, *value;
};

struct settings {
    struct pair *pairs;
    size_t count;
};

static char *copy(const char *text, size_t length)
{
    char *to = malloc(length + 1);
    if (!to)
        abort();
    memcpy(to, text, length);
    to[length] = 0;
    return to;
}

static struct pair *find(const struct settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->count; i++)
        if (!strcmp(settings->pairs[i].key, key))
            return &settings->pairs[i];
    return NULL;
}

static void put(struct settings *settings, char *key, char *value)
{
    struct pair *pair = find(settings, key);
    if (pair) {
        free(key);
        free(pair->value);
        pair->value = value;
        return;
    }
    settings->pairs = realloc(settings->pairs, (settings->count + 1) * sizeof(*settings->pairs));
    if (!settings->pairs)
        abort();
    settings->pairs[settings->count++] = (struct pair){key, value};
}

static void parse_into(struct settings *settings, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n"), key = strcspn(text, "=\n");
        if (key < length)
            put(settings, copy(text, key), copy(text + key + 1, length - key - 1));
        text += length + (text[length] != 0);
    }
}

static void clear(struct settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->pairs[i].key);
        free(settings->pairs[i].value);
    }
    free(settings->pairs);
    *settings = (struct settings){0};
}

struct settings *settings_parse(const char *text)
{
    struct settings *settings = calloc(1, sizeof(*settings));
    if (!settings)
        abort();
    parse_into(settings, text);
    return settings;
}

const char *settings_get(const struct settings *settings, const char *key)
{
    const struct pair *pair = find(settings, key);
    return pair ? pair->value : NULL;
}

void settings_merge(struct settings *settings, const struct settings *other)
{
    for (size_t i = 0; i < other->count; i++)
        put(settings, copy(other->pairs[i].key, strlen(other->pairs[i].key)),
            copy(other->pairs[i].value, strlen(other->pairs[i].value)));
}

// The planted leak: the strings of the first text are forgotten, and only their array is freed.
void settings_reload(struct settings *settings, const char *text)
{
    free(settings->pairs);
    *settings = (struct settings){0};
    parse_into(settings, text);
}

void settings_free(struct settings *settings)
{
    clear(settings);
    free(settings);
}
