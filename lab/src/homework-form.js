// The form of the homework: name and assignment, then questions and the file.
import { download } from "./export.js";
import { ASSIGNMENTS, answerFile, fileStem, normalise, panesOf } from "./homework.js";

const $ = (id) => document.getElementById(id);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function element(name, properties = {}, ...children) {
	const made = Object.assign(document.createElement(name), properties);
	made.append(...children);
	return made;
}

/** The assignment and the scenarios of an address or of the form; null: there is none. */
export function findHomework({ assignment, name }) {
	const found = ASSIGNMENTS.find((each) => each.name === assignment);
	return found && normalise(name) ? { assignment: found, name, panes: panesOf(found, name) } : null;
}

/** Lets a student begin: `begin({ assignment, name })`. */
export function listenToHomework(begin) {
	$("assignment").append(...ASSIGNMENTS.map(({ name, title }) => element("option", { value: name, textContent: title })));
	$("homework-begin").addEventListener("submit", (event) => {
		event.preventDefault();
		const isName = normalise($("student").value) !== null;
		$("student").setCustomValidity(isName ? "" : "Enter a name of 1 to 100 characters.");
		if ($("student").reportValidity()) begin({ assignment: $("assignment").value, name: $("student").value });
	});
	$("student").addEventListener("input", () => $("student").setCustomValidity(""));
}

/** Shows the questions of a student; null: none. */
export function showHomework(homework) {
	$("homework-questions").replaceChildren();
	if (!homework) return;
	const { assignment, name } = homework;
	$("student").value = name;
	$("assignment").value = assignment.name;
	const answers = {};
	const questions = assignment.questions.map(({ key, text, accepted }) => {
		const id = `answer-${key}`;
		const input = element("input", { id, type: "text", inputMode: "decimal", autocomplete: "off" });
		input.addEventListener("input", () => {
			const value = input.value.trim();
			const isNumber = value === "" || NUMBER.test(value);
			input.setCustomValidity(isNumber ? "" : "Enter a number alone, with a point, such as 1234.5.");
			input.setAttribute("aria-invalid", !isNumber);
			answers[key] = value;
		});
		return element("li", {}, element("label", { htmlFor: id, textContent: `${text} ${accepted}` }), " ", input);
	});
	const form = element("form", { noValidate: false }, element("ol", {}, ...questions), element("button", { textContent: "Download the file to hand in" }));
	form.addEventListener("submit", (event) => {
		event.preventDefault();
		download(`${fileStem(assignment, name)}.txt`, new Blob([answerFile(assignment, name, answers)], { type: "text/plain" }));
	});
	$("homework-questions").append(element("p", { textContent: `${assignment.about} Below are the scenarios of ${name}.` }), form);
}
