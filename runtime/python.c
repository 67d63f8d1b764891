// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/python.h"

#include "runtime/config.h"
#include "runtime/memory.h"
#include "runtime/modules.h"
#include "runtime/python_merge.h"
#include "unwind/fde_find.h"

#include <stdatomic.h>

#define W sizeof(void *)

enum { JOIN_TRIES = 8 };

// A libpython that the program has loaded itself. `module` 0: none so far.
static struct {
    hs_python_find_in *find_in;
    uintptr_t module;
} late;

static HS_COLD void find_loop(void *(*find)(const char *name))
{
    struct hs_fde_place place;
    hs_python.loop = (uintptr_t)find("_PyEval_EvalFrameDefault");
    if (!hs_python.loop || !hs_fde_find(hs_python.loop, &place))
        return;
    hs_python.loop_end = place.fde.end;
    hs_fde_release(&place);
}

static HS_COLD void *find_either(void *(*find)(const char *name), const char *name, const char *other)
{
    void *found = find(name);
    return found ? found : find(other);
}

// Something else may be at its address since.
static HS_COLD bool is_loaded(void)
{
    uint64_t code;
    return hs_memory_copy((uintptr_t)hs_python.state, &code, sizeof code, true) && code == hs_python.code;
}

HS_COLD uintptr_t hs_python__code(void)
{
    if (__atomic_load_n(&hs_python.layout, __ATOMIC_ACQUIRE))
        return (uintptr_t)hs_python.state;
    return late.find_in ? __atomic_load_n(&hs_modules__python, __ATOMIC_ACQUIRE) : 0;
}

void hs_python__hold(void)
{
    atomic_fetch_add(&hs_python.held, 1);
}

HS_COLD void hs_python__release(void)
{
    if (!hs_python.layout || is_loaded())
        atomic_fetch_sub(&hs_python.held, 1);
}

