// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Removes folders whose files are still in use. NFS and some FUSE file systems rename a deleted file that is in use
// into a hidden one, so its folder is not empty until the file is closed.
#ifndef HEAPSONDE_BASE_FOLDERS_H
#define HEAPSONDE_BASE_FOLDERS_H

// Removes an empty folder. One that is not empty is removed by a later hs_folders__sweep(), if it is empty then.
void hs_folders__remove(const char *path);
// Called after files were closed.
void hs_folders__sweep(void);

#endif
