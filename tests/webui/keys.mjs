// SPDX-License-Identifier: MIT OR Apache-2.0
// Keys for what is selected and for instants, and the density of rows.
import assert from "node:assert/strict";
import { boxBelow, settled } from "./browser.mjs";

export function keys({ page, view, programs }) {
  const of = () => programs.server, cpp = (name, query) => view(name, query, programs.cpp);
  const data = (what) => programs.server.json(`/data/${programs.cpp}/${what}`);
  const asked = (page) => new URLSearchParams(page.url().split("?")[1] ?? "");
  const has = (page, text) => page.waitForFunction((wanted) => decodeURIComponent(location.hash).includes(wanted), text);
  const hasNot = (page, text) => page.waitForFunction((wanted) => !decodeURIComponent(location.hash).includes(wanted), text);
  const total = async (page) => Number(await page.getAttribute(".view [data-bytes]", "data-bytes"));

  page("keys hide, zoom into and look up what is selected, in the picture and in the table", async (page, go) => {
    await go(cpp("overview"));
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open] .key-list tr");
    const listed = await page.locator("dialog .key-list kbd").allInnerTexts();
    for (const key of ["v", "[", "]", "Space", "d", "r", "F", "*"])
      assert.ok(listed.includes(key), key);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    const chosen = async (name) => {
      await go(cpp(name, "cost=allocated"));
      if (name === "tree") {
        await page.locator("button.node", { has: page.locator("[title^=main]") }).focus();
        return;
      }
      await page.focus(".flame-pane");
      for (let i = 0; i < 20 && !/^main:/.test(await page.locator(".said").innerText()); i++)
        await boxBelow(page, i + 1);
    };
    for (const name of ["flame", "tree"]) {
      await chosen(name);
      await page.keyboard.press("d");
      await has(page, "negative_function_regex=^main$");
      await settled(page);
      const { size } = await data("call_tree?cost=allocated&negative_function_regex=^main$");
      assert.ok(size > 0);
      assert.equal(await total(page), size, name);
      await chosen(name);
      await page.keyboard.press("v");
      await has(page, "/source?");
      assert.match(asked(page).get("file"), /program\.cc$/);
      assert.match(asked(page).get("ui.line"), /^\d+$/);
      await settled(page);
      assert.equal(await page.locator(".table tr.open").count(), 1);
      await chosen(name);
      await page.keyboard.press("F");
      await has(page, "ui.zoom=");
      await settled(page);
      assert.match(await page.locator(".crumbs [aria-current]").innerText(), /^main$/);
    }
    const first = page.locator(".view-tree tbody tr").first();
    assert.match(await first.innerText(), /\bmain\b/);
    assert.equal(await first.locator(".indent").textContent(), "");
    await first.locator("button.node").focus();
    const below = await page.locator(".view-tree tbody tr").count();
    await page.keyboard.press("*");
    await page.waitForFunction((before) => document.querySelectorAll(".view-tree tbody tr").length > before, below);
    assert.equal(await page.locator("button.node[aria-expanded=false]").count(), 0);
    await page.keyboard.press("r");
    await has(page, "collapse_recursion=true");
    await page.keyboard.press("r");
    await hasNot(page, "collapse_recursion");
  }, { of });

  page("[ and ] lead through marks, or through tenths of the time", async (page, go) => {
    const { duration_ns: end } = await data("summary");
    await go(cpp("flame"));
    for (const [key, tenth] of [["]", 1], ["]", 2], ["[", 1]]) {
      await page.keyboard.press(key);
      const at = Math.round(tenth * end / 10);
      await has(page, `at=${at % 1e9 === 0 ? at / 1e9 + "s" : at % 1e6 === 0 ? at / 1e6 + "ms" : at + "ns"}`);
    }
    await settled(page);
    const { size } = await data(`call_tree?cost=allocated&at=${Math.round(end / 10)}ns`);
    if (size)
      assert.equal(await total(page), size);
    else
      assert.match(await page.locator(".view .empty").innerText(), /no blocks/);
    const [one, other] = [0.3, 0.7].map((part) => Math.round(part * end / 2) * 2 + 1);
    const marks = [one, other].map((time_ns) => ({ time_ns, kind: "mark", text: null }));
    const summary = await data("summary");
    await page.route((url) => url.pathname.endsWith("/summary"), (route) => route.fulfill({ json: { ...summary, marks } }));
    await go(cpp("overview"));
    await page.reload();
    await settled(page);
    for (const [key, text] of [["[", other], ["[", one], ["]", other]]) {
      await page.keyboard.press(key);
      await has(page, `at=${text}ns`);
    }
  }, { of });

  page("rows can be close; the choice stays, and every row stays where it belongs", async (page, go) => {
    await go(cpp("blocks"));
    const high = () => page.locator(".table tbody tr:not(.space)").first().evaluate((row) => row.getBoundingClientRect().height);
    assert.equal(await high(), 24);
    await page.locator(".density select").selectOption("compact");
    await page.waitForFunction(() => document.querySelector(".table tbody tr:not(.space)").getBoundingClientRect().height === 20);
    await page.reload();
    await settled(page);
    assert.equal(await high(), 20);
    await page.focus(".table-pane");
    await page.keyboard.press("End");
    const { total_count: rows } = await data("allocations?count=1");
    await page.waitForFunction((last) => {
      const row = [...document.querySelectorAll(".table tbody tr:not(.space)")].find((one) => Number(one.getAttribute("aria-rowindex")) === last + 1), pane = document.querySelector(".table-pane");
      return row && !row.querySelector(".missing") && Math.abs(row.getBoundingClientRect().bottom - pane.getBoundingClientRect().bottom) < 40;
    }, rows);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator(".density").waitFor({ state: "hidden" });
    await page.waitForFunction(() => document.querySelector(".table tbody tr:not(.space)")?.getBoundingClientRect().height === 24);
  }, { of });
}
