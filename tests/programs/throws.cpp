// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Four threads throw exceptions through many frames that own memory. Usage: throws ROUNDS
#include "program.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> caught, unwound;
static volatile size_t more_than_there_is = static_cast<size_t>(-1) - 4096; // on any machine

struct Guard {
    std::unique_ptr<char[]> memory{new char[40]};
    ~Guard()
    {
        unwound++;
    }
};

static NOINLINE int descend(int depth, int number)
{
    Guard guard;
    std::vector<int> numbers(static_cast<size_t>(depth % 5) + 1, number);
    if (depth == 0) {
        if (number % 3 == 0)
            throw std::runtime_error("an exception that carries a text too long to be stored inline");
        if (number % 3 == 1)
            throw std::string(60, 'z');
        throw number;
    }
    return descend(depth - 1, number) + numbers[0];
}

static NOINLINE int rethrows(int depth, int number)
{
    try {
        return descend(depth, number);
    } catch (const std::string &) {
        throw std::logic_error("another");
    }
}

static void work(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        try {
            rethrows(5 + i % 40, i);
        } catch (const std::exception &error) {
            caught += error.what()[0] == 'a';
        } catch (int) {
            caught++;
        }
        try {
            void *impossible = ::operator new(more_than_there_is);
            ::operator delete(impossible);
        } catch (const std::bad_alloc &) {
            caught++;
        }
    }
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 500;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back(work, rounds);
    for (std::thread &thread : threads)
        thread.join();
    say("caught %ld, unwound %ld\n", caught.load(), unwound.load());
    return 0;
}
