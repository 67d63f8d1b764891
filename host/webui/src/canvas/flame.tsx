// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph: a canvas as high as its pane, which scrolls inside; keys and the mouse do the same.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { high } from "../parts/high";
import { hover, useHover } from "../parts/hover";
import { useLook } from "../parts/look";
import { Menu, type MenuItem, namesAlone } from "../parts/menu";
import { baseName, bytes, count, counted, exactBytes, plain, share } from "../text/format";
import { colourOf, isDark, pixelRatio, theme } from "./colours";
import { findHits, leftOutOf, libraryOf, type Model, nameOf, nextHit, nodeAt, pathOf, selfOf, sourceOf, type Unit, valueOf } from "./model";
import { type Box, boxAt, levels, type Looks, paint, type Picture, ROW } from "./paint";

const NARROW = "(max-width: 760px)", LEAST_HIGH = 220;

export interface Speech { unit: Unit; value: (value: number) => string; thing: string }

interface Props {
  model: Model;
  speech: Speech;
  whole: number; // the total to which shares refer
  zoom: number[];
  search: string;
  flame: boolean;
  label: string;
  chosen?: number[];  // where the address keeps it; else the picture does
  step?: number;      // to the next place that matches, or back where it is less than before
  onZoom: (path: number[], chosen?: number[]) => void;
  onChoose?: (path: number[]) => void;
  actions: (model: Model, node: number) => MenuItem[];
  looks?: Looks | undefined;
  other: boolean;     // another tree is asked for: places in this one mean nothing there
}

