// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces of the other architectures, made here around programs from cross compilers: import, symbols, report and export
// on this machine. Every call of a program is a stack; its frames have to be what that architecture's addr2line says.
#include "golden.h"

#include "host/symbols/elf_probe.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CALLS  80
#define MILLISECOND 1000000u

static const struct target {
    const char *tools;
    const char *options;
    uint16_t machine;
    struct hs_codec_target codec; // byte order, pointer size, address shift
    uint64_t bias;
    uint64_t heap;
    const char *calls; // mnemonics
    unsigned behind;   // bytes from a call to its return address besides the call's own
    bool thumb;
    const char *name;  // as the JSON has it
    const char *words; // as the text has it
} targets[] = {
    {"aarch64-linux-gnu-",
     "",
     EM_AARCH64,
     {HS_BYTE_ORDER_LITTLE, 8, 4},
     0x5500000000,
     0xffff80000000,
     " bl blr ",
     0,
     false,
     "aarch64",
     "UTC, aarch64, "},
    {"arm-linux-gnueabihf-",
     "-mthumb",
     EM_ARM,
     {HS_BYTE_ORDER_LITTLE, 4, 3},
     0x400000,
     0x80000008,
     " bl blx ",
     0,
     true,
     "arm",
     "UTC, arm, "},
    {"arm-linux-gnueabi-",
     "-marm",
     EM_ARM,
     {HS_BYTE_ORDER_LITTLE, 4, 3},
     0xf0000000,
     0xb0000008,
     " bl blx ",
     0,
     false,
     "arm",
     "UTC, arm, "},
    {"mips64el-linux-gnuabi64-",
     "",
     EM_MIPS,
     {HS_BYTE_ORDER_LITTLE, 8, 4},
     0xfff7000000,
     0x120000000,
     " bal jal jalr ",
     4,
     false,
     "mips64el",
     "UTC, mips64, little-endian, "},
    {"mips64-linux-gnuabi64-",
     "-no-pie -fno-pie",
     EM_MIPS,
     {HS_BYTE_ORDER_BIG, 8, 4},
     0,
     0xfff0000000,
     " bal jal jalr ",
     4,
     false,
     "mips64",
     "UTC, mips64, big-endian, "},
};
#define TARGETS ((int)(sizeof(targets) / sizeof(targets[0])))

enum { PROGRAM_SIZE = 0x100000, MISSING_OFFSET = 0x800000, MISSING_SIZE = 0x1000 };

struct call {
    uint64_t address, back; // of the call, and where it returns to
    char *frames;           // "function|file:line\n" for each; NULL where addr2line does not know
};

struct program {
    const struct target *target;
    struct call call[MOST_CALLS];
    size_t count;
    struct hs_probe probe;
};

static char source[4096];

static void make_folder(void)
{
    ck_assert(*source || getcwd(source, sizeof(source)));
    make_work();
}

// ---- the program and what is said about it -------------------------------------------------------------------------

static size_t bytes_of(const char *digits, const char *end)
{
    size_t count = 0;
    for (; digits < end; digits++)
        count += *digits != ' ';
    return count / 2;
}

// A line of objdump: "  1234:\tfeed f00d \tbl\t5678 <name>".
static void take_line(struct program *program, const char *line)
{
    const struct target *target = program->target;
    const char *first = strchr(line, '\t');
    const char *second = first ? strchr(first + 1, '\t') : NULL;
    char word[32];
    if (line[0] != ' ' || !second || sscanf(second + 1, "%30s", word) != 1 || program->count == MOST_CALLS)
        return;
    if (!strstr(target->calls, text(" %s ", word)))
        return;
    struct call *call = &program->call[program->count++];
    call->address = strtoull(line, NULL, 16);
    call->back = (call->address + bytes_of(first + 1, second) + target->behind) | target->thumb;
}

static void find_calls(struct program *program)
{
    char line[1024];
    FILE *pipe = popen(text("cd %s && %sobjdump -d -j .text program", work, program->target->tools), "r");
    while (pipe && fgets(line, sizeof(line), pipe))
        take_line(program, line);
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_uint_gt(program->count, 40);
}

static void finish_answer(struct call *call, char *answer)
{
    bool known = *answer && !strstr(answer, "??") && !strstr(answer, ":?\n");
    call->frames = known ? strdup(answer) : NULL;
    *answer = 0;
}

