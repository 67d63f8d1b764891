// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions of Python in a stack, from objects that are laid out here as each version does it; and from objects in
// which any word may be wrong: nothing that cannot be read is read.
#include "random.h"

#include "format/meta.h"
#include "format/trace_format.h"
#include "runtime/config.h"
#include "runtime/journal.h"
#include "runtime/python.h"
#include "runtime/python_layout.h"
#include "tests/rounds.h"
#include "tests/suite.h"
#include "unwind/fde_find.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { W = sizeof(void *), PAGE = 4096, PAGES = 16, CALLS = 3, LOOP = 1, UNITS = 40, LINE = 7 };

struct hs_config hs_config;

// ---- what is around it ---------------------------------------------------------------------------------------------

static char *memory, *forbidden; // objects; a page that cannot be read
static uintptr_t anchors[32];    // stands for the stack of the interpreter loop
static unsigned long version;
static uint64_t said[64]; // _PyRuntime: what the interpreter says of its offsets
static unsigned minor;
static uintptr_t state, current;
static bool is_ending;
static struct hs_memo machine; // the stack of machine code
static uintptr_t machine_pcs[CALLS] = {0x1000, 0x2005, 0x3000};
static uintptr_t merged[64];
static uint32_t merged_depth, records, generation;
static struct hs_meta_code record;
static char function[64], file[64];
struct hs_made_range hs_stacks__made;
uintptr_t hs_modules__python;

uint32_t hs_memo_walk(struct hs_memo *memo, const struct hs_registers *start)
{
    (void)start;
    memo->depth = CALLS;
    memo->pcs = machine_pcs;
    memo->end = HS_END_ROOT;
    return 0;
}

uintptr_t hs_memo_sp(const struct hs_memo *memo, uint32_t frame)
{
    (void)memo;
    return frame == LOOP ? (uintptr_t)anchors : frame > LOOP ? (uintptr_t)anchors - 64 : (uintptr_t)(anchors + 32);
}

bool hs_memo_guessed_from(const struct hs_memo *memo, uint32_t frame)
{
    (void)memo, (void)frame;
    return false;
}

bool hs_fde_find(uintptr_t address, struct hs_fde_place *place)
{
    place->fde.start = address;
    place->fde.end = address + 16;
    return true;
}

void hs_fde_release(const struct hs_fde_place *place)
{
    (void)place;
}

uint32_t hs_stacks__identify(struct hs_memo *memo, uint32_t kept, uint32_t tid)
{
    (void)kept, (void)tid;
    if (memo == &machine)
        return 1;
    merged_depth = memo->depth;
    memcpy(merged, memo->pcs, (memo->depth < 64 ? memo->depth : 64) * sizeof *merged);
    return 100 + ++generation;
}

bool hs_stacks__lock(uint32_t tid)
{
    return tid;
}

void hs_stacks__unlock(void)
{
}

bool hs_journal__code(const struct hs_meta_code *code)
{
    record = *code;
    snprintf(function, sizeof function, "%.*s", (int)code->function.length, (const char *)code->function.data);
    snprintf(file, sizeof file, "%.*s", (int)code->file.length, (const char *)code->file.data);
    records++;
    return true;
}

static void *get_state(void)
{
    return (void *)state;
}

static void *get_current(void)
{
    return (void *)current;
}

static int get_ending(void)
{
    return is_ending;
}

static void *find(const char *name)
{
    static const char *const since[] = {
        "", "", "", "", "", "", "", "", "PyCode_NewWithPosOnlyArgs", "PyObject_CallNoArgs", "PyModule_AddObjectRef"};
    if (!strcmp(name, "Py_Version"))
        return minor > 10 ? &version : NULL;
    if (!strcmp(name, "_PyRuntime"))
        return minor > 12 ? said : NULL;
    if (!strcmp(name, "PyGILState_GetThisThreadState"))
        return (void *)(uintptr_t)get_state;
    if (!strcmp(name, "_PyThreadState_UncheckedGet"))
        return (void *)(uintptr_t)get_current;
    if (!strcmp(name, "_Py_IsFinalizing"))
        return (void *)(uintptr_t)get_ending;
    if (!strcmp(name, "_PyEval_EvalFrameDefault"))
        return (void *)(machine_pcs[LOOP] - 5);
    for (unsigned i = 8; i < 11; i++)
        if (!strcmp(name, since[i]))
            return i <= minor ? (void *)1 : NULL;
    return NULL;
}

// ---- objects -------------------------------------------------------------------------------------------------------

