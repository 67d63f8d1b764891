// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names of code that was made at run time: the texts of the runtimes, which function is at an address, dumps of both
// byte orders, with and without machine code, and damage at random places of them.
#include "host/symbols/jit_dump.h"
#include "host/symbols/jit_names.h"
#include "host/symbols/jit_source.h"
#include "tests/suite.h"

#include <byteswap.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_TIME UINT64_MAX

// ---- texts ---------------------------------------------------------------------------------------------------------

START_TEST(test_texts)
{
    static const struct {
        const char *text, *function, *file;
        uint32_t line;
    } cases[] = {
        {"JS:*work /a/b.js:12:34", "work", "/a/b.js", 12},
        {"JS:~ node:internal/main:1:1", "(anonymous)", "node:internal/main", 1},
        {"JS:^get host node:url:7:5", "get host", "node:url", 7},
        {"JS:+f file:///a b/c.mjs:7:5", "f", "/a b/c.mjs", 7},
        {"JS:*f evalmachine.<anonymous>:2:3", "f", "evalmachine.<anonymous>", 2},
        {"LazyCompile:~f /x.js:99999999999:1", "f", "/x.js", 0},
        {"Script:~ /x.js:1:1", "(anonymous)", "/x.js", 1},
        {"Builtin:ArrayMap", "Builtin:ArrayMap", NULL, 0},
        {"RegExp:a b:1:2", "RegExp:a b:1:2", NULL, 0},
        {"JS:*work", "JS:*work", NULL, 0},
        {"JS:*work /a:3", "JS:*work /a:3", NULL, 0},
        {"JS:", "JS:", NULL, 0},
        {"py::C.method:/a/b.py", "C.method", "/a/b.py", 0},
        {"py::", "py::", NULL, 0},
        {"TRACE_5::a.lua:7", "TRACE_5", "a.lua", 7},
        {"TRACE_5", "TRACE_5", NULL, 0},
        {"int A.depth(int)", "int A.depth(int)", NULL, 0},
        {"a\tb\x7f", "a?b?", NULL, 0},
        {"", "(anonymous)", NULL, 0},
    };
    struct hs_jit_text to;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hs_jit_text__split(&to, cases[i].text, strlen(cases[i].text));
        ck_assert_str_eq(to.function, cases[i].function);
        ck_assert_str_eq(to.file ? to.file : "", cases[i].file ? cases[i].file : "");
        ck_assert_uint_eq(to.line, cases[i].line);
    }
    static char longest[3 * HS_JIT_TEXT_MOST];
    memset(longest, 'a', sizeof(longest));
    hs_jit_text__split(&to, longest, sizeof(longest));
    ck_assert_uint_eq(strlen(to.function), HS_JIT_TEXT_MOST - 1);
}
END_TEST

