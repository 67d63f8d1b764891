// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/control_place.h"

#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/place.h"
#include "runtime/prof/options.h"
#include "runtime/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { BACKLOG = 64, MOST_NAMES = 8, NOBODY = 65534 };

extern char **environ __attribute__((weak));

static char runtime_folder[HS_CONTROL_PATH]; // $XDG_RUNTIME_DIR

void hs_control_place__remember(void)
{
    static const char name[] = "XDG_RUNTIME_DIR=";
    if (hs_config.unread || !&environ || !environ)
        return;
    for (char **entry = environ; *entry; entry++) {
        if (!hs_text__starts_with(*entry, name))
            continue;
        const char *value = *entry + sizeof name - 1;
        // The rest of the name is "/heapsonde/", a number and ".sock".
        if (*value == '/' && hs_text__length(value) < HS_CONTROL_PATH - 32) {
            struct hs_text text;
            hs_text__start(&text, runtime_folder, sizeof runtime_folder);
            hs_text__add(&text, value);
        }
        return;
    }
}

bool hs_control_place__is_in_valgrind(void)
{
    if (!&environ || !environ)
        return false;
    for (char **entry = environ; *entry; entry++) {
        if (!hs_text__starts_with(*entry, "LD_PRELOAD="))
            continue;
        for (const char *at = *entry; *at; at++)
            if (hs_text__starts_with(at, "/vgpreload_"))
                return true;
    }
    return false;
}

// ---- the folder -----------------------------------------------------------------------------------------------------

static bool is_private(const char *path, uint32_t user)
{
    struct hs_file_status status;
    return hs_system_status_of(path, AT_SYMLINK_NOFOLLOW, &status) == 0 && S_ISDIR(status.mode) &&
           status.user == user && !(status.mode & (S_IRWXG | S_IRWXO));
}

static bool make_private(const char *path, uint32_t user)
{
    long made = HS_SYSTEM3(SYS_mkdirat, -100, path, 0700);
    return (made == 0 || made == -EEXIST) && is_private(path, user);
}

static bool folder_in_runtime(char *path, uint32_t user)
{
    struct hs_text text;
    hs_text__start(&text, path, HS_CONTROL_PATH);
    hs_text__add(&text, runtime_folder);
    struct hs_file_status status;
    if (!runtime_folder[0] || hs_system_status_of(path, 0, &status) != 0 || !S_ISDIR(status.mode))
        return false;
    if (status.user != user || status.mode & (S_IWGRP | S_IWOTH))
        return false;
    hs_text__add(&text, "/heapsonde");
    return make_private(path, user);
}

// The owner of /tmp does not matter, also in a namespace: its sticky bit protects our folder from other users.
static bool is_sticky(const char *path)
{
    struct hs_file_status status;
    return hs_system_status_of(path, 0, &status) == 0 && S_ISDIR(status.mode) &&
           (!(status.mode & (S_IWGRP | S_IWOTH)) || status.mode & S_ISVTX);
}

static bool folder_in_tmp(char *path, uint32_t user)
{
    struct hs_text text;
    hs_text__start(&text, path, HS_CONTROL_PATH);
    hs_text__add(&text, "/tmp");
    if (!is_sticky(path))
        return false;
    hs_text__add(&text, "/heapsonde-");
    hs_text__add_number(&text, user);
    return make_private(path, user);
}

// ---- the socket -----------------------------------------------------------------------------------------------------

