// SPDX-License-Identifier: MIT OR Apache-2.0
//
// operator new and delete. The usual ones call malloc and free, which are hooked: then these functions jump on and
// leave no frame behind. An allocator that brings its own operators (tcmalloc, mimalloc, jemalloc) is recorded here.
//
// The real operator new may throw, through this frame: nothing is left to undo when it does.
#include "runtime/text.h"
#include "shims/common/operators.h"
#include "shims/common/real.h"
#include "shims/common/symbols.h"
#include "unwind/capture.h"

#include <stdatomic.h>

// One operator: found on first use, because its library may be loaded long after the start.
struct operator
{
    hs_operator_function *_Atomic now;  // `real` or shorter, where that calls malloc or free; else for rare cases
    hs_operator_function *_Atomic real; // NULL: to be looked for
    struct operator* next;
    uint8_t kind; // enum hs_operator_kind
    bool frees;
    atomic_bool listed;
    // Behind the first may be the unsized form, where an older library lacks the sized one. No address: it would take a
    // relocation.
    char names[];
};

static struct operator* _Atomic operators; // those that were looked for

static void *make_rarely(uintptr_t size, uintptr_t second, uintptr_t third, struct operator* operator);
static void *destroy_rarely(uintptr_t block, uintptr_t second, uintptr_t third, struct operator* operator);

static hs_operator_function *rare_of(const struct operator* operator)
{
    return operator->frees ? destroy_rarely : make_rarely;
}

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
    for (struct operator* operator= atomic_load(&operators); operator; operator= operator->next) {
        atomic_store(&operator->now, rare_of(operator));
        atomic_store(&operator->real, NULL);
    }
}

size_t (*_Atomic hs_operator__usable_size)(void *block);

// An allocator has its own, whether or not malloc leads to it: a library that was loaded before it may have that.
static bool is_of_allocator(const void *real)
{
    void *usable_size = hs_symbols__find_beside(real, "malloc_usable_size");
    bool with_malloc = hs_real__same_module(real, (void *)hs_real.malloc);
    atomic_store(&hs_operator__usable_size, usable_size ? (size_t(*)(void *))usable_size : hs_real.malloc_usable_size);
    return usable_size || with_malloc;
}

hs_operator_function *_Atomic hs_operator__library_new;

HS_EXPORT void *malloc(size_t size);
HS_EXPORT hs_operator_function _ZdlPv, _ZdaPv;

static bool leads_to(const void *library, const void *bound, const char *name)
{
    return hs_real__same_module(bound, (const void *)leads_to) && hs_real__same_module(hs_real__find(name), library);
}

// A library's own operator may do more than to call malloc or free. So may what anybody has in place of the functions
// that the C++ library's operators call.
static bool only_calls_ours(const void *real)
{
    const char *file = hs_text__base_name(hs_symbols__file_of(real));
    return (hs_text__starts_with(file, "libstdc++") || hs_text__starts_with(file, "libc++")) &&
           hs_real__same_module((const void *)malloc, (const void *)leads_to) &&
           leads_to(real, (const void *)_ZdlPv, "_ZdlPv") && leads_to(real, (const void *)_ZdaPv, "_ZdaPv");
}

static hs_operator_function *shortest(const struct operator* operator, hs_operator_function * real)
{
    hs_operator_function *direct = hs_operator__directly[operator->kind];
    if (!direct || !only_calls_ours((const void *)real))
        return real;
    if (operator->kind == HS_OPERATOR_NEW)
        atomic_store(&hs_operator__library_new, real);
    return direct;
}

// There is a real one, since the program would not have been loaded without.
static hs_operator_function *find_operator(struct operator* operator)
{
    void *real = hs_real__find(operator->names);
    const char *fallback = operator->names + hs_text__length(operator->names) + 1;
    if (!real && *fallback)
        real = hs_real__find(fallback);
    hs_real__resolve();
    if (!real || !is_of_allocator(real))
        atomic_store(&operator->now, shortest(operator,(hs_operator_function *) real));
    atomic_store(&operator->real, (hs_operator_function *)real);
    list(operator);
    return (hs_operator_function *)real;
}

static hs_operator_function *real_of(struct operator* operator)
{
    hs_operator_function *real = atomic_load(&operator->real);
    return real ? real : find_operator(operator);
}

static bool calls_malloc(const struct operator* operator)
{
    return atomic_load(&operator->now) != rare_of(operator);
}

