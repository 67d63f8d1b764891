// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers in the format of `heapsonde report`.

import type { Clock } from "../data/types";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
export const MINUS = "\u2212";

function three(value: number): string {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

export function bytes(value: number): string {
  let unit = 0, scaled = Math.abs(value);
  while (scaled >= 1023.5 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit++;
  }
  return (value < 0 ? MINUS : "") + (unit ? three(scaled) : scaled.toFixed(0)) + " " + UNITS[unit];
}

// Where a line may break without a space: beside a syllable or a character of these.
const BREAKS = /(?<=\S)(?=[\p{sc=Hangul}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}])|(?<=[\p{sc=Hangul}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}])(?=\S)/gu;

// A date and a time, in nanoseconds since 1970, as the reader writes them. A line may break only between the two.
export function moment(ns: number): string {
  const date = new Date(ns / 1e6);
  return [date.toLocaleDateString(), date.toLocaleTimeString()].map((part) => part.replace(/\s/g, "\u00a0").replace(BREAKS, "\u2060")).join(", ");
}

export function count(value: number): string {
  return (value < 0 ? MINUS : "") + Math.abs(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

export function singular(things: string): string {
  return things.replace(/s$/, "");
}

// A number of things, whose name is given in the plural: "1 block", "2 blocks".
export function counted(value: number, things: string): string {
  return count(value) + " " + (Math.abs(value) === 1 ? singular(things) : things);
}

// An address, of which REST writes 16 digits.
export function hexadecimal(digits: string): string {
  return "0x" + digits.replace(/^0+(?=.)/, "").toLowerCase();
}

export function exactBytes(value: number): string {
  return counted(value, "bytes");
}

export function share(part: number, whole: number): string {
  if (!whole)
    return "\u2013";
  const percent = 100 * part / whole;
  return part && percent < 0.1 ? "< 0.1 %" : percent.toFixed(1) + " %";
}

// What the times of the trace on the page count.
let clock: Clock = null;

export function timesCount(what: Clock): void {
  clock = what;
}

export function duration(ns: number, of: Clock = clock): string {
  return of === "instructions" ? number(ns) + " instructions" : of === "bytes" ? bytes(ns) + " allocated or freed" : time(ns);
}

// As short as sizes are: "48.2 M".
function number(value: number): string {
  const step = value < 9999.5 ? 0 : value < 999.5e3 ? 1 : value < 999.5e6 ? 2 : value < 999.5e9 ? 3 : 4;
  return step ? `${three(value / 1000 ** step)} ${"kMGT"[step - 1]}` : count(Math.round(value));
}

function time(ns: number): string {
  if (ns < 1000)
    return ns ? ns.toFixed(0) + " ns" : "0 s";
  if (ns < 1e6)
    return three(ns / 1e3) + " \u00b5s";
  if (ns < 1e9)
    return three(ns / 1e6) + " ms";
  if (ns < 60e9)
    return three(ns / 1e9) + " s";
  const seconds = Math.floor(ns / 1e9), minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
  return hours ? `${hours} h ${String(minutes % 60).padStart(2, "0")} m`
               : `${minutes} m ${String(seconds % 60).padStart(2, "0")} s`;
}

// Times beside each other: as short as they may be while they differ.
export function instants(times: number[]): string[] {
  const differ = (texts: string[]): boolean => new Set(texts).size === new Set(times.map(Math.round)).size;
  const short = times.map((one) => duration(one)), most = Math.max(...times);
  if (differ(short))
    return short;
  if (clock)
    return times.map((one) => clock === "bytes" ? exactBytes(Math.round(one)) : counted(Math.round(one), clock!));
  const [unit, name, all] = most < 1e6 ? [1e3, "\u00b5s", 3] as const : most < 1e9 ? [1e6, "ms", 6] as const : [1e9, "s", 9] as const;
  for (let digits = 1; digits < all; digits++) {
    const texts = times.map((one) => `${(one / unit).toFixed(digits)} ${name}`);
    if (differ(texts))
      return texts;
  }
  return times.map((one) => `${(Math.round(one) / unit).toFixed(all)} ${name}`);
}

// A time in the syntax of filters: exact, and as short as possible. There, whatever times count is a ns.
export function filterTime(ns: number): string {
  const whole = Math.max(0, Math.round(ns));
  return clock ? whole + "ns" : whole % 1e9 === 0 ? whole / 1e9 + "s" : whole % 1e6 === 0 ? whole / 1e6 + "ms" : whole + "ns";
}

// The value of a filter for people.
export function filterValue(value: string): string {
  const counted = clock && /^(\d+)ns$/.exec(value);
  return counted ? duration(Number(counted[1])) : plain(value);
}

// Replaces control characters, marks of text direction and invisible characters by U+FFFD.
export function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g,
                      (sign) => sign === "\t" ? " " : "\ufffd");
}

// Shortens names of C++ and Rust: leaves out what is in the outermost brackets.
export function shortName(name: string): string {
  let result = "", depth = 0;
  const text = plain(name);
  for (let i = 0; i < text.length; i++) {
    const sign = text[i]!;
    const arrow = sign === ">" && text[i - 1] === "-";
    const operator = (sign === "<" || sign === ">" || sign === "(") && /operator[<>=-]*$/.test(text.slice(Math.max(0, i - 11), i));
    if ((sign === ">" || sign === ")") && !arrow && !operator && depth) {
      if (!--depth)
        result += (text[i - 1] === "(" ? "" : "\u2026") + sign;
      continue;
    }
    if (!depth)
      result += sign;
    if ((sign === "<" || sign === "(") && i && !operator)
      depth++;
  }
  return depth ? text : result;
}

// An offset in a file or an address, in place of a function without a name. Filters do not match it.
export function isUnnamed(name: string): boolean {
  return /(^|\+)0x[0-9a-f]+$/i.test(name);
}

// Splits a name into two parts. If there is little room, the first is cut, because names usually differ at the end.
export function halves(name: string): [string, string] {
  const end = Math.max(Math.ceil(name.length / 2), name.length - 12);
  return name.length < 16 ? ["", name] : [name.slice(0, end), name.slice(end)];
}

export function baseName(path: string): string {
  return plain(path.slice(path.lastIndexOf("/") + 1));
}

// Some files do not say which process they are of.
export function processName({ executable, path, pid }: { executable: string; path: string; pid: number }): string {
  return (baseName(executable) || baseName(path)) + (pid ? ` (${pid})` : "");
}

// A line of a source file. Names of files may end like one with a line, so they are joined for people only.
export interface Place { file: string; line?: number | null }

export function placeName({ file, line }: Place): string {
  return line ? `${file}:${line}` : file;
}
