// SPDX-License-Identifier: MIT OR Apache-2.0
// Switches for what is shown: links to the address with that choice.
import type { Cost, EventsKind, Summary } from "../data/types";
import { bytes, count, counted, duration, plain } from "../text/format";
import type { Speech } from "../canvas/flame";
import { COSTS, EVENTS, filterName } from "../text/words";
import { address, changed, type Changes, filterOf, type Route } from "../state/route";

export function Choice({ label, choices, now, to }: {
  label: string; now: string; to: (value: string) => string;
  choices: { value: string; name: string; title?: string; off?: string | null }[];
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {choices.map(({ value, name, title, off }) => off
        ? <span key={value} class="off" title={off} aria-disabled="true">{name}</span>
        : <a key={value} href={to(value)} title={title} aria-current={value === now ? "true" : undefined}>{name}</a>)}
    </div>
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

// Explains why a view is empty, and what to do.
export function Nothing({ route, summary }: { route: Route; summary: Summary }) {
  const { events, cost } = lookedAt(route, summary);
  const what = events.costs.length > 1 ? `${events.thing} ${COSTS[cost].were}` : events.thing;
  const filter = [...filterOf(route)];
  return filter.length ? <p class="empty">There are no {what} that match the filter: {filter.map(([name, value]) => `${filterName(name)} ${plain(value)}`).join(", ")}. Remove a part of the filter, or choose another kind above.</p>
    : <p class="empty">The trace has no {what}. Choose another kind above.</p>;
}

export function Recursion({ route }: { route: Route }) {
  return <Choice label="Recursion" now={route.parameters.get("ui.recursion") === "1" ? "1" : "0"}
    to={(value) => address(changed(route, { "ui.recursion": value === "1" ? value : undefined, "ui.zoom": undefined, "ui.open": undefined }))}
    choices={[{ value: "0", name: "Each call", title: "show each call of a recursion as a box of its own" },
              { value: "1", name: "Recursion collapsed", title: "show each function at most once per stack, also if other functions are between its calls" }]} />;
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
