// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files that are mapped can be cut by others; reading behind their end raises SIGBUS. Here such a page becomes one of
// zeros, and whoever reads goes on; afterwards hs_store__is_whole or hs_torn_pages__found says that the answer is worth
// nothing.
#ifndef HEAPSONDE_STORE_TORN_PAGES_H
#define HEAPSONDE_STORE_TORN_PAGES_H

#include <stdbool.h>

// For the whole process, from now on. A fault of any other kind ends the process as before.
void hs_torn_pages__mend(void);
// Whether a page has been mended, of any file.
bool hs_torn_pages__found(void);

#endif
