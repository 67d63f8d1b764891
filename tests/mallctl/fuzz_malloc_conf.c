// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Any text as a source of options, then every remembered value read back.
#include "runtime/prof/option_table.h"
#include "runtime/prof/options.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void message(const char *text)
{
    if (strncmp(text, "<jemalloc>: ", 12) != 0 || text[strlen(text) - 1] != '\n')
        abort();
}

void (*hs_prof_options_message)(const char *text) = message;
void (*hs_prof_options_abort)(const char *text) = message;

static const char *program, *harder;
const char *const *hs_prof_options_program[2] = {&program, &harder};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    program = text;
    hs_prof_options.confirm_conf = hs_prof_options.abort_conf = false;
    hs_prof_options__begin();
    if (hs_prof_options.lg_sample > 63 || hs_prof_options.sample_bytes == 0 || hs_prof_options.recent_max < -1)
        abort();
    if (strlen(hs_prof_texts.prefix) >= HS_PROF_PATH || strlen(hs_prof_texts.control_path) >= 108)
        abort();
    for (uint32_t i = 0; i < hs_option_count; i++)
        if (!hs_option__value(&hs_option_table[i]) !=
            (hs_prof_options__text(hs_option__key(&hs_option_table[i])) != NULL))
            abort();
    free(text);
    return 0;
}
