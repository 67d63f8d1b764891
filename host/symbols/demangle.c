// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Longer names come from damaged files or from template metaprograms nobody can read; both can be made to take
// exponential time to spell out.
#define LONGEST_MANGLED 8192

static bool looks_mangled(const char *name)
{
    return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "__Z", 3);
}

char *hs_demangle(const char *name)
{
    size_t length = strcspn(name, "@");
    char *plain = strndup(name, length ? length : strlen(name));
    if (!plain || !looks_mangled(plain) || length > LONGEST_MANGLED)
        return plain;
    char *readable = cplus_demangle(plain, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    if (!readable)
        return plain;
    free(plain);
    return readable;
}
