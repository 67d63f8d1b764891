// SPDX-License-Identifier: MIT OR Apache-2.0
// The largest totals, their origin and their time, with links to the other views.
import { useAnswer } from "../data/ask";
import type { Cost, Summary, Totals } from "../data/types";
import { none } from "../parts/controls";
import { useUsage } from "../parts/strip";
import { FindingsPart } from "../parts/findings";
import { name } from "../parts/name";
import { Pane } from "../parts/pane";
import { ResidentParts } from "../parts/resident";
import { address, filterOf, question, type Route, toView } from "../state/route";
import { baseName, bytes, count, counted, duration, exactBytes, moment, plain, share, shortName } from "../text/format";
import { COSTS } from "../text/words";
import type { ViewProps } from "./view";

export function OverviewView({ route, summary, row }: ViewProps) {
  const filtered = [...filterOf(route)].length > 0;
  const path = question(route, "summary");
  const answer = useAnswer<Summary>(path);
  // A heap dump does not have all costs.
  const knows = (cost: Cost): boolean => summary.events[0]!.costs.includes(cost);
  return (
    <div class="scroll overview">
      <Pane answer={answer} path={path}>
        {(now) => <>
          <p class="program" title={plain(now.program)}><b>{baseName(now.program)}</b>{wordsOf(now.command) && <code>{wordsOf(now.command)}</code>}</p>
          <p class="faint">{now.pid ? `process ${now.pid}, ` : ""}{now.arch === "unknown" ? "" : `${plain(now.arch)}, `}{duration(now.duration_ns)}{now.start_realtime_ns ? `, ${began(now)} ${moment(now.start_realtime_ns)}` : ""}, {now.dumps ? counted(Number(now.dumps), "heap dumps") : state(now)}
            {now.threads ? `, ${count(now.threads)} thread${now.threads === 1 ? "" : "s"}` : ""}{now.allocator ? `, ${plain(now.allocator)}` : ""}</p>
          {now.attached_after_ns !== null && <p class="note">The recording began {duration(now.attached_after_ns)} after the process had started. {now.older_bytes === null ? "Blocks" : `Some ${bytes(now.older_bytes)} in blocks`} that are older are not in it{now.dumps ? "." : `; ${count(now.unknown_frees)} of them ${now.unknown_frees === 1 ? "was" : "were"} freed since.`}</p>}
          {now.estimate && <p class="note">The numbers are {plain(now.estimate)}.</p>}
          {now.incomplete && <p class="note">{plain(now.incomplete)}</p>}
          {now.ignored_variables && <p class="note">The recorder ignored {plain(now.ignored_variables)}: unknown, or with values that it could not read.</p>}
          <div class="cards">
            {knows("peak") && <Card route={route} cost="peak" size={now.peak_bytes} blocks={now.peak_count} usable={now.peak_usable_bytes}
              title={filtered ? "Peak of matching blocks" : "Peak"} note={`after ${duration(now.peak_time_ns)}`} />}
            {knows("live") && <Card route={route} cost="live" size={now.live_bytes} blocks={now.live_count} usable={now.live_usable_bytes} title="Still live at the end"
              note={share(now.live_bytes, now.peak_bytes) + " of the peak"} />}
            {knows("allocated") && <Card route={route} cost="allocated" size={now.allocated_bytes} blocks={now.allocations} usable={now.allocated_usable_bytes} title="Allocated"
              note={now.clock ? "" : `${counted(Math.round(now.allocations / Math.max(1e-9, now.duration_ns / 1e9)), "blocks")} per second`} />}
            {knows("temporary") && <Card route={route} cost="temporary" size={now.temporary_bytes} blocks={now.temporary_count} title="Temporary"
              note={share(now.temporary_count, now.allocations) + " of all blocks"} />}
          </div>
          <Lost now={now} route={route} />
        </>}
      </Pane>
      {answer.data && <FindingsPart route={route} />}
      <div class="tops">
        {knows("peak") && <Top route={route} by="requester" cost="peak" title="Functions at the peak" />}
        {knows("live") && <Top route={route} by="requester" cost="live" title="Functions with live memory at the end" />}
        {knows("peak") && <Top route={route} by="requester_library" cost="peak" title="Libraries at the peak" />}
        {!knows("live") && <Top route={route} by="requester" cost="allocated" title="Functions by allocated memory" />}
      </div>
      {answer.data && !summary.dumps && <Resident route={route} now={answer.data} summary={summary} />}
      {!filtered && <ResidentParts route={route} summary={summary} />}
      <p class="faint">{counted(summary.stacks, "different stacks")}{row && row.maximum_backtrace_depth > 0 && `, at most ${counted(row.maximum_backtrace_depth, "frames")} deep`}.</p>
    </div>
  );
}

// The arguments of the program; its name is shown before them.
function wordsOf(command: string): string {
  return plain(command).split(" ").slice(1).join(" ");
}

// What happened at the time of the recording's start.
function began(now: Summary): string {
  if (now.clock)
    return "written";
  return now.attached_after_ns === null ? "started" : "attached";
}

function state(now: Summary): string {
  return { closed: now.damaged_chunks || now.attached_after_ns !== null ? "recorded to its end" : "recorded completely", recording: "still running, killed, or ended by calling the kernel directly", stopped: "recording was stopped", exec: "executed another program" }[now.state] ?? now.state;
}

