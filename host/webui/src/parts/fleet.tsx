// SPDX-License-Identifier: MIT OR Apache-2.0
// What several views of fleets have in common: rows in pages, and their cells.
import type { ComponentChildren } from "preact";
import { useAnswer } from "../data/ask";
import type { FleetFirmware, FleetFrame, FleetPage, FleetStackRow, Frame } from "../data/types";
import { address, changed, type Changes, question, type Route, toView } from "../state/route";
import { type PlainColumn, PlainTable } from "../table/plain";
import { bytes, count, counted, exactBytes, plain } from "../text/format";
import { Pane } from "./pane";
import { shortStack } from "./stack";

const ROWS = 100;

// `own`: parameters of the question besides filters. `fixed`: the order is the question's.
export function Rows<Row>({ route, what, own = {}, label, id, columns, keyOf, data, empty, above }: {
  route: Route; what: string; own?: Changes; label: string; id: string; columns: PlainColumn<Row>[]; keyOf: (row: Row) => string;
  data?: (row: Row) => Record<`data-${string}`, string | number>; empty: ComponentChildren; above?: (page: FleetPage<Row>) => ComponentChildren;
}) {
  const skip = Math.max(0, Math.floor(Number(route.parameters.get("ui.skip"))) || 0);
  const path = question(route, what, { ...own, count: ROWS, skip: skip || undefined });
  const answer = useAnswer<FleetPage<Row>>(path);
  const to = (first: number): string => address(changed(route, { "ui.skip": first > 0 ? String(first) : undefined }));
  return (
    <Pane answer={answer} path={path}>
      {(page) => <>
        {above?.(page)}
        {!page.rows.length ? <p class="empty">{skip ? <>There are no more rows. <a href={to(0)}>To the first rows</a></> : empty}</p>
          : <PlainTable<Row> route={route} label={label} id={id} rows={page.rows.slice()} fixed={skip > 0 || page.next_skip !== null} keyOf={keyOf} columns={columns} {...data && { data }} />}
        {(skip > 0 || page.next_skip !== null) && <p class="pages">
          {skip > 0 && <a class="button" href={to(skip - ROWS)}>Previous rows</a>} rows {count(skip + 1)} to {count(skip + page.rows.length)}{" "}
          {page.next_skip !== null && <a class="button" href={to(page.next_skip)}>Next rows</a>}</p>}
      </>}
    </Pane>
  );
}

// As functions of traces are shown, the outermost first.
const converted = new WeakMap<FleetFrame[], Frame[]>();

export function framesOf(frames: FleetFrame[]): Frame[] {
  let all = converted.get(frames);
  if (!all)
    converted.set(frames, all = frames.map((frame) => ({
      ...frame.function && { function: frame.function }, ...frame.library && { library: frame.library }, ...frame.source && { source: frame.source },
      line: frame.line, address_s: frame.offset.toString(16), is_inline: frame.is_inline })).reverse());
  return all;
}

export function stackName(row: FleetStackRow): string {
  return row.stack === "0" ? "no stack" : shortStack(framesOf(row.frames));
}

// `narrow`: the part of the fleet that the row is about.
export function stackColumn<Row extends FleetStackRow>(route: Route, narrow: (row: Row) => Changes = () => ({})): PlainColumn<Row> {
  return { name: "Stack", wide: true, title: "the functions that requested the memory, the innermost first", of: stackName,
           cell: (row) => <a class="cut" title={framesOf(row.frames).map((frame) => plain(frame.function ?? frame.library ?? "")).reverse().join("\n")}
             href={address(toView(route, "stack", { ...narrow(row), stack: row.stack }))}>{stackName(row)}</a> };
}

export function sizeColumn<Row>(name: string, of: (row: Row) => number, title?: string): PlainColumn<Row> {
  return { name, number: true, ...title && { title }, of, cell: (row) => <span title={exactBytes(of(row))}>{bytes(of(row))}</span> };
}

export function rateColumn<Row>(of: (row: Row) => number): PlainColumn<Row> {
  return { name: "Growth/h", number: true, title: "growth per hour, over what was seen", of,
           cell: (row) => <span title={exactBytes(Math.round(of(row)))}>{of(row) > 0 ? "+" : ""}{bytes(Math.round(of(row)))}</span> };
}

export function textColumn<Row>(name: string, of: (row: Row) => string, to?: (row: Row) => Route): PlainColumn<Row> {
  return { name, of, cell: (row) => !of(row) ? <span class="faint">{"\u2013"}</span>
    : to ? <a class="cut" title={plain(of(row))} href={address(to(row))}>{plain(of(row))}</a> : <span class="cut" title={plain(of(row))}>{plain(of(row))}</span> };
}

// Times are those of the database's clock.
export function timeColumn<Row>(name: string, of: (row: Row) => string): PlainColumn<Row> {
  return { name, title: "in the time zone of the database", of, cell: (row) => <time class="when-seen">{of(row)}</time> };
}

export function devicesText(some: number, all: number): string {
  return `${count(some)} of ${counted(all, "devices")}`;
}

export function Estimated({ devices }: { devices: number }) {
  return devices ? <span class="tag" title={`the numbers of ${counted(devices, "devices")} are estimated from samples`}>estimated</span> : null;
}

// The firmwares of the fleet, the newest names last, and how the database was asked for them.
export function useFirmwares(route: Route) {
  const path = question({ ...route, parameters: new URLSearchParams() }, "firmwares", { count: 1000 });
  const answer = useAnswer<FleetPage<FleetFirmware>>(path);
  const names = [...new Set(answer.data?.rows.map((row) => row.firmware).filter(Boolean))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  return { path, answer, names };
}
