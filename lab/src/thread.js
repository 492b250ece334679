// A worker with an engine, as promises.
/* global WORKER, ENGINE */

let compiled;

/** The engine is compiled once for all threads. */
function compileEngine() {
	compiled ??= (async () => {
		const bytes = Uint8Array.from(atob(ENGINE), (character) => character.charCodeAt(0));
		const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
		return WebAssembly.compile(await new Response(stream).arrayBuffer());
	})();
	return compiled;
}

export class Thread {
	constructor() {
		this.worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
		this.waiting = new Map();
		this.id = 0;
		this.worker.onmessage = ({ data }) => {
			const asked = this.waiting.get(data.id);
			this.waiting.delete(data.id);
			if (data.fault === undefined) asked?.resolve(data);
			else asked?.reject(new Error(data.fault));
		};
		this.ready = compileEngine().then((module) => this.post(0, { kind: "engine", module }));
	}

	post(id, request) {
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			this.worker.postMessage({ id, ...request });
		});
	}

	/** Resolves with the answer. A request that a newer one overtakes never does. */
	async ask(request) {
		await this.ready;
		for (const id of this.waiting.keys()) this.waiting.delete(id);
		this.id += 1;
		return this.post(this.id, request);
	}
}
