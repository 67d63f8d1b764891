// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws the visible boxes of a tree. Adjacent boxes that are narrower than a pixel are drawn as one.
import { shortName } from "../text/format";
import { colourOf, type Theme } from "./colours";
import { fitted, FONT, widthOfText } from "./fit";
import { type Hits, libraryOf, type Model, nameOf, type Unit, valueOf } from "./model";

export const ROW = 20;
const NARROW = 0.7, LABEL = 26;

export interface Box { node: number; x: number; width: number; depth: number; leftOut: number }

// Colours and signs of the boxes that do not stand for libraries.
export interface Looks {
  colour: (node: number, dark: boolean) => string;
  sign: (node: number) => string; // before the name
  facts: (node: number) => [name: string, value: string][];
}

export interface Picture {
  looks?: Looks | undefined;
  model: Model; unit: Unit; zoom: number; width: number; height: number; scroll: number;
  flame: boolean; // the root is at the bottom
  hits: Hits | undefined; selected: number; over: number;
  marked: number; // the string under the pointer, in any part of the page
}

// Visits the boxes from the top level on; those of one level from the left.
function layOut(picture: Picture, visit: (box: Box) => void): void {
  const { model, unit, zoom, width } = picture;
  const first = Math.floor(picture.scroll / ROW) - 1, last = first + Math.ceil(picture.height / ROW) + 2;
  const visible = (depth: number): boolean => {
    const row = picture.flame ? rows(picture) - 1 - depth : depth;
    return row >= first && row <= last;
  };
  const furthest = picture.flame ? rows(picture) - first : last + 1;
  for (let at = zoom; at >= 0; at = model.columns.parent[at]!)
    if (visible(model.depth[at]!))
      visit({ node: at, x: 0, width, depth: model.depth[at]!, leftOut: 0 });
  const scale = width / Math.max(1, valueOf(model, zoom, unit));
  const stack: [node: number, x: number][] = [[zoom, 0]];
  while (stack.length) {
    const [node, begin] = stack.pop()!;
    const depth = model.depth[node]! + 1, from = model.first[node]!, to = from + model.children[node]!;
    if (depth > furthest)
      continue;
    let x = begin, narrow = 0, one = -1, shown = 0;
    for (let child = from; child < to; child++) {
      const wide = valueOf(model, child, unit) * scale;
      shown += wide;
      if (wide < NARROW) {
        narrow += wide;
        one = child;
        x += wide;
        continue;
      }
      if (visible(depth))
        visit({ node: child, x, width: wide, depth, leftOut: 0 });
      if (model.children[child] || model.columns.self_size[child] !== model.columns.size[child])
        stack.push([child, x]);
      x += wide;
    }
    if (narrow >= NARROW && visible(depth))
      visit({ node: one, x: x - narrow, width: narrow, depth, leftOut: 0 });
    const own = (unit === "bytes" ? model.columns.self_size : model.columns.self_count)[node]! * scale;
    const rest = valueOf(model, node, unit) * scale - own - shown;
    if (rest > 2 && visible(depth))
      visit({ node, x, width: rest, depth, leftOut: rest / scale });
  }
}

// A flame stands on the bottom of its pane.
function rows(picture: Picture): number {
  return picture.flame ? Math.max(levels(picture), picture.height / ROW) : levels(picture);
}

export function levels(picture: Pick<Picture, "model" | "zoom">): number {
  return picture.model.deepest + 2;
}

function top(picture: Picture, depth: number): number {
  return (picture.flame ? rows(picture) - 1 - depth : depth) * ROW - picture.scroll;
}

export function boxAt(picture: Picture, x: number, y: number): Box | undefined {
  let found: Box | undefined;
  layOut(picture, (box) => {
    const at = top(picture, box.depth);
    if (y >= at && y < at + ROW && x >= box.x && x < box.x + box.width)
      found = box;
  });
  return found;
}

let hatch: CanvasPattern | null = null, hatched = "";

function hatching(context: CanvasRenderingContext2D, theme: Theme): CanvasPattern | string {
  if (hatched !== theme.line) {
    const small = document.createElement("canvas");
    small.width = small.height = 6;
    const lines = small.getContext("2d")!;
    lines.strokeStyle = theme.faint;
    lines.globalAlpha = 0.55;
    lines.beginPath();
    lines.moveTo(0, 6), lines.lineTo(6, 0);
    lines.stroke();
    hatch = context.createPattern(small, "repeat");
    hatched = theme.line;
  }
  return hatch ?? theme.line;
}

export interface Painted { boxes: number; marked: number }

export function paint(context: CanvasRenderingContext2D, picture: Picture, theme: Theme): Painted {
  const { model, zoom } = picture;
  let drawn = 0, marks = 0;
  context.clearRect(0, 0, picture.width, picture.height);
  context.font = FONT;
  context.textBaseline = "middle";
  layOut(picture, (box) => {
    const y = top(picture, box.depth), wide = Math.max(NARROW, box.width - (box.width > 3 ? 1 : 0));
    drawn++;
    const faded = picture.hits?.count && !picture.hits.is[box.node];
    context.globalAlpha = faded ? 0.35 : model.depth[box.node]! < model.depth[zoom]! && !box.leftOut ? 0.6 : 1;
    if (box.leftOut) {
      context.fillStyle = hatching(context, theme);
      context.fillRect(box.x, y, wide, ROW - 1);
    } else {
      context.fillStyle = !box.node ? theme.fill : picture.looks ? picture.looks.colour(box.node, theme.dark) : colourOf(libraryOf(model, box.node), theme.dark);
      context.fillRect(box.x, y, wide, ROW - 1);
    }
    if (picture.hits?.is[box.node] && !box.leftOut && wide > 4) {
      context.strokeStyle = theme.accent;
      context.lineWidth = 2;
      context.strokeRect(box.x + 1, y + 1, wide - 2, ROW - 3);
    }
    const pointed = box.node && picture.marked >= 0 && model.columns.name[box.node] === picture.marked;
    if ((box.node === picture.selected || box.node === picture.over || pointed) && !box.leftOut) {
      context.globalAlpha = 1;
      marks += pointed ? 1 : 0;
      context.strokeStyle = theme.text;
      context.lineWidth = box.node === picture.selected ? 2 : 1;
      context.strokeRect(box.x + 0.5, y + 0.5, Math.max(1, wide - 1), ROW - 2);
    }
    if (wide > LABEL) {
      context.fillStyle = theme.text;
      const sign = picture.looks && box.node && !box.leftOut ? picture.looks.sign(box.node) : "", text = box.leftOut ? "left out" : shortName(nameOf(model, box.node));
      context.fillText(sign + fitted(text, wide - 8 - widthOfText(sign)), box.x + 4, y + ROW / 2);
    }
  });
  context.globalAlpha = 1;
  return { boxes: drawn, marked: marks };
}
