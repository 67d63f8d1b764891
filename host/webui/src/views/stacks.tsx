// SPDX-License-Identifier: MIT OR Apache-2.0
// Blocks by the stack that allocated them.
import { useAnswer } from "../data/ask";
import { report } from "../data/report";
import { type Cost, type Group, ns } from "../data/types";
import { Choice, none } from "../parts/controls";
import { StackOverTime } from "../parts/inspector";
import { Pane } from "../parts/pane";
import { shortStack, Stack } from "../parts/stack";
import { StackSearch } from "../parts/stack_search";
import { address, changed, go, question, type Route } from "../state/route";
import { type Column, Table } from "../table/table";
import { COSTS } from "../text/words";
import { bytes, count, counted, duration, exactBytes } from "../text/format";
import type { ViewProps } from "./view";

// For these costs, the blocks are selected by a part of the filter.
const CHOSEN: Partial<Record<Cost, Record<string, string>>> = { peak: { at: "peak" }, live: { lifetime: "only_leaked" } };
const WHICH: Cost[] = ["peak", "live", "allocated"];

function taken(route: Route, cost: Cost): boolean {
  return Object.keys(CHOSEN[cost] ?? {}).some((name) => route.parameters.has(name));
}

export function StacksView({ route }: ViewProps) {
  const sort = route.parameters.get("sort_by") ?? "only_matched.size", order = route.parameters.get("order") ?? "dsc";
  const which = WHICH.find((cost) => cost === route.parameters.get("cost")) ?? "allocated";
  const chosen = route.parameters.get("ui.stack");
  const columns: Column<Group>[] = [
    { name: which === "peak" ? "At the peak" : "Allocated", sort: "only_matched.size", number: true, cell: ({ only_matched: half }) => <span title={exactBytes(half.size)}>{bytes(half.size)}</span> },
    { name: "Blocks", sort: "only_matched.allocated_count", number: true, cell: ({ only_matched: half }) => count(half.allocated_count) },
    { name: "Still live", sort: "only_matched.leaked_size", number: true, cell: ({ only_matched: half }) => half.leaked_size ? <span title={exactBytes(half.leaked_size)}>{bytes(half.leaked_size)}</span> : "" },
    { name: "Live blocks", sort: "only_matched.leaked_count", number: true, cell: ({ only_matched: half }) => half.leaked_count ? count(half.leaked_count) : "" },
    { name: "First", sort: "only_matched.min_timestamp", number: true, cell: ({ only_matched: half }) => duration(ns(half.min_timestamp_relative)) },
    { name: "Last", sort: "only_matched.max_timestamp", number: true, cell: ({ only_matched: half }) => duration(ns(half.max_timestamp_relative)) },
    { name: "Interval", sort: "only_matched.interval", number: true, cell: ({ only_matched: half }) => duration(ns(half.interval)) },
    { name: "Stack, innermost function first", wide: true, cell: (row) => shortStack(row.backtrace) },
  ];
  return (
    <><div class="bar"><Choice label="Which blocks" now={which} to={(value) => address(changed(route, { cost: value, sort_by: undefined, order: undefined }))}
      choices={WHICH.map((cost) => ({ value: cost, name: COSTS[cost].name, title: COSTS[cost].explained, off: cost !== "allocated" && taken(route, cost) ? "the filter already determines this" : null }))} />
      <StackSearch route={route} what="stacks" /></div>
    <div class="with-side">
      <Table<Group> label="Stacks" columns={columns} sort={sort} order={order}
        ask={(skip, pageCount) => question(route, "allocation_groups", { sort_by: sort, order, skip, count: pageCount, frames: "short", ...(which !== "allocated" && !taken(route, which) ? CHOSEN[which] : {}) })}
        rows={(answer) => {
          const groups = answer as { allocations: Group[]; total_count: number };
          return { rows: groups.allocations, total: groups.total_count };
        }}
        onSort={(sort_by, next) => go(changed(route, { sort_by, order: next }))}
        onOpen={(row) => go(changed(route, { "ui.stack": String(row.backtrace_id) }))} isOpen={(row) => String(row.backtrace_id) === chosen}
        empty={none(route, "stack")} />
      {chosen && /^\d+$/.test(chosen) && <aside class="side"><a class="close" href={address(changed(route, { "ui.stack": undefined }))} aria-label="Close the stack">{"\u2715"}</a>
        <Stack route={route} id={Number(chosen)} title={"Stack " + count(Number(chosen))}>{!report && <Whole route={route} id={Number(chosen)} />}</Stack></aside>}
    </div></>
  );
}

// What the stack did in the whole recording, whatever is filtered.
function Whole({ route, id }: { route: Route; id: number }) {
  const path = question(route, "allocation_groups", { backtraces: id, count: 1, frames: "none" }, false);
  const answer = useAnswer<{ allocations: Group[] }>(path);
  return <Pane answer={answer} path={path}>{({ allocations: [group] }) => {
    if (!group)
      return <p class="faint">It allocated no blocks.</p>;
    const all = group.all, most = all.max_total_usage_first_seen_at_relative;
    return <>
      <p class="whole-group" data-bytes={all.size} data-count={all.allocated_count}>In the whole recording: <b title={exactBytes(all.size)}>{bytes(all.size)}</b> in {counted(all.allocated_count, "blocks")}, {all.leaked_count
        ? <>of which <span title={exactBytes(all.leaked_size)}>{bytes(all.leaked_size)}</span> in {counted(all.leaked_count, "blocks")} {all.leaked_count === 1 ? "is" : "are"} still live</> : "all freed"}. Allocated from {duration(ns(all.min_timestamp_relative))} to {duration(ns(all.max_timestamp_relative))}{most && `; most was live at ${duration(ns(most))}`}.</p>
      <StackOverTime route={route} id={id} />
    </>;
  }}</Pane>;
}
