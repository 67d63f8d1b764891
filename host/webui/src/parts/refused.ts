// SPDX-License-Identifier: MIT OR Apache-2.0
// What the server refuses as wrong, such as a filter: the first part of the page that asked says so, and the chip is marked.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Refusal } from "../data/ask";

const parts = new Map<object, { why: string; place: HTMLElement }>();
const CHANGED = "refused-changed";

function first(why: string, place: HTMLElement): boolean {
  return [...parts.values()].every((one) => one.why !== why || !(one.place.compareDocumentPosition(place) & Node.DOCUMENT_POSITION_FOLLOWING));
}

// `place`: an element of the part that was refused. Returns whether this part is the one that says so.
export function useSays(problem: Refusal | undefined, place: RefObject<HTMLElement | null>): boolean {
  const why = problem?.status === 400 ? problem.message : undefined;
  const [says, set] = useState(true);
  useLayoutEffect(() => {
    if (!why)
      return;
    const me = {}, at = place.current!, look = (): void => set(first(why, at));
    parts.set(me, { why, place: at });
    addEventListener(CHANGED, look);
    dispatchEvent(new Event(CHANGED));
    return () => {
      removeEventListener(CHANGED, look);
      parts.delete(me);
      dispatchEvent(new Event(CHANGED));
    };
  }, [why]);
  return !why || says;
}

// All that is refused now.
export function useRefused(): string[] {
  const [now, set] = useState<string[]>([]);
  useEffect(() => {
    const look = (): void => set([...parts.values()].map(({ why }) => why));
    look();
    addEventListener(CHANGED, look);
    return () => removeEventListener(CHANGED, look);
  }, []);
  return now;
}
