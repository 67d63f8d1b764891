// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Parsing, help, manual and completion come from one table: nothing may be in one of them and not in another.
#include "command.h"

#include "host/cli/command.h"
#include "host/dump/write.h"
#include "host/export/export.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_word(const char *where, const char *document, const char *word)
{
    ck_assert_msg(strstr(document, word), "%s does not mention %s", where, word);
}

// As roff writes it: dashes escaped.
static const char *roff_option(const char *name)
{
    static char word[256];
    char *to = word;
    to += sprintf(to, "\\-\\-");
    for (; *name; name++)
        to += sprintf(to, *name == '-' ? "\\-" : "%c", *name);
    return word;
}

START_TEST(test_every_option_is_everywhere)
{
    struct outcome manual = run("$HEAPSONDE help --man");
    expect_word("the manual", manual.output, ".B HEAPSONDE_KEY_FILE\n");
    expect_word("the manual", manual.output, ".B HEAPSONDE_TOKEN\n");
    struct outcome completion = run("$HEAPSONDE help --completion");
    struct outcome overview = run("$HEAPSONDE --help");
    for (size_t i = 0; hs_commands[i]; i++) {
        const struct hs_command *command = hs_commands[i];
        struct outcome help = run("$HEAPSONDE %s --help", command->name);
        ck_assert_int_eq(help.status, 0);
        ck_assert_str_eq(help.errors, "");
        expect_word("the overview", overview.output, text("  %s ", command->name));
        expect_word("the manual", manual.output, text(".SS heapsonde %s ", command->name));
        expect_word("the completion", completion.output, text("    %s)\n", command->name));
        for (const struct hs_option *option = NULL; (option = hs_command__next(command, option));) {
            expect_word("the help", help.output, text("--%s", option->name));
            expect_word("the manual", manual.output, roff_option(option->name));
            expect_word("the completion", completion.output, text("--%s ", option->name));
        }
        free_outcome(&help);
    }
    free_outcome(&manual);
    free_outcome(&completion);
    free_outcome(&overview);
}
END_TEST

static bool is_known(const struct hs_command *command, const char *word, size_t length)
{
    if (length == 4 && !strncmp(word, "help", 4))
        return true;
    for (const struct hs_option *option = NULL; (option = hs_command__next(command, option));) {
        if (strlen(option->name) == length && !strncmp(option->name, word, length))
            return true;
    }
    return false;
}

// And nothing else is there: every "--word" at the beginning of a line of the help is in the table.
START_TEST(test_help_invents_nothing)
{
    for (size_t i = 0; hs_commands[i]; i++) {
        struct outcome help = run("$HEAPSONDE help %s", hs_commands[i]->name);
        for (char *line = strtok(help.output, "\n"); line; line = strtok(NULL, "\n")) {
            char *dashes = strstr(line, "--");
            bool begins = dashes && dashes - line <= 6 && line[0] == ' ';
            if (begins)
                ck_assert_msg(is_known(hs_commands[i], dashes + 2, strcspn(dashes + 2, " [")), "%s", line);
        }
        free_outcome(&help);
    }
}
END_TEST

// The database of the fleet has sums: it refuses filters of single blocks.
START_TEST(test_refused_filters_are_not_offered)
{
    struct outcome help = run("$HEAPSONDE help fleet");
    struct outcome refused = run("$HEAPSONDE fleet --size-min 1 growth clickhouse://localhost/none");
    ck_assert_int_eq(refused.status, 2);
    expect_word("the message", refused.errors, "size-min");
    ck_assert_ptr_null(strstr(help.output, "--size-min"));
    expect_word("the help", help.output, "--function-regex");
    free_outcome(&help);
    free_outcome(&refused);
}
END_TEST

