// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library that the program does not come back from when it unloads it.
void stay_in_destructor(void);

__attribute__((destructor)) static void ends(void)
{
    stay_in_destructor();
}
