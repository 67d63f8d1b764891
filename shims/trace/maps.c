// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Memory that the program gets from the kernel: mmap, munmap, mremap, madvise, brk, sbrk.
#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/enter.h"
#include "runtime/libc_kind.h"
#include "runtime/memory.h"
#include "runtime/record.h"
#include "shims/common/real.h"
#include "unwind/module.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

// Records between enter and leave like the allocation family, but also what an allocator maps for itself.
#define ENTER_MAP(before) (hs_config.maps || !hs_mode() ? hs_record__enter_map(before) : NULL)

static inline void leave_map(struct hs_thread *thread, uint32_t before)
{
    thread->inside = before;
}

typedef void *mmap_wide(void *address, size_t length, int protection, int flags, int fd, int64_t offset);

// Whether `mmap` has an offset of 64 bits, so that `mmap64` is the same function.
static inline bool mmap_is_wide(void)
{
    return sizeof(long) == 8 || hs_libc_is_musl();
}

static void *plain_mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)
{
    mmap_wide *real = mmap_is_wide() ? (mmap_wide *)(void *)hs_real.mmap : (mmap_wide *)(void *)hs_real.mmap64;
    if (real)
        return real(address, length, protection, flags, fd, offset);
    return (void *)hs_real__result(hs_system_mmap(address, length, protection, flags, fd, (uint64_t)offset));
}

static void *system_mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)
{
    void *result = plain_mmap(address, length, protection, flags, fd, offset);
    if (protection & PROT_EXEC)
        hs_module_code_appears();
    return result;
}

static void record_mmap(struct hs_thread *thread, const struct hs_registers *caller, void *result, size_t length,
                        uint64_t how, int fd, int64_t offset, void *address)
{
    uint64_t words[] = {(uintptr_t)result, length, how, (uint32_t)fd, (uint64_t)offset, (uintptr_t)address};
    hs_record__wide(thread, caller, HS_WIDE_MMAP, words, 6, 3, 32);
}

#define MAP_AND_RECORD(offset)                                                                                         \
    do {                                                                                                               \
        uint32_t before;                                                                                               \
        struct hs_thread *thread = ENTER_MAP(&before);                                                                 \
        void *result = system_mmap(address, length, protection, flags, fd, offset);                                    \
        if (!thread)                                                                                                   \
            return result;                                                                                             \
        if (result != MAP_FAILED && hs_config.maps) {                                                                  \
            struct hs_registers caller;                                                                                \
            HS_CAPTURE_CALLER(&caller);                                                                                \
            uint64_t how = (uint32_t)protection | (uint64_t)(uint32_t)flags << 32;                                     \
            record_mmap(thread, &caller, result, length, how, fd, offset, address);                                    \
        }                                                                                                              \
        leave_map(thread, before);                                                                                     \
        return result;                                                                                                 \
    } while (0)

HS_EXPORT mmap_wide map_wide __asm__("mmap64");
HS_EXPORT void *map_wide(void *address, size_t length, int protection, int flags, int fd, int64_t offset)
{
    MAP_AND_RECORD(offset);
}

#if __SIZEOF_POINTER__ == 8
HS_EXPORT mmap_wide map_long __asm__("mmap") __attribute__((alias("mmap64")));
#else
// A 64-bit offset is on the stack behind `fd` and a gap; a 32-bit offset is in the place of the gap.
HS_EXPORT void *map_either(void *address, size_t length, int protection, int flags, int fd, uint32_t narrow,
                           uint32_t low, uint32_t high) __asm__("mmap");
HS_EXPORT void *map_either(void *address, size_t length, int protection, int flags, int fd, uint32_t narrow,
                           uint32_t low, uint32_t high)
{
    int64_t offset = mmap_is_wide() ? (int64_t)((uint64_t)high << 32 | low) : (int64_t)narrow;
    MAP_AND_RECORD(offset);
}
#endif

static __attribute__((noinline)) void record_pair(struct hs_thread *thread, const struct hs_registers *caller,
                                                  uint32_t kind, uintptr_t first, uintptr_t second)
{
    uint64_t words[] = {first, second, 0};
    hs_record__wide(thread, caller, kind, words, 3, 2, 0);
}

// Recorded before the range can be given to somebody else; a call that will fail is left out as far as that is known.
HS_EXPORT int munmap(void *address, size_t length);
HS_EXPORT int munmap(void *address, size_t length)
{
    uint32_t before;
    bool aligned = ((uintptr_t)address & (hs_memory__page_size() - 1)) == 0;
    struct hs_thread *thread = length && aligned ? ENTER_MAP(&before) : NULL;
    if (thread) {
        struct hs_registers caller;
        HS_CAPTURE_CALLER(&caller);
        if (hs_config.maps)
            record_pair(thread, &caller, HS_WIDE_MUNMAP, (uintptr_t)address, length);
        leave_map(thread, before);
    }
    if (hs_real.munmap)
        return hs_real.munmap(address, length);
    return (int)hs_real__result(hs_system_munmap(address, length));
}

