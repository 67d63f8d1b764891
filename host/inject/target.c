// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/target.h"

#include "host/base/clock.h"
#include "host/inject/thread.h"

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

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

enum { KERNEL_MASK = 8 * HS_INJECT_MASK, STOP_EVENT = PTRACE_EVENT_STOP };

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
    return is_whole ? 0 : hs_error__set(error, ENOMEM, "out of memory");
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

// ---- stopping ------------------------------------------------------------------------------------------------------

// The folder lists threads in the same order again.
static bool is_seized(const struct hs_inject_target *target, pid_t tid, size_t listed)
{
    if (listed < target->thread_count && target->threads[listed].tid == tid)
        return true;
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].tid == tid)
            return true;
    return false;
}

static int seize(struct hs_inject_target *target, pid_t tid)
{
    if (target->thread_count == target->thread_room) {
        size_t room = target->thread_room ? target->thread_room * 2 : 64;
        struct hs_thread_stop *threads = realloc(target->threads, room * sizeof *threads);
        if (!threads)
            return -ENOMEM;
        target->threads = threads;
        target->thread_room = room;
    }
    if (ptrace(PTRACE_SEIZE, tid, 0, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD))
        return -errno;
    target->threads[target->thread_count++] = (struct hs_thread_stop){.tid = tid};
    return 0;
}

static void drop_thread(struct hs_inject_target *target, size_t index)
{
    target->threads[index] = target->threads[--target->thread_count];
}

static bool is_stop_event(int status)
{
    return WIFSTOPPED(status) && status >> 16 == STOP_EVENT;
}

// A thread that ends cannot be seized any more.
// As /proc names it; 0: there is no such thread.
static char state_of(const struct hs_inject_target *target, pid_t tid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "task/%d/stat", (int)tid);
    FILE *file = open_file(target->pid, path);
    bool found = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    const char *state = found ? strrchr(line, ')') : NULL;
    return state ? state[2] : 0;
}

static bool is_ending(const struct hs_inject_target *target, pid_t tid)
{
    char state = state_of(target, tid);
    return !state || state == 'Z' || state == 'X';
}

static bool wait_for(pid_t tid, int *status)
{
    pid_t from;
    do
        from = waitpid(tid, status, __WALL);
    while (from < 0 && errno == EINTR);
    return from > 0;
}

enum { SHORTEST_PAUSE_NS = 10 * 1000, LONGEST_PAUSE_NS = 10 * 1000 * 1000 };
enum { LOOK_PAUSE_NS = 50 * 1000, WAITING_LOOKS = 24, WAITING_SECONDS = 30 };

static void pause_longer(struct timespec *pause)
{
    nanosleep(pause, NULL);
    if (pause->tv_nsec < LONGEST_PAUSE_NS)
        pause->tv_nsec += pause->tv_nsec / 4;
}

// The end of a process's first thread is not told before that of the others.
static bool wait_for_first(const struct hs_inject_target *target, int *status)
{
    struct timespec pause = {0, SHORTEST_PAUSE_NS};
    for (;;) {
        pid_t from = waitpid(target->pid, status, __WALL | WNOHANG);
        if (from > 0)
            return true;
        if ((from < 0 && errno != EINTR) || is_ending(target, target->pid))
            return false;
        pause_longer(&pause);
    }
}

// Whether the end of a child is told, which is left for the one who started it. `how`: WSTOPPED waits until that or a
// stop is, WNOHANG does not wait.
static bool has_ended(pid_t pid, int how)
{
    siginfo_t info = {.si_pid = 0};
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | how) && errno == EINTR)
        continue;
    return info.si_pid && (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

// The next stop of a child whose end is left for the one who started it. False: it has ended. No wait for a stop may
// take the end, which can come after it was seen that there is a stop.
static bool wait_for_child(pid_t pid, int *status)
{
    siginfo_t stop;
    do {
        stop = (siginfo_t){.si_pid = 0};
        if (has_ended(pid, WSTOPPED) ||
            (waitid(P_PID, (id_t)pid, &stop, WSTOPPED | WNOHANG | __WALL) && errno != EINTR))
            return false;
    } while (!stop.si_pid);
    *status = stop.si_status << 8 | 0x7f;
    return true;
}

// What waitpid says of a thread. False: nothing will be said.
static bool next_status(const struct hs_inject_target *target, const struct hs_thread_stop *thread, int *status)
{
    if (target->is_starting)
        return wait_for_child(target->pid, status);
    return thread->tid == target->pid ? wait_for_first(target, status) : wait_for(thread->tid, status);
}

// A signal that comes before the stop is delivered, and the stop follows. False: the thread has ended.
static bool wait_for_stop(const struct hs_inject_target *target, struct hs_thread_stop *thread)
{
    int status;
    for (;;) {
        if (!next_status(target, thread, &status) || !WIFSTOPPED(status))
            return false;
        if (is_stop_event(status))
            break;
        if (ptrace(PTRACE_CONT, thread->tid, 0, (void *)(intptr_t)(status >> 16 ? 0 : WSTOPSIG(status))))
            return false;
    }
    thread->is_stopped = true;
    thread->is_seen = false;
    return true;
}

// Returns the number of threads that were seized now.
static int seize_all(struct hs_inject_target *target, struct hs_error *error)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)target->pid);
    DIR *folder = opendir(path);
    if (!folder)
        return hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
    int added = 0;
    size_t listed = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid <= 0 || is_seized(target, tid, listed++))
            continue;
        int result = seize(target, tid);
        if (!result) {
            added++;
        } else if (!is_ending(target, tid)) {
            added = hs_error__set(error, -result, "thread %d cannot be stopped: %s", (int)tid, strerror(-result));
            break;
        }
    }
    closedir(folder);
    return added;
}

