// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Other tools' recordings, reported as traces: what heaptrack itself records, and what write_recording.py writes as
// memory-profiler does.
#include "command.h"
#include "tests/store/trace_writer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char source[4096];

static long long reported(const char *command, const char *key)
{
    struct outcome outcome = run("%s", command);
    ck_assert_msg(outcome.status == 0, "%s: %s", command, outcome.errors);
    const char *at = strstr(outcome.output, text("\n  \"%s\": ", key));
    ck_assert_msg(at != NULL, "%s: no '%s'", command, key);
    long long number = strtoll(strchr(at, ':') + 1, NULL, 10);
    free_outcome(&outcome);
    return number;
}

static void expect_report(const char *file, const char *key, long long number)
{
    char *command = strdup(text("$HEAPSONDE report --json %s", file));
    long long is = reported(command, key);
    ck_assert_msg(is == number, "%s: %s is %lld, not %lld", file, key, is, number);
    free(command);
}

// `how`: what the report says of where the file ends; NULL: nothing.
static void expect_incomplete(const char *file, const char *how)
{
    struct outcome outcome = run("$HEAPSONDE report %s", file);
    const char *row = strstr(outcome.output, "\nincomplete ");
    ck_assert_msg(outcome.status == 0 && !row == !how && (!how || strstr(row, how)), "%s: %s%s", file, outcome.output,
                  outcome.errors);
    ck_assert_ptr_null(strstr(outcome.output, "process 0"));
    free_outcome(&outcome);
}

// ---- heaptrack -----------------------------------------------------------------------------------------------------

static long long of_heaptrack(const char *file, const char *kind)
{
    struct outcome outcome = run("heaptrack_print %s -F stacks --flamegraph-cost-type %s >/dev/null && "
                                 "awk '{ sum += $NF } END { print sum + 0 }' stacks",
                                 file, kind);
    ck_assert_msg(outcome.status == 0, "%s", outcome.errors);
    long long sum = strtoll(outcome.output, NULL, 10);
    free_outcome(&outcome);
    return sum;
}

START_TEST(test_heaptrack)
{
    shell("gcc -g -O1 '%s/../readers/program.c' -pthread -o program && heaptrack -o recorded ./program >log 2>&1 && "
          "zstd -dcq recorded.zst >plain && gzip -c plain >packed.gz",
          source);
    static const char *const files[] = {"recorded.zst", "plain", "packed.gz"};
    long long allocations = of_heaptrack("recorded.zst", "allocations");
    long long leaked = of_heaptrack("recorded.zst", "leaked");
    long long peak = of_heaptrack("recorded.zst", "peak");
    ck_assert_int_ge(allocations, 2334);
    ck_assert_int_ge(leaked, 1072736);
    for (size_t i = 0; i < 3; i++) {
        expect_report(files[i], "allocations", allocations);
        expect_report(files[i], "live_bytes", leaked);
        expect_report(files[i], "peak_bytes", peak);
    }
    struct outcome outcome = run("$HEAPSONDE report --function keep_large recorded.zst");
    ck_assert_ptr_nonnull(strstr(outcome.output, "program.c:21)"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "./program"));
    free_outcome(&outcome);
    // There and back again.
    shell("$HEAPSONDE import recorded.zst -o made.dat && test $(stat -c %%a made.dat) = 600 && "
          "$HEAPSONDE export --format heaptrack made.dat -o back");
    expect_report("made.dat", "peak_bytes", peak);
    ck_assert_int_eq(of_heaptrack("back", "allocations"), allocations);
    ck_assert_int_eq(of_heaptrack("back", "leaked"), leaked);
    ck_assert_int_eq(of_heaptrack("back", "peak"), peak);
    ck_assert_int_eq(of_heaptrack("back", "temporary"), of_heaptrack("recorded.zst", "temporary"));
    shell("$HEAPSONDE diff recorded.zst made.dat | grep -q '^difference *none'");
}
END_TEST

