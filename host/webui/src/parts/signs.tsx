// SPDX-License-Identifier: MIT OR Apache-2.0
// What the signs and colours of a difference mean.
import { GONE, LESS, MORE, NEW } from "../canvas/changes";

export function Signs() {
  return <span class="signs" role="note" aria-label="Signs of differences"><span class="less">{LESS} blue: less</span><span class="more">{MORE} red: more</span><span>{NEW} new</span><span>{GONE} gone</span></span>;
}