// Whether a wait for its stop ends soon. Not that of a thread that waits in the kernel: for a child of vfork, or a
// disk.
static bool will_stop(const struct hs_inject_target *target, pid_t tid)
{
    const struct timespec pause = {0, LOOK_PAUSE_NS};
    for (unsigned looks = 0; looks < WAITING_LOOKS;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) || info.si_pid)
            return true;
        char state = state_of(target, tid);
        if (!state || state == 'Z' || state == 'X')
            return true;
        looks = state == 'D' ? looks + 1 : 0;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void let_thread_go(struct hs_inject_target *target, size_t index)
{
    ptrace(PTRACE_DETACH, target->threads[index].tid, 0, 0);
    drop_thread(target, index);
}

// Waits for the last one first: most others have stopped then, and need no wait each.
static void interrupt_all(struct hs_inject_target *target)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (!target->threads[i].is_stopped)
            ptrace(PTRACE_INTERRUPT, target->threads[i].tid, 0, 0);
    for (size_t i = target->thread_count; i-- > 0;)
        if (!target->threads[i].is_stopped && will_stop(target, target->threads[i].tid) &&
            !wait_for_stop(target, &target->threads[i]))
            drop_thread(target, i);
}

static bool is_one_waiting(const struct hs_inject_target *target)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (!target->threads[i].is_stopped)
            return true;
    return false;
}

// The others go on until threads that wait in the kernel do so no more. The last of these is stopped then.
static int outwait(struct hs_inject_target *target, struct hs_error *error)
{
    const uint64_t begun = hs_clock__now();
    for (size_t i = target->thread_count; i-- > 0;)
        if (target->threads[i].is_stopped)
            let_thread_go(target, i);
    while (is_one_waiting(target) && hs_clock__now() - begun < WAITING_SECONDS * 1000000000ull)
        for (size_t i = target->thread_count; i-- > 0;) {
            if (!will_stop(target, target->threads[i].tid))
                continue;
            if (!wait_for_stop(target, &target->threads[i]))
                drop_thread(target, i);
            else if (target->thread_count > 1)
                let_thread_go(target, i);
        }
    if (!is_one_waiting(target))
        return 0;
    return hs_error__set(error, EBUSY, "thread %d waits in the kernel and cannot be stopped; try again later",
                         (int)target->threads[0].tid);
}

// Other threads of this machine wait while all of the target do. Where it is not allowed, it takes longer.
static void hurry(bool on)
{
    const struct sched_param priority = {.sched_priority = on};
    sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &priority);
}

int hs_inject_target__stop_all(struct hs_inject_target *target, struct hs_error *error)
{
    int added, failed = 0;
    target->stopped_since = hs_clock__now();
    if (target->is_starting)
        return 0;
    hurry(true);
    for (bool is_first = true; !failed && (added = seize_all(target, error)) > 0;) {
        if (is_first)
            target->stopped_since = hs_clock__now();
        interrupt_all(target);
        is_first = is_one_waiting(target);
        failed = is_first ? outwait(target, error) : 0;
    }
    if (failed || added < 0)
        return failed ? failed : added;
    return target->thread_count ? 0 : hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
}

