// SPDX-License-Identifier: MIT OR Apache-2.0
// One stack: its functions, and the devices that have it.
import type { FleetFrame, FleetHolder, FleetPage, Frame } from "../data/types";
import { signed } from "../canvas/changes";
import { framesOf, Rows, sizeColumn, textColumn, timeColumn } from "../parts/fleet";
import { copy } from "../parts/menu";
import { frameText } from "../parts/stack";
import { address, changed, exactly, type Route, toView } from "../state/route";
import { exactBytes, placeName, plain } from "../text/format";

export function FleetStackView({ route }: { route: Route }) {
  const stack = route.parameters.get("stack") ?? "";
  if (!/^[1-9]\d*$/.test(stack))
    return <p class="empty">{stack === "0" ? "These blocks have no stack." : <>Choose a stack in <a href={address(toView(route, "growth"))}>Growth</a> or <a href={address(toView(route, "stacks"))}>Stacks</a>.</>}</p>;
  return <div class="scroll"><Rows<FleetHolder> route={route} what={`stack/${stack}`} label="Devices with this stack" id="holders" keyOf={(row) => [row.device, row.firmware, row.last_seen, row.first_bytes, row.in_use_bytes].join("\0")}
    data={(row) => ({ "data-device": row.device, "data-bytes": row.in_use_bytes })} empty="No device has this stack, or none matches the filter."
    above={(page) => <Frames route={route} frames={framesOf((page as FleetPage<FleetHolder> & { frames: FleetFrame[] }).frames)} />}
    columns={[
      { ...textColumn<FleetHolder>("Device", (row) => row.device, (row) => toView(route, "device", { device: row.device, firmware: undefined })), wide: true },
      sizeColumn("In use", (row) => row.in_use_bytes, "by this stack, now"),
      { name: "Change", number: true, title: "since the beginning of the session", of: (row) => row.in_use_bytes - row.first_bytes, cell: (row) => {
        const change = row.in_use_bytes - row.first_bytes;
        return <span class={change > 0 ? "more" : change < 0 ? "less" : ""} title={exactBytes(change)}>{signed(change)}</span>;
      } },
      sizeColumn("Most", (row) => row.most_bytes, "the most that it had in use at a time"),
      textColumn("Firmware", (row) => row.firmware, (row) => changed(route, { firmware: row.firmware, "ui.skip": undefined })),
      timeColumn("Last seen", (row) => row.last_seen),
    ]} /></div>;
}

function Frames({ route, frames }: { route: Route; frames: Frame[] }) {
  const inner = [...frames].reverse();
  return (
    <section class="stack" aria-label="Functions of the stack">
      <p class="tools"><a class="button" href={address(toView(route, "flame", inner[0]?.function ? { function_regex: exactly(inner[0].function) } : {}))}>Flame graph of its first function</a>
        <button type="button" onClick={() => copy(inner.map(frameText).join("\n") + "\n")}>Copy the stack</button></p>
      <ol class="frames" tabIndex={0} aria-label="Functions">{inner.map((frame, i) => <li key={i} class={frame.is_inline ? "inlined" : ""}>
        <span title={plain(frame.function ?? "")}>{frameText(frame)}</span> <span class="faint">{frame.library && plain(frame.library)} {frame.source && plain(placeName({ file: frame.source, line: frame.line }))}</span></li>)}</ol>
      {!inner.length && <p class="empty">The functions of this stack are not known.</p>}
      <h2>Devices with this stack</h2>
    </section>
  );
}