START_TEST(test_heaptrack_damage)
{
    static const struct {
        const char *lines, *error;
    } cases[] = {{"v 10400 9\\n", "line 1 of the heaptrack file: its version"},
                 {"v 10400 3\\ns 5 abc\\n", "line 2 of the heaptrack file: the length"},
                 {"v 10400 3\\ni 1000 7\\n", "a module refers to a string that is not there"},
                 {"v 10400 3\\ni 1000 0 3\\n", "a name refers to a string that is not there"},
                 {"v 10400 3\\ni 1000 0\\nt 1 5\\n", "a trace refers to something that does not exist"},
                 {"v 10400 3\\na 10 1\\n", "an allocation has a size and a trace"},
                 {"v 10400 3\\n+ 0\\n", "refers to an allocation that is not there"},
                 {"v 10400 3\\nc zz\\n", "a time is not a number"},
                 {"v 10400 3\\na 7fffffffffffffff 0\\n+ 0\\na 1 0\\n+ 1\\n",
                  "line 5 of the heaptrack file: its blocks have 8 EiB"},
                 {"v 10400 3\\na ffffffffffffffff 0\\n+ 0\\n", "line 3 of the heaptrack file: its blocks have 8 EiB"},
                 {"v 10400 3\\nm /bin/true 0\\n", "--raw"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = run("printf '%s' >file; $HEAPSONDE report file", cases[i].lines);
        ck_assert_int_eq(outcome.status, 1);
        ck_assert_msg(strstr(outcome.errors, cases[i].error), "%s: %s", cases[i].lines, outcome.errors);
        free_outcome(&outcome);
    }
    shell("printf 'v 10400 3\\na 7fffffffffffffff 0\\n+ 0\\n' >file");
    // Too large to be added up with others (host/store/allowance.h).
    expect_report("file", "live_bytes", (1 << 26) - 1 + ((int64_t)1 << 60) / 64);
    expect_report("file", "capped_numbers", 1);
    // Cut off, it has what is whole; frees of what is unknown are nothing.
    shell("printf 'v 10400 3\\nX a b\\ns 1 f\\ni 1000 0 1\\nt 1 0\\na 64 1\\n- 0\\n+ 0\\nc 5\\n+ 0\\n- 0\\n+ 0' >file");
    expect_report("file", "live_bytes", 100);
    expect_report("file", "allocations", 2);
    expect_report("file", "duration_ns", 5000001);
    expect_incomplete("file", "ends, or is damaged, after line 11");
    shell("printf '\\n' >>file");
    expect_incomplete("file", NULL);
    // What it is converted to is not named, wherever the memory is at an end.
    shell("for most in 1M 8M 16M 32M; do $HEAPSONDE report --memory $most file >out 2>errors || "
          "grep '^heapsonde report: file: ' errors | grep -vq 'heapsonde takes.*heapsonde takes' || exit 1; done");
}
END_TEST

START_TEST(test_heaptrack_packed_and_cut)
{
    shell("(printf 'v 10400 3\nX a b\ns 1 f\ni 1000 0 1\nt 1 0\na 64 1\n'; seq 200000 | sed 's/.*/+ 0/') >whole && "
          "zstd -qkf whole -o whole.zst && gzip -kf whole && for f in whole.zst whole.gz; do "
          "head -c $(($(stat -c %%s $f) - 3)) $f >cut.${f#*.}; done");
    static const char *const cut[] = {"cut.zst", "cut.gz"}, *const whole[] = {"whole", "whole.zst", "whole.gz"};
    for (size_t i = 0; i < 3; i++)
        expect_incomplete(whole[i], NULL);
    for (size_t i = 0; i < 2; i++)
        expect_incomplete(cut[i], "ends, or is damaged, after line");
}
END_TEST

// Kilobytes that unpack to gigabytes: a line without an end, and lines that fill a table each.
START_TEST(test_heaptrack_bombs)
{
    static const struct {
        const char *make, *error;
    } cases[] = {
        {"head -c 67108864 /dev/zero", "line 2 of the heaptrack file: longer than 1 MiB"},
        {"yes 'a 0 0' | head -n 6000000", "names far more than files of its size do; --memory 1088M is enough"},
        {"yes 's 0 ' | head -n 10000000", "names far more than files of its size do; --memory 960M is enough"},
        {"yes 'i 1 0 0 0' | head -n 3000000", "names far more than files of its size do; --memory 1088M is"},
        {"(echo 'i 1 0'; yes 't 1 0' | head -n 2000000)", "names far more than files of its size do; "},
        {"(printf 's 1 f\\ni 1000 1'; yes ' 1 1 1' | head -n 1000 | tr -d '\\n'; echo; yes 't 1 0' | "
         "head -n 20000)",
         "line 5120 of the heaptrack file: it names far more than files of its size do; --memory 1088M is"},
        {"(echo 'a 8 0'; yes '+ 0' | head -n 17000000)",
         "far more live blocks than files of its size do; --memory 1920M is enough"},
        {"(yes \"#$(printf '%0100000d' 0)\" | head -n 4200)",
         "unpacks to far more than files of its size do; --memory 576M is enough"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        shell("(echo 'v 10400 3'; %s) | zstd -q -f -o bomb.zst && test $(stat -c %%s bomb.zst) -lt 200000",
              cases[i].make);
        struct outcome outcome = run("$HEAPSONDE report bomb.zst");
        ck_assert_int_eq(outcome.status, 1);
        ck_assert_msg(strstr(outcome.errors, cases[i].error), "%s: %s", cases[i].make, outcome.errors);
        free_outcome(&outcome);
    }
    // Events of one kind are as many as there are, and what the message asks for is enough.
    shell("(printf 'v 10400 3\\na 8 0\\n'; yes '+ 0' | head -n 2000000 | sed 'p;s/+/-/') | zstd -q -o loop.zst && "
          "(echo 'v 10400 3'; yes 'a 0 0' | head -n 6000000) | zstd -q -o kinds.zst && "
          "$HEAPSONDE report --memory 1088M kinds.zst >out");
    expect_report("loop.zst", "allocations", 2000000);
}
END_TEST

// Whether the recording is being converted, imported or reported.
START_TEST(test_interrupted)
{
    static const char *const signals[] = {"TERM", "HUP"};
    shell("(printf 'v 10400 3\\na 8 0\\n'; yes '+ 0' | head -n 1000000) >file && mkdir there");
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct outcome outcome = run("TMPDIR=$PWD/there $HEAPSONDE report file >out 2>&1 & "
                                     "until [ \"$(ls there)\" ] || ! [ -e /proc/$!/exe ]; do :; done; "
                                     "kill -%s $!; wait $!; ls there",
                                     signals[i]);
        ck_assert_str_eq(outcome.output, "");
        free_outcome(&outcome);
    }
}
END_TEST

// Not a line of them can be read.
START_TEST(test_packed_and_cut_at_once)
{
    static const struct {
        const char *make, *error;
    } cases[] = {
        {"head -c 50 whole.zst", "compressed with zstd, as heaptrack does, but truncated: it ends after 50 bytes, in "},
        {"head -c 4 whole.zst", "compressed with zstd, as heaptrack does, but truncated: it ends after 4 bytes, in "},
        {"head -c 15 whole.gz", "compressed with gzip, as pprof does, and heaptrack without zstd, but truncated: it "
                                "ends after 15 bytes, in "},
        {"(head -c 8 whole.zst; head -c 100 /dev/zero | tr '\\0' '\\377')", "damaged in its first block"},
        {"(head -c 16 whole.gz; head -c 100 /dev/zero | tr '\\0' '\\377')", "damaged in its first block"}};
    shell("(printf 'v 10400 3\na 64 0\n'; seq 2000 | sed 's/.*/+ 0 &/') >whole && zstd -qkf whole -o whole.zst && "
          "gzip -kf whole");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome =
            run("%s >cut; $HEAPSONDE report cut; test $? -eq 1 && $HEAPSONDE import cut -o made", cases[i].make);
        const char *first = strstr(outcome.errors, cases[i].error);
        ck_assert_int_eq(outcome.status, 1);
        ck_assert_msg(first && strstr(first + 1, cases[i].error), "%s: %s", cases[i].make, outcome.errors);
        free_outcome(&outcome);
    }
}
END_TEST

