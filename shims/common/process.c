// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Calls that change the process itself: exit, fork, exec, credentials and namespaces, unloading of code.
#include "arch/likely.h"
#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/filter.h"
#include "runtime/lock.h"
#include "shims/common/real.h"
#include "shims/common/shim.h"
#include "unwind/walk.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NEED(name)                                                                                                     \
    do {                                                                                                               \
        if (HS_UNLIKELY(!hs_real.name))                                                                                \
            hs_real__resolve();                                                                                        \
    } while (0)

// ---- exit -----------------------------------------------------------------------------------------------------------

static _Noreturn void leave(int status)
{
    for (;;)
        HS_SYSTEM1(SYS_exit_group, status);
}

HS_EXPORT void _exit(int status) __attribute__((noreturn));
HS_EXPORT void _exit(int status)
{
    hs_shim__process_ends();
    leave(status);
}

HS_EXPORT void _Exit(int status) __attribute__((noreturn));
HS_EXPORT void _Exit(int status)
{
    _exit(status);
}

HS_EXPORT void quick_exit(int status) __attribute__((noreturn));
HS_EXPORT void quick_exit(int status)
{
    NEED(quick_exit);
    hs_shim__process_ends();
    if (hs_real.quick_exit)
        hs_real.quick_exit(status);
    leave(status);
}

// ---- fork -----------------------------------------------------------------------------------------------------------

// Several threads may be here at once: the first makes the process what they need, and the last one takes that back.
static struct {
    _Atomic uint32_t count;
    struct hs_lock lock;
} single_threaded;

static pid_t system_fork(void)
{
    return (pid_t)hs_real__result(HS_SYSTEM5(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static pid_t fork_with(pid_t (*real)(void))
{
    uint64_t locks = hs_shim__before_fork();
    pid_t pid = real();
    if (pid == 0) { // the other threads are not here
        single_threaded.lock = (struct hs_lock){0};
        atomic_store(&single_threaded.count, 0);
    }
    hs_shim__after_fork(pid == 0, locks);
    return pid;
}

HS_EXPORT pid_t fork(void);
HS_EXPORT pid_t fork(void)
{
    NEED(fork);
    return fork_with(hs_real.fork ? hs_real.fork : system_fork);
}

HS_EXPORT pid_t _Fork(void);
HS_EXPORT pid_t _Fork(void)
{
    NEED(_Fork);
    return hs_real._Fork ? fork_with(hs_real._Fork) : fork();
}

// ---- exec -----------------------------------------------------------------------------------------------------------

// The functions below differ in their arguments alone. Each of these fits in a register, and one shape does for all:
// what a function does not take is passed on, too. Integers are passed as an int is.
typedef int any_function(intptr_t first, intptr_t second, intptr_t third);

static any_function *find_real(void *const *real)
{
    if (HS_UNLIKELY(!*real))
        hs_real__resolve();
    if (!*real)
        hs_real__set_errno(ENOSYS);
    return (any_function *)*real;
}

static int execute(void *const *real, intptr_t first, intptr_t second, intptr_t third)
{
    any_function *function = find_real(real);
    if (!function)
        return -1;
    hs_shim__before_exec();
    int result = function(first, second, third);
    hs_shim__after_failed_exec();
    return result;
}

#define EXECUTE(name, first, second, third)                                                                            \
    execute((void *const *)&hs_real.name, (intptr_t)(first), (intptr_t)(second), (intptr_t)(third))

HS_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    return EXECUTE(execve, path, arguments, environment);
}

HS_EXPORT int execv(const char *path, char *const arguments[])
{
    return EXECUTE(execv, path, arguments, 0);
}

HS_EXPORT int execvp(const char *file, char *const arguments[])
{
    return EXECUTE(execvp, file, arguments, 0);
}

HS_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[]);
HS_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    return EXECUTE(execvpe, file, arguments, environment);
}

HS_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    return EXECUTE(fexecve, fd, arguments, environment);
}

// The forms with a list of arguments become the forms with a vector, on the stack as libc does it. Behind the list of
// execle() stands the environment.
static int execute_list(void *const *real, const char *path, const char *first, bool has_environment, va_list *rest)
{
    va_list arguments;
    va_copy(arguments, *rest);
    size_t count = 1;
    while (va_arg(arguments, const char *))
        count++;
    va_end(arguments);
    char *vector[count + 1];
    vector[0] = (char *)first;
    for (size_t i = 1; i <= count; i++)
        vector[i] = va_arg(*rest, char *);
    return execute(real, (intptr_t)path, (intptr_t)vector, has_environment ? va_arg(*rest, intptr_t) : 0);
}

// No argument is a floating-point number: their registers are not kept.
#if defined(__aarch64__) && !defined(__clang__)
#define LIST_EXPORT HS_EXPORT __attribute__((target("general-regs-only")))
#else
#define LIST_EXPORT HS_EXPORT
#endif

#define EXECUTE_LIST(name, has_environment)                                                                            \
    do {                                                                                                               \
        va_list rest;                                                                                                  \
        va_start(rest, first);                                                                                         \
        int result = execute_list((void *const *)&hs_real.name, path, first, has_environment, &rest);                  \
        va_end(rest);                                                                                                  \
        return result;                                                                                                 \
    } while (0)

