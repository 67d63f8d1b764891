// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/run_check.h"

#include "host/cli/baseline.h"
#include "host/cli/find_trace.h"

#include <stdlib.h>
#include <string.h>

int hs_run_check__read(const struct hs_arguments *arguments)
{
    struct hs_fail_if fail_if;
    int status = hs_fail_if__read(&fail_if, arguments);
    hs_fail_if__free(&fail_if);
    return status ? status : hs_baseline__look(arguments);
}

static int check_trace(const struct hs_arguments *arguments, const struct hs_fail_if *fail_if, char *path,
                       struct hs_verdicts *verdicts)
{
    struct hs_opened opened;
    char *operands[] = {path, NULL};
    struct hs_arguments one = *arguments;
    one.operands = operands;
    one.operand_count = 1;
    int status = hs_opened__open(&opened, &one);
    if (status)
        return status;
    status = hs_fail_if__check(fail_if, &one, &opened, verdicts);
    int grew = hs_baseline__check(&one, &opened, verdicts);
    status = status ? status : grew;
    hs_opened__close(&opened);
    return status;
}

int hs_run_check__failed(const struct hs_arguments *arguments, const struct hs_recording *recording, const char *reason)
{
    struct hs_verdicts verdicts = {0};
    hs_verdicts__add(&verdicts, "recording", strdup(reason), NULL);
    int result = hs_verdicts__publish(&verdicts, arguments, recording->program, recording->pid, recording->seconds);
    hs_verdicts__free(&verdicts);
    return result;
}

static void add_ending(struct hs_verdicts *verdicts, const struct hs_recording *recording)
{
    char ending[64], *reason = NULL;
    hs_recording__ending(recording, ending, sizeof(ending));
    if (!recording->status || asprintf(&reason, "the program %s", ending) > 0)
        hs_verdicts__add(verdicts, "exit status", reason, NULL);
}

int hs_run_check(const struct hs_arguments *arguments, const struct hs_recording *recording)
{
    struct hs_fail_if fail_if;
    struct hs_found_traces found;
    struct hs_verdicts verdicts = {0};
    bool publishes = hs_arguments__flag(arguments, "junit") || hs_arguments__flag(arguments, "annotate");
    int result = hs_fail_if__read(&fail_if, arguments);
    bool checks = fail_if.count || hs_arguments__flag(arguments, "baseline");
    if (result || (!checks && !publishes)) {
        hs_fail_if__free(&fail_if);
        return result;
    }
    hs_find_traces(&found, recording->pattern, recording->pid, &recording->started, recording->follows_children);
    add_ending(&verdicts, recording);
    if (checks && found.path) {
        result = check_trace(arguments, &fail_if, found.path, &verdicts);
    } else if (checks) {
        result = HS_EXIT_FAILURE;
        hs_complain(arguments->command, "the conditions cannot be checked: %s wrote no trace to %s", recording->program,
                    recording->pattern);
    }
    int published = hs_verdicts__publish(&verdicts, arguments, recording->program, recording->pid, recording->seconds);
    hs_verdicts__free(&verdicts);
    hs_found_traces__free(&found);
    hs_fail_if__free(&fail_if);
    return result ? result : published;
}
