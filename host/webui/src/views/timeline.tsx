// SPDX-License-Identifier: MIT OR Apache-2.0
// The heap over time: live memory, allocations and frees.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { pixelRatio, theme } from "../canvas/colours";
import { useAnswer } from "../data/ask";
import { report } from "../data/report";
import type { Axis, Timeline } from "../data/types";
import { axisOf, readTime } from "../parts/strip";
import { Stacked, TimeAxis } from "../parts/stacked";
import { Pane } from "../parts/pane";
import { PlainTable } from "../table/plain";
import { filterOf, question, type Route } from "../state/route";
import { save } from "../table/text";
import { bytes, count, duration, exactBytes, instants } from "../text/format";
import type { ViewProps } from "./view";
import { useLook } from "../parts/look";

const HIGH = 130;

interface Series { name: string; of: (data: Timeline) => number[]; text: (value: number) => string; explained: string }

const rate = (values: number[], data: Timeline): number[] => values.map((value) => value / (data.interval_ns / 1e9));
const SERIES: Series[] = [
  { name: "Live memory", explained: "the maximum in each interval", of: (data) => data.allocated_size, text: bytes },
  { name: "Live blocks", explained: "the maximum in each interval", of: (data) => data.allocated_count, text: (n) => count(Math.round(n)) },
  { name: "Allocations per second", explained: "blocks", of: (data) => rate(data.allocations, data), text: (n) => count(Math.round(n)) },
  { name: "Frees per second", explained: "blocks", of: (data) => rate(data.deallocations, data), text: (n) => count(Math.round(n)) },
  { name: "Bytes allocated per second", explained: "freed later or not", of: (data) => rate(data.bytes_in, data), text: bytes },
  { name: "Bytes freed per second", explained: "allocated before or within the interval", of: (data) => rate(data.bytes_out, data), text: bytes },
];

export function TimelineView({ route, summary }: ViewProps) {
  const [wide, setWide] = useState(0);
  const pane = useRef<HTMLDivElement>(null);
  const [table, setTable] = useState(false), [holes, setHoles] = useState(false);
  const [over, setOver] = useState<number | undefined>();
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWide(Math.floor(entry!.contentRect.width)));
    watcher.observe(pane.current!);
    return () => watcher.disconnect();
  }, []);
  // The part of the time to which the heap above is zoomed, else that of the filter.
  const filter = filterOf(route), axis = axisOf(route, summary), from = axis.axis_from ?? filter.get("from"), to = axis.axis_to ?? filter.get("to");
  const path = question(route, "timeline", { width: 600, ...axis });
  const leakedPath = summary.holds === "sums" ? undefined : question(route, "timeline_leaked", { width: 600, ...axis });
  const answer = useAnswer<Timeline>(path), leaked = useAnswer<Timeline>(leakedPath);
  const begin = readTime(from, summary.duration_ns) ?? 0, end = readTime(to, summary.duration_ns) ?? summary.duration_ns;
  const saved = (data: Timeline): void => {
    const lines = ["time_ns,live_bytes_max,live_blocks_max,allocations,frees,bytes_allocated,bytes_freed"];
    data.allocations.forEach((_, i) => lines.push([data.start_ns + i * data.interval_ns, data.allocated_size[i], data.allocated_count[i],
      data.allocations[i], data.deallocations[i], data.bytes_in[i], data.bytes_out[i]].join(",")));
    save("timeline.csv", "text/csv", lines.join("\n") + "\n");
  };
  return (
    <div class="scroll charts" ref={pane}>
      {summary.holds !== "sums" && <Stacked route={route} axis={axis} wide={wide} over={over} setOver={setOver} />}
      <Pane answer={answer} path={path}>
        {(data) => <>
          <div class="bar"><h2>Rates and numbers</h2> <span class="faint">{instants([begin, end]).join(" to ")} in intervals of {duration(data.interval_ns)}</span><button type="button" onClick={() => saved(data)}>Save CSV</button></div>
          {SERIES.filter((_, i) => i < (summary.dumps ? (summary.peak_count ? 2 : 1) : SERIES.length)).map(({ name, explained, text, of }) => <Chart key={name} name={name} explained={explained} text={text}
            values={of(data).slice(0, -1)} axis={data} wide={wide} over={over} setOver={setOver} />)}
        </>}
      </Pane>
      <details class="as-table" onToggle={(event) => setTable(event.currentTarget.open)}><summary>As table</summary>{table && <AsTable route={route} axis={axis} />}</details>
      <Pane answer={leaked} path={leakedPath}>
        {(data) => <Chart name="Memory that is still live at the end" explained="the part of it that was already live" text={bytes}
          values={data.allocated_size.slice(0, -1)} axis={data} wide={wide} over={over} setOver={setOver} />}
      </Pane>
      {summary.holds !== "sums" && !summary.dumps && !report && <>
        <Mapped route={route} axis={axis} wide={wide} over={over} setOver={setOver} />
        <details class="as-table" onToggle={(event) => setHoles(event.currentTarget.open)}><summary>Holes of the main heap</summary>{holes && <Holes route={route} wide={wide} />}</details></>}
    </div>
  );
}

type Drawn = { route: Route; wide: number; over: number | undefined; setOver: (at: number | undefined) => void };

