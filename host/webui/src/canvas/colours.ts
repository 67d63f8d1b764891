// SPDX-License-Identifier: MIT OR Apache-2.0
// A library has one of twelve hues, the same in every picture; the C library and the loader are grey.

const SYSTEM = /^(libc|libm|ld-linux|ld-musl|libpthread|libdl|linux-vdso|libstdc\+\+|libgcc_s)[-.]|^\[/;

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function hueOf(library: string): number | undefined {
  const name = library.slice(library.lastIndexOf("/") + 1);
  if (!name || SYSTEM.test(name))
    return undefined;
  let hash = 2166136261;
  for (let i = 0; i < name.length; i++)
    hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
  return (hash >>> 7) % 12 * 30 + 10;
}

// Of the picture for each of the page. Paper has more than most screens.
export function pixelRatio(): number {
  return document.documentElement.dataset.paper === undefined ? devicePixelRatio || 1 : Math.max(2, devicePixelRatio);
}

const known = new Map<string, string>();

export function colourOf(library: string, dark: boolean): string {
  const key = (dark ? "d" : "l") + library;
  let colour = known.get(key);
  if (!colour) {
    const hue = hueOf(library);
    colour = dark ? `oklch(0.42 ${hue === undefined ? 0 : 0.08} ${hue ?? 0})` : `oklch(0.84 ${hue === undefined ? 0 : 0.09} ${hue ?? 0})`;
    known.set(key, colour);
  }
  return colour;
}

export interface Theme { dark: boolean; text: string; faint: string; line: string; back: string; accent: string; fill: string }

export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return { dark: isDark(), text: of("--box-text"), faint: of("--faint"), line: of("--line"), back: of("--back"),
           accent: of("--accent"), fill: of("--fill") };
}
