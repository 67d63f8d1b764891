// SPDX-License-Identifier: MIT OR Apache-2.0
// Describes a picture in one line, for readers who see it outside the page.
import type { Summary } from "../data/types";
import { filterOf, type Route, sidesOf } from "../state/route";
import { baseName, duration, filterValue } from "../text/format";
import { COSTS, filterName, LIFETIMES } from "../text/words";
import { lookedAt } from "./controls";

function shownOf(route: Route, summary: Summary): string[] {
  if (route.view === "diff") {
    const { base, base_at, at } = sidesOf(route);
    return ["difference of live memory", "in bytes", `from ${base ? `trace ${base.slice(0, 12)} at ` : ""}${base_at} to ${at}`, "blue: less, red: more"];
  }
  const { events, cost, speech } = lookedAt(route, summary);
  return [events.costs.length > 1 ? `${events.words}, ${COSTS[cost].name.toLowerCase()}` : events.words,
          "in " + (speech.unit === "count" ? events.thing : events.unit === "count" ? "faults" : events.unit)];
}

export function captionOf(route: Route, summary: Summary): string {
  const filter = [...filterOf(route)].map(([name, value]) => `${filterName(name)} ${LIFETIMES[value] ?? filterValue(value)}`);
  return [baseName(summary.program) + ` (${summary.pid})`, ...shownOf(route, summary), filter.length ? "only " + filter.join(", ") : "no filter",
          `of ${duration(summary.duration_ns)}`].join(" \u00b7 ");
}

// The name of a file with the picture.
export function fileOf(caption: string, ending: string): string {
  return caption.replace(/[^A-Za-z0-9.]+/g, "-").slice(0, 120) + ending;
}
