// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What each reader makes of its format, what it says about what is wrong, and that a file may end anywhere.
#include "host/dump/dump.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define LARGEST (16u << 20)

static char *read_file(const char *path, size_t *length)
{
    char *bytes = NULL;
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    FILE *memory = open_memstream(&bytes, length);
    for (int byte = getc(file); byte != EOF; byte = getc(file))
        putc(byte, memory);
    fclose(memory);
    fclose(file);
    return bytes;
}

// Not in this folder, where the suites of other builds run at the same time.
static FILE *make_file(char path[32])
{
    strcpy(path, "/tmp/heapsonde-dump-XXXXXX");
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    ck_assert_msg(file != NULL, "%s", path);
    return file;
}

static struct hs_dump *open_dump(const char *path)
{
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    ck_assert_msg(hs_dump__recognise(path), "%s", path);
    ck_assert_msg(!hs_dump__open(path, &dump, &error), "%s", error.message);
    return dump;
}

static const struct hs_dump_location *frame(const struct hs_dump *dump, size_t context, uint32_t depth)
{
    ck_assert_uint_lt(context, dump->context_count);
    ck_assert_uint_lt(depth, dump->context[context].depth);
    return &dump->location[dump->frames[dump->context[context].first + depth]];
}

static const char *function(const struct hs_dump *dump, size_t context, uint32_t depth, uint32_t line)
{
    const struct hs_dump_location *location = frame(dump, context, depth);
    ck_assert_uint_lt(line, location->line_count);
    return dump->line[location->first_line + line].function;
}

static void expect_counts(const struct hs_dump_counts *counts, uint64_t live_blocks, uint64_t live_bytes,
                          uint64_t all_blocks, uint64_t all_bytes)
{
    ck_assert_uint_eq(counts->live_blocks, live_blocks);
    ck_assert_uint_eq(counts->live_bytes, live_bytes);
    ck_assert_uint_eq(counts->all_blocks, all_blocks);
    ck_assert_uint_eq(counts->all_bytes, all_bytes);
}

// ---- formats -------------------------------------------------------------------------------------------------------

static void expect_sensord(const struct hs_dump *dump)
{
    ck_assert_uint_eq(dump->context_count, 3);
    expect_counts(&dump->context[0].counts, 4, 4194304, 5, 5242880);
    expect_counts(&dump->context[1].counts, 3, 4096, 6, 4198304);
    expect_counts(&dump->context[2].counts, 0, 0, 1, 96);
    ck_assert_uint_eq(dump->context[0].depth, 4);
    ck_assert_uint_eq(dump->context[2].depth, 2);
    // The innermost address is that of the call; behind it are return addresses.
    ck_assert_uint_eq(frame(dump, 0, 0)->address, 0x5500001233);
    ck_assert_uint_eq(frame(dump, 0, 1)->address, 0x5500001300);
    ck_assert_uint_eq(frame(dump, 1, 3)->address, 0x7f80023200);
    ck_assert_uint_eq(hs_dump__offset(dump, frame(dump, 0, 0)), 0x1233);
    ck_assert_uint_eq(hs_dump__offset(dump, frame(dump, 2, 0)), 0x45673);
    ck_assert_str_eq(dump->mapping[frame(dump, 0, 0)->mapping].path, "/opt/bin/sensord");
    ck_assert_str_eq(dump->mapping[frame(dump, 0, 3)->mapping].path, "/lib/aarch64-linux-gnu/libc.so.6");
    ck_assert_str_eq(dump->executable, "/opt/bin/sensord");
    ck_assert_uint_eq(dump->period, 524288);
    ck_assert_int_eq(dump->sampling, HS_SAMPLING_POISSON);
    ck_assert(dump->has_all && dump->has_blocks && dump->has_total);
    ck_assert_uint_eq(dump->warning_count, 0);
}

