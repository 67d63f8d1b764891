// SPDX-License-Identifier: MIT OR Apache-2.0
// The page on paper, and pictures in another theme.
import assert from "node:assert/strict";
import { drawn } from "./browser.mjs";

const PICTURES = { flame: ".flame canvas", timeline: ".chart canvas", diff: ".flame canvas" };

export function paper({ page, view, programs }) {
  const address = (name) => view(name, name === "diff" ? "ui.shape=flame&base_at=20%25&at=70%25" : "", programs.randomId);
  // The brightest and the darkest colour of a picture, and its width for each pixel of the page.
  const looks = (page, picture) => page.locator(picture).first().evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let light = 0, boxes = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at + 3] === 255)
        boxes++, light += (data[at] + data[at + 1] + data[at + 2]) / 3;
    return { light: light / boxes, ratio: canvas.width / canvas.clientWidth, as: canvas.toDataURL() };
  });

  page("every view can be printed: its content is there, in light colours, without controls", async (page, go) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    for (const name of ["overview", "stacks", "timeline"]) {
      await go(address(name));
      assert.equal(await page.locator(".rail").isVisible(), false, name);
      assert.equal(await page.locator("header").isVisible(), false, name);
      assert.ok(await page.locator(".view").isVisible(), name);
      assert.match(await page.locator(".on-paper").innerText(), /^program \(\d+\).*no filter.*trace [0-9a-f]{12}/, name);
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), name);
    }
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    assert.equal(await page.locator(".on-paper").isVisible(), false);
  }, { of: () => programs.random });

  page("pictures on paper are light and fine, also of a dark page, which is dark again after that", async (page, go) => {
    for (const [name, picture] of Object.entries(PICTURES)) {
      await go(address(name));
      const before = await looks(page, picture);
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      await drawn(page);
      const printed = await looks(page, picture);
      await page.evaluate(() => dispatchEvent(new Event("afterprint")));
      await drawn(page);
      assert.ok(printed.ratio >= 1.99, `${name}: ${printed.ratio}`);
      if (name !== "timeline")
        assert.ok(printed.light > before.light + 40, `${name}: ${before.light} became ${printed.light}`);
      assert.equal((await looks(page, picture)).as, before.as, name);
    }
  }, { of: () => programs.random, colorScheme: "dark" });

  page("a flame graph is printed on one page, and a table with its head on each", async (page, go) => {
    const pages = async () => (await page.pdf({ preferCSSPageSize: true })).toString("latin1").match(/\/Type\s*\/Page\b/g).length;
    for (const name of ["flame", "diff"]) {
      await go(address(name));
      assert.equal(await pages(), 1, name);
    }
    await go(address("stacks"));
    await page.emulateMedia({ media: "print" });
    assert.ok((await page.locator(".table th").evaluateAll((all) => all.map((one) => getComputedStyle(one).position))).every((one) => one === "static"));
  }, { of: () => programs.random });

  page("every picture follows the theme", async (page, go) => {
    for (const [name, picture] of Object.entries(PICTURES)) {
      await go(address(name));
      const seen = [];
      for (const theme of ["light", "dark"]) {
        await page.selectOption("select[aria-label=Theme]", theme);
        await drawn(page);
        seen.push((await looks(page, picture)).as);
      }
      assert.notEqual(seen[0], seen[1], name);
    }
  }, { of: () => programs.random });
}