static void *system_mremap(void *old, size_t old_length, size_t length, int flags, void *wanted)
{
    if (hs_real.mremap)
        return hs_real.mremap(old, old_length, length, flags, wanted);
    return (void *)hs_real__result(HS_SYSTEM5(SYS_mremap, old, old_length, length, flags, wanted));
}

HS_EXPORT void *mremap(void *old, size_t old_length, size_t length, int flags, ...);
HS_EXPORT void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
    void *wanted = NULL;
    if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
        va_list arguments;
        va_start(arguments, flags);
        wanted = va_arg(arguments, void *);
        va_end(arguments);
    }
    uint32_t before;
    struct hs_thread *thread = ENTER_MAP(&before);
    void *result = system_mremap(old, old_length, length, flags, wanted);
    if (!thread)
        return result;
    if (result != MAP_FAILED && hs_config.maps) {
        struct hs_registers caller;
        HS_CAPTURE_CALLER(&caller);
        uint64_t words[] = {(uintptr_t)old, old_length, (uintptr_t)result, length, (uint32_t)flags};
        hs_record__wide(thread, &caller, HS_WIDE_MREMAP, words, 5, 4, 32);
    }
    leave_map(thread, before);
    return result;
}

// Pages are about to stop being resident. Recorded before the call, so that pages that are touched again come later.
HS_COLD static void record_return(uintptr_t address, size_t length)
{
    uint32_t before;
    struct hs_thread *thread = hs_record__enter_map(&before);
    if (!thread)
        return;
    uint64_t words[] = {HS_SAMPLE_RETURNED, 0, length, address, 0};
    hs_record__wide(thread, NULL, HS_WIDE_SAMPLE, words, 5, HS_RECORD_NO_STACK, 0);
    leave_map(thread, before);
}

HS_EXPORT int madvise(void *address, size_t length, int advice);
HS_EXPORT int madvise(void *address, size_t length, int advice)
{
    if ((advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED) && (hs_config.events & HS_EVENTS_FAULTS))
        record_return((uintptr_t)address, length);
    return (int)hs_real__result(HS_SYSTEM3(SYS_madvise, address, length, advice));
}

static uintptr_t current_break(void)
{
    return (uintptr_t)HS_SYSTEM1(SYS_brk, 0);
}

static int system_brk(void *address)
{
    if (hs_real.brk)
        return hs_real.brk(address);
    // The kernel says where the break is now.
    return (int)hs_real__result((uintptr_t)HS_SYSTEM1(SYS_brk, address) == (uintptr_t)address ? 0 : -ENOMEM);
}

static void *system_sbrk(intptr_t increment)
{
    if (hs_real.sbrk)
        return hs_real.sbrk(increment);
    uintptr_t old = current_break();
    return !increment || !system_brk((void *)(old + (uintptr_t)increment)) ? (void *)old : (void *)-1;
}

HS_EXPORT int brk(void *address);
HS_EXPORT int brk(void *address)
{
    if (!hs_real.brk)
        hs_real__resolve();
    uint32_t before;
    struct hs_thread *thread = ENTER_MAP(&before);
    uintptr_t old = thread ? current_break() : 0;
    int result = system_brk(address);
    if (!thread)
        return result;
    if (result == 0 && hs_config.maps && old != (uintptr_t)address) {
        struct hs_registers caller;
        HS_CAPTURE_CALLER(&caller);
        record_pair(thread, &caller, HS_WIDE_BRK, old, (uintptr_t)address);
    }
    leave_map(thread, before);
    return result;
}

HS_EXPORT void *sbrk(intptr_t increment);
HS_EXPORT void *sbrk(intptr_t increment)
{
    if (!hs_real.sbrk)
        hs_real__resolve();
    uint32_t before;
    struct hs_thread *thread = increment ? ENTER_MAP(&before) : NULL;
    void *result = system_sbrk(increment);
    if (!thread)
        return result;
    if (result != (void *)-1 && hs_config.maps) {
        struct hs_registers caller;
        HS_CAPTURE_CALLER(&caller);
        record_pair(thread, &caller, HS_WIDE_BRK, (uintptr_t)result, (uintptr_t)result + (uintptr_t)increment);
    }
    leave_map(thread, before);
    return result;
}
