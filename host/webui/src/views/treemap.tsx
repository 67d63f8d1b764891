// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory as areas: libraries, in them functions, in these the lines that requested it. The table below has the same numbers.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { colourOf, isDark } from "../canvas/colours";
import { fitted } from "../canvas/fit";
import { type Rect, squares } from "../canvas/squares";
import { useAnswer } from "../data/ask";
import type { Summary, Totals, TotalsRow } from "../data/types";
import { functionActions, linesOf, partActions, toLines } from "../parts/actions";
import { captionOf, fileOf } from "../parts/caption";
import { Look, lookedAt, Nothing } from "../parts/controls";
import { hovers, useHover } from "../parts/hover";
import { useLook } from "../parts/look";
import { Menu, type MenuItem } from "../parts/menu";
import { Pane } from "../parts/pane";
import { address, changed, go, question, type Route, toView } from "../state/route";
import { PlainTable } from "../table/plain";
import { save } from "../table/text";
import { baseName, count, counted, exactBytes, plain, share, shortName } from "../text/format";
import type { ViewProps } from "./view";

// Call sites that are asked for, rows of the table, and boxes that are drawn.
const MOST = 2000, ROWS = 1000, BOXES = 450, LABEL = 18, LEAST = 3, TARGET = 24;

export function treemapQuestion(route: Route, summary: Summary): string {
  const { events, cost, speech } = lookedAt(route, summary);
  return question(route, "totals", { by: "requester_line", cost, sort_by: `self.${cost}.${speech.unit}`, order: "dsc", count: MOST, events: events.name === "heap" ? undefined : events.name });
}

type Level = "all" | "library" | "function" | "site" | "rest";

const PARTS: Partial<Record<Level, string>> = { all: "libraries", library: "functions", function: "lines" };

interface Part { level: Level; key: string; name: string; library: string; bytes: number; count: number; parts: Part[]; row?: TotalsRow }

function part(level: Level, key: string, name: string, library: string): Part {
  return { level, key, name, library, bytes: 0, count: 0, parts: [] };
}

// Keys tell what has no name from what is called so.
const keyOf = (name: string | null | undefined): string => name ? "=" + name : "-";

function partsOf(data: Totals, cost: keyof Totals["sum"], unit: "bytes" | "count"): Part {
  const all = part("all", "", "everything", ""), known = new Map<string, Part>();
  const within = (outer: Part, level: Level, key: string, name: string, library: string): Part => {
    const id = `${outer.level}\n${outer.library}\n${outer.key}\n${key}`;
    let one = known.get(id);
    if (!one)
      known.set(id, one = part(level, key, name, library)), outer.parts.push(one);
    return one;
  };
  for (const row of data.rows) {
    const [bytes, blocks] = row.self[cost] ?? [0, 0];
    if (!(unit === "bytes" ? bytes : blocks))
      continue;
    const library = row.library ?? "";
    const inLibrary = within(all, "library", keyOf(library), library || "no library", library), inFunction = within(inLibrary, "function", keyOf(row.key), row.key || "no function", library);
    const site = part("site", `${row.source ?? ""}:${row.line ?? 0}`, row.source ? `${baseName(row.source)}:${row.line}` : "line unknown", library);
    site.row = row;
    inFunction.parts.push(site);
    for (const one of [all, inLibrary, inFunction, site])
      one.bytes += bytes, one.count += blocks;
  }
  const [bytes, blocks] = data.sum[cost] ?? [0, 0];
  const rest = part("rest", "rest", "smaller call sites, and blocks without a stack", "");
  rest.bytes = bytes - all.bytes;
  rest.count = blocks - all.count;
  if (unit === "bytes" ? rest.bytes : rest.count)
    all.parts.push(rest), all.bytes = bytes, all.count = blocks;
  const sort = (one: Part): void => {
    one.parts.sort((a, b) => b[unit] - a[unit]);
    one.parts.forEach(sort);
  };
  sort(all);
  return all;
}

interface Box extends Rect { of: Part; depth: number }

function boxesOf(top: Part, unit: "bytes" | "count", room: Rect): Box[] {
  const boxes: Box[] = [];
  let level: { of: Part; room: Rect }[] = [{ of: top, room }];
  for (let depth = 1; level.length && boxes.length < BOXES; depth++) {
    const next: typeof level = [];
    for (const { of, room: inner } of level) {
      const made = squares(of.parts.map((one) => one[unit]), inner);
      of.parts.forEach((one, i) => {
        const at = made[i]!;
        if (at.width < LEAST || at.height < LEAST || boxes.length >= BOXES)
          return;
        boxes.push({ ...at, of: one, depth });
        if (one.parts.length && at.height > LABEL + 8 && at.width > 16)
          next.push({ of: one, room: { x: at.x + 2, y: at.y + LABEL, width: at.width - 4, height: at.height - LABEL - 2 } });
      });
    }
    level = next;
  }
  return boxes;
}

