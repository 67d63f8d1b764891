// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Code whose addresses the symbol tests look up: inlined calls, templates, namespaces, lambdas, local classes.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace sample
{
template <typename T> class Box
{
  public:
    explicit Box(const T &value) : items(3, value)
    {
    }
    std::size_t weight() const
    {
        std::size_t sum = 0;
        for (const T &item : items)
            sum += item.size();
        return sum;
    }

  private:
    std::vector<T> items;
};

inline void *innermost(std::size_t size)
{
    return std::malloc(size + 1);
}

inline void *middle(std::size_t size)
{
    if (size > 100)
        return innermost(size * 2);
    return innermost(size);
}

__attribute__((noinline)) void *outer(std::size_t size)
{
    void *first = middle(size);
    std::free(first);
    return middle(size + 7);
}

__attribute__((noinline)) int local_class(int count)
{
    struct Counter {
        int total = 0;
        __attribute__((noinline)) void add(int n)
        {
            std::vector<int> numbers(static_cast<std::size_t>(n) + 1, n);
            total += numbers.back();
        }
    } counter;
    for (int i = 0; i < count; i++)
        counter.add(i);
    return counter.total;
}

__attribute__((noinline)) std::size_t lambdas(const std::map<std::string, int> &words)
{
    auto weigh = [&](const std::string &prefix) __attribute__((noinline))
    {
        std::size_t sum = 0;
        for (const auto &word : words)
            sum += (prefix + word.first).size();
        return sum;
    };
    return weigh("a rather long prefix that needs the heap ") + weigh("b");
}
} // namespace sample

extern "C" __attribute__((noinline)) void *plain_c_name(std::size_t size)
{
    return sample::outer(size);
}

int main(int argc, char **argv)
{
    sample::Box<std::string> box(argv[0]);
    std::map<std::string, int> words;
    for (int i = 0; i < argc; i++)
        words[argv[i]] = i;
    std::free(plain_c_name(static_cast<std::size_t>(argc)));
    return static_cast<int>(box.weight() + sample::lambdas(words)) + sample::local_class(argc) > 0 ? 0 : 1;
}
