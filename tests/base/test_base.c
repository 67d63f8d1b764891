// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Arrays, the hash index and texts of host/base.
#include "host/base/array.h"
#include "host/base/buffer.h"
#include "host/base/hash_index.h"
#include "host/base/id_map.h"
#include "host/base/text_stream.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS 5000u

START_TEST(an_array_keeps_its_elements_when_it_grows)
{
    uint32_t *array = NULL;
    size_t count = 0, room = 0;
    while (count < ELEMENTS) {
        ck_assert(HS_ARRAY_HAS_ROOM(array, count, room));
        ck_assert_uint_lt(count, room);
        array[count] = (uint32_t)count * 3;
        count++;
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(array[i], i * 3);
    free(array);
}
END_TEST

// Lengths come from files: no sum of them wraps.
START_TEST(a_buffer_refuses_what_no_memory_has)
{
    static const size_t lengths[] = {SIZE_MAX, SIZE_MAX - 2, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX / 4 + 1};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct hs_buffer buffer = {0};
        hs_buffer__put(&buffer, "abc", 3);
        ck_assert(!buffer.failed && buffer.count == 3);
        ck_assert(!hs_buffer__reserve(&buffer, lengths[i]));
        ck_assert(buffer.failed && !memcmp(buffer.bytes, "abc", 3));
        hs_buffer__free(&buffer);
    }
}
END_TEST

START_TEST(ids_are_removed_among_others)
{
    enum { IDS = 700 };
    struct hs_id_map map = {0};
    uint32_t value[IDS] = {0}; // + 1
    uint64_t word = 4711;
    for (uint32_t step = 0; step < 40000; step++) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        uint32_t id = (uint32_t)(word >> 33) % IDS;
        if (word >> 62 == 0 || step % 10000 > 7000) {
            hs_id_map__remove(&map, id * 4096ull);
            value[id] = 0;
        } else {
            ck_assert_int_eq(hs_id_map__set(&map, id * 4096ull, step), 0);
            value[id] = step + 1;
        }
        uint32_t other = (uint32_t)(word >> 13) % IDS;
        ck_assert_uint_eq(hs_id_map__find(&map, other * 4096ull) + 1, value[other]);
    }
    for (uint32_t id = 0; id < IDS; id++)
        ck_assert_uint_eq(hs_id_map__find(&map, id * 4096ull) + 1, value[id]);
    hs_id_map__free(&map);
}
END_TEST

struct sought {
    const uint64_t *value;
    uint64_t is;
};

static bool is_sought(const void *key, uint32_t number)
{
    const struct sought *sought = key;
    return sought->value[number] == sought->is;
}

static uint64_t value_of(uint32_t number)
{
    return (uint64_t)number * number + 7;
}

static uint64_t usual_hash(uint64_t value)
{
    return hs_hash__pair(value, 0);
}

// Elements are compared where the hash cannot tell them apart.
static uint64_t poor_hash(uint64_t value)
{
    return value % 16 << 40;
}

static uint32_t find(const struct hs_hash_index *index, const uint64_t *values, uint64_t value,
                     uint64_t (*hash)(uint64_t))
{
    const struct sought sought = {values, value};
    return hs_hash_index__find(index, hash(value), is_sought, &sought);
}

static void fill_and_find(uint32_t count, uint64_t (*hash)(uint64_t))
{
    struct hs_hash_index index = {0};
    uint64_t *values = calloc(count, sizeof(*values));
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < count; i++) {
            ck_assert_uint_eq(find(&index, values, value_of(i), hash), HS_HASH_NONE);
            values[i] = value_of(i);
            ck_assert_int_eq(hs_hash_index__add(&index, hash(values[i]), i), 0);
        }
        ck_assert_uint_eq(index.count, count);
        for (uint32_t i = 0; i < count; i++)
            ck_assert_uint_eq(find(&index, values, value_of(i), hash), i);
        ck_assert_uint_eq(find(&index, values, value_of(count), hash), HS_HASH_NONE);
        hs_hash_index__clear(&index);
        memset(values, 0, count * sizeof(*values));
    }
    hs_hash_index__free(&index);
    free(values);
}

START_TEST(an_index_finds_what_was_added)
{
    fill_and_find(ELEMENTS, usual_hash);
    fill_and_find(600, poor_hash);
}
END_TEST

START_TEST(a_text_is_whole_and_has_its_size)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    ck_assert_ptr_nonnull(out);
    for (unsigned i = 0; i < 3; i++)
        fprintf(out, "%u%c", i, 0);
    char *text = hs_text_stream__close(&stream);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(stream.size, 6);
    ck_assert_mem_eq(text,
                     "0\0"
                     "1\0"
                     "2\0",
                     7);
    free(text);
    hs_text_stream__open(&stream);
    text = hs_text_stream__close(&stream);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

static bool memory_is_full;

static ssize_t write_nothing(void *cookie, const char *bytes, size_t size)
{
    (void)cookie, (void)bytes, (void)size;
    errno = ENOMEM;
    return 0;
}

FILE *__real_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size)
{
    if (!memory_is_full)
        return __real_open_memstream(text, size);
    *text = strdup("a part");
    *size = strlen(*text);
    return fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_nothing});
}

START_TEST(an_incomplete_text_is_none)
{
    struct hs_text_stream stream;
    memory_is_full = true;
    FILE *out = hs_text_stream__open(&stream);
    ck_assert_ptr_nonnull(out);
    fputs("a part and the rest", out);
    ck_assert_ptr_null(hs_text_stream__close(&stream));
    ck_assert_uint_eq(stream.size, 0);
    stream.out = NULL; // as if there had been no memory for the stream
    ck_assert_ptr_null(hs_text_stream__close(&stream));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tests = tcase_create("base");
    tcase_add_test(tests, ids_are_removed_among_others);
    tcase_add_test(tests, an_array_keeps_its_elements_when_it_grows);
    tcase_add_test(tests, a_buffer_refuses_what_no_memory_has);
    tcase_add_test(tests, an_index_finds_what_was_added);
    tcase_add_test(tests, a_text_is_whole_and_has_its_size);
    tcase_add_test(tests, an_incomplete_text_is_none);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
