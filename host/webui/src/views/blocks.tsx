// SPDX-License-Identifier: MIT OR Apache-2.0
// Single blocks.
import { type Block, ns } from "../data/types";
import { none } from "../parts/controls";
import { shortStack, Stack } from "../parts/stack";
import { StackSearch } from "../parts/stack_search";
import { address, changed, go, question } from "../state/route";
import { type Column, Table } from "../table/table";
import { bytes, count, duration, exactBytes } from "../text/format";
import type { ViewProps } from "./view";

const lifetime = (block: Block): string => block.deallocation ? duration(Math.max(0, ns(block.deallocation.timestamp) - ns(block.timestamp))) : "never freed";

export function BlocksView({ route }: ViewProps) {
  const sort = route.parameters.get("sort_by") ?? "size", order = route.parameters.get("order") ?? "dsc";
  const chosen = route.parameters.get("ui.stack");
  const columns: Column<Block>[] = [
    { name: "Time", sort: "timestamp", number: true, cell: (row) => duration(ns(row.timestamp_relative)) },
    { name: "Size", sort: "size", number: true, cell: (row) => <span title={`${exactBytes(row.size)}, ${count(row.size + row.extra_space)} usable`}>{bytes(row.size)}</span> },
    { name: "Lifetime", sort: "lifetime", number: true, cell: lifetime },
    { name: "Address", sort: "address", cell: (row) => <code>0x{row.address_s.replace(/^0+(?=.)/, "").toLowerCase()}</code> },
    { name: "Thread", number: true, cell: (row) => String(row.thread) },
    { name: "Stack, innermost function first", wide: true, cell: (row) => shortStack(row.backtrace) },
  ];
  return (
    <><div class="bar"><StackSearch route={route} what="blocks" /></div>
    <div class="with-side">
      <Table<Block> label="Blocks" columns={columns} sort={sort} order={order}
        ask={(skip, pageCount) => question(route, "allocations", { sort_by: sort, order, skip, count: pageCount, frames: "short" })}
        rows={(answer) => {
          const blocks = answer as { allocations: Block[]; total_count: number };
          return { rows: blocks.allocations, total: blocks.total_count };
        }}
        onSort={(sort_by, next) => go(changed(route, { sort_by, order: next }))}
        onOpen={(row) => go(changed(route, { "ui.stack": String(row.backtrace_id) }))} isOpen={(row) => String(row.backtrace_id) === chosen}
        empty={none(route, "block")} />
      {chosen && /^\d+$/.test(chosen) && <aside class="side"><a class="close" href={address(changed(route, { "ui.stack": undefined }))} aria-label="Close the stack">{"\u2715"}</a>
        <Stack route={route} id={Number(chosen)} title={"Stack " + count(Number(chosen))} /></aside>}
    </div></>
  );
}
