// SPDX-License-Identifier: MIT OR Apache-2.0
// Keys that work on the whole page, and the list of all keys. Those of pictures and tables are with them.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { nextCost } from "./controls";
import { Dialog } from "./dialog";
import { copy } from "./menu";
import type { Summary } from "../data/types";
import { atInstant, changed, go, parse, paused, type Route, toView } from "../state/route";
import { filterTime } from "../text/format";
import { readTime } from "./strip";
import { FLEET_VIEWS } from "../views/fleet_table";
import { VIEWS } from "../views/table";

// `route` and `summary` of the shown trace.
interface Place { route: Route; summary: Summary }
interface Key { key: string; shown?: string; does: string; run?: (place: Place) => unknown } // false: not here

const onTrees = ({ route }: Place): boolean => route.view === "flame" || route.view === "tree";
const zoomTo = (route: Route, zoom: string | null): void => go(changed(route, { "ui.zoom": zoom || undefined }));

// Marks are the instants to which [ and ] lead.
function toMark({ route, summary }: Place, way: 1 | -1): false | void {
  const marks = [...new Set(summary.marks.map((mark) => mark.time_ns))].sort((a, b) => a - b), end = summary.duration_ns;
  const instants = marks.length ? marks : Array.from({ length: 9 }, (_, i) => Math.round((i + 1) * end / 10));
  const at = route.parameters.get("at"), now = at === "peak" ? summary.peak_time_ns : readTime(at, end) ?? (way > 0 ? -1 : end + 1);
  const next = way > 0 ? instants.find((time) => time > now) : instants.filter((time) => time < now).at(-1);
  return summary.holds !== "sums" && next !== undefined && go(atInstant(route, "allocated", filterTime(next)));
}

const KEYS: Key[] = [
  { key: "k", does: "next kind of blocks: peak, live, allocated, temporary", run: ({ route, summary }) => go(changed(route, { cost: nextCost(route, summary), "ui.zoom": undefined })) },
  { key: "u", does: "bytes or blocks", run: ({ route }) => go(changed(route, { "ui.unit": route.parameters.get("ui.unit") === "count" ? undefined : "count" })) },
  { key: "i", does: "callers first or allocators first", run: (place) => onTrees(place) && go(changed(place.route,
    { "ui.inverted": place.route.parameters.get("ui.inverted") === "1" ? undefined : "1", "ui.zoom": undefined, "ui.open": undefined })) },
  { key: "p", does: "what was live at the peak", run: ({ route }) => go(atInstant(route, "peak")) },
  { key: "e", does: "what is live at the end", run: ({ route }) => go(atInstant(route, "live")) },
  { key: "[", does: "what was live at the previous mark; without marks, a tenth of the time earlier", run: (place) => toMark(place, -1) },
  { key: "]", does: "what was live at the next mark, or a tenth of the time later", run: (place) => toMark(place, 1) },
  { key: " ", shown: "Space", does: "while a trace grows: leave out what is allocated from now on, and continue", run: ({ route, summary }) => summary.growing && go(paused(route, summary)) },
  { key: "r", does: "show each call, or collapse recursion", run: (place) => (onTrees(place) || place.route.view === "export") && go(changed(place.route,
    { collapse_recursion: place.route.parameters.get("collapse_recursion") === "true" ? undefined : "true", "ui.zoom": undefined, "ui.open": undefined })) },
  { key: "t", does: "choose a thread", run: () => document.querySelector<HTMLElement>(".threads select")?.focus() },
  { key: "y", does: "copy a link to what is shown", run: () => copy(location.href) },
  { key: "+", does: "zoom to the selected box", run: ({ route }) => route.parameters.has("ui.sel") && zoomTo(route, route.parameters.get("ui.sel")) },
  { key: "-", does: "zoom out by one box", run: ({ route }) => zoomTo(route, (route.parameters.get("ui.zoom") ?? "").replace(/\.?\d+$/, "")) },
  { key: "0", does: "zoom out to everything", run: ({ route }) => zoomTo(route, null) },
  { key: "Backspace", does: "back", run: () => history.back() },
];

