// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Four threads build and drop containers; every sixteenth step ends by an exception through all frames.
// Usage: threads STEPS
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static __attribute__((noinline)) long build(int depth, int step)
{
    std::map<int, std::string> names;
    std::vector<std::unique_ptr<int>> numbers;
    for (int i = 0; i < 4; i++) {
        names[i * 7 % 5] = std::string(20 + static_cast<size_t>(i), 'n') + std::to_string(step);
        numbers.push_back(std::make_unique<int>(i));
    }
    if (depth > 0)
        return build(depth - 1, step) + static_cast<long>(names.size());
    if (step % 16 == 0)
        throw std::runtime_error("every sixteenth step ends like this, with a long text");
    return *numbers.back();
}

static void work(long steps, long *result)
{
    long sum = 0;
    for (long i = 0; i < steps; i++) {
        try {
            sum += build(static_cast<int>(i % 12) + 4, static_cast<int>(i));
        } catch (const std::exception &error) {
            sum += error.what()[0];
        }
    }
    *result = sum;
}

int main(int count, char **arguments)
{
    long steps = count > 1 ? std::atol(arguments[1]) : 20000;
    std::vector<std::thread> threads;
    long results[4] = {};
    for (long &result : results)
        threads.emplace_back(work, steps, &result);
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%ld\n", results[0] + results[1] + results[2] + results[3]);
}
