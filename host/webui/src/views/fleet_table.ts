// SPDX-License-Identifier: MIT OR Apache-2.0
// All views of a fleet. A new view needs a file and an entry here.
import type { ComponentType } from "preact";
import { question, type Route } from "../state/route";
import { DeviceView } from "./fleet_device";
import { DevicesView } from "./fleet_devices";
import { FirmwaresView } from "./fleet_firmwares";
import { FleetDiffView, FleetFlameView, pictureQuestion } from "./fleet_flame";
import { GrowthView } from "./fleet_growth";
import { NewView } from "./fleet_new";
import { FleetStackView } from "./fleet_stack";
import { FleetStacksView } from "./fleet_stacks";

export interface FleetView {
  name: string;
  letter?: string; // after the key g; none: other views lead to it, and it is not in the list
  of?: string;     // the view that is marked in the list in its place
  title: string;
  group: string;
  about: string; // what is seen, and what a click does
  component: ComponentType<{ route: Route }>;
  device?: boolean; // it can be about one device
  pair?: boolean;   // it compares two firmwares
  asked: (route: Route) => string;      // the path of what it asks; "": nothing
  command?: (route: Route) => string[]; // words of `heapsonde fleet`, behind which the database stands, and what follows it
}

const itself = (name: string) => ({ asked: (route: Route) => question(route, name), command: () => [name] });
const than = (route: Route): string | undefined => route.parameters.get("than") ?? undefined;

export const FLEET_VIEWS: FleetView[] = [
  { name: "growth", letter: "o", title: "Growth", group: "What changes", about: "Stacks that grow, the worst first. Click a stack to see the devices that have it.", component: GrowthView, ...itself("growth") },
  { name: "new", letter: "n", title: "New stacks", group: "What changes", about: "Stacks of a firmware that another firmware does not have. Click a stack to see the devices that have it.", component: NewView, pair: true,
    asked: (route) => question(route, "new", { than: than(route) }), command: () => ["new"] },
  { name: "diff", letter: "d", title: "Difference", group: "What changes", about: "What differs between two firmwares. The width of a box is the sum of growth and decrease in it. Click a box to zoom in.", component: FleetDiffView, pair: true,
    asked: (route) => pictureQuestion(route, "device", undefined, than(route)) },
  { name: "firmwares", letter: "w", title: "Firmwares", group: "Who", about: "Memory in use of the processes of each firmware. Click a firmware to see what grows in it.", component: FirmwaresView, ...itself("firmwares") },
  { name: "devices", letter: "v", title: "Devices", group: "Who", about: "Devices whose memory grows fastest. Click a device to see its processes, stacks and traces.", component: DevicesView, device: true, ...itself("devices") },
  { name: "stacks", letter: "s", title: "Stacks", group: "What is in use", about: "What is in use now, by stack. Click a stack to see the devices that have it.", component: FleetStacksView, device: true, ...itself("stacks") },
  { name: "flame", letter: "f", title: "Flame graph", group: "What is in use", about: "What is in use now. Each box is a function, with the functions that it calls below it. Click a box to zoom in.", component: FleetFlameView, device: true,
    asked: (route) => pictureQuestion(route, "fleet"), command: (route) => ["flame", ...route.parameters.get("per") === "device" ? ["--per-device"] : []] },
  { name: "stack", of: "stacks", title: "Stack", group: "", about: "The functions of a stack, and the devices that have it. Click a device to see its processes.", component: FleetStackView, device: true,
    asked: (route) => route.parameters.has("stack") ? question(route, `stack/${encodeURIComponent(route.parameters.get("stack")!)}`) : "", command: (route) => ["stack", route.parameters.get("stack") ?? ""] },
  { name: "device", of: "devices", title: "Device", group: "", about: "The recorded processes of a device, and their traces.", component: DeviceView, device: true, ...itself("sessions") },
];
