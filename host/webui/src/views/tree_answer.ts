// SPDX-License-Identifier: MIT OR Apache-2.0
// The request for a tree of functions, and its answer as a model.
import { useMemo } from "preact/hooks";
import { makeModel, type Model, readPath } from "../canvas/model";
import { type Answer, useAnswer } from "../data/ask";
import type { Summary, TreeColumns } from "../data/types";
import { lookedAt } from "../parts/controls";
import { question, type Route, transformsOf } from "../state/route";

export const NODES = 20000;

export function treeQuestion(route: Route, summary: Summary, nodes: number, below: string | null): string {
  const { events, cost } = lookedAt(route, summary);
  const inverted = route.parameters.get("ui.inverted") === "1";
  return question(route, inverted ? "inverted_tree" : "call_tree", {
    format: "columns", nodes, least: 20 / nodes, depth: 10000, children: 100000, cost,
    events: events.name === "heap" ? undefined : events.name, below: below ?? undefined, ...transformsOf(route),
  });
}

export interface TreeAnswer { answer: Answer<TreeColumns>; path: string; model: Model | undefined; other: boolean }

export function useTree(route: Route, summary: Summary, nodes = NODES): TreeAnswer {
  const zoom = route.parameters.get("ui.zoom");
  const path = treeQuestion(route, summary, nodes, readPath(zoom).length ? zoom : null);
  const answer = useAnswer<TreeColumns>(path);
  const below = /[?&]below=([\d.]+)/.exec(answer.of ?? "");
  const model = useMemo(() => answer.data && makeModel(answer.data, below ? readPath(below[1]!) : []), [answer.data]);
  // A zoom asks for more of the same tree.
  const treeOf = (question = ""): string => question.replace(/&below=[^&]*/, "");
  return { answer, path, model, other: treeOf(answer.of) !== treeOf(path) };
}
