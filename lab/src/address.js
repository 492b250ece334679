// The page's state in its address: a lesson and its differences from it, such as #bufferbloat/a.rate=30/b.queue=codel.
import { LESSONS } from "./lessons.js";
import { NEW_FLOW, NEW_PANE, complete } from "./scenario.js";

const PANES = ["a", "b"];
/** Before the name of an assignment and a student's name. */
const HOMEWORK = "homework/";

export const lessonState = (lesson) => ({ lesson: lesson.id, panes: lesson.panes.map(complete) });

const baseOf = (lesson) => (lesson ? lessonState(lesson) : { lesson: null, panes: [complete({})] });

/** Base of pane `index`: a second scenario begins as a copy of the first. */
const paneBase = (base, state, index) => base.panes[index] ?? state.panes[0];

// A text that could be read as a number has a ~ before it.
const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));
const written = (value) => (typeof value === "number" ? String(value) : encodeURIComponent(isNumber(value) || value.startsWith("~") ? `~${value}` : value));
function readValue(text) {
	const value = decodeURIComponent(text);
	if (value.startsWith("~")) return value.slice(1);
	return isNumber(value) ? Number(value) : value;
}

function* flowDifferences(flow, base, place) {
	for (const key of Object.keys(NEW_FLOW)) {
		if (key !== "params" && flow[key] !== base[key]) yield `${place}.${key}=${written(flow[key])}`;
	}
	for (const name of new Set([...Object.keys(base.params), ...Object.keys(flow.params)])) {
		const value = flow.params[name];
		if (value !== base.params[name]) yield `${place}.params.${name}=${value === undefined ? "" : written(value)}`;
	}
}

function* differences(state, base) {
	if (state.panes.length !== base.panes.length) yield `panes=${state.panes.length}`;
	for (const [index, pane] of state.panes.entries()) {
		const own = paneBase(base, state, index);
		for (const key of Object.keys(NEW_PANE)) {
			if (key !== "flows" && pane[key] !== own[key]) yield `${PANES[index]}.${key}=${written(pane[key])}`;
		}
		if (pane.flows.length !== own.flows.length) yield `${PANES[index]}.flows=${pane.flows.length}`;
		for (const [flow, value] of pane.flows.entries()) {
			yield* flowDifferences(value, own.flows[flow] ?? NEW_FLOW, `${PANES[index]}.${flow}`);
		}
	}
}

export function writeCode(state) {
	if (state.homework) return `${HOMEWORK}${state.homework.assignment}/${encodeURIComponent(state.homework.name)}`;
	const lesson = LESSONS.find(({ id }) => id === state.lesson);
	return [lesson?.id ?? "", ...differences(state, baseOf(lesson))].join("/") || "/";
}

/** Sets one value of the state; throws at a place that no state has. */
function set(state, base, key, text) {
	const [pane, ...rest] = key.split(".");
	if (key === "panes") {
		const count = Number(text);
		if (count !== 1 && count !== 2) throw new Error(key);
		state.panes.length = Math.min(state.panes.length, count);
		state.isCopied = count > base.panes.length;
		return;
	}
	const index = PANES.indexOf(pane);
	// Differences of A come first, so that a copy has them.
	if (index === 1 && state.isCopied && state.panes.length === 1) state.panes.push(structuredClone(state.panes[0]));
	const own = state.panes[index];
	const value = readValue(text);
	if (rest[0] === "flows") {
		if (!(value >= 1 && value <= 100)) throw new Error(key);
		own.flows.length = Math.min(own.flows.length, value);
		while (own.flows.length < value) own.flows.push(structuredClone(NEW_FLOW));
	} else if (rest.length === 1) put(own, NEW_PANE, rest[0], value);
	else if (rest[1] === "params" && text === "") delete own.flows[rest[0]].params[rest[2]];
	else if (rest[1] === "params") own.flows[rest[0]].params[rest[2]] = value;
	else put(own.flows[rest[0]], NEW_FLOW, rest[1], value);
}

function put(into, model, key, value) {
	const kind = typeof model[key];
	if (!Object.hasOwn(model, key) || kind === "object" || (kind === "number" && typeof value !== kind)) throw new Error(key);
	into[key] = kind === "string" ? String(value) : value;
}

/** State of an address; null: the address has none. `{ homework }` alone is a student's. */
export function readCode(code) {
	if (code.startsWith(HOMEWORK)) {
		const [, assignment, name] = code.split("/");
		return { homework: { assignment, name: decodeSafely(name ?? "") } };
	}
	const [id, ...parts] = code.split("/");
	const lesson = LESSONS.find((each) => each.id === id);
	if (!lesson && (id || !parts.length)) return unpack(code);
	const base = baseOf(lesson);
	const state = structuredClone(base);
	try {
		for (const part of parts.filter(Boolean)) {
			const at = part.indexOf("=");
			set(state, base, part.slice(0, at), part.slice(at + 1));
		}
		if (state.isCopied && state.panes.length === 1) state.panes.push(structuredClone(state.panes[0]));
		delete state.isCopied;
		return state;
	} catch {
		return null;
	}
}

function decodeSafely(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return "";
	}
}

/** State as earlier versions of the page wrote it whole: JSON in base64. */
function unpack(text) {
	try {
		const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
		const state = JSON.parse(new TextDecoder().decode(bytes));
		if (!Array.isArray(state.panes) || !state.panes.length || state.panes.length > 2) return null;
		return { lesson: state.lesson ?? null, panes: state.panes.map(complete) };
	} catch {
		return null;
	}
}