// ---- memory-profiler -----------------------------------------------------------------------------------------------

static void make_recording(const char *how)
{
    shell("printf '%%s\\n' 'void parse(void){__asm__(\"nop;nop;nop;nop;nop;nop;nop;nop\");}' 'void "
          "load(void){parse();parse();}' 'void _start(void){load();load();}' 'int main(void){load();load();return 0;}' "
          ">prog.c && %s -g -O1 -fno-inline -fno-pic -static -nostdlib %s -Wl,-Ttext-segment=0x400000 prog.c -o prog",
          strcmp(how, "arm") ? "gcc" : "arm-linux-gnueabi-gcc -marm", strcmp(how, "arm") ? "-no-pie" : "");
    shell("/usr/bin/python3 '%s/write_recording.py' %s.dat %s prog $(nm prog | "
          "awk '$3 ~ /^(load|parse|main)$/ { print $3 \"=0x\" $1 }')",
          source, how, how);
}

static void expect_recording(const char *how)
{
    char file[32];
    snprintf(file, sizeof(file), "%s.dat", how);
    make_recording(how);
    expect_report(file, "allocations", 1005 + 7); // with those of the statistics
    expect_report(file, "reallocations", 2);
    expect_report(file, "live_count", 3);
    expect_report(file, "live_bytes", 1370);
    expect_report(file, "live_usable_bytes", 1370 + 8 + 24);
    expect_report(file, "peak_bytes", 1370);
    expect_report(file, "allocated_bytes", 100 + 50 + 70 + 300 + 10000 + 1000 + 700);
    expect_report(file, "culled_count", 7);
    expect_report(file, "threads", 2);
    expect_report(file, "pid", 77);
    expect_report(file, "duration_ns", 7000000);
    expect_report(file, "start_realtime_ns", 1700000000000000005);
    expect_report(text("--function load %s", file), "live_bytes", 300);
    expect_report(text("--function parse %s", file), "live_bytes", 70);
    expect_report(text("--function main %s", file), "live_bytes", 1370);
    struct outcome outcome = run("$HEAPSONDE report %s", file);
    ck_assert_ptr_nonnull(strstr(outcome.output, "prog -x two words"));
    ck_assert_msg(strstr(outcome.output, " parse (") && strstr(outcome.output, "prog.c:"), "%s", outcome.output);
    free_outcome(&outcome);
}

