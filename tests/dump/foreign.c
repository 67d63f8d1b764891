// SPDX-License-Identifier: MIT OR Apache-2.0
//
// For another machine: its dump is written by the test, with the addresses that the linker gave the functions.
int consumed;

static inline __attribute__((always_inline)) int take(int i)
{
    return consumed += i;
}

__attribute__((noinline)) int read_sensor(int i)
{
    return take(i) + 1;
}

__attribute__((noinline)) int read_all(int i)
{
    return read_sensor(i) + 2;
}

int main(void)
{
    return read_all(3) + 4;
}
