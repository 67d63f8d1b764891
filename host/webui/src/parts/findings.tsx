// SPDX-License-Identifier: MIT OR Apache-2.0
// What looks wrong, in the server's sentences, with links to what each is about.
import { useAnswer } from "../data/ask";
import type { Finding, Findings } from "../data/types";
import { address, question, type Route } from "../state/route";
import { bytes, counted, plain, share } from "../text/format";
import { copy } from "./menu";
import { Pane } from "./pane";

const SHOWN = 3;
const SIGNS = { sure: "\u25cf", likely: "\u25b2", look: "\u25cb" };
const MEANINGS = { sure: "certain", likely: "usually a fault", look: "often intended; worth a look" };

export function FindingsPart({ route }: { route: Route }) {
  const path = question(route, "findings");
  const answer = useAnswer<Findings>(path);
  return (
    <section class="findings" aria-label="Findings">
      <h2>Findings</h2>
      <Pane answer={answer} path={path} empty={(all) => all.findings.length ? undefined : <p class="empty">Nothing looks wrong.{rest(all)}</p>}>
        {(all) => <>
          <ul>{all.findings.slice(0, SHOWN).map((one, i) => <Row key={i} one={one} route={route} />)}</ul>
          {all.findings.length > SHOWN && <details><summary>{counted(all.findings.length - SHOWN, "more findings")}</summary>
            <ul>{all.findings.slice(SHOWN).map((one, i) => <Row key={i} one={one} route={route} />)}</ul></details>}
          <p class="faint">{rest(all)}</p>
        </>}
      </Pane>
    </section>
  );
}

function Row({ one, route }: { one: Finding; route: Route }) {
  const there = address({ ...route, view: one.view, parameters: new URLSearchParams(one.query) });
  return (
    <li data-finding={one.id} data-bytes={one.bytes}>
      <p><b title={MEANINGS[one.confidence]}>{SIGNS[one.confidence]} {one.confidence}</b> {plain(one.text)}
        {one.share !== null && <span class="faint"> {share(one.share, 1)} of {one.share_of}.</span>} <a href={there}>Show</a></p>
      <details><summary>Why, and what to do</summary>
        <p>{plain(one.reason)}</p>
        <p>{plain(one.advice)}</p>
        {one.suppression && <p>Not a problem? <button type="button" onClick={() => copy(one.suppression!)}>Copy a line for --suppressions</button></p>}
      </details>
    </li>
  );
}

function rest(all: Findings): string {
  return [all.small_count && ` ${counted(all.small_count, "small ones")} not listed, ${bytes(all.small_bytes)} together.`,
    all.suppressed_count && ` ${counted(all.suppressed_count, "suppressed ones")}, ${bytes(all.suppressed_bytes)} together.`].filter(Boolean).join("");
}