static long on_address(long call, int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = hs_text__length(path);
    if (length >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    __builtin_memcpy(address.sun_path, path, length);
    return HS_SYSTEM3(call, fd, &address, offsetof(struct sockaddr_un, sun_path) + length + 1);
}

static long new_socket(void)
{
    return HS_SYSTEM3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

long hs_control_place__connect(const char *path)
{
    long fd = new_socket();
    if (fd < 0)
        return fd;
    long result = on_address(SYS_connect, (int)fd, path);
    if (result == 0)
        return fd;
    hs_system_close((int)fd);
    return result;
}

void hs_control_place__remove(const char *path)
{
    if (!hs_system_forbids(HS_FORBIDDEN_FILES))
        HS_SYSTEM3(SYS_unlinkat, -100, path, 0);
}

// An ended process may leave its socket behind, on which nobody listens.
static bool remove_stale(const char *path)
{
    struct hs_file_status status;
    if (hs_system_status_of(path, AT_SYMLINK_NOFOLLOW, &status) != 0 || !S_ISSOCK(status.mode))
        return false;
    long fd = hs_control_place__connect(path);
    if (fd >= 0)
        hs_system_close((int)fd);
    if (fd != -ECONNREFUSED)
        return false;
    hs_control_place__remove(path);
    return true;
}

static long bind_at(int fd, const char *path)
{
    struct hs_place place;
    long result = hs_place__find(&place, path, false); // not through links of other users
    if (result)
        return result;
    hs_place__leave(&place);
    HS_SYSTEM2(SYS_fchmod, fd, 0600); // which the name gets with it
    result = on_address(SYS_bind, fd, path);
    if (result == -EADDRINUSE && remove_stale(path))
        result = on_address(SYS_bind, fd, path);
    if (result < 0)
        return result;
    result = HS_SYSTEM2(SYS_listen, fd, BACKLOG);
    if (result < 0)
        hs_control_place__remove(path);
    return result;
}

// Another process with the same number, in another namespace but with the same folder, may have the name.
static long bind_in_folder(int fd, char *path)
{
    size_t folder_length = hs_text__length(path);
    long result = -EADDRINUSE;
    for (unsigned i = 0; i < MOST_NAMES && result == -EADDRINUSE; i++) {
        struct hs_text text;
        hs_text__start(&text, path + folder_length, HS_CONTROL_PATH - folder_length);
        hs_text__add(&text, "/");
        hs_text__add_number(&text, (uint64_t)hs_system_getpid());
        if (i) {
            hs_text__add(&text, ".");
            hs_text__add_number(&text, i);
        }
        hs_text__add(&text, ".sock");
        result = bind_at(fd, path);
    }
    return result;
}

// "%p" is the number of the process.
static void expand_path(char *path)
{
    struct hs_text text;
    hs_text__start(&text, path, HS_CONTROL_PATH);
    for (const char *from = hs_prof_texts.control_path; *from; from++) {
        if (from[0] == '%' && from[1] == 'p') {
            hs_text__add_number(&text, (uint64_t)hs_system_getpid());
            from++;
        } else {
            hs_text__add_character(&text, *from);
        }
    }
}

// In a user namespace that does not map it, this user looks like every other unmapped user: nobody.
static bool is_told_apart(uint32_t user)
{
    static const char everybody[] = "4294967295";
    char map[128];
    if (user != NOBODY)
        return true;
    size_t length = hs_text__read_file("/proc/self/uid_map", map, sizeof map);
    while (length && (map[length - 1] == '\n' || map[length - 1] == ' '))
        map[--length] = 0;
    return length > sizeof everybody && hs_text__equal(map + length - (sizeof everybody - 1), everybody);
}

long hs_control_place__bind(char *path)
{
    uint32_t user = (uint32_t)HS_SYSTEM0(HS_KERNEL_GETEUID);
    if (!is_told_apart(user))
        return -EACCES;
    long fd = new_socket();
    if (fd < 0)
        return fd;
    long result = -EACCES;
    if (hs_prof_texts.control_path[0]) {
        expand_path(path);
        result = bind_at((int)fd, path);
    } else if (folder_in_runtime(path, user) || folder_in_tmp(path, user)) {
        result = bind_in_folder((int)fd, path);
    }
    if (result < 0) {
        hs_system_close((int)fd);
        path[0] = 0;
        return result;
    }
    return fd;
}
