// SPDX-License-Identifier: MIT OR Apache-2.0
// Single blocks.
import type { ComponentChildren } from "preact";
import { type Block, ns } from "../data/types";
import { report } from "../data/report";
import { none } from "../parts/controls";
import { shortStack, Stack } from "../parts/stack";
import { StackSearch } from "../parts/stack_search";
import { address, changed, go, question } from "../state/route";
import { type Column, Table } from "../table/table";
import { bytes, count, duration, exactBytes, hexadecimal } from "../text/format";
import { areaOf, BlockDetails, chainOf, lifetimeOf, nameOf, whenOf } from "./block_details";
import type { ViewProps } from "./view";

export function BlocksView({ route }: ViewProps) {
  const sort = route.parameters.get("sort_by") ?? "size", order = route.parameters.get("order") ?? "dsc";
  const chosen = route.parameters.get("ui.stack"), block = route.parameters.get("ui.block");
  const columns: Column<Block>[] = [
    { name: "Time", sort: "timestamp", number: true, cell: (row) => <span title={whenOf(row)}>{duration(ns(row.timestamp_relative))}</span> },
    { name: "Size", sort: "size", number: true, cell: (row) => <span title={`${exactBytes(row.size)}, ${count(row.size + row.extra_space)} usable`}>{bytes(row.size)}</span> },
    { name: "Lifetime", sort: "lifetime", number: true, cell: lifetimeOf },
    { name: "Address", sort: "address", cell: (row) => <code>{hexadecimal(row.address_s)}</code> },
    { name: "Thread", number: true, cell: (row) => String(row.thread) },
    { name: "Reallocated", title: "which block of a chain of reallocations it is", cell: chainOf },
    { name: "Place", title: "where the allocator keeps it", cell: areaOf },
    { name: "Stack, innermost function first", wide: true, cell: (row) => shortStack(row.backtrace) },
  ];
  const stack = (title: string): ComponentChildren => <Stack route={route} id={Number(chosen)} title={title + count(Number(chosen))} />;
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
        onOpen={(row) => go(changed(route, { "ui.stack": String(row.backtrace_id), "ui.block": report ? undefined : nameOf(row) }))}
        isOpen={(row) => block ? nameOf(row) === block : String(row.backtrace_id) === chosen}
        empty={none(route, "block")} />
      {chosen && /^\d+$/.test(chosen) && <aside class="side"><a class="close" href={address(changed(route, { "ui.stack": undefined, "ui.block": undefined }))} aria-label="Close the stack">{"\u2715"}</a>
        {block ? <BlockDetails route={route} name={block}>{stack("Allocated by stack ")}</BlockDetails> : stack("Stack ")}</aside>}
    </div></>
  );
}
