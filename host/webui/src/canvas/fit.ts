// SPDX-License-Identifier: MIT OR Apache-2.0
// Names that are shortened to the width of a box, in the font of all pictures.
export const FONT = "12px system-ui, sans-serif";

const DOTS = "\u2026";
const SIGN = /.\p{M}*/gsu; // with the marks above, below and beside it
const widths = new Map<string, number>();
let measuring: CanvasRenderingContext2D | undefined;

function widthOf(sign: string): number {
  let wide = widths.get(sign);
  if (wide === undefined) {
    measuring ??= document.createElement("canvas").getContext("2d")!;
    measuring.font = FONT;
    widths.set(sign, wide = measuring.measureText(sign).width);
  }
  return wide;
}

export function widthOfText(text: string): number {
  return [...text.matchAll(SIGN)].reduce((sum, [sign]) => sum + widthOf(sign), 0);
}

function cut(text: string, room: number): string {
  const dots = widthOf(DOTS);
  let wide = 0, fits = 0, at = 0;
  for (const [sign] of text.matchAll(SIGN)) {
    wide += widthOf(sign);
    if (wide > room)
      return fits === 1 && text.startsWith(DOTS) ? DOTS : text.slice(0, fits) + DOTS;
    at += sign.length;
    if (wide + dots <= room)
      fits = at;
  }
  return text;
}

// If a name is too long, its last part is the most useful.
export function fitted(text: string, room: number): string {
  const whole = cut(text, room), last = text.lastIndexOf("::");
  return whole === text || last < 1 ? whole : cut(DOTS + text.slice(last + 2), room);
}
