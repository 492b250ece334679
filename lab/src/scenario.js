// The scenario of a pane: its fields, as TOML, as a command.

/** Numbers of the path; `log`: the slider's steps are factors. `keep`: the value stands for "none". */
export const PATH = [
	{ key: "rate", label: "Rate of the bottleneck", unit: "Mbit/s", min: 1, max: 2000, log: true },
	{ key: "rtt", label: "Round-trip time", unit: "ms", min: 1, max: 600, log: true },
	{ key: "buffer", label: "Buffer", unit: "BDP", min: 0.05, max: 20, log: true },
	{ key: "loss", label: "Random losses", unit: "%", min: 0, max: 5, step: 0.01, none: 0 },
	{ key: "jitter", label: "Jitter (standard deviation)", unit: "ms", min: 0, max: 50, step: 0.1, none: 0 },
	{ key: "reverse", label: "Rate of the way back (0: as fast as needed)", unit: "Mbit/s", min: 0, max: 100, step: 0.1, none: 0 },
	{ key: "duration", label: "Duration", unit: "s", min: 2, max: 200, log: true },
	{ key: "seed", label: "Seed of what is random", unit: "", min: 1, max: 100, step: 1 },
];

export const FLOW = [
	{ key: "count", label: "Flows", unit: "", min: 1, max: 16, step: 1 },
	{ key: "start", label: "Start", unit: "s", min: 0, max: 100, step: 0.1, none: 0 },
	{ key: "spread", label: "Starts at random within", unit: "s", min: 0, max: 10, step: 0.1, none: 0 },
	{ key: "size", label: "Size (0: without end)", unit: "MB", min: 0, max: 1000, step: 0.1, none: 0 },
	{ key: "farther", label: "Round-trip time beyond the path's", unit: "ms", min: 0, max: 500, step: 1, none: 0 },
];

export const NEW_FLOW = { cca: "cubic", params: {}, count: 1, start: 0, spread: 0, size: 0, farther: 0, ecn: "off", label: "" };

export const NEW_PANE = {
	rate: 50,
	rtt: 40,
	buffer: 1,
	loss: 0,
	jitter: 0,
	reverse: 0,
	duration: 30,
	seed: 1,
	queue: "droptail",
	steps: "",
	trace: "",
	flows: [NEW_FLOW],
};

/** Packets of a run, above which the page does not begin it. */
const PACKETS_MAX = 12e6;
const PACKET_BITS = 1514 * 8;

/** A scenario with the fields that it does not name as in NEW_PANE. */
export function complete(pane) {
	const flows = (pane.flows ?? NEW_PANE.flows).map((flow) => ({ ...NEW_FLOW, ...flow, params: { ...flow.params } }));
	return { ...NEW_PANE, ...pane, flows };
}

const quoted = (text) => JSON.stringify(text);
const one = (number) => String(Number(number.toPrecision(6)));

/** Steps of the rate, lines like `10 5` (s, Mbit/s); throws what is wrong. */
function stepsOf(text) {
	return text
		.trim()
		.split(/[\n;,]+/)
		.map((line) => {
			const [time, rate, ...more] = line.trim().split(/\s+/).map(Number);
			if (more.length || !(time >= 0) || !(rate >= 0)) {
				throw new Error(`steps of the rate: '${line.trim()}' is not a time in s and a rate in Mbit/s, such as '10 5'`);
			}
			return `["${time} s", "${rate} Mbps"]`;
		});
}

/** Throws one line if the run would take the page too long. */
export function bound(pane) {
	const packets = (pane.rate * 1e6 * pane.duration) / PACKET_BITS;
	if (packets > PACKETS_MAX) {
		const seconds = Math.floor((PACKETS_MAX * PACKET_BITS) / (pane.rate * 1e6));
		throw new Error(
			`${(packets / 1e6).toFixed(0)} million packets are more than this page runs, 12 million: ` +
				`lower the rate, or the duration to ${seconds} s. The command below runs it.`,
		);
	}
}

export function files(pane) {
	return pane.trace ? { "lab.trace": pane.trace } : {};
}

