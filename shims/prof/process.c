// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the process itself changes: start, fork, exit, unloading of code; and the shim's messages.
#include "arch/system.h"
#include "runtime/prof/contexts.h"
#include "runtime/prof/control.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/events.h"
#include "runtime/text.h"
#include "shims/prof/hooks.h"
#include "shims/prof/mallctl.h"
#include "unwind/walk.h"

#include <errno.h>
#include <unistd.h>

extern void abort(void) __attribute__((weak, noreturn));

size_t hs_prof_zero_reallocs;

// ---- start and end --------------------------------------------------------------------------------------------------

static __attribute__((constructor)) void library_begins(void)
{
    hs_real__resolve();
    hs_prof__try_headers();
    hs_sampler__start();
    hs_prof_ctl__start();
    hs_control__start();
}

// Once; whatever ends the process first.
static void end(void)
{
    static _Atomic uint32_t ended;
    if (atomic_exchange(&ended, 1))
        return;
    hs_prof_ctl__at_exit();
    int status = hs_dump__final();
    if (status)
        HS_SYSTEM1(SYS_exit_group, status);
}

static __attribute__((destructor)) void library_ends(void)
{
    hs_control__exit();
    end();
}

HS_EXPORT void _exit(int status) __attribute__((noreturn));
HS_EXPORT void _exit(int status)
{
    hs_control__exit();
    if (hs_prof_options.dump_on_exit_paths)
        end();
    for (;;)
        HS_SYSTEM1(SYS_exit_group, status);
}

HS_EXPORT void _Exit(int status) __attribute__((noreturn));
HS_EXPORT void _Exit(int status)
{
    _exit(status);
}

HS_EXPORT void quick_exit(int status) __attribute__((noreturn));
HS_EXPORT void quick_exit(int status)
{
    if (!hs_real.quick_exit)
        hs_real__resolve();
    hs_control__exit();
    if (hs_prof_options.dump_on_exit_paths)
        end();
    if (hs_real.quick_exit)
        hs_real.quick_exit(status);
    _exit(status);
}

// ---- fork -----------------------------------------------------------------------------------------------------------

static pid_t fork_with(pid_t (*real)(void))
{
    hs_sampler__before_fork();
    pid_t pid = real();
    hs_sampler__after_fork(pid == 0);
    if (pid == 0)
        hs_control__after_fork();
    return pid;
}

HS_EXPORT pid_t fork(void);
HS_EXPORT pid_t fork(void)
{
    if (!hs_real.fork)
        hs_real__resolve();
    return fork_with(hs_real.fork);
}

HS_EXPORT pid_t _Fork(void);
HS_EXPORT pid_t _Fork(void)
{
    if (!hs_real._Fork)
        hs_real__resolve();
    return fork_with(hs_real._Fork ? hs_real._Fork : hs_real.fork);
}

// ---- code that goes and comes ---------------------------------------------------------------------------------------

HS_EXPORT int dlclose(void *handle);
HS_EXPORT int dlclose(void *handle)
{
    if (!hs_real.dlclose)
        hs_real__resolve();
    if (!hs_real.dlclose) {
        hs_real__set_errno(ENOSYS);
        return -1;
    }
    hs_unwind_forget_rules();
    int result = hs_real.dlclose(handle);
    hs_unwind_forget_rules();
    hs_real.__register_frame = hs_real.__deregister_frame = NULL;
    hs_cxx__forget();
    return result;
}

// ---- messages -------------------------------------------------------------------------------------------------------

void (*hs_prof_options_message)(const char *message) = hs_prof__message;
void (*hs_prof_options_abort)(const char *message) = hs_prof__abort;

void hs_prof__message(const char *message)
{
    if (malloc_message)
        malloc_message(NULL, message);
    else
        hs_system_write(2, message, hs_text__length(message));
}

void hs_prof__abort(const char *message)
{
    hs_prof__message(message);
    if (abort)
        abort();
    for (;;)
        HS_SYSTEM2(SYS_kill, hs_system_getpid(), 6);
}
