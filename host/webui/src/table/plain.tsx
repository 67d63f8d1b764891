// SPDX-License-Identifier: MIT OR Apache-2.0
// A table that is loaded completely: every column sorts, a search box selects rows by text, and all rows can be saved
// as CSV.
import type { ComponentChildren } from "preact";
import { address, changed, go, type Route } from "../state/route";
import { line, save, textOf } from "./text";

export interface PlainColumn<Row> {
  name: string;
  number?: boolean;
  wide?: boolean;
  title?: string;
  of: (row: Row) => number | string;   // what sorts
  cell: (row: Row) => ComponentChildren;
}

interface Props<Row> {
  route: Route;
  label: string;
  id: string;             // its order and search in the address
  columns: PlainColumn<Row>[];
  rows: Row[];
  sort?: string;          // "NAME" or "-NAME"; else as they come
  fixed?: boolean;        // the rows are a part of all: neither sorted nor searched here
  keyOf: (row: Row) => string;
  data?: (row: Row) => Record<`data-${string}`, string | number>;
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "string" && typeof b === "string" ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0;
}

export function PlainTable<Row>({ route, label, id, columns, rows, sort, fixed, keyOf, data }: Props<Row>) {
  const find = !fixed && route.parameters.get("ui.find_" + id) || "", order = !fixed && route.parameters.get("ui.sort_" + id) || sort || "";
  const down = order.startsWith("-"), by = columns.find((column) => column.name === order.replace(/^-/, ""));
  const textsOf = (row: Row): string[] => columns.map((column) => textOf(column.cell(row)) || String(column.of(row)));
  const shown = rows.filter((row) => !find || textsOf(row).some((text) => text.toLowerCase().includes(find.toLowerCase())));
  if (by)
    shown.sort((a, b) => compare(by.of(a), by.of(b)) * (down ? -1 : 1));
  return (
    <div class="plain-rows">
      <p class="tools">
        {!fixed && <input type="search" class="search" placeholder="Search" aria-label={`Search in ${label}`} value={find}
          onInput={(event) => go(changed(route, { ["ui.find_" + id]: event.currentTarget.value || undefined }), true)} />}
        <button type="button" onClick={() => save(id + ".csv", "text/csv", [columns.map((column) => column.name), ...shown.map(textsOf)].map((cells) => line(cells, ",")).join(""))}>Save CSV</button>
      </p>
      <div class="plain-pane">
        <table class="plain-table" aria-label={label}>
          <thead><tr>{columns.map((column) => {
            const now = column === by;
            return <th key={column.name} scope="col" class={column.number ? "number" : column.wide ? "wide" : ""} aria-sort={now ? (down ? "descending" : "ascending") : undefined}>
              {fixed ? <span title={column.title}>{column.name}</span> : <a class="sort" title={column.title} href={address(changed(route, { ["ui.sort_" + id]: (now ? !down : column.number) ? "-" + column.name : column.name }))}>
                {column.name}{now ? (down ? " \u25bc" : " \u25b2") : ""}</a>}</th>;
          })}</tr></thead>
          <tbody>{shown.map((row) => <tr key={keyOf(row)} {...data?.(row)}>{columns.map((column) =>
            <td key={column.name} class={column.number ? "number" : column.wide ? "wide" : ""}>{column.cell(row)}</td>)}</tr>)}</tbody>
        </table>
      </div>
      {rows.length > 0 && !shown.length && <p class="empty">No row contains {"\u201c"}{find}{"\u201d"}.</p>}
    </div>
  );
}
