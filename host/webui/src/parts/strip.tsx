// SPDX-License-Identifier: MIT OR Apache-2.0
// The heap over the whole time, or a part of it, on every page: marks, the peak, and a range that can be selected by dragging.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { pixelRatio, type Theme, theme } from "../canvas/colours";
import { type Answer, useAnswer } from "../data/ask";
import { report } from "../data/report";
import type { Summary, Timeline } from "../data/types";
import { address, atInstant, changed, filterOf, go, question, type Route, sidesOf, TIMES } from "../state/route";
import { bytes, count, counted, duration, filterTime, instants, plain } from "../text/format";
import { RANGES } from "../text/words";
import { useLook } from "./look";
import { useSays } from "./refused";

const HIGH = 72;

export function readTime(text: string | null, end: number): number | undefined {
  if (!text)
    return undefined;
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text), units: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };
  if (percent)
    return Number(percent[1]) / 100 * end;
  const plainTime = /^(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)$/.exec(text);
  return plainTime ? Number(plainTime[1]) * units[plainTime[2]!]! : undefined;
}

const SHORTEST = 1000; // ns

// The part of the time to which the strip is zoomed. A report has the numbers of the whole time alone.
function shownOf(route: Route, end: number): Span {
  const [, from, to] = (/^(\d+)-(\d+)$/.exec(!report && route.parameters.get("ui.time") || "") ?? []).map(Number);
  return from !== undefined && to !== undefined && from < to && to <= end ? { from, to } : { from: 0, to: end };
}

// The same for a range that was selected, which may be a single pixel.
function zoomedTo(range: Span, end: number): string {
  const from = Math.max(0, Math.min(Math.floor(range.from), end - SHORTEST));
  return `${from}-${Math.min(end, Math.max(Math.ceil(range.to), from + SHORTEST))}`;
}

// The same as parameters of a question about the whole time; without a zoom, none.
export function axisOf(route: Route, summary: Summary): Record<string, string> {
  const end = summary.duration_ns || 1, { from, to } = shownOf(route, end);
  return to - from === end ? {} : { axis_from: `${from}ns`, axis_to: `${to}ns` };
}