static size_t used;

static uintptr_t make(size_t size)
{
    uintptr_t object = (uintptr_t)memory + used;
    used += (size + 15) & ~(size_t)15;
    ck_assert(used < PAGES * PAGE);
    return object;
}

static void set(uintptr_t object, size_t offset, uintptr_t value)
{
    *(uintptr_t *)(object + offset) = value;
}

static uintptr_t make_text(const struct hs_python_layout *layout, const char *text, unsigned size)
{
    uintptr_t object = make(128 + 4 * strlen(text));
    size_t length = 0;
    uint32_t compact = 1u << 5 | size << 2 | (size == 1) << 6;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    compact = 1u << 26 | size << 27 | (size == 1) << 25;
#endif
    for (; text[length]; length++) {
        uintptr_t at = object + (size == 1 ? layout->ascii_text : layout->other_text) + length * size;
        if (size == 1)
            *(char *)at = text[length];
        else if (size == 2)
            *(uint16_t *)at = (uint16_t)(text[length] == '*' ? 0x20ac : text[length]);
        else
            *(uint32_t *)at = text[length] == '*' ? 0x1f40d : (uint32_t)text[length];
    }
    set(object, 2 * W, length);
    *(uint32_t *)(object + 4 * W) = compact;
    return object;
}

static uintptr_t make_bytes(const struct hs_python_layout *layout, size_t length)
{
    uintptr_t object = make(layout->bytes_text + length + 16);
    set(object, 2 * W, length);
    memset((char *)object + layout->bytes_text, 0x81, length);
    return object;
}

static uintptr_t make_code(const struct hs_python_layout *layout, const char *name, unsigned size)
{
    uintptr_t code = make(layout->code_bytes + 2 * UNITS + 256), type = make(8 * W), word = make(8);
    strcpy((char *)word, "code");
    set(type, 3 * W, word);
    set(code, W, type);
    set(code, 2 * W, UNITS);
    set(code, layout->code_name, make_text(layout, name, size));
    set(code, layout->code_file, make_text(layout, "some*file", 2));
    set(code, layout->code_lines, make_bytes(layout, 24));
    *(uint32_t *)(code + layout->code_first_line) = LINE;
    if (layout->run == HS_PYTHON_ONE_FRAME)
        set(code, layout->code_bytes, make_bytes(layout, 2 * UNITS));
    return code;
}

// A frame at its instruction `unit`.
static uintptr_t make_frame(const struct hs_python_layout *layout, uintptr_t code, uintptr_t previous, unsigned unit)
{
    uintptr_t frame = make(256);
    set(frame, layout->frame_code, code | (layout->frame_code_tag ? 1 : 0));
    set(frame, layout->frame_previous, previous);
    if (layout->run == HS_PYTHON_ONE_FRAME)
        *(uint32_t *)(frame + layout->frame_instruction) = unit * layout->unit;
    else
        set(frame, layout->frame_instruction, code + layout->code_bytes + 2 * unit);
    return frame;
}

// Two functions in one run since 3.11, else one. Its loop has `anchors`.
static void make_all(const struct hs_python_layout *layout)
{
    memset(memory, 0, PAGES * PAGE);
    memset(anchors, 0, sizeof anchors);
    used = 0;
    uintptr_t outer = 0, previous = 0, boundary = (uintptr_t)(anchors + 4), top = make(256);
    if (layout->run == HS_PYTHON_BOUNDARY) {
        *(uint8_t *)(boundary + layout->frame_owner) = HS_PYTHON_OF_STACK;
        previous = boundary;
    }
    if (layout->run != HS_PYTHON_ONE_FRAME)
        previous = outer = make_frame(layout, make_code(layout, "outer", 1), previous, 3);
    if (layout->frame_end)
        *(uint8_t *)(outer + layout->frame_end) = 1;
    uintptr_t inner = make_frame(layout, make_code(layout, "inner*", 4), previous, 5);
    state = top;
    if (layout->state_record) {
        set(top, layout->state_record, (uintptr_t)(anchors + 1));
        set((uintptr_t)(anchors + 1), layout->record_frame, inner);
    }
    if (layout->state_frame)
        set(top, layout->state_frame, inner);
}

static void say_offsets(void)
{
    static const uint8_t places[][4] = {{23, 31, 38, 43}, {26, 34, 43, 48}, {26, 42, 51, 56}};
    const uint8_t *place = places[minor < 13 ? 0 : minor - 13];
    said[place[0]] = 5 * W + 32;
    said[place[1]] = 7 * W;
    said[place[2]] = 11 * W + 48;
    said[place[3]] = (minor == 13 ? 19 : 20) * W + 48;
}