static HS_COLD void use(void *(*find)(const char *name))
{
    const struct hs_python_layout *layout = hs_python_layout__choose(find);
    hs_python.state = (void *(*)(void))find("PyGILState_GetThisThreadState");
    hs_python.current = (void *(*)(void))find_either(find, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet");
    hs_python.is_ending = (int (*)(void))find_either(find, "Py_IsFinalizing", "_Py_IsFinalizing");
    if (!layout || !hs_python.state || !hs_python.current || !hs_python.is_ending ||
        !hs_memory_copy((uintptr_t)hs_python.state, &hs_python.code, sizeof hs_python.code, true))
        return;
    if (layout->run == HS_PYTHON_ONE_FRAME && !layout->state_record)
        find_loop(find);
    __atomic_store_n(&hs_python.layout, layout, __ATOMIC_RELEASE);
}

// The addresses for functions are there before there are other threads.
HS_COLD void hs_python__begin(void *(*find)(const char *name), hs_python_find_in *find_in)
{
    if (!hs_config.python)
        return;
    if (hs_python.layout) { // it was left, and is entered again
        hs_python__hold();
        hs_python__release();
        return;
    }
    if (!hs_stacks__made.size && !hs_python_code__begin())
        return;
    late.find_in = find_in;
    use(find);
}

static void *find_late(const char *name)
{
    return late.find_in(late.module, name);
}

// One thread does it, and once.
static HS_COLD void use_late(uintptr_t module)
{
    uintptr_t none = 0;
    uint64_t headers;
    if (!late.find_in || __atomic_load_n(&late.module, __ATOMIC_RELAXED) ||
        atomic_load_explicit(&hs_python.held, memory_order_relaxed) ||
        !__atomic_compare_exchange_n(&late.module, &none, module, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    if (hs_memory_copy(module, &headers, sizeof headers, true))
        use(find_late);
    else
        __atomic_store_n(&late.module, 0, __ATOMIC_RELEASE); // gone again: another one may come
}

static size_t thread_size(void)
{
    return sizeof(struct hs_python_thread) +
           hs_config.max_depth * (2 * sizeof(struct hs_python_frame) + sizeof(uintptr_t) + sizeof(uint32_t));
}

static HS_COLD struct hs_python_thread *create(void)
{
    struct hs_python_thread *self = hs_memory__map(thread_size());
    if (!self)
        return NULL;
    self->merged.capacity = (uint32_t)hs_config.max_depth;
    self->frames = (struct hs_python_frame *)(self + 1);
    self->merged.pcs = (uintptr_t *)(self->frames + 2 * self->merged.capacity);
    self->merged.ids = (uint32_t *)(self->merged.pcs + self->merged.capacity);
    return self;
}

HS_COLD void hs_python__forget(struct hs_python_thread *self)
{
    if (!self)
        return;
    self->count = 0;
    __builtin_memset(self->known, 0, sizeof self->known);
    __builtin_memset(self->codes, 0, sizeof self->codes);
}

HS_COLD void hs_python__free(struct hs_python_thread *self)
{
    if (self)
        hs_memory__unmap(self, thread_size());
}

HS_COLD void hs_python__reset(void)
{
    if (hs_python.layout)
        hs_python_code__reset();
}

// ---- frames --------------------------------------------------------------------------------------------------------

static bool innermost(struct hs_python_thread *self, uintptr_t state, struct hs_python_place *place)
{
    const struct hs_python_layout *layout = hs_python.layout;
    *place = (struct hs_python_place){0};
    if (!hs_python_readable(self, state, HS_PYTHON_OF_FRAME))
        return false;
    if (layout->state_record) {
        place->record = hs_python_word(state + layout->state_record);
        if (!hs_python_readable(self, place->record, 4 * W))
            return false;
    }
    place->frame = layout->state_frame ? hs_python_word(state + layout->state_frame)
                                       : hs_python_word(place->record + layout->record_frame);
    return place->frame;
}

static inline uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

// What changes when the frame goes on, or when another call of the same function takes its place.
static inline uintptr_t progress_of(const struct hs_python_layout *layout, uintptr_t frame, enum hs_python_run run)
{
    uintptr_t end = run == HS_PYTHON_ENTRY ? (uintptr_t)hs_python_byte(frame + layout->frame_end) << (8 * W - 1) : 0;
    return hs_python_instruction(layout, frame, run) ^ end;
}

// How many of the known frames are left, from the outermost on, where the first one from the other end has changed. 0:
// none has.
static inline uint32_t find_changed(const struct hs_python_frame *known, uint32_t count, enum hs_python_run run)
{
    const struct hs_python_layout layout = *hs_python.layout;
    uint32_t at = count;
    while (at && ((hs_python_word(known[at - 1].frame + layout.frame_code) ^ known[at - 1].code) |
                  (hs_python_word(known[at - 1].frame + layout.frame_previous) ^ known[at - 1].previous) |
                  (progress_of(&layout, known[at - 1].frame, run) ^ known[at - 1].progress)) == 0)
        at--;
    return at;
}

// The number of known frames up to the frame, if it is one of the innermost and those outside of it are unchanged.
// Else 0, and what is not unchanged is forgotten.
static inline uint32_t join(struct hs_python_thread *self, uintptr_t frame)
{
    const struct hs_python_frame *known = self->frames;
    uint32_t count = self->count, tries = JOIN_TRIES, changed;
    for (; count && known[count - 1].frame != frame; count--)
        if (known[count - 1].frame < frame && !--tries) // most frames lie on a stack that grows upwards
            return 0;
    if (hs_python.layout->run == HS_PYTHON_ENTRY)
        changed = find_changed(known, count, HS_PYTHON_ENTRY);
    else if (hs_python.layout->run == HS_PYTHON_BOUNDARY)
        changed = find_changed(known, count, HS_PYTHON_BOUNDARY);
    else
        changed = find_changed(known, count, HS_PYTHON_ONE_FRAME);
    if (HS_LIKELY(!changed))
        return count;
    self->count = changed - 1;
    return 0;
}

static bool read_frame(struct hs_python_thread *self, uintptr_t frame, struct hs_python_frame *to)
{
    struct hs_python_code code = {0};
    if (!hs_python_readable(self, frame, HS_PYTHON_OF_FRAME))
        return false;
    if (!hs_python_is_boundary(frame) && !hs_python__read_code(self, frame, &code))
        return false;
    const struct hs_python_layout *layout = hs_python.layout;
    *to = (struct hs_python_frame){frame, hs_python_word(frame + layout->frame_code),
                                   hs_python_word(frame + layout->frame_previous),
                                   progress_of(layout, frame, layout->run), 0};
    to->hash = mixed(mixed(code.code ^ (uint64_t)code.first_line << 40, code.table ^ to->progress),
                     code.name ^ (uint64_t)code.lines << 8);
    return true;
}

// Brings the known frames up to date. Returns a hash of all that the functions and lines of the stack depend on.
//
// A function that ends returns to its caller, which has to allocate before a new code object can take the memory of the
// old one. So a frame that was there at the thread's last allocation, and is unchanged, has the same code object.
static uint64_t hash_functions(struct hs_python_thread *self, uintptr_t frame)
{
    uint32_t fresh = 0, joined = 0, capacity = self->merged.capacity;
    struct hs_python_frame *end = self->frames + 2 * capacity;
    while (frame && !(joined = join(self, frame)) && fresh < capacity && read_frame(self, frame, end - 1 - fresh))
        frame = end[-1 - (int32_t)fresh++].previous;
    if (joined + fresh > capacity)
        joined = 0;
    uint64_t hash = joined ? self->frames[joined - 1].hash : 0;
    for (; fresh; fresh--, joined++) {
        self->frames[joined] = end[-(int32_t)fresh];
        self->frames[joined].hash = hash = mixed(hash, self->frames[joined].hash);
    }
    self->count = joined;
    return hash;
}

// While the interpreter ends, it frees the states of all threads that do not have its lock.
static inline uintptr_t live_state(void)
{
    void *state = hs_python.state();
    return state && state != hs_python.current() && hs_python.is_ending() ? 0 : (uintptr_t)state;
}

uint32_t hs_python__stack(struct hs_python_thread **made, const struct hs_python_caller *caller, uint32_t stack)
{
    struct hs_python_place place;
    uintptr_t state, module;
    if (HS_UNLIKELY(!__atomic_load_n(&hs_python.layout, __ATOMIC_ACQUIRE)) &&
        (module = __atomic_load_n(&hs_modules__python, __ATOMIC_ACQUIRE)))
        use_late(module);
    if (!__atomic_load_n(&hs_python.layout, __ATOMIC_ACQUIRE) ||
        atomic_load_explicit(&hs_python.held, memory_order_relaxed) || !(state = live_state()))
        return stack;
    struct hs_python_thread *self = *made ? *made : (*made = create());
    if (!self || !innermost(self, state, &place))
        return stack;
    uint64_t functions = hash_functions(self, place.frame);
    struct hs_python_known *known = &self->known[(functions >> 32 ^ stack * 0x9e3779b1u >> 7) % HS_PYTHON_KNOWN];
    if (HS_LIKELY(known->stack == stack && known->functions == functions))
        return known->result;
    uint32_t result = hs_python__find_stack(self, caller, place);
    if (!result)
        return stack;
    *known = (struct hs_python_known){functions, stack, result};
    return result;
}
