"use strict";
// The page of a run. Whatever comes from data is set as text, never as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  let run = JSON.parse(byId("run").textContent);
  let chosen = null; // the change whose reason is shown, by its key
  let follows = true; // the newest change is shown until the reader chooses one
  let before = null; // the reading before, for what flows between two

  const make = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  const draw = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    return made;
  };
  const many = (number) => (number === null || number === undefined ? "" : Math.round(number).toLocaleString("en"));
  const short = (number) => {
    if (number === null || number === undefined) return "";
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
      if (Math.abs(number) >= size) return (number / (unit === "k" ? 1e3 : size)).toPrecision(3) + " " + unit;
    }
    return Math.abs(number) >= 10 || Number.isInteger(number) ? Math.round(number).toString() : number.toPrecision(2);
  };
  const bytes = (number) => {
    let size = number;
    for (const unit of ["bytes", "KiB", "MiB"]) {
      if (size < 1024) return `${unit === "bytes" ? size : size.toFixed(1)} ${unit}`;
      size /= 1024;
    }
    return `${size.toFixed(2)} GiB`;
  };
  const seconds = (number) => {
    if (number === null || number === undefined) return "not known";
    for (const [size, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
      if (Math.abs(number) >= size) return `${(number / size).toPrecision(3)} ${unit}`;
    }
    return `${(number * 1e9).toPrecision(3)} ns`;
  };
  const several = (number, what) => `${many(number)} ${what}${number === 1 ? "" : "s"}`;
  const clock = (t) => (t < 60 ? `${t.toFixed(1)} s` : `${Math.floor(t / 60)} min ${Math.floor(t % 60)} s`);

  // -- the head -------------------------------------------------------------------------------------------------------

  // Of an engine of several queries: those that share a plan, each with a page.
  function cores() {
    const told = JSON.stringify(run.cores || []), nav = byId("cores");
    if (nav.dataset.told === told) return;
    nav.dataset.told = told;
    nav.hidden = !run.live || (run.cores || []).length < 2;
    nav.replaceChildren(...(run.cores || []).map((core) => {
      const link = make("a", core.queries);
      link.href = core.at;
      if (core.here) link.setAttribute("aria-current", "page");
      return link;
    }));
  }

  // Of the whole run, where there is no last stretch that tells how fast it goes now.
  const overall = (of) => ((run.ended || !run.live) && of.average !== undefined ? of.average : null);

  function head() {
    const now = run.now;
    document.title = `${run.title} - ${now.plan || ""}`;
    byId("title").textContent = run.title;
    const status = byId("status");
    const began = new Date(run.start * 1000).toISOString().replace("T", " ").slice(0, 19);
    if (run.ended) status.textContent = `${run.ended}, after ${clock(now.t || 0)}; began ${began} UTC`;
    else status.textContent = `${run.live ? "live" : "as it was"}, ${clock(now.t || 0)}`;
    status.className = run.live && !run.ended ? "live" : "";
    const rates = run.series.events, average = overall(now);
    const numbers = [
      ["rows", many(now.events)],
      average === null ? ["rows a second", short(rates[rates.length - 1])] : ["rows a second, on average", short(average)],
      ["results", many(now.results)],
      ["plan changes", many(now.changes)], ["memory", bytes(now.bytes || 0)],
    ];
    byId("numbers").replaceChildren(...numbers.map(([name, value]) => {
      const pair = make("div");
      pair.append(make("dt", name), make("dd", value));
      return pair;
    }));
    byId("plan-text").textContent = (now.plan || "") + (now.changing ? "   (STAIRs are being completed)" : "");
    byId("query").textContent = run.query;
    cores();
  }

  // -- the plan -------------------------------------------------------------------------------------------------------

  const boxes = new Map(); // nodes that are shown, so that they move when the plan changes
  const WIDE = 128, HIGH = 46;

  function flows(picture) {
    const found = new Map();
    const old = new Map(((before && before.now.picture) || { arrows: [] }).arrows.map((a) => [`${a.from}→${a.to}`, a]));
    const same = before && before.now.plan === run.now.plan && run.now.t > before.now.t;
    for (const arrow of picture.arrows) {
      const last = same ? old.get(`${arrow.from}→${arrow.to}`) : null;
      const rows = last && arrow.rows >= last.rows ? (arrow.rows - last.rows) / (run.now.t - before.now.t) : arrow.rows;
      found.set(arrow, rows);
    }
    return found;
  }

  function plan() {
    const picture = run.now.picture;
    if (!picture) return;
    const svg = byId("picture"), graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "BT", nodesep: 22, ranksep: 46, marginx: 8, marginy: 8 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const node of picture.nodes) graph.setNode(node.id, { width: WIDE, height: HIGH });
    for (const arrow of picture.arrows) graph.setEdge(arrow.from, arrow.to);
    dagre.layout(graph);
    const across = picture.arrows.flatMap((a) => graph.edge(a.from, a.to).points.map((p) => p.x)); // lines may go around boxes
    for (const node of picture.nodes) across.push(graph.node(node.id).x - WIDE / 2, graph.node(node.id).x + WIDE / 2);
    const left = Math.min(...across) - 8, width = Math.max(Math.max(...across) + 8 - left, 300);
    svg.setAttribute("viewBox", `${left} 0 ${width} ${Math.max(graph.graph().height, 80)}`);
    svg.setAttribute("width", width);
    svg.style.minWidth = `${Math.round(0.92 * width)}px`; // it scrolls rather than be too small to read
    svg.setAttribute("aria-label", `Plan ${run.now.plan}: ` + picture.nodes.map(
      (node) => `${node.label}, ${many(node.live)} live${node.holes ? `, ${several(node.holes, "hole")}` : ""}`).join("; "));
    const amounts = flows(picture), most = Math.max(1e-9, ...amounts.values());
    const paths = picture.arrows.map((arrow) => {
      const { points } = graph.edge(arrow.from, arrow.to), amount = amounts.get(arrow);
      const path = draw("path", { d: "M" + points.map((p) => `${p.x.toFixed(1)},${p.y.toFixed(1)}`).join(" L") });
      path.style.strokeWidth = amount > 0 ? 1.5 + 8 * Math.sqrt(amount / most) : 1;
      path.style.strokeOpacity = amount > 0 ? 0.85 : 0.45;
      const title = draw("title");
      title.textContent = `${arrow.from} to ${arrow.to}: ${many(arrow.rows)} rows since this plan runs`;
      path.append(title);
      return path;
    });
    const shown = picture.nodes.map((node) => {
      const at = graph.node(node.id), box = boxes.get(node.id) || draw("g");
      box.setAttribute("class", `node ${node.kind}${node.kept ? "" : " fleeting"}`);
      box.style.transform = `translate(${at.x - WIDE / 2}px, ${at.y - HIGH / 2}px)`;
      box.style.setProperty("--heat", `${Math.round(100 * Math.min(1, node.share))}%`);
      box.replaceChildren(...inside(node));
      boxes.set(node.id, box);
      return box;
    });
    for (const id of [...boxes.keys()]) if (!graph.hasNode(id)) boxes.delete(id);
    const [arrows, nodes] = svg.children.length ? svg.children : [0, 1].map(() => svg.appendChild(draw("g")));
    arrows.replaceChildren(...paths);
    for (const box of [...nodes.children]) if (!shown.includes(box)) box.remove();
    for (const box of shown) if (box.parentNode !== nodes) nodes.append(box); // one that is taken out does not move
  }

  function inside(node) {
    const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
    const name = draw("text", { x: WIDE / 2, y: 19 }), what = draw("text", { x: WIDE / 2, y: 35, class: "small" });
    name.textContent = cut(node.label, 17);
    const parts = node.kind === "results" ? [] : node.kept ? [`${short(node.live)} live`] : ["not kept"];
    if (node.suspended) parts.push(`${short(node.suspended)} wait`);
    if (node.share >= 0.01) parts.push(`${Math.round(100 * node.share)} % time`);
    what.textContent = cut(parts.join(" · "), 26);
    const title = draw("title");
    title.textContent = `${node.label}: ${many(node.live)} live, ${bytes(node.bytes)}, ` +
      (node.filled < 1 || node.holes ? `${Math.round(100 * node.filled)} % completed, ${several(node.holes, "known hole")}` : "complete");
    const made = [title, draw("rect", { width: WIDE, height: HIGH, rx: 6 }), name, what];
    if (node.filled < 1) made.push(draw("rect", { class: "hole", y: HIGH - 4, height: 4, width: WIDE * (1 - node.filled) }));
    return made;
  }

  // -- why ------------------------------------------------------------------------------------------------------------

  const keyOf = (change) => `${change.events} ${change.plan}`; // there may be several between two rows
  const current = () => run.changes.find((change) => keyOf(change) === chosen);
  const told = new Map(); // what stands in a part of the page: it is made anew only when it says something else

  // For those who hear the page: what is new, and not each reading.
  const say = (text) => {
    if (byId("said").textContent !== text) byId("said").textContent = text;
  };

  function same(part, ...what) {
    const text = JSON.stringify(what);
    if (told.get(part) === text) return true;
    told.set(part, text);
    return false;
  }

  function choose(change, byReader) {
    chosen = keyOf(change);
    if (byReader) {
      follows = false;
      say(`${change.plan}: ${change.reason}`);
    }
    changes();
    reason();
    for (const chart of charts) chart.redraw();
  }

  function changes() {
    byId("time").querySelector(".hint").hidden = !carriedOut().length;
    if (!run.changes.length) {
      byId("changes").replaceChildren(make("li", "It was not: the plan in use is the one that it began with."));
      return;
    }
    if (follows) chosen = keyOf(run.changes[run.changes.length - 1]);
    const list = byId("changes");
    if (!same("changes", run.changes.map((one) => [one.t, one.events, one.former, one.plan, one.outcome]))) listed(list);
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.at === chosen);
  }

  function listed(list) {
    const held = list.contains(document.activeElement) ? document.activeElement.dataset.at : null;
    list.replaceChildren(...run.changes.map((change) => {
      const item = make("li"), button = make("button");
      button.type = "button";
      button.dataset.at = keyOf(change);
      button.append(make("time", change.t === null ? "" : clock(change.t)), `${change.former} → ${change.plan}` +
        (change.outcome === "changed" ? "" : ` (${change.outcome})`));
      button.addEventListener("click", () => choose(change, true));
      item.append(button);
      return item;
    }).reverse());
    if (held !== null) [...list.querySelectorAll("button")].find((b) => b.dataset.at === held)?.focus();
  }

  const FIRST = 0.3; // how long the bar of the cheapest plan is

  function reason() {
    const change = current(), place = byId("reason");
    if (same("reason", change)) return;
    if (!change) {
      place.replaceChildren();
      return;
    }
    const pairs = make("dl");
    const tell = (name, value, className) => pairs.append(make("dt", name), make("dd", value, className));
    tell("when", `after ${many(change.events)} rows` + (change.t === null ? "" : `, at ${clock(change.t)}`));
    if (change.reason) tell("why", change.reason);
    if (change.cost !== null) tell("believed", `${seconds(change.cost)} a row, ${seconds(change.gain)} to be saved`);
    const thinking = change.thinking === null ? "" : `, ${seconds(change.thinking)} to decide`;
    tell("cost", `${seconds(change.migration)} for the change${thinking}`);
    if (change.before !== null) tell("before", `${seconds(change.before)} a row, measured`);
    if (change.after !== null) tell("after", `${seconds(change.after)} a row, measured`);
    if (change.before !== null && change.after !== null) {
      const gained = change.before - change.after;
      tell(gained >= 0 ? "gained" : "lost", `${seconds(Math.abs(gained))} a row`, gained >= 0 ? "better" : "worse");
    }
    const parts = [pairs];
    if (change.alternatives.length) {
      const all = [[`${change.plan} (chosen)`, change.reckoned], ...change.alternatives, [`${change.former} (former)`, change.cost]];
      const known = all.filter(([, cost]) => cost !== null).sort((one, other) => one[1] - other[1]);
      const size = (cost) => Math.log10(Math.max(cost, 1e-12) / Math.max(known[0][1], 1e-12)) + FIRST; // ten times: one more
      const top = size(known[known.length - 1][1]), bars = make("ol", null, "bars");
      for (const [text, cost] of known) {
        const line = make("li"), bar = make("span", null, "bar");
        bar.style.width = `${100 * size(cost) / top}%`;
        bar.style.setProperty("--first", `${100 * FIRST / size(cost)}%`);
        bar.style.setProperty("--step", `${100 / size(cost)}%`);
        bar.setAttribute("aria-hidden", "true");
        line.append(make("span", `${text}: ${seconds(cost)} a row`), bar);
        bars.append(line);
      }
      parts.push(make("p", "What each plan was reckoned to cost; one step longer: ten times the cost.", "hint"), bars);
    }
    place.replaceChildren(...parts);
  }

  // -- over time ------------------------------------------------------------------------------------------------------

  const charts = [];
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const KINDS = [
    ["events", "Rows a second", "--blue", short], ["results", "Results a second", "--green", short],
    ["latency", "Milliseconds a batch", "--violet", short], ["bytes", "Memory", "--red", bytes],
  ];

  const POWERS = Array.from({ length: 50 }, (_, i) => 2 ** i); // memory is told of in these

  const carriedOut = () => run.changes.filter((one) => one.outcome === "changed" && one.t !== null);

  function lines(chart) {
    const { ctx, bbox } = chart;
    ctx.save();
    for (const change of carriedOut()) {
      const x = Math.round(chart.valToPos(change.t, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const strong = keyOf(change) === chosen;
      ctx.strokeStyle = color("--violet");
      ctx.globalAlpha = strong ? 1 : 0.45;
      ctx.lineWidth = (strong ? 2 : 1) * devicePixelRatio;
      ctx.setLineDash(strong ? [] : [4, 4]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  function chart([key, name, hue, shown], place) {
    const axis = () => ({ stroke: color("--dim"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } });
    const made = new uPlot({
      width: Math.max(place.clientWidth, 240), height: 180, cursor: { sync: { key: "eddy" }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [
        { ...axis(), size: 34, values: (_, at) => at.map((t) => (t < 60 ? `${t} s` : `${(t / 60).toFixed(1)} min`)) },
        { ...axis(), size: 70, ...(shown === bytes ? { incrs: POWERS } : {}),
          values: (_, at) => at.map((value) => shown(value).replace(/\.0+(?= )/, "")) },
      ],
      series: [{ label: "at", value: (_, t) => (t === null ? "" : clock(t)) },
        { label: name, stroke: color(hue), width: 1.5, fill: color(hue) + "22", value: (_, v) => (v === null ? "" : shown(v)) },
        ...(key === "events" && run.series.fixed ? [{ label: run.series.fixed_label, stroke: color("--red"), width: 1.5,
          dash: [5, 4], value: (_, v) => (v === null ? "" : shown(v)) }] : [])],
      hooks: { draw: [lines] },
    }, drawn(key), place);
    made.over.addEventListener("click", (event) => {
      const box = made.over.getBoundingClientRect(), at = made.posToVal(event.clientX - box.left, "x");
      const done = carriedOut();
      if (done.length) choose(done.reduce((a, b) => (Math.abs(a.t - at) <= Math.abs(b.t - at) ? a : b)), true);
    });
    return made;
  }

  function fit(one) {
    const width = Math.max(one.root.parentNode.clientWidth, 240);
    if (width !== one.width) one.setSize({ width, height: 180 });
  }

  const drawn = (key) => [run.series.t, run.series[key], ...(key === "events" && run.series.fixed ? [run.series.fixed] : [])];

  function drawCharts() {
    const place = byId("charts");
    charts.length = 0;
    place.replaceChildren(...KINDS.map((kind) => {
      const figure = make("figure");
      figure.append(make("figcaption", kind[1]));
      return figure;
    }));
    KINDS.forEach((kind, i) => charts.push(chart(kind, place.children[i])));
  }

  // -- tables ---------------------------------------------------------------------------------------------------------

  function table(id, names, rows, words) { // words: the last column is text of any length
    const top = make("tr"), headRow = make("thead"), body = make("tbody");
    for (const name of names) {
      const cell = make("th", name, words && name === names[names.length - 1] ? "words" : null);
      cell.scope = "col";
      top.append(cell);
    }
    headRow.append(top);
    for (const row of rows) {
      const line = make("tr");
      row.forEach((value, i) => {
        const cell = make(i ? "td" : "th", value, words && i === row.length - 1 ? "words" : null);
        if (!i) cell.scope = "row";
        line.append(cell);
      });
      body.append(line);
    }
    byId(id).replaceChildren(headRow, body);
  }

  function tables() {
    const declared = new Map(run.streams.map((stream) => [stream.name, stream]));
    table("streams", ["stream", "rows", "rows/s", "live", "window", "newest", "watermark", "lag", "waiting", "late", "refused", "bad"],
      (run.now.streams || []).map((s) => {
        const stream = declared.get(s.name) || {};
        const window = stream.derived ? `${stream.window}, by predicates` : stream.window;
        return [s.name, many(s.rows), short(overall(s) ?? s.rate), many(s.live), window, s.newest, s.watermark, s.lag,
          many(s.waiting), many(s.late), many(s.refused), many(s.bad || 0)];
      }));
    const stairs = run.now.stairs || [];
    byId("stairs-section").hidden = !stairs.length;
    table("stairs", ["STAIR", "live", "memory", "completed", "keys filled", "holes known", "waiting"],
      stairs.map((s) => [s.name + (s.former ? " (of the former plan)" : ""), many(s.live), bytes(s.bytes),
        `${Math.round(100 * s.filled)} %`, many(s.keys), many(s.holes), many(s.waiting)]));
    table("fans", ["entries of", "probe", "probes", "matches", "partners each, counted", "sampled now"],
      (run.now.fans || []).map((f) => [f.source, f.target, many(f.probes), many(f.matches), f.counted.toPrecision(3),
        f.sampled === null ? "" : f.sampled.toPrecision(3)]));
    const cells = run.cells || [];
    byId("cells-section").hidden = !cells.length;
    byId("cells-hint").textContent = run.cells_hint || "";
    table("cells", ["cell", "rows", "results", "memory", "seconds", "in the engine", "plans, the last one last"],
      cells.map((c) => [c.cell, many(c.rows), many(c.results), c.bytes === undefined ? "" : bytes(c.bytes), seconds(c.seconds),
        c.engine === undefined ? "" : seconds(c.engine), (c.plans || [c.plan]).join("\n→ ")]), true);
  }

  // -- all of it ------------------------------------------------------------------------------------------------------

  function show(next) {
    if (next) {
      before = run;
      run = { ...next, live: run.live };
      if (run.ended) say(run.ended);
      else if (run.now.plan !== before.now.plan) say(`the plan is now ${run.now.plan}`);
    }
    for (const part of ["plan", "why", "time", "fans-section"]) byId(part).hidden = !run.now.picture; // of many engines
    head();
    plan();
    changes();
    reason();
    tables();
    if (!charts.length && run.now.picture) drawCharts();
    else if (charts.length) KINDS.forEach(([key], i) => charts[i].setData(drawn(key)));
  }

  show();
  new ResizeObserver(() => requestAnimationFrame(() => charts.forEach(fit))).observe(byId("charts"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => run.now.picture && drawCharts());
  if (run.live && !run.ended) {
    const source = new EventSource("/events" + location.search);
    source.onmessage = (event) => {
      show(JSON.parse(event.data));
      if (run.ended) source.close();
    };
    source.onerror = () => {
      byId("status").className = "lost";
      byId("status").textContent = "the run cannot be reached; what stands here is what it told last";
      say("the run cannot be reached");
    };
  }
})();
