// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which mappings are one loaded file, and where its addresses went: what the dynamic loader says of libraries as every
// linker makes them, and code that got into memory in other ways.
#include "runtime/image.h"
#include "runtime/mapped.h"

#include "tests/suite.h"

#include <check.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/heapsonde-maps-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(command), 0);
}

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
    char command[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof(command), format, list);
    va_end(list);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
}

// ---- the module around an address -----------------------------------------------------------------------------------

struct found {
    struct hs_mapped mapped;
    struct hs_image image;
    char path[4096];
    unsigned parts; // groups with this path that hold code
};

static char *read_maps(void)
{
    static char text[4 << 20];
    size_t length = 0;
    ssize_t got;
    int fd = open("/proc/self/maps", O_RDONLY);
    while ((got = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)got;
    close(fd);
    text[length] = 0;
    return text;
}

static bool holds(const struct hs_mapped *mapped, const void *address)
{
    return (uintptr_t)address >= mapped->start && (uintptr_t)address < mapped->end && mapped->executable;
}

static struct found module_of(const void *address)
{
    static struct found found;
    static char path[4096];
    struct hs_maps_line mapping, first = {0};
    struct hs_mapped mapped = {0};
    memset(&found, 0, sizeof(found));
    for (const char *line = read_maps(); *line;) {
        line = hs_maps_line__parse(&mapping, line);
        line += *line == '\n';
        bool same = mapping.path_length == first.path_length && !memcmp(mapping.path, first.path, first.path_length);
        if (mapped.end && hs_mapped__add(&mapped, &mapping, same, path)) {
            if (holds(&mapped, address))
                found.mapped = mapped;
            continue;
        }
        first = mapping;
        bool has_code = false;
        hs_maps_line__copy_path(mapping.path, mapping.path_length, path, sizeof(path));
        hs_mapped__begin(&mapped, &mapping, hs_image__reach(&mapping, path, &has_code));
        if (holds(&mapped, address))
            found.mapped = mapped;
        if (mapping.start <= (uintptr_t)address)
            strcpy(found.path, path);
    }
    ck_assert_msg(found.mapped.end, "%p lies in no code", address);
    hs_image__read(&found.image, &found.mapped, found.path);
    return found;
}

static void expect_build_id(const struct found *found, const char *file)
{
    char line[512] = "", id[130] = "", ours[130] = "";
    snprintf(line, sizeof(line), "readelf -n '%s' | sed -n 's/.*Build ID: //p'", file);
    FILE *pipe = popen(line, "r");
    ck_assert_ptr_nonnull(fgets(id, sizeof(id), pipe));
    pclose(pipe);
    id[strcspn(id, "\n")] = 0;
    for (size_t i = 0; i < found->image.build_id_length; i++)
        sprintf(ours + 2 * i, "%02x", found->image.build_id[i]);
    ck_assert_str_eq(ours, id);
}

// ---- what linkers make ----------------------------------------------------------------------------------------------

static const char source[] = "int data[2000] = {1}; int zero[9000]; const int constant[700] = {2};\\n"
                             "int named_function(int x) { return data[x] + zero[x] + constant[x]; }\\n";

static const struct layout {
    const char *name, *flags, *then;
} layouts[] = {
    {"bfd", "", ""},
    {"bfd-joined", "-Wl,-z,noseparate-code", ""},
    {"bfd-small", "-Wl,-z,noseparate-code -DSMALL", ""},
    {"bfd-moved", "-Wl,-Ttext-segment=0x4f000000", ""},
    {"bfd-large-pages", "-Wl,-z,max-page-size=0x200000", ""},
    {"bfd-code-behind", "-Wl,-z,separate-code,--section-start=.text=0x9000000", ""},
    {"gold", "-fuse-ld=gold", ""},
    {"gold-small", "-fuse-ld=gold -DSMALL", ""},
    {"lld", "-fuse-ld=lld", ""},
    {"lld-small", "-fuse-ld=lld -DSMALL", ""},
    {"lld-code", "-fuse-ld=lld -Wl,-z,separate-code", ""},
    {"lld-pages", "-fuse-ld=lld -Wl,-z,separate-loadable-segments", ""},
    {"lld-joined", "-fuse-ld=lld -Wl,--no-rosegment", ""},
    {"lld-large-pages", "-fuse-ld=lld -Wl,-z,max-page-size=0x10000", ""},
    {"mold", "-B/usr/libexec/mold", ""},
    {"mold-small", "-B/usr/libexec/mold -DSMALL", ""},
    {"patched", "", "patchelf --set-rpath $(printf '/folder%0999d' 7) "},
    {"patched-lld", "-fuse-ld=lld", "patchelf --set-rpath $(printf '/folder%0999d' 7) "},
    {"patched-twice", "-B/usr/libexec/mold", "patchelf --add-needed libm.so.6 --set-rpath $(printf '/a%05000d' 7) "},
    {"stripped", "-fuse-ld=lld -s", "objcopy --strip-section-headers 2>/dev/null || true "},
};

static void build(const struct layout *layout, const char *path)
{
    shell("printf '#ifdef SMALL\nint named_function(int x) { return x; }\n#else\n%s#endif\n' > lib.c", source);
    shell("gcc -O1 -shared -fPIC -Wl,--build-id=sha1 %s -o '%s' lib.c", layout->flags, path);
    if (*layout->then)
        shell("%s '%s'", layout->then, path);
}

START_TEST(test_layout)
{
    const struct layout *layout = &layouts[_i];
    char path[256];
    snprintf(path, sizeof(path), "%s/%s.so", folder, layout->name);
    build(layout, path);
    void *handle = dlopen(path, RTLD_NOW);
    ck_assert_msg(handle != NULL, "%s", dlerror());
    struct link_map *map;
    ck_assert_int_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    struct found found = module_of(dlsym(handle, "named_function"));
    ck_assert_uint_eq(found.image.bias, map->l_addr);
    ck_assert_str_eq(found.path, path);
    expect_build_id(&found, path);
#ifdef LM_ID_NEWLM // not of every libc
    // The same file a second time, which the kernel puts right below.
    void *other = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    ck_assert_msg(other != NULL, "%s", dlerror());
    ck_assert_int_eq(dlinfo(other, RTLD_DI_LINKMAP, &map), 0);
    ck_assert_uint_eq(module_of(dlsym(other, "named_function")).image.bias, map->l_addr);
    ck_assert_int_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    ck_assert_uint_eq(module_of(dlsym(handle, "named_function")).image.bias, map->l_addr);
#endif
}
END_TEST

// ---- what programs do with code -------------------------------------------------------------------------------------

static struct link_map *load(const struct layout *layout, const char *name, void **function)
{
    char path[4096];
    struct link_map *map;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    build(layout, path);
    void *handle = dlopen(path, RTLD_NOW);
    ck_assert_msg(handle != NULL, "%s", dlerror());
    ck_assert_int_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    *function = dlsym(handle, "named_function");
    return map;
}

static void *page_of(void *address)
{
    return (void *)((uintptr_t)address & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1));
}

