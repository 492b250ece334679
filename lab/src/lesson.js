// Texts and numbers of a lesson beside its scenarios, and for the teacher answers, notes and a sheet of all lessons.
/* global ANSWERS */
import { LESSONS } from "./lessons.js";

const $ = (id) => document.getElementById(id);
const NAMES = ["A", "B"];

function element(name, properties = {}, ...children) {
	const made = Object.assign(document.createElement(name), properties);
	made.append(...children);
	return made;
}

const digits = (value) => (value === null || value === undefined || Number.isNaN(value) ? "-" : Number(value.toPrecision(3)).toLocaleString("en"));
const titled = ({ name, unit }) => (unit ? `${name}, ${unit}` : name);

/** A table with a caption; the first cell of each row is its heading. */
function table(caption, headings, rows) {
	const head = element("tr", {}, ...headings.map((text) => element("th", { scope: "col", textContent: text })));
	const body = rows.map(([first, ...cells]) =>
		element("tr", {}, element("th", { scope: "row", textContent: first }), ...cells.map((text) => element("td", { textContent: text }))),
	);
	const made = element("table", {}, element("caption", { textContent: caption }), element("thead", {}, head), element("tbody", {}, ...body));
	const place = element("div", { className: "scroll", tabIndex: 0 }, made);
	place.setAttribute("role", "region");
	place.setAttribute("aria-label", caption);
	return place;
}

export const find = (id) => LESSONS.find((lesson) => lesson.id === id);

export function showText(lesson) {
	const texts = lesson ? [["", lesson.text], ["question", lesson.question]] : [];
	$("about").replaceChildren(...texts.map(([className, textContent]) => element("p", { className, textContent })));
}

/** The numbers that the lesson's question is about, of each scenario. */
export function showNumbers(lesson, answers) {
	if (!lesson || !answers.length) {
		$("numbers").replaceChildren();
		return;
	}
	const rows = lesson.numbers.map((number) => [titled(number), ...answers.map((answer) => digits(number.of(answer)))]);
	$("numbers").replaceChildren(table("Numbers of this lesson, as simulated now", ["", ...NAMES.slice(0, answers.length)], rows));
}

function answerParts({ id, numbers, answer, notes }) {
	const rows = ANSWERS[id].map(({ name, values }) => [name, ...values.map(digits)]);
	return [
		element("p", {}, element("strong", { textContent: "Answer. " }), answer),
		table("Numbers of the lesson as it stands, and of variations", ["scenario", ...numbers.map(titled)], rows),
		element("p", {}, element("strong", { textContent: "Notes. " }), notes),
	];
}

export function showTeacher(lesson, isShown) {
	$("teacher").hidden = !isShown;
	if (!isShown) {
		$("teacher-text").replaceChildren();
		$("sheet").replaceChildren();
		return;
	}
	$("teacher-text").replaceChildren(...(lesson ? answerParts(lesson) : [element("p", { textContent: "No lesson is chosen; the sheet has all of them." })]));
	const sheet = LESSONS.map((each, index) =>
		element(
			"article",
			{},
			element("h2", { textContent: `${index + 1}. ${each.title}` }),
			element("p", { textContent: each.text }),
			element("p", { className: "question", textContent: each.question }),
			...answerParts(each),
		),
	);
	$("sheet").replaceChildren(element("h1", { textContent: "cwnd lab: lessons, answers and notes" }), ...sheet);
}
