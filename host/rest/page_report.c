// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A report that is one file: the page with the answers to the questions that its views ask at first.
#include "host/base/path.h"
#include "host/rest/answers.h"
#include "host/rest/rest.h"
#include "host/rest/write.h"
#include "host/webui/one_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES  ((size_t)5 << 20)
#define FLAME       "?format=columns&nodes=20000&least=0.001&depth=10000&children=100000&cost="
#define SECOND_HALF "?base_at=50%25&at=100%25"
#define TREE        "?format=columns&nodes=10000&least=0.002&depth=10000&children=100000&cost="

// In the order of importance. What there is no room for, and what this trace cannot answer, is left out.
static const struct {
    const char *question, *words;
} questions[] = {
    {"summary", "the overview"},
    {"timeline?width=1000", "the memory over time"},
    {"timeline_usage?width=1000", "resident memory"},
    {"findings", "the findings"},
    {"resident", "what resident memory consists of"},
    {"totals?by=requester&cost=peak&sort_by=self.peak.bytes&order=dsc&count=8", "the functions at the peak"},
    {"totals?by=requester&cost=live&sort_by=self.live.bytes&order=dsc&count=8", "the functions at the end"},
    {"totals?by=requester_library&cost=peak&sort_by=self.peak.bytes&order=dsc&count=8", "the libraries at the peak"},
    {"address_map?lifetime=only_leaked&width=1", "the span of the heap"},
    {"recording", "what is missing in the recording"},
    {"call_tree" FLAME "peak", "the flame graph of the peak"},
    {"call_tree" FLAME "live", "the flame graph of what is live at the end"},
    {"totals?by=function&sort_by=self.peak.bytes&order=dsc&skip=0&count=100", "the first 100 functions"},
    {"allocation_groups?sort_by=only_matched.size&order=dsc&skip=0&count=100&frames=short", "the first 100 stacks"},
    {"totals?by=size", "the sizes"},
    {"totals?by=lifetime", "the lifetimes"},
    {"totals?by=thread&sort_by=total.peak.bytes&order=dsc", "the threads"},
    {"thread_matrix", "which threads freed"},
    {"totals?by=requester_line&cost=peak&sort_by=self.peak.bytes&order=dsc&count=2000", "the treemap"},
    {"totals?by=requester_line&cost=live&sort_by=self.live.bytes&order=dsc&count=2000",
     "the treemap of what is live at the end"},
    {"totals?by=source&sort_by=self.peak.bytes&order=dsc&skip=0&count=100", "the first 100 source files"},
    {"timeline?width=600", "the timeline"},
    {"timeline_leaked?width=600", "the timeline of what is never freed"},
    {"timeline_by?by=requester_library&width=600&top=10", "the timeline by library"},
    {"generations?parts=10", "the generations"},
    {"generations", "the generations between marks"},
    {"diff_tree" SECOND_HALF "&nodes=5000", "what changed in the second half"},
    {"call_tree" TREE "peak", "the tree of the peak"},
    {"call_tree" FLAME "allocated", "the flame graph of all allocations"},
    {"call_tree" FLAME "temporary", "the flame graph of temporary blocks"},
    {"call_tree" TREE "live", "the tree of what is live at the end"},
    {"address_map?width=300&lifetime=only_leaked", "the address space"},
    {"maps?sort_by=size&order=dsc&skip=0&count=100", "the first 100 mappings"},
    {"allocations?sort_by=size&order=dsc&skip=0&count=100&frames=short", "the first 100 blocks"},
    {"totals?by=requester&sort_by=self.peak.bytes&order=dsc&skip=0&count=100", "the first 100 requesters"},
    {"totals?by=library&sort_by=self.peak.bytes&order=dsc&skip=0&count=100", "the first 100 libraries"},
    {"inverted_tree" FLAME "peak", "the flame graph of the peak from the functions that allocate"},
    {"inverted_tree" TREE "peak", "the tree of the peak from the functions that allocate"},
    {"diff_tree" SECOND_HALF "&nodes=5000&inverted=true", "what changed in the second half, by functions"},
    {"diff_tree" SECOND_HALF "&nodes=5000&by=library", "what changed in the second half, by libraries"},
    {"diff" SECOND_HALF "&sort_by=size_change&order=dsc&count=50", "what changed in the second half, by stacks"},
    {"dynamic_constants", "the constants"},
    {"dynamic_statics", "the global objects"},
};

