// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/common/operators.h"

#include "runtime/enter.h"
#include "runtime/record.h"
#include "shims/common/real.h"

hs_operator_function *const hs_operator__directly[HS_OPERATOR_KINDS];

void hs_operator__enter_new(void)
{
    if (hs_thread_self)
        hs_thread_self->last_recorded = 0;
}

// A nested hook may have recorded the block already.
void hs_operator__leave_new(const struct hs_registers *caller, void *block, size_t size)
{
    if (!block || (hs_thread_self && hs_thread_self->last_recorded == (uintptr_t)block))
        return;
    struct hs_thread *thread = hs_record__enter(HS_MODE_ALLOC);
    if (!thread)
        return;
    size_t usable = hs_operator__usable_size(block);
    hs_record__allocation(thread, caller, HS_RECORD_MALLOC, (uintptr_t)block, size, usable ? usable : size);
    hs_record__leave(thread);
}

bool hs_operator__enter_delete(const struct hs_registers *caller, void *block)
{
    struct hs_thread *thread = hs_record__enter(HS_MODE_FREE);
    if (!thread)
        return false;
    hs_record__free(thread, caller, (uintptr_t)block);
    thread->inside = HS_INSIDE_REAL;
    return true;
}

void hs_operator__leave_delete(void)
{
    hs_record__leave(hs_thread_self);
}
