// SPDX-License-Identifier: MIT OR Apache-2.0
// An input whose text counts once it is entered. Until then it stays as it was typed, also when the page is drawn anew. Whoever
// enters two of them, one right after the other, is ahead of what is drawn: `enter` changes the address as it is then.
import { useLayoutEffect, useState } from "preact/hooks";

interface Props { value: string; size: number; list?: string; placeholder?: string; enter: (text: string) => void }

export function Entry({ value, enter, ...more }: Props) {
  const [typed, type] = useState<string | undefined>();
  useLayoutEffect(() => type(undefined), [value]);
  return <input type="text" {...more} value={typed ?? value} onInput={(event) => type(event.currentTarget.value)} onChange={(event) => enter(event.currentTarget.value.trim())} />;
}
