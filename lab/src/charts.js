// The four pictures of a pane, on one time axis.
import uPlot from "uplot";
import { flowNames, isDark } from "./looks.js";

/** Sizes on a screen at a desk, in px. */
const [HEIGHT, EVENTS_AXIS, AXIS, FONT] = [170, 44, 58, 12];
const READOUT_VALUES_MAX = 4;
export const PICTURES = [
	{ key: "cwnd_pkts", name: "Window", title: "Congestion window", unit: "packets", edges: ["max_cwnd_pkts", "min_cwnd_pkts"] },
	{ key: "rtt_ms", name: "RTT", title: "Round-trip time, smoothed", unit: "ms" },
	{ key: "queue_pkts", name: "Queue", title: "Queue of the bottleneck", unit: "packets" },
	{ key: "throughput_mbps", name: "Throughput", title: "Throughput", unit: "Mbit/s" },
];
const ink = () => getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
const edge = () => getComputedStyle(document.documentElement).getPropertyValue("--edge").trim();

/** Sizes beside those at a desk: a projector is seen from afar. */
const scale = () => (document.documentElement.classList.contains("projector") ? 1.5 : 1);

const short = (count) => (count < 1000 ? `${count}` : `${count / 1000}k`);

/** Samples that a throughput is the mean of where lines are many, since a sample then has few packets of a flow. */
const MANY_LINES = 3;
const samplesInMean = (flows) => (flows.length < MANY_LINES ? 1 : 20);

