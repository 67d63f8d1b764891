// SPDX-License-Identifier: MIT OR Apache-2.0
// Scripts about a trace. They run in a frame without an origin and without network; this page asks the questions for them,
// of this trace only.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ChartLine, FromFrame, ToFrame } from "../console/messages";
import { ask, refusalOf } from "../data/ask";
import { copy } from "../parts/menu";
import { curl } from "../parts/pane";
import { filterOf, question, type Route } from "../state/route";
import { save } from "../table/text";
import { bytes, counted, plain } from "../text/format";
import type { ViewProps } from "./view";

const KEY = "console", BUDGET = 10000; // ms for a script, without its questions; tests set another in data-budget
const MOST_ENTRIES = 1000, MOST_ROWS = 1000, MOST_COLUMNS = 30, MOST_TEXT = 10000;
const EXAMPLE = `const live = allocations().only_live();
println("still live at the end:", await live.len(), "blocks");
await table(live.group_by_backtrace().sort_by_size().take(10));
await graph().add("All", allocations()).add("Still live at the end", live).save();
`;
const METHODS = "allocations(), maps(), graph(), data(), table(rows), println(...), ask(question, parameters); lists have only_live(), only_temporary(), only_alive_at(time), only_larger(size), only_passing_through_function(regex), "
  + "only(parameter, value) for every filter, plus(list), minus(list), and(list), group_by_backtrace(), len(), rows(count); times are s(1), ms(5) or \"10%\", sizes kb(4), mb(1). Calls that ask a question need await.";

type Entry = { kind: "line"; text: string } | { kind: "table"; columns: string[]; rows: string[][] } | { kind: "chart"; lines: ChartLine[] };

function saved(): string {
  try {
    return localStorage.getItem(KEY) ?? EXAMPLE;
  } catch {
    return EXAMPLE;
  }
}

function keep(code: string): void {
  try {
    localStorage.setItem(KEY, code);
  } catch {
    // Without storage, the script lasts as long as the view.
  }
}

// What a filter is as a script.
function codeOf(filter: URLSearchParams): string {
  return "allocations()" + [...filter].filter(([name]) => name !== "at").map(([name, value]) => `.only(${JSON.stringify(name)}, ${JSON.stringify(value)})`).join("");
}

const isPlain = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number";

// A question of a script as a path; undefined: it is none of the questions that only read this trace. `base` would name another.
function pathOf(route: Route, what: unknown, parameters: unknown): string | undefined {
  if (typeof what !== "string" || !/^[a-z_]+(\/[0-9]+)?$/.test(what) || ["control", "live", "export"].includes(what))
    return undefined;
  const own = Object.entries(parameters ?? {}).filter(([name, value]) => name !== "base" && isPlain(value));
  return question({ ...route, parameters: new URLSearchParams() }, what, Object.fromEntries(own) as Record<string, string | number>);
}

// An object as text may throw, or be endless.
const text = (value: unknown): string => isPlain(value) ? String(value).slice(0, MOST_TEXT) : "?";
const numberOf = (value: unknown): number => Number.isFinite(value) ? value as number : 0;

// What a frame sent, as far as it is what it should be.
function entryOf(message: FromFrame): Entry | undefined {
  if (message.kind === "line")
    return { kind: "line", text: text(message.text) };
  if (message.kind === "table" && Array.isArray(message.columns) && Array.isArray(message.rows))
    return { kind: "table", columns: message.columns.slice(0, MOST_COLUMNS).map(text), rows: message.rows.slice(0, MOST_ROWS).map((row) => Array.isArray(row) ? row.slice(0, MOST_COLUMNS).map(text) : []) };
  if (message.kind === "chart" && Array.isArray(message.lines))
    return { kind: "chart", lines: message.lines.slice(0, 12).map((line) => ({ name: text(line?.name), start_ns: numberOf(line?.start_ns), interval_ns: numberOf(line?.interval_ns),
      sizes: Array.isArray(line?.sizes) ? line.sizes.slice(0, 2000).map(numberOf) : [] })) };
  return undefined;
}

interface Run { stop: (why?: string) => void }

interface Told { entry: (entry: Entry) => void; asked: (path: string) => void; ended: (how: string) => void }

// Runs a script in a new frame, which goes with it.
function start(code: string, route: Route, told: Told): Run {
  const frame = document.createElement("iframe"), questions = new AbortController(), began = performance.now(), budget = Number(document.body.dataset.budget ?? BUDGET);
  let isReady = false, over = false, timer: ReturnType<typeof setTimeout> | undefined, since = 0, used = 0, open = 0;
  const compute = (): void => {
    since = performance.now();
    timer = setTimeout(() => stop(`A script has ${budget / 1000} s, without the time of its questions. It was stopped`), budget - used);
  };
  const pause = (): void => {
    clearTimeout(timer);
    used += performance.now() - since;
  };
  const stop = (why = "Stopped"): void => {
    if (over)
      return;
    over = true;
    clearTimeout(timer);
    questions.abort();
    removeEventListener("message", hear);
    frame.remove();
    told.ended(`${why} after ${((performance.now() - began) / 1000).toFixed(1)} s.`);
  };
  const say = (message: ToFrame): void => frame.contentWindow?.postMessage(message, "*");
  const answer = async (number: number, path: string | undefined): Promise<void> => {
    if (!path)
      return say({ kind: "answer", number, problem: "a script cannot ask this" });
    told.asked(path);
    open++ || pause();
    const said = await ask(path, questions.signal).then((data) => ({ answer: data }), (problem) => ({ problem: refusalOf(problem).message }));
    if (over)
      return;
    --open || compute();
    say({ kind: "answer", number, ...said });
  };
  const hear = ({ source, data: message }: MessageEvent<FromFrame>): void => {
    if (source !== frame.contentWindow || !message)
      return;
    if (message.kind === "ready") {
      if (isReady)
        return;
      isReady = true;
      compute();
      say({ kind: "run", code });
    } else if (message.kind === "ask")
      void answer(numberOf(message.number), pathOf(route, message.what, message.parameters));
    else if (message.kind === "ended" || message.kind === "failed")
      stop(message.kind === "ended" ? "Finished" : `${text(message.text)}. Ended`);
    else {
      const entry = entryOf(message);
      entry && told.entry(entry);
    }
  };
  addEventListener("message", hear);
  frame.setAttribute("sandbox", "allow-scripts");
  frame.hidden = true;
  frame.title = "The script";
  frame.src = "/console.html";
  document.body.append(frame);
  return { stop };
}

