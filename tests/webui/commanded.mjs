// SPDX-License-Identifier: MIT OR Apache-2.0
// What the tests of commands share: a program that is commanded, and the form on the page that commands it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

// Says that it runs, and waits until nobody speaks to it any more.
const PROGRAM = `#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    void *volatile block = malloc(12345);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    free(block);
}
`;

export function buildProgram(binary) {
  writeFileSync(binary + ".c", PROGRAM);
  execFileSync("gcc", ["-g", binary + ".c", "-o", binary]);
}

// Acts until the form at this place of the page answers as wanted; or presses a button of it. On a busy machine a connection may
// be lost for seconds: a command that was not carried out is given again.
export function commanding(page, place) {
  const form = page.locator(place);
  const until = async (act, wanted) => {
    const others = [];
    while (others.length < 100) {
      const before = Number(await form.getAttribute("data-answered"));
      await act();
      const [said, failed] = await (await page.waitForFunction(([number, place]) => {
        const one = document.querySelector(place);
        return Number(one?.dataset.answered) > number && [one.querySelector("[role=status], [role=alert]").textContent, !!one.querySelector("[role=alert]")];
      }, [before, place])).jsonValue();
      if (wanted.test(said))
        return;
      others.push(said);
      if (!failed)
        break;
    }
    assert.fail(`${wanted}: ${others.join("; ")}`);
  };
  return { form, until, press: (name, wanted) => until(() => form.getByRole("button", { name }).click(), wanted) };
}
