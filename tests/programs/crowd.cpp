// SPDX-License-Identifier: MIT OR Apache-2.0
//
// 64 threads allocate in stacks that differ all the time, and throw through them, while code is loaded and unloaded and
// the process forks. Usage: crowd ROUNDS
#include "program.h"

#include <atomic>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

enum { THREADS = 64, CHILDREN = 8 };

static std::atomic<long> caught;
static std::atomic<bool> stop;

// Four call sites, of which bits of `path` choose one at each level.
static NOINLINE int descend(uint64_t path, int depth)
{
    std::unique_ptr<char[]> memory(static_cast<char *>(keep(new char[24])));
    if (!depth) {
        free(allocate(40));
        if (path & 1)
            throw depth;
        return 1;
    }
    switch (path & 3) {
    case 0:
        return descend(path >> 2, depth - 1) + 1;
    case 1:
        return descend(path >> 2, depth - 1) + 2;
    case 2:
        return descend(path >> 2, depth - 1) + 3;
    default:
        return descend(path >> 2, depth - 1) + 4;
    }
}

static void walk(int rounds, uint64_t seed)
{
    for (int i = 0; i < rounds; i++) {
        uint64_t path = random_next(&seed);
        try {
            descend(path, 4 + static_cast<int>(path >> 60));
        } catch (int) {
            caught++;
        }
    }
}

static void load(const std::string &path)
{
    while (!stop) {
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        MUST(library);
        auto plugin_allocate = reinterpret_cast<void *(*)(int, size_t)>(dlsym(library, "plugin_allocate"));
        MUST(plugin_allocate);
        for (int depth = 0; depth < 8; depth++)
            free(plugin_allocate(depth, 100));
        MUST(dlclose(library) == 0);
    }
}

static void fork_children()
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        MUST(pid >= 0);
        if (pid == 0) {
            walk(50, static_cast<uint64_t>(i));
            _exit(0);
        }
        int status;
        MUST(waitpid(pid, &status, 0) == pid && status == 0);
    }
}

int main(int count, char **arguments)
{
    const int rounds = count > 1 ? atoi(arguments[1]) : 100;
    char folder[PATH_MAX] = "";
    MUST(readlink("/proc/self/exe", folder, sizeof folder - 1) > 0);
    std::thread loader(load, std::string(dirname(folder)) + "/libheapsonde_test_plugin0.so");
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back(walk, rounds, static_cast<uint64_t>(t) * 1000);
    fork_children();
    for (auto &thread : threads)
        thread.join();
    stop = true;
    loader.join();
    say("%ld exceptions were caught\n", caught.load());
}
