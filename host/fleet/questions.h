// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Questions to the fleet as statements. Texts from users stand in them as hexadecimal digits, and nothing from devices
// does.
#ifndef HEAPSONDE_HOST_FLEET_QUESTIONS_H
#define HEAPSONDE_HOST_FLEET_QUESTIONS_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct hs_fleet_conditions;

// A part of a rollup, by stacks.
struct hs_fleet_part {
    uint64_t first, last;
    uint64_t made;
};

enum { HS_FLEET_LEAST = 65536 }; // the default of hs_fleet_slice.least

// NULL: any.
struct hs_fleet_slice {
    const char *app, *firmware, *device;
    const char *than; // of the question `new`: the other firmware
    uint64_t stack;   // 0: any
    uint64_t least;   // bytes: less is no growth
    uint64_t skip;    // rows that are left out at the beginning
    uint64_t top;     // rows
    const struct hs_fleet_conditions *conditions;
    const struct hs_fleet_part *part;
};

// What a question can be asked about besides sets of stacks.
enum hs_fleet_reach {
    HS_FLEET_OF_STACKS, // nothing: it reads the rollup
    HS_FLEET_OF_GROUPS, // what stacks have in sessions
    HS_FLEET_OF_TIMES   // the same at a time
};

struct hs_fleet_question {
    const char *name;
    void (*write)(FILE *out, const struct hs_fleet_slice *slice); // the statement
    const char *const *columns;                                   // of the answer; NULL ends them
    enum hs_fleet_reach reach;
    bool rolled;   // it reads the rollup
    bool of_stack; // slice->stack is needed
    bool compares; // slice->firmware and slice->than are needed
};

// growth: stacks that have grown, with the number of devices; most growth first.
// new: stacks of `firmware` that `than` does not have.
// devices: the slope of each device's memory in bytes per hour, and its distance from the mean slope of the firmware in
//   standard deviations; the largest slope first.
// sessions: the same of each session, without the distance; the one that was seen last first.
// firmwares: median, 95th and 99th percentile of the bytes in use.
// stack: the devices that have slice->stack.
// stacks: all stacks of the slice.
extern const struct hs_fleet_question hs_fleet_questions[]; // a NULL name ends them

// NULL: there is no such question.
const struct hs_fleet_question *hs_fleet_question__find(const char *name);

// Whether rows have the number of a stack, and in which column.
bool hs_fleet_question__has_stacks(const struct hs_fleet_question *question, size_t *column);

// -EINVAL: the slice is about more than the question `name` reads, and `error` says which and why; else 0. `device` is
// what the user calls slice->device.
int hs_fleet_question__check_reach(const char *name, enum hs_fleet_reach reach, const struct hs_fleet_slice *slice,
                                   const char *device, struct hs_error *error);

// Whether the values of a column are numbers to compare or to add up; names, times and numbers of stacks are not.
bool hs_fleet_column__is_number(const char *column);

// Makes slice->part of the table `growth` (rollup.h). A device grew when a stack has at least `least` bytes and a tenth
// more at the end than after the first hour or, in sessions of less than an hour, than at the beginning. It has no
// answer.
extern const struct hs_fleet_question hs_fleet_rollup_part;

// One row: seconds from the last rollup to the last sample, the time of the last rollup, and the number of rollups.
extern const struct hs_fleet_question hs_fleet_staleness;

// One row: the number of devices of a slice, without its conditions.
extern const struct hs_fleet_question hs_fleet_device_count;

// The caller frees it. NULL: out of memory.
char *hs_fleet_question__statement(const struct hs_fleet_question *question, const struct hs_fleet_slice *slice);

#endif
