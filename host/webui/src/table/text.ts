// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as text, for other programs.
import type { ComponentChildren, VNode } from "preact";

// The text of a cell, or its exact value if it has one.
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

// A table as text: its cells, or their exact values.
export function saveTable(table: HTMLTableElement, name: string): void {
  const textIn = (cell: Element): string => cell.getAttribute("title") ?? (cell.children.length === 1 ? cell.querySelector("[title]")?.getAttribute("title") : undefined) ?? cell.textContent ?? "";
  save(name, "text/csv", [...table.rows].map((row) => line([...row.cells].map(textIn), ",")).join(""));
}

export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
