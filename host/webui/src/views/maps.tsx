// SPDX-License-Identifier: MIT OR Apache-2.0
// The address space: mappings, their lifetimes, and the space that blocks take in them.
import { ns } from "../data/types";
import { Choice, none } from "../parts/controls";
import { Entry } from "../parts/entry";
import { Occupancy, useOccupancy } from "../parts/occupancy";
import { StackSearch } from "../parts/stack_search";
import { Player } from "../parts/player";
import { hasFaults } from "../parts/strip";
import { address, changed, filterOf, go, parse, question, toView } from "../state/route";
import { type Column, Table } from "../table/table";
import { bytes, duration, exactBytes, hexadecimal, plain } from "../text/format";
import { MapDetails, type Mapping, rightsOf, thereFor } from "./map_details";
import type { ViewProps } from "./view";

const RIGHTS = ["readable", "writable", "executable"];
// How much of a mapping was resident at most, between these.
const RESIDENT = [["peak_rss_min", "resident more than"], ["peak_rss_max", "less than"]] as const;

// REST takes bytes; "64K" is shorter to type. The server says what is wrong with anything else.
function bytesOf(text: string | null): string | undefined {
  const [, number, unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:iB)?\s*$/i.exec(text ?? "") ?? [];
  return number === undefined ? text ?? undefined : String(Math.round(Number(number) * 1024 ** "_KMGT".indexOf(unit.toUpperCase() || "_")));
}

export function MapsView({ route, summary }: ViewProps) {
  const sort = route.parameters.get("sort_by") ?? "size", order = route.parameters.get("order") ?? "dsc";
  const rights = Object.fromEntries(RIGHTS.map((right) => [right, route.parameters.get("ui." + right) ?? undefined]));
  const resident = Object.fromEntries(RESIDENT.map(([name]) => [name, bytesOf(route.parameters.get("ui." + name))]));
  const chosen = route.parameters.get("ui.map"), filtered = [...Object.values(rights), ...Object.values(resident)].some(Boolean) || [...filterOf(route)].length > 0;
  const columns: Column<Mapping>[] = [
    { name: "Size", sort: "size", number: true, cell: (row) => <span title={exactBytes(row.size)}>{bytes(row.size)}</span> },
    { name: "Address", sort: "address", cell: (row) => <code>{hexadecimal(row.address_s)}</code> },
    { name: "Rights", sort: "rights", cell: (row) => <code>{rightsOf(row)}</code> },
    { name: "From", sort: "timestamp", number: true, cell: (row) => duration(ns(row.timestamp_relative)) },
    { name: "Lifetime", sort: "lifetime", number: true, cell: thereFor },
    { name: "Most resident", sort: "peak_rss", number: true, title: "known where page faults were recorded", cell: (row) => row.peak_rss === null ? "not recorded" : <span title={exactBytes(row.peak_rss)}>{bytes(row.peak_rss)}</span> },
    { name: "Name", sort: "name", wide: true, cell: (row) => plain(row.name) || "anonymous" },
    { name: "Blocks", cell: (row) => <a href={address(toView(route, "blocks", { from_map: String(row.id) }))} onClick={(event) => event.stopPropagation()}>in it</a> },
  ];
  return (
    <>
      <Heap route={route} summary={summary} />
      <div class="bar">
        {RIGHTS.map((right) => <Choice key={right} label={right} now={route.parameters.get("ui." + right) ?? ""}
          to={(value) => address(changed(route, { ["ui." + right]: value || undefined }))}
          choices={[{ value: "", name: "any", short: `${right} or not`, title: `${right} or not` }, { value: "only_true", name: right }, { value: "only_false", name: "not " + right }]} />)}
        {hasFaults(summary) && <span class="resident-range">{RESIDENT.map(([name, text]) => <label key={name}>{text} <Entry size={6} placeholder={name.endsWith("min") ? "64K" : "1M"} value={route.parameters.get("ui." + name) ?? ""}
          enter={(typed) => go(changed(parse(location.hash), { ["ui." + name]: typed || undefined }))} /></label>)}</span>}
        <StackSearch route={route} what="mappings" />
      </div>
      <div class="with-side">
        <Table<Mapping> label="Mappings" columns={columns} sort={sort} order={order}
          ask={(skip, pageCount) => question(route, "maps", { sort_by: sort, order, skip, count: pageCount, ...rights, ...resident })}
          rows={(answer) => {
            const maps = answer as { maps: Mapping[]; total_count: number };
            return { rows: maps.maps, total: maps.total_count };
          }}
          onSort={(sort_by, next) => go(changed(route, { sort_by, order: next }))}
          onOpen={(row) => go(changed(route, { "ui.map": String(row.id) }))} isOpen={(row) => String(row.id) === chosen}
          empty={filtered ? "No mapping matches the filter. Remove a part of it." : "There is no mapping: the program made none while it was recorded, or it was recorded with --no-maps."} />
        {chosen && /^\d+$/.test(chosen) && <aside class="side" aria-label="One mapping"><a class="close" href={address(changed(route, { "ui.map": undefined }))} aria-label="Close the mapping">{"\u2715"}</a>
          <MapDetails route={route} id={Number(chosen)} /></aside>}
      </div>
    </>
  );
}

// The main heap, or the region with most blocks.
function Heap({ route, summary }: ViewProps) {
  const heap = useOccupancy(route, { width: 300 });
  return (
    <section class="heap" aria-label="The address space">
      <Player route={route} summary={summary} busy={heap.answer.loading} />
      <Occupancy route={route} of={heap} name={(data) => data.is_main_heap ? "Main heap" : "The region with most blocks"} empty={<p class="empty">{none(route, "block")}</p>} />
    </section>
  );
}
