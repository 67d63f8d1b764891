// SPDX-License-Identifier: MIT OR Apache-2.0
// Lines of source files: where a file is opened, names of files that end like a line, and the lines behind wrappers.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { get, open, serve, settled } from "./browser.mjs";

const PADDING = 200, TABLE_ROWS = 1000;

// What allocates the most bytes and the most blocks is far below the beginning; one function is in a file with an odd name.
const sourceOf = (odd) => `#include <cstdlib>
#include <string>
#include <vector>
static void *volatile kept;
${"//\n".repeat(PADDING)}
__attribute__((noinline)) static void large() { kept = malloc(1000000); }
${"//\n".repeat(PADDING)}
__attribute__((noinline)) static void many() { for (int i = 0; i < 500; i++) kept = malloc(10); }
__attribute__((noinline)) static void letters() { kept = new std::string(5000, 'a'); }
__attribute__((noinline)) static void numbers() { kept = new std::vector<int>(6000); }
void odd();
int main() { large(); many(); letters(); numbers(); odd(); }
#line 7 "${odd}"
__attribute__((noinline)) void odd() { kept = malloc(2345); }
`;

export function lines({ view, inFolder, browser, record, programs }) {
  const name = inFolder("lines.cc"), odd = inFolder("part.cc:12"), text = sourceOf(odd).split("\n");
  const lineOf = (part) => text.findIndex((line) => line.includes(part)) + 1;
  let served;

  // One trace for all tests of this file.
  async function server() {
    if (!served) {
      writeFileSync(name, text.join("\n"));
      served = await serve("--source", programs.folder, record("lines.dat", name));
      [{ id: served.id }] = await served.json("/list");
    }
    return served;
  }
  after(() => served?.stop());

  function page(title, run, options) {
    test(title, async () => {
      const on = await server(), { page, context, wrong } = await open(browser(), on, options);
      const go = async (view_, query) => {
        await page.goto(`${on.address}/${view(view_, query, on.id)}`);
        await settled(page);
      };
      try {
        await run(page, go, (what) => on.json(`/data/${on.id}/${what}`));
        assert.deepEqual(wrong, []);
      } finally {
        await context.close();
      }
    });
  }

  // Until the row at this position is the current one, and visible.
  const isAt = (page, position, part) => page.waitForFunction(([index, text]) => {
    const row = document.querySelector(".table tr.at"), pane = document.querySelector(".table-pane").getBoundingClientRect(), box = row?.getBoundingClientRect();
    return row && Number(row.getAttribute("aria-rowindex")) === index && row.textContent.includes(text) && box.top >= pane.top && box.bottom <= pane.bottom;
  }, [position + 2, part]);

  page("a source file is opened at the line with the most cost", async (page, go) => {
    const file = "&file=" + encodeURIComponent(name);
    await go("source", "cost=allocated" + file);
    await isAt(page, lineOf("malloc(1000000)") - 1, "malloc(1000000)");
    await page.locator("[aria-label=Unit] a", { hasText: "Blocks" }).click();
    await isAt(page, lineOf("malloc(10)") - 1, "malloc(10)");
    await go("source", "cost=allocated&ui.line=3" + file);
    await isAt(page, 2, "#include <vector>");
    await page.getByRole("searchbox", { name: "Search in this file" }).fill("__attribute__");
    await isAt(page, 0, "malloc(1000000)");
    // Of the lines with costs, too.
    await go("source", "cost=allocated&ui.lines=costly&ui.unit=count" + file);
    const costly = await page.$$eval(".table tbody tr:not(.space)", (all) => all.map((row) => Number(row.cells[0].textContent)));
    await isAt(page, costly.indexOf(lineOf("malloc(10)")), "malloc(10)");
  });

  for (const [width, height] of [[390, 844], [768, 1024]])
    page(`a source file is opened at that line, too, on a screen of ${width} by ${height}`, async (page, go) => {
      await go("source", "cost=allocated&file=" + encodeURIComponent(name));
      await isAt(page, lineOf("malloc(1000000)") - 1, "malloc(1000000)");
      // Only what is visible is drawn, and whoever scrolls stays there.
      assert.ok(await page.locator(".table tbody tr").count() < 150);
      const pane = page.locator(".table-pane");
      await pane.hover();
      await page.mouse.wheel(0, -1e6);
      await page.waitForFunction(() => document.querySelector(".table-pane").scrollTop === 0);
      await page.setViewportSize({ width, height: height - 100 });
      await settled(page);
      assert.equal(await pane.evaluate((one) => one.scrollTop), 0);
    }, { viewport: { width, height } });

  page("a file whose name ends like one with a line is that file", async (page, go, data) => {
    const { rows } = await data("totals?by=source&cost=allocated");
    const size = rows.find((row) => row.key === odd).self.allocated[0];
    assert.equal(size, 2345);
    const leads = async (line) => {
      await page.waitForFunction(([file, line]) => {
        const asked = new URLSearchParams(location.hash.split("?")[1]);
        return location.hash.includes("/source?") && asked.get("file") === file && asked.get("ui.line") === line;
      }, [odd, line]);
      await settled(page);
      assert.equal(Number(await page.getAttribute("[data-own]", "data-own")), size);
    };
    await go("source", "cost=allocated");
    await page.locator(".table tbody tr", { hasText: "part.cc:12" }).click();
    await leads(null);
    for (const by of ["source", "line"]) {
      await go("functions", `cost=allocated&by=${by}&contains=part.cc`);
      if (by === "line")
        await page.locator(".table tbody tr", { hasText: "part.cc:12:7" }).click();
      else {
        await page.locator(".table tbody tr", { hasText: "part.cc:12" }).click({ button: "right" });
        await page.getByRole("menuitem", { name: "Show the lines of its file" }).click();
      }
      await leads(by === "line" ? "7" : null);
    }
    await go("treemap", "cost=allocated&ui.library=%3Dof-lines.dat&ui.function=%3Dodd()");
    await page.locator("[data-of=site] a", { hasText: "part.cc:12:7" }).click();
    await leads("7");
    await go("stacks", "function_regex=odd");
    await page.locator(".table tbody tr:not(.space)").first().click();
    await page.locator(".frames a", { hasText: "part.cc:12:7" }).first().click();
    await leads("7");
    // The selected box of the tree.
    await go("flame", "cost=allocated&function_regex=%5Eodd&root_function=%5Eodd&ui.sel=0");
    await page.locator(".inspector a", { hasText: "part.cc:12:7" }).click();
    await leads("7");
  });

  page("areas are of the lines that requested memory, and not of the standard library's", async (page, go, data) => {
    await go("treemap", "cost=allocated&ui.library=%3Dof-lines.dat");
    const shown = await page.$$eval("[data-of=function]", (all) => all.map((one) => [one.querySelector("a").title, Number(one.dataset.size)]));
    const of = (part) => shown.find(([name]) => name.startsWith(part))?.[1];
    assert.ok(of("letters()") > 5000 && of("numbers()") > 24000, shown.join());
    assert.equal(of("large()"), 1000000);
    assert.ok(shown.every(([name]) => !/^std::|operator new|allocate/.test(name)), shown.join());
    // As the lines of the server; by call site it is the standard library's.
    const rowsOf = async (by) => (await data(`totals?by=${by}&cost=allocated`)).rows.filter((row) => row.library === "of-lines.dat");
    const sums = new Map();
    for (const row of await rowsOf("requester_line"))
      sums.set(row.key, (sums.get(row.key) ?? 0) + row.self.allocated[0]);
    assert.deepEqual(new Map(shown), sums);
    assert.ok((await rowsOf("site")).some((row) => /^std::|allocate|operator new/.test(row.key)));
  });

  page("a table of more parts than it has rows says so", async (page, go) => {
    const parts = TABLE_ROWS + 234, found = 34567;
    await page.route((url) => url.pathname.endsWith("/totals") && url.search.includes("requester_line"), async (route) => {
      const answer = (await get(route.request().url())).json(), { rows: [row], sum: { allocated } } = answer;
      const rows = Array.from({ length: parts }, (_, i) => ({ ...row, key: `part ${i}`, self: { allocated: [1, 1] } }));
      await route.fulfill({ json: { ...answer, sum: { allocated: [allocated[0] + parts, allocated[1] + parts] }, rows, total_count: found } });
    });
    await go("treemap", "cost=allocated&ui.library=%3Dof-lines.dat");
    assert.deepEqual(await page.locator(".treemap-pane .note").allInnerTexts(),
      ["These are the 1,000 functions with the most, of 1,234.", "Only the 1,234 lines that requested the most are added up, of 34,567."]);
    assert.equal(await page.locator("[data-of=function]").count(), TABLE_ROWS);
    await page.unrouteAll({ behavior: "wait" });
    await go("treemap", "cost=live");
    assert.equal(await page.locator(".treemap-pane .note").count(), 0);
  });
}