START_TEST(test_recordings)
{
    expect_recording("plain");
    expect_recording("packed");
    expect_recording("decoded");
    expect_recording("arm");
    shell("test $(stat -c %%s packed.dat) -lt $(( $(stat -c %%s plain.dat) / 2 ))");
}
END_TEST

// Wherever it ends, what is whole is there.
START_TEST(test_recording_damage)
{
    make_recording("packed");
    make_recording("plain");
    shell("size=$(stat -c %%s plain.dat); for cut in 9 100 5000 $((size / 2)) $((size - 1)); do "
          "head -c $cut plain.dat >cut.dat; $HEAPSONDE report cut.dat >out 2>&1; status=$?; test $status -le 1 || exit "
          "1; "
          "test $cut -lt 5000 || test $status -eq 0 || exit 1; done");
    expect_incomplete("cut.dat", "the rest of the recording cannot be read");
    expect_incomplete("plain.dat", "the rest of the recording cannot be read");
    expect_incomplete("packed.dat", NULL);
    struct outcome outcome = run("printf 'nothing of the kind' >none && $HEAPSONDE import none -o made.dat");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "not a recording of heaptrack"));
    free_outcome(&outcome);
    make_recording("bomb");
    outcome = run("test $(stat -c %%s bomb.dat) -lt 200000 && $HEAPSONDE report bomb.dat");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_msg(strstr(outcome.errors, "unpacks to far more than files of its size do; --memory 512M is enough"),
                  "%s", outcome.errors);
    free_outcome(&outcome);
    shell("$HEAPSONDE report --memory 512M bomb.dat");
    outcome = run("$HEAPSONDE import plain.dat");
    ck_assert_int_eq(outcome.status, 2);
    free_outcome(&outcome);
    shell("$HEAPSONDE import plain.dat -o plain.dat 2>errors; test $? -eq 2");
}
END_TEST

// More than sums can hold.
START_TEST(test_recordings_of_too_much)
{
    static const char *const how[] = {"huge", "culled"};
    for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
        make_recording(how[i]);
        struct outcome outcome = run("$HEAPSONDE report %s.dat", how[i]);
        ck_assert_int_eq(outcome.status, 1);
        char expected[64];
        snprintf(expected, sizeof(expected), " %s.dat: its blocks have 8 EiB or more in all", how[i]);
        ck_assert_msg(strstr(outcome.errors, expected), "%s", outcome.errors);
        free_outcome(&outcome);
    }
}
END_TEST

START_TEST(test_extract)
{
    make_recording("packed");
    shell("$HEAPSONDE extract -o out packed.dat >list && cmp prog out/prog && printf '1.0 2.0\\n\\n' | cmp - "
          "out/uptime && "
          "grep -q ': /opt/prog$' list && test $(wc -l <list) -eq 2 && test $(stat -c %%a out/uptime) = 600");
    // Nothing is overwritten.
    shell("echo mine >out/uptime && $HEAPSONDE extract -o out packed.dat >list && grep -qx mine out/uptime && "
          "cmp prog out/prog.000 && test -s out/uptime.000");
    shell("printf 'v 10400 3\\n' >none && $HEAPSONDE extract -o out none 2>errors && grep -q 'holds no files; .* "
          "--embed-binaries' errors");
}
END_TEST

