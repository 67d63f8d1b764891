// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/asking.h"

#include "host/fleet/rollup.h"
#include "host/fleet/schema.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STALE_SECONDS = 300 };

// One rollup at a time: a question that comes meanwhile waits for it.
static pthread_mutex_t rolling = PTHREAD_MUTEX_INITIALIZER;

static int ask(struct hs_database *database, const struct hs_fleet_question *question,
               const struct hs_fleet_slice *slice, struct hs_buffer *answer, struct hs_error *error)
{
    char *statement = hs_fleet_question__statement(question, slice);
    int failed = statement ? hs_database__ask(database, statement, answer, error)
                           : hs_error__set(error, ENOMEM, "out of memory");
    free(statement);
    return failed;
}

// Times that devices report do not count: the clocks of some were never set, and traces are also loaded later. Rows may
// be inserted a little after they were written.
static bool has_news(int64_t now, int64_t written, int64_t made)
{
    return now - made > STALE_SECONDS && written > made - STALE_SECONDS;
}

struct rollup_state {
    bool is_there, is_stale;
};

static int look(struct hs_database *database, struct rollup_state *state, struct hs_error *error)
{
    struct hs_buffer answer = {0};
    char *field[4] = {"0", "0", "0", "0"};
    const struct hs_fleet_slice all = {.top = 1};
    int failed = ask(database, &hs_fleet_staleness, &all, &answer, error);
    struct hs_tsv table = hs_tsv__begin(&answer);
    state->is_there = !failed && hs_tsv__next(&table, field, 4) && strtoull(field[3], NULL, 10);
    state->is_stale = !state->is_there ||
                      has_news(strtoll(field[0], NULL, 10), strtoll(field[1], NULL, 10), strtoll(field[2], NULL, 10));
    hs_buffer__free(&answer);
    return failed;
}

static int wait_for_turn(const struct hs_database *database, struct hs_error *error)
{
    const struct timespec step = {.tv_nsec = 20000000};
    while (pthread_mutex_trylock(&rolling)) {
        if (hs_database__is_cancelled(database))
            return hs_error__set(error, ECANCELED, "cancelled");
        nanosleep(&step, NULL);
    }
    return 0;
}

// While somebody else makes a rollup, which may take minutes, the one before is good enough.
static int freshen(struct hs_database *database, uint64_t least, bool anew, struct hs_error *error)
{
    struct rollup_state state;
    int failed = look(database, &state, error);
    if (failed || !(state.is_stale || anew))
        return failed;
    if (pthread_mutex_trylock(&rolling)) {
        if (state.is_there && !anew)
            return 0;
        failed = wait_for_turn(database, error);
        if (failed)
            return failed;
    }
    failed = look(database, &state, error);
    if (!failed && (state.is_stale || anew))
        failed = hs_fleet_rollup__make(database, least, error);
    pthread_mutex_unlock(&rolling);
    return failed;
}

int hs_fleet__ask(struct hs_database *database, const struct hs_fleet_question *question,
                  const struct hs_fleet_slice *slice, bool anew, struct hs_buffer *answer, struct hs_error *error)
{
    int failed = hs_fleet_schema__check(database, error);
    if (!failed && question->rolled)
        failed = freshen(database, slice->least, anew, error);
    return failed ? failed : ask(database, question, slice, answer, error);
}

int hs_fleet__count_devices(struct hs_database *database, const struct hs_fleet_slice *slice, uint64_t *devices,
                            struct hs_error *error)
{
    struct hs_buffer answer = {0};
    char *field[1] = {"0"};
    int failed = ask(database, &hs_fleet_device_count, slice, &answer, error);
    struct hs_tsv table = hs_tsv__begin(&answer);
    *devices = !failed && hs_tsv__next(&table, field, 1) ? strtoull(field[0], NULL, 10) : 0;
    hs_buffer__free(&answer);
    return failed;
}

void hs_fleet_row__write(struct hs_json *json, const struct hs_fleet_question *question, char *const *field)
{
    for (size_t i = 0; question->columns[i]; i++) {
        if (hs_fleet_column__is_number(question->columns[i]))
            hs_json__raw(json, question->columns[i], field[i], strlen(field[i]));
        else
            hs_json__string(json, question->columns[i], field[i]);
    }
}

void hs_fleet_stack__write(struct hs_json *json, const char *key, const struct hs_fleet_stack *stack, size_t most)
{
    hs_json__open_array(json, key);
    for (size_t i = 0; stack && i < stack->count && i < most; i++) {
        const struct hs_fleet_frame *frame = &stack->frames[i];
        hs_json__open_object(json, NULL);
        hs_json__string(json, "function", *frame->function ? frame->function : NULL);
        hs_json__string(json, "source", *frame->file ? frame->file : NULL);
        hs_json__number(json, "line", frame->line);
        hs_json__string(json, "library", *frame->module ? frame->module : NULL);
        hs_json__number(json, "offset", frame->offset);
        hs_json__boolean(json, "is_inline", frame->inlined);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
}