const ELSEWHERE: Key[] = [
  { key: "/ or Ctrl-F", does: "search in the view" }, { key: "Ctrl-K", does: "go to a function" }, { key: "g, then a letter", does: "a view: " + VIEWS.map(({ letter, title }) => `${letter} ${title.toLowerCase()}`).join(", ") },
  { key: "Arrows, Enter, Esc", does: "in pictures: choose a box, zoom in, zoom out; in tables: rows" }, { key: ".", does: "actions for the selected box or row" },
  { key: "s", does: "callers and callees of the selected box or row" }, { key: "v", does: "the lines of its source file, with their costs" },
  { key: "F", does: "zoom in: only this call" }, { key: "d", does: "hide the stacks with it" }, { key: "*", does: "in the call tree: open everything below" },
  { key: "f m c M C", does: "start the tree at the selected box, merge it into its callers, collapse its callees, merge its library, collapse calls within its library" },
];

const single = { on: true };
try {
  single.on = localStorage.getItem("keys") !== "off";
} catch {
  // Without storage, the setting lasts as long as the page.
}

function setSingle(on: boolean): void {
  single.on = on;
  try {
    localStorage.setItem("keys", on ? "on" : "off");
  } catch {
    // The same.
  }
}

// A box that is checked or a slider takes no letters.
const typing = (target: EventTarget | null): boolean => target instanceof Element && target.matches("textarea, select, input:not([type=checkbox], [type=range])");
// Space presses what has the focus.
const pressing = (event: KeyboardEvent): boolean => event.key === " " && event.target instanceof Element && !!event.target.closest("a, button, summary, input");

function search(): boolean {
  const box = document.querySelector<HTMLInputElement>(".search");
  box?.focus();
  box?.select();
  return !!box;
}

// Calls `act` once the element is there, which it usually is before the next key, unless the address leads to another view by then.
function whenThere(view: string, selector: string, act: () => void, wait: (look: () => void) => void = queueMicrotask): void {
  wait(() => {
    if (document.querySelector(selector))
      act();
    else if (parse(location.hash).view === view)
      whenThere(view, selector, act, requestAnimationFrame);
  });
}

// The keys of the frame, and a button that lists all keys.
export function Keys({ place, fleet }: { place: Place | undefined; fleet?: boolean }) {
  const [shown, show] = useState(false);
  const now = useRef(place);
  now.current = place;
  // As soon as the keys are drawn, they work.
  useLayoutEffect(() => {
    let afterG = false;
    const press = (event: KeyboardEvent): void => {
      // Views can be chosen before the trace is known.
      const route = parse(location.hash), place = now.current && { ...now.current, route }, held = event.ctrlKey || event.metaKey;
      if (event.defaultPrevented || document.querySelector("dialog[open]"))
        return;
      let done = false;
      if (held && !event.altKey && event.key === "f")
        done = search();
      else if (held && !event.altKey && event.key === "k" && place)
        go(toView(route, "functions")), whenThere("functions", ".view-functions .search", search), done = true;
      else if (!held && !event.altKey && single.on && !typing(event.target) && !pressing(event)) {
        const views: { name: string; letter?: string; device?: boolean }[] = fleet ? FLEET_VIEWS : VIEWS;
        const view = afterG && views.find(({ letter }) => letter === event.key), key = KEYS.find((one) => one.key === event.key);
        afterG = !afterG && event.key === "g";
        if (view && (route.trace || fleet))
          go(toView(route, view.name, view.device ? {} : { device: undefined })), done = true;
        else if (event.key === "/")
          done = search();
        else if (event.key === "?")
          show(true), done = true;
        else if (key && place)
          done = key.run!(place) !== false;
      }
      if (done)
        event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return <>
    <button type="button" class="keys" aria-label="Keys" title="the keys of this page (?)" onClick={() => show(true)}>?</button>
    {shown && <List close={() => show(false)} />}
  </>;
}

function List({ close }: { close: () => void }) {
  const [on, set] = useState(single.on);
  return (
    <Dialog label="Keys" close={close}>
      <h2>Keys</h2>
      <table class="key-list"><tbody>{[...ELSEWHERE, ...KEYS, ({ key: "?", does: "this list" } as Key)].map(({ key, shown, does }) => <tr key={key}><th scope="row"><kbd>{shown ?? key}</kbd></th><td>{does}</td></tr>)}</tbody></table>
      <p><label><input type="checkbox" checked={on} onChange={(event) => (setSingle(event.currentTarget.checked), set(event.currentTarget.checked))} /> Keys without Ctrl work on the whole page</label></p>
      <div class="buttons"><button type="button" class="main" onClick={close}>Close</button></div>
    </Dialog>
  );
}
