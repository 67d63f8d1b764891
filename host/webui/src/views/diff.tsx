// SPDX-License-Identifier: MIT OR Apache-2.0
// What differs between two instants of a trace, or between two traces, as one tree or as stacks.
import { useAnswer } from "../data/ask";
import type { DiffNode, DiffTree, ListRow } from "../data/types";
import { Choice } from "../parts/controls";
import { name } from "../parts/name";
import { Pane } from "../parts/pane";
import { address, changed, go, question, type Route } from "../state/route";
import { baseName, bytes, count, counted, exactBytes, plain, shortName } from "../text/format";
import type { ViewProps } from "./view";

const NODES = 5000, ROWS = 500;
const MORE = "\u25b2", LESS = "\u25bc", NEW = "\u2726", GONE = "\u2715";
const SHAPES = [
  { value: "tree", name: "Tree", title: "from callers down to callees" },
  { value: "functions", name: "Functions", title: "the functions that allocate, with their callers below" },
  { value: "libraries", name: "Libraries", title: "from libraries that call down to those that are called" },
  { value: "stacks", name: "Stacks", title: "whole stacks" },
];

interface Sides { base: string | undefined; base_at: string; at: string }

function sidesOf(route: Route): Sides {
  const base = route.parameters.get("base") ?? undefined;
  return { base, base_at: route.parameters.get("base_at") ?? (base ? "100%" : "0%"), at: route.parameters.get("at") ?? "100%" };
}

export function DiffView({ route }: ViewProps) {
  const sides = sidesOf(route), shape = route.parameters.get("ui.shape") ?? "tree";
  return (
    <>
      <Setup route={route} sides={sides} />
      <div class="bar"><Choice label="Shown as" now={shape} to={(value) => address(changed(route, { "ui.shape": value === "tree" ? undefined : value }))} choices={SHAPES} />
        <span class="faint legend-line"><span class="less">{LESS} less</span> <span class="more">{MORE} more</span> {NEW} new {GONE} gone</span></div>
      <div class="scroll">{shape === "stacks" ? <Stacks route={route} sides={sides} /> : <Tree route={route} sides={sides} shape={shape} />}</div>
    </>
  );
}

function Setup({ route, sides }: { route: Route; sides: Sides }) {
  const list = useAnswer<ListRow[]>("/list");
  const others = list.data?.filter((row) => row.id && row.id !== route.trace) ?? [];
  const set = (changes: Record<string, string | undefined>): void => go(changed(route, changes));
  const instant = (label: string, parameter: string, now: string) => <label>{label} <input size={8} value={now} aria-label={label} list="instants"
    onChange={(event) => set({ [parameter]: event.currentTarget.value.trim() || undefined })} /></label>;
  return (
    <div class="bar">
      <span>Before:</span>
      <select aria-label="Trace before" value={sides.base ?? ""} onChange={(event) => set({ base: event.currentTarget.value || undefined, base_at: undefined })}>
        <option value="">this trace</option>
        {others.map((row) => <option key={row.id} value={row.id}>{baseName(row.executable) || baseName(row.path)} ({row.pid})</option>)}
      </select>
      {instant("at", "base_at", sides.base_at)}
      <span>After: this trace</span>
      {instant("at ", "at", sides.at)}
      <datalist id="instants">{["0%", "25%", "50%", "75%", "100%", "peak"].map((one) => <option key={one} value={one} />)}</datalist>
      {!sides.base && <button type="button" onClick={() => set({ base_at: sides.at, at: sides.base_at })}>Swap</button>}
    </div>
  );
}

function Change({ size, exact }: { size: number; exact: string }) {
  return <span class={size < 0 ? "less" : size > 0 ? "more" : ""} title={exact}>{size < 0 ? LESS + " " : size > 0 ? MORE + " +" : ""}{bytes(size)}</span>;
}

function Numbers({ row }: { row: { base: { size: number; count: number }; now: { size: number; count: number }; size_delta: number; count_delta: number } }) {
  return <>
    <td class="number"><Change size={row.size_delta} exact={`${exactBytes(row.base.size)}, then ${exactBytes(row.now.size)}`} /></td>
    <td class="number">{bytes(row.base.size)} {"\u2192"} {bytes(row.now.size)}</td>
    <td class="number" title={`${counted(row.base.count, "blocks")}, then ${counted(row.now.count, "blocks")}`}>{row.count_delta > 0 ? "+" : ""}{count(row.count_delta)}</td>
  </>;
}

