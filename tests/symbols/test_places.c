// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where files and debug information are found, and what must not be taken: system roots with links of every kind,
// debug directories, other builds, this machine's files for another machine's trace.
#include "subject.h"

#include "format/trace_format.h"
#include "host/symbols/candidates.h"
#include "host/symbols/elf_probe.h"
#include "host/symbols/source_map.h"
#include "host/symbols/sysroot.h"
#include "tests/suite.h"

#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[128]; // a system root in the folder of this run, and the list of it
static const char *roots[2];

static void make_root(void)
{
    make_work();
    snprintf(root, sizeof(root), "%s/root", work);
    roots[0] = root;
    shell("mkdir root");
}

// ---- names below a system root -------------------------------------------------------------------------------------

static void expect_resolved(const char *path, const char *expected)
{
    char to[PATH_MAX];
    int result = hs_sysroot__resolve(root, path, to, sizeof(to));
    ck_assert_msg(result == 0, "%s: %s", path, strerror(-result));
    ck_assert_str_eq(to, text("%s%s", root, expected));
}

static void expect_failure(const char *path, int problem)
{
    char to[PATH_MAX];
    int result = hs_sysroot__resolve(root, path, to, sizeof(to));
    ck_assert_msg(result == -problem, "%s: %d", path, result);
}

START_TEST(test_resolve)
{
    shell("mkdir -p root/usr/lib/deep root/opt && echo x > root/usr/lib/file && ln -s usr/lib root/lib && "
          "ln -s /usr/lib/file root/opt/absolute && ln -s ../usr/lib/file root/opt/relative && "
          "ln -s ../../../../../../usr/lib/file root/opt/above && ln -s /lib root/opt/folder && ln -s / root/opt/top");
    expect_resolved("/usr/lib/file", "/usr/lib/file");
    expect_resolved("//usr/./lib//deep/../file", "/usr/lib/file");
    expect_resolved("/lib/file", "/usr/lib/file");
    expect_resolved("/opt/absolute", "/usr/lib/file");
    expect_resolved("/opt/relative", "/usr/lib/file");
    expect_resolved("/opt/above", "/usr/lib/file");
    expect_resolved("/opt/folder/file", "/usr/lib/file");
    expect_resolved("/opt/top/opt/top/lib/file", "/usr/lib/file");
    expect_resolved("/../../lib/../lib", "/usr/lib");
    expect_resolved("/", "");
    expect_failure("/opt/missing", ENOENT);
    expect_failure("/usr/lib/file/below", ENOTDIR);
    // What exists on this machine does not exist there.
    shell("ln -s /etc/passwd root/opt/passwd");
    expect_failure("/opt/passwd", ENOENT);
}
END_TEST

START_TEST(test_resolve_loops)
{
    char to[PATH_MAX];
    shell("cd root && ln -s self self && ln -s /two one && ln -s /one two && ln -s deeper/x deeper && "
          "ln -s /grow/grow grow && i=0; while [ $i -lt 45 ]; do ln -s link$((i + 1)) link$i; i=$((i + 1)); done; "
          "touch link45");
    expect_failure("/self", ELOOP);
    expect_failure("/one/file", ELOOP);
    expect_failure("/deeper", ELOOP);
    expect_failure("/grow", ELOOP);
    expect_failure("/link0", ELOOP);
    expect_resolved("/link5", "/link45");
    char *name = malloc(PATH_MAX + 1);
    memset(name, 'a', PATH_MAX);
    name[0] = '/';
    name[PATH_MAX] = 0;
    expect_failure(name, ENAMETOOLONG);
    name[NAME_MAX + 10] = 0;
    expect_failure(name, ENAMETOOLONG);
    for (int i = 0; i < PATH_MAX; i++)
        name[i] = i % 2 ? '.' : '/';
    name[PATH_MAX - 1] = 0;
    expect_resolved(name, "");
    free(name);
    for (size_t size = 0; size < strlen(root) + 8; size++)
        ck_assert_int_eq(hs_sysroot__resolve(root, "/link45", to, size), -ENAMETOOLONG);
    ck_assert_int_eq(hs_sysroot__resolve("/", "/", to, sizeof(to)), 0);
    ck_assert_str_eq(to, "/");
}
END_TEST

