// SPDX-License-Identifier: MIT OR Apache-2.0
//
// mallctl() and its relatives: from names and MIBs to the nodes (shims/prof/nodes.h), by the rules of jemalloc 5.3. One
// thing is done otherwise: a call that both reads and writes, and has no room for what it reads, changes nothing.
#include "shims/prof/mallctl.h"

#include "runtime/prof/options.h"
#include "runtime/prof/sampler.h"
#include "runtime/text.h"
#include "shims/common/real.h"
#include "shims/prof/nodes.h"

#include <errno.h>

#define FORWARDED 0x10000u // added to the first number of MIBs that belong to the allocator behind us

static struct hs_next_ctl next;
static _Atomic bool next_is_known;

// ---- values ---------------------------------------------------------------------------------------------------------

static size_t size_of_type(uint8_t type)
{
    static const uint8_t sizes[] = {sizeof(bool), 4, sizeof(size_t), 8, sizeof(char *), sizeof(void *), 0};
    return sizes[type];
}

static uint64_t load(const void *from, size_t size)
{
    if (size == 1)
        return *(const uint8_t *)from != 0;
    uint32_t narrow;
    uint64_t wide;
    if (size == 4) {
        __builtin_memcpy(&narrow, from, 4);
        return narrow;
    }
    __builtin_memcpy(&wide, from, 8);
    return wide;
}

static int give_number(const struct hs_call *call, uint64_t number)
{
    size_t size = size_of_type(call->node->type);
    uint8_t byte = number != 0;
    uint32_t narrow = (uint32_t)number;
    const void *value = size == 1 ? (const void *)&byte : size == 4 ? (const void *)&narrow : (const void *)&number;
    return hs_node__give(call, value, size);
}

static uint64_t read_node(const struct hs_call *call)
{
    const struct hs_node *node = call->node;
    const void *value = node->of.value;
    switch (node->source) {
    case HS_FROM_FUNCTION:
        return node->of.read(call);
    case HS_FROM_BOTH:
        return node->of.both->read(call);
    case HS_FROM_NUMBER:
        return node->of.number;
    case HS_FROM_ALLOCATOR:
        return hs_node__remembered(call);
    case HS_FROM_OPTION:
        value = (const uint8_t *)&hs_prof_options + node->of.number;
    }
    return node->type == HS_TYPE_TEXT ? (uintptr_t)value : load(value, size_of_type(node->type));
}

// ---- leaves ---------------------------------------------------------------------------------------------------------

static bool reads(const struct hs_call *call)
{
    return call->old && call->old_length;
}

static int take_new(const struct hs_call *call, uint64_t *value)
{
    size_t size = size_of_type(call->node->type);
    *value = 0;
    if (!call->new)
        return 0;
    if (call->new_length != size)
        return EINVAL;
    *value = load(call->new, size);
    return 0;
}

static int run_both(const struct hs_call *call, hs_node_write *write)
{
    uint64_t value;
    int error = take_new(call, &value);
    if (!error && call->new)
        error = write(call, value, false);
    if (!error)
        error = give_number(call, read_node(call));
    if (!error && call->new)
        error = write(call, value, true);
    return error;
}

static int run_write(const struct hs_call *call, hs_node_write *write)
{
    uint64_t value;
    int error = take_new(call, &value);
    return error ? error : write(call, value, true);
}

int hs_node__run(const struct hs_call *call)
{
    const struct hs_node *node = call->node;
    hs_node_write *write = node->source == HS_FROM_BOTH ? node->of.both->write : node->of.write;
    bool any_old = call->old || call->old_length, any_new = call->new || call->new_length;
    bool needs_prof = node->needs_prof == HS_NEEDS_PROF || (node->needs_prof && call->new);
    if (needs_prof && !hs_sampler__is_on())
        return ENOENT;
    switch (node->access) {
    case HS_ACCESS_READ:
        return any_new ? EPERM : give_number(call, read_node(call));
    case HS_ACCESS_WRITE:
        return any_old ? EPERM : run_write(call, write);
    case HS_ACCESS_BOTH:
        return run_both(call, write);
    case HS_ACCESS_EITHER:
        if (reads(call) && any_new)
            return EPERM;
        return call->new ? run_write(call, write) : give_number(call, read_node(call));
    case HS_ACCESS_CALL:
        return any_old || any_new ? EPERM : write(call, 0, true);
    case HS_ACCESS_UNCHECKED:
    case HS_ACCESS_OWN:
        return write(call, 0, true);
    default:
        return ENOENT;
    }
}

// ---- names and MIBs -------------------------------------------------------------------------------------------------

static bool is_leaf(const struct hs_node *node)
{
    return node->access > HS_ACCESS_INDEX;
}

// The component that `name` begins with; its length.
static size_t component(const char *name)
{
    size_t length = 0;
    while (name[length] && name[length] != '.')
        length++;
    return length;
}

static bool is_named(const struct hs_node *node, const char *name, size_t length)
{
    size_t i = 0;
    while (i < length && node->name[i] == name[i])
        i++;
    return i == length && !node->name[i];
}

static bool read_index(const char *name, size_t length, size_t *index)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] < '0' || name[i] > '9' || number > UINT32_MAX)
            return false;
        number = number * 10 + (unsigned)(name[i] - '0');
    }
    *index = (size_t)number;
    return number <= UINT32_MAX;
}

const struct hs_node *hs_node__children(const struct hs_node *node)
{
    if (node->access == HS_ACCESS_INDEX)
        return node + 1;
    while (!node->of.children)
        node--;
    return node->of.children;
}