// Where it waits for a signal, a restart could be noticed if this process were killed at that moment.
static bool waits_for_signal(const struct hs_inject_target *target, pid_t tid)
{
    static const char *const places[] = {"do_sigtimedwait", "sigsuspend", "sys_pause", "do_pause"};
    char path[64], place[64] = "";
    snprintf(path, sizeof path, "task/%d/wchan", (int)tid);
    FILE *file = open_file(target->pid, path);
    bool found = file && fgets(place, sizeof place, file);
    if (file)
        fclose(file);
    for (size_t i = 0; found && i < sizeof places / sizeof *places; i++)
        if (strstr(place, places[i]))
            return true;
    return false;
}

// Whether it is in a call that would wait for its whole time again.
static bool waits_anew(const struct hs_inject_target *target, pid_t tid)
{
    char path[64], line[512] = "";
    struct hs_system_call call;
    if (!target->arch->waits_anew)
        return false;
    snprintf(path, sizeof path, "task/%d/syscall", (int)tid);
    FILE *file = open_file(target->pid, path);
    bool found = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    return found &&
           sscanf(line, "%ld %lx %lx %lx %lx %lx %lx", &call.number, (unsigned long *)&call.arguments[0],
                  (unsigned long *)&call.arguments[1], (unsigned long *)&call.arguments[2],
                  (unsigned long *)&call.arguments[3], (unsigned long *)&call.arguments[4],
                  (unsigned long *)&call.arguments[5]) == 7 &&
           target->arch->waits_anew(&call);
}

static pid_t choose_thread(const struct hs_inject_target *target)
{
    char path[64];
    pid_t chosen = target->pid;
    bool is_second_choice = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)target->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid <= 0 || is_ending(target, tid) || waits_for_signal(target, tid))
            continue;
        if (state_of(target, tid) != 'D' && !waits_anew(target, tid)) {
            chosen = tid;
            break;
        }
        chosen = is_second_choice ? chosen : tid;
        is_second_choice = true;
    }
    if (folder)
        closedir(folder);
    return chosen;
}

int hs_inject_target__stop_one(struct hs_inject_target *target, struct hs_error *error)
{
    if (target->is_starting)
        return 0;
    for (int tries = 0; tries < 100; tries++) {
        pid_t tid = choose_thread(target);
        int result = seize(target, tid);
        if (result == -EPERM && !is_ending(target, tid))
            return hs_error__set(error, EPERM, "process %d may not be traced: %s", (int)target->pid, strerror(EPERM));
        bool is_stopped = !result && !ptrace(PTRACE_INTERRUPT, tid, 0, 0) && wait_for_stop(target, &target->threads[0]);
        if (is_stopped && !hs_inject_thread__is_unfit(target->arch, tid))
            return 0;
        if (is_stopped)
            hs_inject_target__let_go(target);
        else if (!result)
            drop_thread(target, 0);
    }
    return hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
}

void hs_inject_target__let_go(struct hs_inject_target *target)
{
    if (target->is_starting)
        return;
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].is_stopped)
            ptrace(PTRACE_DETACH, target->threads[i].tid, 0, 0);
    target->thread_count = 0;
    hurry(false);
}

bool hs_inject_target__see(const struct hs_inject_target *target, struct hs_thread_stop *thread)
{
    if (!thread->is_seen)
        thread->is_seen =
            !hs_inject_thread__look(target->arch, thread->tid, &thread->pc, &thread->sp, &thread->pointer);
    // MIPS keeps the pointer of the program that executed this one.
    if (target->is_before_libc)
        thread->pointer = 0;
    return thread->is_seen;
}

// ---- system calls -----------------------------------------------------------------------------------------------

// To the next stop at a system call. A signal that comes first is delivered: SIGSTOP cannot be blocked. False: the
// thread has ended.
static bool go_to_call(const struct hs_inject_target *target, struct hs_thread_stop *thread)
{
    int status, signal_number = 0;
    do {
        if (ptrace(PTRACE_SYSCALL, thread->tid, 0, (void *)(intptr_t)signal_number) ||
            !next_status(target, thread, &status) || !WIFSTOPPED(status))
            return false;
        signal_number = status >> 16 ? 0 : WSTOPSIG(status);
    } while (signal_number != (SIGTRAP | 0x80));
    return true;
}

// From the end of a system call the kernel would not begin again the one that the stop has interrupted, so that the
// thread goes to a stop of the first kind. It executes no instruction on the way.
static bool leave_call(struct hs_inject_target *target, struct hs_thread_stop *thread)
{
    thread->is_stopped = false;
    return !ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0) && !ptrace(PTRACE_CONT, thread->tid, 0, 0) &&
           wait_for_stop(target, thread);
}

