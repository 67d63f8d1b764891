// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests to REST: at most four at a time, equal ones are sent once, and a pane can abort its own.
import { useEffect, useRef, useState } from "preact/hooks";
import { absence, answerOf, report } from "./report";
import type { ListRow } from "./types";

// What the server has besides traces, as it says with the list of them. `indexing`: it makes indexes of some.
export const served = { fleet: false, devices: false, indexing: false };

export class Refusal extends Error {
  repeats = false; // the page asks again without a click
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

// A question without an answer (status 0) is asked again after these times, if nothing else happens. The server may be there
// all the same; when it was away and is back, everything is asked again (useBack).
const REPEATS = [500, 1000, 2000, 4000, 8000];

// Calls `again` if this problem may pass; `before`: how often it was asked again. Returns the timer.
export function repeatLater(problem: Refusal, before: number, again: () => void): ReturnType<typeof setTimeout> | undefined {
  problem.repeats = problem.status === 0 && before < REPEATS.length;
  return problem.repeats ? setTimeout(again, REPEATS[before]) : undefined;
}

export const refusalOf = (problem: unknown): Refusal => problem instanceof Refusal ? problem : new Refusal(0, String(problem));

const MOST = 4;
let running = 0;
const waiting: (() => void)[] = [];

async function turn(signal: AbortSignal): Promise<void> {
  if (running < MOST) {
    running++;
    return;
  }
  await new Promise<void>((resolve, reject) => {
    waiting.push(resolve);
    signal.addEventListener("abort", () => {
      const at = waiting.indexOf(resolve);
      if (at >= 0)
        waiting.splice(at, 1), reject(new DOMException("aborted", "AbortError"));
    });
  });
}

function next(): void {
  const other = waiting.shift();
  if (other)
    other();
  else
    running--;
}

// How many questions have no answer yet, for whoever looks at the page from outside.
let open = 0;

function note(more: 1 | -1): void {
  open += more;
  document.body.dataset.open = String(open);
}

// How far the indexes of a trace are, undefined if none is being made or that is unknown. Unlike questions this does not wait for
// its turn, as it is asked while others have theirs, and nobody waits for it.
export async function indexesOf(trace: string, signal: AbortSignal): Promise<ListRow["indexes"]> {
  if (!served.indexing)
    return undefined;
  try {
    const rows = await (await fetch("/list", { signal, headers: { Accept: "application/json" }, credentials: "same-origin" })).json() as ListRow[];
    served.indexing = rows.some((row) => row.indexes);
    return rows.find((row) => row.id === trace)?.indexes;
  } catch {
    return undefined;
  }
}

// A request that changes something; it is sent once, and never repeated by the page itself.
export function command<T>(path: string): Promise<T> {
  return ask<T>(path, new AbortController().signal, { method: "POST" });
}

export async function ask<T>(path: string, signal: AbortSignal, how: RequestInit = {}): Promise<T> {
  note(1);
  try {
    return await (report ? askReport<T>(report, path) : askServer<T>(path, signal, how));
  } finally {
    note(-1);
  }
}

async function askReport<T>(one: NonNullable<typeof report>, path: string): Promise<T> {
  const text = await answerOf(one, path);
  if (text === undefined)
    throw new Refusal(404, absence(one));
  const all = JSON.parse(text) as T;
  return path === "/list" ? (all as { id: string }[]).filter((row) => row.id === one.about.trace) as T : all;
}

async function askServer<T>(path: string, signal: AbortSignal, how: RequestInit): Promise<T> {
  await turn(signal);
  try {
    const answer = await fetch(path, { ...how, signal, headers: { Accept: "application/json" }, credentials: "same-origin" });
    const text = await answer.text();
    if (answer.status === 401)
      doubt(path);
    if (!answer.ok)
      throw new Refusal(answer.status, text.trim() || answer.statusText);
    if (path === "/list") {
      const links = answer.headers.get("Link") ?? "";
      served.fleet = links.includes("</fleet>");
      served.devices = links.includes("</devices>");
    }
    try {
      const data = JSON.parse(text) as T;
      if (path === "/list")
        served.indexing = (data as ListRow[]).some((row) => row.indexes);
      return data;
    } catch {
      throw new Refusal(0, "the answer is not valid JSON; it may have been cut off");
    }
  } catch (problem) {
    if (problem instanceof TypeError && !signal.aborted)
      doubt(path);
    if (problem instanceof TypeError)
      throw new Refusal(0, "the server does not respond; it may have been stopped");
    throw problem;
  } finally {
    next();
  }
}

// Requests /list to find out whether the server or only this request failed. Requests that got no response are repeated
// when the server is back.
export const DOUBTED = "server-doubted", BACK = "server-back";

function doubt(path: string): void {
  if (path !== "/list")
    dispatchEvent(new Event(DOUBTED));
}

export function useBack(problem: Refusal | undefined, again: () => void): void {
  useEffect(() => {
    if (problem?.status !== 0)
      return;
    addEventListener(BACK, again);
    return () => removeEventListener(BACK, again);
  }, [problem]);
}

export interface Answer<T> {
  data: T | undefined;      // the last good one
  of: string | undefined;   // the question that it answers
  other: boolean;           // that is not the one that is asked
  problem: Refusal | undefined;
  loading: boolean;
  retry: () => void;
  cancel: () => void;       // the server stops working on it
}

// Answers for finished traces do not change, so recent ones are cached.
const kept = new Map<string, unknown>();
const KEPT = 60;

function keep(path: string, data: unknown): void {
  kept.delete(path);
  kept.set(path, data);
  if (kept.size > KEPT)
    kept.delete(kept.keys().next().value!);
}

export function forgetAnswers(): void {
  kept.clear();
}

export let keepsAnswers = { now: true };

export function keptAnswer<T>(path: string): T | undefined {
  return kept.get(path) as T | undefined;
}

async function askAndKeep<T>(path: string, signal: AbortSignal): Promise<T> {
  const data = await ask<T>(path, signal);
  if (keepsAnswers.now && path !== "/list" && !path.startsWith("/devices") && !path.includes("/control"))
    keep(path, data);
  return data;
}

export async function askOrKept<T>(path: string, signal: AbortSignal): Promise<T> {
  return keptAnswer<T>(path) ?? askAndKeep<T>(path, signal);
}

export function useAnswer<T>(path: string | undefined, every = 0): Answer<T> {
  // `asked` is the question that the state is about. Until a new one is sent, after the next picture, it is another.
  const [state, set] = useState<{ data?: T; of?: string; asked?: string; problem?: Refusal; loading: boolean }>({ loading: !!path });
  const [round, again] = useState(0);
  const now = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    if (!path)
      return;
    const known = round ? undefined : keptAnswer<T>(path);
    if (known !== undefined) {
      keep(path, known);
      set((before) => before.asked === path && before.data === known && !before.loading ? before : { data: known, of: path, asked: path, loading: false });
      return;
    }
    const end = now.current = new AbortController();
    set((before) => ({ ...before, asked: path, problem: undefined, loading: true }));
    let patience = 0, repeats = 0, timer: ReturnType<typeof setTimeout> | undefined;
    const run = (): void => {
      askAndKeep<T>(path, end.signal).then(
        (data) => end.signal.aborted || set({ data, of: path, asked: path, loading: false }),
        (problem: unknown) => {
          if (end.signal.aborted)
            return;
          const refusal = refusalOf(problem);
          if (refusal.status === 503 && patience++ < 20) {
            timer = setTimeout(run, Math.min(4000, 250 * 2 ** patience));
            return;
          }
          // The list is asked for by rules of its own.
          timer = every || path === "/list" ? undefined : repeatLater(refusal, repeats++, run);
          set((before) => ({ ...before, problem: refusal, loading: false }));
        });
    };
    run();
    return () => (end.abort(), clearTimeout(timer));
  }, [path, round]);
  useEffect(() => {
    if (!every)
      return;
    const timer = setTimeout(() => again((before) => before + 1), every);
    return () => clearTimeout(timer);
  }, [every, round, state]);
  useBack(state.problem, () => again((before) => before + 1));
  const retry = (): void => again((before) => before + 1);
  const cancel = (): void => {
    now.current?.abort();
    set((before) => ({ ...before, asked: path, problem: new Refusal(-1, "Cancelled."), loading: false }));
  };
  // What is kept is drawn at once, not after a picture of waiting.
  const known = path && !round && state.of !== path ? keptAnswer<T>(path) : undefined;
  if (known !== undefined)
    return { data: known, of: path, other: false, problem: undefined, loading: false, retry, cancel };
  const isCurrent = state.asked === path;
  return { data: state.data, of: state.of, other: state.of !== path, problem: isCurrent ? state.problem : undefined, loading: !!path && (state.loading || !isCurrent), retry, cancel };
}