static void ask_addr2line(struct program *program)
{
    char function[8192];
    char place[8192];
    char answer[1 << 16] = "";
    size_t index = SIZE_MAX;
    FILE *list = fopen(text("%s/addresses", work), "w");
    for (size_t i = 0; i < program->count; i++)
        fprintf(list, "0x%llx\n", (unsigned long long)program->call[i].address);
    fclose(list);
    FILE *pipe = popen(text("cd %s && %saddr2line -aifC -e program < addresses", work, program->target->tools), "r");
    while (fgets(function, sizeof(function), pipe)) {
        function[strcspn(function, "\n")] = 0;
        if (!strncmp(function, "0x", 2)) {
            if (index != SIZE_MAX)
                finish_answer(&program->call[index], answer);
            index++;
            continue;
        }
        ck_assert_ptr_nonnull(fgets(place, sizeof(place), pipe));
        place[strcspn(place, " \n")] = 0;
        strcat(answer, text("%s|%s\n", function, place));
    }
    ck_assert_uint_eq(index + 1, program->count);
    finish_answer(&program->call[index], answer);
    ck_assert_int_eq(pclose(pipe), 0);
}

static void make_program(struct program *program, const struct target *target)
{
    *program = (struct program){.target = target};
    shell("command -v %sg++ >/dev/null || { echo '%sg++ is missing; scripts/setup installs it'; false; }",
          target->tools, target->tools);
    shell("%sg++ -O2 -g %s -Wl,--build-id=sha1 '%s/../symbols/sample.cpp' -o program", target->tools, target->options,
          source);
    ck_assert_int_eq(hs_probe__file(&program->probe, text("%s/program", work)), 0);
    find_calls(program);
    ask_addr2line(program);
}

static void free_program(struct program *program)
{
    for (size_t i = 0; i < program->count; i++)
        free(program->call[i].frames);
}

// ---- the trace -----------------------------------------------------------------------------------------------------

// Where the program lies: what is linked for a fixed address has no bias.
static uint64_t start_of(const struct program *program)
{
    return program->target->bias ? program->target->bias : 0x120000000;
}

static void add_modules(struct hs_meta_writer *meta, const struct program *program)
{
    static const char path[] = "/opt/program";
    static const char other[] = "/opt/lib/libmissing.so";
    static const uint8_t id[] = {0xab, 0xcd, 0xef};
    uint64_t start = start_of(program);
    uint64_t missing = start + MISSING_OFFSET;
    ck_assert(hs_meta_module(meta, 0, start, start + PROGRAM_SIZE, program->target->bias, program->probe.build_id,
                             program->probe.build_id_length, path, sizeof(path) - 1));
    ck_assert(
        hs_meta_module(meta, 0, missing, missing + MISSING_SIZE, missing, id, sizeof(id), other, sizeof(other) - 1));
}

// Node i + 1 is call i, called by call 0; one more lies in a library that is nowhere.
static void write_meta(struct trace_writer *writer, const struct program *program)
{
    static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
    struct hs_meta_writer meta;
    memset(bytes, 0, sizeof(bytes));
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000000000, 1700000000000000000);
    hs_meta_info(&meta, "executable", 10, "/opt/program", 12);
    add_modules(&meta, program);
    hs_meta_thread(&meta, 1, 4711, 0, "main", 4);
    for (uint32_t i = 0; i < program->count; i++)
        hs_meta_node(&meta, i + 1, i ? 1 : 0, program->target->bias + program->call[i].back);
    hs_meta_node(&meta, (uint32_t)program->count + 1, 1, start_of(program) + MISSING_OFFSET + 0x234);
    trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), true);
}

// Call i allocates i + 1 words of 16 bytes, at the upper end of the address space.
static size_t make_events(const struct program *program, struct hs_event *events)
{
    for (size_t i = 0; i <= program->count; i++) {
        uint32_t size = 16 * ((uint32_t)i + 1);
        events[i] = (struct hs_event){.kind = HS_EVENT_MALLOC,
                                      .time = (i + 1) * MILLISECOND,
                                      .address = program->target->heap + i * 8192,
                                      .size = size,
                                      .usable = hs_usable_model(size, program->target->codec.pointer_size),
                                      .stack = (uint32_t)i + 1};
    }
    return program->count + 1;
}

