// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/locate.h"

#include "host/base/path.h"
#include "host/symbols/candidates.h"
#include "host/symbols/elf_probe.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUG_FOLDER "/usr/lib/debug"
#define MOST_FILES   4096 // of one debug directory, when names do not help

static size_t directory_length(const char *path)
{
    return (size_t)(hs_path__name(path) - path);
}

// ---- by build id ---------------------------------------------------------------------------------------------------

static bool try_build_id(struct hs_search *search, const char *suffix)
{
    char path[32 + 2 * HS_BUILD_ID_MAX];
    struct hs_candidate place;
    if (!hs_build_id_path(search->module->build_id, search->module->build_id_length, path, sizeof(path)))
        return false;
    for (size_t i = 0; hs_debug_place(search->options, i, &place); i++) {
        place.path = path;
        place.suffix = suffix;
        if (hs_candidate__try(search, &place))
            return true;
    }
    return false;
}

static bool try_files_of(struct hs_search *search, const char *directory, DIR *files)
{
    char path[PATH_MAX];
    struct hs_candidate candidate = {.directory = directory, .path = path, .trust = HS_TRUST_BUILD_ID};
    const struct dirent *entry;
    for (int i = 0; i < MOST_FILES && (entry = readdir(files)); i++) {
        snprintf(path, sizeof(path), "/%s", entry->d_name);
        if (hs_candidate__try(search, &candidate))
            return true;
    }
    return false;
}

// Whatever its name is: build systems call an unstripped file program.unstripped, program.sym or program_debug.
static bool try_any_name(struct hs_search *search)
{
    bool found = false;
    if (!search->module->build_id_length)
        return false;
    for (size_t i = 0; !found && i < search->options->debug_dir_count; i++) {
        const char *directory = search->options->debug_dirs[i];
        DIR *files = opendir(directory);
        if (!files)
            continue;
        found = try_files_of(search, directory, files);
        closedir(files);
    }
    return found;
}

// ---- by path -------------------------------------------------------------------------------------------------------

// The other name of a folder that Debian and others moved below /usr: a copy of the root made from packages has only
// one of the two. False when the path has none.
static bool other_name(const char *path, char *other, size_t size)
{
    static const char *const folders[] = {"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/"};
    const char *inner = strncmp(path, "/usr/", 5) ? path : path + 4;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (!strncmp(inner, folders[i], strlen(folders[i])))
            return (size_t)snprintf(other, size, "%s%s", inner == path ? "/usr" : "", inner) < size;
    }
    return false;
}

static bool try_sysroots(struct hs_search *search, enum hs_trust trust)
{
    char other[PATH_MAX];
    const char *path = search->module->path;
    bool has_other = other_name(path, other, sizeof(other));
    for (size_t i = 0; i < search->options->sysroot_count; i++) {
        struct hs_candidate candidate = {.root = search->options->sysroots[i], .path = path, .trust = trust};
        if (hs_candidate__try(search, &candidate))
            return true;
        candidate.path = other;
        if (has_other && hs_candidate__try(search, &candidate))
            return true;
    }
    return false;
}

// This machine's file of that name. When a system root is given or another kind of machine was recorded (it may have
// been run here, by an emulator), it is the right one only when its build id says so or, where none was recorded, its
// segments.
static bool try_own(struct hs_search *search)
{
    struct hs_candidate candidate = {.path = search->module->path, .trust = HS_TRUST_PATH};
    const bool below_root = search->options->sysroot_count;
    candidate.is_own = below_root || hs_is_foreign(search->options);
    if (below_root && search->module->build_id_length)
        candidate.trust = HS_TRUST_BUILD_ID;
    return hs_candidate__try(search, &candidate);
}

static bool try_copy(struct hs_search *search)
{
    static const struct hs_candidate embedded = {.trust = HS_TRUST_PATH};
    if (!search->module->open_copy)
        return false;
    int fd = search->module->open_copy(search->module->context);
    return fd >= 0 && hs_candidate__try_descriptor(search, &embedded, fd, search->module->path);
}

// ---- by name -------------------------------------------------------------------------------------------------------

