"use strict";
// One page, one state: the selected measure and the two selected runs. Text from files is only ever set as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const floats = (text) => new Float64Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const { runs, measures, queries, digits } = data;
  const values = floats(data.values);
  const counted = data.counted.map((row) => new Set(row));
  const queryLabel = (q) => (data.queryTexts[queries[q]] ? `${queries[q]}: ${data.queryTexts[queries[q]]}` : queries[q]);
  const value = (r, m, q) => values[(r * measures.length + m) * queries.length + q];
  const shown = (x, d = digits) => (x === null || Number.isNaN(x) ? "–" : x.toFixed(d));
  const signed = (x, d = digits) => (x === null ? "–" : (x > 0 && Number(x.toFixed(d)) ? "+" : "") + x.toFixed(d));
  const chance = (p) => (p === null ? "–" : p < 0.0001 ? "<0.0001" : p.toFixed(4));
  // Every sentence and label of the page that is not in page.html.
  const TEXT = {
    oneRun: "There is only one run, so there is nothing to compare.",
    sameRun: "Select two different runs.",
    notTested: (measure) => `${measure} has no per-query values to test.`,
    better: "is significantly better than",
    worse: "is significantly worse than",
    equal: "does not differ significantly from",
    means: (measure, a, b, n) => `${measure} ${a} vs ${b}, ${n} ${n === 1 ? "query" : "queries"}`,
    difference: (value, low, high) => `difference ${value} [${low}, ${high}]`,
    effect: (value, low, high) => `effect size ${value}` + (low === null ? "" : ` [${low}, ${high}]`),
    p: (p, corrected) => `p ${p}, corrected ${corrected}`,
    wins: (wins, same, losses) => `Better on ${wins}, equal on ${same}, worse on ${losses} queries.`,
    reversible: (causes) => `${causes} could reverse this difference.`,
    ties: "another order of ties",
    unjudged: "judging the unjudged documents",
    or: " or ",
    run: "run",
    queries: "queries",
    query: "query",
    against: "compared with",
    differenceTitle: "difference",
    corrected: "corrected p",
    reversibleBy: "could be reversed by",
    differenceIn: (measure) => `difference in ${measure}`,
    meanOfAll: "mean of all runs",
    disagreement: "disagreement",
    queriesCaption: (a, b, measure) => `${measure} of ${a} minus that of ${b}, by query. Bars above the line: ${a} is better.`,
    meansCaption: (measure, interval) => `${measure}: means and 95% confidence intervals (${interval}).`,
    noRanking: "This run has no ranking for the query.",
    unjudgedDocument: "unjudged",
    grade: (grade) => `grade ${grade}`,
    onlyHere: "only here",
    more: (count) => `and ${count} more`,
    end: "end of the list",
    queryTitle: (query) => `Query ${query}`,
    rankingsLead: (relevant) => `${relevant} relevant ${relevant === 1 ? "document" : "documents"} judged. A bar joins documents with equal scores; ? marks unjudged documents.`,
    interval: "95% interval",
    tieRange: "ties: worst … best",
    tieExpected: "ties: expected",
    unjudgedRange: "unjudged: lowest … highest",
    unjudgedShare: "unjudged share",
    condensed: "condensed",
    terminal: "terminal",
    recall: "recall",
    precision: "precision",
    cutoff: "k",
    gain: "nDCG@k",
  };
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
  function table(id, columns, rows, { sort = 0, down = true, attributes = () => ({}) } = {}) {
    // A table that is built again for another selection keeps its sorting.
    let { at, falling } = $(id).sorting || { at: sort, falling: down }, wanted = "";
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
        $(id).sorting = { at, falling };
        draw();
        if (column.selected) column.selected();
      },
    }, column.title))));
    $(id).replaceChildren(h("thead", {}, head), body);
    draw();
    return { draw, find: (text) => { wanted = text.toLowerCase(); draw(); } };
  }

  // Charts are drawn when they come near the screen, and again when the selection or the theme changes.
  const charts = {};
  const near = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { charts[entry.target.id].near = true; paint(entry.target.id); }
  }), { rootMargin: "300px" });
  // The height of a chart and its labels is reserved from the start, so nothing moves when it is drawn.
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
    const drawing = charts[id];
    if (!drawing.near || !drawing.stale) return drawing.done || Promise.resolve();
    drawing.stale = false;
    const t = theme();
    const spec = drawing.spec(t);
    spec.$schema = "https://vega.github.io/schema/vega-lite/v6.json";
    spec.autosize = { type: "fit-x", contains: "padding" };
    spec.height = drawing.height;
    spec.width = "container";
    spec.background = "transparent";
    spec.config = {
      view: { stroke: null }, font: "system-ui, sans-serif",
      axis: { labelColor: t.soft, titleColor: t.soft, gridColor: t.line, domainColor: t.line, tickColor: t.line, titleFontWeight: "normal", labelLimit: 140 },
      legend: { labelColor: t.ink, titleColor: t.soft, titleFontWeight: "normal" },
    };
    // Without warnings: a chart may be empty because there are too few queries or runs.
    drawing.done = vegaEmbed($(id), spec, { actions: false, logLevel: 1, renderer: "svg", tooltip: { theme: document.documentElement.dataset.theme } })
      .then((made) => { if (drawing.view) drawing.view.finalize(); drawing.view = made.view; if (drawing.ready) drawing.ready(made.view); });
    return drawing.done;
  }
  // Labels that would overlap are left out; a tooltip shows the name.
  const NONE = { labels: false, ticks: false };
  // Vega keeps groups in objects, where a name such as "constructor" is taken: an invisible prefix avoids the clash.
  const safeName = (name) => `\u200b${name}`;
  const room = (id, count) => count * 12 < $(id).clientWidth - 120;
  const repaint = (...ids) => ids.forEach((id) => { charts[id].stale = true; paint(id); });

  const byMean = (m) => runs.map((_, r) => r).sort((x, y) => (data.means[y][m] ?? -1) - (data.means[x][m] ?? -1) || x - y);

  // Leaderboard
  const best = measures.map((_, m) => Math.max(...runs.map((_, r) => data.means[r][m] ?? -Infinity)));
  const marked = (r) => ({ class: r === state.a ? "a" : r === state.b ? "b" : null, "data-run": runs[r] });
  const board = table("scores", [
    { title: TEXT.run, of: (r) => runs[r], show: (r) => h("button", { type: "button", class: "link", onclick: () => select({ a: r }) }, runs[r]), text: true, id: true },
    ...measures.map((name, m) => ({
      title: name,
      of: (r) => data.means[r][m],
      best: (r) => runs.length > 1 && shown(data.means[r][m]) === shown(best[m]) && data.ranked[m],
      show: (r) => [shown(data.means[r][m], data.ranked[m] ? digits : 0), h("small", {}, data.low[r][m] === null ? "" : `[${shown(data.low[r][m])}, ${shown(data.high[r][m])}]`)],
      selected: () => select({ measure: m }),
    })),
    { title: TEXT.queries, of: (r) => counted[r].size, show: (r) => String(counted[r].size) },
  ], runs.map((_, r) => r), { sort: 1, attributes: marked });
  $("find-run").addEventListener("input", (event) => board.find(event.target.value));
  const rowHeight = Math.max(12, Math.min(22, 700 / runs.length));
  chart("chart-means", Math.max(60, rowHeight * runs.length), (t) => ({
    data: { values: runs.map((run, r) => ({ run: safeName(run), mean: data.means[r][state.measure], low: data.low[r][state.measure], high: data.high[r][state.measure], who: r === state.a ? "a" : r === state.b ? "b" : "" })) },
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
  function pairResult(m, a, b) {
    if (a === b || !pairs.difference || pairs.difference[m][0] === null) return null;
    const p = pairAt(a, b), sign = a < b ? 1 : -1;
    const of = (name) => (pairs[name][m][p] === null ? null : pairs[name][m][p]);
    const ends = (low, high) => (of(low) === null ? [null, null] : sign > 0 ? [of(low), of(high)] : [-of(high), -of(low)]);
    return {
      difference: sign * of("difference"), interval: ends("low", "high"), effect: of("effect") === null ? null : sign * of("effect"),
      effects: ends("effect_low", "effect_high"), wins: sign > 0 ? of("wins") : of("losses"), losses: sign > 0 ? of("losses") : of("wins"),
      p: of("p"), corrected: of("corrected"), significant: of("corrected") < pairs.alpha, doubts: pairs.doubts[m][p] || "",
    };
  }
  $("method").textContent = data.method;
  function showPair() {
    const { measure: m, a, b } = state, pair = pairResult(m, a, b);
    if (!pair) {
      $("pair").textContent = runs.length < 2 ? TEXT.oneRun : a === b ? TEXT.sameRun : TEXT.notTested(measures[m]);
      return;
    }
    const n = pairs.queries[m], same = n - pair.wins - pair.losses;
    const verdict = pair.significant ? (pair.difference > 0 ? TEXT.better : TEXT.worse) : TEXT.equal;
    const causes = pair.significant && pair.doubts ? pair.doubts.split(" ").map((cause) => TEXT[cause]).join(TEXT.or) : "";
    const details = [
      TEXT.means(measures[m], shown(pairs.means[m][a]), shown(pairs.means[m][b]), n),
      TEXT.difference(signed(pair.difference), signed(pair.interval[0]), signed(pair.interval[1])),
      TEXT.effect(signed(pair.effect, 2), pair.effects[0] === null ? null : signed(pair.effects[0], 2), signed(pair.effects[1], 2)),
      TEXT.p(chance(pair.p), chance(pair.corrected)),
    ].join("; ");
    const warning = causes ? ` ${causes[0].toUpperCase()}${TEXT.reversible(causes.slice(1))}` : "";
    $("pair").textContent = `${runs[a]} ${verdict} ${runs[b]}: ${details}. ${TEXT.wins(pair.wins, same, pair.losses)}${warning}`;
  }
  chart("chart-pairs", Math.max(380, Math.min(760, runs.length * 15)), (t) => {
    const m = state.measure, order = byMean(m), rows = [];
    for (const a of order) for (const b of order) {
      const pair = pairResult(m, a, b);
      if (pair) rows.push({ run: safeName(runs[a]), against: safeName(runs[b]), a, b, difference: pair.difference, shade: pair.significant ? pair.difference : null, corrected: chance(pair.corrected), reversible: pair.significant && pair.doubts ? pair.doubts : "" });
    }
    const names = order.map((r) => safeName(runs[r])), most = Math.max(1e-9, ...rows.map((row) => Math.abs(row.difference)));
    const label = names.length > 60 ? NONE : { labelFontSize: Math.max(7, Math.min(11, 440 / names.length)) };
    const titles = { run: TEXT.run, against: TEXT.against, difference: TEXT.differenceTitle, corrected: TEXT.corrected, reversible: TEXT.reversibleBy };
    const tooltip = Object.entries(titles).map(([field, title]) => ({ field, format: field === "difference" ? "+.4f" : undefined, title }));
    return {
      data: { values: rows },
      encoding: {
        y: { field: "run", type: "nominal", sort: names, title: null, axis: label },
        x: { field: "against", type: "nominal", sort: names, title: null, axis: room("chart-pairs", names.length) ? { ...label, labelAngle: -90, orient: "top" } : NONE },
        tooltip,
      },
      layer: [
        { mark: { type: "rect", stroke: t.line, strokeWidth: .3, cursor: "pointer" }, encoding: { color: { condition: { test: "datum.shade !== null", field: "shade", type: "quantitative", title: TEXT.differenceTitle, scale: { domain: [-most, most], range: [t.other, t.raised, t.accent], interpolate: "lab" } }, value: t.paper } } },
        { transform: [{ filter: "datum.reversible !== ''" }], mark: { type: "point", filled: true, color: t.ink, size: 12, opacity: 1, cursor: "pointer" } },
      ],
    };
  });
  charts["chart-pairs"].ready = (view) => view.addEventListener("click", (event, item) => {
    if (item && item.datum && item.datum.a !== undefined) select({ a: item.datum.a, b: item.datum.b });
  });

  // Queries
  const both = (q) => counted[state.a].has(q) && counted[state.b].has(q);
  // Undefined values count as the policy says.
  const counts = (r, q) => { const x = value(r, state.measure, q); return Number.isNaN(x) && data.undefined !== null ? data.undefined : x; };
  const gap = (q) => counts(state.a, q) - counts(state.b, q);
  const spread = (q) => {
    const all = runs.map((_, r) => (counted[r].has(q) ? counts(r, q) : NaN)).filter((x) => !Number.isNaN(x));
    const mean = all.reduce((x, y) => x + y, 0) / all.length;
    return { mean, deviation: Math.sqrt(all.reduce((x, y) => x + (y - mean) ** 2, 0) / all.length) };
  };
  chart("chart-queries", 260, (t) => {
    const rows = queries.map((query, q) => ({ query: safeName(query), q, difference: gap(q) })).filter((row) => both(row.q) && !Number.isNaN(row.difference));
    return {
      data: { values: rows },
      mark: { type: "bar", cursor: "pointer", tooltip: true },
      encoding: {
        x: { field: "query", type: "nominal", sort: { field: "difference", order: "descending" }, title: null, axis: room("chart-queries", rows.length) ? { labelAngle: -90 } : NONE },
        y: { field: "difference", type: "quantitative", title: TEXT.differenceIn(measures[state.measure]) },
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
      { title: TEXT.query, of: (q) => queries[q], show: (q) => h("button", { type: "button", class: "link", onclick: () => open(q) }, queryLabel(q)), text: true, id: true },
      { title: runs[a], of: (q) => value(a, m, q), show: (q) => shown(value(a, m, q)) },
      { title: runs[b], of: (q) => value(b, m, q), show: (q) => shown(value(b, m, q)) },
      { title: TEXT.differenceTitle, of: gap, show: (q) => (Number.isNaN(gap(q)) ? "–" : signed(gap(q))) },
      { title: TEXT.meanOfAll, of: (q) => spread(q).mean, show: (q) => shown(spread(q).mean) },
      { title: TEXT.disagreement, of: (q) => spread(q).deviation, show: (q) => shown(spread(q).deviation) },
    ], queries.map((_, q) => q).filter(both), { sort: 3, attributes: (q) => ({ "data-query": queries[q] }) });
    listed.find($("find-query").value);
    $("caption-queries").textContent = TEXT.queriesCaption(runs[a], runs[b], measures[m]);
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
      if (!page) return h("div", {}, h("h4", {}, runs[r]), h("p", {}, TEXT.noRanking));
      const items = [];
      let rank = 0;
      for (const size of page.ties) {
        for (let i = 0; i < size; i++, rank++) {
          const d = page.documents[rank], grade = pages.grades[d], name = pages.documents[d], text = Object.hasOwn(data.texts, name) ? data.texts[name] : undefined;
          const kind = grade === null ? "unjudged" : grade > 0 ? "relevant" : "";
          const tied = size > 1 ? `tied${i === 0 ? " first" : ""}${i === size - 1 ? " last" : ""}` : null;
          items.push(h("li", { class: tied },
            h("span", { class: "rank" }, rank + 1),
            h("span", { class: `grade ${kind}`, title: grade === null ? TEXT.unjudgedDocument : TEXT.grade(grade) }, grade === null ? "?" : grade),
            text === undefined ? h("span", { class: "document" }, name) : h("details", { class: "document" }, h("summary", {}, name), h("p", {}, text)),
            h("span", { class: "only" }, r !== other && !there.has(d) ? TEXT.onlyHere : "")));
        }
      }
      const rest = page.length - page.documents.length;
      return h("div", {}, h("h4", {}, `${runs[r]}: ${shown(value(r, state.measure, q))}`), h("ol", {}, ...items), h("p", { class: "only" }, rest > 0 ? TEXT.more(rest) : TEXT.end));
    };
    detail.replaceChildren(
      h("h3", {}, TEXT.queryTitle(queryLabel(q))),
      h("p", { class: "lead" }, TEXT.rankingsLead(pages.relevant)),
      h("div", { class: "rankings" }, side(state.a, state.b), ...(state.a === state.b ? [] : [side(state.b, state.a)])));
  }

  // Curves and agreement
  const curve = (name, x, y) => (t) => ({
    data: { values: runs.flatMap((run, r) => data.curves[name].x.map((at, i) => ({ run: safeName(run), x: at, y: data.curves[name].y[r][i], who: r === state.a ? "a" : r === state.b ? "b" : "", front: r === state.a || r === state.b ? 1 : 0 }))) },
    mark: { type: "line", point: { size: 18 }, tooltip: true },
    encoding: {
      x: { field: "x", type: "quantitative", title: x, scale: name === "gain" ? { type: "log" } : {}, axis: name === "gain" ? { values: data.curves.gain.x, grid: false } : {} },
      y: { field: "y", type: "quantitative", title: y }, detail: { field: "run" },
      color: { field: "who", type: "nominal", legend: null, scale: { domain: ["a", "b", ""], range: [t.accent, t.other, t.line] } },
      strokeWidth: { condition: { test: "datum.front === 1", value: 2.5 }, value: 1 },
      tooltip: [{ field: "run" }, { field: "x", title: x }, { field: "y", title: y, format: ".4f" }],
    },
  });
  chart("chart-recall", 280, curve("recall", TEXT.recall, TEXT.precision));
  chart("chart-gain", 280, curve("gain", TEXT.cutoff, TEXT.gain));
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
      { title: TEXT.run, of: (r) => runs[r], show: (r) => runs[r], text: true, id: true },
      column(measures[m], "score"),
      range(TEXT.interval, "low", "high"),
      range(TEXT.tieRange, "worst", "best"),
      column(TEXT.tieExpected, "expected"),
      range(TEXT.unjudgedRange, "lowest", "highest"),
      { title: TEXT.unjudgedShare, of: of("unjudged"), show: (r) => (of("unjudged")(r) === null ? "–" : `${(100 * of("unjudged")(r)).toFixed(1)}%`) },
      column(TEXT.condensed, "condensed"),
      column(TEXT.terminal, "terminal"),
    ], runs.map((_, r) => r), { sort: 1, attributes: marked });
    $("swaps").replaceChildren(...data.swaps[m].map((text) => h("li", {}, text)));
  }

  // The only function that changes the selection.
  function select(change) {
    Object.assign(state, change);
    $("measure").value = state.measure;
    $("run-a").value = state.a;
    $("run-b").value = state.b;
    showPair();
    list();
    audited();
    board.draw();
    $("caption-means").textContent = TEXT.meansCaption(measures[state.measure], data.interval);
    if (state.query !== null) show(state.query);
    repaint(...Object.keys(charts));
  }
  const options = (id, names) => $(id).replaceChildren(...names.map((name, i) => h("option", { value: i }, name)));
  options("measure", measures);
  options("run-a", runs);
  options("run-b", runs);
  for (const [id, name] of [["measure", "measure"], ["run-a", "a"], ["run-b", "b"]]) $(id).addEventListener("change", (event) => select({ [name]: Number(event.target.value) }));

  const root = document.documentElement;
  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  $("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    repaint(...Object.keys(charts));
  });
  addEventListener("beforeprint", () => Object.keys(charts).forEach((id) => { charts[id].near = true; paint(id); }));
  $("about").textContent = data.about;
  $("note-list").replaceChildren(...data.notes.map((text) => h("li", {}, text)));
  $("commands").textContent = data.commands.join("\n");
  $("reproduce").hidden = data.commands.length === 0;
  const order = byMean(0);
  select({ a: order[0], b: order[Math.min(1, order.length - 1)] });
  // Draw all charts when idle, so that they are ready for printing.
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 200));
  const waiting = Object.keys(charts);
  idle(function next() {
    const id = waiting.shift();
    charts[id].near = true;
    paint(id).then(() => waiting.length && idle(next));
  });
  window.report = { data, state, select, open, value, pairResult, paint: () => Promise.all(Object.keys(charts).map((id) => { charts[id].near = true; return paint(id); })) };
})();
