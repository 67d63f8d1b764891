// SPDX-License-Identifier: MIT OR Apache-2.0
//
// wire seal|open FRAMES LENGTH: seals so many frames of so many bytes, or opens them; prints MB of payload per second
// of this thread's CPU time.
#include "format/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint8_t sealed[HS_WIRE_FRAME_MAX], frame[HS_WIRE_FRAME_MAX];

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void seal_frames(struct hs_wire_direction *direction, unsigned frames, size_t length)
{
    for (unsigned i = 0; i < frames; i++)
        hs_wire__seal(direction, HS_WIRE_DATA, frame, length);
}

static void open_frames(const struct hs_wire_direction *direction, unsigned frames, size_t size)
{
    for (unsigned i = 0; i < frames; i++) {
        struct hs_wire_direction to = *direction;
        enum hs_wire_kind kind;
        size_t length;
        memcpy(frame, sealed, size);
        if (!hs_wire__open(&to, frame, size, &kind, &length))
            exit(1);
    }
}

int main(int count, char **arguments)
{
    if (count != 4)
        return 2;
    unsigned frames = (unsigned)atoi(arguments[2]);
    size_t length = (size_t)atoi(arguments[3]);
    if (length > HS_WIRE_PAYLOAD_MAX)
        return 2;
    uint8_t hello[HS_WIRE_HELLO_SIZE] = {0};
    struct hs_wire_direction from, back;
    hs_wire__derive(&from, &back, "a key for the bench", 19, hello, hello);
    struct hs_wire_direction to = from;
    size_t size = hs_wire__seal(&from, HS_WIRE_DATA, sealed, length);
    double began = seconds();
    if (strcmp(arguments[1], "seal") == 0)
        seal_frames(&from, frames, length);
    else
        open_frames(&to, frames, size);
    printf("%.1f\n", (double)frames * (double)length / 1e6 / (seconds() - began));
    return 0;
}
