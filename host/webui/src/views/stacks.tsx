// SPDX-License-Identifier: MIT OR Apache-2.0
// Blocks by the stack that allocated them.
import { type Group, ns } from "../data/types";
import { shortStack, Stack } from "../parts/stack";
import { address, changed, go, question } from "../state/route";
import { type Column, Table } from "../table/table";
import { bytes, count, duration, exactBytes } from "../text/format";
import type { ViewProps } from "./view";

export function StacksView({ route }: ViewProps) {
  const sort = route.parameters.get("sort_by") ?? "only_matched.size", order = route.parameters.get("order") ?? "dsc";
  const chosen = route.parameters.get("ui.stack");
  const columns: Column<Group>[] = [
    { name: "Allocated", sort: "only_matched.size", number: true, cell: ({ only_matched: half }) => <span title={exactBytes(half.size)}>{bytes(half.size)}</span> },
    { name: "Blocks", sort: "only_matched.allocated_count", number: true, cell: ({ only_matched: half }) => count(half.allocated_count) },
    { name: "Still live", number: true, cell: ({ only_matched: half }) => half.leaked_size ? bytes(half.leaked_size) : "" },
    { name: "Live blocks", sort: "only_matched.leaked_count", number: true, cell: ({ only_matched: half }) => half.leaked_count ? count(half.leaked_count) : "" },
    { name: "First", sort: "only_matched.min_timestamp", number: true, cell: ({ only_matched: half }) => duration(ns(half.min_timestamp_relative)) },
    { name: "Last", sort: "only_matched.max_timestamp", number: true, cell: ({ only_matched: half }) => duration(ns(half.max_timestamp_relative)) },
    { name: "Interval", sort: "only_matched.interval", number: true, cell: ({ only_matched: half }) => duration(ns(half.interval)) },
    { name: "Stack, from what allocates", wide: true, cell: (row) => shortStack(row.backtrace) },
  ];
  return (
    <div class="with-side">
      <Table<Group> label="Stacks" columns={columns} sort={sort} order={order}
        ask={(skip, pageCount) => question(route, "allocation_groups", { sort_by: sort, order, skip, count: pageCount, frames: "short" })}
        rows={(answer) => {
          const groups = answer as { allocations: Group[]; total_count: number };
          return { rows: groups.allocations, total: groups.total_count };
        }}
        onSort={(sort_by, next) => go(changed(route, { sort_by, order: next }))}
        onOpen={(row) => go(changed(route, { "ui.stack": String(row.backtrace_id) }))}
        empty="No stack matches the filter. Remove a part of it." />
      {chosen && /^\d+$/.test(chosen) && <aside class="side"><a class="close" href={address(changed(route, { "ui.stack": undefined }))} aria-label="Close the stack">{"\u2715"}</a>
        <Stack route={route} id={Number(chosen)} title={"Stack " + count(Number(chosen))} /></aside>}
    </div>
  );
}
