// SPDX-License-Identifier: MIT OR Apache-2.0
// The actions for a function, in all parts of the page.
import { type Model, nameOf, pathOf, stackOf } from "../canvas/model";
import { changed, exactly, go, type Route, toView } from "../state/route";
import { isUnnamed } from "../text/format";
import { copy, type MenuItem } from "./menu";

export function functionActions(route: Route, name: string): MenuItem[] {
  return [
    { name: "Show callers and callees", run: () => go(toView(route, "functions", { function: name })) },
    ...(isUnnamed(name) ? [] : throughIt(route, name)),
    { name: "Copy the name", run: () => copy(name) },
  ];
}

// Of a row of sums by library or by file.
export function partActions(route: Route, by: string, name: string): MenuItem[] {
  const filter = (negative: string): Record<string, string> => by === "library" ? { [negative + "library"]: name } : { [negative + "source_regex"]: exactly(name) };
  return [
    { name: "What calls it, and what it calls", run: () => go(toView(route, "functions", { by, function: name })) },
    { name: "Only stacks through it", run: () => go(changed(route, filter(""))) },
    { name: "Without stacks through it", run: () => go(changed(route, filter("negative_"))) },
    { name: "Copy the name", run: () => copy(name) },
  ];
}

function throughIt(route: Route, name: string): MenuItem[] {
  return [
    { name: "Keep only stacks with it", run: () => go(changed(route, { function_regex: exactly(name), "ui.zoom": undefined })) },
    { name: "Hide stacks with it (Alt-click)", hides: true, run: () => go(changed(route, { negative_function_regex: exactly(name), "ui.zoom": undefined })) },
    { name: "Show its stacks", run: () => go(toView(route, "stacks", { function_regex: exactly(name) })) },
  ];
}

export function nodeActions(route: Route) {
  return (model: Model, node: number): MenuItem[] => [
    { name: "Zoom in", run: () => go(changed(route, { "ui.zoom": pathOf(model, node).join(".") || undefined })) },
    ...(node ? functionActions(route, nameOf(model, node)) : []),
    { name: "Copy the stack", run: () => copy(stackOf(model, node).join("\n") + "\n") },
    { name: "Copy a link", run: () => copy(location.href) },
  ];
}
