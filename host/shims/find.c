// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/shims/shims.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
    [HS_SHIM_TRACE] = "libheapsonde-trace.so",
    [HS_SHIM_PROF] = "libheapsonde-prof.so",
    [HS_SHIM_ATTACH] = "heapsonde-attach",
};

const char *hs_shim_name(enum hs_shim shim)
{
    return names[shim];
}

// Whether the file exists and is for this ABI.
static bool is_for(const struct hs_abi *abi, enum hs_shim shim, const char *file, char *path, size_t size)
{
    struct hs_probe probe;
    const uint16_t type = shim == HS_SHIM_ATTACH ? ET_EXEC : ET_DYN;
    if (hs_probe__file(&probe, file) || probe.incomplete || (probe.type != ET_DYN && probe.type != type) ||
        hs_abi__of(&probe) != abi)
        return false;
    char *real = realpath(file, NULL);
    bool fits = real && strlen(real) < size;
    if (fits)
        strcpy(path, real);
    free(real);
    return fits;
}

// The folder of this command.
static bool own_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0)
        return false;
    folder[length] = 0;
    *strrchr(folder, '/') = 0;
    return true;
}

// "%s" is the ABI. The first two contain stripped libraries, as installed; the others are of builds without strip.
static const char *const in_builds[] = {"../lib/heapsonde/%s", "../../%s/lib/heapsonde/%s", "../lib", "../../%s/lib"};

static bool find_beside(const struct hs_abi *abi, enum hs_shim shim, char *path, size_t size)
{
    const char *name = names[shim];
    char folder[PATH_MAX], file[2 * PATH_MAX];
    if (!own_folder(folder))
        return false;
    snprintf(file, sizeof(file), "%s/" HEAPSONDE_SHIM_DIR_FROM_BINARY "/%s/%s", folder, abi->name, name);
    if (is_for(abi, shim, file, path, size))
        return true;
    snprintf(file, sizeof(file), "%s/../CMakeCache.txt", folder);
    if (access(file, F_OK))
        return false;
    for (size_t i = 0; i < sizeof(in_builds) / sizeof(in_builds[0]); i++) {
        char place[128];
        snprintf(place, sizeof(place), in_builds[i], abi->name, abi->name);
        snprintf(file, sizeof(file), "%s/%s/%s", folder, place, name);
        if (is_for(abi, shim, file, path, size))
            return true;
    }
    return false;
}

int hs_shim__find(const struct hs_abi *abi, enum hs_shim shim, char *path, size_t size, struct hs_error *error)
{
    char file[2 * PATH_MAX];
    const char *name = names[shim];
    const char *library = getenv("HEAPSONDE_LIBRARY");
    const char *folder = getenv("HEAPSONDE_SHIMS");
    if (shim == HS_SHIM_TRACE && library && *library && is_for(abi, shim, library, path, size))
        return 0;
    if (folder && *folder) {
        snprintf(file, sizeof(file), "%s/%s/%s", folder, abi->name, name);
        if (is_for(abi, shim, file, path, size))
            return 0;
        return hs_error__set(error, ENOENT, "%s for %s is not in %s/%s; correct HEAPSONDE_SHIMS or unset it", name,
                             abi->name, folder, abi->name);
    }
    snprintf(file, sizeof(file), HEAPSONDE_SHIM_DIR "/%s/%s", abi->name, name);
    if (find_beside(abi, shim, path, size) || is_for(abi, shim, file, path, size))
        return 0;
    return hs_error__set(
        error, ENOENT,
        "%s for %s is not installed; install the libraries for targets (package heapsonde-shims), build them "
        "with 'scripts/build-shims %s', or name the folder that holds %s/%s in HEAPSONDE_SHIMS",
        name, abi->name, abi->name, abi->name, name);
}