// ---- files ---------------------------------------------------------------------------------------------------------

// Compiles the sample for this machine, with its sources' folder as it is.
static char source[4096];

static const char *compile(const char *name, const char *options)
{
    static char paths[4][512];
    static unsigned next;
    shell("gcc %s -Wl,--build-id=sha1 '%s/rust_names.c' -shared -fPIC -o %s", options, source, name);
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", work, name);
    return path;
}

static struct hs_symbols_options rooted(void)
{
    return (struct hs_symbols_options){.sysroots = roots, .sysroot_count = 1};
}

#define FUNCTION      "_RNvNtCs1234_7mycrate3foo3bar"
#define FUNCTION_NAME "mycrate::foo::bar"

// What is said about an address of FUNCTION of the file `full`, when `path` stands in the trace.
static void expect_answer(const struct hs_symbols_options *options, const char *full, const char *path,
                          const char *words, enum hs_symbols_state state)
{
    struct session session;
    uint64_t address = symbol(full, FUNCTION);
    open_session(&session, options, full, path, 0x7000000);
    const char *answer = frames_at(&session, 0x7000000 + address);
    ck_assert_msg(!strncmp(answer, words, strlen(words)), "%s: %s", path, answer);
    ck_assert_int_eq(hs_symbols__state(session.symbols, 0), state);
    close_session(&session);
}

static void expect_line(const struct hs_symbols_options *options, const char *full, const char *path)
{
    expect_answer(options, full, path, FUNCTION_NAME "|rust_names.c:", HS_SYMBOLS_FOUND);
}

// Sections that unpack to a thousand times their size, in both forms; what real ones unpack to is no matter.
START_TEST(test_bombs)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    static const char *const forms[] = {"zlib-gabi", "zlib-gnu"};
    shell("mkdir -p root/opt && head -c 33554432 /dev/zero >zeros");
    for (size_t i = 0; i < 2; i++) {
        shell("objcopy --remove-section .debug_str --add-section .debug_str=zeros full bomb && "
              "objcopy --compress-debug-sections=%s bomb root/opt/bomb && objcopy --compress-debug-sections=%s full "
              "root/opt/packed && test $(stat -c %%s root/opt/bomb) -lt 200000",
              forms[i], forms[i]);
        expect_answer(&options, full, "/opt/bomb", "bomb+0x", HS_SYMBOLS_DAMAGED);
        expect_line(&options, full, "/opt/packed");
    }
}
END_TEST

static const char *build_id_of(const char *path)
{
    static char id[128];
    char line[512];
    FILE *pipe = popen(text("readelf -n '%s'", path), "r");
    while (fgets(line, sizeof(line), pipe))
        sscanf(line, " Build ID: %127s", id);
    pclose(pipe);
    return id;
}

START_TEST(test_links_in_sysroot)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    shell("mkdir -p root/data/real root/opt && cp full root/data/real/full && ln -s /data/real root/opt/lib && "
          "ln -s full root/data/real/full.so.1");
    expect_line(&options, full, "/opt/lib/full");
    expect_line(&options, full, "/opt/lib/full.so.1");
    expect_line(&options, full, "/opt/../opt/lib/full");
}
END_TEST

START_TEST(test_merged_folders)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    shell("mkdir -p root/lib/target root/usr/bin && cp full root/lib/target/full.so && cp full root/usr/bin/full");
    expect_line(&options, full, "/usr/lib/target/full.so");
    expect_line(&options, full, "/bin/full");
    expect_answer(&options, full, "/usr/share/full", "full+0x", HS_SYMBOLS_MISSING);
}
END_TEST