START_TEST(test_heap_v2)
{
    struct hs_dump *dump = open_dump("data/threads.heap");
    ck_assert_int_eq(dump->format, HS_DUMP_HEAP_V2);
    expect_sensord(dump);
    ck_assert_uint_eq(dump->thread_count, 2);
    ck_assert_str_eq(dump->thread[0].name, "sensord");
    ck_assert_str_eq(dump->thread[1].name, "worker of sensors");
    expect_counts(&dump->thread[1].counts, 2, 4096, 6, 4198400);
    ck_assert_uint_eq(dump->share_count, 4);
    ck_assert_uint_eq(dump->share[2].context, 1);
    ck_assert_uint_eq(dump->share[2].thread, 1);
    expect_counts(&dump->share[2].counts, 2, 2048, 5, 4196256);
    ck_assert_str_eq(hs_dump__fact(dump, "command"), "/opt/bin/sensord --once");
    ck_assert_str_eq(hs_dump__fact(dump, "time"), "2026-11-22 01:02:03 UTC");
    const struct hs_dump_mapping *mapping = &dump->mapping[frame(dump, 0, 0)->mapping];
    ck_assert_uint_eq(mapping->build_id_length, 20);
    ck_assert_uint_eq(mapping->build_id[1], 0x11);
    hs_dump__close(dump);
}
END_TEST

START_TEST(test_heap_profile)
{
    struct hs_dump *dump = open_dump("data/older.heap");
    ck_assert_int_eq(dump->format, HS_DUMP_HEAP_PROFILE);
    expect_sensord(dump);
    hs_dump__close(dump);
    dump = open_dump("data/exact.heap");
    ck_assert_int_eq(dump->sampling, HS_SAMPLING_NONE);
    ck_assert_uint_eq(dump->context_count, 2);
    expect_counts(&dump->context[0].counts, 1, 1024, 3, 3072);
    struct hs_dump_estimate sum = hs_dump__sum(dump);
    ck_assert(sum.live_bytes == 2048 && sum.all_bytes == 4096);
    hs_dump__close(dump);
}
END_TEST

static struct hs_dump *parse(const char *bytes, size_t length)
{
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    ck_assert_msg(!hs_dump__parse("x", bytes, length, LARGEST, &dump, &error), "%s", error.message);
    return dump;
}

// As pprof.Lookup("heap").WriteTo(w, 1) writes it: with names of the addresses, inlined calls and recursion in them.
START_TEST(test_go_text)
{
    struct hs_dump *dump = open_dump("data/go.heap");
    ck_assert_int_eq(dump->format, HS_DUMP_HEAP_PROFILE);
    ck_assert_int_eq(dump->sampling, HS_SAMPLING_POISSON);
    ck_assert_uint_eq(dump->period, 524288);
    ck_assert_uint_eq(dump->context_count, 3);
    expect_counts(&dump->context[0].counts, 40, 20971520, 41, 21495808);
    ck_assert_uint_eq(frame(dump, 0, 0)->address, 0x47c332);
    ck_assert_uint_eq(frame(dump, 0, 1)->address, 0x4d993d);
    ck_assert_uint_eq(frame(dump, 0, 0)->line_count, 0);
    ck_assert_uint_eq(frame(dump, 0, 1)->line_count, 2);
    ck_assert_str_eq(function(dump, 0, 1, 0), "main.grow");
    ck_assert_str_eq(function(dump, 0, 1, 1), "main.(*pool[...]).large");
    ck_assert_str_eq(function(dump, 0, 2, 0), "main.main");
    const struct hs_dump_line *line = &dump->line[frame(dump, 0, 1)->first_line];
    ck_assert_str_eq(line[0].file, "/src/with: colon/main.go");
    ck_assert_uint_eq(line[0].line, 18);
    ck_assert_uint_eq(line[1].line, 22);
    ck_assert_uint_eq(frame(dump, 1, 1)->line_count, 1);
    ck_assert_str_eq(function(dump, 1, 1, 0), "main.again");
    struct hs_dump_estimate sum = hs_dump__sum(dump);
    double scale = 1 / (1 - exp(-1.0)), small = 1 / (1 - exp(-1024.0 / 524288));
    ck_assert_double_eq_tol(sum.live_bytes, 20971520 * scale + 2 * 1024 * small, 1);
    ck_assert_double_eq_tol(sum.live_blocks, 40 * scale + 2 * small, 1e-3);
    ck_assert_uint_eq(dump->fact_count, 0);
    ck_assert_uint_eq(dump->warning_count, 0);
    hs_dump__close(dump);
}
END_TEST

