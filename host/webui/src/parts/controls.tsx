// SPDX-License-Identifier: MIT OR Apache-2.0
// Switches for what is shown: links to the address with that choice. Where there is little room, the style sheet shows the
// short form.
import type { Cost, EventsKind, Summary } from "../data/types";
import { bytes, count, counted, duration, plain, shortName } from "../text/format";
import type { Speech } from "../canvas/flame";
import { COSTS, EVENTS, filterName } from "../text/words";
import { address, changed, type Changes, filterOf, nameOfExactly, type Route, type Transform, TRANSFORMS, untransformed } from "../state/route";

export function Choice({ label, choices, now, to }: {
  label: string; now: string; to: (value: string) => string;
  choices: { value: string; name: string; short?: string; title?: string; off?: string | null }[]; // `short`: in a list
}) {
  return (
    <>
      <div class="choice" role="group" aria-label={label}>
        {choices.map(({ value, name, title, off }) => off
          ? <span key={value} class="off" title={off} aria-disabled="true">{name}</span>
          : <a key={value} href={to(value)} title={title} aria-current={value === now ? "true" : undefined}>{name}</a>)}
      </div>
      <select class="short-choice" aria-label={label} value={now} onChange={(event) => { location.hash = to(event.currentTarget.value); }}>
        {choices.every(({ value }) => value !== now) && <option value={now} disabled>Other</option>}
        {choices.map(({ value, name, short, off }) => <option key={value} value={value} disabled={!!off}>{short ?? name}</option>)}
      </select>
    </>
  );
}

export interface Looked { events: EventsKind; cost: Cost; speech: Speech }

// Which part of the trace is shown: the kind of events, the cost, and bytes or counts.
export function lookedAt(route: Route, summary: Summary): Looked {
  const wanted = route.parameters.get("events") ?? "heap";
  const events = summary.events.find((kind) => kind.name === wanted) ?? summary.events[0]!;
  const asked = route.parameters.get("cost") as Cost | null;
  const cost = asked && events.costs.includes(asked) ? asked : events.costs[0]!;
  const unit = route.parameters.get("ui.unit") === "count" ? "count" : "bytes";
  const value = unit === "count" ? (n: number) => counted(n, events.thing)
    : events.unit === "bytes" ? bytes : events.unit === "nanoseconds" ? duration : (n: number) => count(n);
  return { events, cost, speech: { unit, value, thing: events.thing } };
}

// Which blocks of two ranges are compared.
export function rangeCost(route: Route): Cost {
  const asked = route.parameters.get("cost");
  return asked !== null && asked in COSTS ? asked as Cost : "allocated";
}

export function nextCost(route: Route, summary: Summary): Cost {
  const { events, cost } = lookedAt(route, summary);
  return events.costs[(events.costs.indexOf(cost) + 1) % events.costs.length]!;
}

// What a list without rows says. `cost`: it has only rows with some of that cost.
export function none(route: Route, thing: string, cost?: Cost): string {
  const isFiltered = [...filterOf(route)].length > 0;
  if (cost === "live")
    return `No ${thing}${isFiltered ? " that matches the filter" : ""} is live at the end.`;
  return isFiltered ? `No ${thing} matches the filter. Remove a part of it.` : `There is no ${thing}.`;
}

// Explains why a view is empty, and what to do.
export function Nothing({ route, summary }: { route: Route; summary: Summary }) {
  const { events, cost } = lookedAt(route, summary);
  const what = events.costs.length > 1 ? `${events.thing} ${COSTS[cost].were}` : events.thing;
  const filter = [...filterOf(route)];
  return filter.length ? <p class="empty">There are no {what} that match the filter: {filter.map(([name, value]) => `${filterName(name)} ${plain(value)}`).join(", ")}. Remove a part of the filter, or choose another kind above.</p>
    : <p class="empty">The trace has no {what}. Choose another kind above.</p>;
}

const ANOTHER_TREE: Changes = { "ui.zoom": undefined, "ui.open": undefined };

// What is done to stacks before they are added up.
export function StackSwitches({ route, summary, threads = true }: { route: Route; summary: Summary; threads?: boolean }) {
  const { events } = lookedAt(route, summary);
  return (
    <>
      <Choice label="Recursion" now={route.parameters.get("collapse_recursion") === "true" ? "1" : "0"}
        to={(value) => address(changed(route, { collapse_recursion: value === "1" ? "true" : undefined, ...ANOTHER_TREE }))}
        choices={[{ value: "0", name: "Each call", title: "show each call of a recursion as a box of its own" },
                  { value: "1", name: "Recursion collapsed", title: "show each function at most once per stack, also if other functions are between its calls" }]} />
      {threads && (summary.thread_list.length > 1 || route.parameters.has("split")) && events.name === "heap" && summary.holds !== "sums" &&
        <Choice label="Threads" now={route.parameters.get("split") === "thread" ? "thread" : "none"}
          to={(value) => address(changed(route, { split: value === "thread" ? value : undefined, ...ANOTHER_TREE }))}
          choices={[{ value: "none", name: "Threads together" }, { value: "thread", name: "By thread", title: "a separate part for each thread that allocated" }]} />}
    </>
  );
}

const DONE: Record<Transform, string> = {
  root_function: "starts at", merge_function: "merged", merge_library: "merged library", collapse_function: "without callees of", collapse_library: "collapsed library",
};

// The transforms of the tree; each can be removed.
export function Transforms({ route }: { route: Route }) {
  const all = TRANSFORMS.flatMap((name) => route.parameters.getAll(name).map((value) => ({ name, value })));
  if (!all.length)
    return null;
  return (
    <nav class="transforms" aria-label="Changes of the tree">
      {all.map(({ name, value }) => {
        const whole = nameOfExactly(value) ?? value;
        return <a class="chip" key={name + value} href={address(untransformed(route, name, value))} title={`${plain(whole)}\nremove this change of the tree`}>
          {DONE[name]} <b>{name.endsWith("library") ? plain(whole) : shortName(whole)}</b> <span aria-hidden="true">{"\u2715"}</span><span class="unseen">remove</span>
        </a>;
      })}
    </nav>
  );
}

export function Look({ route, summary, units = true }: { route: Route; summary: Summary; units?: boolean }) {
  const { events, cost, speech } = lookedAt(route, summary);
  const to = (changes: Changes): string => address(changed(route, { "ui.zoom": undefined, ...changes }));
  const sizes = events.unit === "bytes" ? "Bytes" : events.unit === "nanoseconds" ? "Time" : "Faults";
  return (
    <div class="controls">
      {summary.events.some((kind) => kind.name !== "heap" && !kind.absence) &&
        <Choice label="What is counted" now={events.name} to={(value) => to({ events: value === "heap" ? undefined : value, cost: undefined })}
                choices={summary.events.map((kind) => ({ value: kind.name, name: EVENTS[kind.name] ?? kind.name, off: kind.absence && `The trace ${kind.absence}` }))} />}
      {events.costs.length > 1 &&
        <Choice label="Which blocks" now={cost} to={(value) => to({ cost: value })}
                choices={events.costs.map((value) => ({ value, name: COSTS[value].name, title: COSTS[value].explained }))} />}
      {units && <Choice label="Unit" now={speech.unit} to={(value) => to({ "ui.unit": value === "bytes" ? undefined : value })}
              choices={[{ value: "bytes", name: sizes }, { value: "count", name: events.thing === "blocks" ? "Blocks" : "Samples" }]} />}
    </div>
  );
}
