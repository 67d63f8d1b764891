// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps through the time of a trace: what is shown is what was live at an instant. The instant is part of the address.
import { useLayoutEffect, useState } from "preact/hooks";
import { report } from "../data/report";
import type { Summary } from "../data/types";
import { changed, go, parse, type Route, TIMES } from "../state/route";
import { duration, filterTime } from "../text/format";
import { readTime } from "./strip";

const STEPS = 40, MS = 300;

// Another instant; parameters that choose other times go.
function atStep(route: Route, step: number | undefined, end: number): Route {
  return changed(route, { ...Object.fromEntries([...TIMES, "lifetime"].map((name) => [name, undefined])), at: step === undefined ? undefined : filterTime(Math.round(step * end / STEPS)) });
}

export function Player({ route, summary, busy }: { route: Route; summary: Summary; busy: boolean }) {
  const end = summary.duration_ns, at = route.parameters.get("at"), time = at === "peak" ? summary.peak_time_ns : readTime(at, end);
  const exact = time === undefined ? STEPS : Math.min(STEPS, time / Math.max(1, end) * STEPS);
  // Instants are whole nanoseconds, and so not exactly at a step.
  const step = Math.abs(exact - Math.round(exact)) < 0.1 ? Math.round(exact) : exact;
  const [playing, play] = useState(false);
  // The address is newer than what is drawn.
  const to = (next: number): void => go(atStep(parse(location.hash), Math.max(0, Math.min(STEPS, next)), end), true);
  // The next step comes when this one is drawn, and none after another click.
  useLayoutEffect(() => {
    if (!playing || busy)
      return;
    if (time !== undefined && step >= STEPS) {
      play(false);
      return;
    }
    const timer = setTimeout(() => to(time === undefined ? 0 : Math.floor(step) + 1), MS);
    return () => clearTimeout(timer);
  }, [playing, busy, step, time]);
  // A report in one file has the answers for the whole time alone.
  if (report)
    return null;
  return (
    <div class="player" role="group" aria-label="Time" data-playing={playing}>
      <button type="button" onClick={() => playing ? play(false) : (step >= STEPS && time !== undefined && to(0), play(true))}>{playing ? "Pause" : "Play"}</button>
      <button type="button" aria-label="The previous step" disabled={step <= 0} onClick={() => (play(false), to(Math.ceil(step) - 1))}>{"\u2039"}</button>
      <input type="range" aria-label="Instant" aria-valuetext={time === undefined ? "the end" : duration(time)} min={0} max={STEPS} step="any" value={step}
        onInput={(event) => (play(false), to(Math.round(Number(event.currentTarget.value))))} />
      <button type="button" aria-label="The next step" disabled={time === undefined || step >= STEPS} onClick={() => (play(false), to(Math.floor(step) + 1))}>{"\u203a"}</button>
      <span class="number">{time === undefined ? "at the end" : `at ${duration(time)}`}</span>
      {at && <button type="button" onClick={() => (play(false), go(atStep(parse(location.hash), undefined, end)))}>Whole time</button>}
    </div>
  );
}
