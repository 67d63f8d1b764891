// SPDX-License-Identifier: MIT OR Apache-2.0
// One device: its sessions, and where to go from there.
import type { FleetSession } from "../data/types";
import { rateColumn, Rows, sizeColumn, textColumn, timeColumn } from "../parts/fleet";
import { address, type Route, toView } from "../state/route";
import { plain } from "../text/format";

export function DeviceView({ route }: { route: Route }) {
  const device = route.parameters.get("device");
  if (!device)
    return <p class="empty">Choose a device in <a href={address(toView(route, "devices"))}>Devices</a>.</p>;
  return <div class="scroll">
    <h2 class="device-name" title={plain(device)}>{plain(device)}</h2>
    <p class="tools"><a class="button" href={address(toView(route, "stacks"))}>Its stacks</a><a class="button" href={address(toView(route, "flame"))}>Its flame graph</a></p>
    <Rows<FleetSession> route={route} what="sessions" label="Sessions of the device" id="sessions" keyOf={(row) => row.session}
      data={(row) => ({ "data-session": row.session, "data-bytes": row.in_use_bytes })} empty="The fleet has no such device, or nothing of it matches the filter."
      columns={[
        { ...textColumn<FleetSession>("Program", (row) => row.app), wide: true },
        { name: "Process", number: true, of: (row) => row.pid, cell: (row) => row.pid },
        textColumn("Firmware", (row) => row.firmware),
        sizeColumn("In use", (row) => row.in_use_bytes),
        sizeColumn("Most", (row) => row.most_bytes, "the most that was in use at a time"),
        rateColumn((row) => row.bytes_per_hour),
        timeColumn("Began", (row) => row.first_time),
        timeColumn("Last seen", (row) => row.last_seen),
        { name: "State", of: (row) => row.ended, cell: (row) => <>{row.ended ? "ended" : "running"}{row.estimated ? <> <span class="tag" title="the numbers are estimated from samples">estimated</span></> : null}</> },
        { name: "Trace", of: (row) => row.trace ?? "", cell: (row) => row.trace ? <a href={address({ trace: row.trace, view: "overview", parameters: new URLSearchParams() })}>Open its trace</a>
          : <span class="faint" title="give the server the file of this session, too">not on this server</span> },
      ]} />
  </div>;
}