static bool carry_out(struct hs_inject_target *target, struct hs_thread_stop *thread, struct hs_borrowed *borrowed,
                      const struct hs_system_call *call, long *result)
{
    const struct hs_inject_arch *arch = target->arch;
    uint64_t all[HS_INJECT_MASK];
    memset(all, 0xff, sizeof all);
    // In this order a kill between two of them leaves the mask as it was.
    if (hs_inject_thread__call(arch, borrowed, call) ||
        ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)KERNEL_MASK, all))
        return false;
    if (!go_to_call(target, thread) || !go_to_call(target, thread))
        return false;
    *result = hs_inject_thread__result(arch, borrowed);
    return leave_call(target, thread) && !ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)KERNEL_MASK, borrowed->mask) &&
           !hs_inject_thread__restore(arch, borrowed);
}

int hs_inject_target__block(const struct hs_inject_target *target, uint64_t signals, struct hs_error *error)
{
    const pid_t tid = target->threads[0].tid;
    uint64_t mask[HS_INJECT_MASK] = {0};
    int failed = ptrace(PTRACE_GETSIGMASK, tid, (void *)KERNEL_MASK, mask) != 0;
    mask[0] |= signals;
    if (failed || ptrace(PTRACE_SETSIGMASK, tid, (void *)KERNEL_MASK, mask))
        return hs_error__set(error, ESRCH, "thread %d has ended", (int)tid);
    return 0;
}

int hs_inject_target__call(struct hs_inject_target *target, uint64_t stub, uint64_t done,
                           const struct hs_system_call *call, long *result, struct hs_error *error)
{
    struct hs_thread_stop *thread = &target->threads[0];
    struct hs_borrowed borrowed = {.tid = thread->tid, .stub = stub};
    uint8_t code[HS_INJECT_CODE];
    if (hs_inject_thread__save(target->arch, &borrowed) ||
        ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)KERNEL_MASK, borrowed.mask))
        return hs_error__set(error, ESRCH, "thread %d has ended", (int)thread->tid);
    size_t length = target->arch->stub(code, &borrowed, done);
    int failed = length ? hs_inject_target__write(target, stub, code, length) : -E2BIG;
    if (failed)
        return hs_inject_target__not_written(target, failed, error);
    if (carry_out(target, thread, &borrowed, call, result))
        return 0;
    drop_thread(target, 0);
    return hs_error__set(error, ESRCH, "thread %d has ended", (int)thread->tid);
}

// ---- starting ------------------------------------------------------------------------------------------------------

// To the end of execve. 1: there; 0: the child has ended.
static int go_to_program(pid_t pid)
{
    int status;
    for (;;) {
        if (!wait_for_child(pid, &status))
            return 0;
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
            return 1;
        bool is_event = status >> 16 || WSTOPSIG(status) == SIGCONT;
        if (ptrace(PTRACE_CONT, pid, 0, (void *)(intptr_t)(is_event ? 0 : WSTOPSIG(status))))
            return 0;
    }
}

int hs_inject_target__hold(struct hs_inject_target *target, pid_t pid, bool *executed, struct hs_error *error)
{
    *executed = false;
    int failed = hs_inject_target__open(target, pid, error);
    target->threads = failed ? NULL : malloc(sizeof *target->threads);
    if (!failed && !target->threads)
        failed = hs_error__set(error, ENOMEM, "out of memory");
    if (failed)
        return failed;
    target->threads[0] = (struct hs_thread_stop){.tid = pid};
    target->thread_count = target->thread_room = 1;
    target->is_starting = true;
    // The first system call from here would be the end of execve.
    *executed = leave_call(target, &target->threads[0]);
    return 0;
}

static int seize_child(pid_t pid, struct hs_error *error)
{
    const uintptr_t options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
    if (!ptrace(PTRACE_SEIZE, pid, 0, (void *)options))
        return 0;
    const int problem = errno;
    // One that was killed may not be traced, either.
    if (has_ended(pid, WNOHANG))
        return hs_error__set(error, ESRCH, "process %d has ended", (int)pid);
    return hs_error__set(error, problem,
                         "this command may not trace its child (%s); programs without a dynamic linker, and allocators "
                         "within programs, can only be recorded that way",
                         strerror(problem));
}

int hs_inject_target__start(struct hs_inject_target *target, pid_t pid, bool *executed, struct hs_error *error)
{
    int status;
    *executed = false;
    if (!wait_for_child(pid, &status))
        return 0;
    int failed = seize_child(pid, error);
    if (failed)
        return failed;
    kill(pid, SIGCONT);
    if (!go_to_program(pid))
        return 0;
    failed = hs_inject_target__hold(target, pid, executed, error);
    if (failed)
        ptrace(PTRACE_DETACH, pid, 0, 0);
    return failed;
}

enum { MOST_SECONDS = 10 };

