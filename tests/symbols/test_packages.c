// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Packages of split units (.dwp), against what addr2line says of the same program with nothing split off.
#include "oracle.h"
#include "subject.h"

#include "host/symbols/package.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char source[4096]; // folder of the sample's sources

// A unit has one section then, and its ranges count from there. With some C++, llvm-dwp 14 never ends.
#define ONE_SECTION "-fno-reorder-blocks-and-partition"

// Who compiles and who packs: binutils' dwp knows DWARF 4 alone.
static const struct maker {
    const char *c;
    const char *cxx;
    const char *c_options;
    const char *options;
    const char *pack;
    const char *tool;        // that has to be there
    bool is_beyond_binutils; // addr2line does not read all of it, so the program with everything in it is compared with
} makers[] = {
    {"gcc", "g++", ONE_SECTION, "-O2 -g -gdwarf-4", "dwp -e split -o packed.dwp", "dwp", false},
    {"gcc", "g++", ONE_SECTION, "-O2 -g -gdwarf-5", "llvm-dwp -e split -o packed.dwp", "llvm-dwp", false},
    {"gcc", "g++", ONE_SECTION, "-O2 -g -gdwarf-5 -fdebug-types-section", "llvm-dwp -e split -o packed.dwp", "llvm-dwp",
     true},
    {"clang-14", "clang++-14", "", "-O2 -g -gdwarf-5", "llvm-dwp -e split -o packed.dwp", "llvm-dwp", true},
};

static void compile(const struct maker *maker, const char *name, const char *more)
{
    for (int i = 0; i < 2; i++)
        shell("%s %s %s %s -fPIE -c '%s/%s.c' -o %s%d.o", maker->c, maker->options, maker->c_options, more, source,
              i ? "inlined" : "rust_names", name, i);
    shell("%s %s %s -fPIE -pie -Wl,--build-id=sha1 '%s/sample.cpp' %s0.o %s1.o -o %s", maker->cxx, maker->options, more,
          source, name, name, name);
}

// The program "split", its package "packed.dwp", and nothing else of what was split off.
static void make_package(const struct maker *maker)
{
    ck_assert_msg(have(maker->tool) && have(maker->c), "%s or %s is missing; scripts/setup installs it", maker->tool,
                  maker->c);
    compile(maker, "split", "-gsplit-dwarf");
    shell("%s && rm -f *.dwo", maker->pack);
}

static const char *in_work(const char *name)
{
    return text("%s/%s", work, name);
}

static void compare_with_oracle(const char *full, const char *split)
{
    struct session session;
    struct oracle *oracle = ask_oracle("", full);
    open_session(&session, NULL, split, split, 0x7f1234560000);
    compare_all(&session, oracle, 0x7f1234560000);
    close_session(&session);
    free_oracle(oracle);
}

START_TEST(test_whole_program)
{
    const struct maker *maker = &makers[_i];
    struct session session;
    struct hs_symbols_status status;
    char *full = strdup(in_work("full"));
    char *split = strdup(in_work("split"));
    make_package(maker);
    shell("mv packed.dwp split.dwp");
    compile(maker, "full", "");
    if (maker->is_beyond_binutils)
        compare_files(full, split, split, NULL);
    else
        compare_with_oracle(full, split);
    open_session(&session, NULL, split, split, 0);
    hs_symbols__status(session.symbols, 0, &status);
    ck_assert_ptr_null(hs_symbols_reason(&status));
    close_session(&session);
    free(full);
    free(split);
}
END_TEST

// ---- where it lies -------------------------------------------------------------------------------------------------

static const char *inlined_at(const struct hs_symbols_options *options, const char *path)
{
    static char answer[4096];
    struct session session;
    const char *split = in_work("split");
    uint64_t address = symbol(split, "twice") + 0x60;
    open_session(&session, options, split, path, 0);
    snprintf(answer, sizeof(answer), "%s", frames_at(&session, address));
    close_session(&session);
    return answer;
}

static void expect_inlined(const struct hs_symbols_options *options, const char *path, bool expected)
{
    const char *answer = inlined_at(options, path);
    ck_assert_msg((strstr(answer, "joined|inlined.c:") != NULL) == expected, "%s", answer);
}

static const char *build_id_folder(void)
{
    char id[128] = "";
    FILE *pipe = popen(text("readelf -n '%s/split' | sed -n 's/.*Build ID: //p'", work), "r");
    ck_assert(fscanf(pipe, "%127s", id) == 1);
    pclose(pipe);
    return text("debug/.build-id/%.2s/%s", id, id + 2);
}