static bool try_names(struct hs_search *search)
{
    const unsigned step = search->needs_code ? 2 : 1;
    const char *path = search->module->path;
    char name[PATH_MAX];
    struct hs_candidate place;
    if ((size_t)snprintf(name, sizeof(name), "/%s", hs_path__name(path)) >= sizeof(name))
        return false;
    for (size_t i = 0; hs_debug_place(search->options, i, &place); i++) {
        const char *const paths[] = {path, name};
        for (unsigned k = 0; k < 4; k += step) {
            place.path = paths[k / 2];
            place.suffix = k % 2 ? ".debug" : "";
            if (hs_candidate__try(search, &place))
                return true;
        }
    }
    return false;
}

void hs_locate(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
               struct hs_located *located)
{
    struct hs_search search = {.options = options, .module = module, .located = located};
    *located = (struct hs_located){.state = HS_SYMBOLS_MISSING, .fd = -1};
    if (module->path[0] != '/') {
        try_copy(&search);
        return;
    }
    bool found = try_build_id(&search, ".debug") || try_sysroots(&search, HS_TRUST_PATH) || try_own(&search) ||
                 try_copy(&search) || try_build_id(&search, "") || try_names(&search) || try_any_name(&search);
    (void)found; // it is in *located
}

void hs_locate_code(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                    struct hs_located *located)
{
    struct hs_search search = {.options = options, .module = module, .located = located, .needs_code = true};
    *located = (struct hs_located){.state = HS_SYMBOLS_MISSING, .fd = -1};
    if (module->path[0] != '/') {
        try_copy(&search);
        return;
    }
    bool found = try_sysroots(&search, HS_TRUST_PATH) || try_own(&search) || try_copy(&search) ||
                 try_build_id(&search, "") || try_names(&search) || try_any_name(&search);
    (void)found; // it is in *located
}

// ---- debug information ---------------------------------------------------------------------------------------------

// In `directory` (its first `length` bytes) and in .debug below it.
static bool try_link_in(struct hs_search *search, const struct hs_debug_link *link, const char *root,
                        const char *directory, size_t length)
{
    static const char *const folders[] = {"", ".debug/"};
    char path[PATH_MAX];
    for (size_t i = 0; i < 2; i++) {
        struct hs_candidate candidate = {
            .root = root, .path = path, .trust = HS_TRUST_CHECKSUM, .checksum = link->checksum};
        int used = snprintf(path, sizeof(path), "%.*s%s%s", (int)length, directory, folders[i], link->name);
        if (used >= 0 && (size_t)used < sizeof(path) && hs_candidate__try(search, &candidate))
            return true;
    }
    return false;
}

static bool try_link_in_places(struct hs_search *search, const struct hs_debug_link *link)
{
    const char *recorded = search->module->path;
    char paths[2][PATH_MAX];
    struct hs_candidate place;
    snprintf(paths[0], sizeof(paths[0]), "%.*s%s", (int)directory_length(recorded), recorded, link->name);
    snprintf(paths[1], sizeof(paths[1]), "/%s", link->name);
    for (size_t i = 0; hs_debug_place(search->options, i, &place); i++) {
        place.trust = HS_TRUST_CHECKSUM;
        place.checksum = link->checksum;
        for (size_t k = 0; k < 2; k++) {
            place.path = paths[k];
            if (hs_candidate__try(search, &place))
                return true;
        }
    }
    return false;
}

static bool try_link(struct hs_search *search, const struct hs_debug_link *link)
{
    const char *recorded = search->module->path;
    // A link is a name; one with folders in it would lead anywhere.
    if (!link->name || !*link->name || strchr(link->name, '/'))
        return false;
    if (link->file && try_link_in(search, link, NULL, link->file, directory_length(link->file)))
        return true;
    for (size_t i = 0; i < search->options->sysroot_count; i++) {
        if (try_link_in(search, link, search->options->sysroots[i], recorded, directory_length(recorded)))
            return true;
    }
    return try_link_in_places(search, link);
}

int hs_locate_debug(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                    const struct hs_debug_link *link, char **path)
{
    struct hs_located located = {.state = HS_SYMBOLS_MISSING, .fd = -1};
    struct hs_search search = {
        .options = options, .module = module, .located = &located, .needs_debug_information = true, .own = link->file};
    // Another system root may have the file with everything in it.
    bool found = try_build_id(&search, ".debug") || try_link(&search, link) || try_names(&search) ||
                 try_sysroots(&search, HS_TRUST_BUILD_ID) || try_any_name(&search);
    if (!found) {
        free(located.path);
        return -1;
    }
    *path = located.path;
    return located.fd;
}

