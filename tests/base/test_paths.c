// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Trees of paths of host/base: paths of letters.
#include "host/base/paths.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>

enum { MOST = 32 };

struct letters {
    struct hs_paths paths;
    char letter[MOST];
};

struct sought {
    const char *letter;
    char is;
};

static bool is_sought(const void *key, uint32_t number)
{
    const struct sought *sought = key;
    return sought->letter[number] == sought->is;
}

static void add(struct letters *letters, const char *path, uint64_t bytes)
{
    uint32_t at = 0;
    for (; *path; path++) {
        const struct sought sought = {letters->letter, *path};
        const size_t count = letters->paths.count;
        at = hs_paths__child(&letters->paths, at, (uint64_t)*path, is_sought, &sought);
        ck_assert_uint_ne(at, 0);
        if (at == count)
            letters->letter[at] = *path;
    }
    hs_value__add(&letters->paths.at[at].value, &(struct hs_value){bytes, 1});
}

static void make(struct letters *letters)
{
    *letters = (struct letters){0};
    ck_assert_int_eq(hs_paths__start(&letters->paths), 0);
    add(letters, "mad", 5);
    add(letters, "mac", 20);
    add(letters, "mb", 5);
    add(letters, "mad", 5);
    add(letters, "ma", 1);
    add(letters, "", 2);
    hs_paths__finish(&letters->paths);
}

struct walk {
    const struct letters *letters;
    char skipped, last;
    char text[128];
    size_t length;
};

static void say(struct walk *walk, char letter, unsigned depth)
{
    walk->length +=
        (size_t)snprintf(walk->text + walk->length, sizeof(walk->text) - walk->length, "%c%u ", letter, depth);
}

static int enter(void *context, uint32_t node, unsigned depth)
{
    struct walk *walk = context;
    const char letter = walk->letters->letter[node];
    say(walk, letter, depth);
    if (letter == walk->last)
        return -EPIPE;
    return letter == walk->skipped ? HS_PATHS_SKIP : 0;
}

static int leave(void *context, uint32_t node, unsigned depth)
{
    struct walk *walk = context;
    say(walk, (char)(walk->letters->letter[node] - 'a' + 'A'), depth);
    return 0;
}

static void expect(const struct letters *letters, const char *text)
{
    struct walk walk = {.letters = letters};
    ck_assert_int_eq(hs_paths__walk(&letters->paths, enter, NULL, &walk), 0);
    ck_assert_str_eq(walk.text, text);
}

START_TEST(a_node_has_what_passes_through_it)
{
    struct letters letters;
    make(&letters);
    ck_assert_uint_eq(letters.paths.count, 6);
    ck_assert_uint_eq(letters.paths.at[0].value.bytes, 38);
    ck_assert_uint_eq(letters.paths.at[0].value.count, 6);
    ck_assert_uint_eq(letters.paths.at[2].value.bytes, 31);
    ck_assert_uint_eq(hs_paths__own(&letters.paths, 0).bytes, 2);
    ck_assert_uint_eq(hs_paths__own(&letters.paths, 1).count, 0);
    ck_assert_uint_eq(hs_paths__own(&letters.paths, 2).bytes, 1);
    ck_assert_uint_eq(hs_paths__own(&letters.paths, 3).count, 2);
    expect(&letters, "m0 a1 d2 c2 b1 ");
    hs_paths__free(&letters.paths);
}
END_TEST

START_TEST(a_walk_leaves_what_it_entered)
{
    struct letters letters;
    make(&letters);
    struct walk whole = {.letters = &letters}, skipping = {.letters = &letters, .skipped = 'a'};
    struct walk ending = {.letters = &letters, .last = 'd'};
    const struct hs_paths none = {0};
    ck_assert_int_eq(hs_paths__walk(&letters.paths, enter, leave, &whole), 0);
    ck_assert_str_eq(whole.text, "m0 a1 d2 D2 c2 C2 A1 b1 B1 M0 ");
    ck_assert_int_eq(hs_paths__walk(&letters.paths, enter, leave, &skipping), 0);
    ck_assert_str_eq(skipping.text, "m0 a1 A1 b1 B1 M0 ");
    ck_assert_int_eq(hs_paths__walk(&letters.paths, enter, leave, &ending), -EPIPE);
    ck_assert_str_eq(ending.text, "m0 a1 d2 ");
    ck_assert_int_eq(hs_paths__walk(&none, enter, leave, &whole), 0);
    hs_paths__free(&letters.paths);
}
END_TEST