export function Flame({ model, speech, whole, zoom, search, flame, label, chosen, step: place, onZoom, onChoose, actions: all, looks, other }: Props) {
  const pane = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  // Boxes belong to the tree that was drawn; another tree has other boxes.
  const [pointed, setOver] = useState<{ of: Model; box: Box; x: number; y: number } | undefined>();
  const [own, setOwn] = useState({ of: model, node: -1 });
  const selected = chosen ? (chosen.length ? nodeAt(model, chosen) : -1) : own.of === model ? own.node : -1;
  const hovered = useHover();
  const [opened, setMenu] = useState<{ of: Model; node: number; x: number; y: number } | undefined>();
  const over = pointed?.of === model ? pointed : undefined, menu = opened?.of === model ? opened : undefined;
  useLook();
  const root = nodeAt(model, zoom);
  const hits = useMemo(() => findHits(model, search), [model, search]);
  const height = levels({ model, zoom: root }) * ROW;

  const actions: Props["actions"] = (of, node) => other ? namesAlone(all(of, node)) : all(of, node);
  const select = (node: number): void => other ? undefined : onChoose ? onChoose(pathOf(model, node)) : setOwn({ of: model, node });
  const marked = useMemo(() => hovered === undefined ? -1 : model.columns.strings.indexOf(hovered), [hovered, model]);

  const picture = (): Picture => ({
    model, looks, unit: speech.unit, zoom: root, ...size, scroll: pane.current?.scrollTop ?? 0, flame, hits, selected, marked,
    over: over && !over.box.leftOut ? over.box.node : -1,
  });

  // The first picture is drawn, not empty.
  useLayoutEffect(() => setSize({ width: pane.current!.clientWidth, height: pane.current!.clientHeight }), []);

  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => {
      const box = entry!.contentRect;
      setSize({ width: Math.floor(box.width), height: Math.floor(box.height) });
    });
    watcher.observe(pane.current!);
    return () => watcher.disconnect();
  }, []);

  useEffect(() => () => hover(undefined), []);

  // On a narrow screen the page scrolls. A flame then ends where the first screen does, so that its root is seen.
  useLayoutEffect(() => {
    const whole = pane.current!.parentElement!, page = whole.closest(".frame");
    const begin = whole.getBoundingClientRect().top + (page?.scrollTop ?? 0);
    whole.style.height = flame && matchMedia(NARROW).matches ? Math.max(LEAST_HIGH, innerHeight - begin) + "px" : "";
  }, [flame, size.width, zoom.length]);

  // Steps through the matching boxes, in the order of the picture.
  const placed = useRef(place);
  useLayoutEffect(() => {
    if (place === placed.current || other)
      return;
    const way = (place ?? 0) < (placed.current ?? 0) ? -1 : 1;
    placed.current = place;
    const to = hits && nextHit(model, hits, root, selected, way);
    if (to)
      select(to);
  }, [place, hits, other]);

  // Scrolls to the selected box.
  useLayoutEffect(() => {
    if (selected < 0 || !pane.current)
      return;
    const row = (flame ? levels({ model, zoom: root }) - 1 - model.depth[selected]! : model.depth[selected]!) * ROW;
    if (row < pane.current.scrollTop || row + ROW > pane.current.scrollTop + size.height)
      pane.current.scrollTop = row - size.height / 2;
  }, [selected, size.height]);

  // Scrolls to the zoomed box; a flame grows upwards from its root.
  useLayoutEffect(() => {
    if (pane.current)
      pane.current.scrollTop = flame ? Math.max(0, height - size.height - Math.max(0, model.depth[root]! - 4) * ROW)
                                     : Math.max(0, model.depth[root]! - 4) * ROW;
  }, [root, model, flame, size.height]);

  const draw = (): void => {
    const element = canvas.current, context = element?.getContext("2d");
    if (!element || !context || !size.width)
      return;
    const ratio = pixelRatio();
    if (element.width !== size.width * ratio || element.height !== size.height * ratio) {
      element.width = size.width * ratio;
      element.height = size.height * ratio;
      element.style.height = size.height + "px";
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const painted = paint(context, picture(), theme());
    element.dataset.boxes = String(painted.boxes);
    element.dataset.marked = String(painted.marked);
    element.dataset.ready = String(model.count);
  };
  useLayoutEffect(draw);

  const at = (event: MouseEvent): Box | undefined => {
    const box = canvas.current!.getBoundingClientRect();
    return boxAt(picture(), event.clientX - box.left, event.clientY - box.top);
  };
  const zoomTo = (node: number): void => other ? undefined : onZoom(pathOf(model, node), pathOf(model, node));

  const step = (event: KeyboardEvent): void => {
    const from = selected < 0 ? root : selected;
    const parent = model.columns.parent[from]!;
    const up = flame ? "ArrowDown" : "ArrowUp", down = flame ? "ArrowUp" : "ArrowDown";
    let to = from;
    if (event.key === up)
      to = Math.max(0, parent);
    else if (event.key === down)
      to = model.children[from] ? model.first[from]! : from;
    else if (event.key === "ArrowRight" && parent >= 0)
      to = Math.min(from + 1, model.first[parent]! + model.children[parent]! - 1);
    else if (event.key === "ArrowLeft" && parent >= 0)
      to = Math.max(from - 1, model.first[parent]!);
    else if (event.key === "Enter")
      zoomTo(from);
    else if (event.key === "Escape")
      zoom.length ? onZoom(zoom.slice(0, -1)) : onChoose?.([]);
    else if (event.key === "." || event.key === "ContextMenu") {
      const box = pane.current!.getBoundingClientRect();
      setMenu({ of: model, node: from, x: box.left + 40, y: box.top + 40 });
    } else {
      const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions(model, from).find(({ key }) => key === event.key);
      if (!action)
        return;
      action.run();
    }
    event.preventDefault();
    event.stopPropagation();
    if (event.key.startsWith("Arrow"))
      select(to);
  };

  const shown = over?.box ?? (selected >= 0 ? { node: selected, leftOut: 0 } as Box : undefined);
  return (
    <div class="flame">
      <div class="flame-pane" ref={pane} onScroll={draw} tabIndex={0} role="application" aria-label={label}
           aria-description="Arrow keys choose a function, Enter zooms, Escape goes back, a full stop opens its actions"
           onKeyDown={step}>
        <div class="flame-space" ref={high(Math.max(height, size.height))}>
          <canvas ref={canvas}
                  onMouseMove={(event) => {
                    const box = at(event);
                    setOver(box && { of: model, box, x: event.clientX, y: event.clientY });
                    hover(box && !box.leftOut && box.node ? nameOf(model, box.node) : undefined);
                  }}
                  onMouseLeave={() => (setOver(undefined), hover(undefined))}
                  onClick={(event) => {
                    const box = at(event);
                    if (box && event.altKey && box.node && !box.leftOut)
                      actions(model, box.node).find((item) => item.hides)?.run();
                    else if (box)
                      zoomTo(box.node), setOwn({ of: model, node: box.node });
                  }}
                  onContextMenu={(event) => {
                    const box = at(event);
                    event.preventDefault();
                    if (box && !box.leftOut)
                      setMenu({ of: model, node: box.node, x: event.clientX, y: event.clientY });
                  }} />
        </div>
      </div>
      <p class="said" aria-live="polite">{shown && said(model, shown, speech, whole, looks)}</p>
      {!looks && <Legend model={model} />}
      {hits && <p class="hits" role="status" data-hits={hits.count} data-sum={hits.bytes} data-at={selected}>
        {hits.count ? <>{hits.count === 1 ? "1 box matches" : `${count(hits.count)} boxes match`} (Enter: next); in total {speech.value(speech.unit === "bytes" ? hits.bytes : hits.blocks)},{" "}
          <span class="number">{share(speech.unit === "bytes" ? hits.bytes : hits.blocks, whole)}</span></> : "no box in this picture matches"}
      </p>}
      {over && <Tip model={model} box={over.box} x={over.x} y={over.y} speech={speech} whole={whole} looks={looks} />}
      {menu && <Menu x={menu.x} y={menu.y} title={nameOf(model, menu.node)} items={actions(model, menu.node)}
                     close={() => setMenu(undefined)} />}
    </div>
  );
}