export function Strip({ route, summary }: { route: Route; summary: Summary }) {
  const end = summary.duration_ns || 1, shown = shownOf(route, end), length = shown.to - shown.from, isWhole = length === end;
  // The axis is the time that is shown; only the other parts of the filter select what is drawn.
  const filter = filterOf(route);
  for (const name of TIMES)
    filter.delete(name);
  filter.delete("lifetime");
  const path = question({ ...route, parameters: filter }, "timeline", { width: 1000, ...axisOf(route, summary) });
  const answer = useAnswer<Timeline>(path), said = useRef<HTMLSpanElement>(null);
  useSays(answer.problem, said); // it is above all views
  const canvas = useRef<HTMLCanvasElement>(null);
  const [wide, setWide] = useState(0);
  const [brush, setBrush] = useState<{ from: number; to: number; done: boolean } | undefined>();
  const [over, setOver] = useState<number | undefined>();
  const pauses = pausesOf(summary);
  const data = answer.data;
  useLook();

  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWide(Math.floor(entry!.contentRect.width)));
    watcher.observe(canvas.current!.parentElement!);
    return () => watcher.disconnect();
  }, []);

  // A range goes with what is chosen besides it, before the next click or key.
  useLayoutEffect(() => setBrush(undefined), [path, route.parameters.toString()]);

  const usage = useUsage(route, summary), spans = spansOf(route, summary, highest(usage.data, summary)?.time);
  useLayoutEffect(() => {
    const element = canvas.current!, context = element.getContext("2d")!;
    const ratio = pixelRatio(), colours = theme();
    element.width = wide * ratio;
    element.height = HIGH * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (data)
      drawHeap(context, data, shown, wide, colours.accent);
    const x = (time: number): number => (time - shown.from) / length * wide;
    context.fillStyle = colours.text;
    context.globalAlpha = 0.6;
    for (const mark of summary.marks)
      context.fillRect(Math.round(x(mark.time_ns)), 0, 1, HIGH);
    // Where nothing was recorded.
    context.globalAlpha = 0.18;
    for (const { from, to } of pauses)
      context.fillRect(x(from), 0, Math.max(1, x(to) - x(from)), HIGH);
    context.globalAlpha = 1;
    if (summary.peak_time_ns >= shown.from && summary.peak_time_ns <= shown.to)
      drawFlag(context, Math.min(wide - 1, Math.round(x(summary.peak_time_ns))), wide);
    drawSpans(context, (brush ? [brush] : spans).map(({ from, to }) => [x(Math.min(from, to)), x(Math.max(from, to))]), wide, colours);
    if (over !== undefined && !brush)
      context.fillStyle = colours.text, context.fillRect(Math.round(x(over)), 0, 1, HIGH);
  });

  const timeAt = (event: PointerEvent): number => {
    const box = canvas.current!.getBoundingClientRect();
    return shown.from + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * length;
  };
  const apply = (number: number): void => {
    const [from, to] = [Math.min(brush!.from, brush!.to), Math.max(brush!.from, brush!.to)];
    const cleared = Object.fromEntries([...TIMES, "lifetime"].map((name) => [name, undefined]));
    go(changed(route, { ...cleared, "ui.zoom": undefined, ...RANGES[number]!.parameters(filterTime(from), filterTime(to)) }));
  };
  const bucket = data && over !== undefined ? Math.min(data.allocated_size.length - 1, Math.max(0, Math.floor((over - data.start_ns) / data.interval_ns))) : -1;
  const key = (event: KeyboardEvent): void => {
    const step = length / 50, now = brush ?? { from: shown.from + length * 0.4, to: shown.from + length * 0.6, done: true };
    const move: Record<string, number> = { ArrowLeft: -step, ArrowRight: step };
    if (event.key in move) {
      const by = move[event.key]!, clamp = (time: number): number => Math.max(shown.from, Math.min(shown.to, time));
      setBrush({ from: event.shiftKey ? now.from : clamp(now.from + by), to: clamp(now.to + by), done: true });
    } else if (event.key === "Escape")
      setBrush(undefined);
    else
      return;
    event.preventDefault();
  };
  const [begins, ends] = instants([shown.from, shown.to]);
  const whole = !isWhole && <>{" "}<a href={address(changed(route, { "ui.time": undefined }))}>Whole time</a></>;
  return (
    <section class="strip" aria-label="The heap over time" data-state={answer.problem ? "problem" : answer.loading ? "loading" : "ready"} data-end={data?.end_size.at(-1)}>
      <div class="strip-pane">
        <canvas ref={canvas} tabIndex={0} role="application" aria-label={`Heap over ${duration(end)}; at most ${bytes(summary.peak_bytes)} after ${duration(summary.peak_time_ns)}. Arrow keys move the range; with Shift, they move its end.`}
          onKeyDown={key}
          onPointerDown={(event) => {
            if (event.button)
              return;
            canvas.current!.setPointerCapture(event.pointerId);
            setBrush({ from: timeAt(event), to: timeAt(event), done: false });
          }}
          onPointerMove={(event) => {
            setOver(timeAt(event));
            if (brush && !brush.done)
              setBrush({ ...brush, to: timeAt(event) });
          }}
          onPointerUp={() => brush && !brush.done && setBrush({ ...brush, done: true })}
          onPointerLeave={() => setOver(undefined)} />
      </div>
      <p class={"strip-foot" + (knowsResident(summary) ? " with-resident" : "") + (isWhole && !summary.clock ? "" : " crowded")}>
        {answer.problem ? <span ref={said} role="alert" class="warn">{answer.problem.message} <button type="button" onClick={answer.retry}>Retry</button>{whole}</span>
          : <><span>{begins}{whole}<span class="hint"> {"\u00b7"} drag over the heap to select a range</span>{isWhole && data && !(summary.dumps ? data.allocated_size : data.allocations).some(Boolean) && <b><span class="hint"> {"\u00b7"}</span> {[...filter].length ? "no block matches" : "no block was allocated"}</b>}</span><Instants route={route} summary={summary} usage={usage} /><span>{ends}</span></>}
        {!answer.problem && bucket >= 0 && data && <span class="under-mouse">{duration(over!)}: at most {bytes(data.allocated_size[bucket]!)} {summary.dumps ? "" : <>in {counted(data.allocated_count[bucket]!, "blocks")};
          {" "}{count(data.allocations[bucket]!)} allocated, {count(data.deallocations[bucket]!)} freed in {duration(data.interval_ns)}</>}</span>}
      </p>
      {brush?.done && <div class="meanings" role="group" aria-label="What the range means">
        <p>{instants([Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)]).join(" to ")}: show blocks that were</p>
        {RANGES.map((range, i) => <button type="button" key={range.name} title={plain(range.explained)} onClick={() => apply(i)}>
          <RangePicture number={i} />{range.name}</button>)}
        {!report && <button type="button" title="the heap above shows this part of the time alone; the filter stays" onClick={() => go(changed(route, { "ui.time": zoomedTo({ from: Math.min(brush.from, brush.to), to: Math.max(brush.from, brush.to) }, end) }))}>Zoom in</button>}
        <button type="button" onClick={() => setBrush(undefined)}>Cancel</button>
      </div>}
    </section>
  );
}

