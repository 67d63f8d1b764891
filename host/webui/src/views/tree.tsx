// SPDX-License-Identifier: MIT OR Apache-2.0
// The call tree as a table: the same numbers as the flame graph, for keyboards and screen readers.
import { useMemo, useRef, useState } from "preact/hooks";
import { findHits, type Hits, libraryOf, type Model, nameOf, nodeAt, pathOf, readPath, selfOf, sourceOf, valueOf } from "../canvas/model";
import { nodeActions } from "../parts/actions";
import { Crumbs } from "../parts/crumbs";
import { Choice, Look, lookedAt, Nothing, StackSwitches, Transforms } from "../parts/controls";
import { hovers, useHover } from "../parts/hover";
import { Menu, type MenuItem, namesAlone, under } from "../parts/menu";
import { name } from "../parts/name";
import { Pane } from "../parts/pane";
import { address, changed, go } from "../state/route";
import { baseName, count, exactBytes, plain, share, shortName } from "../text/format";
import { saveTable } from "../table/text";
import { Found } from "./flame";
import { useTree } from "./tree_answer";
import type { ViewProps } from "./view";

const MOST_ROWS = 1500, OPENED = 100;

// Opens the largest child, as long as it has most of its parent's memory.
function openedAtFirst(model: Model, root: number): Set<string> {
  const open = new Set<string>([pathOf(model, root).join(".")]);
  let node = root;
  while (model.children[node]) {
    const child = model.first[node]!;
    if (model.columns.size[child]! * 2 < model.columns.size[node]!)
      break;
    if (model.depth[child]! > OPENED)
      break;
    node = child;
    open.add(pathOf(model, node).join("."));
  }
  open.add(pathOf(model, node).join("."));
  return open;
}

// Nodes that match, and those that lead to them.
function leadingTo(model: Model, hits: Hits): Uint8Array {
  const leading = hits.is.slice();
  for (let node = model.count - 1; node > 0; node--)
    if (leading[node])
      leading[model.columns.parent[node]!] = 1;
  return leading;
}

// With a search, nodes that are not open show what leads to matches.
function rowsOf(model: Model, open: Set<string>, root: number, leading: Uint8Array | undefined): number[] {
  const rows: number[] = [], stack = [root];
  while (stack.length && rows.length < MOST_ROWS) {
    const node = stack.pop()!, all = open.has(pathOf(model, node).join("."));
    rows.push(node);
    for (let i = model.children[node]! - 1; i >= 0; i--)
      if (all || leading?.[model.first[node]! + i])
        stack.push(model.first[node]! + i);
  }
  return rows;
}