START_TEST(test_names_of_files)
{
    static const char *const good[] = {"/tmp/perf-1.map", "perf-123.map", "/a/jit-7.dump"};
    static const char *const bad[] = {
        "/tmp/perf-.map", "perf-1.maps", "perf-1.dump", "jit-1.map", "/perf-1.map/x", "perf-1a.map", ""};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert(hs_jit_names__is_file(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert(!hs_jit_names__is_file(bad[i]));
}
END_TEST

// ---- maps ----------------------------------------------------------------------------------------------------------

static void add(struct hs_jit_names *names, const void *bytes, size_t length)
{
    uint8_t *copy = malloc(length + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, length);
    ck_assert_int_eq(hs_jit_names__add(names, copy, length), 0);
}

static const char *name_at(struct hs_jit_names *names, uint64_t address, uint64_t time)
{
    static struct hs_jit_text text;
    bool depends;
    const struct hs_jit_function *function = hs_jit_names__find(names, address, time, &depends);
    if (!function)
        return "";
    hs_jit_names__text(function, address, &text);
    return text.function;
}

START_TEST(test_the_last_line_counts)
{
    struct hs_jit_names names = {0};
    static const char map[] = "1000 100 a\n0x1010 10 b\n1000 8 c\n\n2000 0 nothing\nffffffffffffff00 ffff end\n"
                              "zzz 1 d\n1000\n1000 20\n1000 20 \n11112222333344445555 1 e\n3000 10 half";
    add(&names, map, sizeof(map) - 1);
    ck_assert_str_eq(name_at(&names, 0xfff, NO_TIME), "");
    ck_assert_str_eq(name_at(&names, 0x1000, NO_TIME), "c");
    ck_assert_str_eq(name_at(&names, 0x1007, NO_TIME), "c");
    ck_assert_str_eq(name_at(&names, 0x1008, NO_TIME), "a");
    ck_assert_str_eq(name_at(&names, 0x1010, NO_TIME), "b");
    ck_assert_str_eq(name_at(&names, 0x1020, NO_TIME), "a");
    ck_assert_str_eq(name_at(&names, 0x10ff, NO_TIME), "a");
    ck_assert_str_eq(name_at(&names, 0x1100, NO_TIME), "");
    ck_assert_str_eq(name_at(&names, 0x2000, NO_TIME), "");
    ck_assert_str_eq(name_at(&names, 0x3000, NO_TIME), "");
    ck_assert_str_eq(name_at(&names, UINT64_MAX - 1, NO_TIME), "end");
    ck_assert_uint_eq(names.damaged, 7);
    add(&names, "1000 200 later\n", 15);
    ck_assert_str_eq(name_at(&names, 0x1010, NO_TIME), "later");
    ck_assert_str_eq(name_at(&names, 0x1180, NO_TIME), "later");
    hs_jit_names__free(&names);
}
END_TEST

// Runtimes make code at the same place again and again.
START_TEST(test_a_place_of_many_functions)
{
    struct hs_jit_names names = {0};
    for (int i = 0; i < 5000; i++)
        add(&names, "1800 100 short\n1800 80 shorter\n", 31);
    add(&names, "1000 1000 long\n", 15);
    add(&names, "1880 10 last\n", 13);
    ck_assert_str_eq(name_at(&names, 0x1810, NO_TIME), "long");
    ck_assert_str_eq(name_at(&names, 0x1880, NO_TIME), "last");
    add(&names, "1800 81 later\n", 14);
    ck_assert_str_eq(name_at(&names, 0x1810, NO_TIME), "later");
    ck_assert_str_eq(name_at(&names, 0x1880, NO_TIME), "later");
    ck_assert_str_eq(name_at(&names, 0x1881, NO_TIME), "last");
    ck_assert_str_eq(name_at(&names, 0x1890, NO_TIME), "long");
    hs_jit_names__free(&names);
}
END_TEST

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

// Compared with a search through all lines.
START_TEST(test_any_map)
{
    enum { LINES = 500 };
    static uint64_t start[LINES], size[LINES];
    uint64_t state = 28;
    for (int round = 0; round < 20; round++) {
        struct hs_jit_names names = {0};
        char *text = malloc(LINES * 64);
        size_t length = 0;
        for (int i = 0; i < LINES; i++) {
            start[i] = next(&state) % 4000;
            size[i] = 1 + next(&state) % (next(&state) % 10 ? 30 : 3000);
            length += (size_t)sprintf(text + length, "%llx %llx f%d\n", (unsigned long long)start[i],
                                      (unsigned long long)size[i], i);
        }
        add(&names, text, length);
        free(text);
        for (uint64_t at = 0; at < 7200; at++) {
            char expected[16] = "";
            for (int i = 0; i < LINES; i++)
                if (at >= start[i] && at - start[i] < size[i])
                    snprintf(expected, sizeof(expected), "f%d", i);
            ck_assert_str_eq(name_at(&names, at, NO_TIME), expected);
        }
        hs_jit_names__free(&names);
    }
}
END_TEST

// ---- dumps ---------------------------------------------------------------------------------------------------------

struct dump {
    uint8_t bytes[4096];
    size_t length;
    bool is_swapped;
};

static void put(struct dump *dump, const void *bytes, size_t length)
{
    memcpy(dump->bytes + dump->length, bytes, length);
    dump->length += length;
}

static void put_word(struct dump *dump, uint32_t word)
{
    word = dump->is_swapped ? bswap_32(word) : word;
    put(dump, &word, sizeof(word));
}

static void put_long(struct dump *dump, uint64_t word)
{
    word = dump->is_swapped ? bswap_64(word) : word;
    put(dump, &word, sizeof(word));
}

static void put_header(struct dump *dump, uint64_t flags)
{
    put_word(dump, 0x4a695444);
    put_word(dump, 1);
    put_word(dump, 48); // with eight bytes that a later version has
    put_word(dump, 62);
    put_word(dump, 0);
    put_word(dump, 4711);
    put_long(dump, 1);
    put_long(dump, flags);
    put_long(dump, 0);
}

static void put_prefix(struct dump *dump, uint32_t kind, size_t length, uint64_t time)
{
    put_word(dump, kind);
    put_word(dump, (uint32_t)(16 + length));
    put_long(dump, time);
}

static void put_load(struct dump *dump, uint64_t time, const char *name, uint64_t address, uint64_t size,
                     uint64_t index, size_t code)
{
    static const uint8_t bytes[256] = {0xcc};
    put_prefix(dump, HS_JIT_LOAD, HS_JIT_LOAD_NAME + strlen(name) + 1 + code, time);
    put_word(dump, 4711);
    put_word(dump, 4712);
    put_long(dump, address);
    put_long(dump, address);
    put_long(dump, size);
    put_long(dump, index);
    put(dump, name, strlen(name) + 1);
    put(dump, bytes, code);
}

static void put_move(struct dump *dump, uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
    put_prefix(dump, HS_JIT_MOVE, HS_JIT_MOVE_LENGTH, time);
    put_word(dump, 4711);
    put_word(dump, 4712);
    put_long(dump, to);
    put_long(dump, from);
    put_long(dump, to);
    put_long(dump, size);
    put_long(dump, index);
}

static void put_line(struct dump *dump, uint64_t address, uint32_t line, const char *file)
{
    put_long(dump, address);
    put_word(dump, line);
    put_word(dump, 0);
    put(dump, file, strlen(file) + 1);
}

static void make_dump(struct dump *dump, bool is_swapped, uint64_t flags)
{
    *dump = (struct dump){.is_swapped = is_swapped};
    put_header(dump, flags);
    put_prefix(dump, HS_JIT_DEBUG_INFO, HS_JIT_LINES + 3 * 16 + 5 + 2 + 5, 90);
    put_long(dump, 0x1000);
    put_long(dump, 3);
    put_line(dump, 0x1000, 10, "a.js");
    put_line(dump, 0x1010, 11, "\xff");
    put_line(dump, 0x1020, 20, "b.js");
    put_load(dump, 100, "a", 0x1000, 0x40, 1, 0x40);
    put_prefix(dump, 4, 24, 150); // unwinding information
    put_long(dump, 0);
    put_long(dump, 0);
    put_long(dump, 0);
    put_move(dump, 200, 0x1000, 0x3000, 0x40, 1);
    put_load(dump, 300, "b", 0x1000, 0x80, 2, 0x80);
    put_prefix(dump, HS_JIT_CLOSE, 0, 400);
}

static void expect_dump(const void *bytes, size_t length)
{
    struct hs_jit_names names = {0};
    struct hs_jit_text text;
    bool depends;
    add(&names, "1000 1000 of the map\n", 21);
    add(&names, bytes, length);
    ck_assert_uint_eq(names.damaged, 0);
    ck_assert_str_eq(name_at(&names, 0x1005, 50), "a"); // better than none
    ck_assert_str_eq(name_at(&names, 0x1005, 100), "a");
    ck_assert_str_eq(name_at(&names, 0x1005, 299), "a");
    ck_assert_str_eq(name_at(&names, 0x1005, 300), "b");
    ck_assert_str_eq(name_at(&names, 0x1005, NO_TIME), "b");
    ck_assert_str_eq(name_at(&names, 0x1050, 100), "b");
    ck_assert_str_eq(name_at(&names, 0x1100, 100), "of the map");
    ck_assert_str_eq(name_at(&names, 0x3005, 250), "a");
    ck_assert_ptr_nonnull(hs_jit_names__find(&names, 0x1050, 300, &depends));
    ck_assert(!depends);
    const struct hs_jit_function *a = hs_jit_names__find(&names, 0x1005, 100, &depends);
    ck_assert(depends);
    static const struct {
        uint64_t address;
        const char *file;
        uint32_t line;
    } lines[] = {{0x1000, "a.js", 10}, {0x100f, "a.js", 10}, {0x1010, "a.js", 11}, {0x103f, "b.js", 20}};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        hs_jit_names__text(a, lines[i].address, &text);
        ck_assert_str_eq(text.file, lines[i].file);
        ck_assert_uint_eq(text.line, lines[i].line);
    }
    hs_jit_names__free(&names);
}

static int condense(const void *bytes, size_t length, struct hs_buffer *to, size_t most)
{
    int fd = memfd_create("dump", MFD_CLOEXEC);
    ck_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    int result = hs_jit_dump__condense(fd, to, most);
    close(fd);
    return result;
}

START_TEST(test_dumps)
{
    for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
        struct dump dump;
        struct hs_buffer condensed = {0};
        make_dump(&dump, is_swapped, 0);
        expect_dump(dump.bytes, dump.length);
        ck_assert_int_eq(condense(dump.bytes, dump.length, &condensed, 4096), 0);
        ck_assert_uint_le(condensed.count, dump.length - 0x40 - 0x80 - 8 - 40 - 16);
        expect_dump(condensed.bytes, condensed.count);
        hs_buffer__free(&condensed);
    }
}
END_TEST

