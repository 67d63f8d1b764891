// SPDX-License-Identifier: MIT OR Apache-2.0
// The actions for a function, in all parts of the page.
import { libraryOf, type Model, nameOf, pathOf, placeOf, stackOf } from "../canvas/model";
import { changed, exactly, go, type Route, toView, type Transform, transformed } from "../state/route";
import { baseName, isUnnamed, type Place } from "../text/format";
import { copy, type MenuItem } from "./menu";

export function functionActions(route: Route, name: string): MenuItem[] {
  return [
    { name: "Show callers and callees", key: "s", run: () => go(toView(route, "functions", { function: name })) },
    ...(isUnnamed(name) ? [] : throughIt(route, name)),
    { name: "Copy the name", group: "Copy", run: () => copy(name) },
  ];
}

// Of a row of sums by library or by file.
export function partActions(route: Route, by: string, name: string): MenuItem[] {
  const filter = (negative: string): Record<string, string> => by === "library" ? { [negative + "library"]: name } : { [negative + "source_regex"]: exactly(name) };
  return [
    { name: "Its callers and callees", run: () => go(toView(route, "functions", { by, function: name })) },
    ...(by === "source" ? linesOf(route, { file: name }) : []),
    { name: "Only stacks through it", group: "Filter", run: () => go(changed(route, filter(""))) },
    { name: "Without stacks through it", group: "Filter", run: () => go(changed(route, filter("negative_"))) },
    { name: "Copy the name", group: "Copy", run: () => copy(name) },
  ];
}

// The lines of a source file, at one of them if it is known.
export function toLines(route: Route, { file, line }: Place): Route {
  return toView(route, "source", { file, "ui.line": line ? String(line) : undefined });
}

export function linesOf(route: Route, place: Place | undefined): MenuItem[] {
  return place ? [{ name: "Show the lines of its file", key: "v", run: () => go(toLines(route, place)) }] : [];
}

// For a function of a fleet, about which less is known.
export function nameActions(route: Route, name: string): MenuItem[] {
  return [...(isUnnamed(name) ? [] : throughIt(route, name)), { name: "Copy the name", group: "Copy", run: () => copy(name) }];
}

function throughIt(route: Route, name: string): MenuItem[] {
  return [
    { name: "Keep only stacks with it", group: "Filter", run: () => go(changed(route, { function_regex: exactly(name), "ui.zoom": undefined })) },
    { name: "Hide stacks with it (Alt-click)", group: "Filter", hides: true, key: "d", run: () => go(changed(route, { negative_function_regex: exactly(name), "ui.zoom": undefined })) },
    { name: "Show its stacks", run: () => go(toView(route, "stacks", { function_regex: exactly(name) })) },
  ];
}

// Of a box or a row of a tree: other trees. The keys are those of other profilers.
export function transformActions(route: Route, model: Model, node: number): MenuItem[] {
  const name = exactly(nameOf(model, node)), library = baseName(libraryOf(model, node));
  const to = (transform: Transform, value: string) => () => go(transformed(route, transform, value));
  return [
    { name: "Start the tree at it", group: "Tree", key: "f", run: to("root_function", name) },
    { name: "Merge it into its callers", group: "Tree", key: "m", run: to("merge_function", name) },
    { name: "Collapse its callees", group: "Tree", key: "c", run: to("collapse_function", name) },
    ...(library ? [
      { name: `Merge ${library} into its callers`, group: "Tree" as const, key: "M", run: to("merge_library", library) },
      { name: `Collapse calls within ${library}`, group: "Tree" as const, key: "C", run: to("collapse_library", library) },
    ] : []),
  ];
}

export function nodeActions(route: Route) {
  return (model: Model, node: number): MenuItem[] => [
    { name: "Zoom in", key: "F", place: true, run: () => go(changed(route, { "ui.zoom": pathOf(model, node).join(".") || undefined })) },
    ...(node ? [...functionActions(route, nameOf(model, node)), ...linesOf(route, placeOf(model, node)), ...transformActions(route, model, node)] : []),
    { name: "Copy the stack", group: "Copy", run: () => copy(stackOf(model, node).join("\n") + "\n") },
    { name: "Copy a link", group: "Copy", run: () => copy(location.href) },
  ];
}
