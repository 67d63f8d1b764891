// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/doctor/doctor.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hs_doctor__say(struct hs_doctor_finding *finding, enum hs_doctor_state state, const char *format, ...)
{
    va_list list;
    finding->state = state;
    va_start(list, format);
    vsnprintf(finding->detail, sizeof(finding->detail), format, list);
    va_end(list);
}

void hs_doctor__advise(struct hs_doctor_finding *finding, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(finding->advice, sizeof(finding->advice), format, list);
    va_end(list);
}

const char *hs_doctor_state_name(enum hs_doctor_state state)
{
    static const char *const names[] = {"works", "limited", "fails", "unasked"};
    return names[state];
}

long hs_doctor__read(const struct hs_doctor_scene *scene, const char *path, char *text, size_t size)
{
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s%s", scene->root, path);
    FILE *file = fopen(full, "re");
    text[0] = 0;
    if (!file)
        return -errno;
    size_t length = fread(text, 1, size - 1, file);
    int problem = ferror(file) ? errno : 0;
    fclose(file);
    if (problem)
        return -problem;
    if (length && text[length - 1] == '\n')
        length--;
    text[length] = 0;
    return (long)length;
}

bool hs_doctor__field(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *after = line + length;
        if (strncmp(line, key, length) != 0)
            continue;
        after += strspn(after, " \t");
        if (*after != ':')
            continue;
        after += 1 + strspn(after + 1, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(after, "\n"), after);
        return true;
    }
    return false;
}
