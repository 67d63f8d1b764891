// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/demangle.h"

#include <demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Longer names come from damaged files or from template metaprograms nobody can read; both can be made to take
// exponential time to spell out.
#define LONGEST_MANGLED 8192

// The compiler's own copies of a function are that function to a reader.
static void drop_clone_suffix(char *name)
{
    static const char *const suffixes[] = {" [clone", ".part.",     ".isra.", ".constprop.",
                                           ".cold",   ".lto_priv.", ".llvm."};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        char *found = strstr(name, suffixes[i]);
        if (found && found != name)
            *found = 0;
    }
}

static bool looks_mangled(const char *name)
{
    return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "__Z", 3);
}

char *hs_demangle(const char *name)
{
    size_t length = strcspn(name, "@");
    char *plain = strndup(name, length ? length : strlen(name));
    if (!plain)
        return NULL;
    bool mangled = looks_mangled(plain) && length <= LONGEST_MANGLED;
    char *readable = mangled ? cplus_demangle(plain, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO) : NULL;
    if (readable)
        free(plain);
    else
        readable = plain;
    drop_clone_suffix(readable);
    return readable;
}
