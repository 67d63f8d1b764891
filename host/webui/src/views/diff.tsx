// SPDX-License-Identifier: MIT OR Apache-2.0
// What differs between two instants or ranges of a trace, or between two traces, as one tree or as stacks.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { GONE, LESS, MORE, NEW } from "../canvas/changes";
import { useAnswer } from "../data/ask";
import type { Cost, DiffNode, DiffSide, DiffTree, Frame, ListRow, Summary } from "../data/types";
import { functionActions, partActions, toLines } from "../parts/actions";
import { Choice, rangeCost } from "../parts/controls";
import { Entry } from "../parts/entry";
import { Menu, under } from "../parts/menu";
import { name } from "../parts/name";
import { Pane } from "../parts/pane";
import { Signs } from "../parts/signs";
import { shortStack } from "../parts/stack";
import { address, changed, go, type Instants, parse, question, type Ranges, type Route, type Sides, sidesOf, TIMES, toView } from "../state/route";
import { saveTable } from "../table/text";
import { baseName, bytes, count, counted, exactBytes, filterTime, plain, processName, shortName } from "../text/format";
import { COSTS } from "../text/words";
import { DiffFlame } from "./diff_flame";
import type { ViewProps } from "./view";

const HALVES = "0% 50% 50% 100%", NO_SIDES = Object.fromEntries(["base_at", "base_from", "base_to", ...TIMES].map((name) => [name, undefined]));
const RANGE_COSTS: Cost[] = ["allocated", "live", "temporary"];
const KINDS = [
  { value: "instants", name: "Instants", title: "what was live at one time, and at another" },
  { value: "ranges", name: "Ranges", title: "what was allocated during one part of the time, and during another" },
];
const NODES = 5000, ROWS = 1000, OPENED = 0.05;
const SHAPES = [
  { value: "flame", name: "Flame graph", title: "one picture: the width of a box is the sum of growth and decrease in it" },
  { value: "tree", name: "Tree", title: "from callers down to callees" },
  { value: "functions", name: "Functions", title: "the functions that allocate, with their callers below" },
  { value: "lines", name: "Lines", title: "from callers down to callees, with a row for each line of a function" },
  { value: "libraries", name: "Libraries", title: "from libraries that call down to those that are called" },
  { value: "stacks", name: "Stacks", title: "whole stacks" },
];

function rangesOf(text: string): Record<string, string> {
  const [base_from, base_to, from, to] = text.split(" ");
  return { base_from, base_to, from, to } as Record<string, string>;
}

function shapeOf(route: Route): string {
  return route.parameters.get("ui.shape") ?? "tree";
}

const BY: Record<string, string> = { libraries: "library", lines: "line" };

export function diffQuestion(route: Route): string {
  const { base, instants, ranges } = sidesOf(route), shape = shapeOf(route);
  const sides = { base, ...instants, ...ranges, cost: ranges && rangeCost(route) };
  return shape === "stacks" ? question(route, "diff", { ...sides, sort_by: "size_change", order: "dsc", count: 50 })
    : question(route, "diff_tree", { ...sides, nodes: NODES, by: BY[shape], inverted: shape === "functions" ? "true" : undefined });
}

export function DiffView({ route, summary }: ViewProps) {
  const shape = shapeOf(route), table = useRef<HTMLTableElement>(null);
  const to = (value: string): string => address(changed(route, { "ui.shape": value === "tree" ? undefined : value, "ui.open": undefined, "ui.zoom": undefined, "ui.sel": undefined }));
  return (
    <>
      <Setup route={route} summary={summary} />
      <div class="bar"><Choice label="Shown as" now={shape} to={to} choices={SHAPES} />
        {shape !== "flame" && <button type="button" title="the rows that are shown" onClick={() => table.current && saveTable(table.current, "differences.csv")}>Save CSV</button>}
        <Signs /></div>
      <div class="scroll" tabIndex={0} role="region" aria-label="What differs">
        {shape !== "flame" && <p class="faint">{sidesOf(route).ranges ? "A minus sign means that less of this memory was allocated in the range after than in the range before, a plus sign that more was."
          : "A minus sign means that less is live after than before, a plus sign that more is live."}</p>}
        {shape === "stacks" ? <Stacks route={route} table={table} /> : <Tree route={route} summary={summary} shape={shape} table={table} />}
      </div>
    </>
  );
}

// A range from one mark to the next.
function rangePresets(summary: Summary): { value: string; name: string; title: string }[] {
  const marks = summary.marks.filter((mark) => mark.kind === "mark").slice(-3).map((mark) => filterTime(mark.time_ns));
  const rounds = marks.length === 3 ? [{ value: `${marks[0]} ${marks[1]} ${marks[1]} ${marks[2]}`, name: "Last two rounds", title: "from mark to mark" }] : [];
  const peak = filterTime(summary.peak_time_ns);
  return [{ value: HALVES, name: "Halves", title: "what the second half of the time allocated more or less than the first" },
          { value: `0% ${peak} ${peak} 100%`, name: "Before and after the peak", title: "what was allocated after the peak more or less than before it" }, ...rounds];
}

