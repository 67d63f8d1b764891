// SPDX-License-Identifier: MIT OR Apache-2.0
// Live memory that initialisers of global C++ objects allocated.
import { useAnswer } from "../data/ask";
import { Pane } from "../parts/pane";
import { address, question, toView } from "../state/route";
import { PlainTable } from "../table/plain";
import { bytes, count, exactBytes, plain } from "../text/format";
import type { ViewProps } from "./view";

interface Sum { count: number; size: number }
interface Dynamic extends Sum { per_file: Record<string, Sum & { per_line: Record<string, Sum> }> }

export function StaticsView(props: ViewProps) {
  return (
    <div class="scroll">
      <Part {...props} what="dynamic_constants" title="Constants" />
      <Part {...props} what="dynamic_statics" title="Variables" />
    </div>
  );
}

function Part({ route, what, title }: ViewProps & { what: string; title: string }) {
  const path = question(route, what, {}, false);
  const answer = useAnswer<Dynamic>(path);
  return (
    <section>
      <h2>{title}</h2>
      <Pane answer={answer} path={path} empty={(data) => data.count ? undefined : <p class="empty">No initialiser of {title.toLowerCase()} has live memory.</p>}>
        {(data) => {
          const rows = Object.entries(data.per_file).flatMap(([file, { per_line }]) => Object.entries(per_line).map(([line, sum]) => ({ file, line, ...sum })));
          return <PlainTable route={route} label={title} id={what} rows={rows} sort="-Bytes" keyOf={(row) => row.file + row.line} columns={[
            { name: "Bytes", number: true, of: (row) => row.size, cell: (row) => <span title={exactBytes(row.size)}>{bytes(row.size)}</span> },
            { name: "Blocks", number: true, of: (row) => row.count, cell: (row) => count(row.count) },
            { name: "Line", wide: true, of: (row) => `${row.file}:${row.line.padStart(9)}`, cell: (row) => <a href={address(toView(route, "stacks",
              { source_regex: row.file.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") + "$" }))}>{plain(row.file)}:{row.line}</a> },
          ]} />;
        }}
      </Pane>
    </section>
  );
}
