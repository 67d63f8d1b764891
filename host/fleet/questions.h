// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Questions to the fleet as statements. Texts from users stand in them as hexadecimal digits, and nothing from devices
// does.
#ifndef HEAPSONDE_HOST_FLEET_QUESTIONS_H
#define HEAPSONDE_HOST_FLEET_QUESTIONS_H

#include <stddef.h>
#include <stdint.h>

// NULL: any.
struct hs_fleet_slice {
    const char *app, *firmware, *device;
    const char *than; // of hs_fleet_question_new: the other firmware
    uint64_t stack;   // 0: any
    uint64_t least;   // bytes: less is no growth
    uint64_t top;     // rows
};

// What a question answers, and its columns in their order. The caller frees a statement; NULL: out of memory.

// Brings the table `growth` up to date. A device grew when a stack has at least `least` bytes and a tenth more at the
// end than after the first hour or, in sessions of less than an hour, than at the beginning.
char *hs_fleet_question_rollup(const struct hs_fleet_slice *slice);

// One row: seconds from the last rollup to the last sample, and the time of the last rollup.
char *hs_fleet_question_staleness(const struct hs_fleet_slice *slice);

// app, firmware, stack, devices, grown devices, grown bytes, bytes in use, first time; most growth first
char *hs_fleet_question_growth(const struct hs_fleet_slice *slice);

// app, firmware, stack, devices, bytes in use, first time: stacks of `firmware` that `than` does not have
char *hs_fleet_question_new(const struct hs_fleet_slice *slice);

// device, app, firmware, bytes in use, highest, bytes per hour, distance from the mean slope of the firmware in
// standard deviations, last seen, sessions; the largest slope first
char *hs_fleet_question_devices(const struct hs_fleet_slice *slice);

// app, firmware, devices, median, 95th and 99th percentile of the bytes in use, mean slope
char *hs_fleet_question_firmwares(const struct hs_fleet_slice *slice);

// device, firmware, bytes at first, bytes in use, highest, last seen: devices that have slice->stack
char *hs_fleet_question_holders(const struct hs_fleet_slice *slice);

// stack, bytes in use, blocks in use, devices: all stacks of the slice
char *hs_fleet_question_stacks(const struct hs_fleet_slice *slice);

struct hs_fleet_question {
    const char *name;
    char *(*statement)(const struct hs_fleet_slice *slice);
    const char *const *columns; // NULL ends them
};
extern const struct hs_fleet_question hs_fleet_questions[]; // a NULL name ends them

#endif
