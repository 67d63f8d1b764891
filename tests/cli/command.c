// SPDX-License-Identifier: MIT OR Apache-2.0
#include "command.h"

#include "tests/suite.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char work[64];

void make_work(void)
{
    snprintf(work, sizeof(work), "/tmp/heapsonde-cli-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(work));
    setenv("HEAPSONDE", PATH_HEAPSONDE, 1);
    unsetenv("HEAPSONDE_OUTPUT");
}

// A program that has been told to end may still make a file there.
void remove_work(void)
{
    shell("for i in $(seq 100); do rm -rf '%s' && break; sleep 0.1; done 2>/dev/null; [ ! -e '%s' ]", work, work);
}

const char *text(const char *format, ...)
{
    static char buffers[8][4096];
    static unsigned next;
    char *buffer = buffers[next++ % 8];
    va_list list;
    va_start(list, format);
    vsnprintf(buffer, sizeof(buffers[0]), format, list);
    va_end(list);
    return buffer;
}

char *read_file(const char *path, size_t *length)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    FILE *memory = open_memstream(&bytes, &size);
    for (int byte = getc(file); byte != EOF; byte = getc(file))
        putc(byte, memory);
    fclose(memory);
    fclose(file);
    if (length)
        *length = size;
    return bytes;
}

void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file && fwrite(bytes, 1, length, file) == length && !fclose(file), "%s cannot be written", path);
}

struct outcome run(const char *format, ...)
{
    char line[4096];
    char whole[8192];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    snprintf(whole, sizeof(whole), "cd '%s' && { %s\n} >'%s/stdout' 2>'%s/stderr'", work, line, work, work);
    int status = system(whole);
    struct outcome outcome = {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    outcome.output = read_file(text("%s/stdout", work), &outcome.output_length);
    outcome.errors = read_file(text("%s/stderr", work), NULL);
    return outcome;
}

void free_outcome(struct outcome *outcome)
{
    free(outcome->output);
    free(outcome->errors);
}

void shell(const char *format, ...)
{
    char line[4096];
    char whole[4200];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    snprintf(whole, sizeof(whole), "cd '%s' && %s", work, line);
    int status = system(whole);
    ck_assert_msg(status == 0, "%s: status %d", whole, status);
}

static void fail_at_difference(const char *path, const char *expected, const char *actual)
{
    unsigned line = 1;
    while (*expected && *expected == *actual) {
        line += *expected == '\n';
        expected++;
        actual++;
    }
    ck_abort_msg("%s, line %u: expected\n%.300s\nbut it reads\n%.300s", path, line, expected, actual);
}

void compare_with_file(const char *path, const char *actual, size_t length)
{
    size_t expected_length = 0;
    if (getenv("HEAPSONDE_UPDATE_GOLDEN")) {
        write_file(path, actual, length);
        return;
    }
    char *expected = read_file(path, &expected_length);
    if (length != expected_length || memcmp(expected, actual, length))
        fail_at_difference(path, expected, actual);
    free(expected);
}

int run_cases(const char *name, TCase *cases)
{
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
