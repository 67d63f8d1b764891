# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the server should say, worked out slowly from the plain list of all blocks."""
import re

NS = 10**9


def ns(time):
    return time["secs"] * NS + time["fract_nsecs"]


class Row:
    def __init__(self, block):
        self.block = block
        self.id, self.address, self.size = block["id"], block["address"], block["size"]
        self.usable = block["usable_size"]
        self.time = ns(block["timestamp_relative"])
        self.stack, self.thread = block["backtrace_id"], block["thread"]
        self.frames = block["backtrace"]
        end = block.get("deallocation")
        # Clocks are not quite at one: the time since the start is the recorder's, that since 1970 the machine's.
        self.freed = ns(end["timestamp"]) - ns(block["timestamp"]) + self.time if end else None
        self.free_stack = end.get("backtrace_id") if end else None
        self.chain_length, self.position = block["chain_length"], block["position_in_chain"]
        is_last = self.position == self.chain_length - 1
        self.chain_leaked = (end if is_last else block.get("chain_deallocation")) is None


class Group:
    def __init__(self, rows):
        self.rows = rows
        self.count, self.size = len(rows), sum(row.size for row in rows)
        self.usable = sum(row.usable for row in rows)
        self.leaked = sum(row.freed is None for row in rows)
        self.first, self.last = rows[0].time, rows[-1].time
        self.interval = self.last - self.first
        self.smallest, self.largest = min(row.size for row in rows), max(row.size for row in rows)

    def largest_usage_time(self):
        return largest_usage(self.rows, -1)[1]


def largest_usage(rows, best=0):
    """The most bytes at once and when that was first so. What ended at an instant ended before what was made there."""
    endings = sorted((row.freed, row.id, row.size) for row in rows if row.freed is not None)
    live = at = ended = 0
    for row in rows:
        while ended < len(endings) and endings[ended][:2] < (row.time, row.id):
            live -= endings[ended][2]
            ended += 1
        live += row.size
        if live > best:
            best, at = live, row.time
    return best, at


class Where(str):
    """An expression as the server reads it, and as a tree: (name, value), or a join and what it joins."""
    def __new__(cls, join, *parts):
        words = {"not": "not ({0})", "and": "({0}) AND ({1})", "or": "{0} or {1}"}
        if join in words:
            self = super().__new__(cls, words[join].format(*parts))
        else:
            value = str(parts[0]).replace("\\", "\\\\").replace('"', '\\"')
            self = super().__new__(cls, f'{join}="{value}"')
        self.join, self.parts = join, parts
        return self

    def holds(self, model):
        """A test of one row."""
        if self.join == "not":
            inner = self.parts[0].holds(model)
            return lambda row: not inner(row)
        if self.join not in ("and", "or"):
            return next(model.conditions({self.join: self.parts[0]}))
        both = [part.holds(model) for part in self.parts]
        return lambda row: (all if self.join == "and" else any)(test(row) for test in both)


