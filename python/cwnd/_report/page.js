// Makes a report's figures over time into plots, and its tables sortable. Without it the page is whole.
"use strict";

const GROUPS = new Map(); // by name of a group: whether it is shown
const PLOTS = [];

function drawPlots(data) {
  for (const spec of data.plots) {
    const figure = document.querySelector(`figure[data-kind="${spec.kind}"]`);
    const place = document.createElement("div");
    place.className = "plot";
    const heading = document.createElement("h3");
    heading.textContent = spec.title;
    figure.prepend(heading, place);
    figure.querySelector("img, svg").toggleAttribute("hidden", true);
    const plot = new uPlot(optionsOf(spec, place), valuesOf(spec, data), place);
    PLOTS.push({ plot, spec });
    new ResizeObserver(() => plot.setSize(sizeOf(place, spec))).observe(place);
  }
  if (PLOTS.length) addToolbar(data);
}

function sizeOf(place, spec) {
  return { width: place.clientWidth, height: spec.spans ? 90 : (spec.height ?? 300) };
}

// A colour of the page, which may be dark.
function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}

function axisOf(options) {
  return { stroke: () => colourOf("--ink"), grid: { stroke: () => colourOf("--line") }, ...options };
}

// The x axis of all plots: even steps until the longest scenario ends.
function valuesOf(spec, data) {
  const x = Array.from({ length: data.steps + 1 }, (_, step) => (step * data.duration_s) / data.steps);
  return [x, ...spec.series.map((series) => series.values)];
}

function optionsOf(spec, place) {
  return {
    ...sizeOf(place, spec),
    bands: bandsOf(spec),
    scales: { x: { time: false }, y: { range: (_, low, high) => rangeOf(spec, low, high) } },
    axes: [
      axisOf({ label: spec.spans ? undefined : "time (s)", size: spec.spans ? 30 : 40, labelSize: 20 }),
      axisOf({ label: spec.label, size: 60, labelSize: 20, ...(spec.spans && { ticks: { show: false }, values: () => [] }) }),
    ],
    cursor: {
      drag: { x: true, y: false },
      sync: { key: "time", setSeries: false, filters: { pub: (type) => type !== "mousedown" && type !== "mouseup" } },
      dataIdx: (plot, series, at) => lastValueAt(plot.data[series], at),
    },
    series: [
      { label: "time", value: (_, x) => (x == null ? "-" : `${Number(x.toPrecision(5))} s`) },
      ...spec.series.map((series) => ({
        spanGaps: true,
        points: { show: false },
        ...(series.edge
          ? { class: "edge", paths: uPlot.paths.stepped({ align: -1 }) }
          : {
              label: series.name,
              stroke: series.colour,
              dash: series.dash,
              width: 1.3,
              paths: spec.by_change ? uPlot.paths.stepped({ align: 1 }) : undefined,
              value: (_, y) => (y == null ? "-" : (series.names?.[y] ?? String(y))),
              ...(series.names && { paths: () => null }),
            }),
      })),
    ],
    hooks: {
      draw: spec.spans ? [(plot) => drawSpans(plot, spec)] : [],
      setScale: [(plot, scale) => scale === "x" && zoomOthers(plot)],
      setSeries: [(plot, index, change) => change.show != null && showGroup(groupOf(plot, index), change.show)],
    },
  };
}

function rangeOf(spec, low, high) {
  return [Math.min(0, low ?? 0), 1.05 * Math.min(high, spec.top ?? high) || 1];
}

