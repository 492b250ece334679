// One engine in a thread of its own. A request makes those before it out of date; they are then given up.
import { Engine } from "./engine.js";

/** A run is looked up this often, to see whether a newer request has come. */
const SLICES = 40;

let engine;
let newest = 0;

/** Lets messages in. */
const breathe = () => new Promise((resolve) => {
	const { port1, port2 } = new MessageChannel();
	port1.onmessage = resolve;
	port2.postMessage(0);
});

async function run({ id, toml, files }) {
	const { scenario } = engine.begin(toml, files);
	for (let slice = 1; slice < SLICES; slice++) {
		engine.advance((scenario.duration_ns * slice) / SLICES);
		await breathe();
		if (id !== newest) return;
	}
	postMessage({ id, answer: engine.finish() });
}

/** Moments of the run that `watch` began, for the picture of the path. */
function step({ id, times_ns }) {
	const moments = times_ns.map((time) => {
		engine.advance(time);
		return engine.observe();
	});
	postMessage({ id, moments });
}

onmessage = async ({ data }) => {
	try {
		if (data.kind === "engine") {
			engine = await Engine.of(data.module);
			postMessage({ id: 0, catalogue: engine.catalogue() });
			return;
		}
		newest = data.id;
		if (data.kind === "run") await run(data);
		if (data.kind === "watch") postMessage({ id: data.id, watched: engine.begin(data.toml, data.files) });
		if (data.kind === "step") step(data);
	} catch (error) {
		postMessage({ id: data.id, fault: error.message });
	}
};
