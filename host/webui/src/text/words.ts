// SPDX-License-Identifier: MIT OR Apache-2.0
// What is said in several places.
import type { Cost } from "../data/types";

export const COSTS: Record<Cost, { name: string; were: string; explained: string }> = {
  peak: { name: "At the peak", were: "that were there at the peak", explained: "blocks that were there when the heap was largest" },
  live: { name: "Still live at the end", were: "that are still live at the end", explained: "blocks that were not freed until the end of the recording" },
  allocated: { name: "Allocated", were: "that were allocated", explained: "all blocks, whether freed or not" },
  temporary: { name: "Temporary", were: "that were temporary", explained: "blocks that their thread freed again before it allocated or freed another one" },
};

export const EVENTS: Record<string, string> = {
  heap: "Heap", cpu: "CPU time", off_cpu: "Waiting", faults: "Page faults", touched: "Touched",
  touched_mappings: "Touched mappings",
};

// The filter's words of how blocks ended, in plain ones.
export const LIFETIMES: Record<string, string> = {
  all: "any", only_leaked: "never freed", only_chain_leaked: "chain never freed", only_temporary: "freed",
  only_whole_group_leaked: "nothing of the stack freed", only_not_deallocated_in_current_range: "not freed before the range ends",
  only_deallocated_in_current_range: "freed before the range ends",
};

export function filterName(name: string): string {
  return name.replace("leaked", "never freed").replace(/_/g, " ");
}

// The meanings of a range of time, and what each is as a filter.
export const RANGES: { name: string; explained: string; parameters: (from: string, to: string) => Record<string, string> }[] = [
  { name: "Allocated in it", explained: "allocated within the range, whatever became of it",
    parameters: (from, to) => ({ from, to }) },
  { name: "\u2026 and still there at its end", explained: "allocated within the range, not freed before it ends",
    parameters: (from, to) => ({ from, to, lifetime: "only_not_deallocated_in_current_range" }) },
  { name: "There the whole time", explained: "allocated before the range, freed after it or never",
    parameters: (from, to) => ({ alive_at: from, alive_at_2: to }) },
  { name: "Allocated and freed in it", explained: "allocated within the range, freed before it ends",
    parameters: (from, to) => ({ from, to, lifetime: "only_deallocated_in_current_range" }) },
  { name: "There at its beginning", explained: "blocks that were there at one instant",
    parameters: (from) => ({ alive_at: from }) },
];