static void expect_text(const char *text, size_t contexts, uint64_t live_bytes, const char *warning)
{
    struct hs_dump *dump = parse(text, strlen(text));
    ck_assert_uint_eq(dump->context_count, contexts);
    uint64_t sum = 0;
    for (size_t i = 0; i < contexts; i++)
        sum += dump->context[i].counts.live_bytes;
    ck_assert_uint_eq(sum, live_bytes);
    bool warned = !warning;
    for (size_t i = 0; i < dump->warning_count; i++)
        warned = warned || !strcmp(dump->warning[i], warning);
    ck_assert_msg(warned, "no warning in: %s", text);
    hs_dump__close(dump);
}

START_TEST(test_odd_text)
{
    static const char difference[] = "2 negative values count as 0: the file is a difference";
#define MAPS "MAPPED_LIBRARIES:\n"
    expect_text("heap profile: 0: 0 [ 0: 0 ] @ heap_v2/1\n -1: -64 [2: 128] @ 0x1\n 1: 32 [1: 32] @ 0x2\n" MAPS, 2, 32,
                difference);
    expect_text("heap_v2/1\n t*: 0: 0 [0: 0]\n@ 0x1\n t*: -1: -64 [0: 0]\n" MAPS, 1, 0, difference);
    expect_text("heap profile: 1: 64 [1: 64] @ heapz_v2/524288\n\n# a comment\n#\n 1: 64 [ 1: 64] @ 0x1\n" MAPS, 1, 64,
                NULL);
    expect_text("# of a server\n\n%warn old\nheap profile: 1: 64 [1: 64] @ heapz/1048576\n 1: 64 [1: 64] @ 0x1\n" MAPS,
                1, 64, NULL);
    expect_text("\r\n# first\nheap_v2/1\n t*: 1: 64 [0: 0]\n@ 0x1\n t*: 1: 64 [0: 0]\n" MAPS, 1, 64, NULL);
    expect_text(
        "heap_v2/1\n# dropped: 7\n t*: 1: 64 [0: 0]\n@ 0x1\n t*: 1: 64 [0: 0]\n" MAPS, 1, 64,
        "samples left out, for lack of room (HEAPSONDE_MEMORY) or on small stacks: 7; more memory may be in use");
    static const char without_rate[] = "heap profile: 1: 64 [1: 64] @ heap/0\n 1: 64 [1: 64] @ 0x1\n";
    struct hs_dump *off = parse(without_rate, strlen(without_rate));
    ck_assert_uint_eq(off->period, 1);
    hs_dump__close(off);
    expect_text("# first\n%frame;other 12\n", 1, 12, NULL);
    expect_text("# first\na;b 12\n", 1, 12, NULL);
    expect_text("a;b -12\na;c -3\na;d 5\n", 3, 5, difference);
    expect_text("a;b 5\na;c -0\n", 2, 5, NULL);
}
END_TEST

// ---- compressed files ----------------------------------------------------------------------------------------------

static void append(FILE *to, const char *bytes, size_t length)
{
    static unsigned char packed[1 << 16];
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length, .next_out = packed, .avail_out = sizeof packed};
    ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    fwrite(packed, 1, sizeof packed - stream.avail_out, to);
    deflateEnd(&stream);
}