// ---- links ---------------------------------------------------------------------------------------------------------

#define OF_OTHERS "a link of another user, which is not followed"

static void expect_refusal(const char *command, const char *words)
{
    struct outcome outcome = run("%s", command);
    ck_assert_msg(outcome.status == 1 && strstr(outcome.errors, words), "%s: %d, %s", command, outcome.status,
                  outcome.errors);
    free_outcome(&outcome);
}

// Those of this user are followed, those of others are not; root alone can make the latter.
START_TEST(test_planted_links)
{
    make_recording("packed");
    shell(
        "mkdir victim mine && ln -s mine own && $HEAPSONDE extract -o own packed.dat >list && test -s mine/prog && "
        "ln -s /dev/null null && $HEAPSONDE export --format csv -o null packed.dat && $HEAPSONDE import packed.dat -o "
        "made.dat && $HEAPSONDE report made.dat >out");
    // What is kept with a store is not written into another name of a file.
    shell("echo precious >precious && rm made.dat.store/digest && ln precious made.dat.store/digest.new && "
          "$HEAPSONDE report made.dat >out && grep -qx precious precious && test -s made.dat.store/digest");
    if (geteuid())
        return;
    shell("ln -s victim planted && chown -h 65534 planted && ln -s /dev/null device && chown -h 65534 device");
    expect_refusal("$HEAPSONDE extract -o planted packed.dat", OF_OTHERS);
    expect_refusal("$HEAPSONDE extract -o planted/ packed.dat", OF_OTHERS);
    expect_refusal("$HEAPSONDE export --format csv -o device packed.dat", "Too many levels of symbolic links");
    expect_refusal("timeout 20 $HEAPSONDE gather --dir planted --listen 127.0.0.1:0", OF_OTHERS);
    shell("test -z \"$(ls victim)\"");
    // The store of whoever wrote the trace is as good as the trace; one of a third user is not.
    shell("chown 65534 made.dat.store && $HEAPSONDE report made.dat >out && test $(stat -c %%u made.dat.store) = 0 && "
          "chown 65534 made.dat made.dat.store && $HEAPSONDE report made.dat >out && "
          "test $(stat -c %%u made.dat.store) = 65534");
}
END_TEST

// ---- strip ---------------------------------------------------------------------------------------------------------

static void expect_same(const char *one, const char *other, const char *key)
{
    long long number = reported(text("$HEAPSONDE report --json %s", one), key);
    expect_report(other, key, number);
}

START_TEST(test_strip)
{
    static const char *const kept[] = {"live_bytes",      "live_count",  "live_usable_bytes", "allocations",
                                       "allocated_bytes", "duration_ns", "threads",           "pid"};
    shell("gcc -g -O1 '%s/../readers/program.c' -pthread -o program && $HEAPSONDE run -q -o whole.dat -- ./program && "
          "$HEAPSONDE strip -o short.dat whole.dat && $HEAPSONDE strip -t 0ns -o same.dat whole.dat && "
          "$HEAPSONDE strip -t 1h -o hour.dat whole.dat && test $(stat -c %%a hour.dat) = 600 && "
          "zstd -q whole.dat && gzip -k whole.dat && for packed in whole.dat.zst whole.dat.gz; do "
          "$HEAPSONDE report $packed 2>errors; test $? -eq 1 && grep -q 'unpack it first' errors || exit 1; done",
          source);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        expect_same("whole.dat", "short.dat", kept[i]);
        expect_same("whole.dat", "hour.dat", kept[i]);
        expect_same("whole.dat", "same.dat", kept[i]);
    }
    expect_same("whole.dat", "same.dat", "peak_bytes");
    expect_same("whole.dat", "same.dat", "reallocations");
    expect_report("same.dat", "culled_count", 0);
    long long frees = reported("$HEAPSONDE report --json whole.dat", "allocations") -
                      reported("$HEAPSONDE report --json whole.dat", "live_count");
    expect_report("short.dat", "culled_count", frees);
    expect_report("short.dat", "missed_frees", 0);
    expect_report("short.dat", "unknown_frees", 0);
    shell("for file in whole same; do $HEAPSONDE export --format csv $file.dat | sort >$file.csv; done; "
          "cmp whole.csv same.csv && test $(stat -c %%s short.dat) -lt $(stat -c %%s whole.dat) && "
          "$HEAPSONDE diff whole.dat short.dat | grep -q '^difference *none'");
    // The whole trace of the stacks: what is left out is counted where it was allocated.
    expect_report("--function use_briefly short.dat", "allocations", 1000);
    expect_report("--function use_briefly short.dat", "live_count", 0);
}
END_TEST

