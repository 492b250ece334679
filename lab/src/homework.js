// Homework: the scenarios that a name draws, the questions, and the file to hand in, as `cwnd homework new` makes them.
/* global HOMEWORK */

export const ASSIGNMENTS = HOMEWORK.assignments;
const NAME_MAX = 100;
const WIDTH = (1n << 64n) - 1n;

const collapse = (name) => name.replace(/[\p{Z}\p{Cc}\p{Cf}]+/gu, " ").replace(/^ | $/g, "");

/** A name as it is drawn from; null: it is none. */
export function normalise(name) {
	const text = collapse(name.normalize("NFKC").toLowerCase());
	const { length } = [...text];
	return length && length <= NAME_MAX && text.isWellFormed() ? text : null;
}

/** SplitMix64, begun with the FNV-1a hash of a text. */
function* numbers(text) {
	let state = 0xcbf29ce484222325n;
	for (const byte of new TextEncoder().encode(text)) state = ((state ^ BigInt(byte)) * 0x100000001b3n) & WIDTH;
	for (;;) {
		state = (state + 0x9e3779b97f4a7c15n) & WIDTH;
		let mixed = ((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n) & WIDTH;
		mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & WIDTH;
		yield mixed ^ (mixed >> 31n);
	}
}

function filled(template, drawn) {
	if (Array.isArray(template)) return template.map((value) => filled(value, drawn));
	if (typeof template === "object") return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, filled(value, drawn)]));
	if (typeof template !== "string" || !template.startsWith("$")) return template;
	const [key, place] = template.slice(1).split(".");
	return place === undefined ? drawn[key] : drawn[key][place];
}

/** The scenarios of a student, in the order of A and B. */
export function panesOf(assignment, name) {
	const draws = numbers(`${assignment.name}\n${normalise(name)}`);
	const drawn = {};
	for (const [key, values] of Object.entries(assignment.draw)) drawn[key] = values[Number(draws.next().value % BigInt(values.length))];
	return Object.values(assignment.scenarios).map((pane) => filled(pane, drawn));
}

export function fileStem(assignment, name) {
	const words = normalise(name).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
	return [assignment.name, ...words].join("-");
}

/** The file to hand in. `answers`: texts by the question's key. */
export function answerFile(assignment, name, answers = {}) {
	const stem = fileStem(assignment, name);
	return `${[
		`# ${assignment.title}`,
		`# ${assignment.about}`,
		"# Write each answer behind its =, a number alone, and hand in this file.",
		"# Your scenarios are in the lab, under your name and this homework. With the command:",
		...Object.keys(assignment.scenarios).map((key) => `#   cwnd run ${stem}-${key}.toml`),
		"",
		`homework = ${assignment.name}`,
		`name = ${collapse(name)}`,
		`version = ${HOMEWORK.version}`,
		...assignment.questions.flatMap(({ key, text, accepted }, index) => [
			"",
			`# ${index + 1}. ${text}`,
			`# ${accepted}`,
			`${key} = ${answers[key] ?? ""}`.trimEnd(),
		]),
	].join("\n")}\n`;
}