static const struct hs_python_layout *begin(unsigned number)
{
    minor = number;
    say_offsets();
    version = 0x03000000ul | number << 16 | 0xf0;
    hs_config = (struct hs_config){.python = true, .max_depth = 64};
    memory = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED);
    forbidden = memory + PAGES * PAGE;
    ck_assert_int_eq(mprotect(forbidden, PAGE, PROT_NONE), 0);
    hs_python__begin(find, NULL);
    const struct hs_python_layout *layout = hs_python_layout__choose(find);
    ck_assert(layout && layout->minor == number && hs_stacks__made.size);
    return layout;
}

static struct hs_python_thread *self;

static uint32_t stack_now(void)
{
    const struct hs_registers registers = {0};
    const struct hs_python_caller caller = {&registers, &machine, 77};
    return hs_python__stack(&self, &caller, 1);
}

static const unsigned versions[] = {8, 9, 10, 11, 12, 13, 14, 15};

START_TEST(test_functions)
{
    const struct hs_python_layout *layout = begin(versions[_i]);
    make_all(layout);
    uint32_t stack = stack_now();
    ck_assert_uint_gt(stack, 100);
    ck_assert_uint_eq(stack_now(), stack); // known by now
    ck_assert_uint_eq(generation, 1);
    ck_assert_str_eq(file, "some\u20acfile");
    bool has_two = layout->run != HS_PYTHON_ONE_FRAME;
    ck_assert_uint_eq(records, 1 + has_two);
    ck_assert_uint_eq(merged_depth, CALLS + has_two);
    ck_assert(merged[0] == machine_pcs[0] && merged[merged_depth - 1] == machine_pcs[CALLS - 1]);
    if (has_two) { // the last record is that of the outer one
        ck_assert_str_eq(function, "outer");
        ck_assert_uint_eq(merged[1], record.start + 1 + 3);
    } else {
        ck_assert_str_eq(function, "inner\U0001f40d");
        ck_assert_uint_eq(merged[1], record.start + 1 + 5);
    }
    ck_assert(record.first_line == LINE && record.kind == layout->lines && record.lines.length == 24);
    ck_assert_uint_eq(record.end - record.start, UNITS + 2);
}
END_TEST

// A code object that takes the memory of another one, and one that says the same from other memory.
START_TEST(test_code_comes_again)
{
    const struct hs_python_layout *layout = begin(versions[_i]);
    make_all(layout);
    uint32_t first = stack_now(), known = records;
    uintptr_t top = merged[merged_depth - 2];
    state = 0;
    ck_assert_uint_eq(stack_now(), 1); // no Python at all
    make_all(layout);
    uintptr_t frame =
        layout->state_frame ? *(uintptr_t *)(memory + layout->state_frame) : anchors[1 + layout->record_frame / W];
    uintptr_t code = *(uintptr_t *)(frame + layout->frame_code) & ~(uintptr_t)layout->frame_code_tag;
    ck_assert_uint_eq(stack_now(), first);
    *(uint32_t *)(code + layout->code_first_line) = LINE + 1;
    hs_python__forget(self);
    ck_assert_uint_ne(stack_now(), first);
    ck_assert_uint_eq(records, known + 1);
    ck_assert_uint_ne(merged[merged_depth - 2], top);
    *(uint32_t *)(code + layout->code_first_line) = LINE;
    hs_python__forget(self);
    stack_now();
    ck_assert_uint_eq(merged[merged_depth - 2], top);
    ck_assert_uint_eq(records, known + 1);
}
END_TEST

static uintptr_t random_word(struct random_numbers *random)
{
    switch (random_below(random, 8)) {
    case 0:
        return 0;
    case 1:
        return (uintptr_t)forbidden + random_below(random, PAGE);
    case 2:
        return (uintptr_t)forbidden - W * random_below(random, 64);
    case 3:
        return (uintptr_t)anchors + random_below(random, sizeof anchors);
    case 4:
        return UINTPTR_MAX - random_below(random, 512);
    case 5:
        return random_below(random, 300);
    default:
        return (uintptr_t)memory + W * random_below(random, used / W);
    }
}

