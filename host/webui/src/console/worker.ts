// SPDX-License-Identifier: MIT OR Apache-2.0
// What scripts of the console are given: lists of blocks, groups and mappings as filters of REST, which are asked when their
// numbers are wanted. The page asks the questions.
import type { FromFrame, ToFrame } from "./messages";

type Value = string | number;
type Json = Record<string, unknown>;
type Parameters = Record<string, Value | undefined>;

const post = (message: FromFrame): void => postMessage(message);
const waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (problem: Error) => void }>();
let questions = 0;

function ask<T>(what: string, parameters: Parameters = {}): Promise<T> {
  const number = ++questions;
  return new Promise<T>((resolve, reject) => {
    waiting.set(number, { resolve: resolve as (answer: unknown) => void, reject });
    post({ kind: "ask", number, what, parameters });
  });
}

// ---- filters -------------------------------------------------------------------------------------------------------

// Of durations and times since the start, which are in nanoseconds; text stays as it is.
const time = (value: Value): Value => typeof value === "number" ? `${Math.round(value)}ns` : value;
const same = (value: Value): Value => value;
const more = (value: Value): Value => Number(value) + 1, less = (value: Value): Value => Number(value) - 1;
const all = (text: string) => (): Value => text;

// By the names that methods have: the parameter, and its value.
const FILTERS: Record<string, [string, (value: Value) => Value]> = {
  live: ["lifetime", all("only_leaked")], leaked: ["lifetime", all("only_leaked")], temporary: ["lifetime", all("only_temporary")],
  allocated_after_at_least: ["from", time], allocated_until_at_most: ["to", time],
  alive_for_at_least: ["lifetime_min", time], alive_for_at_most: ["lifetime_max", time],
  larger: ["size_min", more], larger_or_equal: ["size_min", same], smaller: ["size_max", less], smaller_or_equal: ["size_max", same],
  first_size_larger_or_equal: ["first_size_min", same], first_size_smaller_or_equal: ["first_size_max", same],
  last_size_larger_or_equal: ["last_size_min", same], last_size_smaller_or_equal: ["last_size_max", same],
  address_at_least: ["address_min", same], address_at_most: ["address_max", same],
  chain_length_at_least: ["chain_length_min", same], chain_length_at_most: ["chain_length_max", same],
  chain_alive_for_at_least: ["chain_lifetime_min", time], chain_alive_for_at_most: ["chain_lifetime_max", time],
  position_in_chain_at_least: ["position_in_chain_min", same], position_in_chain_at_most: ["position_in_chain_max", same],
  backtrace_length_at_least: ["backtrace_depth_min", same], backtrace_length_at_most: ["backtrace_depth_max", same],
  group_allocations_at_least: ["group_allocations_min", same], group_allocations_at_most: ["group_allocations_max", same],
  group_leaked_allocations_at_least: ["group_leaked_allocations_min", same], group_leaked_allocations_at_most: ["group_leaked_allocations_max", same],
  group_interval_at_least: ["group_interval_min", time], group_interval_at_most: ["group_interval_max", time],
  group_max_total_usage_first_seen_at_least: ["group_max_total_usage_first_seen_min", time],
  group_max_total_usage_first_seen_at_most: ["group_max_total_usage_first_seen_max", time],
  passing_through_function: ["function_regex", same], not_passing_through_function: ["negative_function_regex", same],
  passing_through_source: ["source_regex", same], not_passing_through_source: ["negative_source_regex", same],
  matching_backtraces: ["backtraces", same], matching_deallocation_backtraces: ["deallocation_backtraces", same],
  with_marker: ["marker", same], from_thread: ["thread", same], in_library: ["library", same],
  jemalloc: ["jemalloc", all("yes")], not_jemalloc: ["jemalloc", all("no")],
  ptmalloc_mmaped: ["mmaped", all("yes")], ptmalloc_not_mmaped: ["mmaped", all("no")],
  ptmalloc_from_main_arena: ["arena", all("main")], ptmalloc_not_from_main_arena: ["arena", all("non_main")],
};

const quoted = (value: Value): string => `"${String(value).replace(/[\\"]/g, "\\$&")}"`;

type Term = [name: string, value: Value];
const condition = ([name, value]: Term): string => name === "where" ? `(${value})` : `${name}=${quoted(value)}`;