// The answer as text. 0, -ENOMEM, or why there is none.
static int ask(struct hs_rest *rest, const char *path, char **answer, size_t *length)
{
    struct hs_error error;
    FILE *out = open_memstream(answer, length);
    if (!out)
        return -ENOMEM;
    int result = hs_rest__ask(rest, path, out, &error);
    if (fclose(out) && !result)
        result = -ENOMEM;
    return result;
}

static int add_answer(struct hs_rest *rest, struct hs_one_file *file, const char *path, const char *under)
{
    char *answer = NULL;
    size_t length = 0;
    int result = ask(rest, path, &answer, &length);
    if (!result)
        result = hs_one_file__add(file, under, answer, length);
    free(answer);
    return result;
}

// The trace as the list of the server has it.
static int add_list(struct hs_rest *rest, struct hs_one_file *file)
{
    char *answer = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&answer, &length);
    if (!out)
        return -ENOMEM;
    struct hs_question question = {.rest = rest};
    int result = hs_answer__list(&question, out);
    if (fclose(out) && !result)
        result = -ENOMEM;
    if (!result)
        result = hs_one_file__add(file, "/list", answer, length);
    free(answer);
    return result;
}

static int add_all(struct hs_rest *rest, struct hs_one_file *file, const char *id, struct hs_json *left_out)
{
    int result = add_list(rest, file);
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]) && result != -ENOMEM; i++) {
        char path[256];
        snprintf(path, sizeof(path), "/data/%s/%s", id, questions[i].question);
        result = add_answer(rest, file, path, path);
        // What the server cannot answer either is not missing.
        if (result && result != -ENOENT && result != -ENOTSUP && result != -EINVAL)
            hs_json__string(left_out, NULL, questions[i].words);
    }
    return result == -ENOMEM ? result : 0;
}

static char *describe(const char *id, const char *name)
{
    char *text = NULL;
    size_t length;
    struct hs_json json;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "trace", id);
    hs_json__string(&json, "file", name);
    hs_json__close_object(&json);
    fclose(out);
    // Names may hold what ends the element that this is in.
    for (char *at = text; at && *at; at++)
        *at = *at == '<' ? '?' : *at;
    return text;
}

static int write_all(struct hs_rest *rest, struct hs_one_file *file, const char *id, struct hs_error *error)
{
    char *left_out = NULL;
    size_t length;
    struct hs_json json;
    FILE *out = open_memstream(&left_out, &length);
    if (!out)
        return hs_error__set(error, ENOMEM, "out of memory");
    hs_json__start(&json, out, false);
    hs_json__open_array(&json, NULL);
    int result = add_all(rest, file, id, &json);
    hs_json__close_array(&json);
    fclose(out);
    if (result)
        result = hs_error__set(error, ENOMEM, "out of memory");
    else
        hs_one_file__finish(file, left_out);
    free(left_out);
    return result;
}

int hs_rest__write_report(struct hs_rest *rest, const char *id, const char *name, FILE *out, struct hs_error *error)
{
    struct hs_one_file file;
    char *about = describe(id, hs_path__name(name));
    int result = about ? hs_one_file__start(&file, out, MOST_BYTES, about, error)
                       : hs_error__set(error, ENOMEM, "out of memory");
    free(about);
    return result ? result : write_all(rest, &file, id, error);
}

int hs_answer__page_report(struct hs_question *question, FILE *out)
{
    const char *id = hs_rest_trace__id(question->trace);
    return hs_rest__write_report(question->rest, id, question->state->path, out, &question->error);
}