// A word of the live part of the header, in the target's byte order.
static void set_live(const struct program *program, unsigned word, uint8_t value)
{
    FILE *file = fopen(text("%s/trace.dat", work), "rb+");
    unsigned low = program->target->codec.byte_order == HS_BYTE_ORDER_BIG ? 7 : 0;
    ck_assert(!fseek(file, (long)(256 + 8 * word + low), SEEK_SET) && putc(value, file) == value && !fclose(file));
}

// As a killed process leaves it: half of the events are still in a live slot, in the target's byte order.
static void write_trace(const struct program *program)
{
    struct trace_writer writer;
    static struct hs_event events[MOST_CALLS + 1];
    size_t count = make_events(program, events);
    trace_writer__open_for(&writer, text("%s/trace.dat", work), program->target->machine, &program->target->codec);
    write_meta(&writer, program);
    trace_writer__events(&writer, 1, events, count / 2, false);
    trace_writer__events(&writer, 1, events + count / 2, count - count / 2, true);
    trace_writer__close(&writer, false, 0);
    set_live(program, 32 + 1, 5); // truncated: no rule
    set_live(program, 32 + 4, 2); // truncated: too deep
    set_live(program, 48, 7);     // guessed
}

static void prepare(struct program *program, const struct target *target)
{
    make_program(program, target);
    write_trace(program);
    shell("mkdir -p root/opt/.debug && %sobjcopy --only-keep-debug program root/opt/.debug/program.debug && "
          "%sobjcopy --strip-all --add-gnu-debuglink=root/opt/.debug/program.debug program root/opt/program",
          target->tools, target->tools);
}

// ---- what is read out of it ----------------------------------------------------------------------------------------

static void add_frame(char *text_of, const json_t *frame)
{
    const char *file = json_string_value(json_object_get(frame, "file"));
    strcat(text_of, text("%s|%s:%lld\n", json_string_value(json_object_get(frame, "function")), file ? file : "?",
                         file ? integer(frame, "line") : 0));
}

// The frames of an entry that lie at its innermost address.
static void innermost_frames(const json_t *entry, char *text_of)
{
    size_t index;
    json_t *frame;
    const json_t *frames = json_object_get(entry, "frames");
    const char *address = json_string_value(json_object_get(json_array_get(frames, 0), "address"));
    *text_of = 0;
    json_array_foreach(frames, index, frame)
    {
        if (strcmp(json_string_value(json_object_get(frame, "address")), address))
            break;
        add_frame(text_of, frame);
        if (!json_boolean_value(json_object_get(frame, "inlined")))
            break;
    }
}

static const char *last_line(const char *frames)
{
    const char *last = frames;
    for (const char *line = frames; *line; line = strchr(line, '\n') + 1)
        last = line;
    return last;
}

// Of a method of a class within a function, addr2line has only the last part of the name.
static bool same_frames(const char *ours, const char *theirs)
{
    const char *our_last = last_line(ours);
    const char *their_last = last_line(theirs);
    size_t length = (size_t)(our_last - ours);
    if (length != (size_t)(their_last - theirs) || memcmp(ours, theirs, length))
        return false;
    const char *our_place = strrchr(our_last, '|');
    const char *their_place = strrchr(their_last, '|');
    int name_length = (int)(their_place - their_last);
    if (strcmp(our_place, their_place))
        return false;
    return !strcmp(our_last, their_last) || (!memchr(their_last, ' ', (size_t)name_length) &&
                                             strstr(our_last, text("::%.*s(", name_length, their_last)));
}

static size_t compare_stacks(const struct program *program, const json_t *report)
{
    static char frames[1 << 16];
    size_t compared = 0;
    size_t index;
    json_t *entry;
    json_array_foreach(json_object_get(report, "top"), index, entry)
    {
        size_t number = (size_t)integer(entry, "allocated_bytes") / 16 - 1;
        ck_assert_uint_le(number, program->count);
        if (number == program->count || !program->call[number].frames)
            continue;
        innermost_frames(entry, frames);
        ck_assert_msg(same_frames(frames, program->call[number].frames), "call at %#llx:\n%sinstead of\n%s",
                      (unsigned long long)program->call[number].address, frames, program->call[number].frames);
        compared++;
    }
    return compared;
}