function movingMean(values, count) {
	return values.map((value, row) => {
		const own = values.slice(Math.max(0, row + 1 - count), row + 1).filter((each) => each !== null);
		return value === null ? null : own.reduce((sum, each) => sum + each, 0) / own.length;
	});
}

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
	const count = key === "throughput_mbps" ? samplesInMean(flows) : 1;
	const lines = count > 1 ? columnsOf(key).map((values) => movingMean(values, count)) : columnsOf(key);
	return [times, ...flows.flatMap((_, flow) => ofEdges.map((columns) => columns[flow])), ...lines];
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
		const names = flowNames(answer);
		return [...edges, ...looks.map((look, flow) => ({ label: names[flow], ...look, width: scale() * look.width, points: { show: false } }))];
	}
	const bars = uPlot.paths.bars({ size: [0.9, 6, 2] });
	return [
		{ label: "queue", stroke: ink(), width: 2 * scale(), points: { show: false } },
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

	draw(answer, looks, ranges) {
		const { flows } = answer.runs[0];
		const shape = JSON.stringify([flowNames(answer), looks, isDark.matches, scale(), answer.scenario.duration_ns]);
		const data = PICTURES.map((picture) =>
			picture.key === "queue_pkts" ? ofQueue(answer) : byFlow(answer.flow_samples, picture, flows),
		);
		if (shape !== this.shape) this.build(answer, looks, data, shape);
		this.ranges = ranges;
		this.plots.forEach((plot, index) => plot.setData(data[index]));
		this.plots.forEach((plot, index) => this.read(plot, index));
	}

	/** Shows the values below the pointer, or the largest in view. */
	read(plot, index) {
		const lines = plot.series.flatMap(({ label, class: kind }, at) => (at && kind !== "edge" && label !== "dropped" && label !== "marked" ? [at] : []));
		const at = plot.cursor.left >= 0 ? plot.cursor.idx : null;
		const digits = (value) => (value == null ? "-" : Number(value.toPrecision(4)).toString());
		if (at != null) {
			const values = lines.slice(0, READOUT_VALUES_MAX).map((line) => digits(plot.data[line][at]));
			this.readouts[index].textContent = `at ${digits(plot.data[0][at])} s: ${values.join(" | ")}${lines.length > values.length ? " …" : ""}`;
			return;
		}
		const { min, max } = plot.scales.x;
		const upper = PICTURES[index].edges ? plot.series.flatMap(({ class: kind }, line) => (kind === "edge" ? [line] : [])) : lines;
		let largest = 0;
		plot.data[0].forEach((time, row) => {
			if (time > min && time <= max) for (const line of upper) largest = Math.max(largest, plot.data[line][row] ?? 0);
		});
		this.readouts[index].textContent = `largest in view ${digits(largest)}`;
	}

	build(answer, looks, data, shape) {
		this.clear();
		this.shape = shape;
		this.readouts = [];
		this.units = [];
		const [eventsAxis, font] = [EVENTS_AXIS * scale(), `${FONT * scale()}px system-ui, sans-serif`];
		this.plots = PICTURES.map((picture, index) => {
			const figure = document.createElement("div");
			figure.className = "chart";
			figure.dataset.key = picture.key;
			const title = document.createElement("h3");
			title.append(picture.title);
			const unit = document.createElement("span");
			const [first, second] = data[index][0];
			const count = picture.key === "throughput_mbps" ? samplesInMean(looks) : 1;
			unit.textContent = count > 1 ? `${picture.unit}, mean of ${Number((count * (second - first)).toPrecision(2))} s` : picture.unit;
			title.append(unit);
			this.units.push(unit.textContent);
			if (picture.key === "queue_pkts") {
				const key = document.createElement("span");
				key.textContent = "bars, right axis: dropped or lost (red), marked (yellow), in each interval";
				title.append(key);
			}
			const readout = document.createElement("span");
			readout.className = "readout";
			title.append(readout);
			this.readouts.push(readout);
			const canvas = document.createElement("div");
			canvas.setAttribute("role", "img");
			canvas.setAttribute("aria-label", `${picture.title} of scenario ${this.name} over time, ${picture.unit}`);
			figure.append(title, canvas);
			this.place.append(figure);
			const axis = { stroke: ink(), grid: { stroke: edge(), width: 1 }, ticks: { stroke: edge(), width: 1 }, font };
			const queue = picture.key === "queue_pkts";
			return new uPlot(
				{
					width: this.width(),
					height: HEIGHT * scale(),
					legend: { show: false },
					// As wide as the axis that only the queue has, so that times stand below each other.
					padding: [null, queue ? 0 : eventsAxis, null, null],
					cursor: { sync: { key: "lab" }, drag: { x: true, y: false } },
					scales: {
						x: { time: false },
						y: { range: () => [0, this.ranges?.[picture.key] || 1] },
						...(queue && { events: { range: () => [0, this.ranges?.events || 1] } }),
					},
					axes: [
						{ ...axis, values: (_plot, ticks) => ticks.map((tick) => `${tick} s`), size: 36 * scale() },
						{ ...axis, size: AXIS * scale() },
						...(queue ? [{ ...axis, values: (_plot, ticks) => ticks.map(short), scale: "events", side: 1, size: eventsAxis, grid: { show: false } }] : []),
					],
					bands: picture.edges && bands(looks),
					series: [{}, ...series(picture, answer, looks)],
					hooks: {
						setScale: [
							(plot, scale) => {
								if (scale !== "x") return;
								this.zoomed?.(plot);
								if (this.plots.includes(plot)) this.read(plot, index);
							},
						],
						setCursor: [(plot) => this.plots.includes(plot) && this.read(plot, index)],
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
		this.plots.forEach((plot) => plot.setSize({ width: this.width(), height: HEIGHT * scale() }));
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
	for (const picture of PICTURES) {
		const values = (answer) => (picture.key === "queue_pkts" ? ofQueue(answer)[1] : byFlow(answer.flow_samples, picture, answer.runs[0].flows).slice(1).flat());
		ranges[picture.key] = 1.05 * largest(answers.map(values));
	}
	// Bars have the lowest quarter.
	ranges.events = 4 * Math.max(1, largest(answers.map((answer) => ofQueue(answer).slice(2)).flat()));
	return ranges;
}