// Times of the processor's counter cannot be compared: the last function counts.
START_TEST(test_times_of_another_clock)
{
    struct dump dump;
    struct hs_jit_names names = {0};
    make_dump(&dump, false, 1);
    add(&names, dump.bytes, dump.length);
    ck_assert_str_eq(name_at(&names, 0x1005, 100), "b");
    hs_jit_names__free(&names);
}
END_TEST

START_TEST(test_too_large)
{
    struct dump dump;
    struct hs_buffer all = {0};
    make_dump(&dump, false, 0);
    ck_assert_int_eq(condense(dump.bytes, dump.length, &all, 4096), 0);
    for (size_t most = 0; most < all.count; most++) {
        struct hs_buffer part = {0};
        ck_assert_int_eq(condense(dump.bytes, dump.length, &part, most), -EFBIG);
        ck_assert_uint_le(part.count, most);
        hs_buffer__free(&part);
    }
    hs_buffer__free(&all);
}
END_TEST

// Whoever reads a part finds that it is one.
static void expect_part(const struct hs_buffer *part, const char *first)
{
    struct hs_jit_names names = {0};
    add(&names, part->bytes, part->count);
    ck_assert_uint_eq(names.damaged, 1);
    ck_assert_str_eq(name_at(&names, 0x1000, NO_TIME), first);
    hs_jit_names__free(&names);
}