function Card({ route, cost, title, size, blocks, usable, note }: {
  route: Route; cost: Cost; title: string; size: number; blocks: number; usable?: number; note: string;
}) {
  return (
    <a class="card" href={address(toView(route, "flame", { cost, events: undefined }))} data-cost={cost} data-bytes={size} data-count={blocks} title={COSTS[cost].explained}>
      <span class="card-name">{title}</span>
      <span class="card-size" title={exactBytes(size)}>{bytes(size)}</span>
      {blocks || !size ? <span>{counted(blocks, "blocks")}</span> : null}
      {usable ? <span class="faint">{bytes(usable)} usable</span> : null}
      <span class="faint">{note}</span>
    </a>
  );
}

interface Step { name: string; size: number; explained: string }

// Why the process takes more than it requested: each step includes the one before.
function Resident({ route, now, summary }: { route: Route; now: Summary; summary: Summary }) {
  const path = question({ ...route, parameters: new URLSearchParams() }, "address_map", { lifetime: "only_leaked", width: 1 });
  const answer = useAnswer<{ is_main_heap: boolean; start: number; end: number }>(now.holds === "sums" || now.restriction ? undefined : path);
  const usage = useUsage(route, summary).data;
  const heap = answer.data?.is_main_heap ? answer.data.end - answer.data.start : 0;
  const steps: Step[] = [
    { name: "requested", size: now.live_bytes, explained: "what the program requested and had not freed at the end" },
    { name: "usable", size: now.live_usable_bytes, explained: "what the allocator provided for it: it rounds sizes up" },
    { name: "heap span", size: heap, explained: "from the first to the last address of the main heap: unused space between blocks stays with the process" },
    { name: "resident", size: usage?.resident_size?.at(-1) ?? 0, explained: "all memory that page faults made resident, including code, stacks and mappings" },
  ].filter((step) => step.size > 0);
  const most = Math.max(1, ...steps.map((step) => step.size));
  if (now.restriction || steps.length < 2)
    return null;
  return (
    <section aria-label="Why ps shows more">
      <h2>Why <code>ps</code> shows more</h2>
      <table class="bar-table"><tbody>{steps.map((step) => <tr key={step.name} data-step={step.name} data-size={step.size}>
        <th scope="row">{step.name}</th><td class="number" title={exactBytes(step.size)}>{bytes(step.size)}</td>
        <td class="meter-cell"><svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width={100 * step.size / most} height="10" /></svg></td>
        <td class="wide faint">{step.explained}</td></tr>)}</tbody></table>
      <p class="faint">{usage?.resident_size ? "" : "Resident memory was not recorded (--events heap,faults). "}A process also contains its program, libraries, stacks and other mappings.</p>
    </section>
  );
}

function Lost({ now, route }: { now: Summary; route: Route }) {
  const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((a, b) => a + b, 0);
  const { children = 0, modules = 0, ...dropped } = now.dropped;
  const said = [
    sum(dropped) && `${counted(sum(dropped), "events")} dropped`,
    children && `${counted(children, "child processes")} without a trace`,
    modules && `${counted(modules, "pieces of code")} without a module`,
    sum(now.truncated) && `${counted(sum(now.truncated), "stacks")} cut`,
    now.guessed_stacks && `${counted(now.guessed_stacks, "stacks")} with a guessed frame`,
    now.damaged_chunks && `${counted(now.damaged_chunks, "damaged parts")} of the file`,
    now.unknown_frees && `${counted(now.unknown_frees, "frees")} of blocks from before the recording`,
  ].filter(Boolean);
  return said.length ? <p class="note">{said.join("; ")}. <a href={address(toView(route, "recording"))}>Details</a></p> : null;
}

function Top({ route, by, cost, title }: { route: Route; by: "requester" | "requester_library"; cost: Cost; title: string }) {
  const path = question(route, "totals", { by, cost, sort_by: `self.${cost}.bytes`, order: "dsc", count: 8 });
  const answer = useAnswer<Totals>(path);
  // Some dumps name no libraries.
  if (by === "requester_library" && answer.data?.sum[cost]?.[0] && !answer.data.rows.some((row) => row.self[cost]?.[0]))
    return null;
  return (
    <section class="top" aria-label={title}>
      <h2>{title}</h2>
      <Pane answer={answer} path={path} empty={(data) => data.sum[cost]?.[0] ? undefined : <p class="empty">{none(route, "block", cost)}</p>}>
        {(data) => <table class="bar-table"><tbody>
          {data.rows.filter((row) => row.self[cost]?.[0]).map((row) => <tr key={row.key}>
            <td class="number" title={exactBytes(row.self[cost]![0])}>{bytes(row.self[cost]![0])}</td>
            <td class="number">{share(row.self[cost]![0], data.sum[cost]![0])}</td>
            <th scope="row" class="wide"><a href={address(by === "requester" ? toView(route, "functions", { function: row.key, cost })
              : toView(route, "flame", { library: row.key, cost }))}>{name(by === "requester" ? shortName(row.key) : plain(row.key), row.key)}</a></th>
          </tr>)}
        </tbody></table>}
      </Pane>
      <a href={address(toView(route, "functions", { cost, by, sort_by: `self.${cost}.bytes`, order: "dsc" }))}>all</a>
    </section>
  );
}
