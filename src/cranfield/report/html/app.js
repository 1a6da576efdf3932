"use strict";
// One page, one state: the selected measure and the two selected runs. Text from files is only ever set as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const floats = (text) => {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);  // several times faster than Uint8Array.from
    return new Float64Array(bytes.buffer);
  };
  const { runs, ticks, tags, measures, signs, queries, digits } = data;
  const values = floats(data.values);
  const counted = data.counted.map((row) => new Set(row));
  const queryLabel = (q) => (data.queryTexts[queries[q]] ? `${queries[q]}: ${data.queryTexts[queries[q]]}` : queries[q]);
  const value = (r, m, q) => values[(r * measures.length + m) * queries.length + q];
  const shown = (x, d = digits) => (x === null || Number.isNaN(x) ? "–" : x.toFixed(d));
  const signed = (x, d = digits) => (x === null ? "–" : (x > 0 && Number(x.toFixed(d)) ? "+" : "") + x.toFixed(d));
  const chance = (p) => (p === null ? "–" : p < 0.0001 ? "<0.0001" : p.toFixed(4));
  // Every sentence and label of the page that is not in page.html.
  const TEXT = {
    headline: (run, measure, mean, lower) => `${run} has the ${lower ? "lowest" : "highest"} ${measure}, ${mean}.`,
    headlineOne: (run, measure, mean, n) => `${run}: ${measure} ${mean} over ${n} ${n === 1 ? "query" : "queries"}.`,
    rank: (measure) => `rank in ${measure}`,
    baseline: "baseline",
    againstBaseline: (measure, run) => `${measure} vs ${run}`,
    tested: (difference, p, better) => `${better === null ? "" : better ? "▲ " : "▼ "}${difference}, p ${p}`,
    onlyBaseline: (run) => `Every run is tested against the baseline ${run}: select it as one of the two runs.`,
    notAudited: " Not checked: whether ties or unjudged documents could reverse this difference.",
    unchecked: "not audited",
    ranks: "ranks",
    range: (low, high) => (low === high ? String(low) : `${low} to ${high}`),
    needsRankings: "This needs one ranking for each run: it is not shown for scores from elsewhere, nested means and repeats.",
    groupHead: (name, n) => `${name} (${n} ${n === 1 ? "query" : "queries"})`,
    interaction: "p of interaction",
    aboutGroups: (measure, attribute, baseline, level) => `Mean ${measure} of the queries of each ${attribute}` + (baseline === null ? "." : `, and the difference from ${baseline} with its ${level} interval by Student’s t. The p of interaction says whether the difference depends on the ${attribute}.`),
    groupsCaption: (measure, attribute, baseline) => (baseline === null ? `${measure} by ${attribute}.` : `${measure} by ${attribute}: difference of the selected runs from ${baseline}.`),
    historyCaption: (measure, n) => `${measure} at ${n} ${n === 1 ? "time" : "times"}, the latest last.`,
    origin: (version, by) => `Cranfield ${version}${by ? `, ${by}` : ""}. The digest of a file is that of its content after decompression, that of judgments does not depend on their order.`,
    kind: "kind",
    collection: "collection",
    file: "file",
    digest: "digest",
    linkToPair: "Link to this pair",
    linkToQuery: "Link to this query",
    named: (run, tag) => (tag ? `${run} (${tag})` : run),
    tag: (tag) => `tag ${tag}`,
    rowsAndColumns: (rows, columns, n) => (rows === columns ? `Runs ${rows} of ${n}` : `Rows ${rows}, columns ${columns} of ${n}`),
    matrix: (n, measure) => `Significance of the differences in ${measure} between ${n} runs`,
    versus: (a, b) => `${a} vs ${b}`,
    sameRunTwice: (run) => run,
    significance: (yes) => (yes ? "significant" : "not significant"),
    correctedP: (p) => `corrected p ${p}`,
    rowBetter: "row significantly better",
    rowWorse: "row significantly worse",
    notSignificant: "not significant",
    stronger: (x) => `strongest colour: a difference of ${x} or more`,
    group: "group",
    groupRuns: "runs",
    groupNames: "first … last",
    groupMeans: (measure) => `mean ${measure}`,
    oneRun: "There is only one run, so there is nothing to compare.",
    sameRun: "Select two different runs.",
    notTested: (measure) => `${measure} has no per-query values to test.`,
    better: "is significantly better than",
    worse: "is significantly worse than",
    equal: "does not differ significantly from",
    means: (measure, a, b, n) => `${measure} ${a} vs ${b}, ${n} ${n === 1 ? "query" : "queries"}`,
    difference: (what, value, low, high) => `${what} ${value} [${low}, ${high}]`,
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
    otherRuns: "other runs",
    save: (kind) => `Save as ${kind.toUpperCase()}`,
    disagreement: "disagreement",
    queriesCaption: (a, b, measure, lower) => `${measure} of ${a} minus that of ${b}, by query. Bars ${lower ? "below" : "above"} the line: ${a} is better.`,
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
    plausible: "unjudged: plausible",
    unjudgedShare: "unjudged share",
    condensed: "condensed",
    terminal: "terminal",
    recall: "recall",
    precision: "precision",
    cutoff: "k",
    gain: "nDCG@k",
  };
  let started = false;  // the address is left alone until a reader selects something
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

  // A long name breaks after a sign, never inside a word.
  const breakable = (name) => name.split(/(?<=[-_./:+])/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));

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
      body.replaceChildren(...order.filter((row) => !wanted || (columns[0].find || columns[0].of)(row).toLowerCase().includes(wanted))
        .map((row) => h("tr", { ...attributes(row), "data-row": row }, ...columns.map((c) => {
          const content = c.show(row);
          const cell = h("td", { class: [(c.left || c.text) && "left", c.id && "id", c.best && c.best(row) && "best"].filter(Boolean).join(" ") || null });
          cell.append(...(Array.isArray(content) ? content : [content]));
          return cell;
        }))));
      const again = held === null ? null : body.querySelector(`tr[data-row="${held}"] button`);
      if (again) again.focus({ preventScroll: true });
      columns.forEach((column, i) => { if (typeof column.title === "function") head.children[i].firstChild.textContent = column.title(); });
      [...head.children].forEach((cell, i) => cell.setAttribute("aria-sort", i === at ? (falling ? "descending" : "ascending") : "none"));
    }
    columns.forEach((column, i) => head.append(h("th", { scope: "col", class: column.left || column.text ? "left" : null }, h("button", {
      type: "button",
      onclick: () => {
        falling = i === at ? !falling : !column.text && !column.rising;
        at = i;
        $(id).sorting = { at, falling };
        draw();
        if (column.selected) column.selected();
      },
    }, typeof column.title === "function" ? column.title() : column.title))));
    $(id).classList.toggle("dense", columns.length > 7);
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
  const LEGEND = 94;  // of labels with a legend
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
    if (drawing.draw) { drawing.draw(t); return Promise.resolve(); }
    const spec = drawing.spec(t);
    spec.$schema = "https://vega.github.io/schema/vega-lite/v6.json";
    spec.autosize = { type: "fit-x", contains: "padding" };
    spec.height = drawing.height;
    spec.width ??= "container";
    spec.background = "transparent";
    spec.config = {
      view: { stroke: null }, font: "system-ui, sans-serif",
      axis: { labelColor: t.soft, titleColor: t.soft, gridColor: t.line, domainColor: t.line, tickColor: t.line, titleFontWeight: "normal", titlePadding: 8, labelLimit: 240 },
      axisY: { minExtent: 36 },
      legend: { labelColor: t.ink, titleColor: t.soft, titleFontWeight: "normal" },
    };
    // Without warnings: a chart may be empty because there are too few queries or runs.
    drawing.done = vegaEmbed($(id), spec, { actions: false, ast: true, logLevel: 1, renderer: "svg", tooltip: { theme: document.documentElement.dataset.theme } })
      .then((made) => { if (drawing.view) drawing.view.finalize(); drawing.view = made.view; if (drawing.ready) drawing.ready(made.view); });
    return drawing.done;
  }
  // The colours of the selected runs and of all others, with a legend.
  const whose = (r) => (r === state.a || r === state.b ? safeName(ticks[r]) : TEXT.otherRuns);
  function selected(t, drawn) {
    const colours = new Map([...drawn.includes(state.b) ? [[whose(state.b), t.other]] : [], ...drawn.includes(state.a) ? [[whose(state.a), t.accent]] : []].reverse());
    if (drawn.some((r) => whose(r) === TEXT.otherRuns)) colours.set(TEXT.otherRuns, t.line);
    return { field: "who", type: "nominal", title: null, legend: { orient: "top", symbolType: "stroke", symbolStrokeWidth: 3, labelLimit: 300 }, scale: { domain: [...colours.keys()], range: [...colours.values()] } };
  }
  // Labels that would overlap are left out; a tooltip shows the name.
  const NONE = { labels: false, ticks: false };
  // Vega keeps groups in objects, where a name such as "constructor" is taken: an invisible prefix avoids the clash.
  const safeName = (name) => `\u200b${name}`;
  const room = (id, count) => count * 12 < $(id).clientWidth - 120;
  const LONGEST_QUERY = Math.max(...queries.map((query) => query.length));
  const upright = (count) => count * (LONGEST_QUERY + 2) * 7 > $("chart-queries").clientWidth - 120;
  const repaint = (...ids) => ids.forEach((id) => { charts[id].stale = true; paint(id); });

  // Means by which higher is better, whatever the measure.
  const rated = (r, m) => (data.means[r][m] === null ? -Infinity : signs[m] * data.means[r][m]);
  const byMean = (m) => runs.map((_, r) => r).sort((x, y) => rated(y, m) - rated(x, m) || x - y);

  const pairs = data.pairs;
  // Numbers of pairs are packed, as they are most of the file of a report on many runs.
  for (const [name, packed] of Object.entries(pairs)) {
    if (typeof packed !== "string") continue;
    const flat = floats(packed), n = flat.length / measures.length;
    pairs[name] = measures.map((_, m) => Array.from(flat.subarray(m * n, (m + 1) * n), (x) => (Number.isNaN(x) ? null : x)));
  }
  const sizeOf = (r) => { const [low, high] = [Math.min(...data.sizes[r]), Math.max(...data.sizes[r])]; return low === high ? String(low) : `${low}–${high}`; };
  // The run that all others are tested against in a measure; null if all pairs are tested.
  const baselineOf = (m) => (pairs.baseline ? pairs.baseline[m] : null);
  // Pairs follow each other as (1, 0), (2, 0), ..., (2, 1), ...; with a baseline, as the other runs do.
  const pairAt = (m, a, b) => {
    const base = baselineOf(m), [i, j] = a < b ? [a, b] : [b, a];
    if (base === null) return i * runs.length - (i * (i + 1)) / 2 + j - i - 1;
    const other = a === base ? b : a;
    return a === base || b === base ? other - (other > base ? 1 : 0) : null;
  };
  // How many runs are significantly worse and better than each run, by measure.
  const tallies = {};
  function tally(m, r) {
    tallies[m] ??= runs.map((_, a) => {
      const found = { won: 0, lost: 0 };
      runs.forEach((_, b) => {
        const pair = a === b ? null : pairResult(m, a, b);
        if (pair && pair.significant) found[pair.better ? "won" : "lost"] += 1;
      });
      return found;
    });
    return tallies[m][r];
  }
  const rankOf = (m, r) => { const { won, lost } = tally(m, r); return [1 + lost, runs.length - won]; };
  const rankShown = (m, r) => (pairs.difference && pairs.difference[m][0] !== null ? TEXT.range(...rankOf(m, r)) : "–");
  // Leaderboard. Of many runs, it shows the intervals of the selected measure; the chart below it does, too.
  const many = runs.length > 12;
  const best = measures.map((_, m) => signs[m] * Math.max(...runs.map((_, r) => rated(r, m))));
  const marked = (r) => ({ class: r === state.a ? "a" : r === state.b ? "b" : null, "data-run": runs[r] });
  const board = table("scores", [
    { title: TEXT.run, of: (r) => runs[r], find: (r) => `${runs[r]} ${tags[r]}`, show: (r) => [h("button", { type: "button", class: "link", onclick: () => select({ a: r }) }, ...breakable(runs[r])), ...(tags[r] ? [h("small", {}, TEXT.tag(tags[r]))] : [])], text: true, id: true },
    ...measures.map((name, m) => ({
      title: name,
      of: (r) => data.means[r][m],
      best: (r) => runs.length > 1 && shown(data.means[r][m]) === shown(best[m]) && data.ranked[m],
      show: (r) => [shown(data.means[r][m], data.ranked[m] ? digits : 0), h("small", {}, data.low[r][m] === null || (many && m !== state.measure) ? "" : ` [${shown(data.low[r][m])}, ${shown(data.high[r][m])}]`)],
      rising: signs[m] < 0,
      selected: () => select({ measure: m }),
    })),
    ...(runs.length > 1 && !pairs.baseline ? [{
      title: () => TEXT.rank(measures[state.measure]),
      of: (r) => rankOf(state.measure, r)[0] + rankOf(state.measure, r)[1] / runs.length / 2,
      show: (r) => rankShown(state.measure, r),
      rising: true,
    }] : []),
    ...(pairs.baseline ? [{
      title: () => TEXT.againstBaseline(measures[state.measure], runs[baselineOf(state.measure)]),
      of: (r) => { const pair = pairResult(state.measure, r, baselineOf(state.measure)); return pair ? pair.difference : 0; },
      show: (r) => { const pair = pairResult(state.measure, r, baselineOf(state.measure)); return pair ? TEXT.tested(signed(pair.difference), chance(pair.corrected), pair.significant ? pair.better : null) : TEXT.baseline; },
    }] : []),
    { title: TEXT.queries, of: (r) => Math.max(...data.sizes[r]), show: (r) => sizeOf(r) },
  ], runs.map((_, r) => r), { sort: 1, down: signs[0] > 0, attributes: marked });
  $("find-run").addEventListener("input", (event) => board.find(event.target.value));
  $("scores").classList.toggle("compact", many);
  $("scores").parentElement.classList.toggle("long", runs.length > 40);
  $("audited").parentElement.classList.toggle("long", runs.length > 40);
  const rowHeight = Math.max(12, Math.min(22, 700 / runs.length));
  chart("chart-means", Math.max(60, rowHeight * runs.length), (t) => ({
    data: { values: runs.map((run, r) => ({ run: safeName(ticks[r]), mean: data.means[r][state.measure], low: data.low[r][state.measure], high: data.high[r][state.measure], who: r === state.a ? "a" : r === state.b ? "b" : "" })) },
    encoding: { y: { field: "run", type: "nominal", sort: { field: "mean", order: signs[state.measure] < 0 ? "ascending" : "descending" }, title: null } },
    layer: [
      { mark: { type: "rule", color: t.soft }, encoding: { x: { field: "low", type: "quantitative", title: measures[state.measure], axis: { tickCount: 8 } }, x2: { field: "high" } } },
      { mark: { type: "point", filled: true, size: 60, opacity: 1, tooltip: true }, encoding: { x: { field: "mean", type: "quantitative", scale: { zero: false } }, color: { field: "who", type: "nominal", legend: null, scale: { domain: ["a", "b", ""], range: [t.accent, t.other, t.ink] } } } },
    ],
  }));

  // Pairs
  function pairResult(m, a, b) {
    if (a === b || a === null || b === null || !pairs.difference || pairs.difference[m][0] === null) return null;
    const p = pairAt(m, a, b), base = baselineOf(m), sign = (base === null ? a > b : b === base) ? 1 : -1;
    if (p === null) return null;
    const of = (name) => (pairs[name][m][p] === null ? null : pairs[name][m][p]);
    const minus = (x) => (x === null ? null : -x);
    const ends = (low, high) => (sign > 0 ? [of(low), of(high)] : [minus(of(high)), minus(of(low))]);
    return {
      difference: sign * of("difference"), better: sign * signs[m] * of("direction") > 0, interval: ends("low", "high"), effect: of("effect") === null ? null : sign * of("effect"),
      effects: ends("effect_low", "effect_high"), wins: sign > 0 ? of("wins") : of("losses"), losses: sign > 0 ? of("losses") : of("wins"),
      p: of("p"), corrected: of("corrected"), significant: of("corrected") < pairs.alpha, doubts: pairs.doubts[m][p] || "", audited: pairs.doubts[m][p] !== null,
    };
  }
  $("method").textContent = data.method;
  function showPair() {
    const { measure: m, a, b } = state, pair = pairResult(m, a, b);
    if (!pair) {
      const base = baselineOf(m);
      $("pair").textContent = runs.length < 2 ? TEXT.oneRun : a === b ? TEXT.sameRun : base === null ? TEXT.notTested(measures[m]) : TEXT.onlyBaseline(runs[base]);
      return;
    }
    const n = pairs.queries[m], same = n - pair.wins - pair.losses;
    const verdict = pair.significant ? (pair.better ? TEXT.better : TEXT.worse) : TEXT.equal;
    const causes = pair.significant && pair.doubts ? pair.doubts.split(" ").map((cause) => TEXT[cause]).join(TEXT.or) : "";
    const details = [
      TEXT.means(measures[m], shown(pairs.means[m][a]), shown(pairs.means[m][b]), n),
      TEXT.difference(data.quantity, signed(pair.difference), ...pair.interval.map((x, i) => (x === null ? ["-∞", "+∞"][i] : signed(x)))),
      TEXT.effect(signed(pair.effect, 2), pair.effects[0] === null ? null : signed(pair.effects[0], 2), signed(pair.effects[1], 2)),
      TEXT.p(chance(pair.p), chance(pair.corrected)),
    ].join("; ");
    const warning = causes ? ` ${causes[0].toUpperCase()}${TEXT.reversible(causes.slice(1))}` : pair.significant && !pair.audited ? TEXT.notAudited : "";
    $("pair").textContent = `${runs[a]} ${verdict} ${runs[b]}: ${details}. ${TEXT.wins(pair.wins, same, pair.losses)}${warning} `;
    $("pair").append(h("a", { class: "permalink", href: address({ query: null }) }, TEXT.linkToPair));
  }
  function showHeadline() {
    const m = state.measure, [top] = byMean(m), mean = shown(data.means[top][m]);
    const alone = runs.length < 2 ? TEXT.headlineOne(runs[0], measures[m], mean, data.sizes[0][m]) : TEXT.headline(runs[top], measures[m], mean, signs[m] < 0);
    $("headline").textContent = data.headlines[measures[m]] || alone;
  }
  // The matrix of all pairs is drawn on a canvas: 126 runs are 15,750 cells, too many for elements of a page.
  // `view` holds the first row, the first column and the number of both.
  const MIN_ZOOM = 8, LABELLED = 11, LARGEST_CELL = 44, HEIGHT = 780;  // cells, and pixels
  const FONT = "11px system-ui, sans-serif";
  const view = { row: 0, column: 0, count: runs.length };
  const matrix = { order: [], groups: [], at: null };
  const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
  const named = (r) => TEXT.named(runs[r], tags[r]);
  // Neighbours in the order by mean of which no two differ significantly.
  const grouped = {};
  function groupsOf(m) {
    if (grouped[m]) return grouped[m];
    const order = byMean(m), groups = [];
    let from = 0;
    order.forEach((run, i) => {
      const parted = order.slice(from, i).some((other) => { const pair = pairResult(m, other, run); return pair && pair.significant; });
      if (parted) { groups.push({ from, to: i - 1 }); from = i; }
    });
    groups.push({ from, to: order.length - 1 });
    return (grouped[m] = groups);
  }
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const blend = (from, to, share) => `rgb(${from.map((x, i) => Math.round(x + (to[i] - x) * share)).join(",")})`;
  // Sizes of the matrix: the cells, and the room for labels on the left and above.
  function layout() {
    const width = $("chart-pairs").clientWidth || 600, pen = document.createElement("canvas").getContext("2d");
    pen.font = FONT;
    const inView = (first) => matrix.order.slice(first, first + view.count);
    const longest = (first) => Math.ceil(Math.max(0, ...inView(first).map((r) => pen.measureText(ticks[r]).width)));
    const most = view.count < runs.length ? Infinity : LARGEST_CELL;
    const size = (left, top) => Math.min(most, (width - left) / view.count, (HEIGHT - top) / view.count);
    const [left, top] = [longest(view.row) + 12, longest(view.column) + 12];
    const labelled = size(left, top) >= LABELLED;
    const cell = labelled ? size(left, top) : size(22, 8);
    return { labelled, cell, left: labelled ? left : 22, top: labelled ? top : 8, width };
  }
  const edge = (i, cell) => Math.round(i * cell);
  function drawMatrix(t, pen = $("matrix").getContext("2d")) {
    const m = state.measure, canvas = $("matrix"), { cell, left, top, labelled } = layout();
    const side = edge(view.count, cell), scale = Math.max(2, window.devicePixelRatio || 1);
    const [wide, high] = [left + side + 2, top + side + 2];
    if (pen.canvas) {
      canvas.width = wide * scale; canvas.height = high * scale;
      canvas.style.width = `${wide}px`; canvas.style.height = `${high}px`;
    }
    canvas.setAttribute("aria-label", TEXT.matrix(runs.length, measures[m]));
    pen.scale(scale, scale);
    pen.font = FONT;
    const colours = { zero: rgb(t.raised), up: rgb(t.accent), down: rgb(t.other) }, rows = matrix.order.slice(view.row, view.row + view.count), columns = matrix.order.slice(view.column, view.column + view.count);
    const box = (i, j) => [left + edge(j, cell), top + edge(i, cell), edge(j + 1, cell) - edge(j, cell), edge(i + 1, cell) - edge(i, cell)];
    const gap = cell > 6 ? 1 : 0;
    rows.forEach((a, i) => columns.forEach((b, j) => {
      const pair = pairResult(m, a, b), [x, y, w, h] = box(i, j);
      if (a === b) { pen.fillStyle = t.line; pen.fillRect(x, y, w, h); return; }
      if (!pair || !pair.significant) return;
      // Even the smallest significant difference is visible.
      const share = .25 + .75 * Math.min(1, Math.abs(pair.difference) / matrix.most);
      pen.fillStyle = blend(colours.zero, pair.better ? colours.up : colours.down, share);
      pen.fillRect(x, y, w - gap, h - gap);
      if (pair.doubts && cell >= 5) {
        const dot = cell > 14 ? 3 : cell > 8 ? 2 : 1;
        pen.fillStyle = t.ink;
        pen.fillRect(x + (w - gap - dot) / 2, y + (h - gap - dot) / 2, dot, dot);
      }
    }));
    pen.strokeStyle = t.line;
    pen.strokeRect(left - .5, top - .5, side + 1, side + 1);
    // Groups, and the selected pair.
    pen.save();
    pen.beginPath(); pen.rect(left - 1, top - 1, side + 2, side + 2); pen.clip();
    const frame = (i, j, n, colour, width) => { pen.strokeStyle = colour; pen.lineWidth = width; pen.strokeRect(left + edge(j, cell), top + edge(i, cell), edge(j + n, cell) - edge(j, cell), edge(i + n, cell) - edge(i, cell)); };
    matrix.groups.forEach(({ from, to }) => frame(from - view.row, from - view.column, to - from + 1, t.soft, 1));
    const [a, b] = [matrix.order.indexOf(state.a), matrix.order.indexOf(state.b)];
    if (a !== b) { frame(a - view.row, b - view.column, 1, t.ink, 2); frame(b - view.row, a - view.column, 1, t.ink, 1); }
    pen.restore();
    pen.textBaseline = "middle"; pen.textAlign = "right"; pen.fillStyle = t.soft;
    if (labelled) {
      rows.forEach((r, i) => pen.fillText(ticks[r], left - 6, top + (i + .5) * cell));
      columns.forEach((r, j) => { pen.save(); pen.translate(left + (j + .5) * cell, top - 6); pen.rotate(-Math.PI / 2); pen.textAlign = "left"; pen.fillText(ticks[r], 0, 0); pen.restore(); });
    } else {
      matrix.groups.forEach(({ from, to }, g) => { const high = (to - from + 1) * cell; if (high > 9) pen.fillText(g + 1, left - 4, top + (from - view.row) * cell + high / 2); });
    }
    matrix.size = { left, top, cell, side, labelled };
    const range = (first) => `${first + 1}–${first + view.count}`;
    $("pairs-shown").textContent = TEXT.rowsAndColumns(range(view.row), range(view.column), runs.length);
    $("zoom-in").disabled = view.count <= Math.min(MIN_ZOOM, runs.length);
    $("zoom-out").disabled = $("zoom-all").disabled = view.count === runs.length;
    point(null);
  }
  // As much of a canvas's pen as the matrix needs, which writes SVG.
  class SvgPen {
    parts = []; turns = [""]; clips = 0; textAlign = "left"; lineWidth = 1;
    scale() {}
    element(tag, attributes, text = "") {
      const names = Object.entries(attributes).map(([name, content]) => `${name}="${content}"`).join(" ");
      this.parts.push(`<${tag} ${names}${this.turns[this.turns.length - 1]}>${text}</${tag}>`);
    }
    fillRect(x, y, width, height) { this.element("rect", { x, y, width, height, fill: this.fillStyle }); }
    strokeRect(x, y, width, height) { this.element("rect", { x, y, width, height, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth }); }
    fillText(text, x, y) {
      const content = String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
      this.element("text", { x, y, fill: this.fillStyle, "font-size": 11, "font-family": "system-ui, sans-serif", "text-anchor": this.textAlign === "right" ? "end" : "start", "dominant-baseline": "central" }, content);
    }
    save() { this.turns.push(this.turns[this.turns.length - 1]); }
    restore() { this.turns.pop(); }
    translate(x, y) { this.at = [x, y]; }
    rotate(angle) { this.turns[this.turns.length - 1] = ` transform="translate(${this.at}) rotate(${angle * 180 / Math.PI})"`; }
    beginPath() {}
    rect(...box) { this.box = box; }
    clip() {
      const [x, y, width, height] = this.box;
      this.parts.push(`<clipPath id="clip${++this.clips}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath>`);
      this.turns[this.turns.length - 1] = ` clip-path="url(#clip${this.clips})"`;
    }
    url(width, height, ground) {
      const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
      return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(`${head}<rect width="100%" height="100%" fill="${ground}"/>${this.parts.join("")}</svg>`);
    }
  }
  function matrixUrl(kind) {
    if (kind === "png") return $("matrix").toDataURL();
    const pen = new SvgPen(), { left, top, side } = matrix.size, t = theme();
    drawMatrix(t, pen);
    return pen.url(left + side + 2, top + side + 2, t.paper);
  }
  // The cell under the pointer or the keyboard cursor: a frame, and the names and numbers of its pair.
  function point(at) {
    const { left, top, cell } = matrix.size, mark = $("matrix-cell"), tip = $("matrix-tip");
    matrix.at = at;
    mark.hidden = tip.hidden = at === null;
    if (at === null) return;
    const [a, b] = [matrix.order[view.row + at.i], matrix.order[view.column + at.j]], pair = pairResult(state.measure, a, b);
    const lines = [a === b ? TEXT.sameRunTwice(named(a)) : TEXT.versus(named(a), named(b))];
    if (pair) {
      lines.push(`${TEXT.differenceTitle} ${signed(pair.difference)}; ${TEXT.correctedP(chance(pair.corrected))}; ${TEXT.significance(pair.significant)}`);
      if (pair.significant && pair.doubts) lines.push(`${TEXT.reversibleBy} ${pair.doubts.split(" ").map((cause) => TEXT[cause]).join(TEXT.or)}`);
    }
    tip.replaceChildren(...lines.map((line) => h("div", {}, line)));
    const [x, y] = [left + edge(at.j, cell), top + edge(at.i, cell)];
    Object.assign(mark.style, { left: `${x}px`, top: `${y}px`, width: `${Math.max(4, cell)}px`, height: `${Math.max(4, cell)}px` });
    const right = x > $("chart-pairs").clientWidth / 2;
    Object.assign(tip.style, { top: `${y + cell + 8}px`, left: right ? "auto" : `${x}px`, right: right ? `${Math.max(0, $("chart-pairs").clientWidth - x - cell)}px` : "auto" });
  }
  function cellAt(event) {
    const { left, top, cell } = matrix.size, ground = $("matrix").getBoundingClientRect();
    const [j, i] = [(event.clientX - ground.left - left) / cell, (event.clientY - ground.top - top) / cell].map(Math.floor);
    return i >= 0 && j >= 0 && i < view.count && j < view.count ? { i, j } : null;
  }
  // A view of `count` runs in which the cell (row, column) is near the middle.
  function look(row, column, count) {
    view.count = clamp(count, Math.min(MIN_ZOOM, runs.length), runs.length);
    view.row = clamp(Math.round(row - view.count / 2), 0, runs.length - view.count);
    view.column = clamp(Math.round(column - view.count / 2), 0, runs.length - view.count);
    repaint("chart-pairs");
  }
  const zoom = (factor, at = null) => {
    const middle = at || matrix.at || centre();
    look(view.row + middle.i + .5, view.column + middle.j + .5, Math.round(view.count * factor));
  };
  // Zooming keeps the selected pair in view, if it is there.
  function centre() {
    const [i, j] = [matrix.order.indexOf(state.a) - view.row, matrix.order.indexOf(state.b) - view.column];
    const inside = (x) => x >= 0 && x < view.count;
    return inside(i) && inside(j) ? { i, j } : { i: (view.count - 1) / 2, j: (view.count - 1) / 2 };
  }
  const choose = (at) => select({ a: matrix.order[view.row + at.i], b: matrix.order[view.column + at.j] });
  function makeMatrix() {
    const canvas = h("canvas", { id: "matrix", tabindex: 0, role: "img" });
    $("chart-pairs").replaceChildren(canvas, h("div", { id: "matrix-cell", hidden: "" }), h("div", { id: "matrix-tip", role: "status", hidden: "" }));
    let held = null;
    canvas.addEventListener("pointerdown", (event) => { held = { x: event.clientX, y: event.clientY, row: view.row, column: view.column, moved: false }; });
    canvas.addEventListener("pointermove", (event) => {
      if (held && event.buttons && view.count < runs.length) {
        const { cell } = matrix.size, [x, y] = [event.clientX - held.x, event.clientY - held.y].map((d) => Math.round(d / cell));
        if (x || y) { if (!held.moved) canvas.setPointerCapture(event.pointerId); held.moved = true; }
        const row = clamp(held.row - y, 0, runs.length - view.count), column = clamp(held.column - x, 0, runs.length - view.count);
        if (row !== view.row || column !== view.column) { Object.assign(view, { row, column }); repaint("chart-pairs"); }
        if (held.moved) return;
      }
      point(cellAt(event));
    });
    canvas.addEventListener("pointerleave", () => point(null));
    canvas.addEventListener("click", (event) => {
      const at = cellAt(event), moved = held && held.moved;
      held = null;
      if (at && !moved) { choose(at); point(at); }
    });
    canvas.addEventListener("dblclick", (event) => { const at = cellAt(event); if (at) zoom(.5, at); });
    canvas.addEventListener("wheel", (event) => {
      const at = cellAt(event);
      if (!event.ctrlKey || !at) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : .8, at);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const at = matrix.at || { i: Math.floor(centre().i), j: Math.floor(centre().j) };
      if (step) {
        const [i, j] = [at.i + step[0], at.j + step[1]], [row, column] = [view.row + (i < 0 ? -1 : i >= view.count ? 1 : 0), view.column + (j < 0 ? -1 : j >= view.count ? 1 : 0)];
        const last = runs.length - view.count;
        if ((row !== view.row || column !== view.column) && row >= 0 && column >= 0 && row <= last && column <= last) { Object.assign(view, { row, column }); repaint("chart-pairs"); }
        point({ i: clamp(i, 0, view.count - 1), j: clamp(j, 0, view.count - 1) });
      } else if (event.key === "Enter" || event.key === " ") { choose(at); point(at); }
      else if (event.key === "+" || event.key === "=") zoom(.5);
      else if (event.key === "-" || event.key === "−") zoom(2);
      else if (event.key === "0") look(0, 0, runs.length);
      else if (event.key === "Escape") point(null);
      else return;
      event.preventDefault();
    });
    canvas.addEventListener("blur", () => point(null));
    $("zoom-in").addEventListener("click", () => zoom(.5));
    $("zoom-out").addEventListener("click", () => zoom(2));
    $("zoom-all").addEventListener("click", () => look(0, 0, runs.length));
    $("zoom").hidden = $("zoom-help").hidden = runs.length <= MIN_ZOOM;
    let width = 0;
    new ResizeObserver(() => { const now = $("chart-pairs").clientWidth; if (now !== width) { width = now; repaint("chart-pairs"); } }).observe($("chart-pairs"));
  }
  function arrange() {
    const m = state.measure, differences = runs.length > 1 && pairs.difference ? pairs.difference[m].filter((x) => x !== null) : [];
    const before = matrix.order.join();
    // One bad run differs much from all others: the colours are for differences up to twice the median of the significant ones.
    const sizes = differences.map(Math.abs).filter((_, p) => pairs.corrected[m][p] < pairs.alpha).sort((x, y) => x - y);
    const most = sizes.length ? Math.min(sizes[sizes.length - 1], 2 * sizes[sizes.length >> 1]) : 1;
    Object.assign(matrix, { order: byMean(m), groups: groupsOf(m), most: Math.max(1e-9, most) });
    if (before !== matrix.order.join()) Object.assign(view, { row: 0, column: 0, count: runs.length });
    const tested = differences.length > 0 && !pairs.baseline;
    document.querySelector(".matrix").hidden = !tested;
    if (!tested) return;
    const name = (i) => runs[matrix.order[i]], mean = (i) => shown(data.means[matrix.order[i]][m]);
    const inGroup = (g) => matrix.order.slice(matrix.groups[g].from, matrix.groups[g].to + 1);
    table("groups", [
      { title: TEXT.group, of: (g) => -g, show: (g) => h("button", { type: "button", class: "link", onclick: () => { const { from, to } = matrix.groups[g], n = to - from + 1; look(from + n / 2, from + n / 2, n + 2); $("matrix").scrollIntoView({ block: "nearest" }); } }, g + 1) },
      { title: TEXT.groupRuns, of: (g) => matrix.groups[g].to - matrix.groups[g].from + 1, show: (g) => matrix.groups[g].to - matrix.groups[g].from + 1 },
      { title: TEXT.groupNames, of: (g) => -matrix.groups[g].from, show: (g) => (matrix.groups[g].to > matrix.groups[g].from ? [name(matrix.groups[g].from), " … ", name(matrix.groups[g].to)] : name(matrix.groups[g].from)), left: true, id: true },
      { title: TEXT.ranks, of: (g) => -matrix.groups[g].from, show: (g) => { const ranks = inGroup(g).map((r) => rankOf(m, r)); return TEXT.range(Math.min(...ranks.map(([low]) => low)), Math.max(...ranks.map(([, high]) => high))); } },
      { title: TEXT.groupMeans(measures[m]), of: (g) => data.means[matrix.order[matrix.groups[g].from]][m], show: (g) => [...new Set([mean(matrix.groups[g].from), mean(matrix.groups[g].to)])].join("–") },
    ], matrix.groups.map((_, g) => g), { sort: 0 });
    const sample = (colour, text) => h("span", { class: "sample" }, h("i", { class: colour }), text);
    $("pairs-legend").replaceChildren(...(sizes.length ? [sample("accent", TEXT.rowBetter), sample("other", TEXT.rowWorse)] : []),
      sample("paper", TEXT.notSignificant), ...(sizes.length ? [h("span", {}, TEXT.stronger(shown(matrix.most)))] : []));
    const { top, cell } = layout();
    $("chart-pairs").style.minHeight = `${top + edge(view.count, cell) + 8}px`;
  }
  makeMatrix();
  charts["chart-pairs"] = { draw: drawMatrix, near: false, stale: true };
  near.observe($("chart-pairs"));

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
        x: { field: "query", type: "nominal", sort: { field: "difference", order: signs[state.measure] < 0 ? "ascending" : "descending" }, title: null, axis: room("chart-queries", rows.length) ? { labelAngle: upright(rows.length) ? -90 : 0 } : NONE },
        y: { field: "difference", type: "quantitative", title: TEXT.differenceIn(measures[state.measure]) },
        color: { condition: { test: `datum.difference * ${signs[state.measure]} > 0`, value: t.accent }, value: t.other },
      },
    };
  });
  charts["chart-queries"].ready = (view) => view.addEventListener("click", (event, item) => {
    if (item && item.datum && item.datum.q !== undefined) open(item.datum.q);
  });
  let listed;
  function list() {
    const { measure: m, a, b } = state, rows = queries.map((_, q) => q).filter(both);
    $("without-value").hidden = !rows.some((q) => Number.isNaN(gap(q)));
    listed = table("by-query", [
      { title: TEXT.query, of: (q) => queries[q], show: (q) => h("button", { type: "button", class: "link", onclick: () => open(q) }, queryLabel(q)), text: true, id: true },
      { title: runs[a], of: (q) => value(a, m, q), show: (q) => shown(value(a, m, q)) },
      { title: runs[b], of: (q) => value(b, m, q), show: (q) => shown(value(b, m, q)) },
      { title: TEXT.differenceTitle, of: gap, show: (q) => (Number.isNaN(gap(q)) ? "–" : signed(gap(q))), rising: signs[m] < 0 },
      { title: TEXT.meanOfAll, of: (q) => spread(q).mean, show: (q) => shown(spread(q).mean) },
      { title: TEXT.disagreement, of: (q) => spread(q).deviation, show: (q) => shown(spread(q).deviation) },
    ], rows, { sort: 3, down: signs[m] > 0, attributes: (q) => ({ "data-query": queries[q] }) });
    listed.find($("find-query").value);
    $("caption-queries").textContent = TEXT.queriesCaption(runs[a], runs[b], measures[m], signs[m] < 0);
  }
  $("find-query").addEventListener("input", (event) => listed.find(event.target.value));
  function open(q) {
    show(q);
    remember();
    $("detail").focus({ preventScroll: true });
    $("detail").scrollIntoView({ block: "nearest" });
  }
  // A document with its text: the first line, and all of it on a click. A title stands in a line of its own.
  function withText(name, text) {
    const [title, body] = data.marked || !text.includes("\n") ? ["", text] : text.split("\n", 2);
    const whole = data.marked ? body.map((part, at) => (at % 2 ? h("mark", {}, part) : part)) : [body];
    const first = h("span", { class: "line" }, ...(title ? [h("b", {}, title), " "] : []), data.marked ? body.join("") : body);
    return h("details", { class: "document" }, h("summary", {}, name, first), ...(title ? [h("b", {}, title)] : []), h("p", {}, ...whole));
  }
  function show(q) {
    state.query = q;
    const detail = $("detail");
    if (!data.rankings) {
      detail.replaceChildren(h("h3", {}, TEXT.queryTitle(queryLabel(q))), h("p", { class: "lead" }, TEXT.needsRankings));
      return;
    }
    const pages = data.rankings[q];
    const side = (r, other) => {
      const page = pages.runs[r], there = new Set(pages.runs[other] ? pages.runs[other].documents : []);
      if (!page) return h("div", {}, h("h4", {}, runs[r]), h("p", {}, TEXT.noRanking));
      const items = [];
      let rank = 0;
      for (const size of page.ties) {
        for (let i = 0; i < size; i++, rank++) {
          const d = page.documents[rank], grade = pages.grades[d], name = pages.documents[d], texts = data.marked ? data.texts[data.queries[q]] || {} : data.texts, text = Object.hasOwn(texts, name) ? texts[name] : undefined;
          const kind = grade === null ? "unjudged" : grade > 0 ? "relevant" : "";
          const tied = size > 1 ? `tied${i === 0 ? " first" : ""}${i === size - 1 ? " last" : ""}` : null;
          items.push(h("li", { class: tied },
            h("span", { class: "rank" }, rank + 1),
            h("span", { class: `grade ${kind}`, title: grade === null ? TEXT.unjudgedDocument : TEXT.grade(grade) }, grade === null ? "?" : grade),
            text === undefined ? h("span", { class: "document" }, name) : withText(name, text),
            h("span", { class: "only" }, r !== other && !there.has(d) ? TEXT.onlyHere : "")));
        }
      }
      const rest = page.length - page.documents.length;
      return h("div", {}, h("h4", {}, `${runs[r]}: ${measures[state.measure]} ${shown(value(r, state.measure, q))}`), h("ol", {}, ...items), h("p", { class: "only" }, rest > 0 ? TEXT.more(rest) : TEXT.end));
    };
    detail.replaceChildren(
      h("h3", {}, TEXT.queryTitle(queryLabel(q))),
      h("p", { class: "lead" }, TEXT.rankingsLead(pages.relevant), " ", h("a", { class: "permalink", href: address({}) }, TEXT.linkToQuery)),
      h("div", { class: "rankings" }, side(state.a, state.b), ...(state.a === state.b ? [] : [side(state.b, state.a)])));
  }

  // Groups of queries
  const grouping = data.groups, base = grouping && grouping.baseline;
  $("by-group").hidden = $("to-groups").hidden = !grouping;
  function showGroups() {
    if (!grouping) return;
    const m = state.measure, g = grouping, baseline = base === null ? null : runs[base];
    const mean = (r, i) => g.means[m][r][i];
    const top = g.names.map((_, i) => shown(signs[m] * Math.max(...runs.map((_, r) => (mean(r, i) === null ? -Infinity : signs[m] * mean(r, i))))));
    const aside = (r, i) => (r === base || g.difference[m][r][i] === null ? "" : signed(g.difference[m][r][i]) + (g.low[m][r][i] === null ? "" : ` [${signed(g.low[m][r][i])}, ${signed(g.high[m][r][i])}]`));
    table("query-groups", [
      { title: TEXT.run, of: (r) => runs[r], show: (r) => runs[r], text: true, id: true },
      ...g.names.map((name, i) => ({
        title: TEXT.groupHead(name, g.queries[m][i]),
        of: (r) => mean(r, i),
        best: (r) => runs.length > 1 && shown(mean(r, i)) === top[i] && data.ranked[m],
        show: (r) => [shown(mean(r, i)), h("small", {}, base === null ? "" : aside(r, i))],
        rising: signs[m] < 0,
      })),
      ...(base === null ? [] : [{ title: TEXT.interaction, of: (r) => g.p[m][r], show: (r) => (r === base ? "" : chance(g.p[m][r])), rising: true }]),
    ], runs.map((_, r) => r), { sort: 1, down: signs[m] > 0, attributes: marked });
    $("about-groups").textContent = TEXT.aboutGroups(measures[m], g.attribute, baseline, g.level);
    $("caption-groups").textContent = TEXT.groupsCaption(measures[m], g.attribute, baseline);
    $("group-notes").replaceChildren(...g.notes.map((text) => h("li", {}, text)));
  }
  if (grouping) {
    const drawn = () => [...new Set([state.a, state.b])].filter((r) => r !== base);
    chart("chart-groups", Math.max(80, 34 * grouping.names.length), (t) => {
      const m = state.measure, what = base === null ? grouping.means : grouping.difference;
      const rows = drawn().flatMap((r) => grouping.names.map((name, i) => ({ group: safeName(name), run: safeName(ticks[r]), value: what[m][r][i], low: grouping.low[m][r][i], high: grouping.high[m][r][i], who: whose(r) })));
      const title = base === null ? measures[m] : TEXT.differenceIn(measures[m]), colour = selected(t, drawn());
      return {
        data: { values: rows },
        encoding: { y: { field: "group", type: "nominal", sort: grouping.names.map(safeName), title: null }, yOffset: { field: "run", type: "nominal", sort: drawn().map((r) => safeName(ticks[r])) } },
        layer: [
          ...(base === null ? [] : [{ mark: { type: "rule", color: t.soft }, data: { values: [{}] }, encoding: { x: { datum: 0, type: "quantitative" }, y: null, yOffset: null } }]),
          { mark: { type: "rule" }, encoding: { x: { field: "low", type: "quantitative", title, axis: { tickCount: 8 } }, x2: { field: "high" }, color: colour } },
          { mark: { type: "point", filled: true, size: 60, opacity: 1 }, encoding: { x: { field: "value", type: "quantitative", title, scale: { zero: base !== null } }, color: colour, tooltip: ["run", "group", "value", "low", "high"].map((field) => ({ field })) } },
        ],
      };
    }, LEGEND);
  }

  // History
  const past = data.history;
  $("history").hidden = $("to-history").hidden = !past;
  if (past) {
    const at = past.times.map((_, e) => e), named = (e) => past.times[e];
    chart("chart-history", 260, (t) => {
      const known = past.means.filter((one) => one.measure === measures[state.measure]);
      const rows = known.map((one) => ({ ...one, r: runs.indexOf(one.run), run: safeName(one.run), time: named(one.at) })).map((one) => ({ ...one, who: one.r < 0 ? TEXT.otherRuns : whose(one.r) }));
      const x = { field: "at", type: "ordinal", title: null, scale: { domain: at }, axis: { labelExpr: `${JSON.stringify(past.times)}[datum.value]`, labelAngle: at.length > 6 ? -90 : 0, labelOverlap: true } };
      const y = { field: "mean", type: "quantitative", title: measures[state.measure], scale: { zero: false } };
      const colour = selected(t, [...new Set(rows.map((one) => one.r))]), detail = { field: "run" };
      const tooltip = ["run", "time", "mean", "low", "high", "change", "since", "reference"].map((field) => ({ field }));
      $("caption-history").textContent = TEXT.historyCaption(measures[state.measure], at.length);
      return {
        data: { values: rows },
        encoding: { x, detail, color: colour },
        layer: [
          { mark: { type: "rule", opacity: 0.5 }, encoding: { y: { ...y, field: "low" }, y2: { field: "high" } } },
          { mark: { type: "line" }, encoding: { y } },
          { mark: { type: "point", filled: true, size: 40, opacity: 1 }, encoding: { y, tooltip } },
          { transform: [{ filter: "datum.marked === true" }], mark: { type: "point", filled: false, size: 160, strokeWidth: 2 }, encoding: { y, color: { value: t.ink } } },
        ],
      };
    }, LEGEND);
  }

  // Curves and agreement
  const curve = (name, x, y) => (t) => ({
    data: { values: runs.flatMap((run, r) => data.curves[name].x.map((at, i) => ({ run: safeName(ticks[r]), x: at, y: data.curves[name].y[r][i], who: whose(r), front: r === state.a || r === state.b ? 1 : 0 }))) },
    // The selected runs are drawn last, so that no other run covers them.
    layer: [0, 1].map((front) => ({ transform: [{ filter: `datum.front === ${front}` }], mark: { type: "line", point: { size: 18 }, tooltip: true } })),
    encoding: {
      x: { field: "x", type: "quantitative", title: x, scale: name === "gain" ? { type: "log" } : {}, axis: name === "gain" ? { values: data.curves.gain.x, grid: false } : {} },
      y: { field: "y", type: "quantitative", title: y }, detail: { field: "run" },
      color: selected(t, runs.map((_, r) => r)),
      strokeWidth: { condition: { test: "datum.front === 1", value: 2.5 }, value: 1 },
      tooltip: [{ field: "run" }, { field: "x", title: x }, { field: "y", title: y, format: ".4f" }],
    },
  });
  if (data.curves) {
    chart("chart-recall", 280, curve("recall", TEXT.recall, TEXT.precision), LEGEND);
    chart("chart-gain", 280, curve("gain", TEXT.cutoff, TEXT.gain), LEGEND);
  }
  chart("chart-agreement", Math.max(160, Math.min(420, measures.length * 44)), (t) => {
    const rows = data.agreement.flatMap((row, i) => row.map((tau, j) => ({ measure: measures[i], other: measures[j], tau, shown: tau === null ? "–" : tau.toFixed(2) })));
    const ends = { x: { field: "other", type: "nominal", sort: measures, title: null, axis: { labelAngle: -40 } }, y: { field: "measure", type: "nominal", sort: measures, title: null } };
    // A small matrix is not stretched over the page: room for names and the legend, and for each column.
    const wide = $("chart-agreement").clientWidth, width = Math.min(wide || Infinity, 260 + 60 * measures.length);
    return {
      data: { values: rows }, encoding: ends, ...(width < wide ? { width } : {}),
      layer: [
        { mark: { type: "rect", tooltip: true }, encoding: { color: { field: "tau", type: "quantitative", title: "τ", scale: { domain: [-1, 0, 1], range: [t.other, t.raised, t.accent], interpolate: "lab" } } } },
        { mark: { type: "text" }, encoding: { text: { field: "shown", type: "nominal" }, color: { condition: { test: "abs(datum.tau) > 0.75", value: t.paper }, value: t.ink } } },
      ],
    };
  });

  // Audit
  function audited() {
    if (!data.audit) return;
    const m = state.measure, of = (name) => (r) => data.audit[name][r][m];
    const column = (heading, name, d = digits) => ({ title: heading, of: of(name), show: (r) => shown(of(name)(r), d) });
    const share = (x) => (x === null ? "–" : x > 0 && x < 0.0005 ? "<0.1%" : `${(100 * x).toFixed(1)}%`);
    const range = (heading, low, high) => ({ title: heading, of: (r) => of(high)(r) - of(low)(r), show: (r) => (of(low)(r) === null ? "–" : `${shown(of(low)(r))} … ${shown(of(high)(r))}`) });
    table("audited", [
      { title: TEXT.run, of: (r) => runs[r], show: (r) => runs[r], text: true, id: true },
      column(measures[m], "score"),
      range(TEXT.interval, "low", "high"),
      range(TEXT.tieRange, "worst", "best"),
      column(TEXT.tieExpected, "expected"),
      range(TEXT.unjudgedRange, "lowest", "highest"),
      { title: TEXT.plausible, of: of("plausible"), show: (r) => (of("plausible")(r) === null ? "–" : `${shown(of("plausible")(r))} ± ${shown((of("plausible_high")(r) - of("plausible_low")(r)) / 2)}`) },
      { title: TEXT.unjudgedShare, of: of("unjudged"), show: (r) => share(of("unjudged")(r)) },
      column(TEXT.condensed, "condensed"),
      column(TEXT.terminal, "terminal"),
    ], runs.map((_, r) => r), { sort: 1, attributes: marked });
    $("bottom-line").replaceChildren(...data.bottomLine.map((text) => h("p", {}, text)));
    $("about-audited").textContent = data.audited;
    $("swaps").replaceChildren(...data.swaps[m].map((text) => h("li", {}, text)));
  }

  // The address after # holds the selection, so that a link opens the same pair and query.
  function address(change) {
    const { measure, a, b, query } = { ...state, ...change };
    const parts = { measure: measures[measure], a: runs[a], b: runs[b], ...(query === null ? {} : { query: queries[query] }) };
    return "#" + new URLSearchParams(parts).toString();
  }
  function remember() {
    try { history.replaceState(null, "", address({})); } catch { /* some browsers refuse for files */ }
  }
  function follow() {
    if (!location.hash.includes("=")) return false;
    const parts = new URLSearchParams(location.hash.slice(1)), change = {};
    for (const [name, all] of [["measure", measures], ["a", runs], ["b", runs]]) {
      const at = all.indexOf(parts.get(name));
      if (at >= 0) change[name] = at;
    }
    const query = queries.indexOf(parts.get("query"));
    select(change);
    if (query >= 0) open(query); else if ("a" in change) $("significance").scrollIntoView();
    return true;
  }
  addEventListener("hashchange", follow);

  // Tables as files.
  const quoted = (x) => (typeof x === "string" && /^[=+\-@]/.test(x) && !/^[+-][\d.,]*$/.test(x) ? quotedText(`'${x}`) : quotedText(x));  // no formulas
  const quotedText = (x) => (x === null || Number.isNaN(x) ? "" : /[",\n\r]/.test(String(x)) ? `"${String(x).replaceAll('"', '""')}"` : String(x));
  const lines = (rows) => rows.map((row) => row.map(quoted).join(",") + "\n").join("");
  const CSV = {
    scores: () => {
      const m = state.measure, ranks = pairs.baseline ? [] : ["group", "first rank", "last rank"];
      const ranked = (r, i) => (pairs.baseline ? [] : [1 + groupsOf(m).findIndex(({ from, to }) => from <= i && i <= to), ...rankOf(m, r)]);
      return [["run", "tag", ...ranks, ...measures, "queries"], ...byMean(m).map((r, i) => [runs[r], tags[r], ...ranked(r, i), ...data.means[r], sizeOf(r)])];
    },
    queries: () => [["query", "run", ...measures], ...queries.flatMap((query, q) => [state.a, state.b].filter((r) => counted[r].has(q)).map((r) => [query, runs[r], ...measures.map((_, m) => value(r, m, q))]))],
    pairs: () => [
      ["measure", "run", "versus", "difference", "low", "high", "p", "corrected", "significant", "reversible by"],
      ...runs.flatMap((_, a) => runs.slice(a + 1).flatMap((_, i) => {
        // The later run minus the earlier, or a run minus the baseline.
        const later = a + 1 + i, [run, other] = later === baselineOf(state.measure) ? [a, later] : [later, a], pair = pairResult(state.measure, run, other);
        return pair ? [[measures[state.measure], runs[run], runs[other], pair.difference, ...pair.interval, pair.p, pair.corrected, pair.significant, pair.audited ? pair.doubts : TEXT.unchecked]] : [];
      })),
    ],
  };
  const keep = (href, download) => h("a", { href, download }).click();
  for (const name of Object.keys(CSV)) {
    $(`csv-${name}`).addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([lines(CSV[name]())], { type: "text/csv" }));
      keep(address, `${name}.csv`);
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
  }
  // Figures as files: the matrix is drawn here, the others are views of Vega.
  for (const id of Object.keys(charts)) {
    const kinds = ["svg", "png"], name = id.replace("chart-", "");
    const image = (kind) => (id === "chart-pairs" ? Promise.resolve(matrixUrl(kind)) : charts[id].view.toImageURL(kind, kind === "png" ? 2 : 1));
    $(id).closest("figure").append(h("div", { class: "controls save" }, ...kinds.map((kind) => h("button", {
      type: "button",
      onclick: () => { charts[id].near = true; paint(id).then(() => image(kind)).then((url) => keep(url, `${name}.${kind}`)); },
    }, TEXT.save(kind)))));
  }

  // The only function that changes the selection.
  function select(change) {
    Object.assign(state, change);
    $("measure").value = state.measure;
    $("run-a").value = state.a;
    $("run-b").value = state.b;
    document.querySelectorAll(".selected-measure").forEach((name) => { name.textContent = measures[state.measure]; });
    showHeadline();
    showPair();
    arrange();
    list();
    showGroups();
    audited();
    board.draw();
    $("caption-means").textContent = TEXT.meansCaption(measures[state.measure], data.interval);
    if (state.query !== null) show(state.query);
    if (started) remember();
    repaint(...Object.keys(charts));
  }
  const options = (id, names) => $(id).replaceChildren(...names.map((name, i) => h("option", { value: i }, name)));
  options("measure", measures);
  options("run-a", runs.map((_, r) => named(r)));
  options("run-b", runs.map((_, r) => named(r)));
  for (const [id, name] of [["measure", "measure"], ["run-a", "a"], ["run-b", "b"]]) $(id).addEventListener("change", (event) => select({ [name]: Number(event.target.value) }));

  const root = document.documentElement;
  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  $("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    repaint(...Object.keys(charts));
  });
  addEventListener("beforeprint", () => { $("origin").querySelector("details").open = true; });
  addEventListener("beforeprint", () => Object.keys(charts).forEach((id) => { charts[id].near = true; paint(id); }));
  if (!data.rankings) {
    $("click-query").hidden = true;
    for (const id of ["curves", "audit"]) $(id).replaceChildren($(id).querySelector("h2"), h("p", { class: "lead" }, TEXT.needsRankings));
  }
  $("about").textContent = data.date ? `${data.date}; ${data.about}` : data.about;
  $("ranks").textContent = data.ranks;
  $("policy").textContent = data.policy;
  $("note-list").replaceChildren(...data.notes.map((text) => h("li", {}, text)));
  // The names of many files are written once.
  const inputs = data.files && data.files.length > 300 ? data.files : "";
  const commands = [...(inputs ? [`inputs=(${inputs})`] : []), ...data.commands.map((line) => (inputs ? line.replace(inputs, () => '"${inputs[@]}"') : line))].join("\n");
  $("commands").append(...commands.split(/(\s)/).map((word) => (word.trim() ? h("span", {}, word) : word)));  // no line ends inside a word
  $("reproduce").hidden = data.commands.length === 0;
  const origin = data.provenance;
  $("origin").hidden = !origin;
  if (origin) {
    $("about-origin").textContent = TEXT.origin(origin.cranfield, [origin.experiment, origin.time].filter(Boolean).join(", "));
    const text = (title, name, id = false) => ({ title, of: (i) => origin.inputs[i][name] ?? "", show: (i) => origin.inputs[i][name] ?? "–", text: true, id });
    const used = (name) => origin.inputs.some((one) => one[name] !== undefined);
    table("inputs", [text(TEXT.file, "name", true), text(TEXT.kind, "kind"), ...(used("collection") ? [text(TEXT.collection, "collection")] : []), ...(used("run") ? [text(TEXT.run, "run")] : []), text(TEXT.digest, "digest")], origin.inputs.map((_, i) => i), { sort: 1, down: false });
  }
  select({ a: data.opened[0], b: data.opened[1] });
  follow();
  started = true;
  // Draw all charts when idle, so that they are ready for printing.
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 200));
  const waiting = Object.keys(charts);
  idle(function next() {
    const id = waiting.shift();
    charts[id].near = true;
    paint(id).then(() => waiting.length && idle(next));
  });
  window.report = { data, state, view, matrix, select, open, value, pairResult, csv: (name) => lines(CSV[name]()), paint: () => Promise.all(Object.keys(charts).map((id) => { charts[id].near = true; return paint(id); })) };
})();
