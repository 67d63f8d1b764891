// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/emulator.h"

#include "host/board/words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *qemu_name(const struct hs_abi *abi)
{
    static const char *const names[][2] = {
        {"amd64", "x86_64"}, {"aarch64", "aarch64"},   {"armhf", "arm"},
        {"armel", "arm"},    {"mips64el", "mips64el"}, {"mips64", "mips64"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(abi->name, names[i][0]))
            return names[i][1];
    }
    return abi->name;
}

static char *in_path(const char *name)
{
    const char *path = getenv("PATH");
    for (path = path ? path : "/bin:/usr/bin"; *path; path += strspn(path, ":")) {
        char full[PATH_MAX];
        int length = (int)strcspn(path, ":");
        snprintf(full, sizeof(full), "%.*s/%s", length, path, name);
        if (!access(full, X_OK))
            return strdup(full);
        path += length;
    }
    return NULL;
}

static char *find_qemu(const struct hs_abi *abi)
{
    char name[64];
    snprintf(name, sizeof(name), "qemu-%s", qemu_name(abi));
    char *path = in_path(name);
    snprintf(name, sizeof(name), "qemu-%s-static", qemu_name(abi));
    return path ? path : in_path(name);
}

// Do not follow links: in a copy of a root folder, their targets may not exist.
static bool has_loader(const char *root, const char *loader)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, loader);
    return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int find_root(struct hs_emulator *emulator, const char *target, const char *loader, const char *const *sysroots,
                     struct hs_error *error)
{
    for (size_t i = 0; sysroots[i]; i++) {
        if (has_loader(sysroots[i], loader)) {
            emulator->sysroot = sysroots[i];
            return 0;
        }
    }
    if (has_loader("", loader))
        return 0;
    if (sysroots[0])
        return hs_error__set(error, ENOENT,
                             "%s cannot be run: its loader %s is not below %s; give the root folder of its machine",
                             target, loader, sysroots[0]);
    return hs_error__set(
        error, ENOENT,
        "%s cannot be run: its loader %s is not on this machine; give a copy of the root folder of its "
        "machine with --sysroot",
        target, loader);
}

static int find_library(struct hs_emulator *emulator, const char *target, const struct hs_abi *abi,
                        struct hs_error *error)
{
    char path[PATH_MAX];
    struct hs_error reason = {.message = ""};
    int result = hs_shim__find(abi, HS_SHIM_TRACE, path, sizeof(path), &reason);
    if (result)
        return hs_error__set(error, -result, "heapsonde cannot record %s, a program for %s: %s", target, abi->what,
                             reason.message);
    // QEMU separates variables by commas, and the loader separates libraries by colons or spaces.
    if (strpbrk(path, ",: \t"))
        return hs_error__set(error, EINVAL,
                             "heapsonde cannot record %s: the path of the recording library, %s, contains a space, a "
                             "comma or a colon; copy it to another folder and name that in HEAPSONDE_SHIMS",
                             target, path);
    emulator->library = strdup(path);
    return emulator->library ? 0 : hs_error__set(error, ENOMEM, "out of memory");
}

int hs_emulator__find(struct hs_emulator *emulator, const char *target, const struct hs_abi *abi,
                      const struct hs_probe *probe, const char *const *sysroots, struct hs_error *error)
{
    *emulator = (struct hs_emulator){.path = find_qemu(abi)};
    if (!emulator->path)
        return hs_error__set(error, ENOENT,
                             "%s is a program for %s, and qemu-%s was not found in PATH; install QEMU's user mode "
                             "(qemu-user), or record on such a machine with --on",
                             target, abi->what, qemu_name(abi));
    int result = find_root(emulator, target, probe->interpreter, sysroots, error);
    return result ? result : find_library(emulator, target, abi, error);
}

void hs_emulator__free(struct hs_emulator *emulator)
{
    free(emulator->path);
    free(emulator->library);
    *emulator = (struct hs_emulator){0};
}

char **hs_emulator__words(const struct hs_emulator *emulator, const char *path, char *const *arguments, bool records)
{
    enum { MOST_OF_QEMU = 9 };
    size_t count = 0, own = 0, rest = hs_words__count(arguments);
    const char *head[MOST_OF_QEMU];
    char preload[PATH_MAX + 16];
    head[own++] = emulator->path;
    if (emulator->sysroot) {
        head[own++] = "-L";
        head[own++] = emulator->sysroot;
    }
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", records ? emulator->library : "");
    head[own++] = "-E";
    head[own++] = preload;
    head[own++] = "-0";
    head[own++] = arguments[0];
    head[own++] = path;
    char **words = calloc(own + rest + 1, sizeof(*words));
    for (; words && count < own; count++)
        words[count] = strdup(head[count]);
    for (size_t i = 1; words && i < rest; i++)
        words[count++] = strdup(arguments[i]);
    for (size_t i = 0; words && i < count; i++) {
        if (words[i])
            continue;
        hs_words__free(words);
        return NULL;
    }
    return words;
}
