// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the shim would provide.
#include "tests/sampler/program_side.h"
#include "runtime/prof/options.h"

#include <stdio.h>
#include <stdlib.h>

static void print(const char *message)
{
    fputs(message, stderr);
}

static const char *const nothing = NULL;

static void stop(const char *message)
{
    print(message);
    abort();
}

void (*hs_prof_options_message)(const char *message) = print;
void (*hs_prof_options_abort)(const char *message) = stop;
const char *const *hs_prof_options_program[2] = {&nothing, &nothing};

void test_options(const char *options)
{
    char all[256];
    snprintf(all, sizeof all, "prof:true,experimental_hs_seed:1,experimental_hs_control:false,%s", options);
    setenv("MALLOC_CONF", all, 1);
}
