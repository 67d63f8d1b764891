// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Transforms of call trees: frames are left out of stacks, or put together, before functions are added up. Transforms
// are applied from the outermost frame inwards, in this order: root, merge, collapse, recursion.
#ifndef HEAPSONDE_HOST_REST_TRANSFORMS_H
#define HEAPSONDE_HOST_REST_TRANSFORMS_H

#include "host/rest/frame_table.h"
#include "host/rest/question.h"

#define HS_TRANSFORM_PARAMETERS                                                                                        \
    {.name = "root_function",                                                                                          \
     .kind = HS_REST_TEXT,                                                                                             \
     .help = "begin with the outermost function that matches this regular expression; stacks without one are left "    \
             "out"},                                                                                                   \
        {.name = "merge_function",                                                                                     \
         .kind = HS_REST_TEXT,                                                                                         \
         .help = "leave out the functions that match this regular expression; what they allocate themselves counts "   \
                 "for their callers"},                                                                                 \
        {.name = "merge_library",                                                                                      \
         .kind = HS_REST_TEXT,                                                                                         \
         .help =                                                                                                       \
             "the same for the functions of a library; * and ? are wildcards; separate several names with commas"},    \
        {.name = "collapse_function",                                                                                  \
         .kind = HS_REST_TEXT,                                                                                         \
         .help = "leave out what the functions that match this regular expression call; it counts for them"},          \
        {.name = "collapse_library",                                                                                   \
         .kind = HS_REST_TEXT,                                                                                         \
         .help = "if functions of such a library call each other, keep only the outermost one; names as for "          \
                 "merge_library"},                                                                                     \
    {                                                                                                                  \
        .name = "collapse_recursion", .kind = HS_REST_FLAG,                                                            \
        .help = "if a function is called again within its own call, leave out everything between the two calls"        \
    }

struct hs_transforms {
    const char *root_function, *merge_function, *merge_library, *collapse_function, *collapse_library;
    bool collapse_recursion;
};
// Whether there is any transform.
bool hs_transforms__any(const struct hs_transforms *transforms);
// The transforms that a question has. Their texts are the question's.
struct hs_transforms hs_question__transforms(const struct hs_question *question);
// As in a question, for headings: "merge_function=^main$, collapse_recursion". To be freed; NULL: out of memory.
char *hs_transforms__text(const struct hs_transforms *transforms);

struct hs_transformer;

// Transforms stacks in parts: hs_transformer__add is called for each part, then hs_transformer__end moves the result to
// the caller, who frees it. `frame` becomes the outermost frame of all stacks of a part, and no transform is applied to
// it; NULL: none. `nodes`, unless NULL, has room for one number for each stack of the part: the node of the result that
// the stack has become, or HS_NO_NODE if it was left out. 0, or a negative errno with the error set that
// hs_transformer__create was given. All arguments have to last until the transformer is destroyed.
#define HS_NO_NODE UINT32_MAX
int hs_transformer__create(struct hs_transformer **transformer, const struct hs_transforms *transforms,
                           struct hs_trace_symbols *symbols, const struct hs_query_control *control,
                           struct hs_error *error);
int hs_transformer__add(struct hs_transformer *transformer, const struct hs_stack_values *values,
                        const struct hs_frame *frame, uint32_t *nodes);
void hs_transformer__end(struct hs_transformer *transformer, struct hs_transformed *transformed);
void hs_transformer__destroy(struct hs_transformer *transformer);
void hs_transformed__free(struct hs_transformed *transformed);

#endif
