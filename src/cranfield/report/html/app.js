"use strict";
// One page, one state: the measure and the two runs that are chosen. Text from files is only ever set as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const floats = (text) => new Float64Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const { runs, measures, queries, digits } = data;
  const values = floats(data.values);
  const counted = data.counted.map((row) => new Set(row));
  const value = (r, m, q) => values[(r * measures.length + m) * queries.length + q];
  const shown = (x, d = digits) => (x === null || Number.isNaN(x) ? "–" : x.toFixed(d));
  const signed = (x, d = digits) => (x === null ? "–" : (x > 0 && Number(x.toFixed(d)) ? "+" : "") + x.toFixed(d));
  const chance = (p) => (p === null ? "–" : p < 0.0001 ? "<0.0001" : p.toFixed(4));
  const state = { measure: 0, a: 0, b: Math.min(1, runs.length - 1), query: null };

  function h(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, content] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), content);
      else if (content !== null && content !== undefined && content !== false) node.setAttribute(name, content);
    }
    node.append(...children.map((child) => (child instanceof Node ? child : String(child))));
    return node;
  }

  // Tables whose headings sort. A column: {title, of(row), show(row), left, text}.
  function table(place, columns, rows, { sort = 0, down = true, attributes = () => ({}) } = {}) {
    // A table made anew, for another choice, stays sorted as it was.
    let { at, falling } = $(place).sorting || { at: sort, falling: down }, wanted = "";
    const head = h("tr"), body = h("tbody");
    function draw() {
      const order = [...rows].sort((x, y) => {
        const [u, v] = [columns[at].of(x), columns[at].of(y)];
        const empty = (w) => w === null || w === undefined || (typeof w === "number" && Number.isNaN(w));
        if (empty(u) || empty(v)) return empty(u) - empty(v);
        const less = typeof u === "number" ? u - v : String(u).localeCompare(String(v), undefined, { numeric: true });
        return falling ? -less : less;
      });
      const held = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.row : null;
      body.replaceChildren(...order.filter((row) => !wanted || columns[0].of(row).toLowerCase().includes(wanted))
        .map((row) => h("tr", { ...attributes(row), "data-row": row }, ...columns.map((c) => {
          const content = c.show(row);
          const cell = h("td", { class: [c.left && "left", c.id && "id", c.best && c.best(row) && "best"].filter(Boolean).join(" ") || null });
          cell.append(...(Array.isArray(content) ? content : [content]));
          return cell;
        }))));
      const again = held === null ? null : body.querySelector(`tr[data-row="${held}"] button`);
      if (again) again.focus({ preventScroll: true });
      [...head.children].forEach((cell, i) => cell.setAttribute("aria-sort", i === at ? (falling ? "descending" : "ascending") : "none"));
    }
    columns.forEach((column, i) => head.append(h("th", { scope: "col" }, h("button", {
      type: "button",
      onclick: () => {
        falling = i === at ? !falling : !column.text;
        at = i;
        $(place).sorting = { at, falling };
        draw();
        if (column.chosen) column.chosen();
      },
    }, column.title))));
    $(place).replaceChildren(h("thead", {}, head), body);
    draw();
    return { draw, find: (text) => { wanted = text.toLowerCase(); draw(); } };
  }

  // Charts are drawn when they come near the screen, and again when the choice or the theme changes.
  const charts = {};
  const near = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { charts[entry.target.id].near = true; paint(entry.target.id); }
  }), { rootMargin: "300px" });
  // The room that a chart takes is kept from the start, with some for its labels: nothing moves when it is drawn.
  function chart(id, height, spec, labels = 70) {
    charts[id] = { spec, height, near: false, stale: true };
    $(id).style.minHeight = `${height + labels}px`;
    near.observe($(id));
  }
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ink: colour("ink"), soft: colour("soft"), line: colour("line"), accent: colour("accent"), other: colour("other"), paper: colour("paper"), raised: colour("raised"), good: colour("good") };
  }
  function paint(id) {
    const one = charts[id];
    if (!one.near || !one.stale) return one.done || Promise.resolve();
    one.stale = false;
    const t = theme();
    const spec = one.spec(t);
    spec.$schema = "https://vega.github.io/schema/vega-lite/v6.json";
    spec.autosize = { type: "fit-x", contains: "padding" };
    spec.height = one.height;
    spec.width = "container";
    spec.background = "transparent";
    spec.config = {
      view: { stroke: null }, font: "system-ui, sans-serif",
      axis: { labelColor: t.soft, titleColor: t.soft, gridColor: t.line, domainColor: t.line, tickColor: t.line, titleFontWeight: "normal", labelLimit: 140 },
      legend: { labelColor: t.ink, titleColor: t.soft, titleFontWeight: "normal" },
    };
    // Without warnings: that a chart is empty, for want of queries or runs, is no fault.
    one.done = vegaEmbed($(id), spec, { actions: false, logLevel: 1, renderer: "svg", tooltip: { theme: document.documentElement.dataset.theme } })
      .then((made) => { if (one.view) one.view.finalize(); one.view = made.view; if (one.ready) one.ready(made.view); });
    return one.done;
  }
  // Labels that would lie on each other are left out; pointing at a mark tells its name.
  const NONE = { labels: false, ticks: false };
  // Vega keeps groups in objects, where a name such as "constructor" is taken: an invisible sign before it makes it free.
  const free = (name) => `\u200b${name}`;
  const room = (id, count) => count * 12 < $(id).clientWidth - 120;
  const repaint = (...ids) => ids.forEach((id) => { charts[id].stale = true; paint(id); });

  const byMean = (m) => runs.map((_, r) => r).sort((x, y) => (data.means[y][m] ?? -1) - (data.means[x][m] ?? -1) || x - y);

  // Leaderboard
  const best = measures.map((_, m) => Math.max(...runs.map((_, r) => data.means[r][m] ?? -Infinity)));
  const marked = (r) => ({ class: r === state.a ? "a" : r === state.b ? "b" : null, "data-run": runs[r] });
  const board = table("scores", [
    { title: "run", of: (r) => runs[r], show: (r) => h("button", { type: "button", class: "link", onclick: () => choose({ a: r }) }, runs[r]), text: true, id: true },
    ...measures.map((name, m) => ({
      title: name,
      of: (r) => data.means[r][m],
      best: (r) => runs.length > 1 && shown(data.means[r][m]) === shown(best[m]) && data.ranked[m],
      show: (r) => [shown(data.means[r][m], data.ranked[m] ? digits : 0), h("small", {}, data.low[r][m] === null ? "" : `[${shown(data.low[r][m])}, ${shown(data.high[r][m])}]`)],
      chosen: () => choose({ measure: m }),
    })),
    { title: "queries", of: (r) => counted[r].size, show: (r) => String(counted[r].size) },
  ], runs.map((_, r) => r), { sort: 1, attributes: marked });
  $("find-run").addEventListener("input", (event) => board.find(event.target.value));
  const rowHeight = Math.max(12, Math.min(22, 700 / runs.length));
  chart("chart-means", Math.max(60, rowHeight * runs.length), (t) => ({
    data: { values: runs.map((run, r) => ({ run: free(run), mean: data.means[r][state.measure], low: data.low[r][state.measure], high: data.high[r][state.measure], who: r === state.a ? "a" : r === state.b ? "b" : "" })) },
    encoding: { y: { field: "run", type: "nominal", sort: { field: "mean", order: "descending" }, title: null } },
    layer: [
      { mark: { type: "rule", color: t.soft }, encoding: { x: { field: "low", type: "quantitative", title: measures[state.measure], axis: { tickCount: 8 } }, x2: { field: "high" } } },
      { mark: { type: "point", filled: true, size: 60, opacity: 1, tooltip: true }, encoding: { x: { field: "mean", type: "quantitative", scale: { zero: false } }, color: { field: "who", type: "nominal", legend: null, scale: { domain: ["a", "b", ""], range: [t.accent, t.other, t.ink] } } } },
    ],
  }));

  // Pairs
  const pairs = data.pairs;
  // Pairs follow each other as (0, 1), (0, 2), ..., (1, 2), ...
  const pairAt = (a, b) => {
    const [i, j] = a < b ? [a, b] : [b, a];
    return i * runs.length - (i * (i + 1)) / 2 + j - i - 1;
  };
  function contest(m, a, b) {
    if (a === b || !pairs.difference || pairs.difference[m][0] === null) return null;
    const p = pairAt(a, b), turn = a < b ? 1 : -1;
    const of = (name) => (pairs[name][m][p] === null ? null : pairs[name][m][p]);
    const ends = (low, high) => (of(low) === null ? [null, null] : turn > 0 ? [of(low), of(high)] : [-of(high), -of(low)]);
    return {
      difference: turn * of("difference"), interval: ends("low", "high"), effect: of("effect") === null ? null : turn * of("effect"),
      effects: ends("effect_low", "effect_high"), wins: turn > 0 ? of("wins") : of("losses"), losses: turn > 0 ? of("losses") : of("wins"),
      p: of("p"), corrected: of("corrected"), significant: of("corrected") < pairs.alpha, doubts: pairs.doubts[m][p] || "",
    };
  }
  $("method").textContent = data.method;
  function tell() {
    const { measure: m, a, b } = state, one = contest(m, a, b);
    if (!one) {
      $("contest").textContent = runs.length < 2 ? "There is one run, and nothing to compare it with."
        : a === b ? "Choose two different runs." : `${measures[m]} has no differences by query that could be tested.`;
      return;
    }
    const n = pairs.queries[m], same = n - one.wins - one.losses;
    const verdict = one.significant ? (one.difference > 0 ? "is significantly better than" : "is significantly worse than") : "does not differ significantly from";
    const doubt = one.significant && one.doubts ? ` But ${one.doubts.split(" ").map((d) => (d === "ties" ? "another order of ties" : "judging the unjudged documents")).join(" or ")} could turn it.` : "";
    $("contest").textContent = `${runs[a]} ${verdict} ${runs[b]} in ${measures[m]}: ${shown(pairs.means[m][a])} against ${shown(pairs.means[m][b])} over ${n} queries, difference ${signed(one.difference)} [${signed(one.interval[0])}, ${signed(one.interval[1])}], effect size ${signed(one.effect, 2)}${one.effects[0] === null ? "" : ` [${signed(one.effects[0], 2)}, ${signed(one.effects[1], 2)}]`}, p ${chance(one.p)}, corrected ${chance(one.corrected)}; better on ${one.wins} queries, the same on ${same}, worse on ${one.losses}.${doubt}`;
  }
  chart("chart-pairs", Math.max(380, Math.min(760, runs.length * 15)), (t) => {
    const m = state.measure, order = byMean(m), rows = [];
    for (const a of order) for (const b of order) {
      const one = contest(m, a, b);
      if (one) rows.push({ run: free(runs[a]), against: free(runs[b]), a, b, difference: one.difference, shade: one.significant ? one.difference : null, corrected: chance(one.corrected), turned: one.significant && one.doubts ? one.doubts : "" });
    }
    const names = order.map((r) => free(runs[r])), most = Math.max(1e-9, ...rows.map((row) => Math.abs(row.difference)));
    const label = names.length > 60 ? NONE : { labelFontSize: Math.max(7, Math.min(11, 440 / names.length)) };
    const tooltip = ["run", "against", "difference", "corrected", "turned"].map((field) => ({ field, format: field === "difference" ? "+.4f" : undefined, title: field === "corrected" ? "corrected p" : field === "turned" ? "could be turned by" : field }));
    return {
      data: { values: rows },
      encoding: {
        y: { field: "run", type: "nominal", sort: names, title: null, axis: label },
        x: { field: "against", type: "nominal", sort: names, title: null, axis: room("chart-pairs", names.length) ? { ...label, labelAngle: -90, orient: "top" } : NONE },
        tooltip,
      },
      layer: [
        { mark: { type: "rect", stroke: t.line, strokeWidth: .3, cursor: "pointer" }, encoding: { color: { condition: { test: "datum.shade !== null", field: "shade", type: "quantitative", title: "difference", scale: { domain: [-most, most], range: [t.other, t.raised, t.accent], interpolate: "lab" } }, value: t.paper } } },
        { transform: [{ filter: "datum.turned !== ''" }], mark: { type: "point", filled: true, color: t.ink, size: 12, opacity: 1, cursor: "pointer" } },
      ],
    };
  });
  charts["chart-pairs"].ready = (view) => view.addEventListener("click", (event, item) => {
    if (item && item.datum && item.datum.a !== undefined) choose({ a: item.datum.a, b: item.datum.b });
  });

  // Queries
  const both = (q) => counted[state.a].has(q) && counted[state.b].has(q);
  // What is undefined counts as was asked for.
  const worth = (r, q) => { const x = value(r, state.measure, q); return Number.isNaN(x) && data.undefined !== null ? data.undefined : x; };
  const gap = (q) => worth(state.a, q) - worth(state.b, q);
  const spread = (q) => {
    const all = runs.map((_, r) => (counted[r].has(q) ? worth(r, q) : NaN)).filter((x) => !Number.isNaN(x));
    const mean = all.reduce((x, y) => x + y, 0) / all.length;
    return { mean, deviation: Math.sqrt(all.reduce((x, y) => x + (y - mean) ** 2, 0) / all.length) };
  };
  chart("chart-queries", 260, (t) => {
    const rows = queries.map((query, q) => ({ query: free(query), q, difference: gap(q) })).filter((row) => both(row.q) && !Number.isNaN(row.difference));
    return {
      data: { values: rows },
      mark: { type: "bar", cursor: "pointer", tooltip: true },
      encoding: {
        x: { field: "query", type: "nominal", sort: { field: "difference", order: "descending" }, title: null, axis: room("chart-queries", rows.length) ? { labelAngle: -90 } : NONE },
        y: { field: "difference", type: "quantitative", title: `difference in ${measures[state.measure]}` },
        color: { condition: { test: "datum.difference > 0", value: t.accent }, value: t.other },
      },
    };
  });
  charts["chart-queries"].ready = (view) => view.addEventListener("click", (event, item) => {
    if (item && item.datum && item.datum.q !== undefined) open(item.datum.q);
  });
  let listed;
  function list() {
    const { measure: m, a, b } = state;
    listed = table("by-query", [
      { title: "query", of: (q) => queries[q], show: (q) => h("button", { type: "button", class: "link", onclick: () => open(q) }, queries[q]), text: true, id: true },
      { title: runs[a], of: (q) => value(a, m, q), show: (q) => shown(value(a, m, q)) },
      { title: runs[b], of: (q) => value(b, m, q), show: (q) => shown(value(b, m, q)) },
      { title: "difference", of: gap, show: (q) => (Number.isNaN(gap(q)) ? "–" : signed(gap(q))) },
      { title: "mean of all", of: (q) => spread(q).mean, show: (q) => shown(spread(q).mean) },
      { title: "disagreement", of: (q) => spread(q).deviation, show: (q) => shown(spread(q).deviation) },
    ], queries.map((_, q) => q).filter(both), { sort: 3, attributes: (q) => ({ "data-query": queries[q] }) });
    listed.find($("find-query").value);
    $("caption-queries").textContent = `${runs[a]} less ${runs[b]} on each query, in ${measures[m]}. Above the line the first is better.`;
  }
  $("find-query").addEventListener("input", (event) => listed.find(event.target.value));
  function open(q) {
    show(q);
    $("detail").focus({ preventScroll: true });
    $("detail").scrollIntoView({ block: "nearest" });
  }
  function show(q) {
    state.query = q;
    const pages = data.rankings[q];
    const detail = $("detail");
    const side = (r, other) => {
      const page = pages.runs[r], there = new Set(pages.runs[other] ? pages.runs[other].documents : []);
      if (!page) return h("div", {}, h("h4", {}, runs[r]), h("p", {}, "No answer."));
      const items = [];
      let place = 0;
      for (const size of page.ties) {
        for (let i = 0; i < size; i++, place++) {
          const d = page.documents[place], grade = pages.grades[d], name = pages.documents[d], text = Object.hasOwn(data.texts, name) ? data.texts[name] : undefined;
          const kind = grade === null ? "unjudged" : grade > 0 ? "relevant" : "";
          const tied = size > 1 ? `tied${i === 0 ? " first" : ""}${i === size - 1 ? " last" : ""}` : null;
          items.push(h("li", { class: tied },
            h("span", { class: "rank" }, place + 1),
            h("span", { class: `grade ${kind}`, title: grade === null ? "nobody judged it" : `grade ${grade}` }, grade === null ? "?" : grade),
            text === undefined ? h("span", { class: "document" }, name) : h("details", { class: "document" }, h("summary", {}, name), h("p", {}, text)),
            h("span", { class: "only" }, r !== other && !there.has(d) ? "only here" : "")));
        }
      }
      const rest = page.length - page.documents.length;
      return h("div", {}, h("h4", {}, `${runs[r]}: ${shown(value(r, state.measure, q))}`), h("ol", {}, ...items), h("p", { class: "only" }, rest > 0 ? `and ${rest} more` : "the list ends here"));
    };
    detail.replaceChildren(
      h("h3", {}, `Query ${queries[q]}`),
      h("p", { class: "lead" }, `${pages.relevant} relevant documents are judged. A band joins documents of one score; ? marks those that nobody judged.`),
      h("div", { class: "rankings" }, side(state.a, state.b), ...(state.a === state.b ? [] : [side(state.b, state.a)])));
  }

  // Curves and agreement
  const curve = (name, x, y) => (t) => ({
    data: { values: runs.flatMap((run, r) => data.curves[name].x.map((at, i) => ({ run: free(run), x: at, y: data.curves[name].y[r][i], who: r === state.a ? "a" : r === state.b ? "b" : "", front: r === state.a || r === state.b ? 1 : 0 }))) },
    mark: { type: "line", point: { size: 18 }, tooltip: true },
    encoding: {
      x: { field: "x", type: "quantitative", title: x, scale: name === "gain" ? { type: "log" } : {}, axis: name === "gain" ? { values: data.curves.gain.x, grid: false } : {} },
      y: { field: "y", type: "quantitative", title: y }, detail: { field: "run" },
      color: { field: "who", type: "nominal", legend: null, scale: { domain: ["a", "b", ""], range: [t.accent, t.other, t.line] } },
      strokeWidth: { condition: { test: "datum.front === 1", value: 2.5 }, value: 1 },
      tooltip: [{ field: "run" }, { field: "x", title: x }, { field: "y", title: y, format: ".4f" }],
    },
  });
  chart("chart-recall", 280, curve("recall", "recall", "precision"));
  chart("chart-gain", 280, curve("gain", "k", "nDCG@k"));
  chart("chart-agreement", Math.max(160, Math.min(420, measures.length * 44)), (t) => {
    const rows = data.agreement.flatMap((row, i) => row.map((tau, j) => ({ measure: measures[i], other: measures[j], tau, shown: tau === null ? "–" : tau.toFixed(2) })));
    const ends = { x: { field: "other", type: "nominal", sort: measures, title: null, axis: { labelAngle: -40 } }, y: { field: "measure", type: "nominal", sort: measures, title: null } };
    return {
      data: { values: rows }, encoding: ends,
      layer: [
        { mark: { type: "rect", tooltip: true }, encoding: { color: { field: "tau", type: "quantitative", title: "τ", scale: { domain: [-1, 0, 1], range: [t.other, t.raised, t.accent], interpolate: "lab" } } } },
        { mark: { type: "text" }, encoding: { text: { field: "shown", type: "nominal" }, color: { condition: { test: "abs(datum.tau) > 0.75", value: t.paper }, value: t.ink } } },
      ],
    };
  });

  // Audit
  function audited() {
    const m = state.measure, of = (name) => (r) => data.audit[name][r][m];
    const column = (heading, name, d = digits) => ({ title: heading, of: of(name), show: (r) => shown(of(name)(r), d) });
    const range = (heading, low, high) => ({ title: heading, of: (r) => of(high)(r) - of(low)(r), show: (r) => (of(low)(r) === null ? "–" : `${shown(of(low)(r))} … ${shown(of(high)(r))}`) });
    table("audited", [
      { title: "run", of: (r) => runs[r], show: (r) => runs[r], text: true, id: true },
      column(measures[m], "score"),
      range("95 % interval", "low", "high"),
      range("ties: worst … best", "worst", "best"),
      column("ties: expected", "expected"),
      range("unjudged: lowest … highest", "lowest", "highest"),
      { title: "unjudged share", of: of("unjudged"), show: (r) => (of("unjudged")(r) === null ? "–" : `${(100 * of("unjudged")(r)).toFixed(1)} %`) },
      column("condensed", "condensed"),
      column("terminal", "terminal"),
    ], runs.map((_, r) => r), { sort: 1, attributes: marked });
    $("turned").replaceChildren(...data.turned[m].map((text) => h("li", {}, text)));
  }

  // One place where a choice is made
  function choose(change) {
    Object.assign(state, change);
    $("measure").value = state.measure;
    $("run-a").value = state.a;
    $("run-b").value = state.b;
    tell();
    list();
    audited();
    board.draw();
    $("caption-means").textContent = `${measures[state.measure]}: means and 95 % confidence intervals (${data.interval}).`;
    if (state.query !== null) show(state.query);
    repaint(...Object.keys(charts));
  }
  const options = (id, names) => $(id).replaceChildren(...names.map((name, i) => h("option", { value: i }, name)));
  options("measure", measures);
  options("run-a", runs);
  options("run-b", runs);
  for (const [id, name] of [["measure", "measure"], ["run-a", "a"], ["run-b", "b"]]) $(id).addEventListener("change", (event) => choose({ [name]: Number(event.target.value) }));

  const root = document.documentElement;
  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  $("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    repaint(...Object.keys(charts));
  });
  addEventListener("beforeprint", () => Object.keys(charts).forEach((id) => { charts[id].near = true; paint(id); }));
  $("about").textContent = data.about;
  $("told").replaceChildren(...data.notes.map((text) => h("li", {}, text)));
  $("commands").textContent = data.commands.join("\n");
  $("again").hidden = data.commands.length === 0;
  const order = byMean(0);
  choose({ a: order[0], b: order[Math.min(1, order.length - 1)] });
  // Whoever prints wants every chart, and has no time to wait for them.
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 200));
  const waiting = Object.keys(charts);
  idle(function next() {
    const id = waiting.shift();
    charts[id].near = true;
    paint(id).then(() => waiting.length && idle(next));
  });
  window.report = { data, state, choose, open, value, contest, paint: () => Promise.all(Object.keys(charts).map((id) => { charts[id].near = true; return paint(id); })) };
})();
