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
         .help = "the same for the functions of a library; * and ? are wildcards, several names have commas between"}, \
        {.name = "collapse_function",                                                                                  \
         .kind = HS_REST_TEXT,                                                                                         \
         .help = "leave out what the functions that match this regular expression call; it counts for them"},          \
        {.name = "collapse_library",                                                                                   \
         .kind = HS_REST_TEXT,                                                                                         \
         .help = "of successive calls within such a library, keep the outermost function only; names as for "          \
                 "merge_library"},                                                                                     \
    {                                                                                                                  \
        .name = "collapse_recursion", .kind = HS_REST_FLAG,                                                            \
        .help = "where a function is called again within its own call, leave out everything between the two calls"     \
    }

bool hs_transforms__any(const struct hs_question *question);
// The transformed stacks of a tree of nodes. 0, or a negative errno with the question's error set.
int hs_transformed__make(struct hs_transformed *transformed, struct hs_question *question,
                         const struct hs_node_tree *nodes);
void hs_transformed__free(struct hs_transformed *transformed);

#endif