START_TEST(test_code_copied_in_place)
{
    void *function;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct link_map *map = load(&layouts[_i], "copied.so", &function);
    void *copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, page_of(function), page);
    ck_assert_int_eq(mprotect(copy, page, PROT_READ | PROT_EXEC), 0);
    ck_assert_ptr_ne(mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, page_of(function)), MAP_FAILED);
    struct found found = module_of(function);
    ck_assert_uint_eq(found.image.bias, map->l_addr);
    expect_build_id(&found, map->l_name);
}
END_TEST

START_TEST(test_code_mapped_elsewhere)
{
    void *function;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct link_map *map = load(&layouts[_i], "elsewhere.so", &function);
    struct found found = module_of(function);
    int fd = open(map->l_name, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    // Where the page is in the file is what the maps say.
    struct hs_maps_line mapping = {0};
    for (const char *line = read_maps(); *line && mapping.end <= (uintptr_t)function; line += *line == '\n')
        line = hs_maps_line__parse(&mapping, line);
    uint64_t offset = mapping.offset + (uint64_t)((uintptr_t)page_of(function) - mapping.start);
    char *space = mmap(NULL, 9 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *code = mmap(space + 4 * page, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, (off_t)offset);
    ck_assert_ptr_ne(code, MAP_FAILED);
    char *same = code + ((uintptr_t)function - (uintptr_t)page_of(function));
    found = module_of(same);
    ck_assert_uint_eq((uintptr_t)same - found.image.bias, (uintptr_t)function - map->l_addr);
    expect_build_id(&found, map->l_name);
    ck_assert_uint_le(found.mapped.end - found.mapped.start, page);
    ck_assert_uint_eq(module_of(function).image.bias, map->l_addr);
}
END_TEST

// As Android's loader maps libraries from within an archive.
START_TEST(test_library_in_archive)
{
    enum { BEFORE = 5 * 4096 };
    build(&layouts[_i], "inner.so");
    shell("head -c %d /dev/zero | tr '\\0' 'z' > archive.zip && cat inner.so >> archive.zip", BEFORE);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = open("archive.zip", O_RDONLY);
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[32];
    ck_assert_int_eq(pread(fd, &header, sizeof(header), BEFORE), sizeof(header));
    ck_assert_uint_le(header.e_phnum, 32);
    ck_assert(pread(fd, segments, sizeof(*segments) * header.e_phnum, BEFORE + (off_t)header.e_phoff) > 0);
    char *base = mmap(NULL, 0x10000000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const char *code = NULL;
    for (int i = 0; i < header.e_phnum; i++) {
        const ElfW(Phdr) *it = &segments[i];
        size_t before = it->p_vaddr & (page - 1);
        if (it->p_type != PT_LOAD)
            continue;
        int rights = PROT_READ | (it->p_flags & PF_W ? PROT_WRITE : 0) | (it->p_flags & PF_X ? PROT_EXEC : 0);
        char *at = mmap(base + it->p_vaddr - before, it->p_filesz + before, rights, MAP_PRIVATE | MAP_FIXED, fd,
                        (off_t)(BEFORE + it->p_offset - before));
        ck_assert_ptr_ne(at, MAP_FAILED);
        code = it->p_flags & PF_X ? at + before : code;
    }
    struct found found = module_of(code);
    ck_assert_uint_eq(found.image.bias, (uintptr_t)base);
    ck_assert_uint_eq(found.image.origin, BEFORE);
    expect_build_id(&found, "inner.so");
}
END_TEST

// ---- names ----------------------------------------------------------------------------------------------------------

START_TEST(test_names)
{
    static const char *const names[] = {"plain.so", "two\nlines.so", "back\\012slash.so", "blank end .so"};
    void *function;
    struct link_map *map = load(&layouts[0], names[_i], &function);
    struct found found = module_of(function);
    ck_assert_str_eq(found.path, map->l_name);
    expect_build_id(&found, map->l_name);
}
END_TEST

START_TEST(test_long_name)
{
    char name[3000] = "";
    void *function;
    for (int i = 0; i < 12; i++)
        snprintf(name + strlen(name), sizeof(name) - strlen(name), "%0200d/", i);
    shell("mkdir -p '%s'", name);
    strcat(name, "long.so");
    struct link_map *map = load(&layouts[0], name, &function);
    ck_assert_str_eq(module_of(function).path, map->l_name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("maps");
    TCase *cases = tcase_create("maps");
    const int count = sizeof(layouts) / sizeof(layouts[0]);
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_loop_test(cases, test_layout, 0, count);
    tcase_add_loop_test(cases, test_code_copied_in_place, 0, count);
    tcase_add_loop_test(cases, test_code_mapped_elsewhere, 0, count);
    tcase_add_loop_test(cases, test_library_in_archive, 0, count);
    tcase_add_loop_test(cases, test_names, 0, 4);
    tcase_add_test(cases, test_long_name);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
