// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What imports that were killed left behind: a store in the making, in a directory of its own beside the final one. Who
// makes one holds a lock of its directory, which ends with the process.
#ifndef HEAPSONDE_IMPORT_LEFT_OVER_H
#define HEAPSONDE_IMPORT_LEFT_OVER_H

#define HS_MAKING_SUFFIX ".XXXXXX" // of mkdtemp

// To be called before the first file is made in the directory.
void hs_left_over__hold(int directory_fd);
// Removes those of the store whose final directory this is, but not what somebody is still making.
void hs_left_over__remove(const char *final);

#endif