// A gzip file is a row of members; a first one without contents, and zeros at the end, are allowed.
static void in_members(const char *path, size_t piece, const char *tail, size_t tail_length, size_t warnings)
{
    size_t length = 0, packed_length = 0;
    char *bytes = read_file(path, &length), *packed = NULL;
    FILE *out = open_memstream(&packed, &packed_length);
    append(out, bytes, 0);
    for (size_t at = 0; at < length; at += piece)
        append(out, bytes + at, length - at < piece ? length - at : piece);
    fwrite(tail, 1, tail_length, out);
    fclose(out);
    struct hs_dump *dump = parse(packed, packed_length);
    ck_assert_uint_eq(dump->warning_count, warnings);
    dump->warning_count = 0;
    expect_sensord(dump);
    char made[32];
    FILE *file = make_file(made);
    fwrite(packed, 1, packed_length, file);
    fclose(file);
    ck_assert(hs_dump__recognise(made));
    unlink(made);
    hs_dump__close(dump);
    free(packed);
    free(bytes);
}

START_TEST(test_members)
{
    in_members("data/threads.heap", 7, "", 0, 0);
    in_members("data/threads.heap", 300, "\0\0\0\0\0", 5, 0);
    in_members("data/threads.heap", 100000, "garbage", 7, 1);
}
END_TEST

START_TEST(test_names)
{
    struct hs_dump *dump = open_dump("data/named.heap");
    ck_assert_int_eq(dump->format, HS_DUMP_HEAP_V2);
    expect_sensord(dump);
    ck_assert_str_eq(function(dump, 0, 0, 0), "take_buffer");
    ck_assert_str_eq(function(dump, 0, 0, 1), "read_sensor");
    ck_assert_str_eq(function(dump, 1, 0, 0), "std::vector<int>::operator[](unsigned long)");
    ck_assert_uint_eq(frame(dump, 2, 0)->line_count, 0);
    ck_assert(!strncmp(dump->text, "heap_v2/524288\n", 15));
    hs_dump__close(dump);
}
END_TEST

START_TEST(test_pprof)
{
    struct hs_dump *dump = open_dump("data/named.pb.gz");
    struct hs_dump *text = open_dump("data/named.heap");
    ck_assert_int_eq(dump->format, HS_DUMP_PPROF);
    ck_assert_int_eq(dump->sampling, HS_SAMPLING_NONE);
    ck_assert_uint_eq(dump->context_count, 3);
    ck_assert_str_eq(function(dump, 0, 0, 0), "take_buffer");
    ck_assert_str_eq(function(dump, 0, 2, 0), "main");
    ck_assert_uint_eq(frame(dump, 0, 0)->address, 0x5500001233);
    ck_assert_uint_eq(dump->mapping[frame(dump, 0, 0)->mapping].build_id_length, 20);
    struct hs_dump_estimate ours = hs_dump__sum(dump);
    struct hs_dump_estimate theirs = hs_dump__sum(text);
    ck_assert(fabs(ours.live_bytes - theirs.live_bytes) < 2 && fabs(ours.all_bytes - theirs.all_bytes) < 2);
    ck_assert(fabs(ours.live_blocks - theirs.live_blocks) < 2 && fabs(ours.all_blocks - theirs.all_blocks) < 2);
    ck_assert_uint_eq(dump->warning_count, 0);
    hs_dump__close(dump);
    hs_dump__close(text);
}
END_TEST

// Columns of zeros only are no numbers.
START_TEST(test_pprof_without_totals)
{
    static unsigned char bytes[] = "\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x02" // alloc_space, inuse_space
                                   "\x12\x06\x08\x01\x10\x00\x10\x64\x22\x05\x08\x01\x18\x80\x20"
                                   "\x32\x00\x32\x0b"
                                   "alloc_space\x32\x05"
                                   "bytes\x32\x0b"
                                   "inuse_space";
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    for (unsigned char all = 0; all < 2; all++) {
        bytes[17] = all;
        ck_assert_msg(!hs_dump__parse("x", bytes, sizeof bytes - 1, LARGEST, &dump, &error), "%s", error.message);
        ck_assert_uint_eq(dump->context_count, 1);
        expect_counts(&dump->context[0].counts, 0, 100, 0, all);
        ck_assert_int_eq(dump->has_all, all);
        hs_dump__close(dump);
    }
}
END_TEST

