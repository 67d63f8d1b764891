// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/library.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_NAME "libheapsonde-trace.so"

#ifndef HEAPSONDE_LIBDIR
#define HEAPSONDE_LIBDIR "/usr/local/lib/heapsonde"
#endif

static bool beside_binary(const char *folder, char *path, size_t size)
{
    char self[PATH_MAX];
    char full[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return false;
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (!slash)
        return false;
    *slash = 0;
    snprintf(full, sizeof(full), "%s/%s/" LIBRARY_NAME, self, folder);
    char *real = access(full, R_OK) ? NULL : realpath(full, NULL);
    if (real)
        snprintf(path, size, "%s", real);
    free(real);
    return real != NULL;
}

int hs_library__find(char *path, size_t size, struct hs_error *error)
{
    const char *given = getenv("HEAPSONDE_LIBRARY");
    if (given && *given) {
        char *real = realpath(given, NULL);
        if (!real) {
            return hs_error__set(error, ENOENT, "HEAPSONDE_LIBRARY is %s: %s; correct it or unset it", given,
                                 strerror(errno));
        }
        snprintf(path, size, "%s", real);
        free(real);
    } else if (!beside_binary("../lib", path, size) && !beside_binary("../lib/heapsonde", path, size)) {
        snprintf(path, size, "%s/" LIBRARY_NAME, HEAPSONDE_LIBDIR);
        if (access(path, R_OK))
            return hs_error__set(error, ENOENT,
                                 "the recording library " LIBRARY_NAME
                                 " is neither in ../lib beside this program nor in %s; name it in HEAPSONDE_LIBRARY",
                                 HEAPSONDE_LIBDIR);
    }
    if (!strpbrk(path, ": \t"))
        return 0;
    return hs_error__set(error, EINVAL,
                         "the path of the recording library, %s, contains a space or a colon, which LD_PRELOAD does "
                         "not allow; copy it to another folder and name it in HEAPSONDE_LIBRARY",
                         path);
}
