// SPDX-License-Identifier: MIT OR Apache-2.0
// What a part of the fleet has in use as a flame graph, and what differs between two firmwares.
import { useMemo, useState } from "preact/hooks";
import { looksOf, signed } from "../canvas/changes";
import { Flame, type Speech } from "../canvas/flame";
import { makeModel, type Model, nodeAt, pathOf, readPath, stackOf, valueOf } from "../canvas/model";
import { useAnswer } from "../data/ask";
import type { FleetTree } from "../data/types";
import { nameActions } from "../parts/actions";
import { Choice } from "../parts/controls";
import { Crumbs } from "../parts/crumbs";
import { Pair } from "../parts/fleet_pair";
import { Inspector } from "../parts/inspector";
import { copy, type MenuItem } from "../parts/menu";
import { Pane } from "../parts/pane";
import { Signs } from "../parts/signs";
import { address, changed, go, question, type Route } from "../state/route";
import { bytes, count, counted, exactBytes, plain, share } from "../text/format";

const NODES = 20000;

export function FleetFlameView({ route }: { route: Route }) {
  return <Picture route={route} usual="fleet" />;
}

// Of an average device, so that firmwares with different numbers of devices can be compared.
export function FleetDiffView({ route }: { route: Route }) {
  return <Pair route={route}>{(firmware, than) => <Picture route={route} usual="device" firmware={firmware} than={than} />}</Pair>;
}

function actionsOf(route: Route) {
  return (model: Model, node: number): MenuItem[] => [
    { name: "Zoom in", key: "F", place: true, run: () => go(changed(route, { "ui.zoom": pathOf(model, node).join(".") || undefined })) },
    ...(node ? nameActions(route, model.columns.strings[model.columns.name[node]!]!) : []),
    { name: "Copy the stack", group: "Copy", run: () => copy(stackOf(model, node).join("\n") + "\n") },
    { name: "Copy a link", group: "Copy", run: () => copy(location.href) },
  ];
}

// `per`: what the numbers are divided by, also if the address does not say.
export function pictureQuestion(route: Route, per: string, firmware?: string, than?: string): string {
  return question(route, "flame", { firmware, than, per: perOf(route, per) === "device" ? "device" : undefined, inverted: route.parameters.get("ui.inverted") === "1" ? "true" : undefined, nodes: NODES });
}

function perOf(route: Route, usual: string): string {
  return route.parameters.get("per") ?? usual;
}