START_TEST(test_several_sysroots)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    shell("mkdir -p root/opt other/opt && strip -o root/opt/full full && cp full other/opt/full");
    expect_answer(&options, full, "/opt/full", FUNCTION_NAME "|?:0\n", HS_SYMBOLS_FOUND);
    char other[128];
    snprintf(other, sizeof(other), "%s/other", work);
    roots[1] = other;
    options.sysroot_count = 2;
    // The first has the file, the second the one with everything in it.
    expect_line(&options, full, "/opt/full");
    // The first has another build.
    compile("changed", "-g -O2 -DCHANGED");
    shell("cp changed root/opt/full");
    expect_line(&options, full, "/opt/full");
}
END_TEST

START_TEST(test_build_id_in_sysroot)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    const char *id = build_id_of(full);
    // As a distribution has it: the folder by build id holds a link that is absolute on that machine.
    shell("mkdir -p root/usr/lib/debug/.build-id/%.2s root/usr/lib/debug/opt && "
          "objcopy --only-keep-debug full root/usr/lib/debug/opt/full.debug && "
          "ln -s /usr/lib/debug/opt/full.debug root/usr/lib/debug/.build-id/%.2s/%s.debug",
          id, id, id + 2);
    expect_line(&options, full, "/opt/full");
    // Also with the stripped file there, and without any.
    shell("mkdir -p root/opt && strip -o root/opt/full full");
    expect_line(&options, full, "/opt/full");
}
END_TEST

// A recorder that could not read the build id: that of the file then finds its debug information, links included.
START_TEST(test_build_id_of_file)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    const char *id = build_id_of(full);
    struct session session;
    shell("mkdir -p root/opt root/usr/lib/debug/.build-id/%.2s && strip -o root/opt/full full && "
          "objcopy --only-keep-debug full root/opt/information && "
          "ln -s /opt/information root/usr/lib/debug/.build-id/%.2s/%s.debug && : >empty",
          id, id, id + 2);
    uint64_t address = symbol(full, FUNCTION);
    open_session(&session, &options, text("%s/empty", work), "/opt/full", 0);
    const char *answer = frames_at(&session, address);
    ck_assert_msg(!strncmp(answer, FUNCTION_NAME "|rust_names.c:", sizeof(FUNCTION_NAME) + 13), "%s", answer);
    close_session(&session);
}
END_TEST

// The debug directory has a file of the same name, whose debug information is of another build: with a build id in the
// file it is refused, although the checksum of the link would be right.
START_TEST(test_link_to_other_build)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    compile("changed", "-g -O2 -DCHANGED");
    shell("mkdir -p root/opt && objcopy --only-keep-debug changed root/opt/full.debug && "
          "strip -o root/opt/full full && objcopy --add-gnu-debuglink=root/opt/full.debug root/opt/full");
    expect_answer(&options, full, "/opt/full", FUNCTION_NAME "|?:0\n", HS_SYMBOLS_FOUND);
    // The right one in a debug directory, below the path of the file and by name alone.
    char folder[128];
    const char *debug = folder;
    snprintf(folder, sizeof(folder), "%s/debug", work);
    options.debug_dirs = &debug;
    options.debug_dir_count = 1;
    shell("mkdir -p debug/opt && objcopy --only-keep-debug full debug/opt/full.debug");
    expect_line(&options, full, "/opt/full");
    shell("mv debug/opt/full.debug debug/full.debug");
    expect_line(&options, full, "/opt/full");
}
END_TEST

