// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/thread.h"

int hs_inject_thread__save(const struct hs_inject_arch *arch, struct hs_borrowed *borrowed)
{
    return arch->get(borrowed->tid, borrowed->registers);
}

int hs_inject_thread__restore(const struct hs_inject_arch *arch, const struct hs_borrowed *borrowed)
{
    return arch->set(borrowed->tid, borrowed->registers);
}

int hs_inject_thread__call(const struct hs_inject_arch *arch, const struct hs_borrowed *borrowed,
                           const struct hs_system_call *call)
{
    struct hs_borrowed sent = *borrowed;
    arch->send(sent.registers, borrowed->stub);
    arch->ask(sent.registers, call);
    return arch->set(borrowed->tid, sent.registers);
}

long hs_inject_thread__result(const struct hs_inject_arch *arch, const struct hs_borrowed *borrowed)
{
    struct hs_borrowed back = {.tid = borrowed->tid};
    int failed = hs_inject_thread__save(arch, &back);
    return failed ? failed : arch->answer(back.registers);
}

int hs_inject_thread__look(const struct hs_inject_arch *arch, pid_t tid, uint64_t *pc, uint64_t *sp,
                           uint64_t *thread_pointer)
{
    struct hs_borrowed thread = {.tid = tid};
    int failed = hs_inject_thread__save(arch, &thread);
    if (!failed)
        failed = arch->thread_pointer(tid, thread.registers, thread_pointer);
    if (!failed)
        arch->look(thread.registers, pc, sp);
    return failed;
}

int hs_inject_thread__go_to(const struct hs_inject_arch *arch, pid_t tid, uint64_t pc)
{
    struct hs_borrowed thread = {.tid = tid};
    int failed = hs_inject_thread__save(arch, &thread);
    if (failed)
        return failed;
    arch->send(thread.registers, pc);
    return hs_inject_thread__restore(arch, &thread);
}

bool hs_inject_thread__is_unfit(const struct hs_inject_arch *arch, pid_t tid)
{
    struct hs_borrowed thread = {.tid = tid};
    return arch->is_unfit && !hs_inject_thread__save(arch, &thread) && arch->is_unfit(thread.registers);
}
