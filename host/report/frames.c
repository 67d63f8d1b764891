// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/frames.h"

#include "host/report/text.h"

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

uint32_t hs_frames__of_stack(struct hs_trace_symbols *symbols, uint32_t stack, bool skip,
                             const struct hs_frame **frames, uint32_t most, uint32_t *total)
{
    uint32_t count = 0;
    bool skipping = skip;
    *total = 0;
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(symbols, node)) {
        const struct hs_frames *here = hs_trace_symbols__node(symbols, node);
        for (uint32_t i = 0; i < here->count; i++) {
            if (skipping && here->frame[i].role == HS_ROLE_ALLOCATOR)
                continue;
            skipping = false;
            if (skip && count && here->frame[i].role == HS_ROLE_START_UP)
                return count;
            if (count < most)
                frames[count++] = &here->frame[i];
            (*total)++;
        }
    }
    if (!count && skip && stack)
        return hs_frames__of_stack(symbols, stack, false, frames, most, total);
    return count;
}

// ---- writing -------------------------------------------------------------------------------------------------------

// Bytes that would steer a terminal, or are no text at all, do not reach it.
static void print_clean(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t sequence = hs_utf8__length(text + i, length - i);
        unsigned char byte = (unsigned char)text[i];
        if (!sequence || byte < 0x20 || byte == 0x7f)
            putc('?', out);
        else
            fwrite(text + i, 1, sequence, out);
        i += sequence ? sequence : 1;
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