struct trap {
    uint64_t at;
    uint8_t before[HS_INJECT_PATCH];
};

static bool is_event(int status, int event)
{
    return status >> 8 == (SIGTRAP | event << 8);
}

// A library may fork while it is initialised. The child has a copy of the trap, and nobody else to take it out.
static void let_fork_go(const struct hs_inject_target *target, pid_t tid, const struct trap *trap)
{
    unsigned long child;
    int status;
    if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &child) || !wait_for((pid_t)child, &status) || !WIFSTOPPED(status))
        return;
    struct hs_inject_target forked;
    if (!hs_inject_target__open(&forked, (pid_t)child, NULL))
        hs_inject_target__write(&forked, trap->at, trap->before, target->arch->trap_length);
    hs_inject_target__close(&forked);
    ptrace(PTRACE_DETACH, (pid_t)child, 0, 0);
}

static bool is_past(const struct timespec *time)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > time->tv_sec || (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

// False: nothing is told of a child in this time.
static bool is_told_until(pid_t pid, const struct timespec *end)
{
    struct timespec pause = {0, SHORTEST_PAUSE_NS};
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) || info.si_pid)
            return true;
        if (is_past(end))
            return false;
        pause_longer(&pause);
    }
}

static bool is_at(const struct hs_inject_target *target, pid_t tid, const struct trap *trap)
{
    uint64_t pc = 0, sp, pointer;
    return !hs_inject_thread__look(target->arch, tid, &pc, &sp, &pointer) && pc == trap->at + target->arch->trap_passed;
}

// 1: there. 0: the process has ended, or has executed another program. -ETIMEDOUT: it was stopped on its way. A stop
// that it is asked for comes before the signal of a trap that it has reached.
static int go_to_trap(struct hs_inject_target *target, struct hs_thread_stop *thread, const struct trap *trap)
{
    int status, signal_number = 0;
    bool is_late = false;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += MOST_SECONDS;
    for (;;) {
        if (ptrace(PTRACE_CONT, thread->tid, 0, (void *)(intptr_t)signal_number))
            return 0;
        if (target->is_joined && !is_late && !is_told_until(thread->tid, &end))
            is_late = !ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
        if (!next_status(target, thread, &status) || !WIFSTOPPED(status) || is_event(status, PTRACE_EVENT_EXEC))
            return 0;
        if (is_event(status, PTRACE_EVENT_FORK))
            let_fork_go(target, thread->tid, trap);
        signal_number = status >> 16 ? 0 : WSTOPSIG(status);
        if (signal_number == SIGTRAP && is_at(target, thread->tid, trap))
            return 1;
        if (is_late && is_stop_event(status) && !is_at(target, thread->tid, trap))
            return -ETIMEDOUT;
    }
}

int hs_inject_target__run_to(struct hs_inject_target *target, uint64_t address, struct hs_error *error)
{
    const struct hs_inject_arch *arch = target->arch;
    struct hs_thread_stop *thread = &target->threads[0];
    struct trap trap = {.at = address & ~arch->mode};
    int failed = hs_inject_target__read(target, trap.at, trap.before, arch->trap_length);
    if (!failed)
        failed = hs_inject_target__write(target, trap.at, address & arch->mode ? arch->trap_of_mode : arch->trap,
                                         arch->trap_length);
    if (failed)
        return hs_inject_target__not_written(target, failed, error);
    int reached = go_to_trap(target, thread, &trap);
    if (!reached || hs_inject_target__write(target, trap.at, trap.before, arch->trap_length) ||
        (reached > 0 && (hs_inject_thread__go_to(arch, thread->tid, address) || !leave_call(target, thread))))
        return hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
    if (reached < 0)
        return hs_error__set(error, ETIMEDOUT,
                             "its libraries were not loaded within %d s; other programs could not be followed while it "
                             "waited, perhaps for one of them",
                             MOST_SECONDS);
    return 0;
}

int hs_inject_target__step(struct hs_inject_target *target, struct hs_error *error)
{
    struct hs_thread_stop *thread = &target->threads[0];
    int status, signal_number = 0;
    do {
        const bool has_failed = ptrace(PTRACE_SINGLESTEP, thread->tid, 0, (void *)(intptr_t)signal_number);
        if (has_failed && errno != ESRCH)
            return hs_error__set(error, ENOTSUP, "this machine's kernel cannot single-step a process");
        if (has_failed || !next_status(target, thread, &status) || !WIFSTOPPED(status))
            return hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
        signal_number = status >> 16 ? 0 : WSTOPSIG(status);
    } while (signal_number != SIGTRAP);
    return 0;
}
