// SPDX-License-Identifier: MIT OR Apache-2.0
// What the pages of earlier recorders had, and what holds for every view.
import assert from "node:assert/strict";
import { settled } from "./browser.mjs";

export function floor({ page, view, programs }) {
  const data = (what) => programs.random.json("/data/last/" + what);
  const hash = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
  const most = (numbers) => Math.max(...numbers.slice(0, -1), 0);

  page("a block says who allocated, reallocated and freed it, and is an address; a stack says what it did", async (page, go) => {
    const { allocations: blocks } = await data("allocations?count=1000&frames=none");
    const block = blocks.find((one) => one.deallocation?.backtrace_id && one.chain_deallocation?.backtrace_id), address = "0x" + block.address_s.replace(/^0+/, "").toLowerCase();
    const there = `address_min=${address}&address_max=${address}`, all = blocks.filter((one) => one.address === block.address);
    await go(view("blocks", there + "&sort_by=timestamp&order=asc"));
    const row = page.locator(".table tbody tr:not(.space)").nth(all.indexOf(block));
    const place = `${block.position_in_chain + 1} of ${block.chain_length}`;
    assert.deepEqual((await row.locator("td").allInnerTexts()).slice(5, 7), [place, "main heap"]);
    await row.click();
    await settled(page);
    const said = await page.locator(".side").innerText();
    for (const text of [address, `${block.usable_size.toLocaleString("en")} bytes usable`, `by thread ${block.thread}`, place, `freed by thread ${block.deallocation.thread}`, `freed by thread ${block.chain_deallocation.thread}`])
      assert.ok(said.includes(text), `${text} in ${said}`);
    const stacks = page.locator(".side .stack");
    for (const [at, id] of [block.backtrace_id, block.deallocation.backtrace_id, block.chain_deallocation.backtrace_id].entries()) {
      const frames = await data(`backtrace/${id}`);
      assert.equal(await stacks.nth(at).locator("li").count(), (frames.frames ?? frames.backtrace ?? frames).length);
    }
    await page.reload();
    await settled(page);
    assert.equal(await page.locator(".side").innerText(), said);
    assert.equal(await page.locator(".table tr.open").count(), 1);
    await stacks.nth(1).getByRole("link", { name: "Its blocks" }).click();
    await settled(page);
    assert.equal(hash(page).get("deallocation_backtraces"), String(block.deallocation.backtrace_id));
    const { total_count: total } = await data(`allocations?${there}&deallocation_backtraces=${block.deallocation.backtrace_id}&count=1`);
    assert.match(await page.locator(".table .foot").innerText(), new RegExp(`of ${total}\\b`));
    await page.goBack();
    await settled(page);
    await page.getByRole("link", { name: "Blocks at this address" }).click();
    await settled(page);
    assert.match(await page.locator(".table .foot").innerText(), new RegExp(`of ${all.length}\\b`));
    assert.equal(await page.locator(".side").count(), 0);

    // A stack says what it did in the whole recording, whatever is filtered.
    await go(view("stacks", "size_min=100"));
    await page.locator(".table tbody tr:not(.space)").first().click();
    await settled(page);
    const id = hash(page).get("ui.stack");
    const { allocations: [{ all: whole }] } = await data(`allocation_groups?backtraces=${id}&count=1&frames=none`), { end_size: sizes } = await data(`timeline?backtraces=${id}&width=120`);
    const shown = await page.$eval(".whole-group", (one) => [Number(one.dataset.bytes), Number(one.dataset.count)]);
    assert.deepEqual(shown, [whole.size, whole.allocated_count]);
    assert.equal(Number(await page.getAttribute(".side .over-time", "data-most")), Math.max(...sizes));
  }, { of: () => programs.random });

  page("mapped and resident memory and holes over time are REST's", async (page, go) => {
    const chart = async (name) => Number(await page.locator(".chart", { hasText: name }).getAttribute("data-most"));
    for (const range of ["", "from=20%25&to=70%25"]) {
      await go(view("timeline", range));
      const { address_space: mapped, rss } = await data(`timeline_maps?width=600&${range}`);
      assert.deepEqual([await chart("Mapped memory"), await chart("Resident memory")], [most(mapped), most(rss)]);
    }
    await page.getByText("Holes of the main heap").click();
    await page.locator(".chart", { hasText: "Memory lost to holes" }).waitFor();
    assert.equal(await chart("Memory lost to holes"), Math.max(...(await data("fragmentation_timeline")).fragmentation));
  }, { of: () => programs.random });

  page("mappings are chosen by what was resident of them, and by who made them", async (page, go) => {
    await go(view("maps"));
    const { maps } = await data("maps"), sizes = maps.map((one) => one.peak_rss).sort((a, b) => a - b), between = [sizes[2], sizes[sizes.length >> 1]];
    const wanted = maps.filter((one) => one.peak_rss > between[0] && one.peak_rss < between[1]);
    assert.ok(wanted.length > 0 && wanted.length < maps.length);
    await page.getByLabel("resident more than").fill(`${between[0] / 1024}K`);
    await page.getByLabel("less than").fill(String(between[1])); // this makes the first a part of the address
    await page.getByLabel("less than").press("Enter");
    await page.waitForFunction(() => /ui\.peak_rss_min=.*ui\.peak_rss_max=/.test(location.hash));
    await settled(page);
    assert.match(await page.locator(".table .foot").innerText(), new RegExp(`of ${wanted.length}\\b`));
    await go(view("maps", "ui.peak_rss_min=nonsense"));
    assert.match(await page.locator(".table [role=alert]").innerText(), /^peak_rss_min: 'nonsense' is not a whole number/);
    for (const [word, wanted] of [["no", maps.length], ["yes", 0]]) {
      await go(view("maps", "jemalloc=" + word));
      assert.equal(await page.locator(".table tbody tr:not(.space)").count() > 0, wanted > 0, word);
    }
  }, { of: () => programs.random, refused: [400] });

  page("what is in a mapping is a picture that leads to its blocks", async (page, go) => {
    const heap = await data("address_map?lifetime=only_leaked"), start = Math.floor((heap.start + heap.end) / 2);
    // glibc's mappings are not recorded: one of the trace gets the place of the heap's second half.
    const of = { ...await data("map/0"), address_s: start.toString(16).padStart(16, "0"), size: heap.end - start, blocks: { peak: [0, 0], live: [0, 0], allocated: [1, 1], temporary: [0, 0] } };
    await page.route((url) => url.pathname.endsWith("/map/0"), (route) => route.fulfill({ json: of }));
    await go(view("maps", "ui.map=0"));
    const range = `from_address=${start}&to_address=${heap.end}`, { used_size: used } = await data(`address_map?lifetime=only_leaked&width=150&${range}`);
    assert.ok(used > 0);
    assert.equal(Number(await page.getAttribute(".mapping [data-used]", "data-used")), used);
    await page.locator(".mapping").getByRole("link", { name: "Blocks in this range" }).click();
    await settled(page);
    assert.deepEqual(["address_min", "address_max", "lifetime"].map((name) => hash(page).get(name)), [start, heap.end].map((at) => "0x" + at.toString(16)).concat("only_leaked"));
  }, { of: () => programs.random });

  page("a row without rows below it opens its actions", async (page, go) => {
    for (const [name, query] of [["tree", "cost=allocated"], ["diff", "base_at=0%25&at=100%25"]]) {
      await go(view(name, query));
      const leaf = page.locator("button.node[aria-haspopup]").first();
      for (; !await leaf.count(); await settled(page))
        await page.locator("button.node[aria-expanded=false]").first().click();
      await leaf.click();
      const menu = page.locator(".menu");
      await menu.waitFor();
      const [of, below] = await Promise.all([leaf.boundingBox(), menu.boundingBox()]);
      assert.ok(below.x >= of.x && (below.y >= of.y + of.height - 1 || below.y + below.height >= 880), name);
      await page.keyboard.press("Escape");
      await menu.waitFor({ state: "detached" });
    }
  }, { of: () => programs.random });

  const fits = async (page, name) => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);

  page("every view fits a phone, and is the same after Back, some also after a reload and Forward", async (page, go) => {
    const shown = async () => {
      await settled(page);
      return page.locator("main").innerText();
    };
    const texts = [];
    await go(view("overview", "size_min=100"));
    const [row] = await programs.random.json("/list");
    await page.locator(".overview", { hasText: `at most ${row.maximum_backtrace_depth} frames deep` }).waitFor();
    for (const name of programs.views) {
      await page.locator(`.rail a[href^="${view(name)}?"]`).click();
      texts.push(await shown());
      await fits(page, name);
    }
    assert.equal(new Set(texts).size, texts.length);
    for (let i = texts.length - 2; i >= 0; i--) {
      await page.goBack();
      assert.equal(await shown(), texts[i], programs.views[i]);
      if (i % 6)
        continue;
      await page.reload();
      assert.equal(await shown(), texts[i], `${programs.views[i]}, read again`);
      await page.goForward();
      assert.equal(await shown(), texts[i + 1], `${programs.views[i + 1]}, forward`);
      await page.goBack();
      await settled(page);
    }
  }, { of: () => programs.random, viewport: { width: 390, height: 844 } });

  page("what is chosen is seen in colours of the user, and pages fit at twice the size", async (page, go) => {
    for (const name of [view("overview"), view("flame"), view("maps", "ui.map=0"), view("stacks", "ui.stack=1")]) {
      await go(name);
      await fits(page, name);
      // Colours of the user take backgrounds away, which say what is chosen otherwise.
      assert.ok(await page.$$eval(".rail a[aria-current], .choice > [aria-current=true]", (all) => all.length > 0 && all.every((one) => parseFloat(getComputedStyle(one).borderTopWidth) >= 2)), name);
    }
  }, { of: () => programs.random, viewport: { width: 720, height: 450 }, forcedColors: "active" });
}
