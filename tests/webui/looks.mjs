// SPDX-License-Identifier: MIT OR Apache-2.0
// How views look: what they are is said, and no number is half covered.
import assert from "node:assert/strict";
import { drawn, settled } from "./browser.mjs";

export function looks({ page, view, programs }) {
  const of = () => programs.server, cpp = (name, query) => view(name, query, programs.cpp);

  page("every view says what it shows", async (page, go) => {
    await go(cpp("overview"));
    for (const title of await page.locator(".rail a").allInnerTexts()) {
      await page.locator(".rail a", { hasText: new RegExp(`^${title}$`) }).click();
      await page.waitForFunction((wanted) => document.querySelector("h1").textContent.startsWith(wanted + " of program"), title);
      assert.match(await page.locator(".about p").innerText(), /^[A-Z].{40,}[.]$/, title);
    }
    await go(cpp("flame", "ui.inverted=1"));
    assert.match(await page.locator(".about p").innerText(), /callers/);
  }, { of });

  page("no name covers a part of a number (390 pixels)", async (page, go) => {
    for (const name of ["functions", "source", "stacks", "blocks", "tree", "diff", "maps"]) {
      await go(cpp(name));
      const covered = await page.$$eval(".view tbody tr:not(.space)", (rows) => rows.flatMap((row) => {
        const edge = row.querySelector("td.wide")?.getBoundingClientRect().left ?? Infinity;
        return [...row.querySelectorAll("td.number")].filter((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          const { left, right } = range.getBoundingClientRect();
          return left < edge && right > edge;
        }).map((cell) => cell.innerText);
      }));
      assert.deepEqual(covered, [], name);
    }
  }, { of, viewport: { width: 390, height: 844 } });

  // Korean has spaces within both.
  page("no line breaks within a date or a time", async (page, go) => {
    await go(cpp("overview"));
    const started = page.locator(".view .faint", { hasText: "started" }).first();
    await started.waitFor();
    // Wherever the line ends: which numbers are in it depends on the day and the recording.
    for (let width = 390; width >= 60; width--) {
      const lines = await started.evaluate((element, to) => [/\d{4}\.\s\d+\.\s\d+\./, /[\p{L}\u2060]+\s\d+:\d+:\d+/u].map((pattern) => {
        element.style.width = to + "px";
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), range = document.createRange();
        for (let node; (node = walker.nextNode());) {
          const found = pattern.exec(node.data);
          if (!found)
            continue;
          range.setStart(node, found.index);
          range.setEnd(node, found.index + found[0].length);
          return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
        }
        return 0;
      }), width);
      assert.deepEqual(lines, [1, 1], `${width} pixels`);
    }
  }, { of, locale: "ko-KR", viewport: { width: 390, height: 844 } });

  page("no number is cut off (390 pixels)", async (page, go) => {
    const { rows: [{ key: file }] } = await programs.server.json(`/data/${programs.cpp}/totals?by=source&sort_by=self.allocated.bytes&order=dsc&count=1`);
    for (const [name, query] of [["functions"], ["source"], ["source", `cost=allocated&ui.lines=costly&file=${encodeURIComponent(file)}`], ["stacks"], ["blocks"]]) {
      await go(cpp(name, query));
      const cut = await page.$$eval(".table tbody td.number", (cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.innerText));
      assert.deepEqual(cut, [], `${name} ${query}`);
    }
  }, { of, viewport: { width: 390, height: 844 } });

  page("page-fault data that come late, and what is said of the strip, move nothing (390 pixels)", async (page) => {
    let release, isAsked;
    const held = new Promise((resolve) => { release = resolve; }), asked = new Promise((resolve) => { isAsked = resolve; });
    await page.route((url) => url.pathname.endsWith("/timeline_usage"), async (route) => (isAsked(), await held, route.continue()));
    await page.goto(programs.random.address + "/" + view("flame", "cost=allocated", programs.randomId));
    await asked;
    await settled(page, 1); // all the rest is there
    const top = () => page.locator(".flame canvas").evaluate((one) => one.getBoundingClientRect().top), before = await top();
    release();
    await page.locator(".instants a", { hasText: "resident peak" }).waitFor();
    await drawn(page);
    assert.equal(await top(), before);
    await page.locator(".strip canvas").hover();
    await page.locator(".strip-foot", { hasText: "at most" }).waitFor();
    assert.equal(await top(), before);
  }, { of: () => programs.random, viewport: { width: 390, height: 844 } });

  page("a flame stands on the bottom of its pane", async (page, go) => {
    await go(cpp("flame", "ui.up=1"));
    const box = await page.locator(".flame canvas").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height - 10);
    assert.match(await page.locator(".tip strong").innerText(), /^everything$/);
    await page.getByRole("link", { name: "Turn over" }).click();
    await page.waitForFunction(() => !location.hash.includes("ui.up"));
  }, { of });

  page("the picture stays as wide as it is, however long the name under the mouse", async (page, go) => {
    await go(view("flame", "cost=live", programs.hostileId));
    const canvas = page.locator(".flame canvas"), box = await canvas.boundingBox();
    let longest = 0;
    for (let row = 0; row < 8; row++)
      for (const part of [0.25, 0.75]) {
        await page.mouse.move(box.x + part * box.width, box.y + row * 20 + 10);
        await drawn(page);
        longest = Math.max(longest, await page.locator(".said").evaluate((one) => one.textContent.length));
        assert.equal((await canvas.boundingBox()).width, box.width);
      }
    assert.ok(longest > 10000, `${longest} letters`);
  }, { of: () => programs.hostile });

  page("a name that is cut off ends with a whole letter, whatever width its mark has alone", async (page, go) => {
    await page.addInitScript(() => {
      CanvasRenderingContext2D.prototype.measureText = (text) => ({ width: 7 * ([...text.replace(/\u0301/g, "")].length || 1) });
    });
    await go(view("treemap", "cost=live", programs.hostileId));
    for (const width of [1000, 1014, 1028, 1042]) {
      await page.setViewportSize({ width, height: 800 });
      await drawn(page);
      await settled(page);
      const cut = (await page.locator(".view svg text").allTextContents()).filter((text) => /^n\u0301.*\u2026$/.test(text));
      assert.ok(cut.length > 0, `${width} pixels`);
      assert.deepEqual(cut.filter((text) => !/^(n\u0301)+\u2026$/.test(text)), [], `${width} pixels`);
    }
  }, { of: () => programs.hostile });

  page("the row of what is open is marked, and one column says that it sorts", async (page, go) => {
    await go(cpp("stacks"));
    const row = page.locator(".table tbody tr:not(.space)").nth(1);
    await row.click();
    await page.waitForSelector(".side .frames li");
    assert.deepEqual(await page.locator(".table tbody tr.open").evaluateAll((all) => all.map((one) => one.getAttribute("aria-rowindex"))), [await row.getAttribute("aria-rowindex")]);
    await go(cpp("functions"));
    assert.equal(await page.locator(".table th[aria-sort]").count(), 1);
  }, { of });
}
