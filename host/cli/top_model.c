// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/top_model.h"

#include "host/cli/answer_value.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hs_top_model__free(struct hs_top_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        free(model->row[i].name);
    free(model->row);
    free(model->shown);
    *model = (struct hs_top_model){0};
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static size_t place_of(const struct hs_top_model *model, const char *name, bool *found)
{
    size_t low = 0, high = model->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(model->row[middle].name, name);
        *found = !order;
        if (!order)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = false;
    return low;
}

// A row that was not there before had nothing then, and had nothing at the mark.
static struct hs_top_row *row_of(struct hs_top_model *model, const char *name)
{
    bool found;
    const size_t place = place_of(model, name, &found);
    if (found)
        return &model->row[place];
    if (model->count == model->room) {
        const size_t room = 2 * model->room + 64;
        struct hs_top_row *grown = reallocarray(model->row, room, sizeof(*grown));
        if (!grown)
            return NULL;
        model->row = grown;
        model->room = room;
    }
    char *copy = strdup(name);
    if (!copy)
        return NULL;
    memmove(&model->row[place + 1], &model->row[place], (model->count - place) * sizeof(*model->row));
    model->row[place] = (struct hs_top_row){.name = copy};
    model->count++;
    return &model->row[place];
}

// ---- answers --------------------------------------------------------------------------------------------------------

static void read_pair(const struct hs_answer_value *costs, const char *cost, uint64_t *bytes, uint64_t *count)
{
    const struct hs_answer_value *pair = hs_answer_value__member(costs, cost);
    const bool whole =
        pair && pair->kind == HS_ANSWER_ARRAY && pair->count == 2 && pair->first->text && pair->first->next->text;
    *bytes = whole ? strtoull(pair->first->text, NULL, 10) : 0;
    *count = whole ? strtoull(pair->first->next->text, NULL, 10) : 0;
}

static struct hs_top_sums read_sums(const struct hs_answer_value *costs)
{
    struct hs_top_sums sums;
    read_pair(costs, "live", &sums.live_bytes, &sums.live_count);
    read_pair(costs, "allocated", &sums.all_bytes, &sums.all_count);
    return sums;
}

static const char *text_of(const struct hs_answer_value *row, const char *member)
{
    const struct hs_answer_value *value = hs_answer_value__member(row, member);
    return value && value->text && value->kind == HS_ANSWER_STRING ? value->text : "";
}

char *hs_top_name(const char *key, const char *library, const char *line)
{
    char *name = NULL;
    size_t length;
    FILE *out = open_memstream(&name, &length);
    if (!out)
        return NULL;
    hs_text__print(out, *key ? key : "unknown", *key ? strlen(key) : 7);
    if (line && strcmp(line, "null") != 0 && strcmp(line, "0") != 0)
        fprintf(out, ":%s", line);
    if (*library && strcmp(library, key) != 0 && strncmp(key, library, strlen(library)) != 0) {
        fputs(" (", out);
        hs_text__print(out, library, strlen(library));
        fputc(')', out);
    }
    return fclose(out) ? NULL : name;
}

static char *name_of(const struct hs_answer_value *row)
{
    const struct hs_answer_value *line = hs_answer_value__member(row, "line");
    return hs_top_name(text_of(row, "key"), text_of(row, "library"), line ? line->text : NULL);
}

// Two modules may have functions of one name.
static int add_sums(struct hs_top_model *model, const char *name, const struct hs_top_sums *sums)
{
    struct hs_top_row *row = row_of(model, name);
    if (!row)
        return -ENOMEM;
    row->now = (struct hs_top_sums){row->now.live_bytes + sums->live_bytes, row->now.live_count + sums->live_count,
                                    row->now.all_bytes + sums->all_bytes, row->now.all_count + sums->all_count};
    row->is_there = true;
    return 0;
}

static int take_row(struct hs_top_model *model, const struct hs_answer_value *value)
{
    const struct hs_answer_value *self = hs_answer_value__member(value, "self");
    self = self ? self : hs_answer_value__member(value, "total");
    const struct hs_top_sums sums = self ? read_sums(self) : (struct hs_top_sums){0};
    char *name = name_of(value);
    const int result = name ? add_sums(model, name, &sums) : -ENOMEM;
    free(name);
    return result;
}

static double rate(uint64_t now, uint64_t before, uint64_t ns)
{
    return ns && now > before ? (double)(now - before) * 1e9 / (double)ns : 0;
}

static void begin(struct hs_top_model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        model->row[i].before = model->row[i].now;
        model->row[i].now = (struct hs_top_sums){0};
        model->row[i].is_there = false;
    }
}

