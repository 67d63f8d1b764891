// SPDX-License-Identifier: MIT OR Apache-2.0
// Computed heights. The content security policy forbids styles in markup, but scripts may set them.
export function high(pixels: number): (element: HTMLElement | null) => void {
  return (element) => {
    if (element)
      element.style.height = pixels + "px";
  };
}
