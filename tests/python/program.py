# SPDX-License-Identifier: MIT OR Apache-2.0
"""Allocates blocks of unique sizes in all ways in which Python code runs. At the end it prints, for each block, its size
and the functions, files and lines that the interpreter itself says: a line of JSON, innermost first. Works with Python
3.8."""
import asyncio
import ctypes
import functools
import gc
import json
import os
import random
import sys
import threading

FIRST, STEP = 100003, 64  # no sizes that anything else is likely to have
HEADER = sys.getsizeof(b"")  # of a bytes object, which is one block
blocks = []
lock = threading.RLock()  # a destructor may run at any time


def frames(frame):
    found = []
    while frame:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def block():
    """Of the caller: the stack is read in the same line in which the block is allocated."""
    with lock:
        size = FIRST + STEP * len(blocks)
        entry = [size, None]
        blocks.append(entry)
    _, entry[1] = bytes(size - HEADER), frames(sys._getframe())
    return entry


def nested(depth):
    def inner():
        return block()
    return nested(depth - 1) if depth else inner()


def recursive(depth):
    if depth:
        value = recursive(depth - 1)
    else:
        value = block()
    return value


def generator():
    block()
    yield 1
    block()
    yield from inner_generator()


def inner_generator():
    yield block()
    try:
        yield block()
    finally:
        block()


class Base:
    def __init__(self):
        self.first = block()

    def __del__(self):
        block()

    def __eq__(self, other):
        return block() is None

    def __hash__(self):
        return len(block())

    @property
    def read(self):
        return block()

    @classmethod
    def of_class(cls):
        return block()

    @staticmethod
    def of_none():
        return block()

    def __enter__(self):
        return block()

    def __exit__(self, *what):
        block()


class Derived(Base):
    def __init__(self):
        super().__init__()
        self.second = block()


class Meta(type):
    def __new__(cls, name, bases, body):
        block()
        return super().__new__(cls, name, bases, body)


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        block()
        return function(*arguments)
    return wrapper


@decorated
def calls(*arguments):
    return block(), sorted([3, 1, 2], key=lambda value: block()[0] * value)


def comprehensions():
    return [block() for _ in range(2)], {str(block()) for _ in range(1)}, list(map(lambda _: block(), range(2)))


def exceptions():
    try:
        try:
            raise ValueError(block()[0])
        except ValueError as error:
            block()
            raise KeyError(block()[0]) from error
    except KeyError:
        block()
    finally:
        block()


def same_lines():
    # One line of machine code after the other, and turns among few lines: what is remembered must not be mixed up.
    for _ in range(4):
        block()
        block(); block()
        block(
        )


def classes():
    one = Derived()
    one.read, Base.of_class(), Base.of_none()
    with one:
        block()
    {one: 1}
    one == 2
    Meta("Made", (), {})
    del one
    gc.collect()


def texts():
    # Code that is compiled again and again gets the same memory. A text alone says which line it is.
    for blank in range(12):
        exec(compile("\n" * blank + "block()", "<text>", "exec"), globals())
        exec(compile("\n" * (11 - blank) + "def made():\n return block()\nmade()", "<other %d>" % (blank % 3), "exec"),
             {"block": block})
    eval("block()")
    exec(compile("def größe():\n\n  block()\ngröße()", "/nicht/da/ünï.py", "exec"), globals())
    exec(compile("def 名前():\n\n\n  block()\n名前()", "/nicht/da/名.py", "exec"), globals())


def callbacks():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(left, right):
        block()
        return 0

    numbers = (ctypes.c_int * 3)(3, 1, 2)
    ctypes.CDLL(None).qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), kind(compare))


def loops():
    async def leaf():
        block()
        await asyncio.sleep(0)
        return block()

    async def main():
        task = asyncio.ensure_future(leaf())
        await asyncio.gather(leaf(), task)
        async for _ in numbers():
            block()

    async def numbers():
        for number in range(2):
            block()
            yield number

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()


def threads():
    def run(number):
        for turn in range(5):
            recursive(number) if turn % 2 else nested(number)
            [block() for _ in range(1)]

    running = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def many_lines():
    # More than 256 instructions, lines that go back, and steps of more than 127 lines.
    text = "def long():\n" + "".join(" a%d = [%d,\n\n 2]\n" % (i, i) for i in range(300)) + "\n" * 300 + " block(\n\n\n)\n"
    text += " return (\n" + "\n" * 200 + "  block()\n , block())\nlong()\n"
    exec(compile(text, "<long>", "exec"), globals())


def main():
    turns = [nested, recursive, comprehensions, exceptions, same_lines, classes, texts, callbacks, loops, threads, many_lines]
    order = turns * 3
    random.Random(7).shuffle(order)
    for turn in order:
        for depth in (0, 3):
            turn(depth) if turn in (nested, recursive) else turn()
    recursive(300)
    for _ in generator():
        block()
    calls(1, 2)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.modules["program"] = sys.modules["__main__"]
    import imported
    imported.called()
    if "fork" in sys.argv:
        forked()


def forked():
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        del blocks[:]
        texts(), nested(2), threads()
        report()
        os._exit(0)
    os.waitpid(child, 0)


def report():
    # One write: a child and its parent may share the pipe.
    lines = ["%d %s\n" % (os.getpid(), json.dumps([size, stack])) for size, stack in blocks]
    sys.stdout.write("".join(lines))
    sys.stdout.flush()


if __name__ == "__main__":
    if "wait" in sys.argv:
        print("ready", flush=True)
        sys.stdin.readline()
    main()
    report()
