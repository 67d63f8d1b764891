// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the process itself changes: exit, fork, exec, credentials and namespaces, unloading of code.
#include "arch/likely.h"
#include "arch/system.h"
#include "shims/common/real.h"
#include "shims/common/shim.h"
#include "unwind/walk.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
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

static pid_t system_fork(void)
{
    return (pid_t)hs_real__result(HS_SYSTEM5(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static pid_t fork_with(pid_t (*real)(void))
{
    hs_shim__before_fork();
    pid_t pid = real();
    hs_shim__after_fork(pid == 0);
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

#define EXECUTE(name, ...)                                                                                             \
    do {                                                                                                               \
        NEED(name);                                                                                                    \
        if (!hs_real.name) {                                                                                           \
            hs_real__set_errno(ENOSYS);                                                                                \
            return -1;                                                                                                 \
        }                                                                                                              \
        hs_shim__before_exec();                                                                                        \
        int result = hs_real.name(__VA_ARGS__);                                                                        \
        hs_shim__after_failed_exec();                                                                                  \
        return result;                                                                                                 \
    } while (0)

HS_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    EXECUTE(execve, path, arguments, environment);
}

HS_EXPORT int execv(const char *path, char *const arguments[])
{
    EXECUTE(execv, path, arguments);
}

HS_EXPORT int execvp(const char *file, char *const arguments[])
{
    EXECUTE(execvp, file, arguments);
}

HS_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[]);
HS_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    EXECUTE(execvpe, file, arguments, environment);
}

HS_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    EXECUTE(fexecve, fd, arguments, environment);
}

// The forms with a list of arguments become the forms with a vector, on the stack as libc does it.
#define COUNT_ARGUMENTS(first, count)                                                                                  \
    do {                                                                                                               \
        va_list arguments;                                                                                             \
        va_start(arguments, first);                                                                                    \
        for (count = 1; va_arg(arguments, const char *); count++)                                                      \
            continue;                                                                                                  \
        va_end(arguments);                                                                                             \
    } while (0)

#define COLLECT_ARGUMENTS(first, vector, count, rest)                                                                  \
    do {                                                                                                               \
        va_start(rest, first);                                                                                         \
        vector[0] = (char *)first;                                                                                     \
        for (size_t i = 1; i <= count; i++)                                                                            \
            vector[i] = va_arg(rest, char *);                                                                          \
    } while (0)

HS_EXPORT int execl(const char *path, const char *first, ...)
{
    size_t count;
    COUNT_ARGUMENTS(first, count);
    char *vector[count + 1];
    va_list rest;
    COLLECT_ARGUMENTS(first, vector, count, rest);
    va_end(rest);
    return execv(path, vector);
}

HS_EXPORT int execlp(const char *file, const char *first, ...)
{
    size_t count;
    COUNT_ARGUMENTS(first, count);
    char *vector[count + 1];
    va_list rest;
    COLLECT_ARGUMENTS(first, vector, count, rest);
    va_end(rest);
    return execvp(file, vector);
}

HS_EXPORT int execle(const char *path, const char *first, ...)
{
    size_t count;
    COUNT_ARGUMENTS(first, count);
    char *vector[count + 1];
    va_list rest;
    COLLECT_ARGUMENTS(first, vector, count, rest);
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, vector, environment);
}

// ---- what needs a single thread, or every thread --------------------------------------------------------------------

#define SINGLE_THREADED(name, parameters, ...)                                                                         \
    HS_EXPORT int name parameters;                                                                                     \
    HS_EXPORT int name parameters                                                                                      \
    {                                                                                                                  \
        NEED(name);                                                                                                    \
        if (!hs_real.name) {                                                                                           \
            hs_real__set_errno(ENOSYS);                                                                                \
            return -1;                                                                                                 \
        }                                                                                                              \
        hs_shim__before_single_threaded();                                                                             \
        int result = hs_real.name(__VA_ARGS__);                                                                        \
        hs_shim__after_single_threaded();                                                                              \
        return result;                                                                                                 \
    }

SINGLE_THREADED(unshare, (int flags), flags)
SINGLE_THREADED(setns, (int fd, int type), fd, type)
SINGLE_THREADED(setuid, (uid_t user), user)
SINGLE_THREADED(seteuid, (uid_t user), user)
SINGLE_THREADED(setreuid, (uid_t real, uid_t effective), real, effective)
SINGLE_THREADED(setresuid, (uid_t real, uid_t effective, uid_t saved), real, effective, saved)
SINGLE_THREADED(setgid, (gid_t group), group)
SINGLE_THREADED(setegid, (gid_t group), group)
SINGLE_THREADED(setregid, (gid_t real, gid_t effective), real, effective)
SINGLE_THREADED(setresgid, (gid_t real, gid_t effective, gid_t saved), real, effective, saved)
SINGLE_THREADED(setgroups, (size_t count, const gid_t *groups), count, groups)

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
