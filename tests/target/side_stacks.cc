// SPDX-License-Identifier: MIT OR Apache-2.0
//
// As side_stacks.c, with what C++ adds: virtual calls, function objects called out of the library's templates,
// constructors and destructors, and exceptions over any number of frames, whose landing pads and destructors call on.
#include "side_stack.h"
#include "tests/rounds.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{
constexpr int most_depth = 60, rounds = 2, calls_per_round = 1200, thread_count = 3;
thread_local int calls_left, catchers;

using shape = long (*)(long);
shape next_shape() __attribute__((no_instrument_function));

#define NEXT(a)  (next_shape()(a))
#define NOINLINE __attribute__((noinline))

NOINLINE long ends(long a)
{
    return a + 1;
}

struct animal {
    virtual ~animal() = default;
    virtual long speak(long a) = 0;
};

struct dog : animal {
    NOINLINE long speak(long a) override
    {
        return NEXT(a) + 1;
    }
};

struct cat : animal {
    std::string name = "a name that does not fit into the string itself";
    NOINLINE long speak(long a) override
    {
        return NEXT(a) + static_cast<long>(name.size());
    }
};

NOINLINE long calls_virtually(long a)
{
    std::unique_ptr<animal> one;
    if (a & 1)
        one = std::make_unique<dog>();
    else
        one = std::make_unique<cat>();
    return one->speak(a);
}

struct guard {
    long a;
    NOINLINE explicit guard(long value) : a(NEXT(value))
    {
    }
    NOINLINE ~guard()
    {
        if (a & 1 && !std::uncaught_exceptions())
            ends(a);
        else if (calls_left > 0 && side_stack__random(3) == 0)
            ends(a + 1);
    }
};

NOINLINE long guards(long a)
{
    guard first(a), second(a + 1);
    long result = NEXT(a + 2);
    return first.a + second.a + result;
}

NOINLINE long calls_a_function_object(long a)
{
    std::string captured(40, 'x');
    std::function<long(long)> function = [captured, a](long b) { return NEXT(a + b) + captured[3]; };
    return function(a) + function(a + 1);
}

NOINLINE long sorts(long a)
{
    std::vector<long> numbers(8);
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = (a * 7 + static_cast<long>(i) * 5) % 11;
    std::sort(numbers.begin(), numbers.end(), [](long x, long y) {
        if (side_stack__random(6) == 0)
            NEXT(x & 7);
        return x < y;
    });
    return numbers[4];
}

struct order {
    NOINLINE bool operator()(const std::string &x, const std::string &y) const
    {
        return side_stack__random(6) == 0 && NEXT(1) == -12345 ? false : x < y;
    }
};

NOINLINE long keeps_a_map(long a)
{
    std::map<std::string, long, order> map;
    for (long i = 0; i < 4; i++)
        map[std::to_string((a + i * 5) % 7)] = i;
    return map.begin()->second;
}

struct thrown : std::runtime_error {
    long a;
    explicit thrown(long value) : std::runtime_error("thrown"), a(value)
    {
    }
};

NOINLINE long throws(long a)
{
    if (catchers > 0)
        throw thrown(a);
    return NEXT(a);
}

struct catcher {
    catcher()
    {
        catchers++;
    }
    ~catcher()
    {
        catchers--;
    }
};

NOINLINE long catches(long a)
{
    try {
        catcher here;
        return NEXT(a);
    } catch (const thrown &exception) {
        return NEXT(exception.a) + 1;
    }
}

NOINLINE long rethrows(long a)
{
    try {
        guard one(a);
        return NEXT(a);
    } catch (...) {
        ends(a);
        throw;
    }
}

template <typename... Types> NOINLINE long takes_many(long a, Types... more)
{
    long sum = (static_cast<long>(more) + ... + a);
    return NEXT(sum) + sum;
}

NOINLINE long passes_many(long a)
{
    return takes_many(a, 1, 2.5, 'c', 4L, 5.5f, a) + takes_many(a);
}

NOINLINE long calls_once(long a)
{
    std::once_flag once;
    long result = 0;
    std::call_once(once, [&] { result = ends(a); }); // an exception out of it is not survived everywhere
    return result + NEXT(a);
}

const shape shapes[] = {
    calls_virtually, guards, calls_a_function_object, sorts, keeps_a_map, throws, catches, rethrows, passes_many,
    calls_once,      catches};

shape next_shape()
{
    if (calls_left <= 0 || side_stack__depth() > most_depth)
        return ends;
    calls_left--;
    return shapes[side_stack__random(sizeof shapes / sizeof *shapes)];
}

void run_rounds()
{
    for (long round = 0; round < rounds; round++)
        for (calls_left = static_cast<int>(test_rounds(calls_per_round)); calls_left > 0;)
            catches(round);
}
} // namespace

int main()
{
    side_stack__begin(4);
    run_rounds();
    std::vector<std::thread> threads;
    for (unsigned i = 1; i <= thread_count; i++)
        threads.emplace_back([i] {
            side_stack__begin_thread(i);
            run_rounds();
            side_stack__end_thread();
        });
    for (auto &thread : threads)
        thread.join();
    return side_stack__finish(thread_count * 500);
}
