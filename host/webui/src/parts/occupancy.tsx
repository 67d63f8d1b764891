// SPDX-License-Identifier: MIT OR Apache-2.0
// A range of addresses in equal pieces, with how full of blocks each is. A click on a piece leads to its blocks.
import type { ComponentChildren } from "preact";
import { useAnswer } from "../data/ask";
import { address, filterOf, go, question, type Route, toView } from "../state/route";
import { bytes, count, hexadecimal, share } from "../text/format";
import { Pane } from "./pane";

export interface AddressMap {
  is_main_heap: boolean; start_s: string; end_s: string; start: number; end: number; piece: number;
  used_size: number; largest_gap: number; runs: number; used: number[];
}

// Without a filter, what is live at the end.
const live = (route: Route): Record<string, string> => [...filterOf(route)].length > 0 ? {} : { lifetime: "only_leaked" };

export function useOccupancy(route: Route, range: { width: number; from_address?: number; to_address?: number }) {
  const path = question(route, "address_map", { ...range, ...live(route) });
  return { path, answer: useAnswer<AddressMap>(path) };
}

export function Occupancy({ route, of: { path, answer }, name, empty }: { route: Route; of: ReturnType<typeof useOccupancy>; name: (data: AddressMap) => string; empty: ComponentChildren }) {
  const filter = [...filterOf(route)].length > 0;
  return (
    <Pane answer={answer} path={path} empty={(data) => data.end > data.start ? undefined : empty}>
      {(data) => {
        const span = data.end - data.start, address16 = (value: number): string => "0x" + value.toString(16);
        const blocksOf = (from: string, to: string): Route => toView(route, "blocks", { address_min: from, address_max: to, ...live(route) });
        const pieceAt = (event: MouseEvent): Route => {
          const box = (event.currentTarget as Element).getBoundingClientRect(), i = Math.min(data.used.length - 1, Math.floor((event.clientX - box.left) / box.width * data.used.length));
          // The filter takes the blocks that begin in a range. The block that covers a piece begins before the full pieces in front of it.
          let first = i;
          while (first > 0 && data.used[first - 1]! >= data.piece)
            first--;
          if (first > 0 && data.used[first - 1])
            first--;
          return blocksOf(address16(data.start + first * data.piece), address16(data.start + (i + 1) * data.piece - 1));
        };
        return <>
          <p data-used={data.used_size}><b>{name(data)}</b>{filter ? ", of what matches" : ", at the end"}: spans {bytes(span)}, blocks take {bytes(data.used_size)},
            {" "}{share(span - data.used_size, span)} are holes; the largest is {bytes(data.largest_gap)}; {data.runs === 1 ? "1 run" : `${count(data.runs)} runs`} of adjacent blocks</p>
          <svg class="address" viewBox={`0 0 ${data.used.length} 10`} preserveAspectRatio="none" role="img" aria-label={`occupancy, ${share(data.used_size, span)} in all`} onClick={(event) => go(pieceAt(event))}>
            {data.used.map((used, i) => used > 0 ? <rect key={i} x={i} width="1.02" height="10" opacity={0.2 + 0.8 * Math.min(1, used / data.piece)}>
              <title>{`${address16(data.start + i * data.piece)}: ${bytes(used)} of ${bytes(data.piece)}; click for its blocks`}</title></rect> : null)}
          </svg>
          <p class="faint strip-foot"><span>{hexadecimal(data.start_s)}</span><span class="explained">the stronger the colour, the fuller; a click on a piece shows its blocks</span><span>{hexadecimal(data.end_s)}</span></p>
          <p><a href={address(blocksOf(hexadecimal(data.start_s), hexadecimal(data.end_s)))}>Blocks in this range</a></p>
        </>;
      }}
    </Pane>
  );
}