class Model:
    def __init__(self, server, trace="last"):
        about = [entry for entry in server.json("/list") if entry["id"] == trace or trace == "last"][-1]
        self.start, self.end = ns(about["timestamp"]), ns(about["runtime"])
        self.rows = [Row(block) for block in server.data("allocations", trace, count=10**9)["allocations"]]
        self.groups = self.group(self.rows)

    @staticmethod
    def group(rows):
        by_stack = {}
        for row in rows:
            by_stack.setdefault(row.stack, []).append(row)
        return {stack: Group(rows) for stack, rows in by_stack.items()}

    def lifetime(self, row):
        return (self.end if row.freed is None else row.freed) - row.time

    def percent(self, text):
        return self.end * int(text.rstrip("%")) // 100

    # ---- filters: parameters to a test of one row

    def conditions(self, parameters):
        for name, value in parameters.items():
            yield getattr(self, "is_" + name)(value)

    def matching(self, parameters):
        conditions = list(self.conditions(parameters))
        return [row for row in self.rows if all(condition(row) for condition in conditions)]

    def is_from(self, value):
        return lambda row: row.time >= self.percent(value)

    def is_to(self, value):
        return lambda row: row.time <= self.percent(value)

    def is_size_min(self, value):
        return lambda row: row.size >= value

    def is_size_max(self, value):
        return lambda row: row.size <= value

    def is_address_min(self, value):
        return lambda row: row.address >= value

    def is_address_max(self, value):
        return lambda row: row.address <= value

    def is_lifetime_min(self, value):
        return lambda row: self.lifetime(row) >= int(value[:-2]) * 1000

    def is_lifetime_max(self, value):
        return lambda row: self.lifetime(row) <= int(value[:-2]) * 1000

    def is_backtrace_depth_min(self, value):
        return lambda row: len(row.frames) >= value

    def is_backtrace_depth_max(self, value):
        return lambda row: len(row.frames) <= value

    def is_backtraces(self, value):
        return lambda row: row.stack == value

    def is_deallocation_backtraces(self, value):
        return lambda row: row.free_stack == value

    def is_arena(self, value):
        return lambda row: not row.block["is_mmaped"] and row.block["in_main_arena"] == (value == "main")

    def is_mmaped(self, value):
        return lambda row: row.block["is_mmaped"] == (value == "yes")

    def is_thread(self, value):
        return lambda row: row.thread == value

    def is_chain_length_min(self, value):
        return lambda row: row.chain_length >= value

    def is_position_in_chain_min(self, value):
        return lambda row: row.position >= value

    def is_alive_at(self, value):
        time = self.percent(value)
        return lambda row: row.time <= time and (row.freed is None or row.freed > time)

    is_at = is_alive_at

    def is_where(self, value):
        return value.holds(self)

    def is_function_regex(self, value):
        return lambda row: any(re.search(value, frame.get("function", "")) for frame in row.frames
                               if "function" in frame)

    def is_negative_function_regex(self, value):
        matches = self.is_function_regex(value)
        return lambda row: not matches(row)

    def is_group_allocations_min(self, value):
        return lambda row: self.groups[row.stack].count >= value

    def is_group_interval_min(self, value):
        return lambda row: self.groups[row.stack].interval >= self.percent(value)

    def is_group_leaked_allocations_min(self, value):
        def matches(row):
            group = self.groups[row.stack]
            least = group.count * int(value[:-1]) // 100 if isinstance(value, str) else value
            return group.leaked >= least
        return matches

    def is_lifetime(self, value):
        return {"all": lambda row: True,
                "only_leaked": lambda row: row.freed is None,
                "only_temporary": lambda row: row.freed is not None,
                "only_chain_leaked": lambda row: row.chain_leaked,
                "only_whole_group_leaked": lambda row: self.groups[row.stack].leaked == self.groups[row.stack].count,
                }[value]

    # ---- answers

    def sorted_rows(self, rows, key, order):
        keys = {"timestamp": lambda row: (row.time, row.id), "address": lambda row: (row.address, row.id),
                "size": lambda row: (row.size, row.id), "lifetime": lambda row: (self.lifetime(row), row.id)}
        return sorted(rows, key=keys[key], reverse=order == "dsc")

    def sorted_groups(self, rows, key, order):
        half, member = key.split(".")
        matched = self.group(rows)

        def value(stack):
            group = (matched if half == "only_matched" else self.groups)[stack]
            return {"min_timestamp": lambda: group.first, "max_timestamp": lambda: group.last,
                    "interval": lambda: group.interval, "allocated_count": lambda: group.count,
                    "leaked_count": lambda: group.leaked, "size": lambda: group.size,
                    "leaked_size": lambda: sum(row.size for row in group.rows if row.freed is None),
                    "max_total_usage_first_seen_at": group.largest_usage_time}[member]()
        return sorted(matched, key=lambda stack: (value(stack), stack), reverse=order == "dsc"), matched

    def peak(self, rows):
        return largest_usage(rows)

    def usage(self, rows, time):
        """Live bytes and blocks once everything up to a time has happened."""
        alive = [row for row in rows if row.time <= time and (row.freed is None or row.freed > time)]
        return sum(row.size for row in alive), len(alive)

    def regions(self, rows, header):
        merged = []
        for start, end in sorted((row.address - header, row.address + row.usable) for row in rows):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return merged

    def random_filter(self, random, recorded=False):
        """A few conditions that leave something more often than not."""
        def percent(low, high):
            return f"{random.randint(low, high)}%"
        row = random.choice(self.rows)
        names = [frame["function"] for frame in row.frames if "function" in frame] or ["main"]
        choices = {
            "from": lambda: percent(0, 60), "to": lambda: percent(40, 100),
            "lifetime": lambda: random.choice(["all", "only_leaked", "only_temporary", "only_chain_leaked",
                                               "only_whole_group_leaked"]),
            "size_min": lambda: random.choice([0, row.size, 100]), "size_max": lambda: max(row.size, 300),
            "address_min": lambda: min(row.address, 0x7f0000000000), "address_max": lambda: row.address + 2**20,
            "lifetime_min": lambda: f"{random.randint(0, 20000)}us", "lifetime_max": lambda: f"{self.end // 1500}us",
            "backtrace_depth_min": lambda: random.randint(1, 4), "backtrace_depth_max": lambda: len(row.frames) + 1,
            "backtraces": lambda: row.stack, "thread": lambda: row.thread,
            "deallocation_backtraces": lambda: row.free_stack or 1,
            "arena": lambda: random.choice(["main", "main", "non_main"]), "mmaped": lambda: random.choice(["yes", "no"]),
            "chain_length_min": lambda: random.randint(1, 3), "position_in_chain_min": lambda: random.randint(0, 1),
            "alive_at": lambda: percent(5, 95), "at": lambda: percent(5, 95),
            "function_regex": lambda: re.escape(random.choice(names)),
            "negative_function_regex": lambda: "^" + re.escape(random.choice(names)) + "$",
            "group_allocations_min": lambda: random.randint(1, 20),
            "group_interval_min": lambda: percent(0, 50),
            "group_leaked_allocations_min": lambda: random.choice([0, 1, "10%", "50%"]),
        }
        names = sorted(set(choices) - {"at"})

        def where(depth):
            join = random.choice(["part", "not", "and", "or"]) if depth else "part"
            if join == "part":
                name = random.choice(names)
                return Where(name, choices[name]())
            return Where(join, *(where(depth - 1) for _ in range(1 if join == "not" else 2)))
        given = random.sample(sorted(choices), random.choice([0, 1, 1, 2, 2, 3]))
        return {**{name: choices[name]() for name in given}, **({"where": where(2)} if random.random() < .3 else {})}
