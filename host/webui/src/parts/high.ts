// SPDX-License-Identifier: MIT OR Apache-2.0
// Heights that are worked out: the content security policy lets no markup have styles of its own, scripts may set them.
export function high(pixels: number): (element: HTMLElement | null) => void {
  return (element) => {
    if (element)
      element.style.height = pixels + "px";
  };
}
