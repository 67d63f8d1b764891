// SPDX-License-Identifier: MIT OR Apache-2.0
// Words of commands that people copy into a shell.

export const quoted = (text: string): string => /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";

// Parameters of REST as options, which have the same names.
export function optionsOf(parameters: Iterable<[string, string | undefined]>): string[] {
  return [...parameters].flatMap(([name, value]) => value === undefined ? [] : value === "true" && name === "collapse_recursion"
    ? ["--collapse-recursion"] : [`--${name.replace(/_/g, "-")} ${quoted(value)}`]);
}

// undefined: the text contains characters that are unsafe in a terminal.
export function command(words: string[]): string | undefined {
  const text = words.filter(Boolean).join(" ");
  return /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(text) ? undefined : text;
}
