// SPDX-License-Identifier: MIT OR Apache-2.0
// What resident memory consists of, in the server's words; the parts add up to it.
import { useAnswer } from "../data/ask";
import type { Resident, ResidentAt, Summary } from "../data/types";
import { question, type Route } from "../state/route";
import { bytes, duration, exactBytes } from "../text/format";
import { Pane } from "./pane";

export function ResidentParts({ route, summary }: { route: Route; summary: Summary }) {
  const known = summary.events.some((kind) => kind.name === "touched" && !kind.absence);
  const path = question({ ...route, parameters: new URLSearchParams() }, "resident");
  const answer = useAnswer<Resident>(known ? path : undefined);
  return known ? (
    <section class="resident" aria-label="What is resident">
      <h2>What is resident</h2>
      <Pane answer={answer} path={path}>{({ peak, end }) => <Table peak={peak} end={end} />}</Pane>
    </section>
  ) : null;
}

function Table({ peak, end }: Resident) {
  return (
    <table class="bar-table">
      <thead><tr><th scope="col">part</th><th scope="col" class="number">largest, after {duration(peak.time_ns)}</th><td /><th scope="col" class="number">at the end</th><th scope="col">meaning</th></tr></thead>
      <tbody>{peak.parts.map((part, i) => <tr key={part.id} data-part={part.id} data-peak={part.bytes} data-end={end.parts[i]!.bytes}>
        <th scope="row">{part.name}</th><Size of={part.bytes} />
        <td class="meter-cell"><svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width={100 * part.bytes / Math.max(1, peak.resident_bytes)} height="10" /></svg></td>
        <Size of={end.parts[i]!.bytes} /><td class="wide faint">{part.meaning}</td></tr>)}
        <Sum name="all that is resident" of={(at) => at.resident_bytes} peak={peak} end={end} meaning="the parts above together" />
        <Sum name="live blocks, not touched" of={(at) => at.live_untouched_bytes} peak={peak} end={end} meaning="requested and not freed, but never used: it takes no memory yet" />
      </tbody>
    </table>
  );
}

function Size({ of }: { of: number }) {
  return <td class="number" title={exactBytes(of)}>{bytes(of)}</td>;
}

function Sum({ name, of, peak, end, meaning }: Resident & { name: string; of: (at: ResidentAt) => number; meaning: string }) {
  return <tr><th scope="row">{name}</th><Size of={of(peak)} /><td /><Size of={of(end)} /><td class="wide faint">{meaning}</td></tr>;
}
