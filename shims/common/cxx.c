// SPDX-License-Identifier: MIT OR Apache-2.0
//
// operator new and delete. The usual ones call malloc and free, which are hooked: then these functions jump on and
// leave no frame behind. An allocator that brings its own operators (tcmalloc, mimalloc, jemalloc) is recorded here.
//
// The real operator new may throw, through this frame: nothing is left to undo when it does.
#include "shims/common/operators.h"
#include "shims/common/real.h"
#include "unwind/capture.h"

#include <stdatomic.h>

#define HS_LIKELY(condition) __builtin_expect(!!(condition), 1)

enum { UNKNOWN, CALLS_MALLOC, OWN_ALLOCATOR };

// One operator: found on first use, because its library may be loaded long after the start.
struct operator
{
    const char *name;
    const char *fallback; // the unsized form, where an older library lacks the sized one
    _Atomic int kind;
    void *real;
    struct operator* next;
    atomic_bool listed;
};

static struct operator* _Atomic operators; // those that were looked for

static void list(struct operator* operator)
{
    if (atomic_exchange(&operator->listed, true))
        return;
    operator->next = atomic_load(&operators);
    while (!atomic_compare_exchange_weak(&operators, &operator->next, operator))
        continue;
}

void hs_cxx__forget(void)
{
    for (struct operator* operator= atomic_load(&operators); operator; operator= operator->next)
        atomic_store(&operator->kind, UNKNOWN);
}

// The search must not run for ever in a program that has no such function: it would not have been called.
static int find_operator(struct operator* operator)
{
    void *real = hs_real__find(operator->name);
    if (!real && operator->fallback)
        real = hs_real__find(operator->fallback);
    hs_real__resolve();
    operator->real = real;
    int kind = real && hs_real__same_module(real, (void *)hs_real.malloc) ? OWN_ALLOCATOR : CALLS_MALLOC;
    atomic_store_explicit(&operator->kind, kind, memory_order_release);
    list(operator);
    return kind;
}

static inline bool calls_malloc(const struct operator* operator)
{
    return atomic_load_explicit(&operator->kind, memory_order_acquire) == CALLS_MALLOC;
}

static int kind_of(struct operator* operator)
{
    int kind = atomic_load_explicit(&operator->kind, memory_order_acquire);
    return kind != UNKNOWN ? kind : find_operator(operator);
}

// What an operator gets behind its first argument, passed on whether it is there or not: that leaves one shape for all.
// Every one of them fits in registers.
typedef void *new_function(size_t size, uintptr_t second, uintptr_t third);
typedef void delete_function(void *block, uintptr_t second, uintptr_t third);

// What is rare is left to one function for all operators, which they jump to: it has their caller for its own.
static __attribute__((noinline)) void *make(size_t size, uintptr_t second, uintptr_t third, struct operator* operator)
{
    if (kind_of(operator) == CALLS_MALLOC)
        return ((new_function *)operator->real)(size, second, third);
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    hs_operator__enter_new();
    void *block = ((new_function *)operator->real)(size, second, third);
    hs_operator__leave_new(&caller, block, size);
    return block;
}

static __attribute__((noinline)) void destroy(void *block, uintptr_t second, uintptr_t third, struct operator* operator)
{
    if (kind_of(operator) == CALLS_MALLOC) {
        ((delete_function *)operator->real)(block, second, third);
        return;
    }
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    bool entered = block && hs_operator__enter_delete(&caller, block);
    ((delete_function *)operator->real)(block, second, third);
    if (entered)
        hs_operator__leave_delete();
}

// Itanium C++ ABI names: size_t is `m` where it is a long, `j` where it is an int.
#if __SIZEOF_POINTER__ == 8
#define SIZED(before, after) before##m##after
#else
#define SIZED(before, after) before##j##after
#endif

#define DEFINE_NEW(name)              DEFINE_NEW_NAMED(name)
#define DEFINE_DELETE(name, fallback) DEFINE_DELETE_NAMED(name, fallback)

#define DEFINE_NEW_NAMED(name)                                                                                         \
    HS_EXPORT new_function name;                                                                                       \
    HS_EXPORT void *name(size_t size, uintptr_t second, uintptr_t third)                                               \
    {                                                                                                                  \
        static struct operator operator= {#name, NULL, UNKNOWN, NULL, NULL, false};                                    \
        if (HS_LIKELY(calls_malloc(&operator)))                                                                        \
            return ((new_function *)operator.real)(size, second, third);                                               \
        return make(size, second, third, &operator);                                                                   \
    }

#define DEFINE_DELETE_NAMED(name, fallback)                                                                            \
    HS_EXPORT delete_function name;                                                                                    \
    HS_EXPORT void name(void *block, uintptr_t second, uintptr_t third)                                                \
    {                                                                                                                  \
        static struct operator operator= {#name, fallback, UNKNOWN, NULL, NULL, false};                                \
        if (HS_LIKELY(calls_malloc(&operator)))                                                                        \
            ((delete_function *)operator.real)(block, second, third);                                                  \
        else                                                                                                           \
            destroy(block, second, third, &operator);                                                                  \
    }

// new, new[], each also nothrow, aligned, aligned nothrow.
DEFINE_NEW(SIZED(_Znw, ))
DEFINE_NEW(SIZED(_Zna, ))
DEFINE_NEW(SIZED(_Znw, RKSt9nothrow_t))
DEFINE_NEW(SIZED(_Zna, RKSt9nothrow_t))
DEFINE_NEW(SIZED(_Znw, St11align_val_t))
DEFINE_NEW(SIZED(_Zna, St11align_val_t))
DEFINE_NEW(SIZED(_Znw, St11align_val_tRKSt9nothrow_t))
DEFINE_NEW(SIZED(_Zna, St11align_val_tRKSt9nothrow_t))

DEFINE_DELETE(_ZdlPv, NULL)
DEFINE_DELETE(_ZdaPv, NULL)
DEFINE_DELETE(SIZED(_ZdlPv, ), "_ZdlPv")
DEFINE_DELETE(SIZED(_ZdaPv, ), "_ZdaPv")
DEFINE_DELETE(_ZdlPvRKSt9nothrow_t, "_ZdlPv")
DEFINE_DELETE(_ZdaPvRKSt9nothrow_t, "_ZdaPv")
DEFINE_DELETE(_ZdlPvSt11align_val_t, NULL)
DEFINE_DELETE(_ZdaPvSt11align_val_t, NULL)
DEFINE_DELETE(SIZED(_ZdlPv, St11align_val_t), NULL)
DEFINE_DELETE(SIZED(_ZdaPv, St11align_val_t), NULL)
DEFINE_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, "_ZdlPvSt11align_val_t")
DEFINE_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, "_ZdaPvSt11align_val_t")