export function TreeView({ route, summary }: ViewProps) {
  const { answer, path, model, other } = useTree(route, summary, 10000);
  const zoom = readPath(route.parameters.get("ui.zoom")), root = model ? nodeAt(model, zoom) : 0;
  const { speech } = lookedAt(route, summary);
  const inverted = route.parameters.get("ui.inverted") === "1";
  // Nodes are numbers of the tree that was drawn; in another tree they are others.
  const [opened, setMenu] = useState<{ of: Model; node: number; x: number; y: number } | undefined>(), menu = opened?.of === model ? opened : undefined;
  const asked = route.parameters.get("ui.open");
  const search = route.parameters.get("ui.search") ?? "";
  const hits = useMemo(() => model && findHits(model, search), [model, search]);
  const leading = useMemo(() => model && hits && leadingTo(model, hits), [model, hits]);
  const open = useMemo(() => asked === null ? model && (hits ? new Set<string>() : openedAtFirst(model, root)) : new Set(asked.split("~")), [asked, model, root, hits]);
  const rows = useMemo(() => model && open && rowsOf(model, open, root, leading), [model, open, root, leading]);
  const exactly = (size: number): string | undefined => speech.thing === "blocks" ? exactBytes(size) : undefined;
  const hovered = useHover();
  const table = useRef<HTMLTableElement>(null);
  const actions = (node: number): MenuItem[] => other ? namesAlone(nodeActions(route)(model!, node)) : nodeActions(route)(model!, node);
  const toggle = (node: number): void => {
    if (other)
      return;
    const after = new Set(open), key = pathOf(model!, node).join(".");
    if (!after.delete(key))
      after.add(key);
    go(changed(route, { "ui.open": [...after].join("~") || "-" }), true);
  };
  const openBelow = (node: number): void => {
    if (other)
      return;
    const after = new Set(open), all = [node];
    for (let i = 0; i < all.length && i < MOST_ROWS; i++)
      if (model!.children[all[i]!]) {
        after.add(pathOf(model!, all[i]!).join("."));
        for (let child = 0; child < model!.children[all[i]!]!; child++)
          all.push(model!.first[all[i]!]! + child);
      }
    go(changed(route, { "ui.open": [...after].join("~") }), true);
  };
  const key = (event: KeyboardEvent, node: number, i: number): void => {
    const is = open!.has(pathOf(model!, node).join("."));
    let to = i;
    if (event.key === "ArrowDown")
      to = i + 1;
    else if (event.key === "ArrowUp")
      to = i - 1;
    else if ((event.key === "ArrowRight" && !is && model!.children[node]) || (event.key === "ArrowLeft" && is))
      toggle(node);
    else if (event.key === "ArrowLeft")
      to = rows!.indexOf(model!.columns.parent[node]!);
    else if (event.key === "." && node)
      setMenu({ of: model!, node, ...under(event) });
    else if (event.key === "*")
      openBelow(node);
    else {
      const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions(node).find((one) => one.key === event.key);
      if (!action)
        return;
      action.run();
    }
    event.preventDefault();
    event.stopPropagation();
    table.current?.querySelectorAll<HTMLElement>("tbody button.node")[to]?.focus();
  };
  return (
    <>
      <div class="bar">
        <Look route={route} summary={summary} />
        <Choice label="Direction" now={inverted ? "1" : "0"} to={(value) => address(changed(route, { "ui.inverted": value === "1" ? value : undefined, "ui.open": undefined }))}
          choices={[{ value: "0", name: "Callers first" }, { value: "1", name: "Allocators first" }]} />
        <StackSwitches route={route} summary={summary} />
        <input type="search" class="search" placeholder="Search: name, /regex/i, lib:, file:" aria-label="Search in the tree" value={search}
          onInput={(event) => go(changed(route, { "ui.search": event.currentTarget.value || undefined, "ui.open": undefined }), true)}
          onKeyDown={(event) => {
            if (event.key === "Enter")
              event.preventDefault(), table.current?.querySelector<HTMLElement>("tr.hit button.node")?.focus();
          }} />
        <Found route={route} summary={summary} search={search} />
        <button type="button" title="the rows that are shown" onClick={() => table.current && saveTable(table.current, "call-tree.csv")}>Save CSV</button>
      </div>
      <Transforms route={route} />
      <Pane answer={answer} path={path} empty={(data) => data.size[0] || data.count[0] ? undefined : <Nothing route={route} summary={summary} />}>
        {() => model && rows && <div class="scroll">
          <Crumbs model={model} zoom={zoom} to={(to) => address(changed(route, { "ui.zoom": to.join(".") || undefined, "ui.open": undefined }))} />
          {hits && <p class="hits" role="status" data-hits={hits.count} data-sum={hits.bytes}>{hits.count ? <>{hits.count === 1 ? "1 row matches" : `${count(hits.count)} rows match`} (Enter: the first); in total {speech.value(speech.unit === "bytes" ? hits.bytes : hits.blocks)},{" "}
            <span class="number">{share(speech.unit === "bytes" ? hits.bytes : hits.blocks, valueOf(model, 0, speech.unit))}</span></> : "no row matches"}</p>}
          <table class="plain-table" ref={table} data-bytes={model.columns.size[0]} data-count={model.columns.count[0]}>
            <thead><tr><th class="number" title="the function and what it calls">With callees</th><th class="number" title="of all matching blocks">Share</th><th class="number">Itself</th>
              <th class="number">{speech.unit === "count" ? "Bytes" : speech.thing === "blocks" ? "Blocks" : "Samples"}</th><th class="wide">Function</th><th>Library</th></tr></thead>
            <tbody>
              {rows.map((node, i) => {
                const depth = model.depth[node]! - model.depth[root]!, is = open!.has(pathOf(model, node).join(".")), whole = valueOf(model, 0, speech.unit);
                return (
                  <tr key={node} class={(node && nameOf(model, node) === hovered ? "hovered" : "") + (hits?.is[node] ? " hit" : "")} {...hovers(node ? nameOf(model, node) : undefined)} onContextMenu={(event) => node && (event.preventDefault(), setMenu({ of: model, node, x: event.clientX, y: event.clientY }))}>
                    <td class="number" title={exactly(model.columns.size[node]!)}>{speech.value(valueOf(model, node, speech.unit))}</td>
                    <td class="number">{share(valueOf(model, node, speech.unit), whole)}</td>
                    <td class="number" title={exactly(model.columns.self_size[node]!)}>{selfOf(model, node, speech.unit) ? speech.value(selfOf(model, node, speech.unit)) : ""}</td>
                    <td class="number">{count(speech.unit === "count" ? model.columns.size[node]! : model.columns.count[node]!)}</td>
                    <td class="wide"><div class="branch">
                      <span class="indent" aria-hidden="true">{"\u2502 ".repeat(Math.min(depth, 40))}</span>
                      <button type="button" class="node" title={plain(nameOf(model, node)) + (sourceOf(model, node) && "\n" + plain(sourceOf(model, node)))}
                        aria-expanded={model.children[node] ? is : undefined} aria-haspopup={model.children[node] || !node ? undefined : "menu"} onKeyDown={(event) => key(event, node, i)}
                        onClick={(event) => model.children[node] ? toggle(node) : node && setMenu({ of: model, node, ...under(event) })}>
                        <span class="twist" aria-hidden="true">{model.children[node] ? (is ? "\u25be" : "\u25b8") : "\u00b7"}</span>{name(shortName(nameOf(model, node)), nameOf(model, node) + (sourceOf(model, node) && " " + sourceOf(model, node)))}
                      </button></div>
                    </td>
                    <td title={plain(libraryOf(model, node))}>{baseName(libraryOf(model, node))}</td>
                  </tr>);
              })}
            </tbody>
          </table>
          {rows.length >= MOST_ROWS && <p class="faint">Only the first {count(MOST_ROWS)} rows are shown; close some of them.</p>}
        </div>}
      </Pane>
      {menu && model && <Menu x={menu.x} y={menu.y} title={nameOf(model, menu.node)} items={actions(menu.node)} close={() => setMenu(undefined)} />}
    </>
  );
}
