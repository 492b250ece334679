// The four pictures of a pane, on one time axis.
/* global LOOKS */
import uPlot from "uplot";

const HEIGHT_PX = 170;
const EVENTS_AXIS_PX = 44;
const DASHES = [[], [6, 1.5], [2, 1], [6, 1.5, 1.5, 1.5], [4, 4], [12, 3]];
const PICTURES = [
	{ key: "cwnd_pkts", title: "Congestion window", unit: "packets", edges: ["max_cwnd_pkts", "min_cwnd_pkts"] },
	{ key: "rtt_ms", title: "Round-trip time, smoothed", unit: "ms" },
	{ key: "queue_pkts", title: "Queue of the bottleneck", unit: "packets" },
	{ key: "throughput_mbps", title: "Throughput", unit: "Mbit/s" },
];
const isDark = matchMedia("(prefers-color-scheme: dark)");
const ink = () => getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
const edge = () => getComputedStyle(document.documentElement).getPropertyValue("--edge").trim();

/** An algorithm's colour, lighter on dark paper if it would vanish there. */
export function colour(cca) {
	const [hex] = LOOKS[cca] ?? ["#777777"];
	const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
	const light = 0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2];
	const share = isDark.matches ? Math.max(0, (150 - light) / 255) : Math.max(0, (light - 150) / 255);
	const toward = isDark.matches ? 255 : 0;
	return `rgb(${parts.map((part) => Math.round(part + (toward - part) * share)).join(" ")})`;
}

/** Each flow's look: that of its algorithm in all figures; more flows of it have other dashes. */
export function flowLooks(flows) {
	const seen = new Map();
	return flows.map(({ cca }) => {
		const nth = seen.get(cca) ?? 0;
		seen.set(cca, nth + 1);
		const own = LOOKS[cca]?.[1] ?? [];
		const dashes = [own, ...DASHES.filter((dash) => dash.join() !== own.join())];
		return { stroke: colour(cca), dash: dashes[nth % dashes.length] };
	});
}

const short = (count) => (count < 1000 ? `${count}` : `${count / 1000}k`);

/** The columns of the answer as [times, edges of the band of flow 0, ..., values of flow 0, ...]. A flow's line ends where the flow does. */
function byFlow(samples, { key, edges = [] }, flows) {
	const times = [...new Set(samples.time_s)].sort((a, b) => a - b);
	const place = new Map(times.map((time, index) => [time, index]));
	const columnsOf = (key) => {
		const columns = flows.map(() => new Array(times.length).fill(null));
		for (let row = 0; row < samples.time_s.length; row++) {
			const [time, flow, value] = [samples.time_s[row], samples.flow[row], samples[key][row]];
			if (time > flows[flow].stop_s) continue;
			// Smoothed RTTs are 0 before the first.
			columns[flow][place.get(time)] = key === "rtt_ms" && value === 0 ? null : value;
		}
		return columns;
	};
	const ofEdges = edges.map(columnsOf);
	return [times, ...flows.flatMap((_, flow) => ofEdges.map((columns) => columns[flow])), ...columnsOf(key)];
}

/** The bottleneck's queue, what it dropped or lost, and what it marked. */
function ofQueue(answer) {
	const { links } = answer.runs[0];
	const link = links.findIndex((row) => row.link === "bottleneck");
	const samples = answer.link_samples;
	const rows = samples.time_s.map((_, row) => row).filter((row) => samples.link[row] === link);
	const pick = (key) => rows.map((row) => samples[key][row]);
	const some = (key) => pick(key).map((count) => count || null);
	return [pick("time_s"), pick("queue_pkts"), some("dropped_pkts"), some("marked_pkts")];
}

/** Between the two edges of each flow, which come before the lines. Many bands are paler. */
function bands(looks) {
	const opacity = looks.length <= 4 ? "25%" : "10%";
	return looks.map(({ stroke }, flow) => ({ series: [2 * flow + 1, 2 * flow + 2], fill: stroke.replace(")", ` / ${opacity})`) }));
}

function series(picture, answer, looks) {
	if (picture.key !== "queue_pkts") {
		const edge = { class: "edge", paths: uPlot.paths.stepped({ align: -1 }), points: { show: false } };
		const edges = looks.flatMap(() => (picture.edges ?? []).map(() => edge));
		return [...edges, ...looks.map((look, flow) => ({ label: `${flow}: ${answer.runs[0].flows[flow].cca}`, ...look, width: 1.4, points: { show: false } }))];
	}
	const bars = uPlot.paths.bars({ size: [0.9, 6, 2] });
	return [
		{ label: "queue", stroke: ink(), width: 1.2, points: { show: false } },
		{ label: "dropped", scale: "events", stroke: "#d1242f", fill: "#d1242f", paths: bars, points: { show: false } },
		{ label: "marked", scale: "events", stroke: "#bf8700", fill: "#bf8700", paths: bars, points: { show: false } },
	];
}

