// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Prints a file that libcounter.so has left, as one JSON object on a line.
#include "tests/counter/counter.h"

#include <stdio.h>

int main(int count, char **arguments)
{
    static const char *const names[] = {"malloc", "calloc", "realloc", "aligned", "free"};
    int status = 0;
    for (int i = 1; i < count; i++) {
        struct counter c;
        FILE *file = fopen(arguments[i], "rb");
        if (!file || fread(&c, sizeof c, 1, file) != 1 || c.magic != COUNTER_MAGIC) {
            fprintf(stderr, "%s: not a file of libcounter.so\n", arguments[i]);
            status = 1;
        } else {
            printf("{\"program\": \"%.63s\", \"pid\": %llu, \"allocations\": %llu, \"deallocations\": %llu, ",
                   c.program, (unsigned long long)c.pid, (unsigned long long)c.allocations,
                   (unsigned long long)c.deallocations);
            printf("\"live_count\": %llu, \"live_bytes\": %llu, \"peak_bytes\": %llu, \"unknown_frees\": %llu, "
                   "\"forked\": %llu",
                   (unsigned long long)c.live_count, (unsigned long long)c.live_bytes, (unsigned long long)c.peak_bytes,
                   (unsigned long long)c.unknown_frees, (unsigned long long)c.forked);
            for (int f = 0; f < COUNTER_FUNCTIONS; f++)
                printf(", \"%s\": {\"calls\": %llu, \"failed\": %llu, \"bytes\": %llu}", names[f],
                       (unsigned long long)c.calls[f], (unsigned long long)c.failed[f], (unsigned long long)c.bytes[f]);
            printf("}\n");
        }
        if (file)
            fclose(file);
    }
    return status;
}
