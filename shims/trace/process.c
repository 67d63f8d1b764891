// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Start, end, fork and exec of a process that is recorded.
#include "runtime/process.h"

#include "arch/system.h"
#include "runtime/log.h"
#include "runtime/python.h"
#include "runtime/record.h"
#include "shims/common/real.h"
#include "shims/common/shim.h"
#include "shims/common/symbols.h"
#include "shims/trace/adopted.h"

#include <dlfcn.h>

// ---- start and end -------------------------------------------------------------------------------------------------

static __attribute__((constructor)) void library_begins(void)
{
    hs_real__resolve();
    hs_process__libc_is_ready();
    if (!hs_real__has_allocator()) {
        hs_recording__give_up();
        hs_log(HS_LOG_ERROR, "nothing is recorded: the program's malloc was not found", NULL, 0);
    }
    hs_python__begin(hs_symbols__find, hs_symbols__find_in);
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

uint64_t hs_shim__before_fork(void)
{
    return 0;
}

void hs_shim__after_fork(bool child, uint64_t locks)
{
    (void)locks;
    if (!child)
        return;
    hs_process__after_fork();
    hs_adopted__after_fork();
}

void hs_shim__before_exec(void)
{
    hs_process__before_exec();
}

void hs_shim__after_failed_exec(void)
{
    hs_process__after_failed_exec();
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

void hs_shim__before_filter(uint32_t forbidden, bool all_threads)
{
    hs_process__forbid(forbidden, all_threads);
}

// ---- code that goes ------------------------------------------------------------------------------------------------

// Any thread may be inside CPython, which it asks whose stack it is. A libpython stays loaded: one reference more than
// the program's, which must be there before the program's last one goes.
static void keep_python(void)
{
    static bool is_kept;
    Dl_info file = {0};
    const uintptr_t code = hs_python__code();
    if (!code || __atomic_load_n(&is_kept, __ATOMIC_ACQUIRE))
        return;
    int (*find_file)(const void *, Dl_info *) = (int (*)(const void *, Dl_info *))hs_symbols__find("dladdr");
    if (!find_file || !hs_real.dlopen || !find_file((void *)code, &file) || !file.dli_fname)
        return; // it is gone already; the next one may not be
    hs_real.dlopen(file.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    __atomic_store_n(&is_kept, true, __ATOMIC_RELEASE);
}

void hs_shim__code_will_be_unloaded(void)
{
    keep_python();
    hs_process__code_will_be_unloaded();
}

void hs_shim__code_was_unloaded(void)
{
    hs_process__code_was_unloaded();
}
