// SPDX-License-Identifier: MIT OR Apache-2.0
//
// profile.proto whose addresses count from the beginning of their files, so that several files have the same ones.
#include "command.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- writing profiles -----------------------------------------------------------------------------------------------

struct bytes {
    uint8_t at[8192];
    size_t length;
};

static void put_number(struct bytes *to, uint64_t value)
{
    for (; value > 127; value >>= 7)
        to->at[to->length++] = (uint8_t)(value | 128);
    to->at[to->length++] = (uint8_t)value;
}

static void put(struct bytes *to, unsigned field, uint64_t value)
{
    put_number(to, field << 3);
    put_number(to, value);
}

static void put_bytes(struct bytes *to, unsigned field, const void *bytes, size_t length)
{
    put_number(to, field << 3 | 2);
    put_number(to, length);
    memcpy(to->at + to->length, bytes, length);
    to->length += length;
}

static struct bytes profile;
static unsigned strings;

static unsigned string(const char *text)
{
    put_bytes(&profile, 6, text, strlen(text));
    return strings++;
}

static void start_profile(void)
{
    struct bytes type = {.length = 0};
    profile.length = strings = 0;
    string("");
    put(&type, 1, string("inuse_space"));
    put(&type, 2, string("bytes"));
    put_bytes(&profile, 1, type.at, type.length);
}

static void mapping(unsigned id, uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
    struct bytes message = {.length = 0};
    put(&message, 1, id);
    put(&message, 2, start);
    put(&message, 3, end);
    put(&message, 4, offset);
    put(&message, 5, string(path));
    put_bytes(&profile, 3, message.at, message.length);
}

// A location, and a sample of it alone.
static void sample(unsigned id, unsigned of_mapping, uint64_t address, uint64_t size, const char *name)
{
    struct bytes message = {.length = 0}, line = {.length = 0}, function = {.length = 0};
    put(&message, 1, id);
    put(&message, 2, of_mapping);
    put(&message, 3, address);
    if (name) {
        put(&function, 1, id);
        put(&function, 2, string(name));
        put_bytes(&profile, 5, function.at, function.length);
        put(&line, 1, id);
        put_bytes(&message, 4, line.at, line.length);
    }
    put_bytes(&profile, 4, message.at, message.length);
    message.length = 0;
    put(&message, 1, id);
    put(&message, 2, size);
    put_bytes(&profile, 2, message.at, message.length);
}

static void expect(const char *stacks)
{
    write_file(text("%s/profile.pb", work), profile.at, profile.length);
    struct outcome outcome = run("$HEAPSONDE export --format collapsed profile.pb -o -");
    ck_assert_msg(outcome.status == 0, "%s", outcome.errors);
    ck_assert_str_eq(outcome.output, stacks);
    free_outcome(&outcome);
}

// ---- files ----------------------------------------------------------------------------------------------------------

static uint64_t address(const char *file, const char *name)
{
    struct outcome outcome = run("nm %s | sed -n 's/ T %s$//p'", file, name);
    uint64_t value = strtoull(outcome.output, NULL, 16);
    ck_assert_msg(value, "%s: no %s", file, name);
    free_outcome(&outcome);
    return value + 1;
}

// How far addresses lie from bytes where the code is.
static uint64_t distance(const char *file)
{
    struct outcome outcome = run("readelf -lW %s | awk '$1 == \"LOAD\" && / R E / {print $2, $3}'", file);
    char *end;
    uint64_t offset = strtoull(outcome.output, &end, 16), at = strtoull(end, NULL, 16);
    ck_assert_msg(*end == ' ', "%s: no code", file);
    free_outcome(&outcome);
    return at - offset;
}

static const char *const linkers[] = {"", "-Wl,-z,noseparate-code", "-fuse-ld=lld", "-fuse-ld=gold"};
enum { LINKERS = sizeof(linkers) / sizeof(linkers[0]) };

static void make_libraries(const char *flags)
{
    make_work();
    // So much code that an address, taken for a place in the file, is code as well.
    shell("echo '__asm__(\".text; .skip 9000\");' > more && "
          "{ cat more && printf 'int alpha(int x) { return x + 1; }\nint gamma_(int x) { return x * 7; }\n' && "
          "cat more; } > a.c && "
          "{ cat more && printf 'int other(int x) { return x - 1; }\nint beta(int x) { return x * 3; }\n' && "
          "cat more; } > b.c && "
          "gcc -O1 -fno-toplevel-reorder -shared -fPIC %s -o a.so a.c && "
          "gcc -O1 -fno-toplevel-reorder -shared -fPIC %s -o b.so b.c",
          flags, flags);
}

static const char expected[] = "alpha 1000\nbeta 3000\ngamma_ 5000\n";

// Of a mapping without bounds the addresses are those of the symbols.
START_TEST(test_symbols_addresses)
{
    make_libraries(linkers[_i % LINKERS]);
    uint64_t end = _i / LINKERS ? UINT64_MAX : 0;
    start_profile();
    mapping(1, 0, end, 0, text("%s/a.so", work));
    mapping(2, 0, end, 0, text("%s/b.so", work));
    sample(1, 1, address("a.so", "alpha"), 1000, NULL);
    sample(2, 2, address("b.so", "beta"), 3000, NULL);
    sample(3, 1, address("a.so", "gamma_"), 5000, NULL);
    expect(expected);
}
END_TEST

// Of others they count the bytes of the file.
START_TEST(test_offsets)
{
    make_libraries(linkers[_i]);
    start_profile();
    mapping(1, 0, 0x8000, 0, text("%s/a.so", work));
    mapping(2, 0, 0x9000, 0, text("%s/b.so", work));
    sample(1, 1, address("a.so", "alpha") - distance("a.so"), 1000, NULL);
    sample(2, 2, address("b.so", "beta") - distance("b.so"), 3000, NULL);
    sample(3, 1, address("a.so", "gamma_") - distance("a.so"), 5000, NULL);
    expect(expected);
}
END_TEST

START_TEST(test_named)
{
    make_work();
    start_profile();
    mapping(1, 0, 0, 0, "/opt/a.so");
    mapping(2, 0, 0, 0, "/opt/b.so");
    sample(1, 1, 0x1139, 1000, "in_module_a");
    sample(2, 2, 0x1139, 3000, "in_module_b");
    expect("in_module_a 1000\nin_module_b 3000\n");
}
END_TEST

// The first 1,023 characters are no name.
START_TEST(test_long_names)
{
    char first[2000], second[2000];
    memset(first, 'n', sizeof(first));
    first[1500] = 0;
    strcpy(second, first);
    second[1499] = 'x';
    make_work();
    start_profile();
    sample(1, 0, 0, 1000, first);
    sample(2, 0, 0, 3000, second);
    expect(text("%s 1000\n%s 3000\n", first, second));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("relative");
    tcase_add_checked_fixture(cases, NULL, remove_work);
    tcase_add_loop_test(cases, test_symbols_addresses, 0, 2 * LINKERS);
    tcase_add_loop_test(cases, test_offsets, 0, LINKERS);
    tcase_add_test(cases, test_named);
    tcase_add_test(cases, test_long_names);
    return run_cases("relative", cases);
}
