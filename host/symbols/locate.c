// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/locate.h"

#include "host/symbols/elf_probe.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
    const struct hs_symbols_options *options;
    const struct hs_symbols_module *module;
    struct hs_located *located;
};

// A module's file may be taken by name alone only when the name is its full path: debug directories hold other files
// of the same name.
enum trust { BY_PATH, BY_BUILD_ID };

static enum hs_symbols_state judge(const struct search *search, int fd, enum trust trust)
{
    const struct hs_symbols_module *module = search->module;
    struct hs_probe probe;
    if (hs_probe__descriptor(&probe, fd) || probe.kind != HS_PROBE_ELF || probe.damaged)
        return HS_SYMBOLS_DAMAGED;
    if (module->build_id_length) {
        bool equal = probe.build_id_length == module->build_id_length &&
                     !memcmp(probe.build_id, module->build_id, module->build_id_length);
        if (!equal)
            return HS_SYMBOLS_MISMATCH;
    } else if (trust == BY_BUILD_ID) {
        return HS_SYMBOLS_MISMATCH;
    }
    if (search->options->machine && probe.machine != search->options->machine)
        return HS_SYMBOLS_FOREIGN;
    return HS_SYMBOLS_FOUND;
}

static void remember(struct hs_located *located, enum hs_symbols_state state, int fd, const char *path)
{
    free(located->path);
    located->path = strdup(path);
    located->state = state;
    located->fd = fd;
}

static bool try_descriptor(struct search *search, int fd, const char *path, enum trust trust)
{
    enum hs_symbols_state state = judge(search, fd, trust);
    if (state == HS_SYMBOLS_FOUND) {
        remember(search->located, state, fd, path);
        return true;
    }
    close(fd);
    // The first file that speaks against itself is the one the user expects; say what is wrong with that one.
    if (search->located->state == HS_SYMBOLS_MISSING && trust == BY_PATH)
        remember(search->located, state, -1, path);
    return false;
}

static int open_regular(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    return -1;
}

static bool try_file(struct search *search, enum trust trust, const char *directory, const char *path,
                     const char *suffix)
{
    char full[PATH_MAX];
    int length = snprintf(full, sizeof(full), "%s%s%s", directory, path, suffix);
    if (length < 0 || (size_t)length >= sizeof(full))
        return false;
    int fd = open_regular(full);
    return fd >= 0 && try_descriptor(search, fd, full, trust);
}

static bool build_id_path(const struct hs_symbols_module *module, char *path, size_t size)
{
    if (module->build_id_length < 2 || module->build_id_length > HS_BUILD_ID_MAX)
        return false;
    size_t used = (size_t)snprintf(path, size, "/.build-id/%02x/", module->build_id[0]);
    for (size_t i = 1; i < module->build_id_length; i++)
        used += (size_t)snprintf(path + used, size - used, "%02x", module->build_id[i]);
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool try_directory(struct search *search, const char *directory, bool debug_only)
{
    char by_id[32 + 2 * HS_BUILD_ID_MAX];
    char by_name[PATH_MAX];
    if (build_id_path(search->module, by_id, sizeof(by_id)) &&
        ((!debug_only && try_file(search, BY_BUILD_ID, directory, by_id, "")) ||
         try_file(search, BY_BUILD_ID, directory, by_id, ".debug")))
        return true;
    snprintf(by_name, sizeof(by_name), "/%s", base_name(search->module->path));
    return try_file(search, BY_BUILD_ID, directory, search->module->path, "") ||
           try_file(search, BY_BUILD_ID, directory, search->module->path, ".debug") ||
           try_file(search, BY_BUILD_ID, directory, by_name, "") ||
           try_file(search, BY_BUILD_ID, directory, by_name, ".debug");
}

static bool try_directories(struct search *search, bool debug_only)
{
    for (size_t i = 0; i < search->options->debug_dir_count; i++) {
        if (try_directory(search, search->options->debug_dirs[i], debug_only))
            return true;
    }
    return false;
}

static bool try_system_debug(struct search *search)
{
    char directory[PATH_MAX];
    const char *sysroot = search->options->sysroot ? search->options->sysroot : "";
    snprintf(directory, sizeof(directory), "%s/usr/lib/debug", sysroot);
    return try_directory(search, directory, false) || (*sysroot && try_directory(search, "/usr/lib/debug", false));
}

static bool try_copy(struct search *search)
{
    if (!search->module->open_copy)
        return false;
    int fd = search->module->open_copy(search->module->context);
    return fd >= 0 && try_descriptor(search, fd, search->module->path, BY_PATH);
}

void hs_locate(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
               struct hs_located *located)
{
    struct search search = {options, module, located};
    *located = (struct hs_located){.state = HS_SYMBOLS_MISSING, .fd = -1};
    const char *sysroot = options->sysroot ? options->sysroot : "";
    if (module->path[0] != '/') {
        try_copy(&search);
        return;
    }
    if (try_file(&search, BY_PATH, sysroot, module->path, ""))
        return;
    // Below a system root the file of this machine is the right one only when its build id says so.
    if (*sysroot && try_file(&search, BY_BUILD_ID, "", module->path, ""))
        return;
    if (try_copy(&search) || try_directories(&search, false))
        return;
    try_system_debug(&search);
}

int hs_locate_debug(const struct hs_symbols_options *options, const struct hs_symbols_module *module, char **path)
{
    struct hs_located located = {.state = HS_SYMBOLS_MISSING, .fd = -1};
    struct search search = {options, module, &located};
    if (!try_directories(&search, true)) {
        free(located.path);
        return -1;
    }
    *path = located.path;
    return located.fd;
}
