// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_FLEET_GZIP_H
#define HEAPSONDE_HOST_FLEET_GZIP_H

#include "host/base/buffer.h"

// Compresses `from` in gzip's format to the end of `to`. Returns 0 or -ENOMEM.
int hs_gzip__pack(const struct hs_buffer *from, struct hs_buffer *to);

#endif
