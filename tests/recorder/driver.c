// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs one line of cases.txt: the program bare, then recorded with the counter behind the recorder; output and exit
// status have to be the same, and what the report says has to be what the counter counted.
#define _GNU_SOURCE
#include "tests/recorder/day.h"
#include "tests/recorder/harness.h"
#include "tests/recorder/profiled.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// As it is, under the sampling shim, or recorded as sums.
enum how { RECORDED, PROFILED, AGGREGATED };
static const char *const hows[] = {NULL, "profiled", "aggregate"};

struct line {
    char *name, *options, *command, *prepare;
};

static char *trim(char *words)
{
    while (*words == ' ')
        words++;
    for (size_t n = strlen(words); n && (words[n - 1] == ' ' || words[n - 1] == '\n'); n--)
        words[n - 1] = 0;
    return words;
}

static bool line_find(const char *path, const char *name, struct line *line)
{
    FILE *file = fopen(path, "r");
    char *read = NULL;
    size_t room = 0;
    if (!file)
        fail("%s cannot be read", path);
    while (getline(&read, &room, file) > 0) {
        char *rest = read, *columns[4] = {"", "", "", ""};
        if (read[0] == '#' || read[0] == '\n')
            continue;
        for (int i = 0; i < 4 && rest; i++)
            columns[i] = trim(strsep(&rest, "|"));
        if (!strcmp(columns[0], name)) {
            *line = (struct line){columns[0], columns[1], columns[2], columns[3]};
            fclose(file);
            return true;
        }
    }
    fclose(file);
    return false;
}

static char *program_of_gcc(const char *name)
{
    struct result result = run_words(work, "gcc", text("-print-prog-name=%s", name), NULL);
    return trim(result.output);
}

// "{n:1000}"
static const char *scaled(const char *number, size_t *length)
{
    char *end;
    long full = strtol(number + 3, &end, 10);
    *length = (size_t)(end + 1 - number);
    return text("%lu", smaller((unsigned long)full));
}

// Replaces {P} programs, {S} source folder, {W} the folder of this case, {R} the root of the target's own files
// (nothing on this machine), {n:NUMBER}, {cc1plus}.
static char *expand(const char *word)
{
    char *result = text("%s", word), *at;
    for (;;) {
        const char *with;
        size_t length = 3;
        if ((at = strstr(result, "{P}")))
            with = path_programs;
        else if ((at = strstr(result, "{S}")))
            with = path_source;
        else if ((at = strstr(result, "{W}")))
            with = work;
        else if ((at = strstr(result, "{R}")))
            with = path_root;
        else if ((at = strstr(result, "{n:")))
            with = scaled(at, &length);
        else if ((at = strstr(result, "{cc1plus}")))
            with = program_of_gcc("cc1plus"), length = 9;
        else
            return result;
        result = text("%.*s%s%s", (int)(at - result), result, with, at + length);
    }
}

// Splits at spaces; 'quoted words' stay together.
static char **split(char *words)
{
    char **list = calloc(64, sizeof *list);
    int n = 0;
    for (char *at = trim(words); *at && n < 63;) {
        char end = ' ';
        if (*at == '\'') {
            end = '\'';
            at++;
        }
        char *stop = strchrnul(at, end);
        bool last = *stop == 0;
        *stop = 0;
        list[n++] = expand(at);
        at = last ? stop : stop + 1;
        while (*at == ' ')
            at++;
    }
    return list;
}

static bool begins(const char *word, const char *prefix)
{
    return !strncmp(word, prefix, strlen(prefix));
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at++) {
        char before = at == words ? ' ' : at[-1];
        if (before == ' ' && (at[length] == ' ' || at[length] == 0))
            return true;
    }
    return false;
}

// Every word of `needed` is one of HEAPSONDE_TEST_TRAITS.
static bool has_traits(const char *needed)
{
    const char *traits = getenv("HEAPSONDE_TEST_TRAITS");
    char *rest = text("%s", needed), *word;
    while ((word = strsep(&rest, " ")))
        if (*word && !has_word(traits ? traits : "", word))
            return false;
    return true;
}

