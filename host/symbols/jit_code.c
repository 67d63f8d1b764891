// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/jit_code.h"

#include "host/symbols/python_lines.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST           (64u << 20)
#define FIRST_INTERPRETED (1u << 30)
#define CLOCKS_DIFFER     100000u // ns, at most: the clock of the trace and that of dumps

void hs_jit_code__free(struct hs_jit_code *code)
{
    hs_jit_names__free(&code->names);
    free(code->first_use);
    code->first_use = NULL;
}

bool hs_jit_code__may_be_in(const struct hs_module *module)
{
    return !module || !strncmp(module->path, "/memfd:", 7);
}

// ---- reading -------------------------------------------------------------------------------------------------------

static int read_embedded(struct hs_jit_code *code, size_t index, uint64_t length)
{
    uint8_t *text = length <= LARGEST ? malloc(length + 1) : NULL;
    if (text && !hs_store__read_embedded(code->store, index, text, NULL))
        return hs_jit_names__add(&code->names, text, length);
    code->names.damaged++;
    free(text);
    return text || length > LARGEST ? 0 : -ENOMEM;
}

// The first part of a file that is too large.
static int read_given(struct hs_jit_code *code, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_file = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode);
    const size_t length = !is_file ? 0 : status.st_size < (off_t)LARGEST ? (size_t)status.st_size : LARGEST;
    uint8_t *text = malloc(length + 1);
    size_t done = 0;
    for (ssize_t got = 1; text && is_file && got > 0 && done<length; done += got> 0 ? (size_t)got : 0)
        got = read(fd, text + done, length - done);
    if (fd >= 0)
        close(fd);
    code->names.damaged += !is_file || done < (size_t)status.st_size;
    return text ? hs_jit_names__add(&code->names, text, done) : -ENOMEM;
}

// With too little memory, the names that were read by then are used.
static void read_all(struct hs_jit_code *code)
{
    size_t count = 0;
    int result = 0;
    const struct hs_embedded *embedded = hs_store__embedded(code->store, &count);
    for (size_t i = 0; !result && i < count; i++)
        if (hs_jit_names__is_file(embedded[i].name))
            result = read_embedded(code, i, embedded[i].length);
    for (size_t i = 0; !result && i < code->options->perf_map_count; i++)
        result = read_given(code, code->options->perf_maps[i]);
    code->names.damaged += result != 0;
    code->is_read = true;
}

// ---- times ---------------------------------------------------------------------------------------------------------

static void use(uint64_t *first, const struct hs_node *nodes, size_t count, uint32_t node, uint64_t time)
{
    while (node && node < count && first[node] > time) {
        first[node] = time;
        node = nodes[node].parent < node ? nodes[node].parent : 0;
    }
}

static uint64_t *make_first_uses(const struct hs_store *store)
{
    size_t count, samples;
    const struct hs_node *nodes = hs_store__nodes(store, &count);
    const struct hs_columns *columns = hs_store__columns(store);
    const struct hs_sample *sample = hs_store__samples(store, &samples);
    uint64_t *first = malloc((count + 1) * sizeof(*first));
    if (!first)
        return NULL;
    for (size_t i = 0; i <= count; i++)
        first[i] = HS_NEVER;
    for (uint64_t row = 0; row < columns->rows; row++) {
        const uint64_t time = hs_row__time(columns, row), freed = hs_row__free_time(columns, row);
        use(first, nodes, count, hs_row__stack(columns, row), time);
        use(first, nodes, count, hs_row__free_stack(columns, row), freed);
    }
    for (size_t i = 0; i < samples; i++)
        use(first, nodes, count, sample[i].stack, sample[i].time);
    return first;
}

// CLOCK_MONOTONIC; UINT64_MAX: unknown.
static uint64_t time_of(struct hs_jit_code *code, uint32_t node)
{
    if (node && !code->first_use)
        code->first_use = make_first_uses(code->store);
    const uint64_t time = node && code->first_use ? code->first_use[node] : HS_NEVER;
    return time == HS_NEVER ? UINT64_MAX : hs_store__monotonic_ns(code->store, time) + CLOCKS_DIFFER;
}

// ---- frames --------------------------------------------------------------------------------------------------------

// Functions of an interpreter have numbers that no other function has.
static const struct hs_frames *interpreted(const struct hs_store *store, struct hs_symbols *session, uint64_t address)
{
    struct hs_interpreted function;
    uint32_t number;
    if (!hs_store__function(store, address, &function, &number))
        return NULL;
    const struct hs_frames *known = hs_symbols__known_made(session, FIRST_INTERPRETED + number, address);
    if (known)
        return known;
    const int64_t unit = (int64_t)(address - function.start) - 1;
    const struct hs_frame frame = {
        .function = function.function[0] ? function.function : "?",
        .file = function.file[0] ? function.file : NULL,
        .line = hs_python_lines__find(function.kind, function.lines, function.lines_length, function.first_line, unit),
        .kind = HS_FRAME_NAMED,
        .address = address};
    return hs_symbols__add_made(session, FIRST_INTERPRETED + number, &frame);
}

const struct hs_frames *hs_jit_code__frames(struct hs_jit_code *code, struct hs_symbols *session, uint32_t node,
                                            uint64_t node_pc, bool *depends)
{
    const uint16_t machine = hs_store__summary(code->store)->machine;
    const uint64_t pc = machine == EM_ARM ? node_pc & ~(uint64_t)1 : node_pc;
    const uint64_t address = pc - hs_call_length(machine);
    struct hs_jit_text text;
    const struct hs_frames *of_interpreter = interpreted(code->store, session, node_pc);
    if (of_interpreter)
        return of_interpreter;
    if (!code->is_read)
        read_all(code);
    const struct hs_jit_function *function = hs_jit_names__find(&code->names, address, UINT64_MAX, depends);
    if (*depends)
        function = hs_jit_names__find(&code->names, address, time_of(code, node), depends);
    if (!function)
        return NULL;
    const struct hs_frames *known = hs_symbols__known_made(session, function->order, pc);
    if (known)
        return known;
    hs_jit_names__text(function, address, &text);
    const struct hs_frame frame = {
        .function = text.function, .file = text.file, .line = text.line, .kind = HS_FRAME_NAMED, .address = pc};
    return hs_symbols__add_made(session, function->order, &frame);
}

bool hs_jit_code__problem(const struct hs_jit_code *code, char *line, size_t size)
{
    const struct hs_jit_names *names = &code->names;
    if (names->left_out)
        snprintf(line, size, "names of run-time code: only the first %d functions are used, %zu are left out",
                 HS_JIT_NAMES_MOST, names->left_out);
    else if (names->damaged)
        snprintf(line, size, "names of run-time code: %zu line%s or record%s could not be read", names->damaged,
                 names->damaged == 1 ? "" : "s", names->damaged == 1 ? "" : "s");
    return names->left_out || names->damaged;
}
