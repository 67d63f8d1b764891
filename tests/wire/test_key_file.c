// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The file of the shared key, as the device and as the host read it.
#include "key_reader.h"

#include "format/wire.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOMEBODY = 12345, LONGEST = HS_WIRE_SHARED_KEY_MAX };

static char folder[64], path[96];
static uint8_t key[LONGEST];

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/heapsonde-key-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/key", folder);
    memset(key, 'x', sizeof key);
}

static void teardown(void)
{
    unlink(path);
    rmdir(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void write_file(const void *text, size_t length, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, length), (ssize_t)length);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static bool all_zero(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i])
            return false;
    return true;
}

static void check_read(const void *expected, size_t length)
{
    memset(key, 'x', sizeof key);
    ck_assert_int_eq(read_key(path, key, sizeof key), (long)length);
    ck_assert_mem_eq(key, expected, length);
    ck_assert(all_zero(key + length, sizeof key - length));
}

static void check_refused(const char *file, int error)
{
    memset(key, 'x', sizeof key);
    ck_assert_int_eq(read_key(file, key, sizeof key), -error);
    ck_assert(all_zero(key, sizeof key));
}

START_TEST(white_space_at_the_end_is_no_part_of_it)
{
    static const char good[] = " \n0123456789abcdef \t\r\n\v\f\n";
    write_file(good, sizeof good - 1, 0600);
    check_read(good, 18);
    write_file(good, 18, 0400);
    check_read(good, 18);
}
END_TEST

START_TEST(any_byte_may_be_in_it)
{
    uint8_t bytes[256];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    write_file(bytes, sizeof bytes, 0600);
    check_read(bytes, sizeof bytes);
}
END_TEST

START_TEST(length_has_limits)
{
    char text[LONGEST + 100];
    memset(text, 'k', sizeof text);
    write_file(text, HS_WIRE_SHARED_KEY_MIN, 0600);
    check_read(text, HS_WIRE_SHARED_KEY_MIN);
    write_file(text, LONGEST, 0600);
    check_read(text, LONGEST);
    write_file(text, LONGEST + 1, 0600);
    check_refused(path, key_of_wrong_size);
    write_file(text, sizeof text, 0600);
    check_refused(path, key_of_wrong_size);
    write_file(text, HS_WIRE_SHARED_KEY_MIN - 1, 0600);
    check_refused(path, key_of_wrong_size);
    write_file(text, 0, 0600);
    check_refused(path, key_of_wrong_size);
}
END_TEST

START_TEST(white_space_counts_where_more_comes_behind_it)
{
    char text[LONGEST + 63];
    memset(text, 'k', LONGEST);
    memset(text + LONGEST, '\n', sizeof text - LONGEST);
    write_file(text, sizeof text, 0600);
    check_read(text, LONGEST);
    text[sizeof text - 1] = 'k';
    write_file(text, sizeof text, 0600);
    check_refused(path, key_of_wrong_size);
    char longer[LONGEST + 64 + 1];
    memset(longer, 'k', LONGEST);
    memset(longer + LONGEST, '\n', 64);
    longer[LONGEST + 64] = 'k';
    write_file(longer, sizeof longer, 0600);
    check_refused(path, key_of_wrong_size);
    memset(text, ' ', sizeof text);
    write_file(text, sizeof text, 0600);
    check_refused(path, key_of_wrong_size);
    memset(text, 'k', HS_WIRE_SHARED_KEY_MIN - 1);
    write_file(text, sizeof text, 0600);
    check_refused(path, key_of_wrong_size);
}
END_TEST

START_TEST(what_others_may_use_is_refused)
{
    for (unsigned bit = 0; bit < 6; bit++) {
        write_file("0123456789abcdef", 16, 0600 | 1u << bit);
        check_refused(path, key_of_everybody);
    }
}
END_TEST

START_TEST(only_regular_files_are_read)
{
    check_refused(folder, EINVAL);
    check_refused("/dev/null", EINVAL);
    check_refused("/dev/zero", EINVAL);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    check_refused(path, EINVAL); // without waiting for a writer
}
END_TEST

START_TEST(what_is_not_there_is_refused)
{
    check_refused(path, ENOENT);
    check_refused("", ENOENT);
}
END_TEST

START_TEST(link_leads_to_the_file)
{
    char target[128];
    write_file("0123456789abcdef", 16, 0600);
    snprintf(target, sizeof target, "%s/target", folder);
    ck_assert_int_eq(rename(path, target), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    check_read("0123456789abcdef", 16);
    ck_assert_int_eq(chmod(target, 0644), 0);
    check_refused(path, key_of_everybody);
    unlink(target);
}
END_TEST

static long read_as(uid_t user)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (chmod(folder, 0711) != 0 || seteuid(user) != 0)
            _exit(255);
        long length = read_key(path, key, sizeof key);
        _exit(length < 0 ? 128 + (int)-length : (int)length);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status) > 128 ? 128 - WEXITSTATUS(status) : WEXITSTATUS(status);
}

// Only root can give files away.
START_TEST(owner_is_the_reader_or_root)
{
    if (geteuid() != 0)
        return;
    write_file("0123456789abcdef", 16, 0600);
    ck_assert_int_eq(read_as(SOMEBODY), -EACCES); // root's, which this user cannot read
    ck_assert_int_eq(chown(path, SOMEBODY, 0), 0);
    ck_assert_int_eq(read_as(SOMEBODY), 16);
    ck_assert_int_eq(read_as(0), -EPERM);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key file");
    TCase *tests = tcase_create("key file");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, white_space_at_the_end_is_no_part_of_it);
    tcase_add_test(tests, any_byte_may_be_in_it);
    tcase_add_test(tests, length_has_limits);
    tcase_add_test(tests, white_space_counts_where_more_comes_behind_it);
    tcase_add_test(tests, what_others_may_use_is_refused);
    tcase_add_test(tests, only_regular_files_are_read);
    tcase_add_test(tests, what_is_not_there_is_refused);
    tcase_add_test(tests, link_leads_to_the_file);
    tcase_add_test(tests, owner_is_the_reader_or_root);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
