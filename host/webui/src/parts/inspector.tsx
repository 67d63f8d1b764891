// SPDX-License-Identifier: MIT OR Apache-2.0
// The selected box beside the picture: its numbers, its stack and its actions. A click on a frame selects its box.
import { leftOutOf, libraryOf, type Model, nameOf, pathOf, placeOf, selfOf, sourceOf, valueOf } from "../canvas/model";
import type { Speech } from "../canvas/flame";
import { useEffect, useRef } from "preact/hooks";
import { useAnswer } from "../data/ask";
import type { Timeline } from "../data/types";
import { address, changed, exactly, go, narrowed, question, type Route } from "../state/route";
import { baseName, bytes, counted, duration, exactBytes, isUnnamed, placeName, plain, share, shortName } from "../text/format";
import { nodeActions, toLines } from "./actions";
import { hovers, useHover } from "./hover";
import { grouped, type MenuItem } from "./menu";
import { Pane } from "./pane";

interface Props {
  route: Route; model: Model; node: number; speech: Speech; whole: number; overTime?: boolean;
  actions?: (model: Model, node: number) => MenuItem[]; // those of a trace if there are none
  facts?: [string, string][]; // more rows
}

export function Inspector({ route, model, node, speech, whole, overTime, actions, facts }: Props) {
  const hovered = useHover(), side = useRef<HTMLElement>(null);
  // On a narrow screen the picture is above it, and both are seen together.
  useEffect(() => {
    if (matchMedia("(max-width: 760px)").matches)
      side.current!.previousElementSibling?.scrollIntoView({ block: "start" });
  }, []);
  const frames: number[] = [];
  for (let at = node; at > 0; at = model.columns.parent[at]!)
    frames.push(at);
  const place = placeOf(model, node);
  const value = valueOf(model, node, speech.unit), own = selfOf(model, node, speech.unit), left = leftOutOf(model, node, speech.unit);
  const choose = (to: string | undefined): void => go(changed(route, { "ui.sel": to }));
  return (
    <aside ref={side} class="side inspector" aria-label="The selected function">
      <button type="button" class="close" aria-label="Close" onClick={() => choose(undefined)}>{"\u2715"}</button>
      <h3 title={plain(nameOf(model, node))}>{shortName(nameOf(model, node))}</h3>
      <table class="facts"><tbody>
        <tr><th scope="row">with callees</th><td>{speech.value(value)}</td><td>{share(value, whole)}</td></tr>
        <tr><th scope="row">itself</th><td>{speech.value(own)}</td><td>{share(own, whole)}</td></tr>
        {left > 0 && <tr><th scope="row">left out of its callees</th><td>{speech.value(left)}</td><td /></tr>}
        {facts?.map(([name, text]) => <tr key={name}><th scope="row">{name}</th><td colSpan={2}>{text}</td></tr>)}
        {speech.thing === "blocks" && <tr><th scope="row">exactly</th><td colSpan={2}>{exactBytes(model.columns.size[node]!)} in {counted(model.columns.count[node]!, "blocks")}</td></tr>}
        {libraryOf(model, node) && <tr><th scope="row">library</th><td colSpan={2}>{baseName(libraryOf(model, node))}</td></tr>}
        {place && <tr><th scope="row">source</th><td colSpan={2}>{actions ? plain(placeName(place)) : <a href={address(toLines(route, place))}>{plain(placeName(place))}</a>}</td></tr>}
      </tbody></table>
      {overTime && node > 0 && !isUnnamed(nameOf(model, node)) && <OverTime route={route} name={nameOf(model, node)} />}
      <dl class="actions">{grouped((actions ?? nodeActions(route))(model, node)).map(({ group, items }) => <div key={group}><dt>{group}</dt>
        <dd class="tools">{items.map((item) => <button type="button" key={item.name} onClick={item.run}>{item.name}</button>)}</dd></div>)}</dl>
      <ol class="frames">{frames.map((frame) => {
        const name = nameOf(model, frame);
        return <li key={frame} class={name === hovered ? "hovered" : ""}>
          <button type="button" class="frame-name" aria-current={frame === node ? "true" : undefined} title={plain(name)} {...hovers(name)}
            onClick={() => choose(pathOf(model, frame).join("."))}>{shortName(name)}</button>
          <span class="faint"> {baseName(libraryOf(model, frame))} {sourceOf(model, frame) && baseName(sourceOf(model, frame))}</span></li>;
      })}</ol>
    </aside>
  );
}

const POINTS = 120;

// Live memory of stacks with the function, and when it was there first.
export function OverTime({ route, name }: { route: Route; name: string }) {
  const filtered = narrowed(route, "function_regex", exactly(name));
  return <LiveOverTime path={filtered && question(filtered, "timeline", { width: POINTS })} of="live memory of stacks with it" />;
}

// The same of one stack, whatever else is filtered.
export function StackOverTime({ route, id }: { route: Route; id: number }) {
  return <LiveOverTime path={question(route, "timeline", { backtraces: id, width: POINTS }, false)} of="live memory of this stack" />;
}

function LiveOverTime({ path, of }: { path: string | undefined; of: string }) {
  const answer = useAnswer<Timeline>(path);
  return <Pane answer={answer} path={path}>{(data) => {
    const first = data.allocations.findIndex((blocks) => blocks > 0);
    const most = Math.max(1, ...data.end_size), wide = data.end_size.length;
    const points = data.end_size.map((size, i) => `${i},${(30 - 28 * size / most).toFixed(1)}`).join(" ");
    return <figure class="over-time" data-most={Math.max(0, ...data.end_size)}><svg viewBox={`0 0 ${wide - 1 || 1} 30`} preserveAspectRatio="none" role="img" aria-label={`live over time, at most ${bytes(most)}`}>
      <polygon points={`0,30 ${points} ${wide - 1},30`} /></svg>
      <figcaption class="faint">{of}, at most {bytes(most)}{first >= 0 && `, since ${duration(data.start_ns + first * data.interval_ns).replace(" ", "\u00a0")}`}</figcaption></figure>;
  }}</Pane>;
}
