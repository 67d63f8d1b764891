// SPDX-License-Identifier: MIT OR Apache-2.0
// What differs between two instants of a trace, or between two traces, as one tree or as stacks.
import { useMemo, useRef, useState } from "preact/hooks";
import { GONE, LESS, MORE, NEW } from "../canvas/changes";
import { useAnswer } from "../data/ask";
import type { DiffNode, DiffSide, DiffTree, Frame, ListRow, Summary } from "../data/types";
import { functionActions, partActions } from "../parts/actions";
import { Choice } from "../parts/controls";
import { Menu, under } from "../parts/menu";
import { name } from "../parts/name";
import { Pane } from "../parts/pane";
import { Signs } from "../parts/signs";
import { shortStack } from "../parts/stack";
import { address, changed, go, question, type Route, sidesOf, toView } from "../state/route";
import { saveTable } from "../table/text";
import { baseName, bytes, count, counted, exactBytes, filterTime, plain, shortName } from "../text/format";
import { DiffFlame } from "./diff_flame";
import type { ViewProps } from "./view";

const NODES = 5000, ROWS = 1000, OPENED = 0.05;
const SHAPES = [
  { value: "flame", name: "Flame graph", title: "one picture: the width of a box is the sum of growth and decrease in it" },
  { value: "tree", name: "Tree", title: "from callers down to callees" },
  { value: "functions", name: "Functions", title: "the functions that allocate, with their callers below" },
  { value: "libraries", name: "Libraries", title: "from libraries that call down to those that are called" },
  { value: "stacks", name: "Stacks", title: "whole stacks" },
];

function shapeOf(route: Route): string {
  return route.parameters.get("ui.shape") ?? "tree";
}

export function diffQuestion(route: Route): string {
  const sides = sidesOf(route), shape = shapeOf(route);
  return shape === "stacks" ? question(route, "diff", { ...sides, sort_by: "size_change", order: "dsc", count: 50 })
    : question(route, "diff_tree", { ...sides, nodes: NODES, by: shape === "libraries" ? "library" : undefined, inverted: shape === "functions" ? "true" : undefined });
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
        {shape !== "flame" && <p class="faint">A minus sign means that less is live after than before, a plus sign that more is live.</p>}
        {shape === "stacks" ? <Stacks route={route} table={table} /> : <Tree route={route} summary={summary} shape={shape} table={table} />}
      </div>
    </>
  );
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
  const instant = (label: string, parameter: string, now: string) => <label>{label} <input size={8} value={now} list="instants"
    onChange={(event) => go(to({ [parameter]: event.currentTarget.value.trim() || undefined }))} /></label>;
  const pair = (value: string): string => {
    const [base_at, at] = value.split(" ");
    return address(to({ base_at, at }));
  };
  return (
    <div class="bar">
      {others.length > 0 && <select aria-label="Trace before" value={sides.base ?? ""} onChange={(event) => go(to({ base: event.currentTarget.value || undefined, base_at: undefined }))}>
        <option value="">Before: this trace</option>
        {others.map((row) => <option key={row.id} value={row.id}>Before: {baseName(row.executable) || baseName(row.path)} ({row.pid})</option>)}
      </select>}
      {instant("Before: at", "base_at", sides.base_at)}
      {instant("After: at", "at", sides.at)}
      <datalist id="instants">{["0%", "25%", "50%", "75%", "100%", "peak"].map((one) => <option key={one} value={one} />)}</datalist>
      {!sides.base && <>
        <button type="button" onClick={() => go(to({ base_at: sides.at, at: sides.base_at }))}>Swap</button>
        <Choice label="Instants" now={`${sides.base_at} ${sides.at}`} to={pair} choices={presets(summary)} />
      </>}
    </div>
  );
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

function Head({ where, library }: { where: string; library?: boolean }) {
  return <thead><tr><th class="number">Change</th><th class="number">Before {"\u2192"} after</th><th class="number">Blocks</th><th class="wide">{where}</th>{library && <th>Library</th>}</tr></thead>;
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
        {shape === "flame" ? <DiffFlame route={route} summary={summary} data={data} /> : <Branches route={route} shape={shape} table={table} nodes={data.nodes} />}
        {shape !== "flame" && data.left_out_nodes > 0 && <p class="faint">{counted(data.left_out_nodes, "smaller changes")} not shown.</p>}
      </>}
    </Pane>
  );
}

function Branches({ route, shape, table, nodes }: TreeProps & { nodes: DiffNode[] }) {
  const [menu, setMenu] = useState<{ node: DiffNode; x: number; y: number } | undefined>();
  const asked = route.parameters.get("ui.open");
  const open = useMemo(() => asked === null ? openedAtFirst(nodes, shape) : new Set(asked.split("~").map(Number)), [nodes, asked, shape]);
  const below = useMemo(() => childrenOf(nodes), [nodes]);
  const rows = useMemo(() => rowsOf(nodes, below, open), [nodes, below, open]);
  const toggle = (index: number): void => {
    const after = new Set(open);
    if (!after.delete(index))
      after.add(index);
    go(changed(route, { "ui.open": [...after].join("~") || "0" }), true);
  };
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
    <table class="plain-table diff-table" ref={table}><Head where={shape === "libraries" ? "Library" : "Function"} library={shape !== "libraries"} /><tbody>
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
        {shape !== "libraries" && <td title={plain(row.node.library ?? "")}>{plain(row.node.library ?? "")}</td>}
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
