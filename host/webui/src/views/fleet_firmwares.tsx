// SPDX-License-Identifier: MIT OR Apache-2.0
import type { FleetFirmware } from "../data/types";
import { Estimated, rateColumn, Rows, sizeColumn, textColumn } from "../parts/fleet";
import { address, type Route, toView } from "../state/route";
import { count } from "../text/format";

export function FirmwaresView({ route }: { route: Route }) {
  const only = (row: FleetFirmware) => ({ firmware: row.firmware, app: row.app });
  return <div class="scroll"><Rows<FleetFirmware> route={route} what="firmwares" label="Firmwares" id="firmwares" keyOf={(row) => [row.app, row.firmware].join("\0")}
    data={(row) => ({ "data-firmware": row.firmware, "data-median": row.median_bytes })} empty="No device has sent anything yet, or none matches the filter."
    columns={[
      textColumn("Firmware", (row) => row.firmware, (row) => toView(route, "growth", only(row))),
      textColumn("Program", (row) => row.app),
      { name: "Devices", number: true, of: (row) => row.devices, cell: (row) => <><a href={address(toView(route, "devices", only(row)))}>{count(row.devices)}</a> <Estimated devices={row.estimated_devices} /></> },
      sizeColumn("Median", (row) => row.median_bytes, "half of the processes have at most this much in use"),
      sizeColumn("95 %", (row) => row.p95_bytes, "95 of 100 processes have at most this much in use"),
      sizeColumn("99 %", (row) => row.p99_bytes, "99 of 100 processes have at most this much in use"),
      rateColumn((row) => row.bytes_per_hour),
      { name: "Look at", of: () => "", cell: (row) => <span class="links"><a href={address(toView(route, "flame", only(row)))}>Flame graph</a> <a href={address(toView(route, "stacks", only(row)))}>Stacks</a>{row.firmware && <> <a href={address(toView(route, "diff", only(row)))}>Difference</a></>}</span> },
    ]} /></div>;
}