// The libraries of the picture with their colours, ordered by their own cost.
function Legend({ model }: { model: Model }) {
  const most = useMemo(() => {
    const sums = new Map<number, number>();
    for (let node = 1; node < model.count; node++)
      sums.set(model.columns.library[node]!, (sums.get(model.columns.library[node]!) ?? 0) + model.columns.self_size[node]!);
    return [...sums].filter(([library]) => library >= 0).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([library]) => model.columns.strings[library]!);
  }, [model]);
  const dark = isDark(), same = new Map<string, string[]>();
  for (const library of most)
    same.set(colourOf(library, dark), [...(same.get(colourOf(library, dark)) ?? []), library]);
  return <ul class="swatches" aria-label="Colours of libraries">{[...same].map(([colour, libraries]) => <li key={colour} title={plain(libraries.join(", "))}>
    <svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill={colour} /></svg>{libraries.map(baseName).join(", ")}</li>)}
    {model.columns.left_out && <li class="faint"><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="none" stroke="currentColor" stroke-dasharray="2 2" /></svg>hatched: left out</li>}</ul>;
}

function said(model: Model, box: Box, speech: Speech, whole: number, looks: Looks | undefined): string {
  if (box.leftOut)
    return `boxes that are too small for this picture: ${speech.value(box.leftOut)}; click to zoom into ${plain(nameOf(model, box.node))}`;
  if (looks)
    return `${looks.sign(box.node)}${plain(nameOf(model, box.node))}: ${looks.facts(box.node).map((fact) => fact.join(" ")).join(", ")}`;
  const value = valueOf(model, box.node, speech.unit);
  return `${plain(nameOf(model, box.node))}: ${speech.value(value)}, ${share(value, whole)}`;
}

function Tip({ model, box, x, y, speech, whole, looks }: { model: Model; box: Box; x: number; y: number; speech: Speech; whole: number; looks: Looks | undefined }) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = tip.current!, wide = element.offsetWidth, high = element.offsetHeight;
    element.style.left = Math.max(4, Math.min(x + 14, innerWidth - wide - 8)) + "px";
    element.style.top = (y + 18 + high > innerHeight ? y - high - 10 : y + 18) + "px";
  });
  const { node } = box, parent = model.columns.parent[node]!;
  const value = valueOf(model, node, speech.unit);
  return (
    <div class="tip" ref={tip} role="tooltip">
      <strong>{box.leftOut ? "Too small for this picture" : plain(nameOf(model, node))}</strong>
      <table>
        <tbody>
          {box.leftOut ? <tr><th>left out</th><td>{speech.value(box.leftOut)}</td><td>{share(box.leftOut, whole)}</td></tr> : looks ? looks.facts(node).map(([name, text]) => <tr key={name}><th>{name}</th><td colSpan={2}>{text}</td></tr>) : <>
            <tr><th>with callees</th><td>{speech.value(value)}</td><td>{share(value, whole)}</td></tr>
            <tr><th>itself</th><td>{speech.value(selfOf(model, node, speech.unit))}</td><td>{share(selfOf(model, node, speech.unit), whole)}</td></tr>
            <tr><th>level</th><td>{model.depth[node]}</td><td /></tr>
            {parent >= 0 && <tr><th>share of its caller</th><td /><td>{share(value, valueOf(model, parent, speech.unit))}</td></tr>}
            {leftOutOf(model, node, speech.unit) > 0 &&
              <tr><th>left out of its callees</th><td>{speech.value(leftOutOf(model, node, speech.unit))}</td><td /></tr>}
            {speech.thing === "blocks" && <tr><th>exactly</th><td colSpan={2}>{exactBytes(model.columns.size[node]!)} in {counted(model.columns.count[node]!, "blocks")}</td></tr>}
            {speech.thing === "blocks" && speech.unit === "count" && <tr><th>bytes</th><td>{bytes(model.columns.size[node]!)}</td><td /></tr>}
          </>}
          {libraryOf(model, node) && <tr><th>library</th><td colSpan={2}>{baseName(libraryOf(model, node))}</td></tr>}
          {sourceOf(model, node) && <tr><th>source</th><td colSpan={2}>{plain(sourceOf(model, node))}</td></tr>}
        </tbody>
      </table>
    </div>
  );
}
