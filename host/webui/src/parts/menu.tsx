// SPDX-License-Identifier: MIT OR Apache-2.0
// A menu of actions, for the mouse, or for arrow keys and Enter.
import { useLayoutEffect, useRef } from "preact/hooks";
import { plain } from "../text/format";

// hides: with Alt and a click, too; key: in the picture, too; place: about the place in this tree, not the name
export interface MenuItem { name: string; run: () => void; hides?: boolean; key?: string; group?: Group; place?: boolean }

// Of a tree that is shown while another is asked for: its places are others there.
export function namesAlone(items: MenuItem[]): MenuItem[] {
  return items.filter((item) => !item.place);
}

export type Group = "Look" | "Filter" | "Tree" | "Copy";
const GROUPS: Group[] = ["Look", "Filter", "Tree", "Copy"];

export function grouped(items: MenuItem[]): { group: Group; items: MenuItem[] }[] {
  return GROUPS.map((group) => ({ group, items: items.filter((item) => (item.group ?? "Look") === group) })).filter((one) => one.items.length);
}

// Where the menu of a row is that was opened without a pointer, or by a click on its name.
export function under(event: Event): { x: number; y: number } {
  const box = (event.currentTarget as Element).getBoundingClientRect();
  return { x: box.left + 20, y: box.bottom };
}

export function Menu({ x, y, title, items, close }: { x: number; y: number; title: string; items: MenuItem[]; close: () => void }) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = list.current!, before = document.activeElement;
    element.style.left = Math.max(4, Math.min(x, innerWidth - element.offsetWidth - 8)) + "px";
    element.style.top = Math.max(4, Math.min(y, innerHeight - element.offsetHeight - 8)) + "px";
    element.querySelector("button")?.focus();
    // The next key is for what had the focus before, also where the menu has lost it.
    return () => {
      const now = document.activeElement;
      if ((now === document.body || element.contains(now)) && before instanceof HTMLElement)
        before.focus({ preventScroll: true });
    };
  }, []);
  useLayoutEffect(() => {
    const away = (event: Event): void => {
      if (!list.current?.contains(event.target as Node))
        close();
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  const key = (event: KeyboardEvent): void => {
    const buttons = [...list.current!.querySelectorAll("button")], at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape" || event.key === "Tab")
      close();
    else if (event.key === "ArrowDown")
      buttons[(at + 1) % buttons.length]?.focus();
    else if (event.key === "ArrowUp")
      buttons[(at + buttons.length - 1) % buttons.length]?.focus();
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={list} role="menu" aria-label={"Actions for " + plain(title)} onKeyDown={key}>
      <p>{plain(title)}</p>
      {grouped(items).map(({ group, items: some }) => <div class="menu-group" role="group" aria-label={group} key={group}>
        {some.map((item) => <button type="button" role="menuitem" key={item.name}
                                    onClick={() => (close(), item.run())}>{item.name}{item.key && <kbd>{item.key}</kbd>}</button>)}</div>)}
    </div>
  );
}

export function copy(text: string): void {
  if (navigator.clipboard)
    void navigator.clipboard.writeText(text).catch(() => copyOld(text));
  else
    copyOld(text);
}

// Without a secure origin, browsers offer only this clipboard.
function copyOld(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
