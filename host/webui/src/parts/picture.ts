// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph as a file.
import { fileOf } from "./caption";
import { pixelRatio, theme } from "../canvas/colours";

const CAPTION = 24;

// The canvas with a caption above it.
function withCaption(canvas: HTMLCanvasElement, caption: string): HTMLCanvasElement {
  const ratio = pixelRatio(), made = document.createElement("canvas"), colours = theme();
  made.width = canvas.width;
  made.height = canvas.height + CAPTION * ratio;
  const context = made.getContext("2d")!;
  context.fillStyle = colours.back;
  context.fillRect(0, 0, made.width, made.height);
  context.drawImage(canvas, 0, CAPTION * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.text;
  context.font = "12px system-ui, sans-serif";
  context.fillText(caption, 4, 16, made.width / ratio - 8);
  return made;
}

export function savePicture(caption: string): void {
  const canvas = document.querySelector<HTMLCanvasElement>(".flame canvas");
  canvas && withCaption(canvas, caption).toBlob((blob) => {
    if (!blob)
      return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = fileOf(caption, ".png");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}