interface Span { from: number; to: number }

// What of the time is shown: from the first to the last instant that is chosen. Two ranges of a difference are two spans, without
// those that end before they begin.
function spansOf(route: Route, summary: Summary, resident: number | undefined): Span[] {
  const { base, instants, ranges } = sidesOf(route), end = summary.duration_ns || 1;
  const spanOf = (texts: (string | null)[]): Span[] => {
    const times = texts.map((text) => text === "peak" ? summary.peak_time_ns : text === "peak_rss" ? resident : readTime(text, end)).filter((time) => time !== undefined) as number[];
    return times.length ? [{ from: Math.min(...times), to: Math.max(...times) }] : [];
  };
  const rangeOf = (from: string, to: string): Span[] => readTime(from, end)! > readTime(to, end)! ? [] : spanOf([from, to]);
  if (route.view === "diff" && ranges)
    return [...(base ? [] : rangeOf(ranges.base_from, ranges.base_to)), ...rangeOf(ranges.from, ranges.to)];
  return spanOf([...TIMES.map((name) => route.parameters.get(name)), ...(route.view === "diff" && instants && !base ? [instants.base_at, instants.at] : [])]);
}

// The flag of the peak.
function drawFlag(context: CanvasRenderingContext2D, peak: number, wide: number): void {
  const side = peak > wide - 12 ? -8 : 8;
  context.fillRect(peak, 2, 1, HIGH - 2);
  context.beginPath();
  context.moveTo(peak, 2), context.lineTo(peak + side, 5), context.lineTo(peak, 9);
  context.fill();
}

// What is outside of the spans is pale. They are in any order, and may overlap.
function drawSpans(context: CanvasRenderingContext2D, spans: [number, number][], wide: number, colours: Theme): void {
  let shown = 0;
  context.fillStyle = colours.back;
  context.globalAlpha = spans.length ? 0.65 : 0;
  for (const [from, to] of [...spans].sort(([a], [b]) => a - b)) {
    context.fillRect(shown, 0, Math.max(0, from - shown), HIGH);
    shown = Math.max(shown, from + 1, to);
  }
  context.fillRect(shown, 0, wide - shown, HIGH);
  context.globalAlpha = 1;
  context.fillStyle = colours.accent;
  for (const [from, to] of spans)
    context.fillRect(from, 0, 1, HIGH), context.fillRect(Math.max(from + 1, to) - 1, 0, 1, HIGH);
}

// The times during which recording was switched off.
function pausesOf(summary: Summary): { from: number; to: number }[] {
  const pauses: { from: number; to: number }[] = [];
  let since: number | undefined;
  for (const { kind, time_ns } of summary.marks) {
    if (kind === "stop")
      since ??= time_ns;
    else if (kind === "start" && since !== undefined)
      pauses.push({ from: since, to: time_ns }), since = undefined;
  }
  return since === undefined ? pauses : [...pauses, { from: since, to: summary.duration_ns }];
}

