// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frames so large that compilers that are told to (-fstack-clash-protection) touch every page of them in a loop.
void callee(char *bytes);

#define FRAME(name, size)                                                                                              \
    void name(int place)                                                                                               \
    {                                                                                                                  \
        volatile char bytes[size];                                                                                     \
        bytes[place] = 1;                                                                                              \
        callee((char *)bytes);                                                                                         \
        bytes[place + 1] = 2;                                                                                          \
    }
FRAME(pages, 8192)
FRAME(more_pages, 20000)
FRAME(many_pages, 200000)
FRAME(megabyte, 1000000)

void as_many_as_it_says(int size)
{
    volatile char bytes[size];
    bytes[0] = 1;
    callee((char *)bytes);
    bytes[1] = 2;
}
