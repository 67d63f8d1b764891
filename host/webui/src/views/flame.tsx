// SPDX-License-Identifier: MIT OR Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { Flame } from "../canvas/flame";
import { nodeAt, readPath, searchFilter, valueOf } from "../canvas/model";
import { useAnswer } from "../data/ask";
import type { Summary, TreeColumns } from "../data/types";
import { nodeActions } from "../parts/actions";
import { Crumbs } from "../parts/crumbs";
import { Choice, Look, lookedAt, Nothing, StackSwitches, Transforms } from "../parts/controls";
import { captionOf, fileOf } from "../parts/caption";
import { Inspector } from "../parts/inspector";
import { copy } from "../parts/menu";
import { Pane } from "../parts/pane";
import { savePicture } from "../parts/picture";
import { address, changed, exportedTransformsOf, go, narrowed, question, type Route, toView, transformsOf } from "../state/route";
import { count, counted, exactBytes, share } from "../text/format";
import { COSTS } from "../text/words";
import { useTree } from "./tree_answer";
import type { ViewProps } from "./view";

export function FlameView({ route, summary }: ViewProps) {
  const { answer, path, model, other } = useTree(route, summary);
  const { speech, cost, events } = lookedAt(route, summary);
  const up = route.parameters.get("ui.up") === "1", inverted = route.parameters.get("ui.inverted") === "1";
  const zoom = readPath(route.parameters.get("ui.zoom"));
  const search = route.parameters.get("ui.search") ?? "";
  const chosen = readPath(route.parameters.get("ui.sel"));
  const [step, next] = useState(0);
  const what = events.costs.length > 1 ? COSTS[cost].name.toLowerCase() : events.words;
  return (
    <>
      <div class="bar">
        <Look route={route} summary={summary} />
        <Choice label="Direction" now={inverted ? "1" : "0"} to={(value) => address(changed(route, { "ui.inverted": value === "1" ? value : undefined, "ui.zoom": undefined }))}
          choices={[{ value: "0", name: "Callers first", title: "from main to the allocating functions" }, { value: "1", name: "Allocators first", title: "from the allocating functions to their callers" }]} />
        <StackSwitches route={route} summary={summary} />
        <input type="search" class="search" placeholder="Search: name, /regex/i, lib:, file:" aria-label="Search in the picture" value={search}
          onInput={(event) => go(changed(route, { "ui.search": event.currentTarget.value || undefined }), true)}
          onKeyDown={(event) => {
            if (event.key === "Enter")
              event.preventDefault(), next((now) => now + (event.shiftKey ? -1 : 1));
          }} />
        <Found route={route} summary={summary} search={search} />
      </div>
      <Transforms route={route} />
      <Pane answer={answer} path={path} empty={(data) => data.size[0] || data.count[0] ? undefined
        : <Nothing route={route} summary={summary} />}>
        {() => model && <>
          <Crumbs model={model} zoom={zoom} to={(to) => address(changed(route, { "ui.zoom": to.join(".") || undefined }))} />
          <p class="total" data-bytes={model.columns.size[0]} data-count={model.columns.count[0]}>
            <b>{speech.value(valueOf(model, 0, speech.unit))}</b> {what}
            {speech.thing === "blocks" && <>; {exactBytes(model.columns.size[0]!)} in {counted(model.columns.count[0]!, "blocks")}</>}
            {zoom.length > 0 && <>; shown: {share(valueOf(model, nodeAt(model, zoom), speech.unit), valueOf(model, 0, speech.unit))} of it</>}
            {model.columns.left_out && <span class="faint"> {" \u00b7 "}the {count(model.count - 1)} largest boxes; smaller ones are hatched, zoom in to see them</span>}
            <SavePicture caption={captionOf(route, summary)} turn={address(changed(route, { "ui.up": up ? undefined : "1" }))} table={address(toView(route, "tree", { "ui.inverted": inverted ? "1" : undefined }))}
              svg={!inverted && !route.parameters.has("split") && question(route, "export/flamegraph/flame.svg", { cost, unit: speech.unit, events: events.name === "heap" ? undefined : events.name, ...exportedTransformsOf(route) })} />
          </p>
          <div class="with-side"><Flame model={model} speech={speech} whole={valueOf(model, 0, speech.unit)} zoom={zoom} search={search} flame={up} other={other}
            label={`${up ? "Flame" : "Icicle"} graph of ${what}`} actions={nodeActions(route)}
            chosen={chosen} step={step}
            onZoom={(to, node) => go(changed(route, { "ui.zoom": to.join(".") || undefined, "ui.sel": node?.join(".") || undefined }))}
            onChoose={(node) => go(changed(route, { "ui.sel": node.join(".") || undefined }), true)} />
            {chosen.length > 0 && !other && <Inspector route={route} model={model} node={nodeAt(model, chosen)} speech={speech} whole={valueOf(model, 0, speech.unit)} overTime={events.name === "heap" && summary.holds !== "sums"} />}</div>
        </>}
      </Pane>
    </>
  );
}

// The matches in the whole trace, including boxes that are too small for the picture.
export function Found({ route, summary, search }: { route: Route; summary: Summary; search: string }) {
  const { events, cost, speech } = lookedAt(route, summary);
  const [settled, settle] = useState(search);
  useEffect(() => {
    const timer = setTimeout(() => settle(search), 150);
    return () => clearTimeout(timer);
  }, [search]);
  const filter = settled === search ? searchFilter(search) : undefined;
  const asked = filter && narrowed(route, ...filter);
  const answer = useAnswer<TreeColumns>(asked && question(asked, "call_tree",
    { format: "columns", nodes: 1, depth: 1, cost, root_function: transformsOf(route).root_function, events: events.name === "heap" ? undefined : events.name }));
  const size = answer.data?.size[0] ?? 0, blocks = answer.data?.count[0] ?? 0;
  if (!asked || !answer.data || answer.loading)
    return null;
  return <span class="found" role="status" data-size={size} data-count={blocks}>{speech.value(speech.unit === "bytes" ? size : blocks)} in all stacks with it</span>;
}

function SavePicture({ caption, svg, table, turn }: { caption: string; svg: string | false; table: string; turn: string }) {
  return <span class="tools"><a class="button" href={turn} title="draw the picture upwards or downwards">Turn over</a>
    <button type="button" title={caption} onClick={() => savePicture(caption)}>Save PNG</button>
    {svg && <a class="button" href={svg} download={fileOf(caption, ".svg")}>Save SVG</a>}
    <button type="button" onClick={() => copy(location.href)}>Copy link</button>
    <a class="button" href={table}>As table</a></span>;
}
