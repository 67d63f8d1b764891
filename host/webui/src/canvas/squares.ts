// SPDX-License-Identifier: MIT OR Apache-2.0
// Divides a rectangle into rectangles whose areas are given, as close to squares as they can be.

export interface Rect { x: number; y: number; width: number; height: number }

// How far the worst of a row is from a square.
function worst(values: number[], sum: number, side: number): number {
  const wide = sum / side;
  return Math.max(...values.map((value) => Math.max(wide * wide / value, value / (wide * wide))));
}

// `values` are positive, the largest first; the answer is in their order.
export function squares(values: number[], room: Rect): Rect[] {
  const whole = values.reduce((sum, value) => sum + value, 0), scale = whole ? room.width * room.height / whole : 0, made: Rect[] = [];
  let { x, y, width, height } = room, at = 0;
  while (at < values.length && width > 0 && height > 0) {
    const side = Math.min(width, height), row = [values[at++]! * scale];
    let sum = row[0]!;
    for (; at < values.length; at++) {
      const next = values[at]! * scale;
      if (worst([...row, next], sum + next, side) > worst(row, sum, side))
        break;
      row.push(next);
      sum += next;
    }
    const thick = at === values.length ? (width < height ? height : width) : sum / side;
    let along = 0;
    for (const area of row) {
      const long = side * area / sum;
      made.push(width < height ? { x: x + along, y, width: long, height: thick } : { x, y: y + along, width: thick, height: long });
      along += long;
    }
    if (width < height)
      y += thick, height -= thick;
    else
      x += thick, width -= thick;
  }
  while (made.length < values.length)
    made.push({ x, y, width: 0, height: 0 });
  return made;
}