// Rare cases are handled by one function for all operators. They jump to it, so that it sees their caller as its own.
static __attribute__((noinline)) void *make_rarely(uintptr_t size, uintptr_t second, uintptr_t third,
                                                   struct operator* operator)
{
    hs_operator_function *real = real_of(operator);
    if (calls_malloc(operator))
        return real(size, second, third, operator);
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    hs_operator__enter_new();
    void *block = real(size, second, third, operator);
    hs_operator__leave_new(&caller, block, size);
    return block;
}

static __attribute__((noinline)) void *destroy_rarely(uintptr_t block, uintptr_t second, uintptr_t third,
                                                      struct operator* operator)
{
    hs_operator_function *real = real_of(operator);
    if (calls_malloc(operator))
        return real(block, second, third, operator);
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    bool entered = block && hs_operator__enter_delete(&caller, (void *)block);
    real(block, second, third, operator);
    if (entered)
        hs_operator__leave_delete();
    return NULL;
}

// Itanium C++ ABI names: size_t is `m` where it is a long, `j` where it is an int.
#if __SIZEOF_POINTER__ == 8
#define SIZED(before, after) before##m##after
#else
#define SIZED(before, after) before##j##after
#endif

#define DEFINE_NEW(symbol, kind)           DEFINE(symbol, "", make_rarely, false, kind)
#define DEFINE_DELETE(symbol, other, kind) DEFINE(symbol, other, destroy_rarely, true, kind)

#define DEFINE(symbol, other, rare, frees_, what)                                                                      \
    HS_EXPORT hs_operator_function symbol;                                                                             \
    HS_EXPORT void *symbol(uintptr_t first, uintptr_t second, uintptr_t third, struct operator* unknown)               \
    {                                                                                                                  \
        static struct operator operator= {.now = rare, .kind = what, .frees = frees_, .names = #symbol "\0" other};    \
        (void)unknown;                                                                                                 \
        return atomic_load_explicit(&operator.now, memory_order_relaxed)(first, second, third, &operator);             \
    }

// new, new[], each also nothrow, aligned, aligned nothrow.
DEFINE_NEW(SIZED(_Znw, ), HS_OPERATOR_NEW)
DEFINE_NEW(SIZED(_Zna, ), HS_OPERATOR_OTHER)
DEFINE_NEW(SIZED(_Znw, RKSt9nothrow_t), HS_OPERATOR_OTHER)
DEFINE_NEW(SIZED(_Zna, RKSt9nothrow_t), HS_OPERATOR_OTHER)
DEFINE_NEW(SIZED(_Znw, St11align_val_t), HS_OPERATOR_OTHER)
DEFINE_NEW(SIZED(_Zna, St11align_val_t), HS_OPERATOR_OTHER)
DEFINE_NEW(SIZED(_Znw, St11align_val_tRKSt9nothrow_t), HS_OPERATOR_OTHER)
DEFINE_NEW(SIZED(_Zna, St11align_val_tRKSt9nothrow_t), HS_OPERATOR_OTHER)

DEFINE_DELETE(_ZdlPv, "", HS_OPERATOR_DELETE)
DEFINE_DELETE(_ZdaPv, "", HS_OPERATOR_DELETE)
DEFINE_DELETE(SIZED(_ZdlPv, ), "_ZdlPv", HS_OPERATOR_DELETE)
DEFINE_DELETE(SIZED(_ZdaPv, ), "_ZdaPv", HS_OPERATOR_DELETE)
DEFINE_DELETE(_ZdlPvRKSt9nothrow_t, "_ZdlPv", HS_OPERATOR_OTHER)
DEFINE_DELETE(_ZdaPvRKSt9nothrow_t, "_ZdaPv", HS_OPERATOR_OTHER)
DEFINE_DELETE(_ZdlPvSt11align_val_t, "", HS_OPERATOR_OTHER)
DEFINE_DELETE(_ZdaPvSt11align_val_t, "", HS_OPERATOR_OTHER)
DEFINE_DELETE(SIZED(_ZdlPv, St11align_val_t), "", HS_OPERATOR_OTHER)
DEFINE_DELETE(SIZED(_ZdaPv, St11align_val_t), "", HS_OPERATOR_OTHER)
DEFINE_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, "_ZdlPvSt11align_val_t", HS_OPERATOR_OTHER)
DEFINE_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, "_ZdaPvSt11align_val_t", HS_OPERATOR_OTHER)
