// The engine: calls of crates/wasm, with texts in and objects out.

export class Engine {
	static async of(module) {
		const { exports } = await WebAssembly.instantiate(module, {});
		return new Engine(exports);
	}

	constructor(exports) {
		this.exports = exports;
	}

	answer(bytes) {
		const { memory, answered } = this.exports;
		const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answered(), bytes));
		const found = JSON.parse(text);
		if (found.error !== undefined) throw new Error(found.error);
		return found;
	}

	catalogue() {
		return this.answer(this.exports.catalogue());
	}

	/** Reads a scenario and says what follows from it. */
	begin(toml, files) {
		const request = new TextEncoder().encode(JSON.stringify({ toml, files }));
		const place = this.exports.allocate(request.length);
		new Uint8Array(this.exports.memory.buffer, place, request.length).set(request);
		return this.answer(this.exports.begin(place, request.length));
	}

	advance(untilNs) {
		this.answer(this.exports.advance(untilNs));
	}

	observe() {
		return this.answer(this.exports.observe());
	}

	finish() {
		return this.answer(this.exports.finish());
	}
}
