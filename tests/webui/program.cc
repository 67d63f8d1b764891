// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates as the page shows it: long names of templates, recursion, two threads, a global object, temporary blocks.
#include <cstdlib>
#include <cstring>
#include <map>
#include <pthread.h>
#include <string>
#include <vector>

static std::vector<int> *const global = new std::vector<int>(1000);

template <typename Key, typename Value> struct Registry {
    std::map<Key, std::vector<Value>> all;
    __attribute__((noinline)) void add(const Key &key, size_t count)
    {
        all[key].resize(count);
    }
};

static void *kept[2000];
static size_t many;

__attribute__((noinline)) static void odd(int depth);

__attribute__((noinline)) static void even(int depth)
{
    kept[many++] = malloc(1000 + (size_t)depth);
    if (depth)
        odd(depth - 1);
    __asm__ volatile("");
}

__attribute__((noinline)) static void odd(int depth)
{
    kept[many++] = malloc(2000 + (size_t)depth);
    if (depth)
        even(depth - 1);
    __asm__ volatile("");
}

__attribute__((noinline)) static void temporary()
{
    for (int i = 0; i < 500; i++) {
        void *volatile block = malloc(64 + (size_t)i);
        free(block);
    }
}

static void *worker(void *)
{
    Registry<std::string, std::pair<int, double>> registry;
    for (int i = 0; i < 50; i++)
        registry.add("a name that is too long for the string itself " + std::to_string(i), 20);
    return nullptr;
}

int main()
{
    pthread_t thread;
    even(40);
    temporary();
    if (pthread_create(&thread, nullptr, worker, nullptr) || pthread_join(thread, nullptr))
        return 1;
    for (size_t i = 0; i < many; i += 2)
        free(kept[i]);
    return global->size() != 1000;
}
