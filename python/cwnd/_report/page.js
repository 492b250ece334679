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
    figure.querySelector("img").hidden = true;
    const plot = new uPlot(optionsOf(spec, place), valuesOf(spec, data), place);
    PLOTS.push({ plot, spec });
    new ResizeObserver(() => plot.setSize(sizeOf(place))).observe(place);
  }
  if (PLOTS.length) addToolbar(data);
}

function sizeOf(place) {
  return { width: place.clientWidth, height: 300 };
}

// The x axis of all plots: even steps until the longest scenario ends.
function valuesOf(spec, data) {
  const x = Array.from({ length: data.steps + 1 }, (_, step) => (step * data.duration_s) / data.steps);
  return [x, ...spec.series.map((series) => series.values)];
}

function optionsOf(spec, place) {
  return {
    ...sizeOf(place),
    bands: bandsOf(spec),
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), 1.05 * high || 1] } },
    axes: [{ label: "time (s)", size: 40, labelSize: 20 }, { label: spec.label, size: 60, labelSize: 20 }],
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
              value: (_, y) => (y == null ? "-" : String(y)),
            }),
      })),
    ],
    hooks: {
      setScale: [(plot, scale) => scale === "x" && zoomOthers(plot)],
      setSeries: [(plot, index, change) => change.show != null && showGroup(groupOf(plot, index), change.show)],
    },
  };
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
