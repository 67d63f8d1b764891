// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_UNWIND_ROW_MEMORY_H
#define HEAPSONDE_HOST_UNWIND_ROW_MEMORY_H

// The session, and with it what rows point to, ends.
void hs_row_memory_forget(void);

#endif
