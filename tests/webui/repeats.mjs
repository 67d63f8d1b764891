// SPDX-License-Identifier: MIT OR Apache-2.0
// A question that gets no answer, although the server is there, is asked again by the page itself, a few times.
import assert from "node:assert/strict";
import { drawn, settled } from "./browser.mjs";

const REPEATS = 5, LONGEST = 8000;
const ALERT = "main [role=alert]", SAID = /does not respond.*The page tries again automatically/s;
// A part of the page with its own request, and a table, whose rows come in pages.
const PARTS = { call_tree: ["flame", ".flame canvas[data-ready]"], allocations: ["blocks", ".view-blocks .table tbody tr:not(.space) td.number"] };

export function repeats({ page, view, programs }) {
  const of = () => programs.random;

  for (const [endpoint, [name, there]] of Object.entries(PARTS)) {
    const isIt = (url) => url.pathname.endsWith("/" + endpoint);

    page(`${endpoint} that fails while the server is there is asked again without a click`, async (page, go) => {
      let fails = 2;
      await page.route(isIt, (route) => fails-- > 0 ? route.abort() : route.continue());
      await page.goto(of().address + "/" + view(name, "", programs.randomId));
      await page.waitForSelector(there);
      await settled(page);
      assert.ok(fails < 0);
      assert.equal(await page.locator(ALERT).count(), 0);
    }, { of });

    page(`${endpoint} that fails again and again is given up; Retry begins anew`, async (page) => {
      let asked = 0, fails = true;
      await page.clock.install();
      await page.route(isIt, (route) => (asked++, fails ? route.abort() : route.continue()));
      await page.goto(of().address + "/" + view(name, "", programs.randomId));
      await page.locator(ALERT, { hasText: SAID }).waitFor();
      const last = page.locator(ALERT, { hasText: /does not respond/, hasNotText: "automatically" });
      for (let retries; !await last.count(); assert.equal(retries, 1)) {
        retries = await page.locator(ALERT).getByRole("button", { name: "Retry" }).count();
        await page.clock.fastForward(LONGEST);
        await drawn(page);
      }
      assert.equal(asked, 1 + REPEATS);
      await page.clock.fastForward(10 * LONGEST);
      await drawn(page);
      assert.equal(asked, 1 + REPEATS);
      fails = false;
      await page.locator(ALERT).getByRole("button", { name: "Retry" }).click();
      await page.waitForSelector(there);
      assert.equal(await page.locator(ALERT).count(), 0);
    }, { of });
  }
}
