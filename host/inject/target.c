// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_PAUSE_NS = 200 * 1000, MOST_LOOKS = 4000, LOOKS_UNTIL_ASKED = 24 };

// ---- files of /proc ------------------------------------------------------------------------------------------------

static FILE *open_file(pid_t pid, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

bool hs_inject_target__status(pid_t pid, const char *name, char *value, size_t size)
{
    char line[512];
    bool found = false;
    FILE *file = open_file(pid, "status");
    size_t length = strlen(name);
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, length) || line[length] != ':')
            continue;
        const char *from = line + length + 1;
        from += strspn(from, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(from, "\n"), from);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

bool hs_inject_target__thread_line(const struct hs_inject_target *target, pid_t tid, const char *name, char *line,
                                   size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "task/%d/%s", (int)tid, name);
    FILE *file = open_file(target->pid, path);
    bool found = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    return found;
}

static pid_t own_tid(const struct hs_inject_target *target, pid_t tid)
{
    char path[64], line[512];
    pid_t number = tid;
    snprintf(path, sizeof path, "task/%d/status", (int)tid);
    FILE *file = open_file(target->pid, path);
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "NSpid:", 6))
            continue;
        const char *last = strrchr(line, '\t');
        number = last ? (pid_t)atoi(last + 1) : tid;
        break;
    }
    if (file)
        fclose(file);
    return number;
}

pid_t hs_inject_target__own_tid(const struct hs_inject_target *target, pid_t tid)
{
    return target->has_own_numbers ? own_tid(target, tid) : tid;
}

bool hs_inject_target__has_thread(const struct hs_inject_target *target, pid_t own_tid)
{
    char path[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)target->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        found = tid > 0 && hs_inject_target__own_tid(target, tid) == own_tid;
    }
    if (folder)
        closedir(folder);
    return found;
}

static bool add_mapping(struct hs_inject_target *target, const struct hs_inject_mapping *mapping)
{
    if (target->mapping_count == target->mapping_room) {
        size_t room = target->mapping_room ? target->mapping_room * 2 : 256;
        struct hs_inject_mapping *mappings = realloc(target->mappings, room * sizeof *mappings);
        if (!mappings)
            return false;
        target->mappings = mappings;
        target->mapping_room = room;
    }
    target->mappings[target->mapping_count++] = *mapping;
    return true;
}

static void forget_mappings(struct hs_inject_target *target)
{
    for (size_t i = 0; i < target->mapping_count; i++)
        free(target->mappings[i].path);
    target->mapping_count = 0;
}

static bool take_line(struct hs_inject_target *target, char *line)
{
    unsigned long long start, end, offset;
    char rights[5];
    int path_at = 0;
    if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, rights, &offset, &path_at) < 4)
        return true;
    line[strcspn(line, "\n")] = 0;
    struct hs_inject_mapping mapping = {.start = start,
                                        .end = end,
                                        .offset = offset,
                                        .is_readable = rights[0] == 'r',
                                        .is_writable = rights[1] == 'w',
                                        .is_executable = rights[2] == 'x',
                                        .path = strdup(path_at ? line + path_at : "")};
    if (mapping.path && add_mapping(target, &mapping))
        return true;
    free(mapping.path);
    return false;
}

int hs_inject_target__read_mappings(struct hs_inject_target *target, struct hs_error *error)
{
    char *line = NULL;
    size_t size = 0;
    bool is_whole = true;
    FILE *file = open_file(target->pid, "maps");
    if (!file)
        return hs_error__set(error, errno, "/proc/%d/maps: %s", (int)target->pid, strerror(errno));
    forget_mappings(target);
    while (is_whole && getline(&line, &size, file) > 0)
        is_whole = take_line(target, line);
    free(line);
    fclose(file);
    if (!is_whole)
        return hs_error__set(error, ENOMEM, "out of memory");
    // An execve has a moment without any.
    return target->mapping_count
               ? 0
               : hs_error__set(error, ESRCH, "process %d has ended, or executes another program", (int)target->pid);
}

