// Makes the one file of the lab from its sources, the engine as wasm, and looks.json and homework.json.
// node build.mjs ENGINE.wasm looks.json homework.json OUT.html
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { answersOf } from "./src/answers.js";
import { Engine } from "./src/engine.js";
import { LESSONS } from "./src/lessons.js";

const [wasm, looks, homework, out] = process.argv.slice(2);
const here = new URL(".", import.meta.url).pathname;

async function bundle(entry, define = {}) {
	const built = await build({
		entryPoints: [here + entry],
		bundle: true,
		minify: true,
		format: "iife",
		target: "es2022",
		write: false,
		legalComments: "none",
		define,
	});
	return built.outputFiles[0].text;
}

async function minifyStyle(text) {
	const built = await build({ stdin: { contents: text, loader: "css" }, minify: true, write: false });
	return built.outputFiles[0].text;
}

/** Numbers of the answers, from runs of the engine that the page has. */
async function computeAnswers() {
	const engine = await Engine.of(await WebAssembly.compile(readFileSync(wasm)));
	const run = (toml) => {
		engine.begin(toml, {});
		return engine.finish();
	};
	return Object.fromEntries(LESSONS.map((lesson) => [lesson.id, answersOf(lesson, run)]));
}

const script = await bundle("src/main.js", {
	WORKER: JSON.stringify(await bundle("src/worker.js")),
	ENGINE: JSON.stringify(gzipSync(readFileSync(wasm), { level: 9 }).toString("base64")),
	LOOKS: readFileSync(looks, "utf8"),
	HOMEWORK: readFileSync(homework, "utf8"),
	ANSWERS: JSON.stringify(await computeAnswers()),
});
const style = await minifyStyle(
	readFileSync(here + "node_modules/uplot/dist/uPlot.min.css", "utf8") + readFileSync(here + "style.css", "utf8"),
);
const licence = readFileSync(here + "node_modules/uplot/LICENSE", "utf8");
const page = readFileSync(here + "index.html", "utf8")
	.replace("/*STYLE*/", () => style)
	.replace("/*SCRIPT*/", () => script.replaceAll("</script", "<\\/script"));
writeFileSync(out, `${page}<!--\nuPlot (https://github.com/leeoniya/uPlot):\n${licence}-->\n`);
