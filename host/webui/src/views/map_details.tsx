// SPDX-License-Identifier: MIT OR Apache-2.0
// One mapping: its parts, what was resident of it, the blocks that began in it, and who made and removed it.
import { useAnswer } from "../data/ask";
import { type Cost, ns, type Pair, type Time } from "../data/types";
import { Occupancy, useOccupancy } from "../parts/occupancy";
import { Pane } from "../parts/pane";
import { Stack } from "../parts/stack";
import { address, question, type Route, toView } from "../state/route";
import { PlainTable } from "../table/plain";
import { bytes, count, duration, exactBytes, hexadecimal, plain } from "../text/format";
import { COSTS } from "../text/words";

interface Rights { is_readable: boolean; is_writable: boolean; is_executable: boolean; is_shared: boolean }

interface Region extends Rights { address_s: string; size: number; timestamp: Time; timestamp_relative: Time; deallocation?: { timestamp: Time } }

interface Usage { timestamp_relative: Time; address_space: number; rss: number }

export interface Mapping extends Rights {
  id: number; address_s: string; size: number; name: string; timestamp: Time; timestamp_relative: Time; peak_rss: number | null;
  source?: { backtrace_id: number }; deallocation?: { timestamp: Time; source?: { backtrace_id: number } };
}

interface Details extends Mapping { regions: Region[]; usage_history: Usage[]; blocks: Record<Cost, Pair> }

const SHOWN: Cost[] = ["peak", "live", "allocated", "temporary"];
// Those of the costs that a filter can choose.
const CHOSEN: Partial<Record<Cost, Record<string, string>>> = { peak: { at: "peak" }, live: { lifetime: "only_leaked" }, allocated: {} };

export function rightsOf(of: Rights): string {
  return (of.is_readable ? "r" : "-") + (of.is_writable ? "w" : "-") + (of.is_executable ? "x" : "-") + (of.is_shared ? "s" : "p");
}

export function thereFor(of: { timestamp: Time; deallocation?: { timestamp: Time } }): string {
  return of.deallocation ? duration(Math.max(0, ns(of.deallocation.timestamp) - ns(of.timestamp))) : "until the end";
}

export function MapDetails({ route, id }: { route: Route; id: number }) {
  const path = question(route, `map/${id}`, {}, false);
  const answer = useAnswer<Details>(path);
  return (
    <Pane answer={answer} path={path}>
      {(map) => <div class="mapping" data-map={map.id}>
        <h2>{plain(map.name) || "Mapping"} <code>{hexadecimal(map.address_s)}</code></h2>
        <p><b title={exactBytes(map.size)}>{bytes(map.size)}</b>, <code>{rightsOf(map)}</code>, from {duration(ns(map.timestamp_relative))}, there {map.deallocation ? "for " : ""}{thereFor(map)}
          {map.peak_rss !== null && <>; at most <span data-resident={map.peak_rss} title={exactBytes(map.peak_rss)}>{bytes(map.peak_rss)}</span> were resident</>}</p>
        <h3>Blocks that began in it</h3>
        <table class="plain-table"><tbody>{SHOWN.map((cost) => <tr key={cost} data-cost={cost} data-bytes={map.blocks[cost][0]} data-count={map.blocks[cost][1]}>
          <th scope="row">{COSTS[cost].name}</th>
          <td class="number" title={exactBytes(map.blocks[cost][0])}>{bytes(map.blocks[cost][0])}</td>
          <td class="number">{count(map.blocks[cost][1])}</td>
          <td>{CHOSEN[cost] && map.blocks[cost][1] > 0 && <a href={address(toView(route, "blocks", { from_map: String(map.id), ...CHOSEN[cost] }))}>show</a>}</td></tr>)}</tbody></table>
        {map.blocks.allocated[1] > 0 && <Filled route={route} map={map} />}
        <h3>Its parts</h3>
        <PlainTable<Region> route={route} label="Parts of the mapping" id="parts" rows={map.regions} keyOf={(part) => part.address_s + ns(part.timestamp)} columns={[
          { name: "Address", of: (part) => part.address_s, cell: (part) => <code>{hexadecimal(part.address_s)}</code> },
          { name: "Size", number: true, of: (part) => part.size, cell: (part) => <span title={exactBytes(part.size)}>{bytes(part.size)}</span> },
          { name: "From", number: true, of: (part) => ns(part.timestamp_relative), cell: (part) => duration(ns(part.timestamp_relative)) },
          { name: "Lifetime", number: true, of: (part) => part.deallocation ? ns(part.deallocation.timestamp) - ns(part.timestamp) : Infinity, cell: thereFor },
        ]} />
        {map.usage_history.length > 0 && <>
          <h3>Resident over time</h3>
          <PlainTable<Usage> route={route} label="Resident over time" id="usage" rows={map.usage_history} keyOf={(usage) => String(ns(usage.timestamp_relative))} columns={[
            { name: "Time", number: true, of: (usage) => ns(usage.timestamp_relative), cell: (usage) => duration(ns(usage.timestamp_relative)) },
            { name: "Mapped", number: true, of: (usage) => usage.address_space, cell: (usage) => <span title={exactBytes(usage.address_space)}>{bytes(usage.address_space)}</span> },
            { name: "Resident", number: true, of: (usage) => usage.rss, cell: (usage) => <span title={exactBytes(usage.rss)}>{bytes(usage.rss)}</span> },
          ]} /></>}
        {map.source && <Stack route={route} id={map.source.backtrace_id} title="Mapped by" />}
        {map.deallocation?.source && <Stack route={route} id={map.deallocation.source.backtrace_id} title="Unmapped by" />}
      </div>}
    </Pane>
  );
}

function Filled({ route, map }: { route: Route; map: Mapping }) {
  const start = Number("0x" + map.address_s);
  return <Occupancy route={route} of={useOccupancy(route, { width: 150, from_address: start, to_address: start + map.size })} name={() => "The mapping"} empty={null} />;
}
