// SPDX-License-Identifier: MIT OR Apache-2.0
// A tree in which every function occurs once on each path from the root. Callees of inner calls are below the outermost
// call. No sum changes, and what was left out stays left out.
import type { TreeColumns } from "../data/types";

interface Node { from: number; size: number; count: number; self: number; selfCount: number; children: Map<number, Node> }

export function collapseRecursion(columns: TreeColumns): TreeColumns {
  const children: number[][] = columns.parent.map(() => []);
  columns.parent.forEach((parent, node) => parent >= 0 && children[parent]!.push(node));
  const root = nodeOf(columns, 0);
  const way: { node: number; to: Node; outer: Map<number, Node> }[] = [{ node: 0, to: root, outer: new Map() }];
  while (way.length) {
    const { node, to, outer } = way.pop()!;
    for (const child of children[node]!) {
      const name = columns.name[child]!, same = outer.get(name);
      if (same) {
        same.self += columns.self_size[child]!;
        same.selfCount += columns.self_count[child]!;
        way.push({ node: child, to: same, outer });
        continue;
      }
      let next = to.children.get(name);
      if (next) {
        next.size += columns.size[child]!;
        next.count += columns.count[child]!;
        next.self += columns.self_size[child]!;
        next.selfCount += columns.self_count[child]!;
      } else
        to.children.set(name, next = nodeOf(columns, child));
      way.push({ node: child, to: next, outer: new Map(outer).set(name, next) });
    }
  }
  return columnsOf(columns, root);
}

function nodeOf(columns: TreeColumns, from: number): Node {
  return { from, size: columns.size[from]!, count: columns.count[from]!, self: columns.self_size[from]!, selfCount: columns.self_count[from]!, children: new Map() };
}

function columnsOf(columns: TreeColumns, root: Node): TreeColumns {
  const made: TreeColumns = { nodes: 0, left_out: columns.left_out, strings: columns.strings, parent: [], name: [], library: [], source: [], line: [],
                              size: [], count: [], self_size: [], self_count: [] };
  const queue: [Node, number][] = [[root, -1]];
  for (let at = 0; at < queue.length; at++) {
    const [node, parent] = queue[at]!;
    made.parent.push(parent);
    for (const name of ["name", "library", "source", "line"] as const)
      made[name].push(columns[name][node.from]!);
    made.size.push(node.size);
    made.count.push(node.count);
    made.self_size.push(node.self);
    made.self_count.push(node.selfCount);
    const sorted = [...node.children.values()].sort((a, b) => b.size - a.size || b.count - a.count);
    for (const child of sorted)
      queue.push([child, at]);
  }
  made.nodes = queue.length;
  return made;
}