// What lists have in common. They never change; each method gives another one.
abstract class List {
  constructor(readonly terms: Term[] = [], readonly wheres: string[] = []) {}
  protected abstract of(terms: Term[], wheres: string[]): this;

  // With any parameter of REST.
  only(name: string, value: Value): this {
    return this.of([...this.terms, [name, value]], this.wheres);
  }
  only_alive_at(times: Value | Value[]): this {
    return [times].flat().reduce<this>((list, one) => list.only("alive_at", time(one)), this);
  }
  plus(other: this): this {
    return this.of([], [`(${this.expression()}) or (${other.expression()})`]);
  }
  minus(other: this): this {
    return this.of(this.terms, [...this.wheres, `not (${other.expression()})`]);
  }
  and(other: this): this {
    return this.of([...this.terms, ...other.terms], [...this.wheres, ...other.wheres]);
  }
  expression(): string {
    return [...this.terms.map(condition), ...this.wheres.map((one) => `(${one})`)].join(" and ") || "size>=0";
  }
  // The first of each name is a parameter, which can use indexes; the others have to match, too.
  parameters(own: Parameters = {}): Parameters {
    const result: Parameters = {}, rest: string[] = this.wheres.map((one) => `(${one})`);
    for (const [name, value] of this.terms)
      name in result || name === "where" ? rest.push(condition([name, value])) : result[name] = value;
    return { ...result, where: rest.length ? rest.join(" and ") : undefined, ...own };
  }
}

for (const [name, [parameter, write]] of Object.entries(FILTERS))
  (List.prototype as unknown as Json)["only_" + name] = function (this: List, value: Value | Value[] = "") {
    const values = [value].flat(), term = (one: Value): string => condition([parameter, write(one)]);
    return values.length === 1 ? this.only(parameter, write(values[0]!)) : this.only("where", values.map(term).join(" or "));
  };

class Allocations extends List {
  protected of(terms: Term[], wheres: string[]): this {
    return new Allocations(terms, wheres) as this;
  }
  async len(): Promise<number> {
    return (await ask<{ total_count: number }>("allocations", this.parameters({ count: 1, frames: "none" }))).total_count;
  }
  async rows(count = 20, sort_by = "timestamp", order = "asc"): Promise<Json[]> {
    return (await ask<{ allocations: Json[] }>("allocations", this.parameters({ count, sort_by, order, frames: "short" }))).allocations;
  }
  // What matches: live, peak, allocated and temporary, as [bytes, blocks].
  async sum(): Promise<Json> {
    return (await ask<{ sum: Json }>("totals", this.parameters({ by: "library", count: 1 }))).sum;
  }
  async totals(by = "function", count = 20, sort_by = "self.allocated.bytes"): Promise<Json[]> {
    return (await ask<{ rows: Json[] }>("totals", this.parameters({ by, count, sort_by, order: "dsc" }))).rows;
  }
  group_by_backtrace(): Groups {
    return new Groups(this.terms, this.wheres);
  }
}

interface Group { all: Json; only_matched: Json; backtrace: { function?: string; library?: string }[]; backtrace_id: number }

class Groups extends List {
  private by = "only_matched.size";
  private most = 20;
  protected of(terms: Term[], wheres: string[]): this {
    const other = new Groups(terms, wheres);
    other.by = this.by;
    other.most = this.most;
    return other as this;
  }
  private with(change: (other: Groups) => void): this {
    const other = this.of(this.terms, this.wheres);
    change(other);
    return other;
  }
  sort_by_size(): this {
    return this.with((other) => { other.by = "only_matched.size"; });
  }
  sort_by_count(): this {
    return this.with((other) => { other.by = "only_matched.allocated_count"; });
  }
  take(count: number): this {
    return this.with((other) => { other.most = count; });
  }
  only_all_leaked(): this {
    return this.only("group_leaked_allocations_min", "100%");
  }
  only_count_at_least(count: number): this {
    return this.only("group_allocations_min", count);
  }
  ungroup(): Allocations {
    return new Allocations(this.terms, this.wheres);
  }
  async len(): Promise<number> {
    return (await ask<{ total_count: number }>("allocation_groups", this.parameters({ count: 1, frames: "none" }))).total_count;
  }
  async rows(count = this.most): Promise<Group[]> {
    return (await ask<{ allocations: Group[] }>("allocation_groups", this.parameters({ count, sort_by: this.by, order: "dsc", frames: "short" }))).allocations;
  }
}

