// The left side: each value as a slider and a number, or as a choice.
import { FLOW, PATH } from "./scenario.js";

let rows = 0;

function element(name, properties = {}, ...children) {
	const made = Object.assign(document.createElement(name), properties);
	made.append(...children);
	return made;
}

const STEPS = 1000;
const toSlider = (field, value) =>
	field.log ? Math.round((STEPS * Math.log(value / field.min)) / Math.log(field.max / field.min)) : value;
const fromSlider = (field, at) =>
	field.log ? Number((field.min * (field.max / field.min) ** (at / STEPS)).toPrecision(3)) : Number(at);

/** A slider with its number; `changed(value)` while it moves. */
export function slider(field, value, changed, help) {
	const id = `value-${rows++}`;
	const range = element("input", {
		type: "range",
		min: field.log ? 0 : field.min,
		max: field.log ? STEPS : field.max,
		step: field.log ? 1 : (field.step ?? 1),
		value: toSlider(field, value),
	});
	range.setAttribute("aria-label", field.label);
	range.setAttribute("aria-valuetext", `${value} ${field.unit}`);
	const number = element("input", { type: "number", id, min: field.min, max: field.max, step: "any", value });
	range.addEventListener("input", () => {
		number.value = fromSlider(field, range.value);
		range.setAttribute("aria-valuetext", `${number.value} ${field.unit}`);
		changed(Number(number.value));
	});
	number.addEventListener("input", () => {
		const typed = number.valueAsNumber;
		if (!(typed >= field.min && typed <= field.max)) return;
		range.value = toSlider(field, typed);
		changed(typed);
	});
	number.addEventListener("blur", () => {
		const typed = number.valueAsNumber;
		if (typed >= field.min && typed <= field.max) return;
		number.value = fromSlider(field, range.value);
	});
	const shown = element("span", { className: "number" }, number, element("span", { textContent: field.unit }));
	const row = element("div", { className: "row" }, element("label", { htmlFor: id, textContent: field.label }), range, shown);
	if (help) row.append(element("small", { textContent: help }));
	return row;
}

export function choice(label, options, value, changed, help) {
	const id = `value-${rows++}`;
	const select = element("select", { id }, ...options);
	select.value = value;
	select.addEventListener("change", () => changed(select.value));
	const row = element("div", { className: "row" }, element("label", { htmlFor: id, textContent: label }), select);
	if (help) row.append(element("small", { textContent: help }));
	return row;
}

const options = (names) => names.map((name) => element("option", { textContent: name, value: name }));

/** Fills the fieldset of the path. `changed()` after each change of `pane`. */
export function showPath(place, pane, catalogue, changed) {
	const set = (key) => (value) => {
		pane[key] = value;
		changed();
	};
	const sliders = PATH.map((field) => slider(field, pane[field.key], set(field.key)));
	const queue = choice("Queue", options(catalogue.queues), pane.queue, set("queue"));
	sliders.splice(3, 0, queue);
	const steps = element("textarea", { id: "steps", rows: 2, value: pane.steps, placeholder: "10 5\n20 50" });
	steps.addEventListener("input", () => set("steps")(steps.value));
	const file = element("input", { type: "file", id: "trace" });
	file.addEventListener("change", async () => set("trace")(file.files.length ? await file.files[0].text() : ""));
	const varied = element(
		"details",
		{ open: Boolean(pane.steps || pane.trace) },
		element("summary", { textContent: "A rate that changes" }),
		element("div", { className: "row" }, element("label", { htmlFor: "steps", textContent: "Steps: a time in s and a rate in Mbit/s, a line each" }), steps),
		element(
			"div",
			{ className: "row" },
			element("label", { htmlFor: "trace", textContent: pane.trace ? "A trace of Mahimahi is in use; another:" : "Or a trace of Mahimahi" }),
			file,
		),
	);
	place.replaceChildren(element("legend", { textContent: "Path" }), ...sliders, varied);
}

/** A parameter of an algorithm: a number or a choice. One at its `preset`, that of the stack, is left out of the scenario. */
function parameter(param, preset, flow, changed) {
	const value = flow.params[param.name] ?? preset;
	const set = (chosen) => {
		if (chosen === preset) delete flow.params[param.name];
		else flow.params[param.name] = chosen;
		changed();
	};
	if (param.numbers) {
		const [min, max, step] = param.numbers;
		const wide = max - min > 2000;
		// Numbers over many powers of ten are typed; the slider covers ten times the default.
		const most = wide ? Math.min(max, Math.max(10 * Number(preset), 100 * step)) : max;
		return slider({ label: param.name, unit: "", min, max: most, step }, value, set, param.meaning);
	}
	return choice(param.name, options(param.accepted.split(", ")), value, set, param.meaning);
}

/** A group of flows. `rebuild()` when its controls are others. */
export function showFlow(index, pane, catalogue, changed, rebuild) {
	const flow = pane.flows[index];
	const set = (key) => (value) => {
		flow[key] = value;
		changed();
	};
	const named = ({ name, title, about }) => element("option", { value: name, textContent: title ?? `${name}: ${about ?? ""}` });
	const groups = [
		Object.assign(element("optgroup", {}, ...catalogue.algorithms.map(named)), { label: "Algorithms" }),
		Object.assign(element("optgroup", {}, ...options(catalogue.presets.map((preset) => preset.name))), { label: "Presets of papers" }),
	];
	const cca = choice("Algorithm", groups, flow.cca, (name) => {
		flow.cca = name;
		flow.params = {};
		const { kind } = catalogue.algorithms.find((algorithm) => algorithm.name === name) ?? {};
		flow.ecn = kind === "l4s" ? "l4s" : kind === "ecn" ? "accurate" : flow.ecn;
		rebuild();
	});
	const found =
		catalogue.algorithms.find(({ name }) => name === flow.cca) ??
		catalogue.algorithms.find(({ name }) => name === catalogue.presets.find((preset) => preset.name === flow.cca)?.algorithm);
	const presets = found?.profiles.linux?.params ?? {};
	const params = (found?.params ?? []).map((param) => parameter(param, presets[param.name] ?? param.default, flow, changed));
	const legend = element("legend", { textContent: pane.flows.length > 1 ? `Flows ${index + 1}` : "Flows" });
	const place = element(
		"fieldset",
		{},
		legend,
		cca,
		...FLOW.map((field) => slider(field, flow[field.key], set(field.key))),
		choice("ECN", options(catalogue.ecn), flow.ecn, set("ecn")),
	);
	if (params.length) {
		place.append(
			element("details", { open: Object.keys(flow.params).length > 0 }, element("summary", { textContent: `Parameters of ${flow.cca}` }), ...params),
		);
	}
	if (pane.flows.length > 1) {
		const remove = element("button", { type: "button", textContent: `Remove flows ${index + 1}` });
		remove.addEventListener("click", () => {
			pane.flows.splice(index, 1);
			rebuild();
		});
		place.append(remove);
	}
	return place;
}
