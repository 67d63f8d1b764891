// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which files are embedded, and that those which are not are counted.
#include "runtime/config.h"
#include "runtime/embed.h"
#include "runtime/log.h"
#include "runtime/output.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hs_config hs_config;
static struct hs_live live;
static unsigned appended;
static char last_message[128];

struct hs_live *hs_output__live(void)
{
    return &live;
}

bool hs_output__append(const struct hs_chunk_header *header, const void *payload)
{
    (void)header, (void)payload;
    appended++;
    return true;
}

void hs_log(enum hs_log_level level, const char *message, const char *detail, int error)
{
    (void)level, (void)detail, (void)error;
    snprintf(last_message, sizeof last_message, "%s", message);
}

// A path of so many characters.
static const char *long_path(int number, int length)
{
    static char path[4096];
    snprintf(path, sizeof path, "/%0*d", length - 1, number);
    return path;
}

START_TEST(files_beyond_the_list_are_counted)
{
    enum { LENGTH = 4000, FIT = 256 * 1024 / (LENGTH + 1), MORE = 5 };
    hs_config.embed_binaries = true;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < FIT; i++)
            hs_embed__remember(long_path(i, LENGTH));
    ck_assert_uint_eq(live.dropped[HS_DROP_FILES], 0);
    for (int i = 0; i < MORE; i++)
        hs_embed__remember(long_path(FIT + i, LENGTH));
    ck_assert_uint_eq(live.dropped[HS_DROP_FILES], MORE);
    ck_assert_str_eq(last_message, "not embedded, too many: ");
}
END_TEST

START_TEST(a_file_too_large_for_a_chunk_is_counted)
{
    char small[] = "/tmp/heapsonde-embed-XXXXXX", large[] = "/tmp/heapsonde-embed-XXXXXX";
    int fds[] = {mkstemp(small), mkstemp(large)};
    ck_assert_int_eq(ftruncate(fds[0], 100), 0);
    ck_assert_int_eq(ftruncate(fds[1], HS_CHUNK_MAX_LENGTH), 0);
    hs_config.embed_binaries = true;
    hs_embed__reset();
    live.dropped[HS_DROP_FILES] = appended = 0;
    hs_embed__remember(small);
    hs_embed__remember(large);
    hs_embed__modules();
    ck_assert_uint_eq(appended, 1);
    ck_assert_uint_eq(live.dropped[HS_DROP_FILES], 1);
    ck_assert_str_eq(last_message, "not embedded: ");
    unlink(small);
    unlink(large);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("embed");
    TCase *cases = tcase_create("embed");
    tcase_add_test(cases, files_beyond_the_list_are_counted);
    tcase_add_test(cases, a_file_too_large_for_a_chunk_is_counted);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
