// SPDX-License-Identifier: MIT OR Apache-2.0
// What the page and the frame of the console tell each other. The page trusts nothing in what comes from the frame.
export interface ChartLine { name: string; start_ns: number; interval_ns: number; sizes: number[] }

export type FromFrame =
  | { kind: "ready" } | { kind: "ended" } | { kind: "failed"; text: string }
  | { kind: "line"; text: string } | { kind: "table"; columns: string[]; rows: string[][] } | { kind: "chart"; lines: ChartLine[] }
  | { kind: "ask"; number: number; what: string; parameters: Record<string, string | number | undefined> };

export type ToFrame = { kind: "run"; code: string } | { kind: "answer"; number: number; answer?: unknown; problem?: string };
