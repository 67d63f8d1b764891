// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/gzip.h"

#include <errno.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 1, GZIP_MEMORY = 8 };

int hs_gzip__pack(const struct hs_buffer *from, struct hs_buffer *to)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    uLong most = deflateBound(&stream, (uLong)from->count);
    int result = Z_MEM_ERROR;
    if (from->count <= UINT32_MAX && hs_buffer__reserve(to, most)) {
        stream.next_in = from->bytes;
        stream.avail_in = (uInt)from->count;
        stream.next_out = to->bytes + to->count;
        stream.avail_out = (uInt)most;
        result = deflate(&stream, Z_FINISH);
        to->count += stream.total_out;
    }
    deflateEnd(&stream);
    return result == Z_STREAM_END ? 0 : -ENOMEM;
}
