// SPDX-License-Identifier: MIT OR Apache-2.0
// Live memory over time in layers: by the library, function or line that requested it, or by thread.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { isDark, pixelRatio, theme } from "../canvas/colours";
import { useAnswer } from "../data/ask";
import { address, changed, exactly, question, type Route, toView } from "../state/route";
import { line, save } from "../table/text";
import { baseName, bytes, exactBytes, instants, plain, shortName } from "../text/format";
import { Choice, none } from "./controls";
import { Pane } from "./pane";
import { useLook } from "./look";

interface Series { key: string; library?: string | null; source?: string | null; line?: number; thread?: number; size: number[]; count: number[] }
interface TimelineBy { by: string; start_ns: number; interval_ns: number; end_ns: number; series: Series[]; rest: { size: number[]; count: number[] } }

const HIGH = 200;
// Okabe and Ito's colours, which can be distinguished with all kinds of colour vision; the rest is grey.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#b8a700", "#5f9ea0", "#a05a2c"];

const BY = [{ value: "library", name: "Libraries" }, { value: "function", name: "Functions" }, { value: "line", name: "Lines" }, { value: "thread", name: "Threads" }];
// Who requested the memory, as in the overview; functions of allocators and of the standard library say nothing.
const ASKED: Record<string, string> = { library: "requester_library", function: "requester", line: "requester_line", thread: "thread" };

function nameOf(by: string, series: Series): string {
  return by === "thread" ? `${plain(series.key) || "thread"} ${series.thread ?? ""}` : by === "requester_line" && series.source ? `${baseName(series.source)}:${series.line} ${shortName(series.key)}` : shortName(series.key);
}

function filterFor(route: Route, by: string, series: Series): string {
  const changes = by === "thread" ? { thread: String(series.thread) } : by === "requester_library" ? { library: series.key } : { function_regex: exactly(series.key) };
  return address(toView(changed(route, changes), "flame"));
}

export function Stacked({ route, axis, wide, over, setOver }: {
  route: Route; axis: Record<string, string>; wide: number; over: number | undefined; setOver: (at: number | undefined) => void;
}) {
  const chosen = route.parameters.get("ui.layers") ?? "library", by = chosen in ASKED ? chosen : "library";
  const path = question(route, "timeline_by", { by: ASKED[by], width: 600, top: 10, ...axis });
  const answer = useAnswer<TimelineBy>(path);
  return (
    <section class="layers" aria-label="Live memory in layers">
      <div class="bar"><h2>Live memory by origin</h2>
        <Choice label="Layers" now={by} to={(value) => address(changed(route, { "ui.layers": value === "library" ? undefined : value }))} choices={BY} /></div>
      <Pane answer={answer} path={path} empty={(data) => data.series.length ? undefined : <p class="empty">{none(route, "block")}</p>}>
        {(data) => <Layers data={data} wide={wide} over={over} setOver={setOver} route={route} />}
      </Pane>
    </section>
  );
}

function Layers({ data, wide, over, setOver, route }: {
  data: TimelineBy; wide: number; over: number | undefined; setOver: (at: number | undefined) => void; route: Route;
}) {
  useLook();
  const canvas = useRef<HTMLCanvasElement>(null);
  const points = data.rest.size.length;
  // From bottom to top: the rest, then the smallest.
  const layers = useMemo(() => [data.rest.size, ...data.series.map((series) => series.size).reverse()], [data]);
  const tops = useMemo(() => {
    const sums: Float64Array[] = [];
    layers.forEach((values, i) => sums.push(Float64Array.from(values, (value, at) => value + (sums[i - 1]?.[at] ?? 0))));
    return sums;
  }, [layers]);
  const most = useMemo(() => Math.max(1, ...(tops.at(-1) ?? [])), [tops]);
  const colourOf = (layer: number): string => layer ? COLOURS[(data.series.length - layer) % COLOURS.length]! : isDark() ? "#777" : "#999";
  useLayoutEffect(() => {
    const element = canvas.current!, context = element.getContext("2d")!, ratio = pixelRatio(), colours = theme();
    element.width = wide * ratio;
    element.height = HIGH * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = (i: number): number => i / Math.max(1, points) * wide, y = (value: number): number => HIGH - value / most * (HIGH - 4);
    for (let layer = layers.length - 1; layer >= 0; layer--) {
      context.beginPath();
      context.moveTo(0, HIGH);
      for (let i = 0; i < points; i++)
        context.lineTo(x(i), y(tops[layer]![i]!)), context.lineTo(x(i + 1), y(tops[layer]![i]!));
      context.lineTo(wide, HIGH);
      context.fillStyle = colourOf(layer);
      context.fill();
    }
    if (over !== undefined)
      context.fillStyle = colours.text, context.fillRect(Math.round(x(over + 0.5)), 0, 1, HIGH);
  });
  const at = over !== undefined && over < points ? over : undefined;
  const value = (values: number[]): string => bytes(at === undefined ? Math.max(...values) : values[at]!);
  return (
    <figure class="chart">
      <canvas ref={canvas} class="tall" role="img" aria-label={`Live memory in ${data.series.length} layers, at most ${bytes(most)}`}
        onPointerMove={(event) => {
          const box = canvas.current!.getBoundingClientRect();
          setOver(Math.max(0, Math.min(points - 1, Math.floor((event.clientX - box.left) / box.width * points))));
        }}
        onPointerLeave={() => setOver(undefined)} />
      <TimeAxis data={data} points={points} />
      <p class="tools under"><span class="faint">{at === undefined ? `The most that each layer had at the end of one of ${points} intervals` : `At ${instants([at + 1, at].map((i) => data.start_ns + i * data.interval_ns))[0]}`}; at most {bytes(most)} together.</span>
        <button type="button" onClick={() => save("layers.csv", "text/csv", [["end_ns", ...data.series.map((series) => series.key), "the rest"],
        ...data.rest.size.map((rest, i) => [data.start_ns + (i + 1) * data.interval_ns, ...data.series.map((series) => series.size[i]!), rest].map(String))].map((cells) => line(cells, ",")).join(""))}>Save CSV</button></p>
      <ul class="legend" data-layers={data.by} data-end={(tops.at(-1)?.[points - 1] ?? 0)}>
        {data.series.map((series, i) => <li key={i}>
          <svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill={COLOURS[i % COLOURS.length]} /></svg>
          <a href={filterFor(route, data.by, series)} title={plain(series.key)}>{nameOf(data.by, series)}</a> <span class="number" title={exactBytes(at === undefined ? Math.max(...series.size) : series.size[at]!)}>{value(series.size)}</span></li>)}
        {data.rest.size.some(Boolean) && <li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="#888" /></svg> the rest <span class="number">{value(data.rest.size)}</span></li>}
      </ul>
    </figure>
  );
}

export function TimeAxis({ data, points }: { data: { start_ns: number; interval_ns: number }; points: number }) {
  return <p class="axis faint" aria-hidden="true">{instants([0, 0.25, 0.5, 0.75, 1].map((part) => data.start_ns + part * points * data.interval_ns)).map((text, i) => <span key={i}>{text}</span>)}</p>;
}
