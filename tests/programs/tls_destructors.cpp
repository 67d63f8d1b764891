// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates while threads end: destructors of pthread keys (which set the key again) and of C++ thread_local objects.
#include "program.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> key_runs, object_runs;
static pthread_key_t key;

static void key_ends(void *value)
{
    key_runs++;
    free(value);
    // As often as the standard lets it: PTHREAD_DESTRUCTOR_ITERATIONS.
    pthread_setspecific(key, allocate(70));
}

struct Ending {
    std::vector<std::string> names{"one that is too long to be stored inline", "and another that is too long as well"};
    ~Ending()
    {
        object_runs++;
        names.push_back("allocated while the thread ends, by a destructor of a thread_local object");
        free(allocate(80));
    }
};

static thread_local Ending ending;
static thread_local std::unique_ptr<std::string> late;

static void work(int number)
{
    ending.names.emplace_back(100 + number, 'x');
    pthread_setspecific(key, allocate(60));
    late = std::make_unique<std::string>(200, 'y');
}

int main()
{
    pthread_key_create(&key, key_ends);
    for (int i = 0; i < 50; i++) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++)
            threads.emplace_back(work, i + t);
        for (std::thread &thread : threads)
            thread.join();
    }
    work(1); // and once for the main thread
    say("objects %ld, keys %ld\n", object_runs.load(), key_runs.load());
    return 0;
}