// Programs end with statuses of their own choice, but those of MUST() and say() in program.h, those of a program that
// cannot be started, and signals in lines without "killed", mean that nothing was tested.
static bool ends_as_expected(int status, int expected_status, bool killed)
{
    if (WIFSIGNALED(status) || killed)
        return WIFSIGNALED(status) && killed;
    if (expected_status >= 0)
        return WEXITSTATUS(status) == expected_status;
    int end = WEXITSTATUS(status);
    return end != 98 && end != 99 && end != 126 && end != 127 && end != 255;
}

// Everything but what is only known at ticks, and what a kill leaves out: then no tick may come where the program is
// slow. The others have one every second: whoever ends thread by thread waits for the next.
static void expect_sums(struct expectation *expectation, char **variables, bool killed)
{
    int count = 0;
    while (variables[count])
        count++;
    expectation->sums = true;
    expectation->peak = false;
    expectation->untold |= killed;
    variables[count] = "HEAPSONDE_MODE=aggregate";
    variables[count + 1] = text("HEAPSONDE_AGGREGATE_INTERVAL=%d", expectation->untold ? 3600 : 1);
}

// What the options of a line say.
struct line_options {
    struct expectation expectation;
    char *variables[34];
    int variable_count, frame_count;
    int expected_status; // -1: any
    bool killed, any_output, unprofiled_output, unprofiled_counts, undumpable, day;
};

static bool read_flag(struct line_options *to, const char *option)
{
    struct expectation *expectation = &to->expectation;
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"no-counter", &expectation->no_counter},
                 {"inexact", &expectation->inexact},
                 {"peak", &expectation->peak},
                 {"untold", &expectation->untold},
                 {"drops", &expectation->drops_allowed},
                 {"cut", &expectation->cut_allowed},
                 {"untracked", &expectation->untracked},
                 {"undumpable", &to->undumpable},
                 {"unprofiled-output", &to->unprofiled_output},
                 {"unprofiled-counts", &to->unprofiled_counts},
                 {"any-output", &to->any_output},
                 {"killed", &to->killed},
                 {"day", &to->day}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (!strcmp(option, flags[i].name))
            return *flags[i].flag = true;
    }
    return false;
}

static bool read_value(struct line_options *to, const char *option)
{
    struct expectation *expectation = &to->expectation;
    if (begins(option, "cut@"))
        expectation->cut_allowed = has_traits(option + 4);
    else if (begins(option, "traces="))
        expectation->traces = atol(option + 7);
    else if (begins(option, "every="))
        expectation->every = atol(option + 6);
    else if (begins(option, "status="))
        to->expected_status = atoi(option + 7);
    else if (begins(option, "frames:") && to->frame_count < 7)
        expectation->frames[to->frame_count++] = option + 7;
    else if (begins(option, "guessed="))
        expectation->guessed = strtoull(option + 8, NULL, 10);
    else if (begins(option, "env:") && to->variable_count < 31)
        to->variables[to->variable_count++] = text("%s", option + 4);
    else
        return false;
    return true;
}

// Skips the test if something that the line needs is missing.
static bool read_need(const char *option)
{
    if (begins(option, "needs:")) {
        if (access(option + 6, F_OK) != 0)
            skip("%s is not there", option + 6);
        return true;
    }
    if (strcmp(option, "root") != 0)
        return false;
    if (geteuid() != 0)
        skip("only root can do this");
    return true;
}

static void read_line_options(const struct line *line, struct line_options *to)
{
    *to = (struct line_options){.expectation = {.traces = -1}, .expected_status = -1};
    for (char **options = split(line->options); *options; options++) {
        if (!read_flag(to, *options) && !read_value(to, *options) && !read_need(*options))
            fail("cases.txt: %s: unknown option %s", line->name, *options);
    }
}

static uint64_t memory_given(char *const variables[])
{
    for (; *variables; variables++)
        if (begins(*variables, "HEAPSONDE_MEMORY="))
            return strtoull(strchr(*variables, '=') + 1, NULL, 10);
    return 0;
}