function Picture({ route, usual, firmware, than }: { route: Route; usual: string; firmware?: string; than?: string }) {
  const inverted = route.parameters.get("ui.inverted") === "1", blocks = route.parameters.get("ui.unit") === "count";
  const per = perOf(route, usual), path = pictureQuestion(route, usual, firmware, than);
  const answer = useAnswer<FleetTree>(path);
  const model = useMemo(() => answer.data && makeModel(answer.data), [answer.data]);
  const looks = useMemo(() => answer.data?.now_size && looksOf(changesOf(answer.data, blocks), blocks), [answer.data, blocks]);
  const speech: Speech = { unit: blocks ? "count" : "bytes", value: blocks ? (n) => counted(n, "blocks") : bytes, thing: "blocks" };
  const zoom = readPath(route.parameters.get("ui.zoom")), chosen = readPath(route.parameters.get("ui.sel"));
  const search = route.parameters.get("ui.search") ?? "";
  const [step, next] = useState(0);
  const to = (changes: Record<string, string | undefined>): string => address(changed(route, { ...changes, "ui.zoom": undefined }));
  return (
    <>
      <div class="bar">
        <Choice label="Numbers" now={per} to={(value) => to({ per: value === usual ? undefined : value })}
          choices={[{ value: "fleet", name: "All devices", title: "sums of all devices" }, { value: "device", name: "Average device", title: "divided by the number of devices" }]} />
        <Choice label="Unit" now={blocks ? "count" : "bytes"} to={(value) => to({ "ui.unit": value === "bytes" ? undefined : value })} choices={[{ value: "bytes", name: "Bytes" }, { value: "count", name: "Blocks" }]} />
        <Choice label="Direction" now={inverted ? "1" : "0"} to={(value) => to({ "ui.inverted": value === "1" ? value : undefined })}
          choices={[{ value: "0", name: "Callers first", title: "from main to the allocating functions" }, { value: "1", name: "Allocators first", title: "from the allocating functions to their callers" }]} />
        <input type="search" class="search" placeholder="Search: name, /regex/i, lib:, file:" aria-label="Search in the picture" value={search}
          onInput={(event) => go(changed(route, { "ui.search": event.currentTarget.value || undefined }), true)}
          onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), next((now) => now + (event.shiftKey ? -1 : 1)))} />
      </div>
      <Pane answer={answer} path={path} empty={(data) => data.size[0] || data.count[0] ? undefined
        : <p class="empty">{than === undefined ? "Nothing is in use, or nothing matches the filter." : "Nothing differs between these firmwares."}</p>}>
        {(data) => model && <>
          <Crumbs model={model} zoom={zoom} to={(place) => address(changed(route, { "ui.zoom": place.join(".") || undefined }))} />
          <p class="total" data-bytes={data.size[0]} data-count={data.count[0]} data-now={data.now_size?.[0]} data-base={data.base_size?.[0]}>
            {looks ? <Sides data={data} blocks={blocks} firmware={firmware!} than={than!} /> : <><b>{speech.value(valueOf(model, 0, speech.unit))}</b> in use {per === "device" ? "on an average device" : "on all devices together"}; {exactBytes(data.size[0]!)} in {counted(data.count[0]!, "blocks")}</>}
            {zoom.length > 0 && <>; shown: {share(valueOf(model, nodeAt(model, zoom), speech.unit), valueOf(model, 0, speech.unit))} of it</>}
            {data.left_out && <span class="faint"> {"\u00b7"} the {count(model.count - 1)} largest boxes; smaller ones are hatched</span>}
            {than === undefined && <Files route={route} blocks={blocks} per={per === "device" ? per : undefined} />}
          </p>
          <div class="with-side"><Flame model={model} speech={speech} whole={valueOf(model, 0, speech.unit)} zoom={zoom} search={search} flame={false} looks={looks} other={answer.other}
            label={than === undefined ? "Icicle graph of what is in use" : "Icicle graph of what differs"} actions={actionsOf(route)} chosen={chosen} step={step}
            onZoom={(place, node) => go(changed(route, { "ui.zoom": place.join(".") || undefined, "ui.sel": node?.join(".") || undefined }))}
            onChoose={(node) => go(changed(route, { "ui.sel": node.join(".") || undefined }), true)} />
            {chosen.length > 0 && !answer.other && <Inspector route={route} model={model} node={nodeAt(model, chosen)} speech={speech} whole={valueOf(model, 0, speech.unit)} actions={actionsOf(route)} facts={looks?.facts?.(nodeAt(model, chosen))} />}</div>
        </>}
      </Pane>
    </>
  );
}

function Files({ route, blocks, per }: { route: Route; blocks: boolean; per: string | undefined }) {
  const file = (format: string, name: string): string => question(route, `export/${format}/${name}`, { per, unit: blocks ? "count" : undefined });
  return <span class="tools"><a class="button" href={file("flamegraph", "fleet.svg")} download="fleet.svg">Save SVG</a>
    <a class="button" href={file("pprof", "fleet.pb.gz")} download="fleet.pb.gz">pprof</a>
    <a class="button" href={file("speedscope", "fleet.speedscope.json")} download="fleet.speedscope.json">speedscope</a></span>;
}

// ---- differences ---------------------------------------------------------------------------------------------------

function Sides({ data, blocks, firmware, than }: { data: FleetTree; blocks: boolean; firmware: string; than: string }) {
  const now = (blocks ? data.now_count : data.now_size)![0]!, base = (blocks ? data.base_count : data.base_size)![0]!;
  const shown = blocks ? count : bytes;
  return <>{plain(than)}: {shown(base)} {"\u2192"} {plain(firmware)}: <b>{shown(now)}</b>, <span class={now > base ? "more" : "less"}>{signed(now - base, blocks)}</span>
    {" \u00b7 "}<Signs /></>;
}

function changesOf(data: FleetTree, blocks: boolean) {
  return { now: (blocks ? data.now_count : data.now_size)!, base: (blocks ? data.base_count : data.base_size)!, moved: blocks ? data.count : data.size };
}