// The same without build ids: the checksum decides, in every place.
START_TEST(test_link_checksum)
{
    static const char *const places[] = {"root/opt", "root/opt/.debug", "root/usr/lib/debug/opt", "debug/opt", "debug"};
    struct hs_symbols_options options = rooted();
    char folder[128];
    const char *debug = folder;
    snprintf(folder, sizeof(folder), "%s/debug", work);
    options.debug_dirs = &debug;
    options.debug_dir_count = 1;
    shell("gcc -g -O1 -Wl,--build-id=none '%s/rust_names.c' -shared -fPIC -o full && mkdir debug", source);
    const char *full = text("%s/full", work);
    char path[512];
    snprintf(path, sizeof(path), "%s", full);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *place = places[i];
        shell("mkdir -p root/opt %s && objcopy --only-keep-debug full %s/full.debug && strip -o root/opt/full full && "
              "objcopy --add-gnu-debuglink=%s/full.debug root/opt/full",
              place, place, place);
        expect_line(&options, path, "/opt/full");
        shell("printf x >> %s/full.debug", place);
        expect_answer(&options, path, "/opt/full", FUNCTION_NAME "|?:0\n", HS_SYMBOLS_FOUND);
        shell("rm -r %s/full.debug root/opt", place);
    }
}
END_TEST

START_TEST(test_hostile_links)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    shell("mkdir -p root/opt away && objcopy --only-keep-debug full away/full.debug && strip -o stripped full");
    // A name with folders in it is not followed; loops end.
    shell("cp stripped root/opt/full && printf '../../away/full.debug\\0\\0\\0\\0\\0\\0\\0' > link && "
          "objcopy --add-section .gnu_debuglink=link --remove-section .note.gnu.build-id root/opt/full");
    expect_answer(&options, full, "/opt/full", "full+0x", HS_SYMBOLS_MISMATCH);
    shell("mv root/opt root/opt2 && ln -s opt root/opt");
    expect_answer(&options, full, "/opt/full", "full+0x", HS_SYMBOLS_MISSING);
    // Folders, pipes and devices are no files.
    shell("rm root/opt && mkdir -p root/opt/full && mkfifo root/opt/pipe");
    expect_answer(&options, full, "/opt/full", "full+0x", HS_SYMBOLS_MISSING);
    expect_answer(&options, full, "/opt/pipe", "pipe+0x", HS_SYMBOLS_MISSING);
}
END_TEST

// dwz puts common parts into a file that is named by its path on the recorded machine.
START_TEST(test_supplement_in_sysroot)
{
    ck_assert_msg(have("dwz"), "dwz is missing; scripts/setup installs it");
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    shell("mkdir -p root/opt root/usr/lib/debug/.dwz && cp full one && cp full two && "
          "dwz -m root/usr/lib/debug/.dwz/common.debug -M /usr/lib/debug/.dwz/common.debug one two && "
          "cp one root/opt/full");
    expect_line(&options, full, "/opt/full");
}
END_TEST

// ---- another machine -----------------------------------------------------------------------------------------------

START_TEST(test_foreign)
{
    ck_assert_msg(have("aarch64-linux-gnu-gcc"), "the cross compilers are missing; scripts/setup installs them");
    struct hs_symbols_options options = {.machine = EM_AARCH64, .pointer_size = 8, .byte_order = HS_BYTE_ORDER_LITTLE};
    struct session session;
    char line[4096];
    shell("aarch64-linux-gnu-gcc -g -O1 -Wl,--build-id=none '%s/rust_names.c' -shared -fPIC -o anonymous && "
          "aarch64-linux-gnu-gcc -g -O1 -Wl,--build-id=sha1 '%s/rust_names.c' -shared -fPIC -o named && "
          "aarch64-linux-gnu-gcc -g -O2 -DOTHER -Wl,--build-id=sha1 '%s/rust_names.c' -shared -fPIC -o other",
          source, source, source);
    char path[3][512];
    snprintf(path[0], sizeof(path[0]), "%s/anonymous", work);
    snprintf(path[1], sizeof(path[1]), "%s/named", work);
    snprintf(path[2], sizeof(path[2]), "%s/other", work);
    // A file of that machine on this one: by its build id only when it is not known which memory it filled, unless the
    // root was given.
    expect_line(&options, path[1], path[1]);
    expect_answer(&options, path[1], path[2], "other+0x", HS_SYMBOLS_MISMATCH);
    expect_answer(&options, path[0], path[0], "anonymous+0x", HS_SYMBOLS_MISSING);
    // This machine's libc is not that one's.
    expect_answer(&options, path[1], "/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6+0x", HS_SYMBOLS_MISSING);
    expect_answer(&options, path[0], "/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6+0x", HS_SYMBOLS_MISSING);
    const char *top = "/";
    options.sysroots = &top;
    options.sysroot_count = 1;
    expect_line(&options, path[0], path[0]);
    expect_answer(&options, path[0], "/bin/true", "true+0x", HS_SYMBOLS_FOREIGN);
    // The other byte order of the same machine.
    options.byte_order = HS_BYTE_ORDER_BIG;
    expect_answer(&options, path[0], path[0], "anonymous+0x", HS_SYMBOLS_FOREIGN);
    open_session(&session, &options, path[0], path[0], 0);
    frames_at(&session, 0x1000);
    ck_assert(hs_symbols__problem(session.symbols, 0, line, sizeof(line)));
    ck_assert_msg(strstr(line, "another machine") && strstr(line, "wanted: "), "%s", line);
    close_session(&session);
}
END_TEST

