// SPDX-License-Identifier: MIT OR Apache-2.0
#include "oracle.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void finish_answer(struct oracle *oracle, size_t index, char *answer)
{
    bool known = *answer && !strstr(answer, "|?") && !strstr(answer, ":?\n");
    oracle->answers[index] = known ? strdup(answer) : NULL;
    *answer = 0;
}

static void read_answers(struct oracle *oracle, FILE *pipe)
{
    char function[8192];
    char place[8192];
    char answer[1 << 16] = "";
    size_t index = SIZE_MAX;
    while (fgets(function, sizeof(function), pipe)) {
        function[strcspn(function, "\n")] = 0;
        char *clone = strstr(function, " [clone");
        if (clone)
            *clone = 0;
        if (!strncmp(function, "0x", 2)) {
            if (index != SIZE_MAX)
                finish_answer(oracle, index, answer);
            index++;
            continue;
        }
        ck_assert_ptr_nonnull(fgets(place, sizeof(place), pipe));
        place[strcspn(place, " \n")] = 0;
        const char *base = strrchr(place, '/');
        strcat(answer, text("%s|%s\n", function, base ? base + 1 : place));
    }
    finish_answer(oracle, index, answer);
}

struct oracle *ask_oracle(const char *tools, const char *path)
{
    struct oracle *oracle = calloc(1, sizeof(*oracle));
    oracle->count = instructions(tools, path, oracle->addresses, MOST_ADDRESSES);
    ck_assert_uint_gt(oracle->count, 100);
    FILE *list = fopen(text("%s/addresses", work), "w");
    for (size_t i = 0; i < oracle->count; i++)
        fprintf(list, "0x%llx\n", (unsigned long long)oracle->addresses[i]);
    fclose(list);
    FILE *pipe = popen(text("%saddr2line -aifC -e '%s' < '%s/addresses'", tools, path, work), "r");
    read_answers(oracle, pipe);
    ck_assert_int_eq(pclose(pipe), 0);
    return oracle;
}

void free_oracle(struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++)
        free(oracle->answers[i]);
    free(oracle);
}

// A method of a class within a function has no linker name in DWARF: addr2line says `add`, where the symbol table has
// sample::local_class(int)::Counter::add(int). Everything else must be equal.
static bool same_frame(const char *ours, const char *theirs, size_t our_length, size_t their_length)
{
    if (our_length == their_length && !memcmp(ours, theirs, our_length))
        return true;
    const char *our_place = memrchr(ours, '|', our_length);
    const char *their_place = memrchr(theirs, '|', their_length);
    size_t rest = (size_t)(ours + our_length - our_place);
    if (rest != (size_t)(theirs + their_length - their_place) || memcmp(our_place, their_place, rest))
        return false;
    const char *method = text("::%.*s(", (int)(their_place - theirs), theirs);
    const char *found = strstr(ours, method);
    return found && found < our_place && !memchr(theirs, ':', (size_t)(their_place - theirs));
}

static bool same_answer(const char *ours, const char *theirs)
{
    while (*ours && *theirs) {
        size_t our_length = strcspn(ours, "\n");
        size_t their_length = strcspn(theirs, "\n");
        if (!same_frame(ours, theirs, our_length, their_length))
            return false;
        ours += our_length + 1;
        theirs += their_length + 1;
    }
    return !*ours && !*theirs;
}

void compare_all(struct session *session, const struct oracle *oracle, uint64_t bias)
{
    size_t known = 0;
    size_t inlined = 0;
    for (size_t i = 0; i < oracle->count; i++) {
        if (!oracle->answers[i])
            continue;
        const char *answer = frames_at(session, oracle->addresses[i] + bias);
        ck_assert_msg(same_answer(answer, oracle->answers[i]), "at %#llx:\n%sinstead of\n%s",
                      (unsigned long long)oracle->addresses[i], answer, oracle->answers[i]);
        known++;
        inlined += strchr(answer, '\n')[1] != 0;
    }
    ck_assert_uint_gt(known, oracle->count * 3 / 4);
    ck_assert_uint_gt(inlined, 100);
}

void compare_files(const char *full, const char *path, const char *described, const struct hs_symbols_options *options)
{
    struct session with_all;
    struct session other;
    uint64_t addresses[MOST_ADDRESSES];
    size_t count = instructions("", full, addresses, MOST_ADDRESSES);
    open_session(&with_all, NULL, full, full, 0);
    open_session(&other, options, described, path, 0);
    for (size_t i = 0; i < count; i += 3) {
        char *expected = strdup(frames_at(&with_all, addresses[i]));
        const char *answer = frames_at(&other, addresses[i]);
        // Padding belongs to nobody and is called after the file.
        if (!strstr(expected, "+0x"))
            ck_assert_msg(!strcmp(answer, expected), "at %#llx:\n%sinstead of\n%s", (unsigned long long)addresses[i],
                          answer, expected);
        free(expected);
    }
    close_session(&with_all);
    close_session(&other);
}
