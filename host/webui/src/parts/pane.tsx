// SPDX-License-Identifier: MIT OR Apache-2.0
// A part of the page that requests data: empty at first, with the previous picture during a new request, and with its
// own error messages.
import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, indexesOf, type Refusal } from "../data/ask";
import { report } from "../data/report";
import { parse } from "../state/route";
import { copy } from "./menu";
import { useSays } from "./refused";

export class Boundary extends Component<{ children: ComponentChildren; of: string }, { problem?: Error }> {
  override state: { problem?: Error } = {};
  static override getDerivedStateFromError(problem: Error) {
    return { problem };
  }
  override componentDidUpdate(before: { of: string }): void {
    if (before.of !== this.props.of && this.state.problem)
      this.setState({ problem: undefined });
  }
  override render() {
    if (!this.state.problem)
      return this.props.children;
    return <div class="problem" role="alert"><p>An error occurred in this part of the page: {String(this.state.problem.message)}</p>
      <button type="button" onClick={() => this.setState({ problem: undefined })}>Try again</button></div>;
  }
}

export function Pane<T>({ answer, path, children, empty }: {
  answer: Answer<T>; path: string | undefined; children: (data: T) => ComponentChildren; empty?: (data: T) => ComponentChildren;
}) {
  const { data, problem, loading } = answer;
  const stale = loading && data !== undefined;
  return (
    <div class={"pane" + (stale ? " stale" : "")} aria-busy={loading} data-state={problem ? "problem" : loading ? "loading" : "ready"}>
      {loading && <Working since={path} cancel={answer.cancel} />}
      {problem && <Problem problem={problem} retry={answer.retry}>
        {problem.status === 422 && <p>{problem.message.startsWith("base: ") ? "The trace before" : "This trace"} contains sums per stack, but no single blocks.</p>}
        {path && !report && <button type="button" onClick={() => copy(curl(path))}>Copy curl</button>}
      </Problem>}
      {data !== undefined && (empty?.(data) ?? children(data))}
    </div>
  );
}

export const REPEATED = ". The page tries again automatically.";

// Why a part of the page has no answer.
export function Problem({ problem, retry, children }: { problem: Refusal; retry: () => void; children?: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null), says = useSays(problem, place);
  return (
    <div ref={place} class={says ? "problem" : "faint refused"} role={says ? "alert" : undefined}>
      {says ? <><p>{problem.message}{problem.repeats && REPEATED}</p>
        {!report && <button type="button" onClick={retry}>Retry</button>}{children}</> : "Not shown, for the reason above."}
    </div>
  );
}

export function curl(path: string): string {
  return `curl --compressed -H "Authorization: Bearer $HEAPSONDE_TOKEN" '${location.origin}${path.replace(/'/g, "%27")}'`;
}

// Text about the indexes that are being made, which make answers faster. It is asked for every second while `waits`.
function useIndexing(waits: boolean): string {
  const [made, set] = useState<{ done: number; total: number }>();
  useEffect(() => {
    const end = new AbortController(), trace = parse(location.hash).trace;
    if (!waits || !trace)
      return;
    let timer: ReturnType<typeof setTimeout>;
    const look = async (): Promise<void> => {
      const now = await indexesOf(trace, end.signal);
      if (end.signal.aborted)
        return;
      set(now);
      timer = setTimeout(look, 1000);
    };
    void look();
    return () => (end.abort(), clearTimeout(timer), set(undefined));
  }, [waits]);
  return made ? `; ${made.done} of ${made.total} indexes are made` : "";
}

export function Working({ since, cancel }: { since: string | undefined; cancel: () => void }) {
  const [elapsed, set] = useState({ of: since, ms: 0 }), ms = elapsed.of === since ? elapsed.ms : 0;
  useEffect(() => {
    const began = performance.now();
    const timer = setInterval(() => set({ of: since, ms: performance.now() - began }), 200);
    return () => clearInterval(timer);
  }, [since]);
  const indexing = useIndexing(ms > 1000);
  return <div class="working"><span role="status">{ms > 1000 && `still working, ${Math.floor(ms / 1000)} s${indexing}`}</span>{ms > 1000 && <button type="button" onClick={cancel}>Cancel</button>}</div>;
}
