// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which addresses are those of code, by the loader and by the own table.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // dlinfo
#endif
#include "unwind/maps.h"
#include "unwind/module.h"
#include "unwind/odd_rules.h"
#include "unwind/resolve.h"

#include "support.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

enum { LARGEST_PAGE = 65536, FAR_APART = 1 << 24 };

static uint64_t initialised[512] = {1};
#ifdef APART // the loader knows each segment by itself
static char room[2 * LARGEST_PAGE] __attribute__((aligned(FAR_APART)));
#else
static char room[2 * LARGEST_PAGE];
#endif
#define ZEROED ((char *)(((uintptr_t)room + LARGEST_PAGE - 1) & ~(uintptr_t)(LARGEST_PAGE - 1)))
static struct hs_module module;

START_TEST(code_is_in_its_module)
{
    hs_module_ignore_loader(_i);
    uintptr_t code = hs_rule_address((uintptr_t)__builtin_return_address(0), false);
    ck_assert(hs_module_find(code, &module));
    ck_assert(!module.anonymous);
    ck_assert_uint_lt(code - module.start, module.end - module.start);
}
END_TEST

// An address in the data that a stack leads to is no return address.
START_TEST(data_is_in_none)
{
    hs_module_ignore_loader(_i);
    ck_assert(!hs_module_find((uintptr_t)&initialised[256], &module));
    ck_assert(!hs_module_find((uintptr_t)ZEROED, &module));
    ck_assert_uint_eq(hs_rule_resolve((uintptr_t)&initialised[256], false), hs_rule_odd(HS_ODD_END, HS_END_NO_RULE));
    ck_assert_uint_eq(hs_rule_resolve((uintptr_t)ZEROED + 64, true), hs_rule_odd(HS_ODD_END, HS_END_NO_RULE));
}
END_TEST

// Programs may put code into their data.
START_TEST(data_that_is_made_code)
{
    hs_module_ignore_loader(_i);
    ck_assert_int_eq(mprotect(ZEROED, LARGEST_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    hs_unwind_forget_rules();
    struct hs_mapping mapping;
    bool told = hs_maps_find((uintptr_t)ZEROED + 128, &mapping) && mapping.executable; // QEMU's user mode does not
    bool found = hs_module_find((uintptr_t)ZEROED + 128, &module);
    ck_assert_int_eq(mprotect(ZEROED, LARGEST_PAGE, PROT_READ | PROT_WRITE), 0);
    if (!told)
        return;
    ck_assert(found);
#ifndef APART
    ck_assert(module.anonymous);
#endif
    ck_assert_uint_lt((uintptr_t)ZEROED + 128 - module.start, module.end - module.start);
}
END_TEST

#ifdef PATH_FIRST_PAGE
// The code of a small library that lld has linked begins in the page that has the headers.
START_TEST(code_in_the_first_page)
{
    struct link_map *map;
    void *library = dlopen(PATH_FIRST_PAGE, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    uintptr_t code = (uintptr_t)dlsym(library, "code_in_the_first_page");
    ck_assert_int_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    hs_module_ignore_loader(_i);
    hs_unwind_forget_rules();
    ck_assert(hs_module_find(code, &module));
    ck_assert(!module.anonymous);
    ck_assert_uint_eq(module.start, map->l_addr);
    ck_assert_uint_lt(code - module.start, module.end - module.start);
    ck_assert_uint_ne(hs_rule_resolve(code + 1, false), hs_rule_odd(HS_ODD_END, HS_END_NO_RULE));
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("module");
    TCase *cases = tcase_create("find");
    tcase_add_loop_test(cases, code_is_in_its_module, 0, 2);
    tcase_add_loop_test(cases, data_is_in_none, 0, 2);
    tcase_add_loop_test(cases, data_that_is_made_code, 0, 2);
#ifdef PATH_FIRST_PAGE
    tcase_add_loop_test(cases, code_in_the_first_page, 0, 2);
#endif
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
