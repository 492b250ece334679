// Play: packets between sender, queue and receiver, from a run that is advanced moment by moment.
import { Thread } from "./thread.js";

/** Moments in one request, and dots in the picture at most. */
const MOMENTS = 24;
const DOTS_MAX = 240;
/** The simulation is this much ahead of the picture, on the clock. */
const AHEAD_S = 2;

export class Picture {
	/** `moved(time_s)` as the picture's time goes on. */
	constructor(canvas, moved) {
		this.canvas = canvas;
		this.moved = moved;
		this.thread = new Thread();
		this.moments = [];
		this.isPlaying = false;
		this.slowness = 50;
	}

	/** Another scenario, at its beginning or at `time_s`. */
	async load(toml, files, answer, looks, time_s = 0) {
		this.request = { toml, files };
		this.answer = answer;
		this.looks = looks;
		this.duration_s = answer.scenario.duration_ns / 1e9;
		const { links, flows } = answer.scenario;
		this.link = links.findIndex((link) => link.name === "bottleneck");
		this.forth_s = links[this.link].delay_ns / 1e9;
		this.back_s = Math.max(this.forth_s, (flows[0].return_delay_ns ?? 0) / 1e9);
		this.buffer_pkts = Math.max(...answer.link_samples.queue_pkts.filter((_, row) => answer.link_samples.link[row] === this.link), 10);
		await this.seek(time_s);
	}

	async seek(time_s) {
		const watched = (this.watching = {});
		this.time_s = Math.min(time_s, this.duration_s);
		this.moments = [];
		this.asked = null;
		await this.thread.ask({ kind: "watch", ...this.request });
		if (watched !== this.watching) return;
		this.ahead_s = Math.max(0, this.time_s - this.back_s);
		await this.fetch(watched);
		if (watched === this.watching) this.draw();
	}

	/** Simulates to a way's delay beyond the time shown, since packets on the wire are those that will arrive; and a little more. */
	async fetch(watched = this.watching) {
		const enough_s = () => Math.min(this.time_s + this.forth_s + AHEAD_S / this.slowness, this.duration_s);
		while (watched === this.watching && !this.asked && this.ahead_s < enough_s()) {
			const step_s = Math.max((this.forth_s + this.back_s) / 160, 1e-6);
			const times_ns = Array.from({ length: MOMENTS }, (_, index) => Math.round((this.ahead_s + (index + 1) * step_s) * 1e9));
			this.ahead_s = times_ns.at(-1) / 1e9;
			this.asked = this.thread.ask({ kind: "step", times_ns });
			const { moments } = await this.asked;
			if (watched !== this.watching) return;
			this.asked = null;
			this.moments.push(...moments);
			const oldest = (this.time_s - this.back_s) * 1e9 - 1e7;
			while (this.moments.length > 2 && this.moments[1].now_ns < oldest) this.moments.shift();
		}
	}

	/** Goes on, or begins again after the end. */
	play() {
		this.isPlaying = true;
		if (this.time_s >= this.duration_s) this.seek(0);
		let before;
		const frame = (now) => {
			if (!this.isPlaying) return;
			const next_s = this.time_s + Math.min(now - (before ?? now), 50) / 1000 / this.slowness;
			before = now;
			// The picture waits for the simulation.
			if (next_s + this.forth_s <= this.ahead_s || this.ahead_s >= this.duration_s) this.time_s = Math.min(next_s, this.duration_s);
			this.fetch().catch(() => this.pause());
			this.draw();
			this.moved(this.time_s);
			if (this.time_s >= this.duration_s) this.pause();
			requestAnimationFrame(frame);
		};
		requestAnimationFrame(frame);
	}

	pause() {
		this.isPlaying = false;
	}

	/** The last moment up to the time shown. */
	now() {
		let found = this.moments[0];
		for (const moment of this.moments) {
			if (moment.now_ns > this.time_s * 1e9) break;
			found = moment;
		}
		return found;
	}