static void end(struct hs_top_model *model, const struct hs_top_sums *sum, uint64_t time_ns)
{
    const uint64_t ns = model->has_answer && time_ns > model->time_ns ? time_ns - model->time_ns : 0;
    for (size_t i = 0; i < model->count; i++) {
        struct hs_top_row *row = &model->row[i];
        row->bytes_per_second = rate(row->now.all_bytes, row->before.all_bytes, ns);
        row->blocks_per_second = rate(row->now.all_count, row->before.all_count, ns);
    }
    model->bytes_per_second = rate(sum->all_bytes, model->sum.all_bytes, ns);
    model->blocks_per_second = rate(sum->all_count, model->sum.all_count, ns);
    model->sum = *sum;
    model->time_ns = time_ns;
    if (!model->has_answer)
        hs_top_model__mark(model);
    model->has_answer = true;
}

static int take(struct hs_top_model *model, const struct hs_answer_value *answer, uint64_t time_ns)
{
    const struct hs_answer_value *rows = hs_answer_value__member(answer, "rows");
    const struct hs_answer_value *sum = hs_answer_value__member(answer, "sum");
    if (!rows || rows->kind != HS_ANSWER_ARRAY || !sum || sum->kind != HS_ANSWER_OBJECT)
        return -EINVAL;
    begin(model);
    int result = 0;
    for (const struct hs_answer_value *row = rows->first; row && !result; row = row->next)
        result = row->kind == HS_ANSWER_OBJECT ? take_row(model, row) : -EINVAL;
    const struct hs_top_sums sums = read_sums(sum);
    if (!result)
        end(model, &sums, time_ns);
    return result;
}

int hs_top_model__take(struct hs_top_model *model, char *totals, uint64_t time_ns)
{
    struct hs_answer_values *values = NULL;
    struct hs_answer_value *answer;
    int result = hs_answer_values__read(&values, totals, &answer);
    if (!result)
        result = answer->kind == HS_ANSWER_OBJECT ? take(model, answer, time_ns) : -EINVAL;
    hs_answer_values__free(values);
    return result;
}

int hs_top_model__take_known(struct hs_top_model *model, const struct hs_top_known *rows, size_t count,
                             const struct hs_top_sums *sum, uint64_t time_ns)
{
    int result = 0;
    begin(model);
    for (size_t i = 0; i < count && !result; i++)
        result = add_sums(model, rows[i].name, &rows[i].sums);
    if (!result)
        end(model, sum, time_ns);
    return result;
}

void hs_top_model__rest(struct hs_top_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        model->row[i].bytes_per_second = model->row[i].blocks_per_second = 0;
    model->bytes_per_second = model->blocks_per_second = 0;
}

void hs_top_model__mark(struct hs_top_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        model->row[i].marked = model->row[i].now;
    model->marked = model->sum;
    model->marked_ns = model->time_ns;
}

// ---- lists ----------------------------------------------------------------------------------------------------------

int64_t hs_top_row__grew(const struct hs_top_row *row)
{
    return (int64_t)(row->now.live_bytes - row->marked.live_bytes);
}

struct model_order {
    const struct hs_top_row *row;
    enum hs_top_sort sort;
};

static double value_of(const struct hs_top_row *row, enum hs_top_sort sort)
{
    switch (sort) {
    case HS_TOP_GREW:
        return (double)hs_top_row__grew(row);
    case HS_TOP_LIVE:
        return (double)row->now.live_bytes;
    case HS_TOP_CHURN:
        return row->bytes_per_second;
    case HS_TOP_CALLS:
        return row->blocks_per_second;
    default:
        return 0;
    }
}

static int compare(const void *left, const void *right, void *context)
{
    const struct model_order *order = context;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const double first = value_of(&order->row[a], order->sort), second = value_of(&order->row[b], order->sort);
    if (first > second || first < second)
        return first < second ? 1 : -1;
    return (a > b) - (a < b);
}

int hs_top_model__list(struct hs_top_model *model, enum hs_top_sort sort, const char *contains, const size_t **rows,
                       size_t *count)
{
    size_t *shown = reallocarray(model->shown, model->count + 1, sizeof(*shown));
    if (!shown)
        return -ENOMEM;
    model->shown = shown;
    model->shown_count = 0;
    for (size_t i = 0; i < model->count; i++)
        if ((model->row[i].is_there || model->row[i].marked.live_bytes) &&
            (!*contains || strcasestr(model->row[i].name, contains)))
            shown[model->shown_count++] = i;
    struct model_order order = {model->row, sort};
    qsort_r(shown, model->shown_count, sizeof(*shown), compare, &order);
    *rows = shown;
    *count = model->shown_count;
    return 0;
}

uint64_t hs_top_pause(uint64_t every, uint64_t used)
{
    enum { SHARE = 50 };
    static const uint64_t longest = 5000000000u;
    const uint64_t wanted = used < longest / SHARE ? used * SHARE : longest;
    return wanted > every ? wanted : every;
}
