// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What forbids to attach, and which setting would allow it. Nothing is touched for this.
#include "host/inject/inject.h"

#include "host/inject/frozen.h"
#include "host/inject/modules.h"
#include "host/inject/permission.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENDING_PAUSE_NS = 10 * 1000 * 1000, ENDING_LOOKS = 100 };

static int read_number(const char *path, int otherwise)
{
    int number = otherwise;
    FILE *file = fopen(path, "re");
    if (!file)
        return otherwise;
    if (fscanf(file, "%d", &number) != 1)
        number = otherwise;
    fclose(file);
    return number;
}

bool hs_permission__has_capability(unsigned number)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    return !syscall(SYS_capget, &header, data) && data[number / 32].effective & 1u << number % 32;
}

static bool is_ended(pid_t tid)
{
    char state[32];
    return !hs_inject_target__status(tid, "State", state, sizeof state) || *state == 'Z' || *state == 'X';
}

static bool has_living_thread(pid_t pid)
{
    char path[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        const pid_t tid = (pid_t)atoi(entry->d_name);
        found = tid > 0 && !is_ended(tid);
    }
    if (folder)
        closedir(folder);
    return found;
}

// While a process ends, its first thread can have ended before the others; then these do so soon.
bool hs_inject__has_ended(pid_t pid)
{
    const struct timespec pause = {0, ENDING_PAUSE_NS};
    for (int looks = 0; looks < ENDING_LOOKS; looks++) {
        if (!is_ended(pid))
            return false;
        if (!has_living_thread(pid))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static int say_ended(pid_t pid, struct hs_error *error)
{
    return hs_error__set(error, ESRCH, "process %d has ended", (int)pid);
}

pid_t hs_permission__tracer_of(pid_t tid)
{
    char tracer[32] = "";
    hs_inject_target__status(tid, "TracerPid", tracer, sizeof tracer);
    return (pid_t)atoi(tracer);
}

int hs_permission__check_thread(pid_t pid, pid_t tid, struct hs_error *error)
{
    pid_t tracer = hs_permission__tracer_of(tid);
    return tracer ? hs_error__set(error, EBUSY,
                                  "process %d is traced by process %d already (a debugger, strace); end that", (int)pid,
                                  (int)tracer)
                  : 0;
}

// ptrace counts in the namespace of this process, and /proc in that of its mount.
static int check_proc(pid_t pid, struct hs_error *error)
{
    char own[32] = "";
    (void)pid;
    if (readlink("/proc/self", own, sizeof own - 1) < 0)
        return hs_error__set(error, ENOENT, "attaching needs /proc, which cannot be read here: %s", strerror(errno));
    if (atoi(own) != getpid())
        return hs_error__set(error, EXDEV,
                             "/proc shows another namespace of processes than that of this command: run this in that "
                             "namespace, or mount its own there (mount -t proc proc /proc)");
    return 0;
}

static void ask_for_ptrace(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); // its end leaves no core file
    _exit(ptrace(PTRACE_SEIZE, INT_MAX, 0, 0) && errno == ESRCH ? 0 : errno);
}

// 0: it may be called. A filter answers, or ends whoever asks.
static int problem_of_ptrace(void)
{
    int status = 0;
    // Its end sends no SIGCHLD: where that is ignored, the kernel would throw the status away.
    const pid_t child = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child < 0)
        return 0;
    if (!child)
        ask_for_ptrace();
    while (waitpid(child, &status, __WALL) < 0)
        if (errno != EINTR)
            return 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static int check_own_filter(pid_t pid, struct hs_error *error)
{
    char mode[16] = "0";
    (void)pid;
    if (!hs_inject_target__status(getpid(), "Seccomp", mode, sizeof mode) || !strcmp(mode, "0"))
        return 0;
    const int problem = problem_of_ptrace();
    return problem ? hs_error__set(error, problem,
                                   "this command has a filter of system calls (seccomp) that forbids ptrace: run this "
                                   "outside of its container or service, or start that with ptrace (--cap-add "
                                   "SYS_PTRACE, or SystemCallFilter=@debug)")
                   : 0;
}

// hidepid hides it.
static int say_missing(pid_t pid, struct hs_error *error)
{
    if (!kill(pid, 0) || errno == EPERM)
        return hs_error__set(error, EPERM,
                             "process %d is hidden from this user: /proc is mounted with hidepid; run this as root",
                             (int)pid);
    return hs_error__set(error, ESRCH, "there is no process %d", (int)pid);
}

// Some trace one thread only.
static int check_tracer(pid_t pid, struct hs_error *error)
{
    char path[64];
    int failed = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return say_missing(pid, error);
    for (struct dirent *entry; !failed && (entry = readdir(folder));)
        if (atoi(entry->d_name) > 0)
            failed = hs_permission__check_thread(pid, (pid_t)atoi(entry->d_name), error);
    closedir(folder);
    return failed;
}

static int check_state(pid_t pid, struct hs_error *error)
{
    char state[32] = "";
    if (is_ended(pid))
        return hs_inject__has_ended(pid)
                   ? say_ended(pid, error)
                   : hs_error__set(
                         error, ENOTSUP,
                         "the first thread of process %d has ended, and others go on: attaching to such a process "
                         "is not supported",
                         (int)pid);
    hs_inject_target__status(pid, "State", state, sizeof state);
    if (hs_frozen__is(pid))
        return hs_error__set(error, EBUSY,
                             "process %d is frozen (docker pause, systemctl freeze, or a cgroup's freezer); thaw it "
                             "first",
                             (int)pid);
    if (state[0] == 'T')
        return hs_error__set(error, EBUSY, "process %d is stopped; continue it first (kill -CONT %d)", (int)pid,
                             (int)pid);
    return 0;
}

static int yama_scope(void)
{
    return hs_permission__has_capability(CAP_SYS_PTRACE) ? 0 : read_number("/proc/sys/kernel/yama/ptrace_scope", 0);
}

static int check_yama(pid_t pid, struct hs_error *error)
{
    (void)pid;
    if (read_number("/proc/sys/kernel/yama/ptrace_scope", 0) >= 3)
        return hs_error__set(error, EPERM,
                             "/proc/sys/kernel/yama/ptrace_scope is 3: nobody may attach until the machine is "
                             "restarted with another value");
    if (yama_scope() == 2)
        return hs_error__set(error, EPERM,
                             "/proc/sys/kernel/yama/ptrace_scope is 2: attaching needs the capability CAP_SYS_PTRACE; "
                             "run this as root with that capability, or write 0 to that file");
    return 0;
}

// Then its files here are root's.
static bool is_undumpable(pid_t pid)
{
    char path[64], users[64] = "";
    struct stat status;
    unsigned user = 0;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    return hs_inject_target__status(pid, "Uid", users, sizeof users) && sscanf(users, "%*u %u", &user) == 1 &&
           !stat(path, &status) && status.st_uid != user;
}

// Only the first one has all users.
static bool is_in_user_namespace(void)
{
    unsigned count = 0;
    FILE *file = fopen("/proc/self/uid_map", "re");
    if (!file)
        return false;
    bool is_inside = fscanf(file, "%*u %*u %u", &count) != 1 || count != UINT_MAX;
    fclose(file);
    return is_inside;
}

static int explain_refusal_to_root(int problem, struct hs_error *error)
{
    if (!hs_permission__has_capability(CAP_SYS_PTRACE))
        return hs_error__set(error, problem,
                             "the kernel forbids it (%s): this command is root without the capability CAP_SYS_PTRACE; "
                             "start its container with --cap-add SYS_PTRACE, or run this outside of the container",
                             strerror(problem));
    return hs_error__set(error, problem,
                         "the kernel forbids it to root, too (%s): a security module does so; "
                         "/sys/kernel/security/lsm lists them, and the log of the kernel may name it",
                         strerror(problem));
}

// The kernel does not say what forbids it.
static int explain_refusal(pid_t pid, int problem, struct hs_error *error)
{
    if (is_undumpable(pid))
        return hs_error__set(error, problem,
                             "process %d is not dumpable (prctl PR_SET_DUMPABLE, a set-uid program, or one that may "
                             "not be read): only root may attach to it",
                             (int)pid);
    if (!geteuid() && (!is_in_user_namespace() || !hs_permission__has_capability(CAP_SYS_PTRACE)))
        return explain_refusal_to_root(problem, error);
    if (yama_scope() == 1)
        return hs_error__set(error, problem,
                             "/proc/sys/kernel/yama/ptrace_scope is 1: only a process that has started a program may "
                             "attach to it; run this as root (in a container, with the capability CAP_SYS_PTRACE), or "
                             "write 0 to that file");
    if (is_in_user_namespace())
        return hs_error__set(error, problem,
                             "the kernel forbids it (%s): this command is in a user namespace, where its rights end; "
                             "run this outside of the container",
                             strerror(problem));
    return hs_error__set(error, problem,
                         "the kernel forbids it (%s): the program has other rights than you, or a security module "
                         "forbids it; run this as root",
                         strerror(problem));
}

// Such a process is alive, but has no memory. Another one has none for a moment while it ends.
static bool is_of_kernel(pid_t pid)
{
    char parent[32] = "";
    return pid == 2 || (hs_inject_target__status(pid, "PPid", parent, sizeof parent) && atoi(parent) == 2);
}

// Older kernels also open the memory of a process that has none; it is empty then.
static int problem_of_memory(const char *path)
{
    char byte;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno;
    const int problem = pread(fd, &byte, sizeof byte, 0) == 0 ? ESRCH : 0;
    close(fd);
    return problem;
}

static int check_access(pid_t pid, struct hs_error *error)
{
    char path[64], users[64] = "", own[16];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    const int problem = problem_of_memory(path);
    if (!problem)
        return 0;
    if (problem == ESRCH && !hs_inject__has_ended(pid) && is_of_kernel(pid))
        return hs_error__set(error, ENOTSUP, "process %d is a thread of the kernel", (int)pid);
    if (problem == ESRCH || hs_inject__has_ended(pid) || !hs_inject_target__status(pid, "Uid", users, sizeof users))
        return say_ended(pid, error);
    snprintf(own, sizeof own, "%u", (unsigned)getuid());
    users[strcspn(users, "\t")] = 0;
    if (strcmp(users, own))
        return hs_error__set(error, problem,
                             "process %d belongs to user %s: run this as that user or as root (in a container, with "
                             "the capability CAP_SYS_PTRACE)",
                             (int)pid, users);
    return explain_refusal(pid, problem, error);
}

// A 64-bit kernel runs programs of two kinds. x32 has the number of AMD64.
static const char *command_for(unsigned machine)
{
    switch (machine) {
    case EM_ARM:
        return "; heapsonde-attach for 32-bit ARM, which 'heapsonde attach --on' sends, attaches to it";
    case EM_AARCH64:
        return "; the heapsonde command for AArch64 attaches to it";
    default:
        return "; no command attaches to it";
    }
}

// A first word is enough to tell.
static int check_machine(pid_t pid, struct hs_error *error)
{
    char path[64];
    ElfW(Ehdr) header = {.e_machine = EM_NONE};
    const struct hs_inject_arch *arch = hs_inject_arch__native();
    if (!arch)
        return hs_error__set(error, ENOTSUP, "attaching is not supported on this machine's architecture yet");
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = fd >= 0 && read(fd, &header, sizeof header) == (ssize_t)sizeof header;
    int problem = errno;
    if (fd >= 0)
        close(fd);
    if (!is_read && hs_inject__has_ended(pid))
        return say_ended(pid, error);
    if (!is_read)
        return hs_error__set(error, fd < 0 ? problem : ENOEXEC, "process %d has no program file that can be read: %s",
                             (int)pid, fd < 0 ? strerror(problem) : "too short");
    if (header.e_ident[EI_CLASS] != arch->class)
        return hs_error__set(error, ENOTSUP, "process %d is a %s program: this command attaches to %s ones%s", (int)pid,
                             arch->class == ELFCLASS64 ? "32-bit" : "64-bit",
                             arch->class == ELFCLASS64 ? "64-bit" : "32-bit", command_for(header.e_machine));
    if (header.e_machine != arch->machine)
        return hs_error__set(error, ENOTSUP, "process %d is a program of another architecture%s", (int)pid,
                             command_for(header.e_machine));
    return 0;
}

int hs_permission__check(pid_t pid, struct hs_error *error)
{
    static int (*const checks[])(pid_t, struct hs_error *) = {
        check_proc, check_own_filter, check_tracer, check_state, check_yama, check_access, check_machine,
    };
    if (pid == getpid())
        return hs_error__set(error, EINVAL, "process %d is this command", (int)pid);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        int failed = checks[i](pid, error);
        if (failed)
            return failed;
    }
    return 0;
}

int hs_permission__take(struct hs_inject_target *target, pid_t pid, struct hs_error *error)
{
    int opened = hs_inject_target__open(target, pid, error);
    while (!opened && flock(target->memory, LOCK_EX) && errno == EINTR)
        ;
    int failed = hs_permission__check(pid, error);
    return failed ? failed : opened;
}
