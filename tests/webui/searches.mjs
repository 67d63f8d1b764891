// SPDX-License-Identifier: MIT OR Apache-2.0
// Searches ask for everything, not only for what is on the page.
import assert from "node:assert/strict";
import { rowsAre, settled } from "./browser.mjs";

export function searches({ page, view, count, programs }) {
  const of = () => programs.server, python = (name) => view(name, "cost=allocated", programs.python);
  const data = (what) => programs.server.json(`/data/${programs.python}/${what}`);
  const names = (page) => page.$$eval(".view tbody .name", (all) => all.map((one) => one.title || one.textContent));

  // A function with so little that it is on no page and in no box with a name.
  const rarest = async () => {
    const { rows, sum } = await data("totals?by=function&sort_by=total.allocated.bytes&order=asc&count=200");
    const { key, total } = rows.find((row) => /^\w{6,}$/.test(row.key));
    assert.ok(total.allocated[0] < sum.allocated[0] / 1000, key);
    return key;
  };

  // Either of them, in a page whose search has not the focus.
  const search = async (page, name) => {
    for (const keys of ["/", "Control+f"]) {
      await page.focus("#main");
      assert.notEqual(await page.evaluate(() => document.activeElement.type), "search", name);
      await page.keyboard.press(keys);
      assert.equal(await page.evaluate(() => document.activeElement.type), "search", `${name} ${keys}`);
    }
  };

  page("A11: / and Control+f find what is not on the page, and count it", async (page, go) => {
    const key = await rarest(), filter = `function_regex=(?i)${key}`;
    for (const [name, endpoint, condition] of [["functions", "totals?by=function", `contains=${key}`], ["stacks", "allocation_groups?frames=none", filter], ["blocks", "allocations?frames=none", filter]]) {
      await go(python(name));
      assert.ok(!(await names(page)).includes(key), name);
      await search(page, name);
      await page.keyboard.type(key);
      const { total_count: found } = await data(`${endpoint}&count=1&${condition}`), { total_count: all } = await data(`${endpoint}&count=1`);
      assert.ok(found > 0 && found < all, `${name}: ${found} of ${all}`);
      await rowsAre(page, count(found));
      await settled(page);
      assert.ok(name !== "functions" || (await names(page)).includes(key), key);
    }
    for (const name of ["flame", "tree"]) {
      await go(python(name));
      await search(page, name);
      await page.keyboard.type(key);
      const { size } = await data(`call_tree?cost=allocated&${filter}`);
      await page.waitForFunction((sum) => Number(document.querySelector(".found")?.dataset.size) === sum, size);
      await page.waitForSelector(".hits");
    }
  }, { of });
}
