// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_FORMAT_CRC32C_H
#define HEAPSONDE_FORMAT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// CRC-32C (Castagnoli, reflected, inverted before and after). Start with crc 0; a result continues with more bytes.
// The first call fills 8 KiB of tables; concurrent first calls are harmless.
uint32_t hs_crc32c(uint32_t crc, const void *data, size_t length);

#endif