	draw() {
		const { canvas } = this;
		const scale = devicePixelRatio || 1;
		const [width, height] = [canvas.clientWidth, canvas.clientHeight];
		canvas.width = width * scale;
		canvas.height = height * scale;
		const context = canvas.getContext("2d");
		context.scale(scale, scale);
		const style = getComputedStyle(document.documentElement);
		const [ink, soft, edge] = ["--ink", "--soft", "--edge"].map((name) => style.getPropertyValue(name).trim());
		context.font = "12px system-ui, sans-serif";
		const now = this.now();
		if (!now) return;
		const [top, bottom] = [height * 0.42, height * 0.78];
		const queueWidth = Math.min(170, width * 0.3);
		const [left, right] = [56, width - 66];
		const wire = left + queueWidth;
		context.strokeStyle = edge;
		context.lineWidth = 1;
		context.beginPath();
		context.moveTo(wire, top);
		context.lineTo(right, top);
		context.moveTo(left, bottom);
		context.lineTo(right, bottom);
		context.stroke();
		context.fillStyle = ink;
		context.textAlign = "right";
		context.fillText("sender", left - 6, (top + bottom) / 2 + 4);
		context.textAlign = "left";
		context.fillText("receiver", right + 6, (top + bottom) / 2 + 4);
		this.drawQueue(context, now, { left, top, queueWidth, ink, soft, edge });
		this.drawWire(context, { wire, left, right, top, bottom });
		context.fillStyle = soft;
		context.textAlign = "center";
		const data = this.perDot > 1 ? `data: a dot is ${this.perDot} packets` : "data: a dot is a packet";
		context.fillText(data, (left + right) / 2, (top + bottom) / 2 + 4);
		context.fillText("ACKs", (left + right) / 2, bottom + 24);
	}

	drawQueue(context, now, { left, top, queueWidth, ink, soft, edge }) {
		const held = now.links[this.link].queue_pkts;
		const [x, y, w, h] = [left, top - 34, queueWidth - 8, 44];
		context.strokeStyle = edge;
		context.strokeRect(x, y, w, h);
		const share = Math.min(1, held / this.buffer_pkts);
		context.fillStyle = soft;
		context.globalAlpha = 0.55;
		context.fillRect(x + w * (1 - share), y, w * share, h);
		context.globalAlpha = 1;
		context.fillStyle = ink;
		context.textAlign = "left";
		context.fillText(`queue: ${held} packets`, x, y - 8);
		const lost = this.lostNow();
		if (lost) {
			context.fillStyle = "#d1242f";
			context.fillText(`${lost} dropped or lost`, x + 4, y + h + 12);
		}
	}

	/** Packets lost in the interval of the samples that holds the time shown. */
	lostNow() {
		const samples = this.answer.link_samples;
		for (let row = 0; row < samples.time_s.length; row++) {
			if (samples.link[row] === this.link && samples.time_s[row] >= this.time_s) return samples.dropped_pkts[row];
		}
		return 0;
	}

	/** A packet that arrives at t has run the share 1 - (t - now) / delay of its way; its ACK goes back after that. */
	drawWire(context, { wire, left, right, top, bottom }) {
		const now_ns = this.time_s * 1e9;
		const arrivals = [];
		for (let index = 1; index < this.moments.length; index++) {
			const [before, after] = [this.moments[index - 1], this.moments[index]];
			after.flows.forEach((flow, which) => {
				const count = flow.delivered_pkts - before.flows[which].delivered_pkts;
				if (count > 0) arrivals.push({ which, first: before.flows[which].delivered_pkts, count, from: before.now_ns, to: after.now_ns });
			});
		}
		const [oldest, newest] = [now_ns - this.back_s * 1e9, now_ns + this.forth_s * 1e9];
		const seen = arrivals.reduce((sum, { count, from, to }) => sum + (to > oldest && from < newest ? count : 0), 0);
		this.perDot = 2 ** Math.max(0, Math.ceil(Math.log2(seen / DOTS_MAX)));
		for (const { which, first, count, from, to } of arrivals) {
			context.fillStyle = this.looks[which].stroke;
			for (let nth = 0; nth < count; nth++) {
				if ((first + nth) % this.perDot) continue;
				const at = from + ((to - from) * (nth + 1)) / count;
				const away = at - now_ns;
				if (away >= 0 && away <= this.forth_s * 1e9) {
					const x = right - ((right - wire) * away) / (this.forth_s * 1e9);
					context.fillRect(x - 2.5, top - 2.5 + 6 * ((which % 5) - 2), 5, 5);
				} else if (away < 0 && -away <= this.back_s * 1e9) {
					const x = right - ((right - left) * -away) / (this.back_s * 1e9);
					context.fillRect(x - 1, bottom - 1 + 3 * ((which % 5) - 2), 2.5, 2.5);
				}
			}
		}
	}
}
