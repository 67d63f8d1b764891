// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/jit_source.h"

#include "format/trace_format.h"
#include "host/base/clock.h"
#include "host/symbols/jit_dump.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TICK 20000000u // ns: file systems stamp with the coarse clock, which may lag by a tick

enum { STEP = 1 << 20, MOST_FOLDERS = 1000 };

// ---- folders -------------------------------------------------------------------------------------------------------

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

// Of linux/openat2.h, which older headers lack.
struct jit_source_how {
    uint64_t flags, mode, resolve;
};
enum { NO_MAGIC_LINKS = 2, IN_ROOT = 16 };

static bool is_link(int folder, const char *name)
{
    struct stat status;
    return !fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) && S_ISLNK(status.st_mode);
}

// Name by name, for kernels before 5.6. ELOOP: there is a link or "..", which is not followed.
static int open_without_links(int root, const char *path)
{
    char name[NAME_MAX + 1];
    int folder = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && *(path += strspn(path, "/"))) {
        const size_t length = strcspn(path, "/");
        int next = -1;
        errno = ELOOP;
        if (length < sizeof(name) && !(length == 2 && !memcmp(path, "..", 2))) {
            memcpy(name, path, length);
            name[length] = 0;
            next = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (next < 0 && errno == ENOTDIR && is_link(folder, name))
                errno = ELOOP;
        }
        close(folder);
        folder = next;
        path += length;
    }
    return folder;
}

int hs_jit_source__open_folder(int root, const char *path)
{
    const struct jit_source_how how = {O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC, 0, IN_ROOT | NO_MAGIC_LINKS};
    if (root == AT_FDCWD)
        return open(path, (int)how.flags);
    int folder = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (folder < 0 && (errno == ENOSYS || errno == EPERM))
        folder = open_without_links(root, path);
    return folder;
}

// ---- files ---------------------------------------------------------------------------------------------------------

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * HS_SECOND + (uint64_t)time->tv_nsec;
}

// A process with mounts of its own can show another user's file there, which it may not read itself.
static bool is_of_process(const struct stat *file, const struct hs_jit_process *process)
{
    return S_ISREG(file->st_mode) && file->st_nlink == 1 &&
           (file->st_uid == process->user || (file->st_uid == geteuid() && process->root == AT_FDCWD)) &&
           ns_of(&file->st_mtim) + TICK >= process->began;
}

// Up to the end of the last line that fits, and a byte behind it: half a line, which tells whoever reads it that there
// was more.
static int read_map(int fd, struct hs_buffer *to, size_t most)
{
    const size_t start = to->count;
    ssize_t got = 1;
    while (got > 0 && to->count - start < most) {
        const size_t left = most - (to->count - start), step = left < STEP ? left : STEP;
        if (!hs_buffer__reserve(to, step))
            return -ENOMEM;
        got = read(fd, to->bytes + to->count, step);
        if (got < 0)
            return -errno;
        to->count += (size_t)got;
    }
    if (!got)
        return 0;
    const uint8_t *end = memrchr(to->bytes + start, '\n', to->count - start - 1);
    to->count = end ? (size_t)(end + 1 - to->bytes) : start;
    to->bytes[to->count++] = ' ';
    return -EFBIG;
}

static void take_contents(struct hs_jit_source *source, const char *path, int fd)
{
    struct hs_buffer file = {0};
    uint8_t start[64];
    hs_buffer__put(&file, path, strlen(path) + 1);
    const size_t name = file.count, most = HS_CHUNK_MAX_LENGTH - name;
    ssize_t got = pread(fd, start, sizeof(start), 0);
    int result = file.failed                                           ? -ENOMEM
                 : got < 0                                             ? -errno
                 : hs_jit_dump__is(start, (size_t)(got < 0 ? 0 : got)) ? hs_jit_dump__condense(fd, &file, most)
                                                                       : read_map(fd, &file, most);
    bool is_cut = result == -EFBIG || result == -EBADMSG;
    if (is_cut)
        result = 0;
    if (!result && file.count > name)
        result = source->take(source->context, &file, is_cut);
    source->problem = result ? result : source->problem;
    hs_buffer__free(&file);
}

// `path` is its name for people. False: there is no such file of this process.
static bool take_file(struct hs_jit_source *source, const struct hs_jit_process *process, int folder, const char *name,
                      const char *path)
{
    struct stat status;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        source->refused += errno == ELOOP;
        return false;
    }
    bool is_good = !fstat(fd, &status) && is_of_process(&status, process);
    if (is_good)
        take_contents(source, path, fd);
    else
        source->refused++;
    close(fd);
    return is_good;
}

static bool take_from(struct hs_jit_source *source, const struct hs_jit_process *process, int folder, const char *where,
                      const char *name)
{
    char path[PATH_MAX + NAME_MAX + 2];
    snprintf(path, sizeof(path), "%s/%s", where, name);
    return take_file(source, process, folder, name, path);
}

static bool take_from_path(struct hs_jit_source *source, const struct hs_jit_process *process, const char *where,
                           const char *name)
{
    int folder = hs_jit_source__open_folder(process->root, where);
    bool done = folder >= 0 && take_from(source, process, folder, where, name);
    if (folder >= 0)
        close(folder);
    return done;
}

bool hs_jit_source__map(struct hs_jit_source *source, const struct hs_jit_process *process)
{
    char name[32];
    snprintf(name, sizeof(name), "perf-%u.map", process->pid);
    return take_from_path(source, process, "/tmp", name);
}

