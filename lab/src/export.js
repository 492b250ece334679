// Plots as a picture, samples as a table.
import { PICTURES } from "./charts.js";
import { flowNames } from "./looks.js";

const NAMES = ["A", "B"];

export function download(name, content) {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(content);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The plots of all scenarios on one canvas, with titles, units and legends. `views`: { plots, units, answer, looks } each. */
export function plotsCanvas(views, title) {
	const style = getComputedStyle(document.documentElement);
	const [ink, paper] = ["--ink", "--paper"].map((name) => style.getPropertyValue(name).trim());
	const scale = devicePixelRatio || 1;
	const [line, gap] = [22 * scale, 16 * scale];
	const canvases = views.map(({ plots }) => plots.map((plot) => plot.ctx.canvas));
	const widths = canvases.map((own) => Math.max(...own.map(({ width }) => width)));
	const legends = views.map(({ answer }) => flowNames(answer));
	const rows = Math.max(...legends.map((names) => names.length));
	const canvas = document.createElement("canvas");
	canvas.width = widths.reduce((sum, width) => sum + width + gap, gap);
	canvas.height = 2 * gap + line * (2 + rows + PICTURES.length) + canvases[0].reduce((sum, { height }) => sum + height, 0);
	const context = canvas.getContext("2d");
	const write = (text, x, y, weight = "") => {
		context.fillStyle = ink;
		context.font = `${weight} ${14 * scale}px system-ui, sans-serif`;
		context.fillText(text, x, y);
	};
	context.fillStyle = paper;
	context.fillRect(0, 0, canvas.width, canvas.height);
	write(title, gap, gap + line / 2, "bold");
	let left = gap;
	views.forEach(({ looks, units }, index) => {
		let top = gap + 1.5 * line;
		if (views.length > 1) write(`Scenario ${NAMES[index]}`, left, top, "bold");
		legends[index].forEach((name, flow) => {
			const y = top + line * (flow + 1);
			context.strokeStyle = looks[flow].stroke;
			context.lineWidth = 2.5 * scale;
			context.setLineDash(looks[flow].dash.map((dash) => dash * scale));
			context.beginPath();
			context.moveTo(left, y - 5 * scale);
			context.lineTo(left + 30 * scale, y - 5 * scale);
			context.stroke();
			write(name, left + 38 * scale, y);
		});
		top += line * (rows + 1);
		PICTURES.forEach((picture, at) => {
			write(`${picture.title}, ${units[at]}`, left, top);
			context.drawImage(canvases[index][at], left, top + line / 4);
			top += line + canvases[index][at].height;
		});
		left += widths[index] + gap;
	});
	return canvas;
}

const FLOW_COLUMNS = ["cwnd_pkts", "min_cwnd_pkts", "max_cwnd_pkts", "in_flight_pkts", "rtt_ms", "throughput_mbps"];
const LINK_COLUMNS = ["queue_pkts", "dropped_pkts", "marked_pkts"];

/** Time series of all scenarios, a row for each flow or link at a time. RTTs before the first are empty. */
export function samplesCsv(answers) {
	const lines = [["scenario", "time_s", "series", "cca", ...FLOW_COLUMNS, ...LINK_COLUMNS].join(",")];
	const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
	answers.forEach((answer, index) => {
		const { flows, links } = answer.runs[0];
		const { flow_samples, link_samples } = answer;
		flow_samples.time_s.forEach((time, row) => {
			const flow = flow_samples.flow[row];
			const values = FLOW_COLUMNS.map((key) => (key === "rtt_ms" && !flow_samples[key][row] ? "" : flow_samples[key][row]));
			lines.push([NAMES[index], time, quoted(answer.scenario.flows[flow].label ?? `flow ${flow}`), flows[flow].cca, ...values, ...LINK_COLUMNS.map(() => "")].join(","));
		});
		link_samples.time_s.forEach((time, row) => {
			const values = LINK_COLUMNS.map((key) => link_samples[key]?.[row] ?? "");
			lines.push([NAMES[index], time, links[link_samples.link[row]].link, "", ...FLOW_COLUMNS.map(() => ""), ...values].join(","));
		});
	});
	return `${lines.join("\n")}\n`;
}