// Past the last byte of the file that is mapped; its own address of byte 0 is 0. What is mapped from its first page a
// second time does not count.
static uint64_t end_of_file_in_memory(const char *path, uint64_t page)
{
    char line[512];
    unsigned long long offset, address, length, end = 0;
    FILE *pipe = popen(text("readelf -lW '%s'", path), "r");
    while (fgets(line, sizeof(line), pipe))
        if (sscanf(line, " LOAD %llx %llx %*x %llx", &offset, &address, &length) == 3 && (!end || offset >= page))
            end = address + length;
    pclose(pipe);
    ck_assert_uint_gt(end, 0);
    return end;
}

static bool has_lasting_inode(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool lasts = fd >= 0 && hs_has_lasting_inodes(fd);
    close(fd);
    return lasts;
}

// Recorded on this machine's disk, without a build id: `full` was there, now the module's path is. With a system root,
// which has nothing here, the inode has to say that this is the recorded file, too.
static void expect_run_here(const char *full, struct hs_symbols_module module, enum hs_symbols_state state)
{
    static const char *const nothing = "/nonexistent";
    const bool lasts = has_lasting_inode(module.path);
    struct stat status = {0};
    ck_assert_int_eq(stat(module.path, &status), 0);
    for (size_t given = 0; given < 2; given++) {
        for (uint64_t known = 0; known < 2; known++) {
            struct hs_symbols_options options = {.sysroots = &nothing,
                                                 .sysroot_count = given,
                                                 .machine = EM_AARCH64,
                                                 .pointer_size = 8,
                                                 .byte_order = HS_BYTE_ORDER_LITTLE};
            struct hs_symbols *symbols = hs_symbols__create(&options);
            module.inode = known * (uint64_t)status.st_ino;
            ck_assert_int_eq(hs_symbols__add_module(symbols, &module), 0);
            const struct hs_frames *frames = hs_symbols__resolve(symbols, 0, module.bias + symbol(full, FUNCTION) + 4);
            enum hs_symbols_state expected = given && !(known && lasts) ? HS_SYMBOLS_MISSING : state;
            ck_assert_int_eq(hs_symbols__state(symbols, 0), expected);
            ck_assert_int_eq(!strcmp(frames->frame[0].function, FUNCTION_NAME), expected == HS_SYMBOLS_FOUND);
            hs_symbols__destroy(symbols);
        }
    }
}

// Where pages have `page` bytes.
static void expect_mapped_as(const char *full, const char *path, uint64_t page, enum hs_symbols_state state)
{
    uint64_t bias = 0x7000000;
    struct hs_symbols_module module = {.start = bias, .bias = bias, .path = path};
    module.end = bias + (end_of_file_in_memory(full, page) + page - 1) / page * page;
    expect_run_here(full, module, state);
}

