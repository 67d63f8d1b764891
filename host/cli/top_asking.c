// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/top_asking.h"

#include "host/base/path.h"
#include "host/cli/answer_value.h"
#include "host/report/text.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROWS = 20000, PATIENCE = 1 }; // seconds

static uint64_t number_in(const struct hs_answer_value *object, const char *name)
{
    const struct hs_answer_value *value = hs_answer_value__member(object, name);
    return value && value->text ? strtoull(value->text, NULL, 10) : 0;
}

static void write_safely(char *to, size_t size, const char *text)
{
    char *safe = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&safe, &length);
    if (!out)
        return;
    hs_text__print(out, text, strlen(text));
    if (!fclose(out))
        snprintf(to, size, "%s", safe);
    free(safe);
}

static void copy_text(char *to, size_t size, const struct hs_answer_value *object, const char *name)
{
    const struct hs_answer_value *value = hs_answer_value__member(object, name);
    write_safely(to, size, hs_path__name(value && value->text ? value->text : ""));
}

static int take_summary(struct hs_top_asking *asking, char *text, uint64_t *time_ns)
{
    struct hs_answer_values *values = NULL;
    struct hs_answer_value *answer;
    int result = hs_answer_values__read(&values, text, &answer);
    if (!result) {
        *time_ns = number_in(answer, "duration_ns");
        asking->about.peak_bytes = number_in(answer, "peak_bytes");
        copy_text(asking->about.program, sizeof(asking->about.program), answer, "program");
        copy_text(asking->about.state, sizeof(asking->about.state), answer, "state");
        copy_text(asking->about.clock, sizeof(asking->about.clock), answer, "clock");
    }
    hs_answer_values__free(values);
    return result;
}

static int ask_summary(struct hs_top_asking *asking, uint64_t *time_ns)
{
    char *text = NULL;
    int result = hs_top_source__ask(asking->source, "summary", &text, &asking->error);
    if (!result && take_summary(asking, text, time_ns))
        result =
            hs_error__set(&asking->error, EPROTO, "the answer is not that of 'heapsonde server'; check the address");
    free(text);
    return result;
}

static int ask_rows(struct hs_top_asking *asking)
{
    char question[160];
    snprintf(question, sizeof(question), "totals?by=%s&sort_by=%s.live.bytes&order=dsc&count=%d", asking->by,
             strcmp(asking->by, "thread") ? "self" : "total", MOST_ROWS);
    return hs_top_source__ask(asking->source, question, &asking->rows, &asking->error);
}

// What is told about the trace as a whole has to be known already.
static bool take_known(struct hs_top_asking *asking)
{
    struct hs_top_rows *rows = &asking->kept;
    if (asking->has_gone_on || !*asking->about.state || !hs_top_source__rows(asking->source, asking->by, rows))
        return false;
    if (rows->peak_bytes > asking->about.peak_bytes)
        asking->about.peak_bytes = rows->peak_bytes;
    // After an answer as a whole, which is of a later time, they are behind.
    if (asking->has_answer && (!rows->is_new || rows->time_ns < asking->time_ns))
        return true;
    asking->time_ns = rows->time_ns;
    asking->known = rows;
    return true;
}

static int ask(struct hs_top_asking *asking)
{
    uint64_t time_ns = 0;
    struct hs_error none = {.message = ""};
    asking->has_gone_on = asking->goes_on && !hs_top_source__next(asking->source, &none);
    if (take_known(asking))
        return 0;
    const int result = ask_summary(asking, &time_ns);
    const bool rests = !result && !asking->has_gone_on && asking->has_answer && time_ns == asking->time_ns;
    asking->time_ns = time_ns;
    return result || rests ? result : ask_rows(asking);
}

static void *work(void *context)
{
    struct hs_top_asking *asking = context;
    struct hs_top_source *source = asking->source;
    asking->result = ask(asking);
    if (!source->name || !*source->name)
        hs_top_source__learn_name(source);
    write_safely(asking->about.device, sizeof(asking->about.device), source->name ? source->name : "");
    asking->about.place = source->place;
    asking->about.of = source->of;
    atomic_store(&asking->is_done, true);
    return NULL;
}

void hs_top_asking__start(struct hs_top_asking *asking)
{
    sigset_t all, before;
    asking->rows = NULL;
    asking->known = NULL;
    asking->error.message[0] = asking->about.device[0] = 0;
    atomic_init(&asking->is_done, false);
    // Signals are the screen's.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    asking->runs = !pthread_create(&asking->thread, NULL, work, asking);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!asking->runs)
        work(asking);
}

bool hs_top_asking__is_done(struct hs_top_asking *asking)
{
    return atomic_load(&asking->is_done);
}

void hs_top_asking__end(struct hs_top_asking *asking)
{
    if (asking->runs)
        pthread_join(asking->thread, NULL);
    asking->runs = false;
}

// A file that is being read has temporary files, which cancelling removes; a server need not be waited for.
bool hs_top_asking__give_up(struct hs_top_asking *asking)
{
    struct timespec until;
    hs_top_source__give_up(asking->source);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += asking->source->host ? 0 : PATIENCE;
    if (asking->runs && pthread_timedjoin_np(asking->thread, NULL, &until))
        return false;
    asking->runs = false;
    free(asking->rows);
    asking->rows = NULL;
    return true;
}