/** The pictures of one pane. `moved(time_s)`: the reader points at a time. */
export class Charts {
	constructor(place, name) {
		this.place = place;
		this.name = name;
		this.plots = [];
	}

	clear() {
		this.plots.forEach((plot) => plot.destroy());
		this.plots = [];
		this.place.replaceChildren();
		this.shape = undefined;
	}

	draw(answer, ranges) {
		const { flows } = answer.runs[0];
		const looks = flowLooks(flows);
		const shape = JSON.stringify([flows.map((flow) => flow.cca), isDark.matches]);
		const data = PICTURES.map((picture) =>
			picture.key === "queue_pkts" ? ofQueue(answer) : byFlow(answer.flow_samples, picture, flows),
		);
		if (shape !== this.shape) this.build(answer, looks, data, shape);
		this.ranges = ranges;
		this.plots.forEach((plot, index) => plot.setData(data[index]));
	}

	build(answer, looks, data, shape) {
		this.clear();
		this.shape = shape;
		this.plots = PICTURES.map((picture, index) => {
			const figure = document.createElement("div");
			figure.className = "chart";
			const title = document.createElement("h3");
			title.append(picture.title);
			const unit = document.createElement("span");
			unit.textContent = picture.unit;
			title.append(unit);
			if (picture.key === "queue_pkts") {
				const key = document.createElement("span");
				key.textContent = "bars, right axis: dropped or lost (red), marked (yellow), in each interval";
				title.append(key);
			}
			const canvas = document.createElement("div");
			canvas.setAttribute("role", "img");
			canvas.setAttribute("aria-label", `${picture.title} of scenario ${this.name} over time, ${picture.unit}`);
			figure.append(title, canvas);
			this.place.append(figure);
			const axis = { stroke: ink(), grid: { stroke: edge(), width: 1 }, ticks: { stroke: edge(), width: 1 }, font: "12px system-ui, sans-serif" };
			const queue = picture.key === "queue_pkts";
			return new uPlot(
				{
					width: this.width(),
					height: HEIGHT_PX,
					legend: { show: false },
					// As wide as the axis that only the queue has, so that times stand below each other.
					padding: [null, queue ? 0 : EVENTS_AXIS_PX, null, null],
					cursor: { sync: { key: "lab" }, drag: { x: true, y: false } },
					scales: {
						x: { time: false },
						y: { range: () => [0, this.ranges?.[picture.key] || 1] },
						...(queue && { events: { range: () => [0, this.ranges?.events || 1] } }),
					},
					axes: [
						{ ...axis, values: (_plot, ticks) => ticks.map((tick) => `${tick} s`) },
						{ ...axis, size: 58 },
						...(queue ? [{ ...axis, values: (_plot, ticks) => ticks.map(short), scale: "events", side: 1, size: EVENTS_AXIS_PX, grid: { show: false } }] : []),
					],
					bands: picture.edges && bands(looks),
					series: [{}, ...series(picture, answer, looks)],
					hooks: {
						setScale: [(plot, scale) => scale === "x" && this.zoomed?.(plot)],
					},
				},
				data[index],
				canvas,
			);
		});
	}

	width() {
		return Math.max(220, this.place.clientWidth);
	}

	resize() {
		this.plots.forEach((plot) => plot.setSize({ width: this.width(), height: HEIGHT_PX }));
	}

	/** Shows the times of `plot`, as another picture does. */
	show(min, max) {
		this.plots.forEach((plot) => {
			if (plot.scales.x.min !== min || plot.scales.x.max !== max) plot.setScale("x", { min, max });
		});
	}
}

/** The largest value of each picture over all answers, so that panes have the same axes. */
export function commonRanges(answers) {
	const largest = (columns) => columns.flat().reduce((most, value) => Math.max(most, value ?? 0), 0);
	const ranges = {};
	for (const { key, edges: [most] = [key] } of PICTURES) {
		ranges[key] = 1.05 * largest(answers.map((answer) => (key === "queue_pkts" ? ofQueue(answer)[1] : answer.flow_samples[most])));
	}
	// Bars have the lowest quarter.
	ranges.events = 4 * Math.max(1, largest(answers.map((answer) => ofQueue(answer).slice(2)).flat()));
	return ranges;
}