class Maps extends List {
  protected of(terms: Term[], wheres: string[]): this {
    return new Maps(terms, wheres) as this;
  }
  async len(): Promise<number> {
    return (await ask<{ total_count: number }>("maps", this.parameters({ count: 1 }))).total_count;
  }
  async rows(count = 20): Promise<Json[]> {
    return (await ask<{ maps: Json[] }>("maps", this.parameters({ count }))).maps;
  }
}

// ---- output --------------------------------------------------------------------------------------------------------

const text = (value: unknown): string => typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);

function println(...values: unknown[]): void {
  post({ kind: "line", text: values.map(text).join(" ") });
}

async function named(row: Json | Group): Promise<Json> {
  const { backtrace, backtrace_id, all: _, only_matched: matched, ...rest } = row as Json & Partial<Group>;
  const own = matched ? { size: matched.size, blocks: matched.allocated_count, live: matched.leaked_count } : rest;
  return { ...own, stack: backtrace ? backtrace.map((frame) => frame.function ?? frame.library ?? "?").reverse().slice(0, 6).join(" < ") : undefined, backtrace_id };
}

// Rows of a list, or of anything.
async function table(rows: List | unknown[]): Promise<void> {
  const list = rows instanceof List ? await (rows as Allocations).rows() : rows;
  const named_rows = await Promise.all(list.map((row) => row && typeof row === "object" && !Array.isArray(row) ? named(row as Json) : { value: row }));
  const columns = [...new Set(named_rows.flatMap((row) => Object.keys(row).filter((key) => (row as Json)[key] !== undefined)))];
  post({ kind: "table", columns, rows: named_rows.map((row) => columns.map((key) => (row as Json)[key] === undefined ? "" : text((row as Json)[key]))) });
}

interface Timeline { start_ns: number; interval_ns: number; end_size: number[] }

class Graph {
  constructor(readonly series: [string, List][] = []) {}
  add(name: string, list: List): Graph {
    return new Graph([...this.series, [name, list]]);
  }
  async save(): Promise<void> {
    const lines = [];
    for (const [name, list] of this.series) {
      const answer = await ask<Timeline>("timeline", list.parameters({ width: 400 }));
      lines.push({ name, start_ns: answer.start_ns, interval_ns: answer.interval_ns, sizes: answer.end_size });
    }
    post({ kind: "chart", lines });
  }
}

const GIVEN = {
  println, table, ask,
  allocations: () => new Allocations(), maps: () => new Maps(), graph: () => new Graph(),
  data: () => ({
    runtime: async () => (await ask<{ duration_ns: number }>("summary")).duration_ns,
    summary: () => ask<Json>("summary"), findings: () => ask<Json>("findings"),
    timeline: (width = 100) => ask<Json>("timeline", { width }),
  }),
  ns: (n: number) => n, us: (n: number) => n * 1e3, ms: (n: number) => n * 1e6, s: (n: number) => n * 1e9, m: (n: number) => n * 60e9, h: (n: number) => n * 3600e9, d: (n: number) => n * 86400e9,
  kb: (n: number) => n * 1024, mb: (n: number) => n * 1024 ** 2, gb: (n: number) => n * 1024 ** 3,
};

// ---- running -------------------------------------------------------------------------------------------------------

type Script = (...given: unknown[]) => Promise<unknown>;
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (...words: string[]) => Script;

async function run(code: string): Promise<void> {
  try {
    const result = await new AsyncFunction(...Object.keys(GIVEN), code)(...Object.values(GIVEN));
    if (result !== undefined)
      println(result);
    post({ kind: "ended" });
  } catch (problem) {
    post({ kind: "failed", text: String(problem) });
  }
}

addEventListener("message", ({ data: message }: MessageEvent<ToFrame>) => {
  if (message.kind === "run")
    return void run(message.code);
  const one = waiting.get(message.number);
  waiting.delete(message.number);
  message.problem === undefined ? one?.resolve(message.answer) : one?.reject(new Error(message.problem));
});
post({ kind: "ready" });