static int compare(const void *left, const void *right, void *context)
{
    const struct letters *letters = context;
    return letters->letter[*(const uint32_t *)left] - letters->letter[*(const uint32_t *)right];
}

START_TEST(siblings_are_sorted)
{
    struct letters letters;
    make(&letters);
    ck_assert_int_eq(hs_paths__sort(&letters.paths, compare, &letters), 0);
    expect(&letters, "m0 a1 c2 d2 b1 ");
    hs_paths__free(&letters.paths);
}
END_TEST

// "m" and "a" are larger than their parts. "d" has the bytes of "c" less 10, and "b" has the least.
START_TEST(the_largest_stay)
{
    static const char *const left[] = {
        "", "m0 ", "m0 a1 ", "m0 a1 c2 ", "m0 a1 d2 c2 ", "m0 a1 d2 c2 b1 ", "m0 a1 d2 c2 b1 "};
    for (size_t most = 0; most < sizeof(left) / sizeof(left[0]); most++) {
        struct letters letters;
        size_t left_out;
        make(&letters);
        ck_assert_int_eq(hs_paths__prune(&letters.paths, most, &left_out), 0);
        ck_assert_uint_eq(left_out, most < 5 ? 5 - most : 0);
        expect(&letters, left[most]);
        hs_paths__free(&letters.paths);
    }
}
END_TEST

START_TEST(of_equal_ones_the_first_stay)
{
    static const uint64_t sizes[] = {9, 5, 7, 5, 5, 9};
    static const uint8_t expected[] = {1, 1, 1, 1, 0, 1};
    uint8_t *chosen = hs_largest__choose(sizes, 6, 5);
    ck_assert_mem_eq(chosen, expected, sizeof(expected));
    free(chosen);
    chosen = hs_largest__choose(sizes, 6, 7);
    ck_assert_mem_eq(chosen, "\1\1\1\1\1\1", 6);
    free(chosen);
    chosen = hs_largest__choose(sizes, 6, 0);
    ck_assert_mem_eq(chosen, "\0\0\0\0\0\0", 6);
    free(chosen);
}
END_TEST

struct texts {
    const struct letters *letters;
    struct hs_path_text path;
    char all[128];
};

static int append(void *context, uint32_t node, unsigned depth)
{
    struct texts *texts = context;
    char *name = hs_path_text__append(&texts->path, depth, 2);
    ck_assert_ptr_nonnull(name);
    name[0] = name[1] = texts->letters->letter[node];
    strncat(texts->all, texts->path.text, texts->path.end[depth]);
    strcat(texts->all, " ");
    return 0;
}

START_TEST(a_path_has_a_text)
{
    struct letters letters;
    make(&letters);
    struct texts texts = {.letters = &letters};
    ck_assert_int_eq(hs_paths__walk(&letters.paths, append, NULL, &texts), 0);
    ck_assert_str_eq(texts.all, "mm mm;aa mm;aa;dd mm;aa;cc mm;bb ");
    hs_path_text__free(&texts.path);
    hs_paths__free(&letters.paths);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paths");
    TCase *tests = tcase_create("paths");
    tcase_add_test(tests, a_node_has_what_passes_through_it);
    tcase_add_test(tests, a_walk_leaves_what_it_entered);
    tcase_add_test(tests, siblings_are_sorted);
    tcase_add_test(tests, the_largest_stay);
    tcase_add_test(tests, of_equal_ones_the_first_stay);
    tcase_add_test(tests, a_path_has_a_text);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
