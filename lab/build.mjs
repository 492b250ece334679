// Makes the one file of the lab from its sources, the engine as wasm, and looks.json.
// node build.mjs ENGINE.wasm looks.json OUT.html
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [wasm, looks, out] = process.argv.slice(2);
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

const script = await bundle("src/main.js", {
	WORKER: JSON.stringify(await bundle("src/worker.js")),
	ENGINE: JSON.stringify(gzipSync(readFileSync(wasm), { level: 9 }).toString("base64")),
	LOOKS: readFileSync(looks, "utf8"),
});
const style = await minifyStyle(
	readFileSync(here + "node_modules/uplot/dist/uPlot.min.css", "utf8") + readFileSync(here + "style.css", "utf8"),
);
const licence = readFileSync(here + "node_modules/uplot/LICENSE", "utf8");
const page = readFileSync(here + "index.html", "utf8")
	.replace("/*STYLE*/", () => style)
	.replace("/*SCRIPT*/", () => script.replaceAll("</script", "<\\/script"));
writeFileSync(out, `${page}<!--\nuPlot (https://github.com/leeoniya/uPlot):\n${licence}-->\n`);
