// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which pages are given back: those that are the file's, of those that were noted.
#include "runtime/image.h"
#include "runtime/stacks.h"
#include "runtime/tables.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 400, WRITTEN = 200 };

static uint32_t nodes;

static size_t page;
static uint8_t *file;

static bool in_place(const void *address)
{
    uint64_t entry = 0;
    int pagemap = open("/proc/self/pagemap", O_RDONLY); // which takes whole entries alone, as stdio need not ask for
    ck_assert_int_ge(pagemap, 0);
    ck_assert_int_eq(pread(pagemap, &entry, sizeof entry, (off_t)((uintptr_t)address / page * sizeof entry)),
                     sizeof entry);
    close(pagemap);
    return entry >> 63;
}

static size_t count_in_place(size_t first, size_t behind)
{
    size_t count = 0;
    for (size_t i = first; i < behind; i++)
        count += in_place(file + i * page);
    return count;
}

static void read_all(void)
{
    for (size_t i = 0; i < PAGES; i++)
        ck_assert_uint_eq(*(volatile uint8_t *)(file + i * page), i == WRITTEN ? 99 : i % 251);
}

// A file that is mapped as a module's tables are, with one page that the program has written to. It lies in memory: of
// one on a disk the kernel may take pages at any time.
static void setup(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *made = fdopen(memfd_create("tables", MFD_CLOEXEC), "w+");
    ck_assert_ptr_nonnull(made);
    for (size_t i = 0; i < PAGES * page; i++)
        ck_assert_int_ne(fputc((int)(i / page % 251), made), EOF);
    ck_assert_int_eq(fflush(made), 0);
    file = mmap(NULL, PAGES * page, PROT_READ, MAP_PRIVATE, fileno(made), 0);
    ck_assert_ptr_ne(file, MAP_FAILED);
    fclose(made);
    ck_assert_int_eq(mprotect(file + WRITTEN * page, page, PROT_READ | PROT_WRITE), 0);
    memset(file + WRITTEN * page, 99, page);
    ck_assert_int_eq(mprotect(file + WRITTEN * page, page, PROT_READ), 0);
    read_all();
    hs_tables__watch();
}

START_TEST(whole_pages_are_given_back)
{
    setup();
    hs_tables__note((uintptr_t)file + 10, (uintptr_t)file + 390 * page + 1);
    hs_tables__forget();
    hs_tables__give_back();
    ck_assert_uint_eq(count_in_place(0, PAGES), PAGES);
    hs_tables__watch();
    hs_tables__give_back();
    ck_assert(in_place(file));
    ck_assert_uint_eq(count_in_place(1, WRITTEN), 0);
    ck_assert(in_place(file + WRITTEN * page));
    ck_assert_uint_eq(count_in_place(WRITTEN + 1, 391), 0);
    ck_assert_uint_eq(count_in_place(391, PAGES), PAGES - 391);
    read_all();
}
END_TEST

START_TEST(not_without_new_stacks)
{
    setup();
    hs_tables__note((uintptr_t)file, (uintptr_t)file + PAGES * page);
    hs_tables__give_back_if_due(nodes);
    ck_assert_uint_eq(count_in_place(0, PAGES), PAGES);
    nodes++;
    hs_tables__give_back_if_due(nodes);
    ck_assert_uint_eq(count_in_place(0, PAGES), 1);
    read_all();
    hs_tables__give_back_if_due(nodes);
    ck_assert_uint_eq(count_in_place(0, PAGES), PAGES);
}
END_TEST

START_TEST(what_is_no_range_is_not_noted)
{
    setup();
    hs_tables__note(0, 0);
    hs_tables__note((uintptr_t)file + page, (uintptr_t)file + page);
    hs_tables__note((uintptr_t)file + 9 * page, (uintptr_t)file);
    hs_tables__close();
    hs_tables__note((uintptr_t)file, (uintptr_t)file + PAGES * page);
    hs_tables__give_back();
    ck_assert_uint_eq(count_in_place(0, PAGES), PAGES);
}
END_TEST

// The same of the loader's own words.
static int compare(struct dl_phdr_info *info, size_t size, void *compared)
{
    (void)size;
    uintptr_t start = 0, tables = 0, end = 0;
    bool executable = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && !header->p_offset) {
            start = info->dlpi_addr + header->p_vaddr;
            executable = header->p_flags & PF_X;
        }
        if (header->p_type == PT_GNU_EH_FRAME)
            tables = info->dlpi_addr + header->p_vaddr;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && !(header->p_flags & (PF_W | PF_X)) && tables >= at &&
            tables < at + header->p_filesz)
            end = at + header->p_filesz;
    }
    if (!start || !info->dlpi_name[0])
        return 0;
    struct hs_image image;
    const struct hs_mapped mapped = {
        .start = start, .first_end = start + 4096, .reach = UINT64_MAX, .first_executable = executable};
    hs_image__read(&image, &mapped, info->dlpi_name);
    ck_assert_uint_eq(image.tables, end ? tables : 0);
    ck_assert_uint_eq(image.tables_end, end);
    ++*(int *)compared;
    return 0;
}

START_TEST(where_modules_have_their_tables)
{
    int compared = 0;
    dl_iterate_phdr(compare, &compared);
#ifdef __GLIBC__
    ck_assert_int_gt(compared, 0);
#endif
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tables");
    TCase *tables = tcase_create("tables");
    tcase_add_test(tables, whole_pages_are_given_back);
    tcase_add_test(tables, not_without_new_stacks);
    tcase_add_test(tables, what_is_no_range_is_not_noted);
    tcase_add_test(tables, where_modules_have_their_tables);
    suite_add_tcase(suite, tables);
    return run_suite(suite);
}
