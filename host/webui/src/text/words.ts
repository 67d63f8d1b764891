// SPDX-License-Identifier: MIT OR Apache-2.0
// Texts that are used in several places.
import type { Cost } from "../data/types";

export const COSTS: Record<Cost, { name: string; were: string; explained: string }> = {
  peak: { name: "At the peak", were: "that were live at the peak", explained: "blocks that were live when the heap was largest" },
  live: { name: "Still live at the end", were: "that are still live at the end", explained: "blocks that were not freed by the end of the recording" },
  allocated: { name: "Allocated", were: "that were allocated", explained: "all blocks, freed or not" },
  temporary: { name: "Temporary", were: "that were temporary", explained: "blocks that were freed by the very next call of their thread to the allocator" },
};

export const EVENTS: Record<string, string> = {
  heap: "Heap", cpu: "CPU time", off_cpu: "Waiting", faults: "Page faults", touched: "Touched",
  touched_mappings: "Touched mappings",
};

// Names for the values of the filter `lifetime`.
export const LIFETIMES: Record<string, string> = {
  all: "any", only_leaked: "never freed", only_chain_leaked: "chain never freed", only_temporary: "freed",
  only_whole_group_leaked: "no block of the stack freed", only_not_deallocated_in_current_range: "not freed before the range ends",
  only_deallocated_in_current_range: "freed before the range ends",
};

export function filterName(name: string): string {
  return name === "app" ? "program" : name.replace("leaked", "never freed").replace(/_/g, " ");
}

// What a selected time range can mean, and the filter for each meaning.
export const RANGES: { name: string; explained: string; parameters: (from: string, to: string) => Record<string, string> }[] = [
  { name: "Allocated in it", explained: "allocated within the range, freed or not",
    parameters: (from, to) => ({ from, to }) },
  { name: "\u2026 and still live at its end", explained: "allocated within the range and not freed before its end",
    parameters: (from, to) => ({ from, to, lifetime: "only_not_deallocated_in_current_range" }) },
  { name: "Live the whole time", explained: "allocated before the range, and freed after it or never",
    parameters: (from, to) => ({ alive_at: from, alive_at_2: to }) },
  { name: "Allocated and freed in it", explained: "allocated within the range and freed before its end",
    parameters: (from, to) => ({ from, to, lifetime: "only_deallocated_in_current_range" }) },
  { name: "Live at its beginning", explained: "live at the beginning of the range",
    parameters: (from) => ({ alive_at: from }) },
];