export function ConsoleView({ route }: ViewProps) {
  const [code, edit] = useState(saved), [entries, show] = useState<Entry[]>([]), [asked, list] = useState<string[]>([]), [state, tell] = useState("");
  const run = useRef<Run | undefined>(undefined), filter = filterOf(route);
  useEffect(() => () => run.current?.stop(), []);
  const change = (next: string): void => (edit(next), keep(next));
  const begin = (): void => {
    show([]), list([]), tell("running");
    run.current = start(code, route, {
      entry: (entry) => show((all) => all.length < MOST_ENTRIES ? [...all, entry] : all),
      asked: (path) => list((all) => all.includes(path) || all.length >= MOST_ENTRIES ? all : [...all, path]),
      ended: (how) => (run.current = undefined, tell(how)),
    });
  };
  const load = async (input: HTMLInputElement): Promise<void> => {
    const file = input.files?.[0];
    if (file)
      change(await file.text());
  };
  const running = state === "running";
  return (
    <div class="scroll console">
      <textarea aria-label="Script" rows={12} spellcheck={false} value={code} onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => { event.key === "Enter" && (event.ctrlKey || event.metaKey) && !running && (event.preventDefault(), begin()); event.stopPropagation(); }} />
      <div class="bar">
        <button type="button" disabled={running} title="Ctrl-Enter" onClick={begin}>Run</button>
        <button type="button" disabled={!running} onClick={() => run.current?.stop()}>Stop</button>
        {filter.size > 0 && <button type="button" title="the current filter as a list of blocks" onClick={() => change(`${code}\nawait table(${codeOf(filter)});\n`)}>Add the filter</button>}
        <button type="button" disabled={code === EXAMPLE} onClick={() => change(EXAMPLE)}>Example</button>
        <button type="button" onClick={() => save("script.js", "text/javascript", code)}>Save</button>
        <label>Load <input type="file" accept=".js,text/javascript" onChange={(event) => void load(event.currentTarget)} /></label>
      </div>
      <p role="status" data-run={running ? "running" : "over"}>{running ? "Running\u2026" : plain(state)}</p>
      <div class="output">{entries.map((entry, i) => <Output key={i} entry={entry} />)}</div>
      {entries.length >= MOST_ENTRIES && <p class="faint">Only the first {MOST_ENTRIES} lines are shown.</p>}
      {asked.length > 0 && <details><summary>{counted(asked.length, "questions")} of the script</summary>
        <ul>{asked.map((path) => <li key={path}><code>{plain(path)}</code> <button type="button" onClick={() => copy(curl(path))}>Copy curl</button></li>)}</ul></details>}
      <details><summary>What scripts can use</summary><p>{METHODS}</p></details>
    </div>
  );
}

function Output({ entry }: { entry: Entry }): ComponentChildren {
  if (entry.kind === "line")
    return <pre>{plain(entry.text)}</pre>;
  if (entry.kind === "chart")
    return <LineChart lines={entry.lines} />;
  return <table class="plain-table"><thead><tr>{entry.columns.map((one, i) => <th key={i}>{plain(one)}</th>)}</tr></thead>
    <tbody>{entry.rows.map((row, i) => <tr key={i}>{row.map((cell, k) => <td key={k}>{plain(cell)}</td>)}</tr>)}</tbody></table>;
}

const WIDE = 600, HIGH = 120;

function LineChart({ lines }: { lines: ChartLine[] }) {
  const largest = Math.max(1, ...lines.flatMap((line) => line.sizes)), end = Math.max(1, ...lines.map((line) => line.start_ns + line.sizes.length * line.interval_ns));
  const points = (line: ChartLine): string => line.sizes.map((size, i) => `${(WIDE * (line.start_ns + (i + 1) * line.interval_ns) / end).toFixed(1)},${(HIGH - size / largest * HIGH).toFixed(1)}`).join(" ");
  return (
    <figure>
      <svg class="lines" viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={lines.map((line) => `${line.name}: at most ${bytes(Math.max(0, ...line.sizes))}`).join(", ")}>
        {lines.map((line, i) => <polyline key={i} points={points(line)} fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray={i ? `${12 / i} ${3 * i}` : undefined} vector-effect="non-scaling-stroke" />)}
      </svg>
      <figcaption>{lines.map((line, i) => <span key={i}><svg viewBox="0 0 30 6" width="30" height="6" aria-hidden="true"><path d="M0 3H30" stroke="currentColor" stroke-width="1.5" stroke-dasharray={i ? `${12 / i} ${3 * i}` : undefined} /></svg> {plain(line.name)}: at most {bytes(Math.max(0, ...line.sizes))}{"  "}</span>)}</figcaption>
    </figure>
  );
}