START_TEST(test_places)
{
    make_package(&makers[0]);
    char *split = strdup(in_work("split"));
    char *folder = strdup(in_work("debug"));
    const char *const folders[] = {folder};
    struct hs_symbols_options options = {.debug_dirs = folders, .debug_dir_count = 1};
    struct hs_symbols_options root = {.sysroots = folders, .sysroot_count = 1};
    expect_inlined(&options, split, false);
    char places[4][512] = {"split.dwp", "debug/split.dwp"};
    snprintf(places[2], sizeof(places[2]), "debug%s.dwp", split);
    snprintf(places[3], sizeof(places[3]), "%s.dwp", build_id_folder());
    for (size_t i = 0; i < 4; i++) {
        shell("mkdir -p $(dirname '%s') && cp packed.dwp '%s'", places[i], places[i]);
        expect_inlined(&options, split, true);
        shell("rm '%s'", places[i]);
        expect_inlined(&options, split, false);
    }
    // Below a system root, as on the machine that was recorded.
    shell("mkdir -p debug/usr/bin && cp split debug/usr/bin && cp packed.dwp debug/usr/bin/split.dwp");
    expect_inlined(&root, "/usr/bin/split", true);
    // Beside the file with the debug information.
    shell("rm -rf debug && mkdir debug && objcopy --only-keep-debug split debug/other.debug && "
          "objcopy --strip-all --add-gnu-debuglink=debug/other.debug split stripped && mv packed.dwp debug/other.dwp");
    expect_inlined(&options, in_work("stripped"), true);
    free(split);
    free(folder);
}
END_TEST

START_TEST(test_of_another_program)
{
    make_package(&makers[0]);
    shell("mv packed.dwp other.dwp && mv split other");
    struct maker other = makers[0];
    other.options = "-O2 -g -gdwarf-4 -fno-inline";
    make_package(&other);
    shell("mv other.dwp split.dwp");
    struct session session;
    struct hs_symbols_status status;
    char why[4096], wanted[4096];
    const char *split = in_work("split");
    open_session(&session, NULL, split, split, 0);
    ck_assert(!strncmp(frames_at(&session, symbol(split, "twice")), "twice|", 6));
    hs_symbols__status(session.symbols, 0, &status);
    ck_assert(hs_symbols__explain(session.symbols, &status, why, sizeof(why), wanted, sizeof(wanted)));
    ck_assert_msg(strstr(why, ".dwp") != NULL, "%s", why);
    close_session(&session);
}
END_TEST

START_TEST(test_packed_sections)
{
    static const char *const kinds[] = {"zlib", "zstd"};
    make_package(&makers[0]);
    shell("objcopy --compress-debug-sections=%s packed.dwp split.dwp && readelf -SW split.dwp | grep -q ' C '",
          kinds[_i]);
    expect_inlined(NULL, in_work("split"), true);
}
END_TEST

// ---- damage --------------------------------------------------------------------------------------------------------

// Of each byte of the index, and of some of the rest: whatever is said, it is said without a crash or an end that does
// not come.
static void ask_everywhere(const uint64_t *addresses, size_t count)
{
    struct session session;
    const char *split = in_work("split");
    open_session(&session, NULL, split, split, 0);
    for (size_t i = 0; i < count; i += 29)
        frames_at(&session, addresses[i]);
    close_session(&session);
}

static void write_damaged(const char *bytes, size_t size, size_t at, uint32_t value)
{
    int fd = open(in_work("split.dwp"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    if (at + sizeof(value) <= size)
        ck_assert_int_eq(pwrite(fd, &value, sizeof(value), (off_t)at), sizeof(value));
    close(fd);
}

static size_t section_at(const char *name)
{
    size_t offset = 0;
    FILE *pipe =
        popen(text("readelf -SW '%s/packed.dwp' | sed -n 's/.*\\%s *PROGBITS *[0-9a-f]* *\\([0-9a-f]*\\).*/\\1/p'",
                   work, name),
              "r");
    ck_assert(fscanf(pipe, "%zx", &offset) == 1);
    pclose(pipe);
    return offset;
}

START_TEST(test_damage)
{
    static const char *const sections[] = {".debug_cu_index", ".debug_info.dwo", ".debug_abbrev.dwo",
                                           ".debug_rnglists.dwo"};
    static const uint32_t values[] = {0, 1, 0xff, 0x7fffffff, UINT32_MAX};
    uint64_t addresses[MOST_ADDRESSES];
    size_t size;
    // A small one: it is read a hundred times.
    shell("gcc -O2 -g -gdwarf-5 -gsplit-dwarf -fPIC -shared -Wl,--build-id=sha1 '%s/inlined.c' '%s/rust_names.c' "
          "-o split && llvm-dwp -e split -o packed.dwp && rm -f *.dwo",
          source, source);
    char *whole = read_file(in_work("packed.dwp"), &size);
    size_t count = instructions("", in_work("split"), addresses, MOST_ADDRESSES);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        size_t section = section_at(sections[i]);
        for (size_t word = 0; word < 20; word++) {
            write_damaged(whole, size, section + word * 4, values[word % 5]);
            ask_everywhere(addresses, count);
        }
    }
    for (size_t part = 0; part < 8; part++) {
        write_damaged(whole, size * part / 8, size, 0);
        ask_everywhere(addresses, count);
    }
    free(whole);
}
END_TEST

int main(void)
{
    if (!getcwd(source, sizeof(source)))
        return 1;
    Suite *suite = suite_create("packages");
    TCase *tests = tcase_create("packages");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_loop_test(tests, test_whole_program, 0, sizeof(makers) / sizeof(makers[0]));
    tcase_add_test(tests, test_places);
    tcase_add_test(tests, test_of_another_program);
    tcase_add_loop_test(tests, test_packed_sections, 0, 2);
    tcase_add_test(tests, test_damage);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