// ---- memory --------------------------------------------------------------------------------------------------------

// Of the program: libc's own two are 32 and 33.
static bool has_handlers(pid_t pid)
{
    char caught[64] = "";
    const uint64_t libcs = 3ull << 31;
    return !hs_inject_target__status(pid, "SigCgt", caught, sizeof caught) || (strtoull(caught, NULL, 16) & ~libcs);
}

int hs_inject_target__open(struct hs_inject_target *target, pid_t pid, struct hs_error *error)
{
    char path[64];
    *target = (struct hs_inject_target){.pid = pid, .arch = hs_inject_arch__native()};
    target->has_handlers = has_handlers(pid);
    target->has_own_numbers = own_tid(target, pid) != pid;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    target->memory = open(path, O_RDWR | O_CLOEXEC);
    if (target->memory < 0)
        return hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    return 0;
}

void hs_inject_target__close(struct hs_inject_target *target)
{
    target->is_starting = false;
    hs_inject_target__let_go(target);
    forget_mappings(target);
    free(target->mappings);
    free(target->threads);
    if (target->memory >= 0)
        close(target->memory);
    *target = (struct hs_inject_target){.memory = -1};
}

void hs_inject_target__keep(struct hs_inject_target *target)
{
    target->thread_count = 0;
}

bool hs_inject_target__is_held(const struct hs_inject_target *target)
{
    unsigned long unused;
    return !ptrace(PTRACE_GETEVENTMSG, target->pid, 0, &unused);
}

bool hs_inject_target__is_gone(const struct hs_inject_target *target)
{
    uint8_t byte;
    for (size_t i = 0; i < target->mapping_count; i++)
        if (target->mappings[i].is_executable && !hs_inject_target__read(target, target->mappings[i].start, &byte, 1))
            return false;
    return target->mapping_count > 0;
}

size_t hs_inject_target__read_some(const struct hs_inject_target *target, uint64_t at, void *bytes, size_t length)
{
    ssize_t done = pread(target->memory, bytes, length, (off_t)at);
    return done < 0 ? 0 : (size_t)done;
}

int hs_inject_target__read(const struct hs_inject_target *target, uint64_t at, void *bytes, size_t length)
{
    ssize_t done = pread(target->memory, bytes, length, (off_t)at);
    return done == (ssize_t)length ? 0 : done < 0 ? -errno : -EIO;
}

int hs_inject_target__write(const struct hs_inject_target *target, uint64_t at, const void *bytes, size_t length)
{
    ssize_t done = pwrite(target->memory, bytes, length, (off_t)at);
    return done == (ssize_t)length ? 0 : done < 0 ? -errno : -EIO;
}

int hs_inject_target__not_written(const struct hs_inject_target *target, int failed, struct hs_error *error)
{
    return hs_error__set(error, -failed, "memory of process %d cannot be written: %s", (int)target->pid,
                         strerror(-failed));
}

// ---- stopped threads -----------------------------------------------------------------------------------------------

static bool is_of_real_time(int policy)
{
    const int kind = policy & ~SCHED_RESET_ON_FORK;
    return kind != SCHED_OTHER && kind != SCHED_BATCH && kind != SCHED_IDLE;
}

// Without the capability CAP_SYS_NICE, SCHED_RESET_ON_FORK cannot be taken off again, and stays.
void hs_inject_target__hurry(bool on)
{
    static int usual = -1; // the policy while it hurries
    const struct sched_param first = {.sched_priority = 1}, none = {.sched_priority = 0};
    const int policy = sched_getscheduler(0);
    if (on && usual < 0 && policy >= 0 && !is_of_real_time(policy) &&
        !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first))
        usual = policy;
    if (on || usual < 0)
        return;
    if (sched_setscheduler(0, usual, &none))
        sched_setscheduler(0, usual | SCHED_RESET_ON_FORK, &none);
    usual = -1;
}

static void remove_thread(struct hs_inject_target *target, size_t index)
{
    target->threads[index] = target->threads[--target->thread_count];
}