// Links to the most important instants: a click shows what was live then.
function Instants({ route, summary, usage }: { route: Route; summary: Summary; usage: Answer<Usage> }) {
  const resident = highest(usage.data, summary);
  const to = (cost: string, at?: string): string => address(atInstant(route, cost, at));
  const pauses = pausesOf(summary), marks = summary.marks.filter((mark) => mark.kind === "mark").length;
  return <span class="instants">
    <a href={to("peak")} title="blocks that were live when the heap was largest">peak {bytes(summary.peak_bytes)} at {duration(summary.peak_time_ns)}</a>
    {knowsResident(summary) && (resident ? <a href={to("allocated", "peak_rss")} title="blocks that were live when the resident memory of the process was largest">resident peak {bytes(resident.size)} at {duration(resident.time)}</a>
      : !usage.problem && <span class="room" aria-hidden="true">resident peak {bytes(summary.peak_bytes)} at {duration(summary.peak_time_ns)}</span>)}
    <a href={to("live")} title="blocks that were not freed by the end of the recording">{bytes(summary.live_bytes)} at the end</a>
    {usage.problem && <span role="alert">resident memory: {usage.problem.message} <button type="button" onClick={usage.retry}>Retry</button></span>}
    {marks > 0 && <span>{counted(marks, "marks")}</span>}
    {pauses.length > 0 && <span class="pauses" title="shaded: recording was switched off, so blocks that were allocated then are not in the trace"
      data-pauses={pauses.map(({ from, to }) => `${from}-${to}`).join()}>{counted(pauses.length, "pauses")} of the recording, {duration(pauses.reduce((sum, { from, to }) => sum + to - from, 0))}</span>}
  </span>;
}

interface Usage { interval_ns: number; resident_size: number[] | null }

export const hasFaults = (summary: Summary): boolean => summary.events.some((kind) => kind.name === "faults" && !kind.absence);

// The resident peak comes later than the rest of the page, which must not move then.
const knowsResident = (summary: Summary): boolean => hasFaults(summary) && summary.holds !== "sums";

export function useUsage(route: Route, summary: Summary): Answer<Usage> {
  const path = question({ ...route, parameters: new URLSearchParams() }, "timeline_usage", { width: 1000 });
  return useAnswer<Usage>(hasFaults(summary) ? path : undefined);
}

// When the resident memory was largest, according to page faults.
function highest(usage: Usage | undefined, summary: Summary): { time: number; size: number } | undefined {
  const sizes = usage?.resident_size ?? [];
  const size = Math.max(0, ...sizes);
  return usage && size ? { time: Math.min(summary.duration_ns, (sizes.indexOf(size) + 1) * usage.interval_ns), size } : undefined;
}

function drawHeap(context: CanvasRenderingContext2D, data: Timeline, shown: Span, wide: number, colour: string): void {
  const most = Math.max(1, ...data.allocated_size), x = (i: number): number => (data.start_ns + i * data.interval_ns - shown.from) / (shown.to - shown.from) * wide;
  const y = (value: number): number => HIGH - value / most * (HIGH - 12);
  context.beginPath();
  context.moveTo(0, HIGH);
  for (let i = 0; i + 1 < data.allocated_size.length; i++) {
    context.lineTo(x(i), y(data.allocated_size[i]!));
    context.lineTo(Math.min(wide, x(i + 1)), y(data.allocated_size[i]!));
  }
  context.lineTo(wide, HIGH);
  context.fillStyle = colour;
  context.globalAlpha = 0.35;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.stroke();
}

// Three blocks and a range: those that match are filled.
function RangePicture({ number }: { number: number }) {
  const bars: [number, number][] = [[[14, 34], [14, 22]], [[14, 34]], [[4, 34]], [[14, 22]], [[4, 16]]][number] as [number, number][];
  return (
    <svg class="range" width="38" height="16" viewBox="0 0 38 16" aria-hidden="true">
      <rect x="10" y="0" width="18" height="16" class="range-back" />
      {bars.map(([from, to], i) => <rect key={i} x={from} y={i * 7 + 2} width={to - from} height="5" class="range-bar" />)}
    </svg>
  );
}