function presets(summary: Summary): { value: string; name: string; title: string }[] {
  const marks = summary.marks.filter((mark) => mark.kind === "mark").slice(-2);
  const between = marks.length === 2 ? [{ value: marks.map((mark) => filterTime(mark.time_ns)).join(" "), name: "Last two marks", title: "what the last round between marks changed" }] : [];
  // Before the last dump, the one before it counts.
  const dumps = Number(summary.dumps) > 1 ? [{ value: filterTime(summary.duration_ns - 1) + " 100%", name: "Last two dumps", title: "what changed between the last dump and the one before it" }] : [];
  return [{ value: "50% 100%", name: "Second half", title: "from the middle to the end" },
          { value: "10% 100%", name: "After the start", title: "from 10 % of the time to the end" },
          { value: "peak 100%", name: "Peak to end", title: "what was freed after the peak" }, ...between, ...dumps];
}

function Setup({ route, summary }: { route: Route; summary: Summary }) {
  const list = useAnswer<ListRow[]>("/list"), sides = sidesOf(route);
  const others = list.data?.filter((row) => row.id && row.id !== route.trace) ?? [];
  const to = (changes: Record<string, string | undefined>): Route => changed(route, { ...changes, "ui.open": undefined });
  const time = (label: string, parameter: string, now: string, usual?: string) => <label>{label} <Entry size={8} value={now} list="instants"
    enter={(text) => go(changed(parse(location.hash), { [parameter]: text || usual, "ui.open": undefined }))} /></label>;
  const single = summary.holds !== "sums" && !summary.dumps; // blocks, which have times
  const kind = (value: string): string => address(to(value === "ranges" ? { ...NO_SIDES, ...rangesOf(HALVES) } : NO_SIDES));
  return (
    <div class="bar">
      {single && <Choice label="Compared" now={sides.ranges ? "ranges" : "instants"} to={kind} choices={KINDS} />}
      {others.length > 0 && <select aria-label="Trace before" value={sides.base ?? ""} onChange={(event) => go(to({ base: event.currentTarget.value || undefined, base_at: undefined, ...(sides.ranges && { base_from: "0%", base_to: "100%" }) }))}>
        <option value="">Before: this trace</option>
        {others.map((row) => <option key={row.id} value={row.id}>Before: {processName(row)}</option>)}
      </select>}
      {sides.instants && <Points sides={sides} instants={sides.instants} time={time} to={to} summary={summary} />}
      {sides.ranges && <Spans route={route} ranges={sides.ranges} time={time} to={to} summary={summary} same={!sides.base} />}
      <datalist id="instants">{["0%", "25%", "50%", "75%", "100%", "peak"].map((one) => <option key={one} value={one} />)}</datalist>
    </div>
  );
}

interface Side {
  summary: Summary; to: (changes: Record<string, string | undefined>) => Route;
  time: (label: string, parameter: string, now: string, usual?: string) => JSX.Element;
}

function Points({ sides, instants: { base_at, at }, time, to, summary }: Side & { sides: Sides; instants: Instants }) {
  const pair = (value: string): string => {
    const [before, after] = value.split(" ");
    return address(to({ base_at: before, at: after }));
  };
  return <>
    {time("Before: at", "base_at", base_at)}
    {time("After: at", "at", at)}
    {!sides.base && <>
      <button type="button" onClick={() => go(to({ base_at: at, at: base_at }))}>Swap</button>
      <Choice label="Instants" now={`${base_at} ${at}`} to={pair} choices={presets(summary)} />
    </>}
  </>;
}

function Spans({ route, ranges: { base_from, base_to, from, to: end }, time, to, summary, same }: Side & { route: Route; ranges: Ranges; same: boolean }) {
  const costs = summary.events[0]!.costs;
  return <>
    <span class="times">{time("Before: from", "base_from", base_from, "0%")} {time("to", "base_to", base_to, "100%")}</span>
    <span class="times">{time("After: from", "from", from, "0%")} {time("to", "to", end, "100%")}</span>
    {same && <>
      <button type="button" onClick={() => go(to({ base_from: from, base_to: end, from: base_from, to: base_to }))}>Swap</button>
      <Choice label="Ranges" now={[base_from, base_to, from, end].join(" ")} to={(value) => address(to(rangesOf(value)))} choices={rangePresets(summary)} />
    </>}
    <Choice label="Cost" now={rangeCost(route)} to={(cost) => address(to({ cost }))} choices={RANGE_COSTS.filter((cost) => costs.includes(cost)).map((cost) => ({ value: cost, name: COSTS[cost].name, title: COSTS[cost].explained }))} />
  </>;
}

