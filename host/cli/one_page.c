// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/one_page.h"

#include "host/cli/progress.h"
#include "host/cli/subject.h"
#include "host/rest/rest.h"

#include <errno.h>
#include <string.h>

static int write_page(const struct hs_arguments *arguments, const struct hs_symbols_options *symbols,
                      const struct hs_suppressions *suppressions, FILE *out, struct hs_error *error)
{
    const char *path = arguments->operands[0];
    struct hs_progress progress;
    struct hs_rest *rest = hs_rest__create(symbols, HS_REST_ONE_QUESTION);
    if (!rest)
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    hs_rest__suppress(rest, suppressions);
    hs_progress__start(&progress, "reading", false);
    const struct hs_query_control control = {.progress = hs_progress__update, .context = &progress};
    int result = hs_rest__add(rest, path, &control, error);
    hs_progress__end(&progress);
    if (!result)
        result = hs_rest__write_report(rest, hs_rest__last_id(rest), path, out, error);
    if (!result && (fflush(out) || ferror(out)))
        result = hs_error__set(error, EIO, "the page could not be written: %s", strerror(errno ? errno : EIO));
    hs_rest__destroy(rest);
    return result;
}

int hs_write_page(const struct hs_arguments *arguments, const struct hs_suppressions *suppressions, FILE *out)
{
    struct hs_symbols_options symbols;
    struct hs_error error = {.message = ""};
    if (!hs_filter_parameters__are_empty(&arguments->filter)) {
        hs_complain(arguments->command, "the page is about the whole trace; leave out the filters");
        return HS_EXIT_USAGE;
    }
    int result = hs_symbols_options__read(&symbols, arguments)
                     ? hs_error__set(&error, ENOMEM, "%s: out of memory", arguments->operands[0])
                     : write_page(arguments, &symbols, suppressions, out, &error);
    if (result)
        hs_complain(arguments->command, "%s", error.message);
    hs_symbols_options__free(&symbols);
    return result ? HS_EXIT_FAILURE : HS_EXIT_OK;
}