// The program headers of `full` were recorded, whatever the emulator mapped.
static void expect_headers_of(const char *full, const char *path, enum hs_symbols_state state)
{
    struct hs_probe probe;
    ck_assert_int_eq(hs_probe__file(&probe, full), 0);
    struct hs_symbols_module module = {
        .start = 0x7000000, .end = 0x7100000, .bias = 0x7000000, .path = path, .layout = probe.layout};
    expect_run_here(full, module, state);
}

// Programs of another kind of machine that an emulator runs here are where the trace says: those without a build id are
// known by their program headers or, where a trace has none, by the memory that they filled.
START_TEST(test_foreign_run_here)
{
    ck_assert_msg(have("aarch64-linux-gnu-gcc"), "the cross compilers are missing; scripts/setup installs them");
    char path[5][512];
    static const char *const names[] = {"same", "longer", "named", "own", "small"};
    for (int i = 0; i < 5; i++)
        snprintf(path[i], sizeof(path[i]), "%s/%s", work, names[i]);
    shell("echo 'const char room[100000] = {1};' > room.c && echo 'char more[200000] = {1};' > more.c && "
          "G='-g -O1 -shared -fPIC -Wl,--build-id' && S='%s/rust_names.c' && C=aarch64-linux-gnu-gcc && "
          "$C $G=none $S room.c -o same && $C $G=none $S room.c more.c -o longer && $C $G=sha1 $S room.c -o named && "
          "gcc $G=none $S room.c -o own && $C $G=none $S -o small",
          source);
    expect_mapped_as(path[0], path[0], 4096, HS_SYMBOLS_FOUND);
    expect_mapped_as(path[0], path[0], 65536, HS_SYMBOLS_FOUND);
    expect_mapped_as(path[0], path[1], 4096, HS_SYMBOLS_MISSING);
    expect_mapped_as(path[1], path[0], 65536, HS_SYMBOLS_MISSING);
    // All of it on one page is the size of every small file.
    expect_mapped_as(path[4], path[4], 4096, HS_SYMBOLS_FOUND);
    expect_mapped_as(path[4], path[4], 65536, HS_SYMBOLS_MISSING);
    // None was recorded, so the file had none.
    expect_mapped_as(path[0], path[2], 4096, HS_SYMBOLS_MISSING);
    expect_mapped_as(path[3], path[3], 4096, HS_SYMBOLS_MISSING);
    expect_headers_of(path[0], path[0], HS_SYMBOLS_FOUND);
    expect_headers_of(path[4], path[4], HS_SYMBOLS_FOUND);
    expect_headers_of(path[0], path[1], HS_SYMBOLS_MISSING);
    expect_headers_of(path[2], path[2], HS_SYMBOLS_MISSING);
}
END_TEST

// ---- in a debug directory
// --------------------------------------------------------------------------------------------

static struct hs_symbols_options with_debug_directory(void)
{
    static char folder[128];
    static const char *folders = folder;
    snprintf(folder, sizeof(folder), "%s/debug", work);
    shell("mkdir -p debug");
    return (struct hs_symbols_options){.debug_dirs = &folders, .debug_dir_count = 1};
}

// Build systems give unstripped files names of their own.
START_TEST(test_any_name_with_the_build_id)
{
    struct hs_symbols_options options = with_debug_directory();
    const char *full = compile("full", "-g -O1");
    compile("changed", "-g -O2 -DCHANGED");
    shell("cp changed debug/full && cp changed debug/other && echo text > debug/notes && mkdir debug/folder");
    expect_answer(&options, full, "/missing/full", "full+0x", HS_SYMBOLS_MISSING);
    shell("cp full debug/full-1.2.unstripped");
    expect_line(&options, full, "/missing/full");
    // The file is there, stripped.
    shell("strip -o stripped full");
    expect_line(&options, full, text("%s/stripped", work));
}
END_TEST

