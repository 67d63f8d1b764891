// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/library.h"

#include "host/shims/shims.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_installed(enum hs_shim shim, char *path, size_t size, struct hs_error *error)
{
    const struct hs_abi *abi = hs_abi__of_this_machine();
    if (abi)
        return hs_shim__find(abi, shim, path, size, error);
    return hs_error__set(error, ENOTSUP, "there is no recording library for this machine");
}

int hs_library__find_sampler(char *path, size_t size, struct hs_error *error)
{
    return find_installed(HS_SHIM_PROF, path, size, error);
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
    } else {
        int result = find_installed(HS_SHIM_TRACE, path, size, error);
        if (result)
            return result;
    }
    if (!strpbrk(path, ": \t"))
        return 0;
    return hs_error__set(error, EINVAL,
                         "the path of the recording library, %s, contains a space or a colon, which LD_PRELOAD does "
                         "not allow; copy it to another folder and name it in HEAPSONDE_LIBRARY",
                         path);
}
