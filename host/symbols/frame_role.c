// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/frame_role.h"

#include "host/base/path.h"
#include "host/base/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const start_up_names[] = {"__libc_start_call_main",
                                             "__libc_start_main",
                                             "__libc_start_main_impl",
                                             "libc_start_main_stage2",
                                             "_start",
                                             "__start", // MIPS
                                             "start_thread",
                                             "clone",
                                             "clone3",
                                             "__clone",
                                             "__clone3"};

static const char *const allocator_names[] = {"malloc",
                                              "calloc",
                                              "realloc",
                                              "reallocarray",
                                              "aligned_alloc",
                                              "memalign",
                                              "posix_memalign",
                                              "valloc",
                                              "pvalloc",
                                              "__rust_alloc",
                                              "__rust_alloc_zeroed",
                                              "__rust_realloc",
                                              "__rdl_alloc",
                                              "__rdl_realloc",
                                              "__rdl_alloc_zeroed",
                                              "__rg_alloc",
                                              "__rg_realloc",
                                              "__rg_alloc_zeroed"};

static const char *const allocator_prefixes[] = {
    "operator new",           "std::__new_allocator<",     "__gnu_cxx::new_allocator<",  "std::allocator<",
    "std::allocator_traits<", "std::__allocate_guarded<",  "__gnu_cxx::__alloc_traits<", "alloc::alloc::",
    "alloc::raw_vec::",       "<alloc::alloc::Global as ", "<alloc::raw_vec::RawVec"};

// Members of the C++ containers that do nothing but get storage.
static const char *const allocator_members[] = {"::_M_allocate(", "::_M_get_node(", "::_M_create_storage("};

static const char *const standard_prefixes[] = {
    "std::", "void std::", "__gnu_cxx::", "alloc::", "core::", "<alloc::", "<core::"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(name, names[i]))
            return true;
    }
    return false;
}

static bool is_allocator(const char *name, const char *module)
{
    // Samplers that are allocators have frames of their own in their dumps.
    static const char *const modules[] = {"libheapsonde-trace", "libheapsonde-prof", "libjemalloc.so", "libtcmalloc"};
    const char *library = hs_path__name(module);
    for (size_t i = 0; i < COUNT(modules); i++) {
        // A name may be nothing but the module and an offset.
        if (hs_string__begins_with(library, modules[i]) || hs_string__begins_with(name, modules[i]))
            return true;
    }
    if (is_one_of(name, allocator_names, COUNT(allocator_names)))
        return true;
    for (size_t i = 0; i < COUNT(allocator_prefixes); i++) {
        if (hs_string__begins_with(name, allocator_prefixes[i]))
            return true;
    }
    for (size_t i = 0; i < COUNT(allocator_members); i++) {
        if (hs_string__begins_with(name, "std::") && strstr(name, allocator_members[i]))
            return true;
    }
    return false;
}

enum hs_frame_role hs_frame_role(const char *function, const char *module)
{
    if (is_allocator(function, module))
        return HS_ROLE_ALLOCATOR;
    for (size_t i = 0; i < COUNT(standard_prefixes); i++) {
        if (hs_string__begins_with(function, standard_prefixes[i]))
            return HS_ROLE_STANDARD;
    }
    return is_one_of(function, start_up_names, COUNT(start_up_names)) ? HS_ROLE_START_UP : HS_ROLE_CODE;
}
