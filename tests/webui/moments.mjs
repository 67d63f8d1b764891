// SPDX-License-Identifier: MIT OR Apache-2.0
// What the page does between two pictures: before the first one, while an answer is on its way, and while someone types.
import assert from "node:assert/strict";
import { drawn, onceThere, settled } from "./browser.mjs";

export function moments({ page, view, programs }) {
  const of = () => programs.server, cpp = (name, query) => view(name, query, programs.cpp);

  page("keys work as soon as they are drawn", async (page, go) => {
    await onceThere(page, "button.keys", () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true, cancelable: true })));
    await go(cpp("overview"));
    assert.equal(await page.locator("dialog[open] .key-list").count(), 1);
  }, { of });

  page("keys lead to views before the trace is there", async (page) => {
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route((url) => url.pathname.endsWith("/summary"), async (route) => (await held, route.continue()));
    await page.goto(programs.server.address + "/" + cpp("overview"));
    await page.waitForSelector("button.keys");
    for (const key of ["g", "m"])
      await page.keyboard.press(key);
    await page.waitForFunction(() => location.hash.includes("/maps"));
    release();
    await settled(page);
    assert.equal(await page.locator(".view-maps").count(), 1);
  }, { of });

  page("Ctrl-K leads into the search, however late the view is drawn", async (page, go) => {
    // The page hears of its new address after many pictures, each of which takes ten seconds of its clock.
    await page.addInitScript(() => {
      const now = performance.now.bind(performance);
      performance.now = () => now() + 10000 * (window.pictures ?? 0);
      const late = (event) => {
        if (!event.isTrusted || !location.hash.includes("/functions"))
          return;
        event.stopImmediatePropagation();
        if (event.type === "hashchange")
          return;
        window.pictures = 0;
        const wait = () => ++window.pictures < 20 ? requestAnimationFrame(wait) : dispatchEvent(new HashChangeEvent("hashchange"));
        requestAnimationFrame(wait);
      };
      for (const name of ["popstate", "hashchange"])
        addEventListener(name, late);
    });
    await go(cpp("overview"));
    await page.keyboard.press("Control+k");
    await page.waitForFunction(() => document.querySelector(".view-functions .search"));
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.equal(await page.evaluate(() => document.activeElement.className), "search");
  }, { of });

  // Acts in one task of the page, one after the other: what follows from each without a picture is done before the next.
  const atOnce = (page, ...acts) => page.evaluate(`(async () => {
    const one = (selector, text = "") => [...document.querySelectorAll(selector)].find(({ textContent }) => textContent.includes(text));
    const tell = (element, kind, name, more = {}) => element.dispatchEvent(new window[kind](name, { bubbles: true, cancelable: true, ...more }));
    const key = (element, key) => tell(element, "KeyboardEvent", "keydown", { key });
    const enter = (element, value, name) => (element.value = value, tell(element, "Event", name));
    let said;
    for (const act of [${acts.join()}])
      said = act(), await null;
    return said;
  })()`);

  page("an action begins from what the one before it chose, however soon it comes", async (page, go) => {
    const { thread_list: [, { thread }] } = await programs.server.json(`/data/${programs.cpp}/summary`);
    await go(cpp("flame"));
    await atOnce(page, () => one(".controls a", "Allocated").click(), () => one(".controls a", "Blocks").click(), `() => enter(one(".threads select"), "${thread}", "change")`,
      () => enter(one("select[aria-label=Recursion]"), "1", "change"), () => key(document.body, "i"), () => one("a.button", "Turn over").click());
    const asked = new URLSearchParams(page.url().split("?")[1]), wanted = { cost: "allocated", "ui.unit": "count", thread: String(thread), collapse_recursion: "true", "ui.inverted": "1", "ui.up": "1" };
    assert.deepEqual(Object.fromEntries(Object.keys(wanted).map((name) => [name, asked.get(name)])), wanted);
    await settled(page);
    // What a click leads to has the next key, and the place that is asked for has what is typed.
    assert.ok(await atOnce(page, () => one(".rail a", "Call tree").click(), () => key(document.body, "u"), () => tell(document.body, "KeyboardEvent", "keydown", { key: "k", ctrlKey: true }),
      () => document.activeElement.matches(".view-functions .search")));
    assert.ok(!page.url().includes("ui.unit"), page.url());
  }, { of });

  page("dialogs have the keys as soon as they are opened, and the page as soon as they are closed", async (page, go) => {
    const focused = () => [document.querySelectorAll("dialog").length, document.activeElement.textContent];
    for (const [opener, end] of [["+ Add", "Cancel"], ["?", "Close"]]) {
      await go(cpp("stacks"));
      const button = page.locator("button", { hasText: opener });
      await button.focus();
      assert.equal(await atOnce(page, `() => one("button", "${opener}").click()`, () => document.activeElement.closest("dialog[open]") !== null), true, opener);
      await page.locator("dialog input, dialog textarea").first().focus();
      assert.deepEqual(await atOnce(page, `() => one("dialog button", "${end}").click()`, focused), [0, opener]);
      await button.click();
      await page.locator("dialog input, dialog textarea").first().focus();
      // Escape: after what the page does about it.
      await page.evaluate(() => document.querySelector("dialog").addEventListener("cancel", async () => {
        await null;
        window.after = [document.querySelectorAll("dialog").length, document.activeElement.textContent];
      }));
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog", { state: "detached" });
      assert.deepEqual(await page.evaluate(() => window.after), [0, opener]);
    }
  }, { of });

  page("after a menu, the next key is for what had the focus before", async (page, go) => {
    for (const [name, query, place] of [["tree", "cost=allocated", "button.node"], ["diff", "base_at=0%25&at=100%25", "button.node"], ["flame", "cost=allocated", ".flame-pane"], ["functions", "cost=allocated", ".table-pane"]]) {
      await go(cpp(name, query));
      await page.locator(place).nth(name === "tree" ? 1 : 0).focus(); // nothing is done to everything
      for (const end of ["Escape", "Tab"]) {
        await page.keyboard.press(".");
        await page.waitForFunction(() => document.activeElement.closest(".menu"));
        assert.equal(await atOnce(page, `() => key(document.activeElement, "${end}")`, `() => document.activeElement.matches("${place}")`), true, `${name} ${end}`);
      }
    }
    // Where browsers offer no clipboard, what is copied is selected first.
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await page.keyboard.press(".");
    await page.waitForFunction(() => document.activeElement.closest(".menu"));
    assert.equal(await atOnce(page, () => one(".menu button", "Copy").click(), () => document.activeElement.className), "table-pane");
  }, { of });

  page("a menu that lost its first action, and then its tree, leaves the next key to what had the focus before", async (page, go) => {
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await go(cpp("flame", "cost=allocated"));
    await page.route((url) => url.pathname.endsWith("/call_tree"), async (route) => (await held, route.continue()));
    await page.focus(".flame-pane");
    await page.keyboard.press(".");
    await page.waitForFunction(() => document.activeElement.closest(".menu"));
    await page.evaluate(() => { location.hash = location.hash.replace("allocated", "peak"); });
    await page.waitForSelector(".pane.stale");
    release();
    await settled(page);
    assert.equal(await page.evaluate(() => document.activeElement.className), "flame-pane");
  }, { of });

  page("what comes before the next picture is not lost to what was drawn before", async (page, go) => {
    await go(cpp("tree", "cost=allocated"));
    await atOnce(page, () => tell(one("button.node", "main"), "MouseEvent", "contextmenu"), () => tell(document.body, "PointerEvent", "pointerdown"));
    assert.equal(await page.locator(".menu").count(), 0, "a menu goes with the next click");
    await go(cpp("flame", "cost=allocated"));
    await atOnce(page, () => one(".controls a", "Blocks").click(), () => key(one(".strip canvas"), "ArrowRight"));
    await drawn(page);
    assert.equal(await page.locator(".meanings").count(), 1, "a range stays");
    await atOnce(page, () => one(".controls a", "Bytes").click(), () => one(".controls a", "Blocks").click());
    await drawn(page);
    assert.equal(await page.locator(".meanings").count(), 0, "a range does not come back");
    await go(cpp("flame", "cost=allocated&ui.search=e"));
    await atOnce(page, () => key(one(".view .search"), "Enter"), () => enter(one(".view .search"), "ev", "input"));
    await drawn(page);
    assert.match(page.url(), /ui\.search=ev&ui\.sel=/);
    await go(cpp("blocks", "function_regex=%28%3Fi%3Amain%29&ui.search=main"));
    await atOnce(page, () => one("a.chip").click(), () => enter(one(".view .search"), "od", "input"));
    await drawn(page);
    assert.equal(await page.locator(".view .search").inputValue(), "od");
    await go(view("diff", "", programs.cpp));
    await atOnce(page, () => one(".choice a", "After the start").click(), () => enter(one("[aria-label='What differs']").closest(".view").querySelector("input"), "33%", "input"));
    await drawn(page);
    assert.equal(await page.getByLabel("Before: at").inputValue(), "33%");
  }, { of });

  page("a player that is stopped takes no step any more", async (page, go) => {
    // Steps do not come by themselves.
    await page.addInitScript(() => {
      const set = setTimeout, clear = clearTimeout;
      window.steps = new Map();
      window.setTimeout = (run, ms, ...more) => {
        const timer = set(ms === 300 ? () => {} : run, ms, ...more);
        if (ms === 300)
          window.steps.set(timer, run);
        return timer;
      };
      window.clearTimeout = (timer) => (window.steps.delete(timer), clear(timer));
    });
    await go(cpp("maps", "at=10%25"));
    for (const button of ["Pause", "\u2039"]) {
      await page.getByRole("button", { name: "Play" }).click();
      await page.waitForFunction(() => window.steps.size > 0);
      assert.equal(await atOnce(page, `() => one(".player button", "${button}").click()`, () => window.steps.size), 0, button);
      await settled(page);
    }
  }, { of });

  page("a text that is typed while a mark is on its way stays", async (page, go) => {
    await page.route((url) => url.pathname === "/list", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: (await response.json()).map((row) => ({ ...row, growing: true })) });
    });
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route((url) => url.pathname.endsWith("/control"), async (route) => {
      if (route.request().url().includes("mark"))
        await held;
      await route.fulfill({ json: { allowed: true, absence: null, recording: true, sample_bytes: null } });
    });
    await go(cpp("overview"));
    const text = page.getByLabel("Text of the mark");
    await text.fill("one");
    await text.press("Enter");
    await page.waitForSelector("form.control[aria-busy=true]");
    await text.fill("two");
    release();
    await page.waitForSelector("form.control[aria-busy=false] [role=status]:not(:empty)");
    assert.equal(await text.inputValue(), "two");
    await text.press("Enter");
    await page.waitForFunction(() => document.querySelector("form.control input").value === "");
  }, { of });

  page("an address that changes before the first picture is followed", async (page, go) => {
    await onceThere(page, "#app header", () => { location.hash = location.hash.replace("overview", "recording"); });
    await go(cpp("overview"));
    assert.equal(await page.locator(".view-recording").count(), 1);
  }, { of });

  page("what belongs to another question is never shown as the answer", async (page, go) => {
    // What each part says when the new address has been drawn, before anything was asked.
    const said = (hash) => page.evaluate((to) => new Promise((resolve) => {
      addEventListener("popstate", async () => {
        for (let i = 0; i < 20; i++)
          await undefined;
        resolve([...document.querySelectorAll(".strip, .view [data-state]")].map((one) => `${one.className.split(" ")[0]} ${one.dataset.state}`));
      }, { once: true });
      location.hash = to;
    }), hash);
    for (const [name, part, least] of [["flame", "pane", 31], ["blocks", "table", 32]]) {
      await go(cpp(name, "cost=peak"));
      assert.deepEqual(await said(cpp(name, `cost=allocated&size_min=${least}`)), ["strip loading", part + " loading"]);
      await settled(page);
    }
    // The same for what was refused.
    await page.goto(programs.server.address + "/" + cpp("blocks", "size_min=nonsense"));
    await page.waitForFunction(() => document.querySelectorAll("[data-state=problem]").length > 1);
    assert.deepEqual(await said(cpp("blocks", "size_min=33")), ["strip loading", "table loading"]);
    await settled(page);
  }, { of, refused: [400] });

  page("what is typed stays, and changes nothing but the search", async (page, go) => {
    await go(cpp("blocks"));
    await page.evaluate(() => {
      const box = document.querySelector(".view .search"), type = (text) => (box.value = text, box.dispatchEvent(new InputEvent("input", { bubbles: true })));
      type("ma");
      // A column is chosen before the search begins.
      location.hash += "?order=asc&sort_by=size";
      // More is typed while the address changes.
      addEventListener("popstate", function more() {
        if (location.hash.includes("ui.search"))
          removeEventListener("popstate", more), type("main");
      });
    });
    await page.waitForFunction(() => new URLSearchParams(location.hash.split("?")[1]).get("ui.search") === "main");
    await settled(page);
    const asked = new URLSearchParams(page.url().split("?")[1]);
    assert.deepEqual([asked.get("order"), asked.getAll("function_regex")], ["asc", ["(?i:main)"]]);
    assert.equal(await page.locator(".view .search").inputValue(), "main");
    await page.locator("a.chip").click();
    await page.waitForFunction(() => document.querySelector(".view .search").value === "");
  }, { of });

  page("what is typed and not entered yet stays while the page is drawn anew", async (page, go) => {
    for (const [name, label, typed, wanted] of [["maps", "resident more than", "64K", "ui.peak_rss_min=64K"], ["diff", "After: at", "70%", "at=70%25"]]) {
      await go(view(name, "", programs.randomId));
      await page.getByLabel(label).fill(typed);
      await page.evaluate(() => dispatchEvent(new Event("server-doubted"))); // all is drawn with the list that comes then
      await settled(page);
      await page.getByLabel(label).press("Enter");
      await page.waitForFunction((text) => location.hash.includes(text), wanted);
      await settled(page);
      assert.equal(await page.getByLabel(label).inputValue(), typed);
    }
    // Two are entered before anything is drawn.
    for (const [name, labels, wanted] of [["maps", ["resident more than", "less than"], ["ui.peak_rss_min=64", "ui.peak_rss_max=64"]], ["diff", ["Before: at", "After: at"], ["base_at=64", "&at=64"]]]) {
      await go(view(name, "size_min=1", programs.randomId));
      const inputs = await Promise.all(labels.map((label) => page.getByLabel(label).elementHandle()));
      await page.evaluate((both) => both.forEach((input) => {
        input.value = "64" + (input.list ? "%" : "");
        for (const event of ["input", "change"])
          input.dispatchEvent(new Event(event, { bubbles: true }));
      }), inputs);
      await page.waitForFunction((texts) => texts.every((text) => location.hash.includes(text)), wanted);
      await settled(page);
    }
  }, { of: () => programs.random });

  page("a menu of the call tree goes with the tree", async (page, go) => {
    await go(cpp("tree", "cost=peak"));
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route((url) => url.pathname.endsWith("/call_tree"), async (route) => (await held, route.continue()));
    await page.evaluate((hash) => { location.hash = hash; }, cpp("tree", "cost=allocated"));
    await page.locator(".stale button.node[aria-expanded]").nth(1).click({ button: "right" });
    await page.locator(".menu").waitFor();
    release();
    await settled(page);
    assert.equal(await page.locator(".menu").count(), 0);
  }, { of });

  page("a tree that is shown while another is asked for takes no places into the address", async (page, go) => {
    let release;
    const hold = async () => {
      const held = new Promise((resolve) => { release = resolve; });
      await page.route((url) => /\/(call_tree|diff_tree)$/.test(url.pathname), async (route) => (await held, route.continue()));
    };
    const places = () => [...new URLSearchParams(location.hash.split("?")[1]).keys()].filter((name) => /zoom|sel|open/.test(name));
    const click = () => {
      const canvas = one(".flame canvas"), { left, top, width } = canvas.getBoundingClientRect();
      tell(canvas, "MouseEvent", "click", { clientX: left + width / 3, clientY: top + 30 });
    };
    for (const [name, query, ...ways] of [["flame", "", click, () => key(one(".flame-pane"), "ArrowDown"), () => key(one(".flame-pane"), "F")],
      ["tree", "", () => one("button.node[aria-expanded=false]").click(), () => key(one("button.node"), "*"), () => key(document.querySelectorAll("button.node")[1], "F")],
      ["diff", "base_at=20%25&at=70%25", () => one("button.node[aria-expanded]").click()]]) {
      const next = name === "diff" ? () => one(".choice a", "Peak to end").click() : () => one(".controls a", "Temporary").click();
      await go(view(name, query, programs.randomId));
      await hold();
      assert.deepEqual(await atOnce(page, next, ...ways, places), [], name);
      // So it is in later pictures, until the other tree is there.
      await drawn(page);
      assert.equal(await page.locator(".pane.stale").count(), 1, name);
      assert.deepEqual(await atOnce(page, ...ways, places), [], name);
      release();
      await settled(page);
      assert.notDeepEqual(await atOnce(page, ways[0], places), [], name);
      await settled(page);
      await page.unrouteAll({ behavior: "wait" });
    }
  }, { of: () => programs.random });

  page("a question that is asked now has not been worked on for long", async (page) => {
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route((url) => url.pathname.endsWith("/call_tree"), async (route) => (await held, route.continue().catch(() => {})));
    await page.goto(programs.server.address + "/" + cpp("flame"));
    await page.getByText(/^still working/).waitFor();
    assert.equal(await atOnce(page, () => one(".controls a", "Temporary").click(), () => one(".view .working").textContent), "");
    release();
    await settled(page);
    await page.unrouteAll({ behavior: "wait" });
  }, { of });

  page("rows that are saved late say nothing about those that are shown by then", async (page, go) => {
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route((url) => url.searchParams.get("count") === "1000", async (route) => (await held, route.continue()));
    await go(cpp("functions", "cost=allocated"));
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save CSV" }).click();
    await page.evaluate(() => { location.hash += "&size_min=1000"; });
    await settled(page, 1);
    const shares = () => page.$$eval(".table tbody tr:not(.space) td:nth-child(2)", (all) => all.map((one) => one.textContent)), before = await shares();
    release();
    await saved;
    await drawn(page);
    assert.deepEqual(await shares(), before);
  }, { of });

  page("the mouse zooms the strip to a microsecond, and back", async (page, go) => {
    const { duration_ns: end } = await programs.server.json(`/data/${programs.cpp}/summary`);
    const shown = () => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("ui.time"));
    await go(cpp("sizes"));
    const whole = await page.locator(".strip-foot > span").first().innerText();
    for (let before = end, text = null; before > 1000;) {
      const { x, y, width } = await page.locator(".strip canvas").boundingBox(), left = Math.floor(x + width / 2);
      await page.mouse.move(left, y + 20);
      await page.mouse.down();
      await page.mouse.move(left + 2, y + 20);
      await page.mouse.up();
      await page.getByRole("button", { name: "Zoom in" }).click();
      await page.waitForFunction((last) => new URLSearchParams(location.hash.split("?")[1]).get("ui.time") !== last, text);
      await settled(page);
      text = await shown();
      const [from, to] = text.split("-").map(Number);
      assert.ok(to - from < before && to - from >= 1000 && to <= end, text);
      before = to - from;
    }
    // That none was allocated now does not mean that none was.
    assert.equal(await page.locator(".strip-foot b").count(), 0);
    // It is no filter, and stays when the view changes.
    const text = await shown();
    assert.equal(await page.locator("a.chip").count(), 0);
    await page.locator(".rail a", { hasText: "Blocks" }).click();
    await page.locator("h1", { hasText: "Blocks" }).waitFor();
    assert.equal(await shown(), text);
    await settled(page);
    await page.getByRole("link", { name: "Whole time" }).click();
    await page.waitForFunction(() => !location.hash.includes("ui.time"));
    await settled(page);
    assert.equal(await page.locator(".strip-foot > span").first().innerText(), whole);
  }, { of });
}
