// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/answer_text.h"
#include "host/cli/commands.h"
#include "host/cli/progress.h"
#include "host/cli/subject.h"
#include "host/rest/rest.h"
#include "host/rest/state.h"
#include "host/server/uri.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_escaped(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char letter = (unsigned char)text[i];
        if (isalnum(letter) || strchr("-._~", letter))
            fputc(letter, out);
        else
            fprintf(out, "%%%02X", letter);
    }
}

// Makes the path and query that a client of the server would send.
static char *make_address(const struct hs_arguments *arguments)
{
    char *address = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&address, &size);
    if (!out)
        return NULL;
    const char *question = arguments->operands[1];
    fprintf(out, "/data/last/%s", question);
    bool has_query = strchr(question, '?') != NULL;
    for (int i = 2; i < arguments->operand_count; i++) {
        const char *word = arguments->operands[i];
        const size_t name = strcspn(word, "=");
        fputc(has_query ? '&' : '?', out);
        write_escaped(out, word, name);
        if (word[name]) {
            fputc('=', out);
            write_escaped(out, word + name + 1, strlen(word + name + 1));
        }
        has_query = true;
    }
    if (fclose(out)) {
        free(address);
        return NULL;
    }
    return address;
}

static int read_trace(struct hs_rest *rest, const char *path, struct hs_error *error)
{
    char what[256];
    struct hs_progress progress;
    snprintf(what, sizeof(what), "reading %s", path);
    hs_progress__start(&progress, what, false);
    const struct hs_query_control control = {.progress = hs_progress__update, .context = &progress};
    const int result = hs_rest__add(rest, path, &control, error);
    hs_progress__end(&progress);
    return result;
}

// ---- another trace to compare with ----------------------------------------------------------------------------------

// The file that `base` names; NULL: the question is about one trace alone.
static const char *base_of(const struct hs_uri *uri)
{
    const bool compares =
        uri->segments > 2 && (!strcmp(uri->segment[2], "diff") || !strcmp(uri->segment[2], "diff_tree"));
    const char *base = compares ? hs_uri__value(uri, "base") : NULL;
    return base && strcmp(base, "last") ? base : NULL;
}

static void write_query(FILE *out, const struct hs_uri *uri, const char *base)
{
    for (size_t i = 0; i < uri->parameters; i++) {
        const struct hs_uri_parameter *parameter = &uri->parameter[i];
        const char *value = strcmp(parameter->name, "base") ? parameter->value : base;
        fputc(i ? '&' : '?', out);
        write_escaped(out, parameter->name, strlen(parameter->name));
        fputc('=', out);
        write_escaped(out, value, strlen(value));
    }
}

// Opens the other trace and names it by its id instead of its file.
static int read_base(struct hs_rest *rest, const struct hs_uri *uri, char **address, struct hs_error *error)
{
    char *named = NULL;
    size_t size = 0;
    int result = read_trace(rest, base_of(uri), error);
    if (result)
        return result;
    FILE *out = open_memstream(&named, &size);
    if (!out)
        return hs_error__set(error, ENOMEM, "out of memory");
    fprintf(out, "/data/last/%s", uri->segment[2]);
    write_query(out, uri, hs_rest__last_id(rest));
    if (fclose(out)) {
        free(named);
        return hs_error__set(error, ENOMEM, "out of memory");
    }
    free(*address);
    *address = named;
    return 0;
}

// What can be asked of the traces that the question names: the last one is what it is about.
static int read_traces(struct hs_rest *rest, const struct hs_arguments *arguments, char **address,
                       struct hs_error *error)
{
    struct hs_uri uri;
    int result = hs_uri__parse(&uri, *address, error);
    if (result)
        return result;
    if (base_of(&uri))
        result = read_base(rest, &uri, address, error);
    const bool has_base = base_of(&uri);
    hs_uri__free(&uri);
    if (!result)
        result = read_trace(rest, arguments->operands[0], error);
    // A trace may be compared with itself.
    return result == -EEXIST && has_base ? 0 : result;
}

// The answer as text for people.
static int ask_for_text(struct hs_rest *rest, const char *address, struct hs_error *error)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_rest__ask(rest, address, out, error);
    if (fclose(out) && !result)
        result = hs_error__set(error, ENOMEM, "out of memory");
    struct hs_rest_state *state = hs_rest__hold_state(rest);
    const char *clock = state ? hs_store__info(state->store, "clock") : NULL;
    if (!result && hs_answer_text__write(text, length, clock, stdout))
        result = hs_error__set(error, ENOMEM, "the answer could not be written as text");
    if (state)
        hs_rest__release_state(state);
    free(text);
    return result;
}

static int answer(const struct hs_arguments *arguments, const struct hs_symbols_options *symbols, char **address)
{
    struct hs_error error = {.message = ""};
    struct hs_rest *rest = hs_rest__create(symbols, HS_REST_ONE_QUESTION);
    int result = rest && *address ? 0 : hs_error__set(&error, ENOMEM, "out of memory");
    if (!result)
        result = read_traces(rest, arguments, address, &error);
    if (!result)
        result = hs_arguments__flag(arguments, "text") ? ask_for_text(rest, *address, &error)
                                                       : hs_rest__ask(rest, *address, stdout, &error);
    if (!result && fflush(stdout))
        result = hs_error__set(&error, errno, "standard output: %s", strerror(errno));
    if (result < 0)
        hs_complain(arguments->command, "%s", error.message);
    hs_rest__destroy(rest);
    return result == -EINVAL ? HS_EXIT_USAGE : result ? HS_EXIT_FAILURE : HS_EXIT_OK;
}

static int ask(const struct hs_arguments *arguments)
{
    struct hs_symbols_options symbols;
    if (arguments->operand_count < 2) {
        hs_complain(arguments->command, "the question about %s is missing; give one of:", arguments->operands[0]);
        hs_rest__write_questions(stderr);
        return HS_EXIT_USAGE;
    }
    int status = HS_EXIT_FAILURE;
    if (!hs_symbols_options__read(&symbols, arguments)) {
        char *address = make_address(arguments);
        status = answer(arguments, &symbols, &address);
        free(address);
    }
    hs_symbols_options__free(&symbols);
    return status;
}

static const struct hs_option options[] = {
    {.name = "text", .kind = HS_OPTION_FLAG, .help = "print tables and trees for people instead of JSON"},
    HS_SYMBOL_OPTIONS,
    HS_MEMORY_OPTION,
    {0}};

const struct hs_command hs_command_ask = {
    .name = "ask",
    .synopsis = "[OPTIONS] FILE QUESTION [NAME=VALUE...]",
    .summary = "answer one of the server's questions about a trace",
    .description =
        "Prints the answer that 'heapsonde server' would give, without a server. QUESTION is the part of the server's "
        "path after /data/ID/, with or without a query; the following words are further parameters. Example: heapsonde "
        "ask trace.dat totals by=library sort_by=self.live.bytes. The base of 'diff' and 'diff_tree' is another "
        "trace's file. Nearly all answers are JSON with sizes in bytes; --text prints tables and trees for people. "
        "Without a question, it lists all questions. docs/server.md and "
        "'heapsonde server --openapi' describe the answers.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = -1,
    .options = options,
    .run = ask,
};
