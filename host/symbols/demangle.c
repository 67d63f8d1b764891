// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef HEAPSONDE_HAS_IBERTY
#include <demangle.h>
#endif

// Longer names come from damaged files or from template metaprograms nobody can read; both can be made to take
// exponential time to spell out.
#define LONGEST_MANGLED 8192

static void drop_version(char *name)
{
    char *at = strrchr(name, '@');
    if (at && at > name && at[-1] == '@')
        at--;
    if (at && at > name)
        *at = 0;
}

// The length without one suffix at the end such as ".part.0" or ".cold"; the same length: it has none.
static size_t without_suffix(const char *name, size_t length)
{
    static const char *const suffixes[] = {".part", ".isra", ".constprop", ".lto_priv", ".llvm", ".cold"};
    size_t end = length;
    while (end && isdigit((unsigned char)name[end - 1]))
        end--;
    bool numbered = end < length && end && name[end - 1] == '.';
    end = numbered ? end - 1 : length;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t size = strlen(suffixes[i]);
        if ((numbered || !strcmp(suffixes[i], ".cold")) && end > size && !memcmp(name + end - size, suffixes[i], size))
            return end - size;
    }
    return length;
}

static void drop_suffixes(char *name)
{
    size_t length = strlen(name);
    for (size_t shorter; (shorter = without_suffix(name, length)) < length; length = shorter)
        name[shorter] = 0;
}

static bool looks_mangled(const char *name)
{
    return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "__Z", 3);
}

#ifdef HEAPSONDE_HAS_IBERTY
// Copies that the demangler knows of and we do not, " [clone .avx2.0]".
static void drop_clones(char *name)
{
    static const char clone[] = " [clone ";
    for (size_t length; (length = strlen(name)) && name[length - 1] == ']';) {
        char *open = memrchr(name, '[', length);
        if (!open || open <= name + 1 || strncmp(open - 1, clone, sizeof(clone) - 1))
            return;
        open[-1] = 0;
    }
}

static char *demangled(const char *name)
{
    char *plain = strdup(name);
    if (!plain)
        return NULL;
    // No mangled name has this character within.
    plain[strcspn(plain, "@")] = 0;
    drop_suffixes(plain);
    char *readable = cplus_demangle(plain, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    free(plain);
    if (readable)
        drop_clones(readable);
    return readable;
}
#else
static char *demangled(const char *name)
{
    (void)name;
    return NULL;
}
#endif

char *hs_demangle(const char *name, enum hs_name_source source)
{
    char *readable = looks_mangled(name) && strlen(name) <= LONGEST_MANGLED ? demangled(name) : NULL;
    if (readable)
        return readable;
    readable = strdup(name);
    if (readable && source == HS_NAME_VERSIONED)
        drop_version(readable);
    if (readable && source != HS_NAME_GIVEN)
        drop_suffixes(readable);
    return readable;
}
