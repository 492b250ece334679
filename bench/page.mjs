// What a packet takes in the page, and what each engine weighs: the lab's lessons and the reference scenario, in turns.
// node bench/page.mjs TURNS ENGINE.wasm...
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { Engine } from "../lab/src/engine.js";
import { LESSONS } from "../lab/src/lessons.js";
import { complete, toml } from "../lab/src/scenario.js";

const [turns, ...programs] = process.argv.slice(2);
const scenarios = {
	lessons: LESSONS.flatMap(({ panes }) => panes.map((pane) => toml(complete(pane)))),
	reference: [readFileSync(new URL("../scenarios/reference.toml", import.meta.url), "utf8")],
};

/** From the texts to the answers. */
function nsPerPacket(engine, texts) {
	let packets = 0;
	const began = performance.now();
	for (const text of texts) {
		engine.begin(text, {});
		const [{ flows }] = engine.finish().runs;
		packets += flows.reduce((sum, flow) => sum + flow.sent_pkts, 0);
	}
	return ((performance.now() - began) * 1e6) / packets;
}

const engines = [];
for (const program of programs) {
	const wasm = readFileSync(program);
	const sizes = { wasm: wasm.length, gzip: gzipSync(wasm, { level: 9 }).length, brotli: brotliCompressSync(wasm).length };
	engines.push({ name: basename(program), sizes, engine: await Engine.of(await WebAssembly.compile(wasm)), best: {} });
}
for (let turn = 0; turn < turns; turn++) {
	for (const { engine, best } of engines) {
		for (const [name, texts] of Object.entries(scenarios)) {
			best[name] = Math.min(best[name] ?? Infinity, nsPerPacket(engine, texts));
		}
	}
}
for (const { name, sizes, best } of engines) {
	const weights = Object.entries(sizes).map(([of, bytes]) => `${of} ${(bytes / 1e3).toFixed(0)} kB`);
	const times = Object.entries(best).map(([of, ns]) => `${of} ${ns.toFixed(1)} ns`);
	console.log(`${name}: ${[...weights, ...times].join(", ")}`);
}
