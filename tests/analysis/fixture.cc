// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The same as fixture.c in C++: destructors and landing pads, virtual calls, templates of the standard library. Never
// run.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual std::string name() const
    {
        return "shape";
    }
};

struct Group : Shape {
    std::vector<std::unique_ptr<Shape>> members;
    double area() const override
    {
        double sum = 0;
        for (const auto &member : members)
            sum += member->area();
        return sum;
    }
    std::string name() const override
    {
        std::string all = "(";
        for (const auto &member : members)
            all += member->name() + " ";
        return all + ")";
    }
};

using Table = std::map<std::string, std::vector<long>>;

long count_words(const std::string &text, Table &table)
{
    size_t at = 0;
    while (at < text.size()) {
        size_t end = text.find(' ', at);
        if (end == std::string::npos)
            end = text.size();
        if (end == at)
            throw std::invalid_argument("two spaces in " + text);
        table[text.substr(at, end - at)].push_back(static_cast<long>(at));
        at = end + 1;
    }
    return static_cast<long>(table.size());
}

std::vector<std::string> longest(const Table &table, size_t count)
{
    std::vector<std::string> words;
    for (const auto &entry : table)
        words.push_back(entry.first);
    std::sort(words.begin(), words.end(), [](const std::string &a, const std::string &b) {
        return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    if (words.size() > count)
        words.resize(count);
    return words;
}

long guarded(const std::function<long(long)> &call, long value)
{
    std::string what;
    try {
        std::shared_ptr<Group> group = std::make_shared<Group>();
        value += call(value);
        what = group->name();
        if (value < 0)
            throw std::runtime_error(what);
    } catch (const std::runtime_error &error) {
        what = error.what();
        value = call(static_cast<long>(what.size()));
    } catch (...) {
        if (value == 7)
            throw;
        return call(-1);
    }
    return value + static_cast<long>(what.size());
}

std::unique_ptr<Shape> build(const std::vector<std::function<std::unique_ptr<Shape>()>> &makers)
{
    auto group = std::make_unique<Group>();
    for (const auto &make : makers)
        if (auto shape = make())
            group->members.push_back(std::move(shape));
    return group;
}