LIST_EXPORT int execl(const char *path, const char *first, ...)
{
    EXECUTE_LIST(execv, false);
}

LIST_EXPORT int execlp(const char *path, const char *first, ...)
{
    EXECUTE_LIST(execvp, false);
}

LIST_EXPORT int execle(const char *path, const char *first, ...)
{
    EXECUTE_LIST(execve, true);
}

// ---- what needs a single thread, or every thread --------------------------------------------------------------------

static void begin_single_threaded(void)
{
    atomic_fetch_add(&single_threaded.count, 1);
    if (!hs_lock__acquire(&single_threaded.lock, (uint32_t)hs_system_gettid()))
        return;
    hs_shim__before_single_threaded();
    hs_lock__release(&single_threaded.lock);
}

static void end_single_threaded(void)
{
    if (atomic_fetch_sub(&single_threaded.count, 1) != 1 ||
        !hs_lock__acquire(&single_threaded.lock, (uint32_t)hs_system_gettid()))
        return;
    if (!atomic_load(&single_threaded.count))
        hs_shim__after_single_threaded();
    hs_lock__release(&single_threaded.lock);
}

static int call_single_threaded(void *const *real, intptr_t first, intptr_t second, intptr_t third)
{
    any_function *function = find_real(real);
    if (!function)
        return -1;
    begin_single_threaded();
    int result = function(first, second, third);
    end_single_threaded();
    return result;
}

#define SINGLE_THREADED(name, parameters, first, second, third)                                                        \
    HS_EXPORT int name parameters;                                                                                     \
    HS_EXPORT int name parameters                                                                                      \
    {                                                                                                                  \
        return call_single_threaded((void *const *)&hs_real.name, first, second, third);                               \
    }

SINGLE_THREADED(unshare, (int flags), flags, 0, 0)
SINGLE_THREADED(setns, (int fd, int type), fd, type, 0)
SINGLE_THREADED(setuid, (uid_t user), (int)user, 0, 0)
SINGLE_THREADED(seteuid, (uid_t user), (int)user, 0, 0)
SINGLE_THREADED(setreuid, (uid_t real, uid_t effective), (int)real, (int)effective, 0)
SINGLE_THREADED(setresuid, (uid_t real, uid_t effective, uid_t saved), (int)real, (int)effective, (int)saved)
SINGLE_THREADED(setgid, (gid_t group), (int)group, 0, 0)
SINGLE_THREADED(setegid, (gid_t group), (int)group, 0, 0)
SINGLE_THREADED(setregid, (gid_t real, gid_t effective), (int)real, (int)effective, 0)
SINGLE_THREADED(setresgid, (gid_t real, gid_t effective, gid_t saved), (int)real, (int)effective, (int)saved)
SINGLE_THREADED(setgroups, (size_t count, const gid_t *groups), (intptr_t)count, (intptr_t)groups, 0)

// ---- filters of system calls ----------------------------------------------------------------------------------------

static void before_filter(uint64_t mode, const void *program, bool all_threads)
{
    uint32_t forbidden = hs_filter__forbids(mode, program);
    if (!forbidden)
        return;
    hs_shim__before_filter(forbidden, all_threads);
    hs_filter__obey(forbidden, all_threads);
}

// Passes more arguments than any call has; those that the caller did not pass are passed on unchanged.
typedef long system_call(long number, long a, long b, long c, long d, long e, long f);
HS_EXPORT system_call any_system_call __asm__("syscall");
long any_system_call(long number, long a, long b, long c, long d, long e, long f)
{
    NEED(syscall);
    if (HS_UNLIKELY(number == SYS_exit_group))
        hs_shim__process_ends();
    if (HS_UNLIKELY(number == SYS_seccomp) && (a == SECCOMP_SET_MODE_FILTER || !(a | b | c)))
        before_filter(a ? SECCOMP_MODE_FILTER : SECCOMP_MODE_STRICT, (const void *)c,
                      (b & SECCOMP_FILTER_FLAG_TSYNC) != 0);
    return ((system_call *)hs_real.syscall)(number, a, b, c, d, e, f);
}

typedef int process_control(int option, long a, long b, long c, long d);
HS_EXPORT process_control any_prctl __asm__("prctl");
int any_prctl(int option, long a, long b, long c, long d)
{
    NEED(prctl);
    if (HS_UNLIKELY(option == PR_SET_SECCOMP))
        before_filter((unsigned long)a, (const void *)b, false);
    return ((process_control *)hs_real.prctl)(option, a, b, c, d);
}

// ---- code that goes and comes ---------------------------------------------------------------------------------------

HS_EXPORT int dlclose(void *handle);
HS_EXPORT int dlclose(void *handle)
{
    NEED(dlclose);
    if (!hs_real.dlclose) {
        hs_real__set_errno(ENOSYS);
        return -1;
    }
    hs_shim__code_will_be_unloaded();
    hs_unwind_forget_rules();
    int result = hs_real.dlclose(handle);
    hs_unwind_forget_rules();
    hs_real.__register_frame = hs_real.__deregister_frame = NULL;
    hs_cxx__forget();
    hs_shim__code_was_unloaded();
    return result;
}
