// SPDX-License-Identifier: MIT OR Apache-2.0
//
// For the compiler to chew on: most of the standard library, and enough templates to instantiate.
#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <regex>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <stack>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>

#ifndef TABLES
#define TABLES 12
#endif

template <int N> struct Table {
    std::map<std::string, std::vector<std::array<int, N>>> rows;
    std::unordered_map<int, std::variant<int, std::string, std::array<double, N>>> cells;
    std::optional<std::tuple<int, std::string>> last;

    void add(const std::string &name, int value)
    {
        rows[name].push_back({value});
        cells[value] = name;
        last = std::make_tuple(value, name);
        std::sort(rows[name].begin(), rows[name].end(), [](auto &left, auto &right) { return left[0] < right[0]; });
    }

    size_t matching(const std::regex &pattern) const
    {
        return static_cast<size_t>(
            std::count_if(rows.begin(), rows.end(), [&](auto &row) { return std::regex_match(row.first, pattern); }));
    }
};

template <int... N> size_t all(std::integer_sequence<int, N...>)
{
    std::tuple<Table<N + 1>...> tables;
    std::regex pattern("[a-z]+[0-9]*");
    size_t sum = 0;
    std::apply(
        [&](auto &...table) {
            (table.add("row" + std::to_string(N), N), ...);
            ((sum += table.matching(pattern)), ...);
        },
        tables);
    return sum;
}

int main()
{
    std::ostringstream text;
    text << std::setw(8) << all(std::make_integer_sequence<int, TABLES>());
    std::cout << text.str() << '\n';
}