function Change({ size }: { size: number }) {
  return <span class={size < 0 ? "less" : size > 0 ? "more" : ""} title={exactBytes(size)}>{size < 0 ? LESS + " " : size > 0 ? MORE + " +" : ""}{bytes(size)}</span>;
}

function Numbers({ row }: { row: { base: DiffSide; now: DiffSide; size_delta: number; count_delta: number } }) {
  return <>
    <td class="number"><Change size={row.size_delta} /></td>
    <td class="number" title={`${exactBytes(row.base.size)}, then ${exactBytes(row.now.size)}`}>{bytes(row.base.size)} {"\u2192"} {bytes(row.now.size)}</td>
    <td class="number" title={`${counted(row.base.count, "blocks")}, then ${counted(row.now.count, "blocks")}`}>{row.count_delta > 0 ? "+" : ""}{count(row.count_delta)}</td>
  </>;
}

function Head({ where, beside }: { where: string; beside?: string | undefined }) {
  return <thead><tr><th class="number">Change</th><th class="number">Before {"\u2192"} after</th><th class="number">Blocks</th><th class="wide">{where}</th>{beside && <th>{beside}</th>}</tr></thead>;
}

function Sign({ row }: { row: { base: DiffSide; now: DiffSide } }) {
  const text = !row.base.count && row.now.count ? NEW : row.base.count && !row.now.count ? GONE : "";
  return text ? <span class="sign">{text}</span> : null;
}

// ---- trees ---------------------------------------------------------------------------------------------------------

interface Row { node: DiffNode; depth: number; index: number; children: number }

// By their parents, the largest changes first.
function childrenOf(nodes: DiffNode[]): number[][] {
  const below: number[][] = nodes.map(() => []);
  nodes.forEach((node, i) => node.parent !== null && below[node.parent]!.push(i));
  return below;
}

function openedAtFirst(nodes: DiffNode[], shape: string): Set<number> {
  const least = nodes[0]!.moved_size * OPENED;
  return new Set(nodes.flatMap((node, i) => shape !== "functions" && node.moved_size >= least ? [i] : []));
}

function rowsOf(nodes: DiffNode[], below: number[][], open: Set<number>): Row[] {
  const rows: Row[] = [];
  const waiting = [...below[0]!].reverse().map((index) => ({ index, depth: 0 }));
  while (waiting.length && rows.length < ROWS) {
    const { index, depth } = waiting.pop()!, children = below[index]!;
    rows.push({ node: nodes[index]!, depth, index, children: children.length });
    if (open.has(index))
      // A caller with one callee needs no level of its own.
      for (const child of [...children].reverse())
        waiting.push({ index: child, depth: depth + (children.length > 1 ? 1 : 0) });
  }
  return rows;
}

interface TreeProps { route: Route; shape: string; table: { current: HTMLTableElement | null } }

function Tree({ route, summary, shape, table }: TreeProps & { summary: Summary }) {
  const path = diffQuestion(route), answer = useAnswer<DiffTree>(path);
  return (
    <Pane answer={answer} path={path} empty={(data) => data.nodes.length > 1 ? undefined : <p class="empty">There is no difference.</p>}>
      {(data) => <>
        <p data-delta={data.nodes[0]!.size_delta}>In all <Change size={data.nodes[0]!.size_delta} />: {bytes(data.nodes[0]!.base.size)} before, {bytes(data.nodes[0]!.now.size)} after.</p>
        {shape === "flame" ? <DiffFlame route={route} summary={summary} data={data} other={answer.other} /> : <Branches route={route} shape={shape} table={table} nodes={data.nodes} other={answer.other} />}
        {shape !== "flame" && data.left_out_nodes > 0 && <p class="faint">{counted(data.left_out_nodes, "smaller changes")} not shown.</p>}
      </>}
    </Pane>
  );
}

// A line leads to it in its file.
function Beside({ route, node, shape }: { route: Route; node: DiffNode; shape: string }) {
  if (shape !== "lines" || !node.source)
    return <td title={plain(node.library ?? "")}>{plain(node.library ?? "")}</td>;
  const text = `${baseName(node.source)}:${node.line ?? "?"}`;
  return <td title={plain(node.source)}><a href={address(toLines(route, { file: node.source, line: node.line ?? undefined }))}>{plain(text)}</a></td>;
}