// What is said about FUNCTION of `full`, which was recorded as `path`.
static void expect_named(const struct hs_symbols_options *options, const char *full, const char *path, bool named)
{
    uint64_t bias = 0x7000000;
    struct hs_symbols_module module = {.start = bias, .bias = bias, .path = path};
    struct hs_symbols *symbols = hs_symbols__create(options);
    module.end = bias + (end_of_file_in_memory(full, 4096) + 4095) / 4096 * 4096;
    ck_assert_int_eq(hs_symbols__add_module(symbols, &module), 0);
    const struct hs_frames *frames = hs_symbols__resolve(symbols, 0, bias + symbol(full, FUNCTION) + 4);
    bool found = !strcmp(frames->frame[0].function, FUNCTION_NAME) && frames->frame[0].line;
    ck_assert_msg(found == named, "%s: %s:%u", path, frames->frame[0].function, frames->frame[0].line);
    hs_symbols__destroy(symbols);
}

// Many compilers for small machines make no build id: the name and the memory that the module filled then decide and,
// where the stripped file is at hand, what is in it.
START_TEST(test_name_without_build_id)
{
    struct hs_symbols_options options = with_debug_directory();
    char full[512];
    char stripped[512];
    snprintf(full, sizeof(full), "%s/full", work);
    snprintf(stripped, sizeof(stripped), "%s/stripped/full", work);
    shell(
        "echo 'const char room[100000] = {1};' > room.c && echo 'char more[200000] = {1};' > more.c && "
        "G='-g -O1 -shared -fPIC -Wl,--build-id' && S='%s/rust_names.c' && mkdir stripped && "
        "gcc $G=none $S room.c -o full && gcc $G=none $S room.c more.c -o longer && gcc $G=sha1 $S room.c -o named && "
        "sed s/1}/2}/ room.c > changed.c && gcc $G=none $S changed.c -o changed && strip -o stripped/full full",
        source);
    static const struct {
        const char *file;
        bool beside; // the stripped one
        bool named;
    } cases[] = {{"full", false, true}, {"longer", false, false}, {"named", false, false},
                 {"full", true, true},  {"changed", true, false}, {"longer", true, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        shell("cp %s debug/full", cases[i].file);
        expect_named(&options, full, cases[i].beside ? stripped : "/missing/full", cases[i].named);
    }
    // Not in this machine's own folders, and not in a system root's.
    shell("rm debug/full && mkdir -p root/usr/lib/debug && cp full root/usr/lib/debug/full");
    options = rooted();
    expect_named(&options, full, "/missing/full", false);
}
END_TEST

// ---- what is wanted ------------------------------------------------------------------------------------------------

static void expect_wanted(const struct hs_symbols_options *options, const char *full, const char *path,
                          const char *reason, const char *wanted)
{
    struct session session;
    struct hs_symbols_status status;
    char why[4096];
    char found[4096];
    open_session(&session, options, full, path, 0);
    hs_symbols__status(session.symbols, 0, &status);
    ck_assert_str_eq(hs_symbols_reason(&status), reason);
    ck_assert(hs_symbols__explain(session.symbols, &status, why, sizeof(why), found, sizeof(found)));
    ck_assert_str_eq(found, wanted);
    close_session(&session);
}

START_TEST(test_wanted)
{
    struct hs_symbols_options options = rooted();
    const char *full = compile("full", "-g -O1");
    char by_id[256];
    const char *id = build_id_of(full);
    snprintf(by_id, sizeof(by_id), ".build-id/%.2s/%s.debug", id, id + 2);
    expect_wanted(&options, full, "/opt/full", "no_file",
                  text("%s/opt/full or %s/usr/lib/debug/%s, or below DIR with --debug-dir DIR", root, root, by_id));
    expect_wanted(NULL, full, "/missing/full", "no_file",
                  text("DIR/missing/full with --sysroot DIR or /usr/lib/debug/%s", by_id));
    shell("mkdir -p root/opt debug && strip -o root/opt/full full");
    expect_wanted(&options, full, "/opt/full", "no_debug_information",
                  text("%s/usr/lib/debug/%s, or below DIR with --debug-dir DIR", root, by_id));
    shell(
        "objcopy --only-keep-debug full debug/full.dbg && objcopy --add-gnu-debuglink=debug/full.dbg root/opt/full && "
        "rm debug/full.dbg");
    char folder[128];
    const char *debug = folder;
    snprintf(folder, sizeof(folder), "%s/debug", work);
    options.debug_dirs = &debug;
    options.debug_dir_count = 1;
    expect_wanted(&options, full, "/opt/full", "no_debug_information",
                  text("full.dbg beside it or %s/%s", folder, by_id));
    // What is named is what mends it.
    shell("mkdir -p $(dirname debug/%s) && objcopy --only-keep-debug full debug/%s", by_id, by_id);
    expect_line(&options, full, "/opt/full");
}
END_TEST

// ---- sources -------------------------------------------------------------------------------------------------------

static void expect_mapped(const char *path, const char *expected)
{
    static const char *const maps[] = {
        "/build/a=/home/a/", "/build=/src", "/build/a/b/=/deep", ".=/here",  "/build/ab=/never",
        "/build/empty=",     "nonsense",    "/twice=/1",         "/twice=/2"};
    char buffer[64];
    ck_assert_str_eq(hs_source_map__apply(maps, sizeof(maps) / sizeof(maps[0]), path, buffer, sizeof(buffer)),
                     expected);
}

START_TEST(test_source_map)
{
    expect_mapped("/build/x.c", "/src/x.c");
    expect_mapped("/build/a/x.c", "/home/a/x.c");
    expect_mapped("/build/a/b/x.c", "/deep/x.c");
    expect_mapped("/build/abc/x.c", "/src/abc/x.c");
    expect_mapped("/building/x.c", "/building/x.c");
    expect_mapped("/build", "/src");
    expect_mapped("./csu/x.c", "/here/csu/x.c");
    expect_mapped("../csu/x.c", "../csu/x.c");
    expect_mapped("/build/empty/dir/x.c", "dir/x.c");
    expect_mapped("/twice/x.c", "/2/x.c");
    expect_mapped("", "");
    expect_mapped("/build/a/long/long/long/long/long/long/long/long/long/long/long/long.c",
                  "/build/a/long/long/long/long/long/long/long/long/long/long/long/long.c");
    const char *slash = "/=/mnt";
    char buffer[64];
    ck_assert_str_eq(hs_source_map__apply(&slash, 1, "/x/y.c", buffer, sizeof(buffer)), "/mnt/x/y.c");
    ck_assert(hs_source_map__is_valid("a=b") && hs_source_map__is_valid("a="));
    ck_assert(!hs_source_map__is_valid("=b") && !hs_source_map__is_valid("ab") && !hs_source_map__is_valid(""));
}
END_TEST

int main(void)
{
    if (!getcwd(source, sizeof(source)))
        return 1;
    Suite *suite = suite_create("symbols_places");
    TCase *tests = tcase_create("symbols_places");
    tcase_add_checked_fixture(tests, make_root, remove_work);
    tcase_add_test(tests, test_resolve);
    tcase_add_test(tests, test_resolve_loops);
    tcase_add_test(tests, test_links_in_sysroot);
    tcase_add_test(tests, test_bombs);
    tcase_add_test(tests, test_merged_folders);
    tcase_add_test(tests, test_several_sysroots);
    tcase_add_test(tests, test_build_id_in_sysroot);
    tcase_add_test(tests, test_build_id_of_file);
    tcase_add_test(tests, test_link_to_other_build);
    tcase_add_test(tests, test_link_checksum);
    tcase_add_test(tests, test_hostile_links);
    tcase_add_test(tests, test_supplement_in_sysroot);
    tcase_add_test(tests, test_foreign);
    tcase_add_test(tests, test_foreign_run_here);
    tcase_add_test(tests, test_any_name_with_the_build_id);
    tcase_add_test(tests, test_name_without_build_id);
    tcase_add_test(tests, test_wanted);
    tcase_add_test(tests, test_source_map);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