// LLVM, and so Julia, makes a folder for each process.
static bool take_of_llvm(struct hs_jit_source *source, const struct hs_jit_process *process, const char *name)
{
    char where[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    bool any = false;
    unsigned left = MOST_FOLDERS;
    if (!process->home || *process->home != '/' ||
        snprintf(where, sizeof(where), "%s/.debug/jit", process->home) >= (int)sizeof(where))
        return false;
    int fd = hs_jit_source__open_folder(process->root, where);
    // A descriptor by open_without_links() cannot be read.
    int folder = fd < 0 ? -1 : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    DIR *all = folder < 0 ? NULL : fdopendir(folder);
    for (const struct dirent *entry; all && left && (entry = readdir(all)); left--) {
        if (entry->d_name[0] == '.')
            continue;
        int one = openat(fd, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        snprintf(path, sizeof(path), "%s/%s", where, entry->d_name);
        any |= one >= 0 && take_from(source, process, one, path, name);
        if (one >= 0)
            close(one);
    }
    if (all)
        closedir(all);
    else if (folder >= 0)
        close(folder);
    if (fd >= 0)
        close(fd);
    return any;
}

bool hs_jit_source__dump(struct hs_jit_source *source, const struct hs_jit_process *process)
{
    char name[32];
    snprintf(name, sizeof(name), "jit-%u.dump", process->pid);
    return take_from_path(source, process, "/tmp", name) ||
           (process->folder != -1 && process->here &&
            take_from(source, process, process->folder, process->here, name)) ||
           take_of_llvm(source, process, name);
}

// ---- a process that runs -------------------------------------------------------------------------------------------

static bool same_link(pid_t pid, const char *name)
{
    char path[64], there[256], here[256];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    ssize_t length = readlink(path, there, sizeof(there));
    snprintf(path, sizeof(path), "/proc/self/%s", name);
    return length > 0 && readlink(path, here, sizeof(here)) == length && !memcmp(here, there, (size_t)length);
}

static int open_link(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static char *value_of(pid_t pid, const char *variable)
{
    char path[64], *entry = NULL, *value = NULL;
    size_t room = 0, length = strlen(variable);
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !value && getdelim(&entry, &room, 0, file) > 0)
        if (!strncmp(entry, variable, length) && entry[length] == '=' && entry[length + 1])
            value = strdup(entry + length + 1);
    if (file)
        fclose(file);
    free(entry);
    return value;
}

static void read_status(struct hs_jit_process *process, pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        unsigned long user;
        if (sscanf(line, "Uid:\t%*u\t%lu", &user) == 1)
            process->user = (uid_t)user;
        // The last one is that of its own namespace.
        const char *last = strrchr(line, '\t');
        if (!strncmp(line, "NSpid:", 6) && last)
            process->pid = (uint32_t)strtoul(last + 1, NULL, 10);
    }
    if (file)
        fclose(file);
}

// 0: not known.
static uint64_t start_of(pid_t pid)
{
    char path[64], line[1024] = "";
    unsigned long long ticks = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    line[fread(line, 1, sizeof(line) - 1, file)] = 0;
    fclose(file);
    // Its name is in parentheses and may have any letters.
    const char *at = strrchr(line, ')');
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                      &ticks) != 1)
        return 0;
    const uint64_t rate = (uint64_t)sysconf(_SC_CLK_TCK);
    const uint64_t since_boot = ticks / rate * HS_SECOND + ticks % rate * HS_SECOND / rate;
    return hs_clock__realtime() - hs_clock__ns_of(CLOCK_BOOTTIME) + since_boot;
}

int hs_jit_process__open(struct hs_jit_process *process, pid_t pid)
{
    struct stat here, there = {0};
    char path[PATH_MAX], link[64];
    *process =
        (struct hs_jit_process){.pid = (uint32_t)pid, .root = AT_FDCWD, .mounts = -1, .folder = -1, .user = geteuid()};
    process->began = start_of(pid);
    int root = open_link(pid, "root");
    if (!process->began || root < 0) {
        int result = root < 0 ? -errno : -ESRCH;
        if (root >= 0)
            close(root);
        return result;
    }
    process->root = root;
    if (same_link(pid, "ns/mnt") && !stat("/", &here) && !fstat(root, &there) && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino) {
        close(root);
        process->root = AT_FDCWD;
    }
    if (process->root != AT_FDCWD) {
        snprintf(link, sizeof(link), "/proc/%d/ns/mnt", (int)pid);
        process->mounts = open(link, O_RDONLY | O_CLOEXEC);
    }
    read_status(process, pid);
    process->folder = open_link(pid, "cwd");
    snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    process->here = length > 0 ? strndup(path, (size_t)length) : NULL;
    process->home = value_of(pid, "JITDUMPDIR");
    if (!process->home)
        process->home = value_of(pid, "HOME");
    return 0;
}

void hs_jit_process__close(struct hs_jit_process *process)
{
    if (process->root != AT_FDCWD && process->root >= 0)
        close(process->root);
    if (process->mounts >= 0)
        close(process->mounts);
    if (process->folder != AT_FDCWD && process->folder >= 0)
        close(process->folder);
    free(process->here);
    free(process->home);
    *process = (struct hs_jit_process){.root = AT_FDCWD, .mounts = -1, .folder = -1};
}