// What the program mapped, and what of it was resident. No filter for blocks applies, but the times do.
function Mapped({ route, axis, ...drawn }: Drawn & { axis: Record<string, string> }) {
  const times = axis.axis_from ? axis : Object.fromEntries(["from", "to"].map((name) => [name, route.parameters.get(name) ?? undefined]));
  const path = question(route, "timeline_maps", { ...times, width: 600 }, false);
  const answer = useAnswer<Axis & { address_space: number[]; rss: (number | null)[] }>(path);
  return <Pane answer={answer} path={path}>{(data) => <>
    {data.address_space.some(Boolean) && <Chart name="Mapped memory" explained="what the program and its libraries mapped, the maximum in each interval" text={bytes} values={data.address_space.slice(0, -1)} axis={data} {...drawn} />}
    {data.rss.every((size) => size !== null) && <Chart name="Resident memory" explained="of the process, by its page faults, the maximum in each interval" text={bytes} values={data.rss.slice(0, -1)} axis={data} {...drawn} />}
  </>}</Pane>;
}

const SECOND = 1e9;

// The server looks at all blocks for this, so it is asked for when someone opens it.
function Holes({ route, wide }: { route: Route; wide: number }) {
  const [over, setOver] = useState<number | undefined>();
  const path = question(route, "fragmentation_timeline", {}, false);
  const answer = useAnswer<{ fragmentation: number[] }>(path);
  return <Pane answer={answer} path={path}>{({ fragmentation: sizes }) => sizes.some(Boolean)
    ? <Chart name="Memory lost to holes" explained="the part of the main heap that no block takes, at the end of each second" text={bytes} values={sizes}
        axis={{ start_ns: 0, interval_ns: SECOND, end_ns: sizes.length * SECOND }} wide={wide} over={over} setOver={setOver} />
    : <p class="faint">The main heap has no holes, or another allocator was used.</p>}</Pane>;
}

const PARTS = 60;

// The same with fewer and longer intervals, for keyboards and screen readers.
function AsTable({ route, axis }: { route: Route; axis: Record<string, string> }) {
  const path = question(route, "timeline", { width: PARTS, ...axis });
  const answer = useAnswer<Timeline>(path);
  return <Pane answer={answer} path={path}>{(data) => {
    const begins = instants(data.allocations.map((_, i) => data.start_ns + i * data.interval_ns));
    return <PlainTable<number> route={route} label="The heap over time, as a table" id="timeline" rows={data.allocations.map((_, i) => i)} keyOf={String} columns={[
    { name: "From", number: true, of: (i) => i, cell: (i) => begins[i]! },
    { name: "Live at most", number: true, of: (i) => data.allocated_size[i]!, cell: (i) => <span title={exactBytes(data.allocated_size[i]!)}>{bytes(data.allocated_size[i]!)}</span> },
    { name: "Blocks at most", number: true, of: (i) => data.allocated_count[i]!, cell: (i) => count(data.allocated_count[i]!) },
    { name: "Live at its end", number: true, of: (i) => data.end_size[i]!, cell: (i) => <span title={exactBytes(data.end_size[i]!)}>{bytes(data.end_size[i]!)}</span> },
    { name: "Change", number: true, title: "what was allocated less what was freed", of: (i) => data.size_delta[i]!, cell: (i) => <span title={exactBytes(data.size_delta[i]!)}>{(data.size_delta[i]! > 0 ? "+" : "") + bytes(data.size_delta[i]!)}</span> },
    { name: "Allocated", number: true, of: (i) => data.allocations[i]!, cell: (i) => count(data.allocations[i]!) },
    { name: "Freed", number: true, of: (i) => data.deallocations[i]!, cell: (i) => count(data.deallocations[i]!) },
  ]} />;
  }}</Pane>;
}

function Chart({ name, explained, text, values, axis, wide, over, setOver }: {
  name: string; explained: string; text: (value: number) => string; values: number[]; axis: Axis; wide: number; over: number | undefined; setOver: (at: number | undefined) => void;
}) {
  useLook();
  const canvas = useRef<HTMLCanvasElement>(null);
  const most = Math.max(...values, 0);
  useLayoutEffect(() => {
    const element = canvas.current!, context = element.getContext("2d")!, ratio = pixelRatio(), colours = theme();
    element.width = wide * ratio;
    element.height = HIGH * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = (i: number): number => i / Math.max(1, values.length) * wide, y = (value: number): number => HIGH - 1 - value / Math.max(1, most) * (HIGH - 8);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    for (const part of [0, 0.5, 1])
      context.beginPath(), context.moveTo(0, Math.round(y(most * part)) + 0.5), context.lineTo(wide, Math.round(y(most * part)) + 0.5), context.stroke();
    context.beginPath();
    context.moveTo(0, HIGH);
    values.forEach((value, i) => (context.lineTo(x(i), y(value)), context.lineTo(x(i + 1), y(value))));
    context.lineTo(wide, HIGH);
    context.fillStyle = context.strokeStyle = colours.accent;
    context.globalAlpha = 0.3;
    context.fill();
    context.globalAlpha = 1;
    context.stroke();
    if (over !== undefined)
      context.fillStyle = colours.text, context.fillRect(Math.round(x(over + 0.5)), 0, 1, HIGH);
  });
  return (
    <figure class="chart" data-most={most}>
      <figcaption>{name} <span class="faint">{explained}; at most {text(most)}
        {over !== undefined && over < values.length && ` \u00b7 at ${instants([over, over + 1].map((i) => axis.start_ns + i * axis.interval_ns))[0]}: ${text(values[over]!)}`}</span></figcaption>
      <canvas ref={canvas} role="img" aria-label={`${name}: at most ${text(most)}`}
        onPointerMove={(event) => {
          const box = canvas.current!.getBoundingClientRect();
          setOver(Math.max(0, Math.min(values.length - 1, Math.floor((event.clientX - box.left) / box.width * values.length))));
        }}
        onPointerLeave={() => setOver(undefined)} />
      <TimeAxis data={axis} points={values.length} />
    </figure>
  );
}
