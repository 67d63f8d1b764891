// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/ctl/find.h"

#include "host/base/text_stream.h"
#include "host/ctl/client.h"
#include "host/report/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAMES = 8, TRIES = 100, TRY_MS = 20, MOST_FOLDERS = 4 };

// ---- what /proc says ------------------------------------------------------------------------------------------------

static char *read_proc(pid_t pid, const char *name, size_t *length)
{
    char path[64];
    struct hs_text_stream bytes;
    snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    FILE *memory = hs_text_stream__open(&bytes);
    for (int byte = memory ? getc(file) : EOF; byte != EOF; byte = getc(file))
        putc(byte, memory);
    fclose(file);
    char *text = hs_text_stream__close(&bytes);
    *length = bytes.size;
    return text;
}

void hs_ctl__name(pid_t pid, char *name, size_t size)
{
    size_t length = 0;
    char *text = read_proc(pid, "comm", &length);
    snprintf(name, size, "%.*s", text ? (int)strcspn(text, "\n") : 1, text ? text : "?");
    hs_text__clean(name); // a process calls itself as it likes
    free(text);
}

static bool has_library(pid_t pid)
{
    size_t length = 0;
    char *maps = read_proc(pid, "maps", &length);
    bool found = maps && strstr(maps, "libheapsonde-prof");
    free(maps);
    return found;
}

// The number that the process has in its own namespace.
static long own_number(pid_t pid)
{
    size_t length = 0;
    char *status = read_proc(pid, "status", &length);
    const char *line = status ? strstr(status, "\nNSpid:") : NULL;
    long number = pid;
    if (line) {
        const char *end = line + 1 + strcspn(line + 1, "\n");
        while (end[-1] >= '0' && end[-1] <= '9')
            end--;
        number = strtol(end, NULL, 10);
    }
    free(status);
    return number;
}

static void runtime_folder(pid_t pid, char *folder, size_t size)
{
    static const char name[] = "XDG_RUNTIME_DIR=";
    size_t length = 0;
    char *environment = read_proc(pid, "environ", &length);
    *folder = 0;
    for (size_t i = 0; environment && i < length; i += strlen(environment + i) + 1)
        if (!strncmp(environment + i, name, sizeof(name) - 1))
            snprintf(folder, size, "%s/heapsonde", environment + i + sizeof(name) - 1);
    free(environment);
}

// ---- one process ----------------------------------------------------------------------------------------------------

static bool listens(struct hs_ctl_process *process, const char *root, const char *folder, long number)
{
    for (unsigned i = 0; i < MOST_NAMES; i++) {
        char suffix[16] = "";
        pid_t pid = 0;
        uid_t user = 0;
        if (i)
            snprintf(suffix, sizeof(suffix), ".%u", i);
        snprintf(process->socket, sizeof(process->socket), "%s%s/%ld%s.sock", root, folder, number, suffix);
        int result = hs_ctl__owner(process->socket, &pid, &user);
        if (result == -ENOENT)
            return false;
        if (!result && pid == process->pid) {
            process->user = user;
            return true;
        }
    }
    return false;
}

static bool look(struct hs_ctl_process *process, uid_t user)
{
    char folders[MOST_FOLDERS][PATH_MAX / 2] = {{0}};
    char root[64];
    long number = own_number(process->pid);
    const char *mine = getenv("XDG_RUNTIME_DIR");
    snprintf(root, sizeof(root), "/proc/%ld/root", (long)process->pid);
    runtime_folder(process->pid, folders[0], sizeof(folders[0]));
    if (mine)
        snprintf(folders[1], sizeof(folders[1]), "%s/heapsonde", mine);
    snprintf(folders[2], sizeof(folders[2]), "/run/user/%ld/heapsonde", (long)user);
    snprintf(folders[3], sizeof(folders[3]), "/tmp/heapsonde-%ld", (long)user);
    for (unsigned i = 0; i < MOST_FOLDERS; i++) {
        if (folders[i][0] && (listens(process, "", folders[i], number) || listens(process, root, folders[i], number)))
            return true;
    }
    return false;
}

