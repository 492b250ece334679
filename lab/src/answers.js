// Numbers of a lesson's scenarios and of their variations, which the build of the page computes with its engine.
import { complete, toml } from "./scenario.js";

const NAMES = ["A", "B"];

/** A lesson's scenarios and their variations as { name, toml }. */
export function scenariosOf({ panes, variations }) {
	const own = panes.map((pane, index) => ({ name: NAMES[index], toml: toml(complete(pane)) }));
	return [...own, ...variations.map(({ name, pane, change }) => ({ name, toml: toml(complete({ ...panes[pane], ...change })) }))];
}

/** The rows of a lesson's table of answers: { name, values }, a value for each of the lesson's numbers. */
export function answersOf(lesson, run) {
	return scenariosOf(lesson).map(({ name, toml }) => {
		const answer = run(toml);
		return { name, values: lesson.numbers.map(({ of }) => of(answer) ?? null) };
	});
}
