// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/frames.h"

#include "host/base/path.h"
#include "host/base/strings.h"
#include "host/report/text.h"

#include <string.h>

#define LONGEST_FUNCTION 110
#define LONGEST_FILE     60

// ---- kinds of frames -----------------------------------------------------------------------------------------------

enum hs_origin hs_frame__origin(const char *function, const char *module, const char *executable)
{
    static const char *const runtime[] = {"libc.so",   "libc-",    "ld-linux",   "ld-musl",     "libpthread",
                                          "libm.so",   "libm-",    "libdl.",     "libdl-",      "librt.",
                                          "libstdc++", "libgcc_s", "libc++",     "ld64.so",     "ld.so",
                                          "ld-2.",     "[vdso]",   "linux-vdso", "libheapsonde"};
    if (hs_string__begins_with(function, "[cut") || hs_string__begins_with(function, "[guessed"))
        return HS_ORIGIN_CUT;
    if (!*module)
        return HS_ORIGIN_UNKNOWN;
    if (executable && !strcmp(module, executable))
        return HS_ORIGIN_PROGRAM;
    const char *base = hs_path__name(module);
    for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++) {
        if (hs_string__begins_with(base, runtime[i]))
            return HS_ORIGIN_RUNTIME;
    }
    return HS_ORIGIN_LIBRARY;
}

struct frames_collecting {
    const struct hs_frame **frames;
    uint32_t most;
    uint32_t count;
    uint32_t total;
    bool skipping;                   // nothing but allocators and the standard library was met yet
    const struct hs_frame *standard; // the outermost frame of the standard library met so far
};

static void keep(struct frames_collecting *to, const struct hs_frame *frame)
{
    if (to->count < to->most)
        to->frames[to->count++] = frame;
    to->total++;
}

// False where the rest is only the start of the thread.
static bool collect(struct frames_collecting *to, const struct hs_frame *frame, bool skip)
{
    if (to->skipping && frame->role == HS_ROLE_ALLOCATOR)
        return true;
    if (to->skipping && frame->role == HS_ROLE_STANDARD) {
        to->standard = frame;
        return true;
    }
    if (to->skipping && to->standard)
        keep(to, to->standard);
    to->skipping = false;
    if (skip && to->total && frame->role == HS_ROLE_START_UP)
        return false;
    keep(to, frame);
    return true;
}

uint32_t hs_frames__of_stack(struct hs_trace_symbols *symbols, uint32_t stack, bool skip,
                             const struct hs_frame **frames, uint32_t most, uint32_t *total)
{
    struct frames_collecting to = {.frames = frames, .most = most, .skipping = skip};
    bool more = true;
    for (uint32_t node = stack; node && more; node = hs_trace_symbols__parent(symbols, node)) {
        const struct hs_frames *here = hs_trace_symbols__node(symbols, node);
        for (uint32_t i = 0; i < here->count && more; i++)
            more = collect(&to, &here->frame[i], skip) && to.total <= most;
    }
    if (to.skipping && to.standard)
        keep(&to, to.standard);
    *total = to.total;
    if (!to.count && skip && stack)
        return hs_frames__of_stack(symbols, stack, false, frames, most, total);
    return to.count;
}

const struct hs_frame *hs_frames__requester(struct hs_trace_symbols *symbols, uint32_t stack)
{
    const struct hs_frame *frames[2] = {NULL};
    uint32_t total;
    const uint32_t count = hs_frames__of_stack(symbols, stack, true, frames, 2, &total);
    return count > 1 && frames[0]->role == HS_ROLE_STANDARD ? frames[1] : frames[0];
}

// ---- writing -------------------------------------------------------------------------------------------------------

// Length of an operator's sign that would be taken for brackets, after the word `operator`.
static size_t operator_sign(const char *text, const char *at)
{
    static const char *const signs[] = {"()", "<<=", ">>=", "<=>", "<<", ">>", "<=", ">=", "->*", "->", "<", ">"};
    if (at - text < 8 || strncmp(at - 8, "operator", 8))
        return 0;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (hs_string__begins_with(at, signs[i]))
            return strlen(signs[i]);
    }
    return 0;
}

// Writes dots for what is between brackets: std::map<..>::find(..). False when they do not pair up.
static bool elide_arguments(const char *text, char *to, size_t size)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t used = 0;
    unsigned depth = 0;
    for (const char *at = text; *at;) {
        size_t whole = depth ? 0 : operator_sign(text, at);
        if (!depth && hs_string__begins_with(at, anonymous))
            whole = sizeof(anonymous) - 1;
        if (used + whole + 4 >= size)
            return false;
        bool opens = !whole && (*at == '<' || *at == '(');
        bool closes = !whole && (*at == '>' || *at == ')') && !(at > text && at[-1] == '-');
        if (closes && depth && --depth == 0 && strchr("<(", to[used - 1]) && at[-1] != to[used - 1])
            used += (size_t)sprintf(to + used, "..");
        whole = whole ? whole : 1;
        if (!depth) {
            memcpy(to + used, at, whole);
            used += whole;
        }
        depth += opens;
        at += whole;
    }
    to[used] = 0;
    return !depth;
}

static void print_short(FILE *out, const char *text, size_t longest)
{
    char elided[512];
    if (strlen(text) > longest && elide_arguments(text, elided, sizeof(elided)))
        text = elided;
    size_t length = strlen(text);
    if (length <= longest) {
        hs_text__print(out, text, length);
        return;
    }
    size_t head = longest / 2 - 2;
    size_t tail = longest - head - 3;
    hs_text__print(out, text, head);
    fputs("...", out);
    hs_text__print(out, text + length - tail, tail);
}

static void print_file(FILE *out, const char *file)
{
    size_t length = strlen(file);
    if (length <= LONGEST_FILE) {
        hs_text__print(out, file, length);
        return;
    }
    const char *end = strchr(file + length - LONGEST_FILE, '/');
    fputs("...", out);
    end = end ? end : file + length - LONGEST_FILE;
    hs_text__print(out, end, strlen(end));
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
        print_file(out, hs_path__name(frame->module));
        fputs(")", out);
    }
    if (frame->inlined)
        fputs(" [inlined]", out);
    fputs(style->plain, out);
    putc('\n', out);
}

void hs_frame__write(FILE *out, const struct hs_frame *frame)
{
    fputs(frame->function, out);
    if (frame->file)
        fprintf(out, " (%s:%u)", hs_path__name(frame->file), (unsigned)frame->line);
}
