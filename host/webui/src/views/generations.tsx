// SPDX-License-Identifier: MIT OR Apache-2.0
// What was allocated between two marks, or in equal parts of the time, and how much of it is still live.
import { useAnswer } from "../data/ask";
import { ns, type Time } from "../data/types";
import { Choice } from "../parts/controls";
import { Pane } from "../parts/pane";
import { address, changed, question, toView } from "../state/route";
import { PlainTable } from "../table/plain";
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
        choices={[{ value: "marks", name: "Between marks", off: summary.marks.some((mark) => mark.kind === "mark") ? null : "The trace has no marks; `heapsonde ctl mark` adds them" },
                  ...["5", "10", "20", "50"].map((value) => ({ value, name: value + " parts" }))]} /></div>
      <div class="scroll">
        <Pane answer={answer} path={path}>
          {(data) => {
            const rows = data.generations;
            const most = Math.max(1, ...rows.map((row) => row.there_at_the_end.size));
            const bar = (row: Generation) => <>{row.mark && <span>{plain(row.mark)} </span>}<svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect width={100 * row.there_at_the_end.size / most} height="10" /></svg></>;
            const size = (of: (row: Generation) => Sum) => ({ number: true, of: (row: Generation) => of(row).size, cell: (row: Generation) => <span title={exactBytes(of(row).size)}>{bytes(of(row).size)}</span> });
            return <PlainTable<Generation> route={route} label="Generations" id="generations" rows={rows} keyOf={(row) => String(ns(row.from_relative))} columns={[
              { name: "From", number: true, of: (row) => ns(row.from_relative), cell: (row) => duration(ns(row.from_relative)) },
              { name: "To", number: true, of: (row) => ns(row.to_relative), cell: (row) => duration(ns(row.to_relative)) },
              { name: "Still live at the end", number: true, of: (row) => row.there_at_the_end.size,
                cell: (row) => !row.there_at_the_end.count ? <span title={exactBytes(0)}>{bytes(0)}</span> : <a title={exactBytes(row.there_at_the_end.size)} href={address(toView(route, "flame", { from: filterTime(ns(row.from_relative)),
                  to: filterTime(Math.max(ns(row.from_relative), ns(row.to_relative) - 1)), lifetime: "only_leaked", cost: "live" }))}>{bytes(row.there_at_the_end.size)}</a> },
              { name: "Its blocks", number: true, of: (row) => row.there_at_the_end.count, cell: (row) => count(row.there_at_the_end.count) },
              { name: "Live at its end", ...size((row) => row.there_at_its_end) },
              { name: "Allocated", ...size((row) => row.allocated) },
              { name: "Picture", wide: true, title: "what is still live at the end", of: (row) => row.mark ?? "", cell: bar },
            ]} />;
          }}
        </Pane>
      </div>
    </>
  );
}