// Below each system root and, without their leading folder, in the debug directories.
static bool try_supplement(struct hs_search *search, const char *name)
{
    struct hs_candidate candidate = {.path = name, .trust = HS_TRUST_BUILD_ID};
    for (size_t i = 0; i < search->options->sysroot_count; i++) {
        candidate.root = search->options->sysroots[i];
        if (hs_candidate__try(search, &candidate))
            return true;
    }
    if (strncmp(name, DEBUG_FOLDER "/", sizeof(DEBUG_FOLDER)))
        return false;
    candidate = (struct hs_candidate){.path = name + sizeof(DEBUG_FOLDER) - 1, .trust = HS_TRUST_BUILD_ID};
    for (size_t i = 0; i < search->options->debug_dir_count; i++) {
        candidate.directory = search->options->debug_dirs[i];
        if (hs_candidate__try(search, &candidate))
            return true;
    }
    return false;
}

int hs_locate_supplement(const struct hs_symbols_options *options, const char *debug_file, const char *name,
                         const uint8_t *build_id, size_t build_id_length)
{
    const struct hs_symbols_module described = {.path = name, .build_id = build_id, .build_id_length = build_id_length};
    struct hs_located located = {.state = HS_SYMBOLS_MISSING, .fd = -1};
    struct hs_search search = {.options = options, .module = &described, .located = &located};
    char directory[PATH_MAX];
    struct hs_candidate beside = {.directory = directory, .path = name, .trust = HS_TRUST_BUILD_ID};
    bool found = try_build_id(&search, ".debug");
    if (!found && name[0] == '/')
        found = try_supplement(&search, name);
    if (!found && name[0] != '/' && debug_file) {
        snprintf(directory, sizeof(directory), "%.*s", (int)directory_length(debug_file), debug_file);
        found = hs_candidate__try(&search, &beside);
    }
    free(located.path);
    return found ? located.fd : -1;
}

// ---- packages ------------------------------------------------------------------------------------------------------

#define PACKAGE ".dwp"

// Debian's dwp and gdb take the program's name; some take that of the file with debug information, program.debug.
static bool try_package_of(struct hs_search *search, const char *file)
{
    char path[PATH_MAX];
    struct hs_candidate candidate = {.path = file, .suffix = PACKAGE, .trust = HS_TRUST_BUILD_ID};
    size_t length = file ? strlen(file) : 0, suffix = strlen(".debug");
    if (!file || hs_candidate__try(search, &candidate))
        return file != NULL;
    if (length <= suffix || length >= sizeof(path) || strcmp(file + length - suffix, ".debug") != 0)
        return false;
    snprintf(path, sizeof(path), "%.*s", (int)(length - suffix), file);
    candidate.path = path;
    return hs_candidate__try(search, &candidate);
}

static bool try_package_in_places(struct hs_search *search)
{
    char name[PATH_MAX];
    struct hs_candidate place;
    const char *const paths[] = {search->module->path, name};
    if ((size_t)snprintf(name, sizeof(name), "/%s", hs_path__name(search->module->path)) >= sizeof(name))
        return false;
    for (size_t i = 0; hs_debug_place(search->options, i, &place); i++) {
        place.suffix = PACKAGE;
        for (unsigned k = 0; k < 2; k++) {
            place.path = paths[k];
            if (hs_candidate__try(search, &place))
                return true;
        }
    }
    return false;
}

bool hs_locate_package(const struct hs_symbols_options *options, const struct hs_symbols_module *module,
                       const struct hs_package_search *wanted)
{
    struct hs_located located = {.state = HS_SYMBOLS_MISSING, .fd = -1};
    struct hs_search search = {.options = options,
                               .module = module,
                               .located = &located,
                               .accepts = wanted->accepts,
                               .context = wanted->context};
    struct hs_candidate recorded = {.path = module->path, .suffix = PACKAGE, .trust = HS_TRUST_BUILD_ID};
    bool found = try_package_of(&search, wanted->files[0]) || try_package_of(&search, wanted->files[1]);
    for (size_t i = 0; !found && module->path[0] == '/' && i < options->sysroot_count; i++) {
        recorded.root = options->sysroots[i];
        found = hs_candidate__try(&search, &recorded);
    }
    found = found || (module->path[0] == '/' && try_package_in_places(&search)) || try_build_id(&search, PACKAGE);
    if (found)
        close(located.fd);
    free(located.path);
    return found;
}
