// SPDX-License-Identifier: MIT OR Apache-2.0
// The address is the state: #/t/ID/VIEW?PARAMETERS, or #/fleet/VIEW?PARAMETERS. Parameters have REST's names; those with `ui.` are the page's own.
import { useLayoutEffect, useMemo, useState } from "preact/hooks";

export interface Route {
  trace: string | undefined;
  fleet?: boolean; // about the database of many devices
  view: string;
  parameters: URLSearchParams;
}

// Parameters of REST that are not filters.
const OWN = new Set(["cost", "by", "sort_by", "order", "events", "function", "contains", "file", "strip_template_args", "base", "base_at", "base_from", "base_to", "than", "stack", "per",
                     "root_function", "merge_function", "merge_library", "collapse_function", "collapse_library", "collapse_recursion", "split"]);

// Transforms of trees have REST's names, but may occur several times.
export type Transform = "root_function" | "merge_function" | "merge_library" | "collapse_function" | "collapse_library";
export const TRANSFORMS: Transform[] = ["root_function", "merge_function", "merge_library", "collapse_function", "collapse_library"];
export const OF_TREES = [...TRANSFORMS, "collapse_recursion", "split"];

// The pages of other recorders whose traces people used before.
const OLD: Record<string, string> = { overview: "overview", allocations: "stacks", console: "overview" };

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean);
  const parameters = new URLSearchParams(query);
  // Older links.
  if (parameters.get("ui.recursion") === "1")
    parameters.set("collapse_recursion", "true");
  parameters.delete("ui.recursion");
  if (parts[0] === "t" && parts[1])
    return { trace: decodeURIComponent(parts[1]), view: parts[2] ?? "overview", parameters };
  if (parts[0] === "fleet")
    return { trace: undefined, fleet: true, view: parts[1] ?? "growth", parameters };
  if (parts[0] && OLD[parts[0]] && parts[1])
    return { trace: decodeURIComponent(parts[1]), view: OLD[parts[0]]!, parameters };
  return { trace: undefined, view: "traces", parameters };
}

export function address(route: Route): string {
  const query = route.parameters.toString();
  if (route.fleet)
    return `#/fleet/${route.view}${query ? "?" + query : ""}`;
  if (!route.trace)
    return "#/" + (query ? "?" + query : "");
  return `#/t/${encodeURIComponent(route.trace)}/${route.view}${query ? "?" + query : ""}`;
}

export function useRoute(): Route {
  const [hash, set] = useState(location.hash);
  // An address that changes before the first picture counts, too.
  useLayoutEffect(() => {
    const changed = (): void => set(location.hash), names = ["popstate", "hashchange"];
    // hashchange comes some time after the change, popstate at once: the next click or key finds the new address drawn.
    names.forEach((name) => addEventListener(name, changed));
    return () => names.forEach((name) => removeEventListener(name, changed));
  }, []);
  // The address of what is drawn.
  useLayoutEffect(() => {
    document.body.dataset.address = hash;
  }, [hash]);
  return useMemo(() => parse(hash), [hash]);
}

export type Changes = Record<string, string | undefined>;

export function changed(route: Route, changes: Changes, view = route.view): Route {
  const parameters = new URLSearchParams(route.parameters);
  // The selection is a place in the tree, like the zoom.
  if ("ui.zoom" in changes)
    parameters.delete("ui.sel");
  for (const [name, value] of Object.entries(changes))
    if (value === undefined || value === "")
      parameters.delete(name);
    else
      parameters.set(name, value);
  return { ...route, view, parameters };
}

// Choices of the user are steps of the history; mere selections are not.
export function go(route: Route, replace = false): void {
  const hash = address(route);
  if (hash === location.hash)
    return;
  if (replace)
    history.replaceState(null, "", hash), dispatchEvent(new HashChangeEvent("hashchange"));
  else
    location.hash = hash;
}

// What was live at the peak or at the end: parameters that choose other times go.
export const TIMES = ["from", "to", "alive_at", "alive_at_2", "at"];

export function atInstant(route: Route, cost: string, at?: string): Route {
  const cleared = Object.fromEntries([...TIMES, "base_from", "base_to", "lifetime", "events", "ui.zoom"].map((name) => [name, undefined]));
  return changed(route, { ...cleared, cost, at });
}

// What is allocated from now on is left out, or no longer left out: the views of a trace that grows show the same then.
export function paused(route: Route, summary: { duration_ns: number }): Route {
  return changed(route, { to: route.parameters.has("to") ? undefined : `${summary.duration_ns}ns`, "ui.zoom": undefined });
}