// Where a click on a part leads.
function insideOf(route: Route, one: Part): Route | undefined {
  if (one.level === "library")
    return changed(route, { "ui.library": one.key, "ui.function": undefined });
  if (one.level === "function")
    return changed(route, { "ui.library": keyOf(one.library), "ui.function": one.key });
  return one.row?.source ? toLines(route, { file: one.row.source, line: one.row.line }) : one.row ? toView(route, "functions", { function: one.row.key }) : undefined;
}

function actionsOf(route: Route, one: Part): MenuItem[] {
  if (one.level === "library" && one.library)
    return partActions(route, "library", one.library);
  return one.level === "function" ? functionActions(route, one.name) : one.row ? [...functionActions(route, one.row.key), ...linesOf(route, one.row.source ? { file: one.row.source, line: one.row.line } : undefined)] : [];
}

const shown = (one: Part): string => one.level === "function" ? shortName(one.name) : plain(one.name);

export function TreemapView({ route, summary }: ViewProps) {
  const { cost, speech } = lookedAt(route, summary);
  const path = treemapQuestion(route, summary);
  const answer = useAnswer<Totals>(path);
  const all = useMemo(() => answer.data && partsOf(answer.data, cost, speech.unit), [answer.data, cost, speech.unit]);
  const library = all?.parts.find((one) => one.level === "library" && one.key === route.parameters.get("ui.library"));
  const inner = library?.parts.find((one) => one.key === route.parameters.get("ui.function")), top = inner ?? library ?? all;
  const way = [all, library, inner].filter((one): one is Part => !!one);
  const [menu, setMenu] = useState<{ of: Part; x: number; y: number } | undefined>();
  const value = (one: Part): number => one[speech.unit];
  const exactly = (one: Part): string => speech.thing === "blocks" ? `${exactBytes(one.bytes)} in ${counted(one.count, "blocks")}` : speech.value(value(one));
  return (
    <>
      <div class="bar"><Look route={route} summary={summary} /></div>
      <Pane answer={answer} path={path} empty={(data) => data.sum[cost]?.[0] || data.sum[cost]?.[1] ? undefined : <Nothing route={route} summary={summary} />}>
        {() => all && top && <div class="scroll treemap-pane">
          <nav class="crumbs" aria-label="Looked into">{way.map((one, i) => <span key={one.level}>{i ? " \u203a " : ""}
            <a aria-current={one === top ? "true" : undefined} href={address(one.level === "all" ? changed(route, { "ui.library": undefined, "ui.function": undefined }) : insideOf(route, one)!)}>{shown(one)}</a></span>)}</nav>
          <p class="total" data-bytes={top === all ? all.bytes : undefined} data-part={top.bytes} data-blocks={top.count}><b>{speech.value(value(top))}</b>{top !== all && <>, {share(value(top), value(all))} of everything</>}; {exactly(top)}</p>
          <Boxes route={route} top={top} unit={speech.unit} caption={captionOf(route, summary)} said={(one) => `${shown(one)}: ${speech.value(value(one))}, ${share(value(one), value(all))}`}
            onMenu={(of, x, y) => actionsOf(route, of).length && setMenu({ of, x, y })} />
          {top.parts.length > ROWS && <p class="note">These are the {count(ROWS)} {PARTS[top.level]} with the most, of {count(top.parts.length)}.</p>}
          {top !== all && answer.data!.total_count > answer.data!.rows.length && <p class="note">Only the {count(answer.data!.rows.length)} lines that requested the most are added up, of {count(answer.data!.total_count)}.</p>}
          <PlainTable<Part> route={route} label="The boxes as a table" id="treemap" rows={top.parts.slice(0, ROWS)} keyOf={(one) => one.level + one.key} data={(one) => ({ "data-of": one.level, "data-size": one.bytes, "data-count": one.count })} columns={[
            { name: top === all ? "Library" : top.level === "library" ? "Function" : "Line", of: (one) => one.name, wide: true,
              cell: (one) => { const to = insideOf(route, one); return to ? <a href={address(to)} title={plain(one.name)}>{shown(one)}</a> : shown(one); } },
            { name: "Requested", number: true, of: value, cell: (one) => <span title={exactly(one)}>{speech.value(value(one))}</span> },
            { name: "Share", number: true, title: "of everything", of: value, cell: (one) => share(value(one), value(all)) },
            { name: speech.unit === "bytes" ? (speech.thing === "blocks" ? "Blocks" : "Samples") : "Size", number: true, of: (one) => speech.unit === "bytes" ? one.count : one.bytes, cell: (one) => speech.unit === "bytes" ? count(one.count) : <span title={exactBytes(one.bytes)}>{exactBytes(one.bytes)}</span> },
          ]} />
        </div>}
      </Pane>
      {menu && <Menu x={menu.x} y={menu.y} title={menu.of.name} items={actionsOf(route, menu.of)} close={() => setMenu(undefined)} />}
    </>
  );
}