const HEAD = <tr><th>Change</th><th>Before {"\u2192"} after</th><th>Blocks</th><th class="wide">Where</th></tr>;

// Parents before children, the largest changes first.
function inOrder(nodes: DiffNode[]): { node: DiffNode; depth: number; index: number }[] {
  const below = new Map<number, number[]>();
  nodes.forEach((node, i) => node.parent !== null && (below.get(node.parent) ?? below.set(node.parent, []).get(node.parent)!).push(i));
  const rows: { node: DiffNode; depth: number; index: number }[] = [];
  const waiting = [...(below.get(0) ?? [])].reverse().map((index) => ({ index, depth: 0 }));
  while (waiting.length && rows.length < ROWS) {
    const { index, depth } = waiting.pop()!;
    const children = below.get(index) ?? [];
    rows.push({ node: nodes[index]!, depth, index });
    // A caller with one callee needs no level of its own.
    for (const child of [...children].reverse())
      waiting.push({ index: child, depth: depth + (children.length > 1 ? 1 : 0) });
  }
  return rows;
}

function Tree({ route, sides, shape }: { route: Route; sides: Sides; shape: string }) {
  const path = question(route, "diff_tree", { ...sides, nodes: NODES, by: shape === "libraries" ? "library" : undefined, inverted: shape === "functions" ? "true" : undefined });
  const answer = useAnswer<DiffTree>(path);
  return (
    <Pane answer={answer} path={path} empty={(data) => data.nodes.length > 1 ? undefined : <p class="empty">There is no difference.</p>}>
      {(data) => {
        const root = data.nodes[0]!, rows = inOrder(data.nodes);
        return <>
          <p data-delta={root.size_delta}>In all <Change size={root.size_delta} exact={exactBytes(root.size_delta)} />: {bytes(root.base.size)} before, {bytes(root.now.size)} after.</p>
          <table class="plain-table diff-table"><thead>{HEAD}</thead><tbody>
            {rows.map(({ node, depth, index }) => <tr key={index} data-node={index} data-delta={node.size_delta}>
              <Numbers row={node} />
              <td class="wide"><svg class="indent" width={depth * 12} height="1" aria-hidden="true" />{node.only_in_now ? NEW + " " : node.only_in_base ? GONE + " " : ""}
                {node.function === null ? plain(node.library ?? "") : name(shortName(node.function), node.function)} {node.function !== null && <span class="faint">{plain(node.library ?? "")}</span>}</td>
            </tr>)}
          </tbody></table>
          {data.nodes.length - 1 + data.left_out_nodes > rows.length && <p class="faint">{counted(data.nodes.length - 1 + data.left_out_nodes - rows.length, "smaller changes")} not shown.</p>}
        </>;
      }}
    </Pane>
  );
}

interface DiffStack {
  base: { size: number; count: number }; now: { size: number; count: number }; size_delta: number; count_delta: number;
  backtrace_id: number; only_in_base: boolean; backtrace: { function?: string; library?: string; address_s: string }[];
}

function Stacks({ route, sides }: { route: Route; sides: Sides }) {
  const path = question(route, "diff", { ...sides, sort_by: "size_change", order: "dsc", count: 50 });
  const answer = useAnswer<{ stacks: DiffStack[]; total_count: number }>(path);
  const shown = (row: DiffStack): string => [...row.backtrace].reverse().slice(0, 4).map((frame) => shortName(frame.function ?? `${frame.library ?? ""}+${frame.address_s}`)).join(" \u2039 ");
  return (
    <Pane answer={answer} path={path} empty={(data) => data.stacks.length ? undefined : <p class="empty">There is no difference.</p>}>
      {(data) => <>
        <table class="plain-table diff-table"><thead>{HEAD}</thead><tbody>
          {data.stacks.map((row, i) => <tr key={i} data-delta={row.size_delta}><Numbers row={row} /><td class="wide">{row.only_in_base ? GONE + " " : row.base.count === 0 ? NEW + " " : ""}{plain(shown(row))}</td></tr>)}
        </tbody></table>
        {data.total_count > data.stacks.length && <p class="faint">{counted(data.total_count - data.stacks.length, "more stacks")} not shown.</p>}
      </>}
    </Pane>
  );
}
