// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/findings/suppressions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_FILE ((size_t)16 << 20)

static int take_line(struct hs_suppressions *all, const char *line, size_t length, const char *name, size_t number,
                     struct hs_error *error)
{
    char type[64];
    const char *colon = memchr(line, ':', length);
    const size_t type_length = colon ? (size_t)(colon - line) : length;
    snprintf(type, sizeof(type), "%.*s", (int)(type_length < 60 ? type_length : 60), line);
    if (!colon)
        return hs_error__set(error, EINVAL, "%s:%zu: '%s' has no ':'; a line is leak:PATTERN or KIND:PATTERN", name,
                             number, type);
    const struct hs_finding_kind *kind = hs_finding_kind__find(type);
    if (!kind && strcmp(type, "leak") != 0)
        return hs_error__set(error, EINVAL, "%s:%zu: '%s' is neither 'leak' nor a kind of finding", name, number, type);
    const size_t pattern_length = length - type_length - 1;
    if (!pattern_length)
        return hs_error__set(error, EINVAL, "%s:%zu: the pattern after '%s:' is missing", name, number, type);
    if (memchr(colon, 0, pattern_length + 1))
        return hs_error__set(error, EINVAL, "%s:%zu: the line contains a NUL character", name, number);
    struct hs_suppression *more = reallocarray(all->at, all->count + 1, sizeof(*more));
    if (more)
        all->at = more;
    char *pattern = more ? strndup(colon + 1, pattern_length) : NULL;
    if (!pattern)
        return hs_error__set(error, ENOMEM, "%s: out of memory", name);
    all->at[all->count++] = (struct hs_suppression){kind ? kind->id : NULL, pattern};
    return 0;
}

static size_t trim(const char **line, size_t length)
{
    while (length && strchr(" \t\r", (*line)[length - 1]) && (*line)[length - 1])
        length--;
    while (length && (**line == ' ' || **line == '\t')) {
        ++*line;
        length--;
    }
    return length;
}

struct hs_suppressions *hs_suppressions__parse(const char *text, size_t length, const char *name,
                                               struct hs_error *error)
{
    struct hs_suppressions *all = calloc(1, sizeof(*all));
    int result = all ? 0 : hs_error__set(error, ENOMEM, "%s: out of memory", name);
    for (size_t number = 1, at = 0; !result && at < length; number++) {
        const char *line = text + at, *end = memchr(line, '\n', length - at);
        const size_t whole = end ? (size_t)(end - line) : length - at;
        const size_t used = trim(&line, whole);
        if (used && *line != '#')
            result = take_line(all, line, used, name, number, error);
        at += whole + 1;
    }
    if (!result)
        return all;
    hs_suppressions__destroy(all);
    return NULL;
}

struct hs_suppressions *hs_suppressions__read(const char *path, struct hs_error *error)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(LONGEST_FILE) : NULL;
    struct hs_suppressions *all = NULL;
    errno = file ? ENOMEM : errno;
    const size_t length = text ? fread(text, 1, LONGEST_FILE, file) : 0;
    if (!text || ferror(file))
        hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    else if (length == LONGEST_FILE)
        hs_error__set(error, EFBIG, "%s: too long for a file of suppressions", path);
    else
        all = hs_suppressions__parse(text, length, path, error);
    free(text);
    if (file)
        fclose(file);
    return all;
}

void hs_suppressions__join(struct hs_suppressions *suppressions, const struct hs_suppressions *other)
{
    suppressions->other = other;
}

void hs_suppressions__destroy(struct hs_suppressions *suppressions)
{
    for (size_t i = 0; suppressions && i < suppressions->count; i++)
        free(suppressions->at[i].pattern);
    free(suppressions ? suppressions->at : NULL);
    free(suppressions);
}