// The child of call->node at a MIB's number, or NULL.
static const struct hs_node *child_at(const struct hs_call *call, size_t number)
{
    const struct hs_node *node = call->node;
    if (is_leaf(node))
        return NULL;
    const struct hs_node *children = hs_node__children(node);
    if (children->access == HS_ACCESS_INDEX)
        return children->of.accepts(call, number) ? children : NULL;
    return number < node->child_count ? &children[number] : NULL;
}

static const struct hs_node *child_named(const struct hs_call *call, const char *name, size_t length, size_t *number)
{
    const struct hs_node *node = call->node;
    if (is_leaf(node) || length == 0)
        return NULL;
    const struct hs_node *children = hs_node__children(node);
    if (children->access == HS_ACCESS_INDEX)
        return read_index(name, length, number) ? child_at(call, *number) : NULL;
    for (size_t i = 0; i < node->child_count; i++)
        if (is_named(&children[i], name, length)) {
            *number = i;
            return &children[i];
        }
    return NULL;
}

// Follows `name` as far as it goes or `mib` has room. Returns NULL when there is no such name.
static const struct hs_node *find_name(const char *name, size_t *mib, size_t *depth)
{
    struct hs_call call = {.node = &hs_nodes_root, .mib = mib};
    size_t limit = *depth, i = 0;
    bool more = true;
    for (; more && i < limit; i++) {
        size_t length = component(name), number;
        const struct hs_node *child = child_named(&call, name, length, &number);
        if (!child)
            return NULL;
        more = name[length] == '.';
        name += length + more;
        mib[i] = number;
        call.node = child;
        call.depth = i + 1;
        if (is_leaf(child) && more)
            return NULL;
    }
    if (i == 0 && component(name) == 0)
        return NULL;
    *depth = i;
    return call.node;
}

static const struct hs_node *find_mib(const size_t *mib, size_t depth)
{
    struct hs_call call = {.node = &hs_nodes_root, .mib = mib};
    for (size_t i = 0; i < depth; i++) {
        const struct hs_node *child = child_at(&call, mib[i]);
        if (!child)
            return NULL;
        call.node = child;
        call.depth = i + 1;
    }
    return is_leaf(call.node) ? call.node : NULL;
}

// ---- an allocator behind us that is jemalloc ------------------------------------------------------------------------

const struct hs_next_ctl *hs_prof_ctl__next(void)
{
    if (!atomic_load_explicit(&next_is_known, memory_order_acquire)) {
        struct hs_next_ctl found = {0};
        *(void **)&found.mallctl = hs_real__find("mallctl");
        *(void **)&found.mallctlnametomib = hs_real__find("mallctlnametomib");
        *(void **)&found.mallctlbymib = hs_real__find("mallctlbymib");
        *(void **)&found.malloc_stats_print = hs_real__find("malloc_stats_print");
        // A jemalloc that is loaded but does not serve malloc is ignored. It serves malloc if malloc is its own, or
        // that of a library between.
        if (found.mallctl && hs_real__same_module((const void *)hs_real.malloc, hs_real__find("getpid")))
            found = (struct hs_next_ctl){0};
        next = found;
        atomic_store_explicit(&next_is_known, true, memory_order_release);
    }
    return next.mallctl && next.mallctlnametomib && next.mallctlbymib ? &next : NULL;
}

static bool is_profiling(const char *name)
{
    static const char prefixes[][26] = {
        "prof.",
        "opt.prof",
        "opt.lg_prof",
        "thread.prof.",
        "config.prof",
        "experimental.hooks.prof_",
        "experimental.prof_recent.",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (hs_text__starts_with(name, prefixes[i]))
            return true;
    return hs_text__equal(name, "prof") || hs_text__equal(name, "thread.prof") ||
           hs_text__equal(name, "experimental.prof_recent");
}

static const struct hs_next_ctl *next_for(const char *name)
{
    return is_profiling(name) ? NULL : hs_prof_ctl__next();
}

void hs_prof_ctl__is_alone(void)
{
    atomic_store_explicit(&next_is_known, true, memory_order_release);
}

// ---- the functions --------------------------------------------------------------------------------------------------

// What happens in here belongs to the caller and is not sampled; it costs at most the record of a thread.
HS_EXPORT int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length)
{
    const struct hs_next_ctl *jemalloc = next_for(name);
    if (jemalloc)
        return jemalloc->mallctl(name, old, old_length, new, new_length);
    size_t mib[HS_NODE_DEPTH], depth = HS_NODE_DEPTH;
    const struct hs_node *node = find_name(name, mib, &depth);
    if (!node || !is_leaf(node))
        return ENOENT;
    return hs_node__run(&(struct hs_call){node, mib, depth, old, old_length, new, new_length});
}

HS_EXPORT int mallctlnametomib(const char *name, size_t *mib, size_t *depth)
{
    const struct hs_next_ctl *jemalloc = next_for(name);
    if (!jemalloc)
        return find_name(name, mib, depth) ? 0 : ENOENT;
    int error = jemalloc->mallctlnametomib(name, mib, depth);
    if (!error && *depth)
        mib[0] += FORWARDED;
    return error;
}

static int pass_on(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length)
{
    const struct hs_next_ctl *jemalloc = hs_prof_ctl__next();
    size_t theirs[HS_NODE_DEPTH];
    if (!jemalloc || depth > HS_NODE_DEPTH)
        return ENOENT;
    for (size_t i = 0; i < depth; i++)
        theirs[i] = i ? mib[i] : mib[0] - FORWARDED;
    return jemalloc->mallctlbymib(theirs, depth, old, old_length, new, new_length);
}

HS_EXPORT int mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length)
{
    if (depth && mib[0] >= FORWARDED)
        return pass_on(mib, depth, old, old_length, new, new_length);
    const struct hs_node *node = find_mib(mib, depth);
    if (!node)
        return ENOENT;
    return hs_node__run(&(struct hs_call){node, mib, depth, old, old_length, new, new_length});
}