// One type of values, its unit, and a sample of it without a stack.
static struct hs_dump *profile_of(const char *type, const char *unit, uint64_t value)
{
    char bytes[128];
    int length = snprintf(bytes, sizeof bytes, "%c%c%c%c%c%c%c%c%c%c%c%c", 0x0a, 4, 8, 1, 16, 2, 0x12, 3, 16,
                          (int)(value | 0x80), (int)(value >> 7), 0x32);
    ck_assert_uint_lt(value, 1 << 14);
    length += 1; // ""
    bytes[length - 1] = 0;
    length += snprintf(bytes + length, sizeof bytes - (size_t)length, "%c%c%s%c%c%s", 0x32, (int)strlen(type), type,
                       0x32, (int)strlen(unit), unit);
    return parse(bytes, (size_t)length);
}

static void expect_unit(const char *unit, uint64_t bytes)
{
    struct hs_dump *dump = profile_of("inuse_space", unit, 300);
    ck_assert_uint_eq(dump->context_count, 1);
    ck_assert_msg(dump->context[0].counts.live_bytes == 300 * bytes, "%s: %llu", unit,
                  (unsigned long long)dump->context[0].counts.live_bytes);
    ck_assert(!dump->lacks_live && !dump->has_all);
    hs_dump__close(dump);
}

