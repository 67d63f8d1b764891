// SPDX-License-Identifier: MIT OR Apache-2.0
// A dialog in front of the page. It has the keys as soon as it is drawn, and what had the focus before has it again as soon as
// it is closed: neither waits for a picture.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({ label, close, children }: { label: string; close: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current!, ends = ["cancel", "close"];
    element.showModal();
    element.scrollTop = 0;
    ends.forEach((name) => element.addEventListener(name, close));
    return () => {
      ends.forEach((name) => element.removeEventListener(name, close));
      element.close();
    };
  }, []);
  return <dialog ref={dialog} aria-label={label}>{children}</dialog>;
}
