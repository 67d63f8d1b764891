// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a loader needs that puts this library into a running process.
#include "format/attach.h"

#include "arch/system.h"
#include "runtime/process.h"
#include "runtime/threads.h"
#include "shims/common/real.h"

static void begin(void);

HS_EXPORT struct hs_attach_table heapsonde_attach = {
    .magic = HS_ATTACH_MAGIC,
    .real = (uintptr_t *)&hs_real,
    .names = hs_real__names,
    .resolved = (uint32_t *)&hs_real__state,
    .begin = begin,
    .end = hs_process__detach,
    .mode = (uint32_t **)&hs_shared,
    .info = hs_process__attached,
    .number_at = offsetof(struct hs_thread, number),
};

static void begin(void)
{
    heapsonde_attach.thread_self_at = (intptr_t)&hs_thread_self - (intptr_t)hs_arch_thread_pointer();
    hs_process__libc_is_ready();
}
