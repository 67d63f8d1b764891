// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A store whose files are cut while somebody reads them: pages of zeros take the place of what was there.
#include "host/import/import.h"
#include "host/query/sorted_index.h"
#include "host/store/torn_pages.h"
#include "tests/format/check_random.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS 60000

static char folder[64], store_folder[128];
static bool cuts;

static void cut_all(void)
{
    char path[512];
    DIR *files = opendir(store_folder);
    ck_assert_ptr_nonnull(files);
    for (struct dirent *entry; (entry = readdir(files));) {
        snprintf(path, sizeof(path), "%s/%s", store_folder, entry->d_name);
        if (entry->d_type == DT_REG)
            ck_assert_int_eq(truncate(path, 0), 0);
    }
    closedir(files);
}

// Between counting the rows of its parts and collecting them a sorted index makes a folder.
char *__real_mkdtemp(char *template);
char *__wrap_mkdtemp(char *template);
char *__wrap_mkdtemp(char *template)
{
    if (cuts && strstr(template, "heapsonde-sorted-index"))
        cut_all();
    return __real_mkdtemp(template);
}

static struct hs_store *open_trace(uint64_t seed)
{
    char path[128];
    struct random_program program;
    struct hs_store *store;
    struct hs_error error = {""};
    const struct hs_import_options options = {.temporary = false};
    strcpy(folder, "/tmp/heapsonde-torn-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/trace.dat", folder);
    snprintf(store_folder, sizeof(store_folder), "%s.store", path);
    random_program__make(&program, seed, EVENTS, 3, true, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
    ck_assert_msg(!hs_import__open(path, &options, &store, &error), "%s", error.message);
    return store;
}

static void remove_all(void)
{
    char command[160];
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(sorted_indexes_of_a_cut_store_are_refused)
{
    const struct hs_sorted_index_limits usual = hs_sorted_index_limits;
    hs_sorted_index_limits = (struct hs_sorted_index_limits){64, (uint64_t)64 << 20};
    hs_torn_pages__mend();
    for (enum hs_row_key by = HS_ROW_BY_ADDRESS; by <= HS_ROW_BY_LIFETIME; by++) {
        struct hs_sorted_index *sorted_index;
        struct hs_store *store = open_trace(test_seed(__func__) + (uint64_t)by);
        cuts = true;
        int result = hs_sorted_index__make(&sorted_index, store, by, NULL, NULL);
        cuts = false;
        ck_assert(hs_torn_pages__found());
        ck_assert_int_eq(result, -EIO);
        hs_store__close(store);
        remove_all();
    }
    hs_sorted_index_limits = usual;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torn");
    TCase *cases = tcase_create("torn");
    tcase_add_test(cases, sorted_indexes_of_a_cut_store_are_refused);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
