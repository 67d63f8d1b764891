// SPDX-License-Identifier: MIT OR Apache-2.0
// The calls from the root to the one that is zoomed in, as links.
import { type Model, nameOf, nodeAt, pathOf } from "../canvas/model";
import { shortName } from "../text/format";

export function Crumbs({ model, zoom, to }: { model: Model; zoom: number[]; to: (path: number[]) => string }) {
  if (!zoom.length)
    return null;
  const nodes: number[] = [];
  for (let at = nodeAt(model, zoom); at >= 0; at = model.columns.parent[at]!)
    nodes.unshift(at);
  const shown = nodes.length > 6 ? [nodes[0]!, ...nodes.slice(-4)] : nodes;
  return (
    <nav class="crumbs" aria-label="Zoomed in">
      {shown.map((node, i) => <span key={node}>{i ? " \u203a " : ""}{i === 1 && shown.length < nodes.length ? "\u2026 \u203a " : ""}
        <a href={to(pathOf(model, node))} aria-current={i === shown.length - 1 ? "true" : undefined}>{shortName(nameOf(model, node))}</a></span>)}
    </nav>
  );
}