static void check_json(const struct program *program)
{
    json_t *report = output_as_json("report --json --top 1000 --sysroot root trace.dat");
    size_t known = 0;
    for (size_t i = 0; i < program->count; i++)
        known += program->call[i].frames != NULL;
    ck_assert_uint_gt(known, program->count * 3 / 4);
    ck_assert_uint_eq(compare_stacks(program, report), known);
    ck_assert_str_eq(json_string_value(json_object_get(report, "arch")), program->target->name);
    bool big = program->target->codec.byte_order == HS_BYTE_ORDER_BIG;
    ck_assert_str_eq(json_string_value(json_object_get(report, "byte_order")), big ? "big" : "little");
    ck_assert_int_eq(integer(report, "pointer_size"), program->target->codec.pointer_size);
    long long count = (long long)program->count + 1;
    ck_assert_int_eq(integer(report, "allocations"), count);
    ck_assert_int_eq(integer(report, "allocated_bytes"), 16 * count * (count + 1) / 2);
    ck_assert_int_eq(integer(report, "guessed_stacks"), 7);
    ck_assert_int_eq(integer(json_object_get(report, "truncated"), "no_rule"), 5);
    ck_assert_int_eq(integer(json_object_get(report, "truncated"), "too_deep"), 2);
    const json_t *missing = json_object_get(report, "missing_symbols");
    ck_assert_int_eq(json_array_size(missing), 1);
    missing = json_array_get(missing, 0);
    ck_assert_str_eq(json_string_value(json_object_get(missing, "module")), "/opt/lib/libmissing.so");
    ck_assert_str_eq(json_string_value(json_object_get(missing, "build_id")), "abcdef");
    ck_assert_str_eq(json_string_value(json_object_get(missing, "reason")), "no_file");
    ck_assert_int_eq(integer(missing, "allocated_bytes"), 16 * count);
    ck_assert_int_eq(integer(missing, "stacks"), 1);
    ck_assert_int_eq(integer(missing, "unnamed_frames"), 1);
    json_decref(report);
}

static void expect_words(const char *arguments, const char *const *words)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_int_eq(outcome.status, 0);
    for (; *words; words++)
        ck_assert_msg(strstr(outcome.output, *words), "heapsonde %s: no '%s' in\n%s", arguments, *words,
                      outcome.output);
    free_outcome(&outcome);
}

static void check_texts(const struct program *program)
{
    const char *const named[] = {
        program->target->words,
        "cut stacks    5 while recording, none in the trace: no unwind information",
        "cut stacks    2 while recording, none in the trace: too deep",
        "guessed       7 times a stack held a frame that was probable, not proven",
        "still runs, was killed, or ended by calling the kernel directly; ",
        "1 of 1  /opt/lib/libmissing.so",
        "wanted: root/opt/lib/libmissing.so or root/usr/lib/debug/.build-id/ab/cdef.debug, or below "
        "DIR with --debug-dir DIR",
        "sample.cpp:",
        "[inlined]",
        NULL};
    const char *const bare[] = {program->target->words, "wanted: DIR/opt/program with --sysroot DIR",
                                "another kind of machine: --sysroot takes", "program+0x", NULL};
    const char *const modules[] = {"functions and lines are known", "file: root/opt/program\n",
                                   "debug information: root/opt/.debug/program.debug\n", NULL};
    const char *const stacks[] = {"sample::", "main", NULL};
    expect_words("report --sysroot root trace.dat", named);
    expect_words("report trace.dat", bare);
    expect_words("report --modules --sysroot root trace.dat", modules);
    expect_words("report --tree --sysroot root trace.dat", stacks);
    expect_words("export --format collapsed --sysroot root trace.dat", stacks);
    expect_words("export --format flamegraph --sysroot root trace.dat", stacks);
    expect_words("export --format json --sysroot root trace.dat", stacks);
}

START_TEST(test_target)
{
    struct program program;
    prepare(&program, &targets[_i]);
    check_json(&program);
    check_texts(&program);
    free_program(&program);
}
END_TEST

// The file below the system root is of another build: refused, and said.
START_TEST(test_other_build)
{
    const char *const words[] = {"root/opt/program has another build id than the one recorded", "program+0x", NULL};
    struct program program;
    prepare(&program, &targets[_i]);
    shell("%sg++ -O1 %s -Wl,--build-id=sha1 '%s/../symbols/sample.cpp' -o root/opt/program", targets[_i].tools,
          targets[_i].options, source);
    expect_words("report --sysroot root trace.dat", words);
    free_program(&program);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report_targets");
    TCase *tests = tcase_create("report_targets");
    tcase_add_checked_fixture(tests, make_folder, remove_work);
    tcase_add_loop_test(tests, test_target, 0, TARGETS);
    tcase_add_loop_test(tests, test_other_build, 1, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
