// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/frames.h"

#include <string.h>

#define LONGEST_FUNCTION 110
#define LONGEST_FILE     60

static bool starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// ---- kinds of frames -----------------------------------------------------------------------------------------------

enum hs_origin hs_frame__origin(const char *function, const char *module, const char *executable)
{
    static const char *const runtime[] = {"libc.so",   "libc-",    "ld-linux",   "ld-musl",     "libpthread",
                                          "libm.so",   "libm-",    "libdl.",     "libdl-",      "librt.",
                                          "libstdc++", "libgcc_s", "libc++",     "ld64.so",     "ld.so",
                                          "ld-2.",     "[vdso]",   "linux-vdso", "libheapsonde"};
    if (starts_with(function, "[cut"))
        return HS_ORIGIN_CUT;
    if (!*module)
        return HS_ORIGIN_UNKNOWN;
    if (executable && !strcmp(module, executable))
        return HS_ORIGIN_PROGRAM;
    const char *base = base_name(module);
    for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++) {
        if (starts_with(base, runtime[i]))
            return HS_ORIGIN_RUNTIME;
    }
    return HS_ORIGIN_LIBRARY;
}

bool hs_frame__is_allocator(const struct hs_frame *frame)
{
    static const char *const names[] = {"malloc",
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
    static const char *const prefixes[] = {
        "operator new",           "std::__new_allocator<",     "__gnu_cxx::new_allocator<",  "std::allocator<",
        "std::allocator_traits<", "std::__allocate_guarded<",  "__gnu_cxx::__alloc_traits<", "alloc::alloc::",
        "alloc::raw_vec::",       "<alloc::alloc::Global as ", "<alloc::raw_vec::RawVec"};
    const char *name = frame->function;
    if (starts_with(base_name(frame->module), "libheapsonde-trace"))
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(name, names[i]))
            return true;
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (starts_with(name, prefixes[i]))
            return true;
    }
    // Member functions of the containers that only get storage.
    return starts_with(name, "std::") &&
           (strstr(name, "::_M_allocate(") || strstr(name, "::_M_get_node(") || strstr(name, "::_M_create_storage("));
}

uint32_t hs_frames__of_stack(struct hs_trace_symbols *symbols, uint32_t stack, bool skip_allocators,
                             const struct hs_frame **frames, uint32_t most, uint32_t *total)
{
    uint32_t count = 0;
    bool skipping = skip_allocators;
    *total = 0;
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(symbols, node)) {
        const struct hs_frames *here = hs_trace_symbols__node(symbols, node);
        for (uint32_t i = 0; i < here->count; i++) {
            if (skipping && hs_frame__is_allocator(&here->frame[i]))
                continue;
            skipping = false;
            if (count < most)
                frames[count++] = &here->frame[i];
            (*total)++;
        }
    }
    if (!count && skip_allocators && stack)
        return hs_frames__of_stack(symbols, stack, false, frames, most, total);
    return count;
}

// ---- writing -------------------------------------------------------------------------------------------------------

// Bytes that would steer a terminal do not reach it.
static void print_clean(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        putc(byte < 0x20 || byte == 0x7f ? '?' : byte, out);
    }
}

static void print_short(FILE *out, const char *text, size_t longest)
{
    size_t length = strlen(text);
    if (length <= longest) {
        print_clean(out, text, length);
        return;
    }
    size_t head = longest / 2 - 2;
    size_t tail = longest - head - 3;
    print_clean(out, text, head);
    fputs("...", out);
    print_clean(out, text + length - tail, tail);
}

static void print_file(FILE *out, const char *file)
{
    size_t length = strlen(file);
    if (length <= LONGEST_FILE) {
        print_clean(out, file, length);
        return;
    }
    const char *end = strchr(file + length - LONGEST_FILE, '/');
    fputs("...", out);
    end = end ? end : file + length - LONGEST_FILE;
    print_clean(out, end, strlen(end));
}

void hs_frame__print(FILE *out, const struct hs_style *style, const struct hs_frame *frame)
{
    print_short(out, frame->function, LONGEST_FUNCTION);
    fputs(style->faint, out);
    if (frame->file) {
        fputs(" (", out);
        print_file(out, frame->file);
        if (frame->line)
            fprintf(out, ":%u", frame->line);
        fputs(")", out);
    } else if (frame->kind == HS_FRAME_NAMED && *frame->module) {
        fputs(" (", out);
        print_file(out, base_name(frame->module));
        fputs(")", out);
    }
    if (frame->inlined)
        fputs(" [inlined]", out);
    fputs(style->plain, out);
    putc('\n', out);
}
