// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The scan scheduler. Threads that scan take turns: at any time as many run as there are processors. Next is the thread
// with the least rank; among equal ranks, the one that has waited longest.
#ifndef HEAPSONDE_QUERY_SCAN_SCHEDULER_H
#define HEAPSONDE_QUERY_SCAN_SCHEDULER_H

#include <stdint.h>

// Waits for a turn. A thread that has one must not wait for anything else before it gives it back.
void hs_scan_scheduler__acquire(uint64_t rank);
void hs_scan_scheduler__release(void);
// The number of threads that wait for a turn.
unsigned hs_scan_scheduler__waiting(void);

// The rank of a question that has used `used` ns of CPU time for `done` parts and has `left` parts to do. A short
// question does not wait for long ones. Of the long ones, the one that will end soonest comes first, so that not all of
// them end last.
uint64_t hs_scan_scheduler__rank(uint64_t used, uint64_t done, uint64_t left);

#endif
