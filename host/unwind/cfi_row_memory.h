// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_UNWIND_CFI_ROW_MEMORY_H
#define HEAPSONDE_HOST_UNWIND_CFI_ROW_MEMORY_H

// The session, and with it what CFI rows point to, ends.
void hs_cfi_row_memory_forget(void);

#endif
