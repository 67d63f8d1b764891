// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/prof/nodes.h"

#include <errno.h>

int hs_node__give(const struct hs_call *call, const void *value, size_t size)
{
    if (!call->old || !call->old_length)
        return 0;
    size_t room = *call->old_length;
    size_t length = room < size ? room : size;
    __builtin_memcpy(call->old, value, length);
    *call->old_length = length;
    return room == size ? 0 : EINVAL;
}

bool hs_node__has_room(const struct hs_call *call, size_t size)
{
    if (call->old && call->old_length && *call->old_length == size)
        return true;
    if (call->old_length)
        *call->old_length = 0;
    return false;
}
