// SPDX-License-Identifier: MIT OR Apache-2.0
// Describes a picture in one line, for readers who see it outside the page.
import type { Summary } from "../data/types";
import { filterOf, type Route, sideFilters, sidesOf } from "../state/route";
import { baseName, duration, filterValue } from "../text/format";
import { COSTS, filterName, LIFETIMES } from "../text/words";
import { lookedAt, rangeCost } from "./controls";

function shownOf(route: Route, summary: Summary): string[] {
  if (route.view === "diff") {
    const { base, instants, ranges } = sidesOf(route);
    const [before, after] = ranges ? [`${ranges.base_from}\u2013${ranges.base_to}`, `${ranges.from}\u2013${ranges.to}`] : [`at ${instants!.base_at}`, `at ${instants!.at}`];
    return ["difference of " + (ranges ? `memory, ${COSTS[rangeCost(route)].name.toLowerCase()}` : "live memory"), "in bytes",
            `${base ? `trace ${base.slice(0, 12)} ` : ""}${before}, then ${after}`, "blue: less, red: more"];
  }
  const { events, cost, speech } = lookedAt(route, summary);
  return [events.costs.length > 1 ? `${events.words}, ${COSTS[cost].name.toLowerCase()}` : events.words,
          "in " + (speech.unit === "count" ? events.thing : events.unit === "count" ? "faults" : events.unit)];
}

export function captionOf(route: Route, summary: Summary): string {
  const filter = [...filterOf(route)].filter(([name]) => !sideFilters(route).includes(name)).map(([name, value]) => `${filterName(name)} ${LIFETIMES[value] ?? filterValue(value)}`);
  return [baseName(summary.program) + ` (${summary.pid})`, ...shownOf(route, summary), filter.length ? "only " + filter.join(", ") : "no filter",
          `of ${duration(summary.duration_ns)}`].join(" \u00b7 ");
}

// The name of a file with the picture.
export function fileOf(caption: string, ending: string): string {
  return caption.replace(/[^A-Za-z0-9.]+/g, "-").slice(0, 120) + ending;
}