static const char *example_value(const struct hs_option *option)
{
    static char word[64];
    switch (option->kind) {
    case HS_OPTION_CHOICE:
    case HS_OPTION_FILTER:
        if (!option->choices)
            return strstr(option->name, "custom") ? "" : strcmp(option->name, "where") ? "1" : "size>=1";
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(option->choices, " "), option->choices);
        return word;
    case HS_OPTION_SIZE:
        return "64K";
    case HS_OPTION_DURATION:
        return "1.5s";
    case HS_OPTION_PERCENT:
        return "2.5%";
    case HS_OPTION_INPUT:
        return "/proc/self/exe";
    case HS_OPTION_DIRECTORY:
        return "/";
    case HS_OPTION_MAPPING:
        return "/build=/home";
    default:
        return "1";
    }
}

static const struct hs_option *option_named(const struct hs_command *command, const char *name, size_t length)
{
    const struct hs_option *option = command->options;
    while (option->name && (strlen(option->name) != length || strncmp(option->name, name, length) != 0))
        option++;
    ck_assert_msg(option->name != NULL, "%s: %s needs an option that does not exist", command->name, name);
    return option;
}

enum { MOST_NEEDED = 4 };

// The options without which one is refused. Returns how many, and adds them with their values to the words.
static int add_needed(const struct hs_command *command, const struct hs_option *option, char **argv, int *count)
{
    static char words[MOST_NEEDED][64];
    int needed = 0;
    while (option->only_with) {
        ck_assert_int_lt(needed, MOST_NEEDED);
        option = option_named(command, option->only_with, strcspn(option->only_with, " "));
        bool flag = option->kind == HS_OPTION_FLAG || option->optional;
        snprintf(words[needed], sizeof(words[0]), "--%s%s%s", option->name, flag ? "" : "=",
                 flag ? "" : example_value(option));
        argv[(*count)++] = words[needed++];
    }
    return needed;
}

// Every option of the table is parsed, by its name and by its letter, and only once per command.
START_TEST(test_every_option_is_parsed)
{
    for (size_t i = 0; hs_commands[i]; i++) {
        const struct hs_command *command = hs_commands[i];
        for (const struct hs_option *option = command->options; option->name; option++) {
            char name[64];
            char letter[8];
            char value[64];
            bool flag = option->kind == HS_OPTION_FLAG || option->optional;
            snprintf(name, sizeof(name), "--%s", option->name);
            snprintf(letter, sizeof(letter), "-%c", option->letter);
            snprintf(value, sizeof(value), "%s", flag ? "operand" : example_value(option));
            for (char *spelling = name; spelling; spelling = option->letter && spelling == name ? letter : NULL) {
                char command_name[32];
                struct hs_arguments arguments;
                snprintf(command_name, sizeof(command_name), "%s", command->name);
                char operand[] = "operand";
                int operands = command->least_operands > 1 ? command->least_operands : command->most_operands != 0;
                int count = flag ? 2 : 3;
                char *argv[8 + MOST_NEEDED] = {command_name, spelling, value};
                const int needed = add_needed(command, option, argv, &count);
                for (int k = 0; k < operands; k++)
                    argv[count++] = operand;
                ck_assert_msg(hs_arguments__parse(&arguments, command, count, argv) == HS_PARSE_OK, "%s %s",
                              command->name, spelling);
                ck_assert_int_eq(arguments.given_count, 1 + needed);
                ck_assert_ptr_eq(arguments.given[0].option, option);
                ck_assert_int_eq(arguments.operand_count, operands);
                if (operands)
                    ck_assert_str_eq(arguments.operands[0], "operand");
                hs_arguments__free(&arguments);
            }
            for (const struct hs_option *other = command->options; other != option; other++)
                ck_assert(strcmp(other->name, option->name) && (!option->letter || other->letter != option->letter));
        }
    }
}
END_TEST

START_TEST(test_formats)
{
    char choices[256] = "";
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++) {
        strcat(choices, format->name);
        strcat(choices, " ");
    }
    ck_assert_str_eq(choices, HS_EXPORT_CHOICES);
}
END_TEST

