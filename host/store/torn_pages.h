// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Mapped files can be truncated by others, and reading after the new end raises SIGBUS. This module then replaces the
// page by zeros, so that the reader continues. Afterwards hs_store__is_whole or hs_torn_pages__found shows that the
// answer is invalid.
#ifndef HEAPSONDE_STORE_TORN_PAGES_H
#define HEAPSONDE_STORE_TORN_PAGES_H

#include <stdbool.h>

// Installs the handler for the whole process. Other faults end the process as before.
void hs_torn_pages__mend(void);
// Whether a page of any file was replaced.
bool hs_torn_pages__found(void);

#endif