START_TEST(test_pprof_units)
{
    static const char *const none[] = {"", "bytes", "byte", "b", "count", "k", "kilo", "megabits", "xb"};
    static const char *const kilo[] = {"kb", "KB", "kilobyte", "kilobytes", "kbytes", "Kilobytes"};
    static const char *const rest[] = {"megabytes", "gb", "TBytes", "petabytes"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        expect_unit(none[i], 1);
    for (size_t i = 0; i < sizeof kilo / sizeof *kilo; i++)
        expect_unit(kilo[i], 1024);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        expect_unit(rest[i], (uint64_t)1 << 10 * (i + 2));
}
END_TEST

START_TEST(test_pprof_without_live)
{
    struct hs_dump *dump = profile_of("alloc_space", "kilobytes", 300);
    ck_assert(dump->lacks_live && dump->has_all && !dump->has_blocks);
    expect_counts(&dump->context[0].counts, 0, 0, 0, 300 * 1024);
    hs_dump__close(dump);
}
END_TEST

START_TEST(test_collapsed)
{
    struct hs_dump *dump = open_dump("data/stacks.collapsed");
    ck_assert_int_eq(dump->format, HS_DUMP_COLLAPSED);
    ck_assert_uint_eq(dump->context_count, 3);
    ck_assert_str_eq(function(dump, 0, 0, 0), "take_buffer");
    ck_assert_str_eq(function(dump, 0, 4, 0), "_start");
    ck_assert_str_eq(function(dump, 1, 0, 0), "std::vector<int>::operator[](unsigned long)");
    ck_assert_uint_eq(dump->context[1].counts.live_bytes, 4096);
    // Equal names are one location.
    ck_assert_uint_eq(dump->frames[dump->context[0].first + 3], dump->frames[dump->context[1].first + 2]);
    ck_assert(!dump->has_blocks && !dump->has_all);
    hs_dump__close(dump);
}
END_TEST

// The first line has a stack of as many frames as are kept of one.
START_TEST(test_collapsed_deep)
{
    char deep[32];
    FILE *file = make_file(deep);
    for (unsigned i = 0; i < 4096; i++)
        fprintf(file, "std::function_of_some_length<%u>;", i);
    fputs("last 5\n", file);
    fclose(file);
    ck_assert(hs_dump__recognise(deep));
    struct hs_dump *dump = open_dump(deep);
    ck_assert_int_eq(dump->format, HS_DUMP_COLLAPSED);
    ck_assert_str_eq(function(dump, 0, 0, 0), "last");
    ck_assert_str_eq(function(dump, 0, 4096, 0), "std::function_of_some_length<0>");
    hs_dump__close(dump);
    unlink(deep);
}
END_TEST

// ---- estimates -----------------------------------------------------------------------------------------------------

START_TEST(test_estimates)
{
    struct hs_dump dump = {.sampling = HS_SAMPLING_POISSON, .period = 524288};
    struct hs_dump_counts counts = {10, 10 * 4096, 1, 16 << 20};
    struct hs_dump_estimate estimate = hs_dump__estimate(&dump, &counts);
    double scale = 1 / (1 - exp(-4096.0 / 524288));
    ck_assert_double_eq_tol(estimate.live_blocks, 10 * scale, 1e-6);
    ck_assert_double_eq_tol(estimate.live_bytes, 40960 * scale, 1e-3);
    ck_assert_double_eq_tol(estimate.all_bytes, 16 << 20, 1e-3);
    // Nothing, and what makes no sense, stays what it is.
    counts = (struct hs_dump_counts){0, 0, 0, 100};
    estimate = hs_dump__estimate(&dump, &counts);
    ck_assert(estimate.live_bytes == 0 && estimate.live_blocks == 0 && estimate.all_bytes == 100);
}
END_TEST

// ---- what is wrong -------------------------------------------------------------------------------------------------

static void expect_error(const char *text, const char *message)
{
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    ck_assert_msg(hs_dump__parse("some.heap", text, strlen(text), LARGEST, &dump, &error) < 0, "no error: %s", text);
    ck_assert_ptr_null(dump);
    ck_assert_msg(strstr(error.message, message), "'%s' is not in: %s", message, error.message);
}

START_TEST(test_errors)
{
    expect_error("", "some.heap: the file is empty");
    expect_error("this is no dump\n", "some.heap: not a heap dump");
    expect_error("heap_v2/\n", "some.heap:1: ");
    expect_error("heap_v2/12x\n", "some.heap:1: ");
    expect_error("heap_v2/99999999999999999999\n", "some.heap:1: ");
    expect_error("heap_v2/1\n  t*: 1: 2 [0: 0]\nnonsense\n", "some.heap:3: neither a stack");
    expect_error("heap_v2/1\n  t*: 1: [0: 0]\n", "some.heap:2: counts should read");
    expect_error("heap_v2/1\n@ 0x1 0xg\n  t*: 1: 2 [0: 0]\n", "some.heap:2: '@'");
    expect_error("heap_v2/1\n@ 0x11111111111111111\n  t*: 1: 2 [0: 0]\n", "some.heap:2: '@'");
    expect_error("heap_v2/1\n@ 0x1\n@ 0x2\n  t*: 1: 2 [0: 0]\n", "some.heap:2: a stack without");
    expect_error("heap_v2/1\n@ 0x1\n  t0: 1: 2 [0: 0]\n", "some.heap:3: the line 't*:'");
    expect_error("heap_v2/1\n@ 0x1\n  t*: 1: 2 [0: 0]\n  t*: 1: 2 [0: 0]\n", "some.heap:4: a second line");
    expect_error("heap_v2/1\n@ 0x1\nMAPPED_LIBRARIES:\n", "some.heap:2: a stack without");
    expect_error("heap profile: 1: 2\n", "some.heap:1: ");
    expect_error("heap profile: 1: 2 [1: 2] @ heap_v2/x\n", "some.heap:1: ");
    expect_error("heap profile: 1: 2 [1: 2] @ heap_v2/8\n 1: 2 [1: 2] 0x1\n", "some.heap:2: a stack should read");
    expect_error("--- symbol\n0x12\n---\n--- heap\nheap_v2/1\n", "some.heap:2: a symbol should read");
    expect_error("--- symbol\nbinary=x\n---\n", "ends before '--- heap'");
    expect_error("--- symbol\nbinary=x\n---\n--- heap\nheap_v2/x\n", "some.heap:5: ");
    expect_error("main;f 12\nmain;g\n", "some.heap: not a heap dump");
}
END_TEST

START_TEST(test_other_profiles)
{
    // profile.proto with one type of values, "cpu".
    static const char profile[] = "\x0a\x04\x08\x01\x10\x02\x12\x02\x12\x00\x32\x00\x32\x03"
                                  "cpu\x32\x02ns";
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    ck_assert_int_lt(hs_dump__parse("cpu.pb", profile, sizeof(profile) - 1, LARGEST, &dump, &error), 0);
    ck_assert_msg(strstr(error.message, "cpu.pb: a profile without memory"), "%s", error.message);
    ck_assert(!hs_dump__recognise("data") && !hs_dump__recognise("missing") && !hs_dump__recognise("/dev/null"));
    ck_assert_int_lt(hs_dump__open("data", &dump, &error), 0);
    ck_assert_int_lt(hs_dump__open("missing", &dump, &error), 0);
    ck_assert_msg(strstr(error.message, "missing: No such file"), "%s", error.message);
}
END_TEST

// What unpacks to more than is allowed is refused, whatever is in it.
START_TEST(test_large_unpacked)
{
    size_t length = 0;
    char *bytes = read_file("data/named.pb.gz", &length);
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    ck_assert_int_eq(hs_dump__parse("bomb", bytes, length, 100, &dump, &error), -EFBIG);
    ck_assert_msg(strstr(error.message, "bomb: unpacks to more"), "%s", error.message);
    free(bytes);
}
END_TEST

// Sums of 64 bits hold whatever is taken.
START_TEST(test_too_much)
{
#define HALF "4611686018427387904"
#define MOST "\xff\xff\xff\xff\xff\xff\xff\xff\x7f" // 2^63 - 1
    static const char *const texts[] = {
        "heap_v2/1\n  t*: 2: " HALF " [0: 0]\n@ 0x10\n  t*: 1: " HALF " [0: 0]\n@ 0x20\n  t*: 1: " HALF " [0: 0]\n",
        "heap_v2/1\n  t*: 2: 16 [0: 0]\n@ 0x10\n  t*: 1: 8 [0: 0]\n  t0: 1: " HALF " [0: 0]\n  t1: 1: " HALF
        " [0: 0]\n",
        "heap_v2/281474976710656\n  t*: 1: 1 [0: 0]\n@ 0x10\n  t*: 1000000: 1 [0: 0]\n",
        "heap profile: 2: 0 [2: 0] @ heapprofile\n 1: 8 [1: " HALF "] @ 0x10\n 1: 8 [1: " HALF "] @ 0x20\n",
        "a;b " HALF "\na;c " HALF "\n",
        "a 18446744073709551615\n",
    };
    static const char profile[] = "\x0a\x04\x08\x01\x10\x02\x12\x0c\x08\x01\x10" MOST "\x12\x0c\x08\x01\x10" MOST
                                  "\x22\x02\x08\x01\x32\x00\x32\x0b"
                                  "inuse_space\x32\x05"
                                  "bytes";
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    for (size_t i = 0; i <= sizeof texts / sizeof *texts; i++) {
        bool is_text = i < sizeof texts / sizeof *texts;
        const char *bytes = is_text ? texts[i] : profile;
        size_t length = is_text ? strlen(bytes) : sizeof profile - 1;
        ck_assert_msg(hs_dump__parse("x", bytes, length, LARGEST, &dump, &error) == -EINVAL, "%zu", i);
        ck_assert_msg(strstr(error.message, "x: its blocks have 8 EiB or more in all"), "%zu: %s", i, error.message);
    }
    ck_assert_int_eq(hs_dump__parse("x", "a;b " HALF "\n", strlen("a;b " HALF "\n"), LARGEST, &dump, &error), 0);
    hs_dump__close(dump);
}
END_TEST

// ---- files that end too early --------------------------------------------------------------------------------------

static bool ends_whole(const char *path, size_t length, const char *bytes)
{
    return !strstr(path, ".gz") && length && bytes[length - 1] == '\n';
}

// Every prefix gives what is complete in it, and never less than a shorter one.
static void cut_everywhere(const char *path, size_t first_length, bool may_fail)
{
    size_t length = 0;
    size_t contexts = 0;
    char *bytes = read_file(path, &length);
    for (size_t cut = first_length; cut <= length; cut++) {
        struct hs_dump *dump = NULL;
        struct hs_error error = {.message = ""};
        char *copy = malloc(cut + 1); // of that very size, for tools that watch over memory
        memcpy(copy, bytes, cut);
        int result = hs_dump__parse(path, copy, cut, LARGEST, &dump, &error);
        ck_assert_msg(!result || may_fail, "%s cut to %zu bytes: %s", path, cut, error.message);
        ck_assert(result || cut == length || dump->warning_count || ends_whole(path, cut, bytes));
        if (!result) {
            ck_assert_uint_ge(dump->context_count, contexts);
            contexts = dump->context_count;
        }
        hs_dump__close(dump);
        free(copy);
    }
    ck_assert_uint_eq(contexts, 3);
    free(bytes);
}

START_TEST(test_cut)
{
    cut_everywhere("data/threads.heap", strlen("heap_v2/524288\n"), false);
    cut_everywhere("data/older.heap", strlen("heap profile: 7: 4198400 [12: 9441280] @ heap_v2/524288\n"), false);
    cut_everywhere("data/stacks.collapsed", strlen("_start;main;read_all;read_sensor;take_buffer 4194304\n"), false);
    // The type of the first values decides whether it is a profile at all.
    cut_everywhere("data/named.pb.gz", 1, true);
}
END_TEST

START_TEST(test_cut_says_so)
{
    static const char text[] = "heap_v2/1\n  t*: 2: 2048 [0: 0]\n@ 0x10 0x20\n  t*: 1: 1024 [0: 0]\n@ 0x30 0x2";
    struct hs_dump *dump = NULL;
    ck_assert_int_eq(hs_dump__parse("x", text, sizeof(text) - 1, LARGEST, &dump, NULL), 0);
    ck_assert_uint_eq(dump->context_count, 1);
    ck_assert_uint_eq(dump->frame_count, 2);
    ck_assert_uint_eq(dump->warning_count, 3);
    ck_assert(strstr(dump->warning[0], "no MAPPED_LIBRARIES"));
    ck_assert(strstr(dump->warning[1], "within line 5"));
    ck_assert(strstr(dump->warning[2], "count 2048 bytes, the stacks only 1024"));
    hs_dump__close(dump);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump_readers");
    TCase *tests = tcase_create("dump_readers");
    tcase_add_test(tests, test_heap_v2);
    tcase_add_test(tests, test_heap_profile);
    tcase_add_test(tests, test_go_text);
    tcase_add_test(tests, test_odd_text);
    tcase_add_test(tests, test_members);
    tcase_add_test(tests, test_names);
    tcase_add_test(tests, test_pprof_units);
    tcase_add_test(tests, test_pprof_without_live);
    tcase_add_test(tests, test_pprof);
    tcase_add_test(tests, test_pprof_without_totals);
    tcase_add_test(tests, test_collapsed);
    tcase_add_test(tests, test_collapsed_deep);
    tcase_add_test(tests, test_estimates);
    tcase_add_test(tests, test_errors);
    tcase_add_test(tests, test_other_profiles);
    tcase_add_test(tests, test_large_unpacked);
    tcase_add_test(tests, test_too_much);
    tcase_add_test(tests, test_cut);
    tcase_add_test(tests, test_cut_says_so);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