// What fish itself makes of it, and zsh with its functions of completion replaced by such that print what they are
// given.
START_TEST(test_other_shells)
{
    struct outcome outcome = run("command -v fish >/dev/null && command -v zsh >/dev/null || exit 9; "
                                 "$HEAPSONDE help --fish-completion >complete.fish && HOME=$PWD fish --no-config -c "
                                 "'source complete.fish; complete -C \"heapsonde shims --path mips\" | cut -f 1; "
                                 "complete -C \"heapsonde ex\" | cut -f 1'");
    ck_assert_str_eq(outcome.errors, "");
    ck_assert_str_eq(outcome.output, "mips64\nmips64el\nexport\nextract\n");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE help --zsh-completion >_heapsonde && cat >try <<'END'\n"
                  "compadd() { }\n_describe() { known=($subcommands); print -rl -- $known }\n_arguments() { print -rl "
                  "-- \"$@\" }\n"
                  "words=(heapsonde '') CURRENT=2\n. ./_heapsonde\n"
                  "for name in ${known%%%%:*}; do words=(heapsonde $name '') CURRENT=3; _heapsonde; done\n"
                  "END\nzsh -f try");
    ck_assert_str_eq(outcome.errors, "");
    for (size_t i = 0; hs_commands[i]; i++) {
        expect_word("zsh's list", outcome.output, text("%s:%s\n", hs_commands[i]->name, hs_commands[i]->summary));
        for (const struct hs_option *option = hs_commands[i]->options; option->name; option++)
            expect_word("zsh's completion", outcome.output, text("--%s[", option->name));
    }
    free_outcome(&outcome);
}
END_TEST

static void expect_completion(const char *line, const char *expected)
{
    struct outcome outcome = run("$HEAPSONDE help --completion >completion && cat >try <<'END'\n"
                                 ". ./completion\nCOMP_WORDS=(%s '')\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                                 "_heapsonde\necho \"${COMPREPLY[*]}\"\nEND\nbash try",
                                 line);
    ck_assert_str_eq(outcome.errors, "");
    ck_assert_str_eq(outcome.output, text("%s\n", expected));
    free_outcome(&outcome);
}

START_TEST(test_completion)
{
    expect_completion("heapsonde report --sort", "live peak allocated temporary");
    char names[256] = "";
    for (size_t i = 0; hs_commands[i]; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? " " : "", hs_commands[i]->name);
    expect_completion("heapsonde export --format", HS_EXPORT_CHOICES HS_DUMP_OUTPUT_CHOICES " html");
    expect_completion("heapsonde help", names);
    expect_completion("heapsonde ctl 123", "list start stop dump status reset rate serve mark flush");
    // Also in a folder without such names, and in one with them.
    struct outcome process = run("$HEAPSONDE help --completion >completion && touch 1st && cat >try <<'END'\n"
                                 ". ./completion\nCOMP_WORDS=(heapsonde attach $$)\nCOMP_CWORD=2\n_heapsonde\n"
                                 "[[ \" ${COMPREPLY[*]} \" == *\" $$ \"* ]] && echo known\n"
                                 "COMP_WORDS[2]=1s\n_heapsonde\necho \"${#COMPREPLY[@]}\"\nEND\nbash try");
    ck_assert_str_eq(process.output, "known\n0\n");
    free_outcome(&process);
    expect_completion("heapsonde", text("%s --help --version", names));
}
END_TEST

START_TEST(test_manual_is_sound)
{
    struct outcome outcome = run("$HEAPSONDE help --man >page.1; command -v man >/dev/null || exit 9; "
                                 "man --warnings -l page.1 2>&1 >/dev/null");
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.output, "");
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_documents");
    TCase *tests = tcase_create("cli_documents");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_test(tests, test_every_option_is_everywhere);
    tcase_add_test(tests, test_help_invents_nothing);
    tcase_add_test(tests, test_refused_filters_are_not_offered);
    tcase_add_test(tests, test_every_option_is_parsed);
    tcase_add_test(tests, test_formats);
    tcase_add_test(tests, test_completion);
    tcase_add_test(tests, test_other_shells);
    tcase_add_test(tests, test_manual_is_sound);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
