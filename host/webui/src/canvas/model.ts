// SPDX-License-Identifier: MIT OR Apache-2.0
// A tree of functions as arrays. Children of a node follow each other, the largest first.
import type { TreeColumns } from "../data/types";
import { type Place, placeName } from "../text/format";

export interface Model {
  count: number;
  columns: TreeColumns;
  first: Int32Array;    // child; 0: none
  children: Int32Array; // number of children
  depth: Int32Array;
  deepest: number;
  root: string;         // what the first node is called
  below: number[];      // the path that the answer is about: down to there each node has the one child that leads on
}

export function makeModel(columns: TreeColumns, below: number[] = [], root = "everything"): Model {
  const count = columns.parent.length;
  const first = new Int32Array(count), children = new Int32Array(count), depth = new Int32Array(count);
  let deepest = 0;
  for (let node = 1; node < count; node++) {
    const parent = columns.parent[node]!;
    if (!children[parent]!++)
      first[parent] = node;
    depth[node] = depth[parent]! + 1;
    deepest = Math.max(deepest, depth[node]!);
  }
  return { count, columns, first, children, depth, deepest, root, below };
}

export type Unit = "bytes" | "count";

export function valueOf(model: Model, node: number, unit: Unit): number {
  return (unit === "bytes" ? model.columns.size : model.columns.count)[node]!;
}

export function selfOf(model: Model, node: number, unit: Unit): number {
  return (unit === "bytes" ? model.columns.self_size : model.columns.self_count)[node]!;
}

export function leftOutOf(model: Model, node: number, unit: Unit): number {
  let rest = valueOf(model, node, unit) - selfOf(model, node, unit);
  const first = model.first[node]!;
  for (let child = first; child < first + model.children[node]!; child++)
    rest -= valueOf(model, child, unit);
  return rest;
}

export function nameOf(model: Model, node: number): string {
  const name = model.columns.name[node]!;
  return name < 0 ? model.root : model.columns.strings[name]!;
}

export function libraryOf(model: Model, node: number): string {
  const library = model.columns.library[node]!;
  return library < 0 ? "" : model.columns.strings[library]!;
}

export function placeOf(model: Model, node: number): Place | undefined {
  const source = model.columns.source[node]!;
  return source < 0 ? undefined : { file: model.columns.strings[source]!, line: model.columns.line[node]! };
}

export function sourceOf(model: Model, node: number): string {
  const place = placeOf(model, node);
  return place ? placeName(place) : "";
}

// The path of a node: the indexes of children from the root on.
export function pathOf(model: Model, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > 0; at = model.columns.parent[at]!) {
    const depth = model.depth[at]!;
    path.unshift(depth <= model.below.length ? model.below[depth - 1]! : at - model.first[model.columns.parent[at]!]!);
  }
  return path;
}

// The node at the end of a path, or the last existing node on it.
export function nodeAt(model: Model, path: number[]): number {
  let node = 0;
  for (let depth = 0; depth < path.length; depth++) {
    const step = depth < model.below.length ? (path[depth] === model.below[depth] ? 0 : -1) : path[depth]!;
    if (step < 0 || step >= model.children[node]!)
      break;
    node = model.first[node]! + step;
  }
  return node;
}

export function readPath(text: string | null): number[] {
  return text && /^\d+(\.\d+)*$/.test(text) ? text.split(".").map(Number) : [];
}

export function stackOf(model: Model, node: number): string[] {
  const names: string[] = [];
  for (let at = node; at > 0; at = model.columns.parent[at]!)
    names.push(nameOf(model, at));
  return names;
}

function within(model: Model, node: number, root: number): boolean {
  while (model.depth[node]! > model.depth[root]!)
    node = model.columns.parent[node]!;
  return node === root;
}

// The next hit below `root` after `from`, or before it; after the last one, the first. 0: none.
export function nextHit(model: Model, hits: Hits, root: number, from: number, way: 1 | -1): number {
  for (let i = 1, at = Math.max(0, from) + way; i <= model.count; i++, at += way) {
    const node = (at % model.count + model.count) % model.count;
    if (hits.is[node] && within(model, node, root))
      return node;
  }
  return 0;
}

// Syntax of a search: text in a name (case-insensitive), /expression/, lib:TEXT, file:TEXT; several are separated by
// commas.
export function matcher(search: string): ((model: Model, node: number) => boolean) | undefined {
  const tests = search.split(",").map((word) => word.trim()).filter(Boolean).map((word) => {
    const of = word.startsWith("lib:") ? libraryOf : word.startsWith("file:") ? sourceOf : nameOf;
    const rest = of === nameOf ? word : word.slice(word.indexOf(":") + 1);
    const expression = /^\/(.+)\/(i?)$/.exec(rest);
    try {
      if (expression) {
        const wanted = new RegExp(expression[1]!, expression[2]);
        return (model: Model, node: number) => wanted.test(of(model, node));
      }
    } catch {
      return () => false;
    }
    const text = rest.toLowerCase();
    return (model: Model, node: number) => of(model, node).toLowerCase().includes(text);
  });
  return tests.length ? (model, node) => tests.some((test) => test(model, node)) : undefined;
}

// The filter for stacks with a match; undefined: it cannot be expressed as one filter.
export function searchFilter(search: string): [name: string, value: string] | undefined {
  const words = search.split(",").map((word) => word.trim()).filter(Boolean);
  const of = words[0]?.startsWith("lib:") ? "library" : words[0]?.startsWith("file:") ? "source_regex" : "function_regex";
  const texts = words.map((word) => word.replace(/^(lib|file):/, ""));
  if (!words.length || words.some((word) => (word.startsWith("lib:") ? "library" : word.startsWith("file:") ? "source_regex" : "function_regex") !== of))
    return undefined;
  if (of === "library")
    return texts.length === 1 && !texts[0]!.startsWith("/") ? [of, `*${texts[0]}*`] : undefined;
  return [of, texts.map((text) => {
    const expression = /^\/(.+)\/(i?)$/.exec(text);
    return expression ? `(?${expression[2]}:${expression[1]})` : `(?i:${text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")})`;
  }).join("|")];
}

export interface Hits { is: Uint8Array; count: number; bytes: number; blocks: number }

// A hit within a hit counts as part of the outer one.
export function findHits(model: Model, search: string): Hits | undefined {
  const matches = matcher(search);
  if (!matches)
    return undefined;
  const is = new Uint8Array(model.count), inside = new Uint8Array(model.count);
  const texts = new Map<number, boolean>();
  let count = 0, size = 0, blocks = 0;
  for (let node = 1; node < model.count; node++) {
    const key = model.columns.name[node]!;
    const byName = !/(lib|file):/.test(search);
    let hit = byName ? texts.get(key) : undefined;
    if (hit === undefined)
      texts.set(key, hit = matches(model, node));
    const outer = inside[model.columns.parent[node]!]!;
    inside[node] = hit || outer ? 1 : 0;
    if (!hit)
      continue;
    is[node] = 1;
    count++;
    if (!outer)
      size += model.columns.size[node]!, blocks += model.columns.count[node]!;
  }
  return { is, count, bytes: size, blocks };
}
