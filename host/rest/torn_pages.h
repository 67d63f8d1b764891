// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files that are mapped can be cut by others; reading behind their end raises SIGBUS. Here such a page becomes one of
// zeros, and whoever reads goes on; afterwards hs_rest_trace__check says that the answer is worth nothing.
#ifndef HEAPSONDE_HOST_REST_TORN_PAGES_H
#define HEAPSONDE_HOST_REST_TORN_PAGES_H

// For the whole process, from now on. A fault of any other kind ends the process as before.
void hs_torn_pages__mend(void);

#endif
