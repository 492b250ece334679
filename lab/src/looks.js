// Colour, dashes and width of each line: an algorithm's own in all figures, and a flow's own in both scenarios.
/* global LOOKS */

const DASHES = [[], [6, 1.5], [2, 1], [6, 1.5, 1.5, 1.5], [4, 4], [12, 3]];
export const isDark = matchMedia("(prefers-color-scheme: dark)");
const FEW = 4;

/** An algorithm's colour, lighter on dark paper if it would vanish there. */
function colour(cca) {
	const [hex] = LOOKS[cca] ?? ["#777777"];
	const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
	const light = 0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2];
	const share = isDark.matches ? Math.max(0, (150 - light) / 255) : Math.max(0, (light - 150) / 255);
	const toward = isDark.matches ? 255 : 0;
	return `rgb(${parts.map((part) => Math.round(part + (toward - part) * share)).join(" ")})`;
}

/** Names that identify flows: the label, else the algorithm, and the how-manieth of it. */
function identities({ scenario, runs: [{ flows }] }) {
	const seen = new Map();
	return flows.map(({ cca }, index) => {
		const name = scenario.flows[index].label ?? cca;
		const nth = seen.get(name) ?? 0;
		seen.set(name, nth + 1);
		return { cca, name, isLabelled: name !== cca, key: `${name} ${nth}` };
	});
}

/** Looks of the flows of each answer. A line alone is solid; others have their algorithm's dashes, or the next that are free. */
export function looksOf(answers) {
	const named = answers.map(identities);
	const dashes = new Map(named.filter((flows) => flows.length === 1).map(([{ key }]) => [key, []]));
	for (const flows of named) {
		for (const { key, cca, isLabelled } of flows) {
			if (dashes.has(key)) continue;
			const used = flows.map((other) => dashes.get(other.key)?.join()).filter((dash) => dash !== undefined);
			const wanted = [isLabelled ? [] : (LOOKS[cca]?.[1] ?? []), ...DASHES];
			dashes.set(key, wanted.find((dash) => !used.includes(dash.join())) ?? wanted[flows.length % wanted.length]);
		}
	}
	return named.map((flows) => {
		const width = flows.length === 1 ? 2 : flows.length <= FEW ? 1.7 : 1.4;
		return flows.map(({ cca, key }) => ({ stroke: colour(cca), dash: dashes.get(key), width }));
	});
}

/** Names of the flows as tables and legends show them. */
export function flowNames(answer) {
	return identities(answer).map(({ cca, name, isLabelled }, index) => (isLabelled ? `${index}: ${name}, ${cca}` : `${index}: ${cca}`));
}