int hs_ctl__find(struct hs_ctl_process *process, pid_t pid, struct hs_error *error)
{
    char path[64];
    struct stat status;
    *process = (struct hs_ctl_process){.pid = pid};
    snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
    for (int i = 0; i < TRIES; i++) {
        if (stat(path, &status))
            return hs_error__set(error, ESRCH, "there is no process %ld", (long)pid);
        if (look(process, status.st_uid))
            return 0;
        if (!has_library(pid))
            break;
        poll(NULL, 0, TRY_MS);
    }
    if (status.st_uid != geteuid() && geteuid() != 0)
        return hs_error__set(error, EACCES, "process %ld belongs to another user; only that user and root control it",
                             (long)pid);
    if (has_library(pid))
        return hs_error__set(
            error, ENOENT,
            "process %ld has libheapsonde-prof.so but no control socket; it gets one when it is started "
            "with prof:true or experimental_hs_control:true in MALLOC_CONF",
            (long)pid);
    return hs_error__set(error, ENOENT,
                         "process %ld does not have libheapsonde-prof.so; 'heapsonde attach --sample %ld' puts it "
                         "there, or start it with "
                         "LD_PRELOAD=libheapsonde-prof.so and experimental_hs_control:true in MALLOC_CONF, or with "
                         "libheapsonde-trace.so and HEAPSONDE_ENABLE_SERVER=1",
                         (long)pid, (long)pid);
}

// ---- all of them ----------------------------------------------------------------------------------------------------

struct list {
    struct hs_ctl_process *processes;
    size_t count;
    bool failed;
};

static bool is_known(const struct list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->processes[i].pid == pid)
            return true;
    return false;
}

static void add(struct list *list, const struct hs_ctl_process *process)
{
    struct hs_ctl_process *more = realloc(list->processes, (list->count + 1) * sizeof(*more));
    if (!more) {
        list->failed = true;
        return;
    }
    list->processes = more;
    list->processes[list->count++] = *process;
}

// Whether the process that a socket is named after may still begin to listen. The number may be another process's by
// now, or one of another namespace, which has a number of its own here.
static bool may_listen_yet(const char *name)
{
    pid_t pid = (pid_t)strtol(name, NULL, 10);
    return (!kill(pid, 0) || errno == EPERM) && has_library(pid);
}

// A killed process leaves its socket. It is renamed first, so that nobody connects to it meanwhile. A process that
// began to listen in that moment gets it back.
static void remove_stale(int folder, const char *path, const char *name)
{
    char aside[NAME_MAX + 1], where[PATH_MAX];
    pid_t pid = 0;
    uid_t user = 0;
    snprintf(aside, sizeof(aside), "%.*s.gone", NAME_MAX - 5, name);
    snprintf(where, sizeof(where), "%s/%s", path, aside);
    if (may_listen_yet(name) || renameat(folder, name, folder, aside))
        return;
    if (hs_ctl__owner(where, &pid, &user) != -ECONNREFUSED)
        (void)!linkat(folder, aside, folder, name, 0); // it fails where somebody has the name again
    unlinkat(folder, aside, 0);
}

static void visit_socket(struct list *list, int folder, bool own, const char *path, const char *name)
{
    struct hs_ctl_process process = {0};
    size_t length = strlen(name);
    if (length < 6 || strcmp(name + length - 5, ".sock") || name[0] < '1' || name[0] > '9')
        return;
    snprintf(process.socket, sizeof(process.socket), "%s/%s", path, name);
    int result = hs_ctl__owner(process.socket, &process.pid, &process.user);
    if (result == -ECONNREFUSED && own)
        remove_stale(folder, path, name);
    if (!result && process.pid > 0 && !is_known(list, process.pid))
        add(list, &process);
}

// Only what its owner alone can have written to.
static void visit_folder(struct list *list, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    bool private = !fstat(fd, &status) && !(status.st_mode & 077);
    bool own = status.st_uid == geteuid();
    struct dirent *entry;
    while (private && (own || !geteuid()) && (entry = readdir(folder)))
        visit_socket(list, fd, own, path, entry->d_name);
    closedir(folder);
}

// Root controls everybody's.
static void visit_users(struct list *list, const char *parent, const char *prefix, const char *suffix)
{
    DIR *folder = opendir(parent);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[PATH_MAX];
        const char *number = entry->d_name + strlen(prefix);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) || !*number || number[strspn(number, "0123456789")])
            continue;
        snprintf(path, sizeof(path), "%s/%s%s", parent, entry->d_name, suffix);
        visit_folder(list, path);
    }
    if (folder)
        closedir(folder);
}

static int by_pid(const void *left, const void *right)
{
    const struct hs_ctl_process *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

int hs_ctl__list(struct hs_ctl_process **processes, size_t *count, struct hs_error *error)
{
    struct list list = {0};
    const char *mine = getenv("XDG_RUNTIME_DIR");
    char path[PATH_MAX];
    if (mine) {
        snprintf(path, sizeof(path), "%s/heapsonde", mine);
        visit_folder(&list, path);
    }
    visit_users(&list, "/run/user", "", "/heapsonde");
    visit_users(&list, "/tmp", "heapsonde-", "");
    if (list.count)
        qsort(list.processes, list.count, sizeof(*list.processes), by_pid);
    *processes = list.processes;
    *count = list.count;
    return list.failed ? hs_error__set(error, ENOMEM, "out of memory") : 0;
}
