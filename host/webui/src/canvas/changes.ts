// SPDX-License-Identifier: MIT OR Apache-2.0
// How boxes of a difference look: blue where less is live, red where it is more, and each with a sign.
import { bytes, count, MINUS } from "../text/format";
import type { Looks } from "./paint";

export const MORE = "\u25b2", LESS = "\u25bc", NEW = "\u2726", GONE = "\u2715";

// By node. `moved`: what grew and what shrank, added up.
export interface Changes { now: number[]; base: number[]; moved: number[] }

export function signed(value: number, blocks = false): string {
  return (value > 0 ? "+" : value < 0 ? MINUS : "") + (blocks ? count : bytes)(Math.abs(value));
}

// A box is the stronger coloured, the more of what changed in it is in one direction.
export function looksOf({ now, base, moved }: Changes, blocks: boolean): Looks {
  const change = (node: number): number => now[node]! - base[node]!;
  const text = blocks ? count : bytes;
  return {
    colour: (node, dark) => {
      const part = moved[node] ? Math.abs(change(node)) / moved[node]! : 0, hue = change(node) > 0 ? 27 : 250;
      return dark ? `oklch(${0.34 + 0.1 * part} ${(0.11 * part).toFixed(3)} ${hue})` : `oklch(${0.9 - 0.1 * part} ${(0.11 * part).toFixed(3)} ${hue})`;
    },
    sign: (node) => (!base[node] && now[node] ? NEW : base[node] && !now[node] ? GONE : change(node) > 0 ? MORE : change(node) < 0 ? LESS : "") + " ",
    facts: (node) => [["change", signed(change(node), blocks)], ["before", text(base[node]!)], ["after", text(now[node]!)]],
  };
}