#define MILLISECOND 1000000u

struct events {
    struct hs_event event[400];
    size_t count;
};

static void add(struct events *events, uint8_t kind, uint64_t ms, uint64_t address, uint64_t size, uint64_t old_address)
{
    struct hs_event event = {.kind = kind, .time = ms * MILLISECOND, .address = address, .size = size};
    event.usable = hs_usable_model(size, 8);
    if (kind == HS_EVENT_REALLOC) {
        event.old_address = old_address;
        event.begin_time = event.time - 1000;
    }
    events->event[events->count++] = event;
}

static void write_growing(const char *path)
{
    static struct events events;
    struct trace_writer writer;
    events.count = 0;
    add(&events, HS_EVENT_MALLOC, 1, 0x1000, 10, 0);
    add(&events, HS_EVENT_REALLOC, 401, 0x2000, 5000, 0x1000);
    add(&events, HS_EVENT_REALLOC, 402, 0x2000, 6000, 0x2000);
    add(&events, HS_EVENT_REALLOC, 802, 0x9000, 100000, 0x2000);
    add(&events, HS_EVENT_MALLOC, 803, 0x1000, 7, 0);
    add(&events, HS_EVENT_REALLOC, 1203, 0x50000, 90000, 0x1000);
    add(&events, HS_EVENT_FREE, 1204, 0x50000, 0, 0);
    for (uint64_t ms = 1300; ms < 1600; ms += 3) {
        add(&events, HS_EVENT_MALLOC, ms, 0x1000, 33, 0);
        add(&events, HS_EVENT_REALLOC, ms + 1, 0x70000, 3300, 0x1000);
        add(&events, HS_EVENT_FREE, ms + 2, 0x70000, 0, 0);
    }
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    trace_writer__events(&writer, 1, events.event, events.count, false);
    trace_writer__close(&writer, true, (uint64_t)2000 * MILLISECOND);
}

// Blocks that grow, some of them kept: the halves of a realloc.
START_TEST(test_strip_reallocs)
{
    write_growing(text("%s/whole.dat", work));
    struct outcome outcome = run("$HEAPSONDE strip -o /dev/full whole.dat");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "the rest of whole.dat cannot be written: No space left"));
    free_outcome(&outcome);
    outcome = run("printf 'v 10400 3\\n' >other; $HEAPSONDE strip -o none.dat other");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "'heapsonde import'"));
    free_outcome(&outcome);
    shell("$HEAPSONDE strip -t 200ms -o short.dat whole.dat");
    // Kept: 10, 6000, 100000 and 7 bytes; 10 -> 5000 and 7 -> 90000 end in what is left out, 6000 -> 100000 stays one.
    expect_report("short.dat", "culled_count", 202);
    expect_report("short.dat", "reallocations", 1);
    expect_report("short.dat", "live_bytes", 100000);
    expect_report("short.dat", "peak_bytes", 100007);
    expect_report("short.dat", "missed_frees", 0);
    expect_report("short.dat", "unknown_frees", 0);
    expect_same("whole.dat", "short.dat", "allocated_bytes");
}
END_TEST

int main(void)
{
    if (!getcwd(source, sizeof(source)))
        return 1;
    setenv("DEBUGINFOD_URLS", "", 1);
    TCase *tests = tcase_create("convert");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_test(tests, test_heaptrack);
    tcase_add_test(tests, test_heaptrack_damage);
    tcase_add_test(tests, test_heaptrack_packed_and_cut);
    tcase_add_test(tests, test_heaptrack_bombs);
    tcase_add_test(tests, test_interrupted);
    tcase_add_test(tests, test_packed_and_cut_at_once);
    tcase_add_test(tests, test_recordings);
    tcase_add_test(tests, test_recording_damage);
    tcase_add_test(tests, test_recordings_of_too_much);
    tcase_add_test(tests, test_extract);
    tcase_add_test(tests, test_planted_links);
    tcase_add_test(tests, test_strip);
    tcase_add_test(tests, test_strip_reallocs);
    return run_cases("convert", tests);
}