export function toml(pane) {
	const lines = [`duration = "${one(pane.duration)} s"`, "samples = 500"];
	if (pane.seed !== 1) lines.push(`seed = ${pane.seed}`);
	lines.push("", "[dumbbell]");
	if (pane.trace) lines.push('rate = { trace = "lab.trace" }');
	else if (pane.steps.trim()) lines.push(`rate = { steps = [["0 s", "${one(pane.rate)} Mbps"], ${stepsOf(pane.steps).join(", ")}] }`);
	else lines.push(`rate = "${one(pane.rate)} Mbps"`);
	lines.push(`rtt = "${one(pane.rtt)} ms"`, `buffer = "${one(pane.buffer)} BDP"`);
	if (pane.queue !== "droptail") lines.push(`queue = ${queue(pane)}`);
	if (pane.loss) lines.push(`loss = "${one(pane.loss)}%"`);
	if (pane.jitter) lines.push(`jitter = { std = "${one(pane.jitter)} ms" }`);
	if (pane.reverse) lines.push(`reverse = { rate = "${one(pane.reverse)} Mbps", buffer = 100 }`);
	for (const flow of pane.flows) {
		lines.push("", "[[flows]]", `cca = ${algorithm(flow)}`);
		if (flow.label) lines.push(`label = ${quoted(flow.label)}`);
		if (flow.count !== 1) lines.push(`count = ${flow.count}`);
		if (flow.start) lines.push(`start = "${one(flow.start)} s"`);
		if (flow.spread) lines.push(`start_jitter = "${one(flow.spread)} s"`);
		if (flow.size) lines.push(`size = "${one(flow.size)} MB"`);
		// A round trip crosses four links of the flow's own.
		if (flow.farther) lines.push(`access_delay = "${one(flow.farther / 4)} ms"`);
		if (flow.ecn !== "off") lines.push(`stack = { ecn = "${flow.ecn}" }`);
	}
	return `${lines.join("\n")}\n`;
}

/** A discipline marks as soon as a flow has ECN. */
function queue(pane) {
	const marks = pane.flows.some((flow) => flow.ecn !== "off");
	const asks = ["red", "codel", "pie"].includes(pane.queue);
	return marks && asks ? `{ discipline = "${pane.queue}", ecn = true }` : quoted(pane.queue);
}

function algorithm(flow) {
	const params = Object.entries(flow.params);
	if (!params.length) return quoted(flow.cca);
	const value = (set) => (typeof set === "number" ? one(set) : quoted(set));
	return `{ name = ${quoted(flow.cca)}, ${params.map(([name, set]) => `${name} = ${value(set)}`).join(", ")} }`;
}

/** As flags, or as a file where flags cannot say it. */
export function command(pane) {
	const [first] = pane.flows;
	const names = pane.flows.map((flow) => flow.cca);
	const alike = ["count", "start", "spread", "size", "ecn"].every((key) => pane.flows.every((flow) => flow[key] === first[key]));
	const flags =
		alike &&
		new Set(names).size === names.length &&
		pane.flows.every((flow) => !flow.farther && !flow.label) &&
		!pane.trace &&
		!pane.steps.trim() &&
		queue(pane).startsWith('"');
	if (!flags) return "cwnd run lab.toml        # the scenario, saved under this name" + (pane.trace ? "; the trace as lab.trace" : "");
	const words = [`cwnd run --cca ${names.join("+")}`];
	for (const flow of pane.flows) {
		for (const [name, set] of Object.entries(flow.params)) {
			const whose = names.length > 1 ? `${flow.cca}.` : "";
			words.push(`--param ${whose}${name}=${typeof set === "number" ? one(set) : set}`);
		}
	}
	if (first.count !== 1) words.push(`--flows ${first.count}`);
	words.push(`--rate ${one(pane.rate)}Mbps`, `--rtt ${one(pane.rtt)}ms`, `--buffer ${one(pane.buffer)}BDP`);
	if (pane.queue !== "droptail") words.push(`--queue ${pane.queue}`);
	if (first.ecn !== "off") words.push(`--ecn ${first.ecn}`);
	if (pane.loss) words.push(`--loss ${one(pane.loss)}%`);
	if (pane.jitter) words.push(`--jitter ${one(pane.jitter)}ms`);
	if (pane.reverse) words.push(`--reverse-rate ${one(pane.reverse)}Mbps --reverse-buffer 100`);
	if (first.start) words.push(`--start ${one(first.start)}s`);
	if (first.spread) words.push(`--start-jitter ${one(first.spread)}s`);
	if (first.size) words.push(`--size ${one(first.size)}MB`);
	if (pane.seed !== 1) words.push(`--seed ${pane.seed}`);
	words.push(`--duration ${one(pane.duration)}s --samples 500`);
	return words.join(" ");
}