// A record that is said to be empty, one that is longer than the file, a header that is, and sizes that wrap.
START_TEST(test_lengths_that_lie)
{
    static const uint32_t lengths[] = {0, 15, 17, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct dump dump = {.length = 0};
        struct hs_buffer part = {0};
        put_header(&dump, 0);
        put_load(&dump, 1, "a", 0x1000, UINT64_MAX, 1, 0);
        put_word(&dump, HS_JIT_LOAD);
        put_word(&dump, lengths[i]);
        put_long(&dump, 2);
        ck_assert_int_eq(condense(dump.bytes, dump.length, &part, 4096), -EBADMSG);
        expect_part(&part, "a");
        hs_buffer__free(&part);
        memcpy(dump.bytes + 8, "\xff\xff\xff\x7f", 4);
        part = (struct hs_buffer){0};
        ck_assert_int_eq(condense(dump.bytes, dump.length, &part, 4096), -EBADMSG);
        expect_part(&part, "");
        hs_buffer__free(&part);
    }
}
END_TEST

// Records that are left out have a limit as well: a file with nothing else would take for ever.
START_TEST(test_too_many_records)
{
    enum { RECORDS = 1000 };
    struct dump dump = {.length = 0};
    struct hs_buffer part = {0};
    uint8_t *bytes = malloc(sizeof(dump.bytes) + RECORDS * 16);
    put_header(&dump, 0);
    put_load(&dump, 1, "a", 0x1000, 16, 1, 0);
    memcpy(bytes, dump.bytes, dump.length);
    const size_t start = dump.length;
    put_prefix(&dump, HS_JIT_CLOSE, 0, 2);
    for (size_t i = 0; i < RECORDS; i++)
        memcpy(bytes + start + 16 * i, dump.bytes + start, 16);
    ck_assert_int_eq(condense(bytes, start + 16 * RECORDS, &part, 4096), -EFBIG);
    expect_part(&part, "a");
    hs_buffer__free(&part);
    part = (struct hs_buffer){0};
    ck_assert_int_eq(condense(bytes, start + 16 * RECORDS, &part, 1 << 20), 0);
    hs_buffer__free(&part);
    free(bytes);
}
END_TEST

// ---- files that are hostile ----------------------------------------------------------------------------------------

#define NAME "jit-4294967295.dump" // of no process

// A folder with nothing, and a process that works in it.
struct place {
    char folder[64];
    struct hs_jit_process process;
};

