// SPDX-License-Identifier: MIT OR Apache-2.0
// A report that is one file has its answers in itself: packed with gzip, by the address of the question.

interface Report {
  about: { trace: string; file: string };
  answers: Record<string, string>;
  left_out: string[];
}

function read(): Report | undefined {
  const text = document.getElementById("report")?.textContent;
  return text ? JSON.parse(text) as Report : undefined;
}

// Not there: the page was loaded from a server.
export const report = read();

// The text of the answer; undefined: the report does not have it.
export async function answerOf(one: Report, path: string): Promise<string | undefined> {
  const packed = Object.hasOwn(one.answers, path) ? one.answers[path] : undefined;
  if (packed === undefined)
    return undefined;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

export function absence(one: Report): string {
  return `This report does not contain the answer. 'heapsonde server ${one.about.file}' has all of them.`;
}
