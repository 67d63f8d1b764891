// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/budget_write.h"

#include "host/report/style.h"
#include "host/report/text.h"

static const struct hs_budget_words {
    const char *id, *name, *meaning;
} words[HS_BUDGET_PARTS] = {
    [HS_BUDGET_TOUCHED] = {"live_touched", "live blocks, touched",
                           "the requested bytes of live blocks, as far as they were used"},
    [HS_BUDGET_ADDED] =
        {"allocator", "added to live blocks",
         "bytes that the allocator adds to these blocks: sizes rounded up, and a header in front of each"},
    [HS_BUDGET_FREED] = {"freed", "freed, still resident",
                         "pages of the heap that no live block fills: freed blocks, holes, and space at its end"},
    [HS_BUDGET_MAPPED] = {"mapped", "mapped by the program",
                          "mappings that the program and its libraries made with mmap"},
    [HS_BUDGET_CODE] = {"code", "code and main stack",
                        "the program, its libraries with their variables, and the stack of the main thread"},
    [HS_BUDGET_REST] = {"rest", "the rest",
                        "stacks of other threads, data of the loader, the allocator and the recorder, files"},
};
// Where the trace says where stacks are.
static const struct hs_budget_words code_and_stacks = {
    "code", "code and stacks", "the program, its libraries with their variables, and the stacks of threads"};
static const struct hs_budget_words rest_without_stacks = {
    "rest", "the rest",
    "data of the loader, the allocator and the recorder, files, stacks of threads that allocated nothing"};

static const struct hs_budget_words *words_of(const struct hs_budget *budget, int part)
{
    return !budget->has_stacks      ? &words[part]
           : part == HS_BUDGET_CODE ? &code_and_stacks
           : part == HS_BUDGET_REST ? &rest_without_stacks
                                    : &words[part];
}

// ---- text ----------------------------------------------------------------------------------------------------------

static void print_row(FILE *out, const char *name, uint64_t peak, uint64_t end)
{
    fprintf(out, "  %-24s %12s %12s\n", name, hs_text__bytes(peak).text, hs_text__bytes(end).text);
}

static void print(FILE *out, const struct hs_budgets *budgets, bool is_attached)
{
    const struct hs_style *style = hs_style__for(out);
    const struct hs_budget *peak = &budgets->peak, *end = &budgets->end;
    fprintf(out, "\n%sWhy resident memory is what it is%s (largest after %s)\n", style->heading, style->plain,
            hs_text__time(peak->time).text);
    fprintf(out, "  %-24s %12s %12s\n", "", "largest", "at the end");
    for (int i = 0; i < HS_BUDGET_PARTS; i++)
        print_row(out, words_of(peak, i)->name, peak->part[i], end->part[i]);
    print_row(out, "all that is resident", peak->resident, end->resident);
    print_row(out, "live blocks, not touched", peak->live - peak->part[HS_BUDGET_TOUCHED],
              end->live - end->part[HS_BUDGET_TOUCHED]);
    if (is_attached)
        fputs(
            "  Only pages that became resident after the recording had begun are known. Blocks that are older than it\n"
            "  count as freed, or as the rest.\n",
            out);
}

int hs_report__budget(FILE *out, const struct hs_subject *subject)
{
    struct hs_budgets budgets;
    struct hs_error error;
    if (!hs_budget__is_known(subject->store) || subject->restriction)
        return 0;
    int result = hs_budgets__make(&budgets, subject->store, NULL, &error);
    if (!result)
        print(out, &budgets, hs_store__info(subject->store, "attached") != NULL);
    return result;
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

static void write_budget(struct hs_json *json, const char *key, const struct hs_budget *budget)
{
    hs_json__open_object(json, key);
    hs_json__number(json, "time_ns", budget->time);
    hs_json__number(json, "resident_bytes", budget->resident);
    hs_json__number(json, "live_bytes", budget->live);
    hs_json__number(json, "live_untouched_bytes", budget->live - budget->part[HS_BUDGET_TOUCHED]);
    hs_json__open_array(json, "parts");
    for (int i = 0; i < HS_BUDGET_PARTS; i++) {
        hs_json__open_object(json, NULL);
        hs_json__string(json, "id", words_of(budget, i)->id);
        hs_json__string(json, "name", words_of(budget, i)->name);
        hs_json__string(json, "meaning", words_of(budget, i)->meaning);
        hs_json__number(json, "bytes", budget->part[i]);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__close_object(json);
}

void hs_budgets__json(struct hs_json *json, const struct hs_budgets *budgets)
{
    write_budget(json, "peak", &budgets->peak);
    write_budget(json, "end", &budgets->end);
}

int hs_report__budget_json(struct hs_json *json, const struct hs_subject *subject)
{
    struct hs_budgets budgets;
    struct hs_error error;
    if (!hs_budget__is_known(subject->store))
        return 0;
    if (subject->restriction) {
        hs_json__null(json, "resident");
        return 0;
    }
    int result = hs_budgets__make(&budgets, subject->store, NULL, &error);
    if (result)
        return result;
    hs_json__open_object(json, "resident");
    hs_budgets__json(json, &budgets);
    hs_json__close_object(json);
    return 0;
}