static void make_place(struct place *place)
{
    strcpy(place->folder, "/tmp/heapsonde-jit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(place->folder));
    place->process = (struct hs_jit_process){.pid = UINT32_MAX,
                                             .root = AT_FDCWD,
                                             .mounts = -1,
                                             .folder = open(place->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                             .here = place->folder,
                                             .user = geteuid()};
    ck_assert_int_ge(place->process.folder, 0);
}

static void remove_place(struct place *place, int flags)
{
    ck_assert_int_eq(unlinkat(place->process.folder, NAME, flags), 0);
    close(place->process.folder);
    ck_assert_int_eq(rmdir(place->folder), 0);
}

static int take_part(void *context, const struct hs_buffer *file, bool is_cut)
{
    const size_t name = strlen((const char *)file->bytes) + 1;
    ck_assert(is_cut);
    hs_buffer__put(context, file->bytes + name, file->count - name);
    return 0;
}

// None is read, and none is waited for.
START_TEST(test_no_regular_files)
{
    for (int kind = 0; kind < 3; kind++) {
        struct place place;
        struct hs_jit_source source = {.take = take_part};
        make_place(&place);
        const int folder = place.process.folder;
        ck_assert_int_eq(kind == 0   ? mkfifoat(folder, NAME, 0600)
                         : kind == 1 ? mkdirat(folder, NAME, 0700)
                                     : symlinkat("/dev/zero", folder, NAME),
                         0);
        ck_assert(!hs_jit_source__dump(&source, &place.process));
        ck_assert_uint_eq(source.refused, 1);
        remove_place(&place, kind == 1 ? AT_REMOVEDIR : 0);
    }
}
END_TEST

// A first line, and a terabyte of nothing: what is kept has a limit, and says that there was more.
START_TEST(test_huge_map)
{
    struct place place;
    struct hs_buffer part = {0};
    struct hs_jit_source source = {.take = take_part, .context = &part};
    make_place(&place);
    int fd = openat(place.process.folder, NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert(fd >= 0 && write(fd, "1000 10 a\n", 10) == 10);
    ck_assert(!ftruncate(fd, (off_t)1 << 40) || !ftruncate(fd, (off_t)1 << 30));
    close(fd);
    ck_assert(hs_jit_source__dump(&source, &place.process));
    ck_assert_int_eq(source.problem, 0);
    ck_assert_uint_eq(part.count, 11);
    expect_part(&part, "a");
    hs_buffer__free(&part);
    remove_place(&place, 0);
}
END_TEST

// ---- damage --------------------------------------------------------------------------------------------------------

static void read_anything(const uint8_t *bytes, size_t length)
{
    struct hs_jit_names names = {0};
    struct hs_jit_text text;
    bool depends;
    add(&names, bytes, length);
    for (uint64_t address = 0xff0; address < 0x1100; address += 7) {
        const struct hs_jit_function *function = hs_jit_names__find(&names, address, 250, &depends);
        if (function)
            hs_jit_names__text(function, address, &text);
    }
    hs_jit_names__free(&names);
}

START_TEST(test_damage)
{
    struct dump whole;
    uint64_t state = 4711;
    make_dump(&whole, false, 0);
    for (size_t length = 0; length < whole.length; length++) {
        struct hs_buffer condensed = {0};
        read_anything(whole.bytes, length);
        condense(whole.bytes, length, &condensed, 4096);
        hs_buffer__free(&condensed);
    }
    for (int round = 0; round < 5000; round++) {
        struct dump dump = whole;
        struct hs_buffer condensed = {0};
        for (uint64_t i = 1 + next(&state) % 4; i; i--)
            dump.bytes[next(&state) % dump.length] = (uint8_t)(next(&state) % 3 ? next(&state) : 0xff);
        read_anything(dump.bytes, dump.length);
        condense(dump.bytes, dump.length, &condensed, 4096);
        if (condensed.count)
            read_anything(condensed.bytes, condensed.count);
        hs_buffer__free(&condensed);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jit_names");
    TCase *cases = tcase_create("names");
    tcase_add_test(cases, test_texts);
    tcase_add_test(cases, test_names_of_files);
    tcase_add_test(cases, test_the_last_line_counts);
    tcase_add_test(cases, test_a_place_of_many_functions);
    tcase_add_test(cases, test_any_map);
    tcase_add_test(cases, test_dumps);
    tcase_add_test(cases, test_times_of_another_clock);
    tcase_add_test(cases, test_too_large);
    tcase_add_test(cases, test_lengths_that_lie);
    tcase_add_test(cases, test_too_many_records);
    tcase_add_test(cases, test_no_regular_files);
    tcase_add_test(cases, test_huge_map);
    tcase_add_test(cases, test_damage);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