static void let_stopped_go(struct hs_inject_target *target, size_t first)
{
    for (size_t i = target->thread_count; i-- > first;)
        if (target->threads[i].is_stopped && !ptrace(PTRACE_DETACH, target->threads[i].tid, 0, 0))
            remove_thread(target, i);
}

// As /proc names it; 0: there is no such thread.
static char state_of(pid_t tid)
{
    char state[32] = "";
    hs_inject_target__status(tid, "State", state, sizeof state);
    return state[0];
}

static bool is_ending(pid_t tid)
{
    const char state = state_of(tid);
    return !state || state == 'Z' || state == 'X';
}

// The end of the first thread is left for the process that started it: an execve does not wait for that.
static bool is_let_go(const struct hs_inject_target *target, pid_t tid, bool asks)
{
    siginfo_t told = {.si_pid = 0};
    const int kinds = WSTOPPED | (tid == target->pid ? 0 : WEXITED);
    if (waitid(P_PID, (id_t)tid, &told, kinds | WNOHANG | __WALL))
        return errno != EINTR;
    if (told.si_pid && told.si_code != CLD_TRAPPED && told.si_code != CLD_STOPPED)
        return true;
    const bool is_event = told.si_status >> 8 || told.si_status == (SIGTRAP | 0x80);
    if (told.si_pid)
        return !ptrace(PTRACE_DETACH, tid, 0, (void *)(intptr_t)(is_event ? 0 : told.si_status));
    if (asks)
        ptrace(PTRACE_INTERRUPT, tid, 0, 0);
    return tid == target->pid && is_ending(tid);
}

static bool all_wait(const struct hs_inject_target *target, size_t first)
{
    for (size_t i = first; i < target->thread_count; i++)
        if (state_of(target->threads[i].tid) != 'D')
            return false;
    return true;
}

// One that runs has to stop for it. The kernel can lose that during an execve, so that it is asked again now and then.
// One that is being killed, by the end of the process or by an execve, does not stop; both wait until whoever traces
// it has been told of its end. Those that wait in the kernel for anything else are left.
static void let_others_go(struct hs_inject_target *target, size_t first)
{
    const struct timespec pause = {0, LOOK_PAUSE_NS};
    for (unsigned all = 0, looks = 0; target->thread_count > first && looks < MOST_LOOKS; all++) {
        for (size_t i = target->thread_count; i-- > first;)
            if (is_let_go(target, target->threads[i].tid, all % LOOKS_UNTIL_ASKED == 0))
                remove_thread(target, i);
        looks = all_wait(target, first) ? looks + 1 : 0;
        if (target->thread_count > first)
            nanosleep(&pause, NULL);
    }
    target->thread_count = first;
}

// A thread that executes another program becomes the first one, and stays traced.
static void let_executed_go(struct hs_inject_target *target)
{
    char tracer[32] = "";
    hs_inject_target__status(target->pid, "TracerPid", tracer, sizeof tracer);
    if ((pid_t)atoi(tracer) != getpid())
        return;
    target->threads[target->thread_count++] = (struct hs_thread_stop){.tid = target->pid};
    let_others_go(target, 0);
}

void hs_inject_target__let_go(struct hs_inject_target *target)
{
    if (target->is_starting)
        return;
    let_stopped_go(target, 0);
    hs_inject_target__hurry(false);
    const bool has_lost = target->has_lost || target->thread_count;
    let_others_go(target, 0);
    if (has_lost)
        let_executed_go(target);
    target->has_lost = false;
}

void hs_inject_target__let_thread_go(struct hs_inject_target *target, size_t index)
{
    const struct hs_thread_stop thread = target->threads[index];
    const size_t last = target->thread_count - 1;
    target->threads[index] = target->threads[last];
    target->threads[last] = thread;
    let_stopped_go(target, last);
    target->has_lost |= target->thread_count > last;
    let_others_go(target, last);
}

void hs_inject_target__drop_thread(struct hs_inject_target *target, size_t index)
{
    remove_thread(target, index);
    target->has_lost = true;
}
