// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as text: what is shown, for tables of other programs.
import type { ComponentChildren, VNode } from "preact";

// What a cell shows, or what it says exactly where it says that.
export function textOf(cell: ComponentChildren): string {
  if (cell === null || cell === undefined || typeof cell === "boolean")
    return "";
  if (Array.isArray(cell))
    return cell.map(textOf).join("");
  if (typeof cell === "object") {
    const { props } = cell as VNode<{ title?: string; children?: ComponentChildren }>;
    return props.title ?? textOf(props.children);
  }
  return String(cell);
}

export function line(cells: string[], separator: string): string {
  return cells.map((cell) => separator === "\t" ? cell.replace(/[\t\n]/g, " ") : /[",\n]/.test(cell) ? '"' + cell.replace(/"/g, '""') + '"' : cell).join(separator) + "\n";
}

export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
