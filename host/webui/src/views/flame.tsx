// SPDX-License-Identifier: MIT OR Apache-2.0
import { Flame } from "../canvas/flame";
import { nodeAt, nameOf, pathOf, readPath, valueOf } from "../canvas/model";
import { nodeActions } from "../parts/actions";
import { Choice, Look, lookedAt, Recursion } from "../parts/controls";
import { copy } from "../parts/menu";
import { Pane } from "../parts/pane";
import { address, changed, go } from "../state/route";
import { count, exactBytes, share, shortName } from "../text/format";
import { COSTS } from "../text/words";
import { useTree } from "./tree_answer";
import type { ViewProps } from "./view";

export function FlameView({ route, summary }: ViewProps) {
  const { answer, path, model } = useTree(route, summary);
  const { speech, cost, events } = lookedAt(route, summary);
  const up = route.parameters.get("ui.up") === "1", inverted = route.parameters.get("ui.inverted") === "1";
  const zoom = readPath(route.parameters.get("ui.zoom"));
  const search = route.parameters.get("ui.search") ?? "";
  const what = events.costs.length > 1 ? COSTS[cost].name.toLowerCase() : events.words;
  return (
    <>
      <div class="bar">
        <Look route={route} summary={summary} />
        <Choice label="Direction" now={inverted ? "1" : "0"} to={(value) => address(changed(route, { "ui.inverted": value === "1" ? value : undefined, "ui.zoom": undefined }))}
          choices={[{ value: "0", name: "Callers first", title: "from main to what allocates" }, { value: "1", name: "Allocators first", title: "from what allocates to its callers" }]} />
        <Recursion route={route} />
        <Choice label="Picture" now={up ? "1" : "0"} to={(value) => address(changed(route, { "ui.up": value === "1" ? value : undefined }))}
          choices={[{ value: "0", name: "Icicle", title: "grows downwards" }, { value: "1", name: "Flame", title: "grows upwards" }]} />
        <input type="search" class="search" placeholder="Search: name, /regex/i, lib:, file:" aria-label="Search in the picture" value={search}
          onInput={(event) => go(changed(route, { "ui.search": event.currentTarget.value || undefined }), true)} />
      </div>
      <Pane answer={answer} path={path} empty={(data) => data.size[0] || data.count[0] ? undefined
        : <p class="empty">Nothing matches: {what} has no {events.thing} under this filter. Remove a part of it, or choose other blocks above.</p>}>
        {() => model && <>
          <Crumbs model={model} zoom={zoom} to={(to) => address(changed(route, { "ui.zoom": to.join(".") || undefined }))} />
          <p class="total" data-bytes={model.columns.size[0]} data-count={model.columns.count[0]}>
            <b>{speech.value(valueOf(model, 0, speech.unit))}</b> {what}
            {speech.thing === "blocks" && <>; {exactBytes(model.columns.size[0]!)} in {count(model.columns.count[0]!)} blocks</>}
            {zoom.length > 0 && <>; in sight {share(valueOf(model, nodeAt(model, zoom), speech.unit), valueOf(model, 0, speech.unit))} of it</>}
            {model.columns.left_out && <span class="faint"> {" \u00b7 "}the {count(model.count - 1)} largest boxes; hatched is what is too small, zoom in to see it</span>}
            <SavePicture model-name={what} />
          </p>
          <Flame model={model} speech={speech} whole={valueOf(model, 0, speech.unit)} zoom={zoom} search={search} flame={up}
            label={`${up ? "Flame" : "Icicle"} graph of ${what}`} actions={nodeActions(route)}
            onZoom={(to) => go(changed(route, { "ui.zoom": to.join(".") || undefined }))} />
        </>}
      </Pane>
    </>
  );
}

function SavePicture({ "model-name": name }: { "model-name": string }) {
  const save = (): void => {
    const canvas = document.querySelector<HTMLCanvasElement>(".flame canvas");
    canvas?.toBlob((blob) => {
      if (!blob)
        return;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `heapsonde-${name.replace(/[^a-z]+/g, "-")}.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  };
  return <span class="tools"><button type="button" onClick={save}>Save PNG</button>
    <button type="button" onClick={() => copy(location.href)}>Copy link</button></span>;
}

function Crumbs({ model, zoom, to }: { model: Parameters<typeof nodeAt>[0]; zoom: number[]; to: (path: number[]) => string }) {
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
