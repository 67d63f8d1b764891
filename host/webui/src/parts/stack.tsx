// SPDX-License-Identifier: MIT OR Apache-2.0
// Stacks as text: the innermost functions in a row, all functions when opened.
import type { ComponentChildren } from "preact";
import { useAnswer } from "../data/ask";
import type { Frame } from "../data/types";
import { address, question, type Route, toView } from "../state/route";
import { baseName, plain, shortName } from "../text/format";
import { toLines } from "./actions";
import { hovers, useHover } from "./hover";
import { copy } from "./menu";
import { Pane } from "./pane";

// Functions between the allocator and the program, with or without their result type.
const INSIDE = /^(malloc|calloc|realloc|free|memalign|posix_memalign|aligned_alloc|operator new|__libc_|_Zn|g_malloc|g_slice|__rust_)|(^|[ *&])(std|__gnu_cxx|alloc|boost)::/;

export function frameText(frame: Frame): string {
  return frame.function ? shortName(frame.function) : frame.place ? plain(frame.place) : `${frame.library ?? ""} 0x${frame.address_s.replace(/^0+/, "").toLowerCase()}`;
}

// The innermost functions that belong to the program itself, at most four. Rows are drawn often while a table scrolls, so
// their texts are kept as long as they are.
const short = new WeakMap<Frame[], string>();

export function shortStack(frames: Frame[]): string {
  let text = short.get(frames);
  if (text === undefined)
    short.set(frames, text = shortened(frames));
  return text;
}

function shortened(frames: Frame[]): string {
  const inner = [...frames].reverse();
  let from = 0;
  while (from < inner.length - 1 && INSIDE.test(inner[from]!.function ?? ""))
    from++;
  const names: string[] = [];
  for (const frame of inner.slice(from)) {
    const text = frameText(frame);
    if (names[names.length - 1] !== text)
      names.push(text);
    if (names.length === 4)
      break;
  }
  return names.join(" \u2039 ") || "no stack";
}

// `selects`: the filter for what the stack did. `children`: what is said of it besides its frames.
export function Stack({ route, id, title, selects = "backtraces", children }: { route: Route; id: number; title: string; selects?: string; children?: ComponentChildren }) {
  const path = question(route, `backtrace/${id}`, {}, false);
  const hovered = useHover();
  const answer = useAnswer<{ frames?: Frame[]; backtrace?: Frame[] } | Frame[]>(path);
  return (
    <section class="stack" aria-label={title}>
      <h3>{title}</h3>
      {children}
      <Pane answer={answer} path={path}>
        {(data) => {
          const frames = (Array.isArray(data) ? data : data.frames ?? data.backtrace ?? []).slice().reverse();
          return <>
            <p class="tools">
              <a class="button" href={address(toView(route, "flame", { [selects]: String(id) }))}>Its flame graph</a>
              <a class="button" href={address(toView(route, "blocks", { [selects]: String(id) }))}>Its blocks</a>
              <button type="button" onClick={() => copy(frames.map((frame) => frame.function ?? frame.place ?? frame.address_s).join("\n") + "\n")}>Copy</button>
            </p>
            <ol class="frames">
              {frames.map((frame, i) => <li key={i} class={(frame.is_inline ? "inlined" : "") + (frame.function && frame.function === hovered ? " hovered" : "")} {...hovers(frame.function)}>
                {frame.function ? <a href={address(toView(route, "functions", { function: frame.function }))} title={plain(frame.function)}>{shortName(frame.function)}</a>
                  : <span>{frameText(frame)}</span>}
                <span class="faint"> {frame.library && baseName(frame.library)} {frame.source && <a title={plain(frame.source)} href={address(toLines(route, { file: frame.source, line: frame.line }))}>{baseName(frame.source)}{frame.line ? ":" + frame.line : ""}</a>}</span>
              </li>)}
            </ol>
          </>;
        }}
      </Pane>
    </section>
  );
}
