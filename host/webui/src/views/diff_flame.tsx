// SPDX-License-Identifier: MIT OR Apache-2.0
// A difference as one picture: a box is as wide as what grew and what shrank in it, added up.
import { useMemo, useState } from "preact/hooks";
import { looksOf, signed } from "../canvas/changes";
import { Flame } from "../canvas/flame";
import { makeModel, type Model, nodeAt, pathOf, readPath, stackOf, valueOf } from "../canvas/model";
import type { DiffNode, DiffTree, Summary } from "../data/types";
import { functionActions } from "../parts/actions";
import { captionOf } from "../parts/caption";
import { Crumbs } from "../parts/crumbs";
import { copy, type MenuItem } from "../parts/menu";
import { savePicture } from "../parts/picture";
import { address, changed, go, type Route } from "../state/route";
import { bytes, count, counted, share } from "../text/format";

// The nodes of the answer come in the order of their changes. Here children follow each other.
function inOrder(nodes: DiffNode[]): DiffNode[] {
  const below: number[][] = nodes.map(() => []), order = [0], parent = [-1];
  nodes.forEach((node, i) => node.parent !== null && below[node.parent]!.push(i));
  for (let at = 0; at < order.length; at++)
    for (const child of below[order[at]!]!)
      order.push(child), parent.push(at);
  return order.map((index, i) => ({ ...nodes[index]!, parent: i ? parent[i]! : null }));
}

function modelOf(nodes: DiffNode[], leftOut: boolean): Model {
  const strings: string[] = [], known = new Map<string, number>();
  const numberOf = (text: string | null): number => {
    if (text === null)
      return -1;
    if (!known.has(text))
      known.set(text, strings.push(text) - 1);
    return known.get(text)!;
  };
  const size = nodes.map((node) => node.moved_size), self = nodes.map((node) => Math.abs(node.self_delta));
  const none = nodes.map(() => -1), zero = nodes.map(() => 0);
  return makeModel({ nodes: nodes.length, left_out: leftOut, strings, parent: nodes.map((node) => node.parent ?? -1), name: nodes.map((node) => numberOf(node.function)),
    library: nodes.map((node) => numberOf(node.library)), source: none, line: zero, size, count: zero, self_size: self, self_count: zero });
}

export function DiffFlame({ route, summary, data, other }: { route: Route; summary: Summary; data: DiffTree; other: boolean }) {
  const nodes = useMemo(() => inOrder(data.nodes), [data]), model = useMemo(() => modelOf(nodes, data.left_out_nodes > 0), [nodes]);
  const looks = useMemo(() => looksOf({ now: nodes.map((node) => node.now.size), base: nodes.map((node) => node.base.size), moved: model.columns.size }, false), [nodes, model]);
  const zoom = readPath(route.parameters.get("ui.zoom")), chosen = readPath(route.parameters.get("ui.sel")), search = route.parameters.get("ui.search") ?? "";
  const [step, next] = useState(0);
  const whole = valueOf(model, 0, "bytes"), to = (place: number[]): string | undefined => place.join(".") || undefined;
  const actions = (of: Model, node: number): MenuItem[] => [
    { name: "Zoom in", key: "F", place: true, run: () => go(changed(route, { "ui.zoom": to(pathOf(of, node)) })) },
    ...(node ? functionActions(route, of.columns.strings[of.columns.name[node]!]!) : []),
    { name: "Copy the stack", group: "Copy", run: () => copy(stackOf(of, node).join("\n") + "\n") },
  ];
  const grew = nodes.reduce((sum, node) => sum + Math.max(0, node.self_delta), 0);
  return <>
    <p class="faint">The width of a box is the sum of growth and decrease in it: {bytes(whole)} in all. What shrank has {"\u25bc"} or a minus sign and is blue, what grew has {"\u25b2"} or a plus sign and is red;
      a pale box contains both. {data.left_out_nodes > 0 && `${counted(data.left_out_nodes, "smaller changes")} left out: hatched.`}</p>
    <p class="total" data-moved={whole} data-grew={grew}>
      <input type="search" class="search" placeholder="Search: name, /regex/i, lib:" aria-label="Search in the picture" value={search}
        onInput={(event) => go(changed(route, { "ui.search": event.currentTarget.value || undefined }), true)}
        onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), next((now) => now + (event.shiftKey ? -1 : 1)))} />
      {zoom.length > 0 && <> shown: {share(valueOf(model, nodeAt(model, zoom), "bytes"), whole)} of it, {signed(nodes[nodeAt(model, zoom)]!.size_delta)} </>}
      <span class="tools"><button type="button" title={captionOf(route, summary)} onClick={() => savePicture(captionOf(route, summary))}>Save PNG</button>
        <a class="button" href={address(changed(route, { "ui.shape": undefined, "ui.zoom": undefined, "ui.sel": undefined }))}>As table</a></span>
      <span class="faint"> {count(model.count - 1)} boxes</span>
    </p>
    <Crumbs model={model} zoom={zoom} to={(place) => address(changed(route, { "ui.zoom": to(place) }))} />
    <div class="with-side"><Flame model={model} speech={{ unit: "bytes", value: bytes, thing: "blocks" }} whole={whole} zoom={zoom} search={search} flame={false} looks={looks} other={other}
      label="Icicle graph of what differs" actions={actions} chosen={chosen} step={step}
      onZoom={(place, node) => go(changed(route, { "ui.zoom": to(place), "ui.sel": node && to(node) }))}
      onChoose={(node) => go(changed(route, { "ui.sel": to(node) }), true)} /></div>
  </>;
}
