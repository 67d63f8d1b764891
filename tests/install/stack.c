// SPDX-License-Identifier: MIT OR Apache-2.0
#include <heapsonde/unwind.h>

int main(void)
{
    void *frames[16];
    return hs_backtrace(frames, 16) > 0 ? 0 : 1;
}
