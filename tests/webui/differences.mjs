// SPDX-License-Identifier: MIT OR Apache-2.0
// What people miss in differences: one picture with a legend, of instants, traces and dumps.
import assert from "node:assert/strict";
import { boxBelow, drawn, settled } from "./browser.mjs";

// Of a program that ran, instants that its events choose: what it has done after a part of its time depends on the load.
const SINCE_PEAK = "base_at=peak&at=100%25";

export function differences({ page, view, programs }) {
  const asked = (id, query, what = "diff_tree") => programs.server.json(`/data/${id}/${what}?${query}`);
  const moved = (page) => page.$eval(".total", (one) => [Number(one.dataset.moved), Number(one.dataset.grew)]);
  // Names, kinds and facts of the boxes in the first rows, where the mouse would be.
  const boxes = (page) => page.locator(".flame canvas").evaluate(async (canvas) => {
    const { left, top, width } = canvas.getBoundingClientRect(), found = {};
    for (let row = 1; row < 12; row++)
      for (let i = 0; i < 60; i++) {
        canvas.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: left + (i + 0.5) / 60 * width, clientY: top + row * 20 + 10 }));
        await new Promise((resolve) => queueMicrotask(() => queueMicrotask(resolve)));
        const tip = document.querySelector(".tip");
        if (tip && !/Too small/.test(tip.textContent))
          found[tip.querySelector("strong").textContent] = Object.fromEntries([...tip.querySelectorAll("tr")].map((fact) => [fact.cells[0].textContent, fact.cells[1].textContent]));
      }
    return found;
  });

  page("A4: a difference is one picture: instants, traces and their sums are REST's", async (page, go) => {
    const { cpp, python } = programs;
    for (const [id, query] of [[python, SINCE_PEAK], [cpp, `base=${python}&base_at=100%25&at=100%25`]]) {
      const { nodes } = await asked(id, query + "&nodes=5000");
      await go(view("diff", query + "&ui.shape=flame", id));
      assert.equal(await page.locator(".flame canvas").count(), 1, "one picture, not two");
      assert.equal(Number(await page.getAttribute(".flame canvas", "data-ready")), nodes.length);
      const [all, grew] = await moved(page);
      assert.equal(all, nodes[0].moved_size);
      assert.equal(grew - (all - grew), nodes[0].size_delta, "what grew without what shrank");
      const wanted = new Map(nodes.map((node) => [node.function, node]));
      const seen = Object.entries(await boxes(page)).filter(([name]) => nodes.filter((node) => node.function === name).length === 1);
      assert.ok(seen.length > 1, "boxes under the mouse");
      for (const [name, facts] of seen) {
        const { base, now } = wanted.get(name);
        assert.equal(facts.change[0], now.size > base.size ? "+" : now.size < base.size ? "\u2212" : facts.change[0], name);
      }
    }
  }, { of: () => programs.server });

  page("A4: what an answer leaves out is hatched, not part of the node above it", async (page, go) => {
    const id = programs.python, { nodes } = await asked(id, SINCE_PEAK + "&nodes=2"), [, node] = nodes;
    assert.ok(node.moved_size > Math.abs(node.self_delta), "there is something to leave out");
    await page.route((url) => url.pathname.endsWith("/diff_tree"), (route) => route.continue({ url: route.request().url().replace(/nodes=\d+/, "nodes=2") }));
    await go(view("diff", SINCE_PEAK + "&ui.shape=flame", id));
    assert.equal(Number(await page.getAttribute(".flame canvas", "data-ready")), nodes.length);
    const canvas = page.locator(".flame canvas"), width = await canvas.evaluate((one) => one.clientWidth);
    // What the box calls begins at its left; nothing of it is in the answer.
    await canvas.hover({ position: { x: width * (node.moved_size - Math.abs(node.self_delta)) / nodes[0].moved_size / 2, y: 2 * 20 + 10 } });
    await page.locator(".tip", { hasText: "left out" }).waitFor();
    assert.match(await page.locator(".view").innerText(), /left out: hatched/);
  }, { of: () => programs.server });

  page("A4: a box is zoomed into, searched, and is an address; a table is beside it", async (page, go) => {
    await go(view("diff", SINCE_PEAK + "&ui.shape=flame", programs.python));
    const whole = await moved(page);
    await page.locator(".flame-pane").focus();
    await boxBelow(page, 1);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /ui\.zoom=0/.test(location.hash));
    await settled(page);
    assert.match(await page.locator(".total").innerText(), /shown: .*%/);
    await page.reload();
    await page.waitForSelector(".crumbs");
    assert.deepEqual(await moved(page), whole);
    await page.fill(".view .search", "main");
    await page.waitForSelector(".hits");
    await page.click(".view a:text('As table')");
    await page.waitForSelector(".diff-table");
    assert.doesNotMatch(page.url(), /ui\.(shape|zoom|sel)/);
  }, { of: () => programs.server });

  // As the page says it: what is new and gone, and else which way it changed.
  const signOf = ({ base, now }) => !base.size && now.size ? "\u2726" : base.size && !now.size ? "\u2715" : now.size > base.size ? "\u25b2" : "\u25bc";

  page("A4: rows come in the order of their changes, and each box says its sign", async (page, go) => {
    const id = programs.randomId, seen = new Set();
    for (const query of ["base_at=20%25&at=70%25", "base_at=70%25&at=20%25", "base_at=100%25&at=0%25", "base_at=0%25&at=100%25"]) {
      const { nodes } = await programs.random.json(`/data/${id}/diff_tree?${query}&nodes=5000`);
      const changes = (all) => all.map((one) => one.moved_size);
      assert.deepEqual(changes(nodes), changes(nodes).sort((a, b) => b - a));
      // All branches are closed: the rows are the functions that allocate.
      const inverted = (await programs.random.json(`/data/${id}/diff_tree?${query}&nodes=5000&inverted=true`)).nodes.flatMap((one, i) => one.parent === 0 ? [[i, one.size_delta]] : []);
      assert.ok(inverted.length > 2);
      await go(view("diff", query + "&ui.shape=functions", id));
      assert.deepEqual(await page.$$eval("[data-node]", (all) => all.map((one) => [Number(one.dataset.node), Number(one.dataset.delta)])), inverted);
      await go(view("diff", query + "&ui.shape=flame", id));
      await page.locator(".flame-pane").focus();
      await boxBelow(page, 1);
      const largest = nodes.find((one) => one.parent === 0), sign = signOf(largest);
      assert.equal((await page.locator(".said").innerText()).slice(0, 1), sign, query);
      seen.add(sign);
    }
    assert.ok(seen.size > 2, [...seen].join());
  }, { of: () => programs.random });

  page("A4: two ranges are compared, by what each allocated or left; they are an address, and marked in the strip", async (page, go) => {
    const id = programs.randomId, ask = (query, what = "diff_tree") => programs.random.json(`/data/${id}/${what}?${query}`), given = () => new URLSearchParams(page.url().split("?")[1]);
    const delta = async () => Number(await page.getAttribute("p[data-delta]", "data-delta"));
    await go(view("diff", "at=30%25", id));
    await page.locator("[aria-label=Compared] a", { hasText: "Ranges" }).click();
    await page.waitForFunction(() => location.hash.includes("base_from="));
    await settled(page);
    assert.deepEqual(["base_from", "base_to", "from", "to", "at"].map((name) => given().get(name)), ["0%", "50%", "50%", "100%", null]);
    for (const cost of ["allocated", "live", "temporary"])
      for (const shape of ["tree", "flame", "functions", "libraries", "stacks"]) {
        const query = `base_from=10%25&base_to=40%25&from=60%25&to=95%25&cost=${cost}`;
        await go(view("diff", `${query}&ui.shape=${shape}`, id));
        const { nodes: [root] } = await ask(query), { stacks, base, now } = await ask(query + "&count=50", "diff");
        assert.deepEqual([now.size, now.size - base.size], [root.now.size, root.size_delta]);
        if (shape === "stacks")
          assert.deepEqual(await page.$$eval(".diff-table [data-delta]", (all) => all.map((one) => Number(one.dataset.delta))), stacks.map((one) => one.size_delta));
        else
          assert.equal(await delta(), root.size_delta, `${cost} ${shape}`);
        assert.deepEqual(await page.locator(".chips .chip b").allInnerTexts(), [], "a side is not a filter");
        assert.ok(now.size > 0, cost);
      }
    // A range is typed, both are swapped, and back.
    await page.locator(".times", { hasText: "After" }).getByLabel("to", { exact: true }).fill("80%");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("to=80%25"));
    await go(view("diff", "base_from=10%25&base_to=30%25&from=60%25&to=80%25", id));
    const there = (await ask("base_from=10%25&base_to=30%25&from=60%25&to=80%25")).nodes[0].size_delta;
    assert.equal(await delta(), there);
    await page.click("button:text('Swap')");
    await page.waitForFunction((wanted) => Number(document.querySelector("p[data-delta]")?.dataset.delta) === wanted, -there);
    assert.deepEqual(["base_from", "base_to", "from", "to"].map((name) => given().get(name)), ["60%", "80%", "10%", "30%"]);
    // In the strip both ranges are as they are without a range, and what is between them is pale.
    await settled(page);
    const alpha = (parts) => page.locator(".strip canvas").evaluate((canvas, parts) => parts.map((part) => [...canvas.getContext("2d").getImageData(Math.floor(part * canvas.width), canvas.height - 4, 1, 1).data].join()), parts);
    const places = [0.15, 0.2, 0.45, 0.5, 0.65, 0.7, 0.9], chosen = await alpha(places);
    await go(view("overview", "", id));
    const plain = await alpha(places);
    assert.deepEqual(chosen.map((one, i) => one === plain[i]), [true, true, false, false, true, true, false]);
    await go(view("diff", "base_from=20%25&base_to=70%25&from=20%25&to=70%25", id));
    assert.equal(await page.locator(".view .empty").innerText(), "There is no difference.");
    await page.locator("[aria-label=Compared] a", { hasText: "Instants" }).click();
    await page.waitForFunction(() => !location.hash.includes("from="));
  }, { of: () => programs.random });

  page("A4: a range that ends before it begins is refused, and is not marked in the strip", async (page, go) => {
    const picture = () => page.locator(".strip canvas").evaluate((one) => one.toDataURL()), right = "base_from=10%25&base_to=30%25", id = programs.randomId;
    // Without either range; with the one that is right.
    await go(view("diff", "base_from=40%25&base_to=30%25&from=80%25&to=60%25", id));
    const plain = await picture();
    await go(view("overview", "", id));
    assert.ok(plain === await picture());
    for (const shape of ["tree", "stacks"]) {
      await go(view("diff", `${right}&from=80%25&to=60%25&ui.shape=${shape}`, id));
      assert.equal(await page.locator(".view [role=alert] p").innerText(), "from: is later than 'to'");
      const marked = await picture();
      await go(view("overview", "from=10%25&to=30%25", id));
      assert.ok(marked === await picture());
    }
    await go(view("diff", "base_from=40%25&base_to=30%25&from=60%25&to=80%25", id));
    assert.equal(await page.locator(".view [role=alert] p").innerText(), "base_from: is later than 'base_to'");
  }, { of: () => programs.random, refused: [400] });

  page("A4: of two traces, the one that has no single blocks is named", async (page, go) => {
    let said;
    await page.route((url) => url.pathname.endsWith("/diff_tree"), (route) => route.fulfill({ status: 422, body: said }));
    for (const [begin, whose] of [["base: ", "The trace before"], ["", "This trace"]]) {
      said = begin + "the trace holds sums per stack\n";
      await go(view("diff", `base=${programs.python}&base_from=10%25&from=${begin ? 20 : 30}%25`, programs.cpp));
      assert.deepEqual(await page.locator(".view [role=alert] p").allInnerTexts(), [said.trim(), `${whose} contains sums per stack, but no single blocks.`]);
    }
  }, { of: () => programs.server, refused: [422] });

  page("A4: lines of functions are rows, which lead to their file", async (page, go) => {
    const query = "base_to=0%25&cost=allocated", { nodes } = await asked(programs.cpp, query + "&from=0%25&to=100%25&by=line&nodes=5000");
    await go(view("diff", query + "&ui.shape=lines", programs.cpp));
    const rows = await page.$$eval("[data-node]", (all) => all.map((one) => [Number(one.dataset.node), Number(one.dataset.delta), one.cells[4].textContent]));
    const text = ({ source, line, library }) => source ? `${source.split("/").at(-1)}:${line ?? "?"}` : library;
    assert.deepEqual(rows, rows.map(([i]) => [i, nodes[i].size_delta, text(nodes[i])]));
    const mains = nodes.filter((one) => one.function === "main" && one.source?.endsWith("/program.cc"));
    assert.ok(new Set(mains.map((one) => one.line)).size > 1, "main calls from several lines");
    const { line } = mains[0];
    await page.locator("[data-node] a", { hasText: new RegExp(`^program\\.cc:${line}$`) }).first().click();
    await page.waitForFunction((wanted) => location.hash.includes("/source?") && location.hash.includes("ui.line=" + wanted), line);
  }, { of: () => programs.server });

  page("A4: on a phone the list of times names what none of its choices is", async (page, go) => {
    const list = (name) => page.getByRole("combobox", { name, exact: true }).evaluate((one) => one.selectedOptions[0]?.textContent);
    for (const [name, own, first, said] of [["Instants", "base_at=12%25&at=34%25", "base_at=50%25&at=100%25", "Second half"],
      ["Ranges", "base_from=12%25&base_to=34%25&from=40%25&to=90%25", "base_from=0%25&base_to=50%25&from=50%25&to=100%25", "Halves"]]) {
      await go(view("diff", own, programs.randomId));
      assert.equal(await list(name), "Other");
      await go(view("diff", first, programs.randomId));
      assert.equal(await list(name), said);
      await go(view("diff", own, programs.randomId));
      assert.equal(await list(name), "Other");
    }
  }, { of: () => programs.random, viewport: { width: 390, height: 844 } });

  page("A5: the legend names both colours, and what negative numbers mean is said there", async (page, go) => {
    const shapes = { flame: "box", tree: undefined, functions: undefined, libraries: undefined, stacks: undefined };
    for (const [shape, words] of Object.entries(shapes)) {
      await go(view("diff", "base_at=20%25&at=70%25" + "&ui.shape=" + shape, programs.randomId));
      assert.match((await page.locator(".signs").innerText()).replace(/\s+/g, " "), /\u25bc blue: less.*\u25b2 red: more.*\u2726 new.*\u2715 gone/, shape);
      assert.match(await page.locator(".view").innerText(), /minus sign/, `${shape} says what negative numbers are`);
      if (words)
        assert.match(await page.locator(".view").innerText(), /width of a box is the sum of growth and decrease in it/);
    }
    // The colours are those of the legend: blue for what shrank, red for what grew.
    for (const [query, red] of [["base_at=0%25&at=100%25", true], ["base_at=100%25&at=0%25", false]]) {
      await go(view("diff", query + "&ui.shape=flame", programs.randomId));
      await drawn(page);
      const [r, , b] = await page.locator(".flame canvas").evaluate((canvas) => [...canvas.getContext("2d").getImageData(canvas.width / 4, 30 * devicePixelRatio, 1, 1).data]);
      assert.equal(r > b, red, `${r} and ${b}`);
    }
  }, { of: () => programs.random });
}
