// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is stepped through: functions of many shapes, compiled in many ways.
#ifndef HEAPSONDE_TESTS_SINGLE_STEP_SHAPES_H
#define HEAPSONDE_TESTS_SINGLE_STEP_SHAPES_H

void shapes_run(void);

#endif