function Branches({ route, shape, table, nodes, other }: TreeProps & { nodes: DiffNode[]; other: boolean }) {
  const [menu, setMenu] = useState<{ node: DiffNode; x: number; y: number } | undefined>();
  const asked = route.parameters.get("ui.open");
  const open = useMemo(() => asked === null ? openedAtFirst(nodes, shape) : new Set(asked.split("~").map(Number)), [nodes, asked, shape]);
  const below = useMemo(() => childrenOf(nodes), [nodes]);
  const rows = useMemo(() => rowsOf(nodes, below, open), [nodes, below, open]);
  const toggle = (index: number): void => {
    if (other)
      return;
    const after = new Set(open);
    if (!after.delete(index))
      after.add(index);
    go(changed(route, { "ui.open": [...after].join("~") || "0" }), true);
  };
  const beside = shape === "libraries" ? undefined : shape === "lines" ? "Line" : "Library";
  const nameOf = (node: DiffNode): string => node.function ?? node.library ?? "";
  const key = (event: KeyboardEvent, row: Row, i: number): void => {
    const is = open.has(row.index), to = event.key === "ArrowDown" ? i + 1 : i - 1;
    if (event.key === "." || (event.key === "ArrowRight" && row.children && !is) || (event.key === "ArrowLeft" && row.children && is))
      event.key === "." ? setMenu({ node: row.node, ...under(event) }) : toggle(row.index);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp")
      table.current?.querySelectorAll<HTMLElement>("tbody button.node")[to]?.focus();
    else
      return;
    event.preventDefault();
  };
  const actions = (node: DiffNode) => node.function !== null ? functionActions(route, node.function) : partActions(toView(route, "functions"), "library", nameOf(node));
  return <>
    <table class="plain-table diff-table" ref={table}><Head where={shape === "libraries" ? "Library" : "Function"} beside={beside} /><tbody>
      {rows.map((row, i) => <tr key={row.index} data-node={row.index} data-delta={row.node.size_delta}
        onContextMenu={(event) => (event.preventDefault(), setMenu({ node: row.node, x: event.clientX, y: event.clientY }))}>
        <Numbers row={row.node} />
        <td class="wide"><div class="branch">
          <span class="indent" aria-hidden="true">{"\u2502 ".repeat(Math.min(row.depth, 40))}</span>
          <button type="button" class="node" title={plain(nameOf(row.node))} aria-expanded={row.children ? open.has(row.index) : undefined} aria-haspopup={row.children ? undefined : "menu"}
            onKeyDown={(event) => key(event, row, i)} onClick={(event) => row.children ? toggle(row.index) : setMenu({ node: row.node, ...under(event) })}>
            <span class="twist" aria-hidden="true">{row.children ? (open.has(row.index) ? "\u25be" : "\u25b8") : "\u00b7"}</span>
            <Sign row={row.node} />{name(shortName(nameOf(row.node)), nameOf(row.node))}
          </button></div></td>
        {beside && <Beside route={route} node={row.node} shape={shape} />}
      </tr>)}
    </tbody></table>
    {rows.length >= ROWS && <p class="faint">Only the first {count(ROWS)} rows are shown; close some of them.</p>}
    {menu && <Menu x={menu.x} y={menu.y} title={nameOf(menu.node)} items={actions(menu.node)} close={() => setMenu(undefined)} />}
  </>;
}

// ---- stacks --------------------------------------------------------------------------------------------------------

interface DiffStack {
  base: DiffSide; now: DiffSide; size_delta: number; count_delta: number; backtrace_id: number; only_in_base: boolean; backtrace: Frame[];
}

function Stacks({ route, table }: { route: Route; table: { current: HTMLTableElement | null } }) {
  const path = diffQuestion(route), answer = useAnswer<{ stacks: DiffStack[]; total_count: number }>(path);
  // The numbers of stacks that are only in another trace are those of that trace.
  const to = (row: DiffStack): Route | undefined => row.only_in_base && route.parameters.has("base") ? undefined : changed(toView(route, "stacks"), { at: undefined, "ui.stack": String(row.backtrace_id) });
  const link = (row: DiffStack) => {
    const target = to(row), text = plain(shortStack(row.backtrace));
    return target ? <a href={address(target)} title={text}>{text}</a> : <span title={text}>{text}</span>;
  };
  return (
    <Pane answer={answer} path={path} empty={(data) => data.stacks.length ? undefined : <p class="empty">There is no difference.</p>}>
      {(data) => <>
        <table class="plain-table diff-table" ref={table}><Head where="Stack, innermost function first" /><tbody>
          {data.stacks.map((row, i) => <tr key={i} data-delta={row.size_delta}><Numbers row={row} /><td class="wide"><Sign row={row} />{link(row)}</td></tr>)}
        </tbody></table>
        {data.total_count > data.stacks.length && <p class="faint">{counted(data.total_count - data.stacks.length, "more stacks")} not shown.</p>}
      </>}
    </Pane>
  );
}
