// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The matching blocks of a question by the thread that allocated them, as parts of a tree.
#ifndef HEAPSONDE_HOST_REST_THREAD_PARTS_H
#define HEAPSONDE_HOST_REST_THREAD_PARTS_H

#include "host/rest/question.h"

// The threads that are shown, the largest ones. All others are one part together.
enum { HS_THREAD_PARTS = 24 };

struct hs_thread_parts {
    size_t count;
    uint32_t stream[HS_THREAD_PARTS];
    struct hs_frame frame[HS_THREAD_PARTS + 1]; // names of the threads; [count]: of the others
};

// Chooses the threads with the most bytes of a cost. 0, or a negative errno with the question's error set.
int hs_thread_parts__choose(struct hs_thread_parts *parts, struct hs_question *question, enum hs_cost cost);
// The values of one thread, or of the others (`number` is the count). `all` are those of all threads.
int hs_thread_parts__values(const struct hs_thread_parts *parts, size_t number, struct hs_question *question,
                            enum hs_cost cost, const struct hs_stack_values *all, struct hs_stack_values *values);
void hs_thread_parts__free(struct hs_thread_parts *parts);

#endif
