// SPDX-License-Identifier: MIT OR Apache-2.0
// The address space: mappings, how long they were there, and how much of them blocks take.
import { useAnswer } from "../data/ask";
import { ns, type Time } from "../data/types";
import { Stack } from "../parts/stack";
import { Pane } from "../parts/pane";
import { address, changed, go, question, toView } from "../state/route";
import { type Column, Table } from "../table/table";
import { bytes, count, duration, exactBytes, plain } from "../text/format";
import type { ViewProps } from "./view";

interface Mapping {
  id: number; address_s: string; size: number; name: string; timestamp_relative: Time; peak_rss: number | null;
  is_readable: boolean; is_writable: boolean; is_executable: boolean; is_shared: boolean;
  source?: { backtrace_id: number }; timestamp: Time; deallocation?: { timestamp: Time };
}

interface Regions { main_heap_start_s: string; main_heap_end_s: string; main_heap_start: number; main_heap_end: number; regions: [number, number][] }

export function MapsView({ route, summary }: ViewProps) {
  const sort = route.parameters.get("sort_by") ?? "size", order = route.parameters.get("order") ?? "dsc";
  const chosen = route.parameters.get("ui.stack");
  const columns: Column<Mapping>[] = [
    { name: "Size", sort: "size", number: true, cell: (row) => <span title={exactBytes(row.size)}>{bytes(row.size)}</span> },
    { name: "Address", sort: "address", cell: (row) => <code>0x{row.address_s.replace(/^0+(?=.)/, "").toLowerCase()}</code> },
    { name: "Rights", cell: (row) => <code>{row.is_readable ? "r" : "-"}{row.is_writable ? "w" : "-"}{row.is_executable ? "x" : "-"}{row.is_shared ? "s" : "p"}</code> },
    { name: "From", sort: "timestamp", number: true, cell: (row) => duration(ns(row.timestamp_relative)) },
    { name: "There for", number: true, cell: (row) => row.deallocation ? duration(Math.max(0, ns(row.deallocation.timestamp) - ns(row.timestamp))) : "until the end" },
    { name: "Most resident", number: true, title: "known where page faults were recorded", cell: (row) => row.peak_rss === null ? "" : bytes(row.peak_rss) },
    { name: "Name", wide: true, cell: (row) => plain(row.name) || "anonymous" },
    { name: "Blocks", cell: (row) => <a href={address(toView(route, "blocks", { from_map: String(row.id) }))} onClick={(event) => event.stopPropagation()}>in it</a> },
  ];
  return (
    <>
      <Heap route={route} summary={summary} />
      <div class="with-side">
        <Table<Mapping> label="Mappings" columns={columns} sort={sort} order={order}
          ask={(skip, pageCount) => question(route, "maps", { sort_by: sort, order, skip, count: pageCount })}
          rows={(answer) => {
            const maps = answer as { maps: Mapping[]; total_count: number };
            return { rows: maps.maps, total: maps.total_count };
          }}
          onSort={(sort_by, next) => go(changed(route, { sort_by, order: next }))}
          onOpen={(row) => row.source && go(changed(route, { "ui.stack": String(row.source.backtrace_id) }))}
          empty="No mapping matches, or mappings were not recorded." />
        {chosen && /^\d+$/.test(chosen) && <aside class="side"><a class="close" href={address(changed(route, { "ui.stack": undefined }))} aria-label="Close the stack">{"\u2715"}</a>
          <Stack route={route} id={Number(chosen)} title="Mapped by" /></aside>}
      </div>
    </>
  );
}

const BINS = 400;

// The main heap in equal pieces: how full each is, of the blocks that are still there at the end.
function Heap({ route }: ViewProps) {
  const path = question(route, "regions", { lifetime: "only_leaked" });
  const answer = useAnswer<Regions>(path);
  return (
    <section class="heap" aria-label="The main heap">
      <Pane answer={answer} path={path} empty={(data) => data.main_heap_end > data.main_heap_start ? undefined : <p class="empty">The trace has no main heap, as glibc calls the memory below its break.</p>}>
        {(data) => {
          const span = data.main_heap_end - data.main_heap_start, bins = new Float64Array(BINS);
          let used = 0, largest = 0, before = data.main_heap_start;
          for (const [from, to] of data.regions) {
            if (to <= data.main_heap_start || from >= data.main_heap_end)
              continue;
            used += to - from;
            largest = Math.max(largest, from - before);
            before = Math.max(before, to);
            const first = (from - data.main_heap_start) / span * BINS, last = (to - data.main_heap_start) / span * BINS;
            for (let bin = Math.max(0, Math.floor(first)); bin < Math.min(BINS, last); bin++)
              bins[bin]! += Math.min(bin + 1, last) - Math.max(bin, first);
          }
          largest = Math.max(largest, data.main_heap_end - before);
          return <>
            <p><b>Main heap at the end</b>: spans {bytes(span)}, blocks take {bytes(used)}, the rest is {(100 * (1 - used / span)).toFixed(1)} % of it; the largest gap is {bytes(largest)}; {count(data.regions.length)} runs of blocks</p>
            <svg class="address" viewBox={`0 0 ${BINS} 10`} preserveAspectRatio="none" role="img" aria-label={`occupancy of the main heap, ${(100 * used / span).toFixed(1)} % in all`}>
              {[...bins].map((part, bin) => part > 0 ? <rect key={bin} x={bin} width="1.02" height="10" opacity={0.2 + 0.8 * Math.min(1, part)} /> : null)}
            </svg>
            <p class="faint strip-foot"><span>0x{data.main_heap_start_s.replace(/^0+/, "").toLowerCase()}</span><span>darker: fuller</span><span>0x{data.main_heap_end_s.replace(/^0+/, "").toLowerCase()}</span></p>
          </>;
        }}
      </Pane>
    </section>
  );
}
