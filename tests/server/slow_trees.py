# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trees of differences, worked out slowly from lists of blocks."""
import posixpath

INVERTED_LEVELS = 24


def library_of(frame):
    return posixpath.basename(frame.get("library") or "")


def path_of(row, by, inverted):
    """The nodes that the stack of a block passes through, from the root on."""
    frames = row.frames[::-1][:INVERTED_LEVELS] if inverted else row.frames
    path = []
    for frame in frames:
        name = frame.get("function") or frame.get("place") or f"0x{frame['address'] + 1:x}"  # the return address
        if by == "library":
            if not path or path[-1] != library_of(frame):
                path.append(library_of(frame))
        elif by == "line":
            path.append((name, library_of(frame), posixpath.basename(frame.get("source") or ""), frame.get("line") or 0))
        else:
            path.append((name, library_of(frame)))
    return tuple(path)


def slow_tree(sides, by, inverted):
    """By path: bytes and blocks of both sides, and bytes that end there."""
    nodes = {(): [0] * 6}
    for side, rows in enumerate(sides):
        for row in rows:
            path = path_of(row, by, inverted)
            for depth in range(len(path) + 1):
                node = nodes.setdefault(path[:depth], [0] * 6)
                node[2 * side] += row.size
                node[2 * side + 1] += 1
            node[4 + side] += row.size
    return nodes


def moved(nodes):
    """By path: the changes that end there and below, whatever their signs."""
    sums = dict.fromkeys(nodes, 0)
    for path, node in nodes.items():
        for depth in range(len(path) + 1):
            sums[path[:depth]] += abs(node[5] - node[4])
    return sums


def paths_of(nodes, by):
    paths = []
    for node in nodes:
        if node["parent"] is None:
            paths.append(())
            continue
        name, library = node["function"], node["library"] or ""
        own = library if by == "library" else (name, library)
        if by == "line":
            own += (posixpath.basename(node["source"] or ""), node["line"] or 0)
        paths.append(paths[node["parent"]] + (own,))
    return paths


def check_tree(test, answer, by, inverted, sides):
    """The answer, with all nodes, is what the blocks of both sides say: those of the base and those of now."""
    test.assertEqual(answer["left_out_nodes"], 0)
    expected = slow_tree(sides, by, inverted)
    sums = moved(expected)
    paths = paths_of(answer["nodes"], by)
    test.assertEqual(len(set(paths)), len(paths))
    test.assertEqual(set(paths), {path for path, node in expected.items() if not path or sums[path] or node[1] != node[3]})
    for path, node in zip(paths, answer["nodes"]):
        of_base, of_now = (node[side] for side in ("base", "now"))
        test.assertEqual([of_base["size"], of_base["count"], of_now["size"], of_now["count"]], expected[path][:4], path)
        test.assertEqual((node["self_delta"], node["moved_size"]), (expected[path][5] - expected[path][4], sums[path]), path)
        test.assertEqual((node["only_in_now"], node["only_in_base"]),
                         (not of_base["count"] and of_now["count"] > 0, not of_now["count"] and of_base["count"] > 0))
    changes = [node["moved_size"] for node in answer["nodes"]]
    test.assertEqual(changes, sorted(changes, reverse=True))