interface BoxesProps { route: Route; top: Part; unit: "bytes" | "count"; caption: string; said: (one: Part) => string; onMenu: (one: Part, x: number, y: number) => void }

function Boxes({ route, top, unit, caption, said, onMenu }: BoxesProps) {
  const pane = useRef<HTMLDivElement>(null), picture = useRef<SVGSVGElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLook();
  const hovered = useHover(), dark = isDark();
  useLayoutEffect(() => setSize({ width: pane.current!.clientWidth, height: pane.current!.clientHeight }), []);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setSize({ width: Math.floor(entry!.contentRect.width), height: Math.floor(entry!.contentRect.height) }));
    watcher.observe(pane.current!);
    return () => watcher.disconnect();
  }, []);
  const boxes = useMemo(() => size.width ? boxesOf(top, unit, { x: 0, y: 0, ...size }) : [], [top, unit, size.width, size.height]);
  // A click anywhere in a box leads into the outermost one.
  const drawn = (box: Box) => {
    const wide = Math.max(1, box.width - 1), tall = Math.max(1, box.height - 1), function_ = box.of.level === "function" ? box.of.name : box.of.row?.key;
    return <svg key={`${box.depth} ${box.of.library} ${box.of.key} ${box.x} ${box.y}`} x={box.x} y={box.y} width={wide} height={tall} data-level={box.of.level} {...hovers(function_)}>
      <title>{said(box.of)}</title>
      <rect width="100%" height="100%" class={box.of.level === "rest" ? "rest" : function_ && function_ === hovered ? "pointed" : ""} fill={box.of.level === "rest" ? undefined : colourOf(box.of.library, dark)} />
      {wide > 34 && tall > 14 && <text x="4" y="13">{fitted(shown(box.of), wide - 8)}</text>}
    </svg>;
  };
  const outer = boxes.filter((box) => box.depth === 1);
  const inside = (box: Box): Box[] => boxes.filter((one) => one.depth > 1 && one.x >= box.x && one.y >= box.y && one.x + one.width <= box.x + box.width + 0.01 && one.y + one.height <= box.y + box.height + 0.01);
  const menuOf = (box: Box) => (event: MouseEvent | KeyboardEvent): void => {
    if (event instanceof KeyboardEvent && event.key !== ".")
      return;
    const at = (event.currentTarget as Element).getBoundingClientRect();
    event.preventDefault();
    event.stopPropagation();
    onMenu(box.of, "clientX" in event ? event.clientX : at.left + 20, "clientY" in event ? event.clientY : at.top + 20);
  };
  return (
    <figure class="treemap">
      <div class="treemap-room" ref={pane}>
        <svg ref={picture} width={size.width} height={size.height} viewBox={size.width ? `0 0 ${size.width} ${size.height}` : undefined} role="group" aria-label={`${shown(top)} as areas`} data-boxes={boxes.length} data-ready={size.width}>
          {outer.map((box) => {
            const to = insideOf(route, box.of), one = drawn(box);
            return <g key={box.of.key} class={to && "way"} onClick={(event) => to && !(event.target as Element).closest("a") && go(to)} onContextMenu={menuOf(box)}>
              {to && box.width >= TARGET && box.height >= TARGET ? <a href={address(to)} aria-label={said(box.of)} onKeyDown={menuOf(box)}>{one}</a> : one}
              {inside(box).map(drawn)}</g>;
          })}
        </svg>
      </div>
      <figcaption class="faint">{boxes.length < BOXES ? "" : `the ${count(boxes.length)} largest boxes; look into one to see more `}<button type="button" title={caption}
        onClick={() => picture.current && save(fileOf("treemap " + caption, ".svg"), "image/svg+xml", svgOf(picture.current, caption))}>Save SVG</button></figcaption>
    </figure>
  );
}

// The picture as a file: without links, with its colours and its caption.
function svgOf(picture: SVGSVGElement, caption: string): string {
  const one = picture.cloneNode(true) as SVGSVGElement, style = getComputedStyle(document.documentElement);
  one.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  for (const link of one.querySelectorAll("a"))
    link.removeAttribute("href");
  for (const text of one.querySelectorAll("text"))
    text.setAttribute("font-size", "12"), text.setAttribute("fill", style.getPropertyValue("--box-text").trim());
  for (const rest of one.querySelectorAll(".rest"))
    rest.setAttribute("fill", style.getPropertyValue("--fill").trim());
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = caption;
  one.prepend(title);
  return new XMLSerializer().serializeToString(one);
}
