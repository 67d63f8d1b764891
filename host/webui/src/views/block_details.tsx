// SPDX-License-Identifier: MIT OR Apache-2.0
// One block: when, where and by whom it was allocated, reallocated and freed.
import type { ComponentChildren } from "preact";
import { useAnswer } from "../data/ask";
import { type Block, type BlockEnd, ns } from "../data/types";
import { Pane } from "../parts/pane";
import { Stack } from "../parts/stack";
import { address, question, type Route, toView } from "../state/route";
import { bytes, count, duration, exactBytes, hexadecimal, moment } from "../text/format";

// Which block it is, in an address: where it is, and since when.
export const nameOf = (block: Block): string => `${hexadecimal(block.address_s)}.${ns(block.timestamp_relative)}`;

export const whenOf = (block: Block): string => moment(ns(block.timestamp));

const lived = (block: Block, end: BlockEnd): string => duration(Math.max(0, ns(end.timestamp) - ns(block.timestamp)));

export const lifetimeOf = (block: Block): string => block.deallocation ? lived(block, block.deallocation) : "never freed";

export const chainOf = (block: Block): string => block.chain_length > 1 ? `${count(block.position_in_chain + 1)} of ${count(block.chain_length)}` : "";

export const areaOf = (block: Block): string => block.is_mmaped ? "own mapping" : block.is_jemalloc ? "jemalloc" : block.in_main_arena ? "main heap" : "elsewhere";

// `children`: the stack that allocated it.
export function BlockDetails({ route, name, children }: { route: Route; name: string; children: ComponentChildren }) {
  const [, where, since] = /^(0x[0-9a-f]+)\.(\d+)$/.exec(name) ?? [];
  const path = where && question(route, "allocations", { address_min: where, address_max: where, from: since + "ns", to: since + "ns", frames: "none", count: 100 }, false);
  const answer = useAnswer<{ allocations: Block[] }>(path);
  return <Pane answer={answer} path={path}>{(data) => {
    const block = data.allocations.find((one) => nameOf(one) === name);
    return block ? <><Facts route={route} block={block} />{children}<Ends route={route} block={block} /></> : <p class="faint">The trace has no such block.</p>;
  }}</Pane>;
}

function Facts({ route, block }: { route: Route; block: Block }) {
  const end = block.deallocation, last = block.chain_deallocation, at = hexadecimal(block.address_s);
  return (
    <section class="block" aria-label="One block" data-block={block.id}>
      <h3>Block <code>{at}</code></h3>
      <table class="facts"><tbody>
        <tr><th scope="row">size</th><td title={exactBytes(block.size)}>{bytes(block.size)}</td><td>{count(block.size + block.extra_space)} bytes usable</td></tr>
        <tr><th scope="row">allocated</th><td title={whenOf(block)}>{duration(ns(block.timestamp_relative))}</td><td>by thread {block.thread}</td></tr>
        <tr><th scope="row">lived</th><td>{lifetimeOf(block)}</td><td>{end && `freed by thread ${end.thread}`}</td></tr>
        {block.chain_length > 1 && <tr><th scope="row">reallocated</th><td>{chainOf(block)}</td>
          <td>{block.chain_lifetime && `the chain lived ${duration(ns(block.chain_lifetime))}`}{last ? `, freed by thread ${last.thread}` : ""}</td></tr>}
        <tr><th scope="row">place</th><td colSpan={2}>{areaOf(block)}</td></tr>
      </tbody></table>
      <p class="tools"><a class="button" href={address(toView(route, "blocks", { address_min: at, address_max: at }))}>Blocks at this address</a></p>
    </section>
  );
}

function Ends({ route, block }: { route: Route; block: Block }) {
  const end = block.deallocation, last = block.chain_deallocation;
  return (
    <>
      {end && (end.backtrace_id ? <Stack route={route} id={end.backtrace_id} title={chainOf(block) ? "Freed or reallocated by" : "Freed by"} selects="deallocation_backtraces" />
        : <p class="faint">Where it was freed is not known: record with <code>--free-stacks</code>.</p>)}
      {last?.backtrace_id && <Stack route={route} id={last.backtrace_id} title="The last of its chain was freed by" selects="deallocation_backtraces" />}
    </>
  );
}
