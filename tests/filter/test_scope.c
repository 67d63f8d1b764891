// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a trace's questions share, while it is being made: whoever asked for groups alone reads them at the same time.
#include "host/filter/filter.h"
#include "host/import/import.h"
#include "tests/filter/random_trace.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct hs_filter_scope *looked_at;
static size_t stacks, looks;

static size_t count_known_usages(void)
{
    size_t known = 0;
    struct hs_group group;
    for (size_t stack = 0; stack < stacks; stack++)
        known += hs_filter_scope__group(looked_at, (uint32_t)stack, &group) && group.usage_max;
    return known;
}

// Whatever is being made needs memory first. This looks at that moment, as another thread may.
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    if (looked_at) {
        looks++;
        ck_assert_uint_eq(count_known_usages(), 0);
    }
    return __real_calloc(count, size);
}

START_TEST(usages_are_whole_or_absent)
{
    char folder[] = "/tmp/heapsonde-scope-XXXXXX", path[64], command[64];
    const struct random_trace_options options = {.seed = 21, .events = 4000, .time_factor = 1};
    struct hs_store *store;
    struct hs_error error = {""};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/trace.dat", folder);
    random_trace__write(&options, path);
    ck_assert_msg(!hs_import__open(path, NULL, &store, &error), "%s", error.message);
    hs_store__nodes(store, &stacks);
    struct hs_filter_scope *scope = hs_filter_scope__create(store, NULL, NULL);
    ck_assert_int_eq(hs_filter_scope__prepare_groups(scope, false, NULL, &error), 0);
    looked_at = scope;
    ck_assert_int_eq(hs_filter_scope__prepare_groups(scope, true, NULL, &error), 0);
    ck_assert_uint_gt(looks, 0);
    ck_assert_uint_gt(count_known_usages(), 0);
    looked_at = NULL;
    hs_filter_scope__destroy(scope);
    hs_store__close(store);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("filter_scope");
    TCase *cases = tcase_create("scope");
    tcase_add_test(cases, usages_are_whole_or_absent);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