static void run_line(struct line *line, enum how how)
{
    const bool profiled = how == PROFILED;
    struct line_options options;
    read_line_options(line, &options);
    struct expectation *expectation = &options.expectation;
    const bool compare_output = !options.any_output && !(profiled && options.unprofiled_output);
    if (line->prepare[0]) {
        struct result prepared = run(RUN_HOST, work, NULL, split(line->prepare));
        if (prepared.status != 0)
            fail("the preparation ends with %s:\n%s", status_text(prepared.status), prepared.output);
    }
    if (how == AGGREGATED)
        expect_sums(expectation, options.variables, options.killed);
    char **command = split(line->command);
    char **environment = profiled ? profiled_variables(options.variables, !options.undumpable) : options.variables;
    // What the counter takes is not the recorder's.
    struct result bare = run(options.day ? RUN_COUNTED : RUN_BARE, text("%s/bare", work), environment, command);
    const bool ended_well = ends_as_expected(bare.status, options.expected_status, options.killed);
    if (!ended_well && strstr(bare.output, "qemu: uncaught target signal"))
        skip("the emulator ends the program without the recorder, too: %s", status_text(bare.status));
    if (!ended_well)
        fail("without the recorder already the program ends with %s:\n%.4000s", status_text(bare.status), bare.output);
    if (profiled) {
        const bool compare_counts = !options.unprofiled_counts && !expectation->no_counter && !expectation->inexact;
        profiled_run(environment, command, &bare, compare_output, compare_counts);
        return;
    }
    const char *folder = text("%s/recorded", work);
    struct result recorded =
        run(expectation->no_counter ? RUN_RECORDED_UNCOUNTED : RUN_RECORDED, folder, options.variables, command);
    compare_results(&bare, &recorded, compare_output);
    compare_folder(folder, expectation);
    if (begins(line->name, "real."))
        print_stack_shares(folder);
    if (options.day)
        day_check(text("%s/bare", work), folder, recorded.output, memory_given(options.variables));
}

// unsupported.txt beside the cases says what cannot work where, and why.
static void skip_unsupported(const char *cases, const char *name)
{
    char *path = text("%s", cases), *slash = strrchr(path, '/'), *read = NULL;
    size_t room = 0;
    FILE *file = slash ? fopen(text("%.*s/unsupported.txt", (int)(slash - path), path), "r") : NULL;
    while (file && getline(&read, &room, file) > 0) {
        char *rest = read, *columns[3] = {"", "", ""};
        if (read[0] == '#' || read[0] == '\n')
            continue;
        for (int i = 0; i < 3 && rest; i++)
            columns[i] = trim(strsep(&rest, "|"));
        if (fnmatch(columns[0], name, 0) == 0 && has_traits(columns[1]))
            skip("%s", columns[2]);
    }
    if (file)
        fclose(file);
}

int main(int count, char **arguments)
{
    struct line line;
    enum how how = RECORDED;
    for (enum how known = PROFILED; count == 4 && known <= AGGREGATED; known++)
        if (!strcmp(arguments[3], hows[known]))
            how = known;
    if (count != 3 && how == RECORDED) {
        fprintf(stderr, "usage: %s CASES NAME [profiled | aggregate]\n", arguments[0]);
        return 2;
    }
    if (!line_find(arguments[1], arguments[2], &line))
        fail("%s has no case %s", arguments[1], arguments[2]);
    skip_unsupported(arguments[1], line.name);
    if (how != RECORDED)
        skip_unsupported(arguments[1], text("%s.%s", hows[how], line.name));
    harness_start(how != RECORDED ? text("%s.%s", line.name, hows[how]) : line.name);
    if (how == PROFILED)
        path_shim = path_prof_shim;
    if (access(path_shim, R_OK) != 0 || access(path_heapsonde, X_OK) != 0)
        fail("%s and %s have to be built first", path_shim, path_heapsonde);
    if (line.command[0] == '@') {
        const struct special *special = specials;
        while (special->name && strcmp(special->name, line.command + 1))
            special++;
        if (!special->name)
            fail("there is no special case %s", line.command);
        special->run();
    } else {
        run_line(&line, how);
    }
    return harness_finish();
}
