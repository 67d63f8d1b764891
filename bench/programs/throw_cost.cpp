// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Nanoseconds of CPU for a throw through ten frames. Usage: throw_cost THROWS
#include <cstdio>
#include <cstdlib>
#include <ctime>

static volatile long cleaned;

struct Guard {
    ~Guard()
    {
        cleaned = cleaned + 1;
    }
};

static __attribute__((noinline)) void descend(int depth)
{
    Guard guard;
    if (depth == 0)
        throw depth;
    descend(depth - 1);
}

static double now()
{
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

int main(int count, char **arguments)
{
    long throws = count > 1 ? std::atol(arguments[1]) : 200000, caught = 0;
    double began = 0;
    for (long i = -1000; i < throws; i++) {
        if (i == 0)
            began = now();
        try {
            descend(10);
        } catch (int) {
            caught++;
        }
    }
    std::printf("%.1f\n", (now() - began) / static_cast<double>(throws));
    return caught == throws + 1000 ? 0 : 1;
}
