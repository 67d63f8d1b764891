// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Start, end, fork and exec of a process that is recorded.
#include "runtime/process.h"

#include "arch/system.h"
#include "runtime/log.h"
#include "runtime/record.h"
#include "shims/common/real.h"
#include "shims/common/shim.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define NEED(name)                                                                                                     \
    do {                                                                                                               \
        if (HS_UNLIKELY(!hs_real.name))                                                                                \
            hs_real__resolve();                                                                                        \
    } while (0)

// ---- start and end -------------------------------------------------------------------------------------------------

static __attribute__((constructor)) void library_begins(void)
{
    hs_real__resolve();
    hs_process__libc_is_ready();
    if (!hs_real__has_allocator()) {
        hs_process__give_up();
        hs_log(HS_LOG_ERROR, "nothing is recorded: the program's malloc was not found", NULL, 0);
    }
    if (!hs_config.track_children)
        hs_config__hide_preload();
}

static __attribute__((destructor)) void library_ends(void)
{
    hs_process__exit();
}

void hs_shim__process_ends(void)
{
    hs_process__exit();
}

void hs_shim__before_fork(void)
{
}

void hs_shim__after_fork(bool child)
{
    if (child)
        hs_process__after_fork();
}

void hs_shim__before_single_threaded(void)
{
    hs_process__be_single_threaded();
}

// From here on the threads that record write for themselves.
void hs_shim__after_single_threaded(void)
{
    hs_process__has_been_single_threaded();
}

void hs_shim__code_was_unloaded(void)
{
    hs_process__code_was_unloaded();
}

// ---- exec ----------------------------------------------------------------------------------------------------------

#define EXECUTE(name, ...)                                                                                             \
    do {                                                                                                               \
        NEED(name);                                                                                                    \
        if (!hs_real.name) {                                                                                           \
            hs_real__set_errno(ENOSYS);                                                                                \
            return -1;                                                                                                 \
        }                                                                                                              \
        hs_process__before_exec();                                                                                     \
        int result = hs_real.name(__VA_ARGS__);                                                                        \
        hs_process__after_failed_exec();                                                                               \
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
