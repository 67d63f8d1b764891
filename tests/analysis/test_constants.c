// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What lies behind a call that never comes back is no code, whatever it looks like.
#include "tests/suite.h"
#include "unwind/analysis.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

// _start of musl for Thumb: its call is the last instruction, and behind it is the distance that the first `ldr` loads.
static const uint16_t start[] = {0xf04f, 0x0b00, 0xf04f, 0x0e00, 0x4903, 0x4479, 0x4668, 0xf020, 0x0c0f,
                                 0x46e5, 0xf000, 0xf802, 0,      0,      0xb510, 0x4602, 0xbd10};
enum { RETURN_ADDRESS = 24, CONSTANT = 12 };

static bool analyse(uint16_t constant, struct hs_code_frame *frame)
{
    uint16_t halves[sizeof start / sizeof *start];
    memcpy(halves, start, sizeof start);
    halves[CONSTANT] = constant;
    struct hs_code code = {.bytes = (const uint8_t *)halves, .size = sizeof halves, .address = 0x1158};
    void *memory = calloc(1, hs_analysis_memory_size(&hs_decoder_thumb, code.size));
    uintptr_t at = code.address + RETURN_ADDRESS - hs_decoder_thumb.call_size;
    bool known = hs_analyse(&hs_decoder_thumb, &code, at, false, memory, frame);
    free(memory);
    return known;
}

START_TEST(constants_are_no_code)
{
    struct hs_code_frame plain, like_a_return;
    bool known = analyse(0, &plain);
    ck_assert_int_eq(analyse(0xbdb6, &like_a_return), known); // pop {r1, r2, r4, r5, r7, pc}
    if (!known)
        return;
    ck_assert_uint_eq(like_a_return.saved, plain.saved);
    ck_assert_int_eq(like_a_return.outermost, plain.outermost);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("constants");
    TCase *cases = tcase_create("constants");
    tcase_add_test(cases, constants_are_no_code);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