START_TEST(test_anything)
{
    const struct hs_python_layout *layout = begin(versions[_i]);
    struct random_numbers random = random_from(17 + (uint64_t)_i);
    for (unsigned round = 0; round < test_rounds(20000); round++) {
        make_all(layout);
        for (unsigned words = 1 + (unsigned)random_below(&random, 3); words--;) {
            uintptr_t at = random_below(&random, 8) ? (uintptr_t)memory + W * random_below(&random, used / W)
                                                    : (uintptr_t)&anchors[random_below(&random, 32)];
            *(uintptr_t *)at = random_word(&random);
        }
        if (random_below(&random, 64) == 0)
            state = random_word(&random);
        if (random_below(&random, 16) == 0)
            hs_python__forget(self);
        ck_assert_uint_ne(stack_now(), 0);
    }
}
END_TEST

START_TEST(test_unloaded)
{
    make_all(begin(12));
    uint32_t stack = stack_now();
    ck_assert_uint_gt(stack, 100);
    hs_python__hold();
    hs_python__hold(); // two threads unload something
    ck_assert_uint_eq(stack_now(), 1);
    hs_python__release();
    ck_assert_uint_eq(stack_now(), 1);
    hs_python__release();
    ck_assert_uint_eq(stack_now(), stack);
    hs_python__hold();
    hs_python.code ^= 1; // something else was loaded in its place
    hs_python__release();
    ck_assert_uint_eq(stack_now(), 1);
    hs_python.code ^= 1;
    hs_python__hold();
    hs_python__release();
    hs_python__begin(find, NULL);
    ck_assert_uint_eq(stack_now(), 1);
}
END_TEST

static void *find_nothing(const char *name)
{
    (void)name;
    return NULL;
}

static void *find_in(uintptr_t module, const char *name)
{
    ck_assert_uint_eq(module, (uintptr_t)memory);
    return find(name);
}

START_TEST(test_loaded_later)
{
    make_all(begin(14));
    hs_python.layout = NULL;
    hs_python__begin(find_nothing, find_in);
    ck_assert_uint_eq(stack_now(), 1);
    hs_modules__python = (uintptr_t)forbidden; // gone again
    ck_assert_uint_eq(stack_now(), 1);
    hs_modules__python = (uintptr_t)memory;
    hs_python__hold(); // it may go at any moment
    ck_assert_uint_eq(stack_now(), 1);
    ck_assert_ptr_null(hs_python.layout);
    hs_python__release();
    ck_assert_uint_gt(stack_now(), 100);
}
END_TEST

// The interpreter frees the states of other threads.
START_TEST(test_end)
{
    make_all(begin(12));
    uint32_t stack = stack_now();
    ck_assert_uint_gt(stack, 100);
    is_ending = true;
    ck_assert_uint_eq(stack_now(), 1);
    current = state;
    ck_assert_uint_eq(stack_now(), stack);
}
END_TEST

// The outer loop runs the only frame of this state, the inner one a frame of another interpreter.
START_TEST(test_interpreter_in_interpreter)
{
    make_all(begin(versions[_i]));
    machine_pcs[LOOP + 1] = machine_pcs[LOOP] + 2;
    ck_assert_uint_ne(stack_now(), 1);
    ck_assert_uint_eq(merged_depth, CALLS);
    ck_assert_int_eq(memcmp(merged, machine_pcs, sizeof machine_pcs), 0);
}
END_TEST

START_TEST(test_unknown_versions)
{
    hs_config.python = true;
    for (minor = 0; minor < 40; minor++) {
        version = 0x03000000ul | minor << 16 | 0xf0;
        const struct hs_python_layout *layout = hs_python_layout__choose(find);
        // What 3.13 and later say of themselves is not here.
        ck_assert(minor >= 8 && minor <= 12 ? layout && layout->minor == minor : !layout);
    }
    minor = 11;
    version = 0x030b00a3; // before its layout was fixed
    ck_assert(!hs_python_layout__choose(find));
    hs_python__begin(find, NULL);
    ck_assert_uint_eq(stack_now(), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("python");
    TCase *tests = tcase_create("python");
    const int count = sizeof versions / sizeof *versions;
    tcase_add_loop_test(tests, test_functions, 0, count);
    tcase_add_loop_test(tests, test_code_comes_again, 0, count);
    tcase_add_loop_test(tests, test_anything, 0, count);
    tcase_add_test(tests, test_unloaded);
    tcase_add_test(tests, test_loaded_later);
    tcase_add_test(tests, test_end);
    tcase_add_loop_test(tests, test_interpreter_in_interpreter, 0, 2); // later ones say where the loop is
    tcase_add_test(tests, test_unknown_versions);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
