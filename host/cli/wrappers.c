// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/wrappers.h"

#include "host/base/path.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct wrapper {
    const char *name;
    const char *letters; // options with a value in the same word or the next one
    const char *words;   // the same for long ones, with a space before and behind each
    const char *without; // letters of options with which no program is started, or it is unknown which
    int operands;        // before the program
};

// Without stdbuf: it sets LD_PRELOAD for its program.
static const struct wrapper wrappers[] = {
    {.name = "env", .letters = "uCa", .words = " unset chdir argv0 ", .without = "S"},
    {.name = "nice", .letters = "n", .words = " adjustment "},
    {.name = "timeout", .letters = "ks", .words = " kill-after signal ", .operands = 1},
    {.name = "chrt",
     .letters = "TPD",
     .words = " sched-runtime sched-period sched-deadline ",
     .without = "mp",
     .operands = 1},
    {.name = "setsid", .letters = "", .words = " "},
    {.name = "nohup", .letters = "", .words = " "},
    {.name = "ionice", .letters = "cn", .words = " class classdata ", .without = "pPu"},
    {.name = "taskset", .letters = "", .words = " ", .without = "p", .operands = 1},
    {.name = "time", .letters = "fo", .words = " format output "},
    {.name = "setpriv",
     .letters = "",
     .words = " ambient-caps inh-caps bounding-set ruid euid reuid rgid egid regid groups securebits pdeathsig "
              "selinux-label apparmor-profile ",
     .without = "d"},
    {.name = "prlimit", .letters = "o", .words = " output ", .without = "p"},
    {.name = "unshare",
     .letters = "SG",
     .words = " setuid setgid propagation setgroups map-user map-group map-users map-groups monotonic boottime ",
     .without = "Rw"},
    {.name = "choom", .letters = "n", .words = " adjust ", .without = "p"},
    {.name = "linux64", .letters = "", .words = " "},
    {.name = "linux32", .letters = "", .words = " "},
};

static const struct wrapper loader = {
    .letters = "", .words = " preload library-path inhibit-rpath audit argv0 glibc-hwcaps-prepend glibc-hwcaps-mask "};

// The command for it, by name or by its path.
static bool is_called(const char *word, const char *name)
{
    static const char folder[] = "/bin/";
    const char *base = hs_path__name(word);
    size_t before = (size_t)(base - word);
    bool in_place = !before || (word[0] == '/' && before >= 5 && !strncmp(base - 5, folder, 5));
    return in_place && !strcmp(base, name);
}

static const struct wrapper *find(const char *word)
{
    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
        if (is_called(word, wrappers[i].name))
            return &wrappers[i];
    return NULL;
}

static bool is_word(const char *words, const char *name, size_t length)
{
    for (const char *at = words; length && (at = strchr(at, ' ')) && at[1]; at++)
        if (!strncmp(at + 1, name, length) && at[1 + length] == ' ')
            return true;
    return false;
}

// The number of words of an option; 0: with it no program is started, or it is unknown which.
static size_t option_length(const struct wrapper *wrapper, const char *word)
{
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        if (is_word(" split-string pid pgid uid max root wd dump ", word + 2, length))
            return 0;
        return word[2 + length] || !is_word(wrapper->words, word + 2, length) ? 1 : 2;
    }
    for (const char *letter = word + 1; *letter; letter++) {
        if (wrapper->without && strchr(wrapper->without, *letter))
            return 0;
        if (strchr(wrapper->letters, *letter))
            return letter[1] ? 1 : 2;
    }
    return 1;
}

// The number of words up to `most` that are there.
static size_t count_words(char *const *words, size_t most)
{
    size_t count = 0;
    while (count < most && words[count])
        count++;
    return count;
}

static size_t behind_options(const struct wrapper *wrapper, char *const *words)
{
    size_t at = 1;
    while (words[at] && words[at][0] == '-' && words[at][1]) {
        if (!strcmp(words[at], "--"))
            return at + 1;
        size_t length = option_length(wrapper, words[at]);
        if (!length)
            return 0;
        at += count_words(words + at, length);
    }
    return at;
}

// NAME=VALUE words of env, and the - that stands for -i.
static size_t behind_variables(char *const *words, size_t at, bool *elsewhere)
{
    if (words[at] && !strcmp(words[at], "-"))
        at++;
    for (; words[at] && strchr(words[at], '='); at++)
        *elsewhere |= !strncmp(words[at], "PATH=", 5);
    return at;
}

static bool changes_place(char *const *words, size_t end)
{
    for (size_t i = 1; i < end; i++) {
        bool is_long = words[i][0] == '-' && words[i][1] == '-';
        if (is_long ? !strncmp(words[i], "--chdir", 7) || !strncmp(words[i], "--ignore-env", 12) ||
                          !strncmp(words[i], "--unset", 7)
                    : words[i][0] == '-' && strpbrk(words[i], "Ciu"))
            return true;
    }
    return false;
}

static size_t behind_operands(const struct wrapper *wrapper, char *const *words, size_t at)
{
    // The policies of chrt that have no priority need none.
    bool optional = !strcmp(wrapper->name, "chrt") && words[at] && !isdigit((unsigned char)words[at][0]);
    return optional ? at : at + count_words(words + at, (size_t)wrapper->operands);
}

static size_t look_at_one(char *const *words, bool *elsewhere)
{
    const struct wrapper *wrapper = find(words[0]);
    size_t at = wrapper ? behind_options(wrapper, words) : 0;
    if (!at)
        return 0;
    if (!strcmp(wrapper->name, "env")) {
        *elsewhere |= changes_place(words, at);
        at = behind_variables(words, at, elsewhere);
    }
    at = behind_operands(wrapper, words, at);
    return words[at] ? at : 0;
}

struct hs_wrapped hs_wrappers__look(char *const *words)
{
    struct hs_wrapped wrapped = {0};
    for (size_t at; (at = look_at_one(words + wrapped.program, &wrapped.elsewhere));)
        wrapped.program += at;
    return wrapped;
}

size_t hs_loader__program(char *const *words)
{
    size_t at = behind_options(&loader, words);
    return words[at] ? at : 0;
}

bool hs_loader__is_named(const char *path)
{
    const char *name = hs_path__name(path);
    return !strncmp(name, "ld-", 3) || !strncmp(name, "ld.so", 5) || !strncmp(name, "ld64.so", 7);
}

char **hs_wrappers__with_variables(char *const *words, size_t program, char *env, char *const *variables,
                                   char *const *program_words)
{
    size_t variable_count = count_words(variables, SIZE_MAX), rest = count_words(program_words, SIZE_MAX);
    char **all = calloc(program + 1 + variable_count + rest + 1, sizeof(*all));
    if (!all)
        return NULL;
    memcpy(all, words, program * sizeof(*all));
    all[program] = env;
    memcpy(all + program + 1, variables, variable_count * sizeof(*all));
    memcpy(all + program + 1 + variable_count, program_words, rest * sizeof(*all));
    return all;
}
