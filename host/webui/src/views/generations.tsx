// SPDX-License-Identifier: MIT OR Apache-2.0
// What was allocated between two marks, or in equal parts of the time, and what of it stayed.
import { useAnswer } from "../data/ask";
import { ns, type Time } from "../data/types";
import { Choice } from "../parts/controls";
import { Pane } from "../parts/pane";
import { address, changed, question, toView } from "../state/route";
import { bytes, count, duration, exactBytes, filterTime, plain } from "../text/format";
import type { ViewProps } from "./view";

interface Sum { size: number; count: number }
interface Generation { from_relative: Time; to_relative: Time; mark: string | null; allocated: Sum; there_at_its_end: Sum; there_at_the_end: Sum }

export function GenerationsView({ route, summary }: ViewProps) {
  const parts = route.parameters.get("ui.parts") ?? (summary.marks.some((mark) => mark.kind === "mark") ? "marks" : "10");
  const path = question(route, "generations", { parts: parts === "marks" ? undefined : parts });
  const answer = useAnswer<{ generations: Generation[] }>(path);
  return (
    <>
      <div class="bar"><Choice label="Parts" now={parts} to={(value) => address(changed(route, { "ui.parts": value }))}
        choices={[{ value: "marks", name: "Between marks", off: summary.marks.some((mark) => mark.kind === "mark") ? null : "The trace has no marks; `heapsonde ctl mark` makes them" },
                  ...["5", "10", "20", "50"].map((value) => ({ value, name: value + " parts" }))]} /></div>
      <div class="scroll">
        <p>Each row is a part of the time: what was allocated in it, and how much of that was still there later. A last column that grows with each row is a leak for each round.</p>
        <Pane answer={answer} path={path}>
          {(data) => {
            const rows = data.generations;
            const most = Math.max(1, ...rows.map((row) => row.there_at_the_end.size));
            return <table class="plain-table">
              <thead><tr><th class="number">From</th><th class="number">To</th><th class="number">Allocated</th><th class="number">There at its end</th><th class="number">Still live at the end</th><th class="number">Blocks</th><th class="wide">Picture</th></tr></thead>
              <tbody>{rows.map((row, i) => {
                const from = ns(row.from_relative), to = ns(row.to_relative);
                return <tr key={i}>
                  <td class="number">{duration(from)}</td><td class="number">{duration(to)}</td>
                  <td class="number" title={exactBytes(row.allocated.size)}>{bytes(row.allocated.size)}</td>
                  <td class="number" title={exactBytes(row.there_at_its_end.size)}>{bytes(row.there_at_its_end.size)}</td>
                  <td class="number" title={exactBytes(row.there_at_the_end.size)}><a href={address(toView(route, "flame", { from: filterTime(from), to: filterTime(Math.max(from, to - 1)), lifetime: "only_leaked", cost: "live" }))}>{bytes(row.there_at_the_end.size)}</a></td>
                  <td class="number">{count(row.there_at_the_end.count)}</td>
                  <td class="wide">{row.mark && <span>{plain(row.mark)} </span>}<svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width={100 * row.there_at_the_end.size / most} height="10" /></svg></td>
                </tr>;
              })}</tbody>
            </table>;
          }}
        </Pane>
      </div>
    </>
  );
}
