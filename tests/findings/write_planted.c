// SPDX-License-Identifier: MIT OR Apache-2.0
//
//   write_planted FOLDER
//
// Writes a trace with each planted fault, and the program's file below FOLDER/root.
#include "command.h"
#include "planted.h"

#include <stdio.h>

static const char *folder;

// What writes traces asserts, which only a test may do.
START_TEST(write_all)
{
    planted__build(text("%s/root", folder));
    for (enum plant plant = PLANT_NOTHING; plant < PLANTS; plant++)
        planted__write(text("%s/%02u.dat", folder, (unsigned)plant), plant, 1);
}
END_TEST

int main(int count, char **words)
{
    TCase *writing = tcase_create("writing");
    if (count != 2) {
        fputs("usage: write_planted FOLDER\n", stderr);
        return 2;
    }
    folder = words[1];
    tcase_add_test(writing, write_all);
    return run_cases("write_planted", writing);
}