export function isFilter(name: string): boolean {
  return !name.startsWith("ui.") && !OWN.has(name);
}

// The route with one more part of the filter; undefined: it has another part of that name, and REST takes one of each.
export function narrowed(route: Route, name: string, value: string): Route | undefined {
  const given = route.parameters.get(name);
  return given === null || given === value ? changed(route, { [name]: value }) : undefined;
}

// Only the filter, in its order.
export function filterOf(route: Route): URLSearchParams {
  const filter = new URLSearchParams();
  for (const [name, value] of route.parameters)
    if (isFilter(name))
      filter.append(name, value);
  return filter;
}

// Switches to another view: filter, cost and events stay, other parameters belong to the view.
export function toView(route: Route, view: string, changes: Changes = {}): Route {
  const parameters = filterOf(route);
  for (const name of ["cost", "events", "ui.unit", "ui.time"])
    if (route.parameters.has(name))
      parameters.set(name, route.parameters.get(name)!);
  if (["flame", "tree", "export"].includes(view))
    for (const name of OF_TREES)
      for (const value of route.parameters.getAll(name))
        parameters.append(name, value);
  return changed({ ...route, view, parameters }, changes);
}

// The same without the parts of threads, which exported stacks do not have.
export function exportedTransformsOf(route: Route): Record<string, string | undefined> {
  return { ...transformsOf(route), split: undefined };
}

// One value for each transform, as REST takes it.
export function transformsOf(route: Route): Record<string, string | undefined> {
  const asked: Record<string, string | undefined> = {};
  for (const name of OF_TREES) {
    const values = route.parameters.getAll(name);
    asked[name] = values.length < 2 ? values[0] : name.endsWith("library") ? values.join(",") : values.map((value) => `(?:${value})`).join("|");
  }
  return asked;
}

// Places in a tree mean nothing in another tree.
function withoutPlaces(parameters: URLSearchParams): URLSearchParams {
  for (const name of ["ui.zoom", "ui.sel", "ui.open"])
    parameters.delete(name);
  return parameters;
}

export function transformed(route: Route, name: Transform, value: string): Route {
  const parameters = withoutPlaces(new URLSearchParams(route.parameters));
  if (name === "root_function")
    parameters.delete(name);
  if (!parameters.getAll(name).includes(value))
    parameters.append(name, value);
  return { ...route, parameters };
}

export function untransformed(route: Route, name: Transform, value: string): Route {
  const parameters = new URLSearchParams();
  for (const [other, given] of route.parameters)
    if (other !== name || given !== value)
      parameters.append(other, given);
  return { ...route, parameters: withoutPlaces(parameters) };
}

// The two sides of a difference, as parameters: two ranges, if the address has one, or else two instants. Of a trace these are
// at first the second half, of two traces the ends.
export interface Instants { base_at: string; at: string }
export interface Ranges { base_from: string; base_to: string; from: string; to: string }
export interface Sides { base: string | undefined; instants?: Instants; ranges?: Ranges }

export function sidesOf(route: Route): Sides {
  const given = (name: string, usual: string): string => route.parameters.get(name) ?? usual, base = route.parameters.get("base") ?? undefined;
  return route.parameters.has("base_from") || route.parameters.has("base_to")
    ? { base, ranges: { base_from: given("base_from", "0%"), base_to: given("base_to", "100%"), from: given("from", "0%"), to: given("to", "100%") } }
    : { base, instants: { base_at: given("base_at", base ? "100%" : "50%"), at: given("at", "100%") } };
}

// Parameters of the filter that are one of the sides, and not a restriction of both.
export function sideFilters(route: Route): string[] {
  return route.view === "diff" && sidesOf(route).ranges ? ["from", "to"] : [];
}

export function question(route: Route, what: string, own: Record<string, string | number | undefined> = {}, filtered = true): string {
  const query = filtered ? filterOf(route) : new URLSearchParams();
  for (const [name, value] of Object.entries(own))
    if (value !== undefined && value !== "")
      query.set(name, String(value));
  const text = query.toString();
  return `${route.fleet ? "/fleet" : "/data/" + encodeURIComponent(route.trace!)}/${what}${text ? "?" + text : ""}`;
}

// The name that `exactly` made an expression of; undefined: it is another expression.
export function nameOfExactly(expression: string): string | undefined {
  const name = /^\^(.*)\$$/s.exec(expression)?.[1]?.replace(/\\(.)/gs, "$1");
  return name !== undefined && exactly(name) === expression ? name : undefined;
}

// A regular expression that matches exactly this name.
export function exactly(name: string): string {
  return "^" + name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&") + "$";
}