// Spans of time as coloured boxes with their names where these fit, and ticks below them.
function drawSpans(plot, spec) {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  for (const { from, to, name, colour } of spec.spans) {
    const begin = Math.max(plot.valToPos(from, "x", true), left);
    const end = Math.min(plot.valToPos(to, "x", true), left + width);
    if (end <= begin) continue;
    ctx.fillStyle = colour;
    ctx.fillRect(begin, top, Math.max(end - begin, 1), 0.8 * height);
    ctx.fillStyle = "#111";
    if (ctx.measureText(name).width + 8 < end - begin) ctx.fillText(name, (begin + end) / 2, top + 0.4 * height);
  }
  ctx.fillStyle = colourOf("--ink");
  for (const at of spec.ticks) ctx.fillRect(plot.valToPos(at, "x", true), top + 0.84 * height, devicePixelRatio, 0.16 * height);
  ctx.restore();
}

// The high edge of a band comes before the low one. Many bands are paler.
function bandsOf(spec) {
  const opacity = spec.series.filter(({ edge }) => edge === "high").length <= 4 ? "40" : "1a";
  return spec.series.flatMap(({ edge, colour }, index) =>
    edge === "high" ? [{ series: [index + 1, index + 2], fill: colour + opacity }] : [],
  );
}

// Where a line has no value of its own at a step, it goes on from the one before.
function lastValueAt(values, at) {
  for (let step = at; step >= 0; step--) if (values[step] != null) return step;
  return at;
}

function groupOf(plot, index) {
  const entry = PLOTS.find((one) => one.plot === plot);
  return entry?.spec.series[index - 1]?.group;
}

function zoomOthers(plot) {
  const { min, max } = plot.scales.x;
  for (const { plot: other } of PLOTS)
    if (other !== plot && (other.scales.x.min !== min || other.scales.x.max !== max)) other.setScale("x", { min, max });
}

function showGroup(group, shown) {
  if (group == null || GROUPS.get(group)?.shown === shown) return;
  const entry = GROUPS.get(group);
  entry.shown = shown;
  entry.button.setAttribute("aria-pressed", shown);
  for (const { plot, spec } of PLOTS)
    spec.series.forEach((series, index) => {
      if (series.group === group && plot.series[index + 1].show !== shown) plot.setSeries(index + 1, { show: shown });
    });
}

function addToolbar(data) {
  const bar = document.createElement("div");
  bar.className = "toolbar";
  for (const series of PLOTS.flatMap(({ spec }) => spec.series)) {
    if (series.group == null || GROUPS.has(series.group)) continue;
    const button = addButton(bar, series.group, () => showGroup(series.group, !GROUPS.get(series.group).shown));
    button.setAttribute("aria-pressed", true);
    button.style.borderBottomColor = series.colour;
    GROUPS.set(series.group, { shown: true, button });
  }
  const all = { min: 0, max: data.duration_s };
  addButton(bar, "Whole time", () => PLOTS.forEach(({ plot }) => plot.setScale("x", all)));
  const hint = document.createElement("p");
  hint.className = "note";
  hint.textContent = "Drag across a plot to zoom all of them; double-click for the whole time.";
  PLOTS[0].plot.root.closest("figure").before(bar, hint);
}

function addButton(parent, text, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", act);
  parent.append(button);
  return button;
}

function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const text = heading.textContent;
    heading.textContent = "";
    addButton(heading, text, () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      sortRows(table.tBodies[0], column, up);
    });
  });
}

// Numbers by value, then texts; cells without a value are last either way.
function sortRows(body, column, up) {
  const rows = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent.trim() }));
  const number = (text) => Number.parseFloat(text.replaceAll(",", ""));
  const compare = (one, two) => {
    if ((one.text === "-") !== (two.text === "-")) return one.text === "-" ? 1 : -1;
    const difference = number(one.text) - number(two.text);
    const order = Number.isNaN(difference) ? one.text.localeCompare(two.text, undefined, { numeric: true }) : difference;
    return up ? order : -order;
  };
  body.append(...rows.sort(compare).map(({ row }) => row));
}

for (const table of document.querySelectorAll("table")) makeSortable(table);
drawPlots(JSON.parse(document.getElementById("data").textContent));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => PLOTS.forEach(({ plot }) => plot.redraw()));
