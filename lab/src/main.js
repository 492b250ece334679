// The page: what it holds, and the order in which things are simulated and drawn.
import { lessonState, readCode, writeCode } from "./address.js";
import { Charts, PICTURES, commonRanges } from "./charts.js";
import { showFlow, showPath } from "./controls.js";
import { download, plotsCanvas, samplesCsv } from "./export.js";
import { fileStem, normalise } from "./homework.js";
import { findHomework, listenToHomework, showHomework } from "./homework-form.js";
import { find, showNumbers, showTeacher, showText } from "./lesson.js";
import { LESSONS } from "./lessons.js";
import { flowNames, isDark, looksOf } from "./looks.js";
import { Picture } from "./picture.js";
import { NEW_FLOW, bound, command, complete, files, toml } from "./scenario.js";
import { Thread } from "./thread.js";

const $ = (id) => document.getElementById(id);
const NAMES = ["A", "B"];
/** What the address has is written when the reader rests. */
const REST_MS = 300;

let state;
let edited = 0;
let catalogue;
let resting;
const views = [];
const picture = new Picture($("path-picture"), showTime);

/** The state of an address, of the first lesson if it has none. A student's homework is made anew. */
function readAddress() {
	const read = readCode(location.hash.slice(1)) ?? lessonState(LESSONS[0]);
	return read.homework ? (homeworkState(read.homework) ?? lessonState(LESSONS[0])) : read;
}

function homeworkState(asked) {
	const homework = findHomework(asked);
	return homework && { lesson: null, homework: { assignment: homework.assignment.name, name: homework.name }, panes: homework.panes.map(complete) };
}

function writeAddress() {
	history.replaceState(null, "", `#${writeCode(state)}`);
}

// A scenario and its pictures.

function makeView(index) {
	const place = document.createElement("section");
	place.className = "pane";
	place.innerHTML = `<h2></h2><ul class="legend"></ul><div class="charts"></div>`;
	const results = document.createElement("section");
	results.className = "results";
	results.innerHTML = `<h2></h2><div class="scroll" tabindex="0"><table><caption>Window, lost and marked: in packets.</caption><thead><tr><th scope="col">flow</th><th scope="col">goodput, Mbit/s</th><th scope="col">mean RTT, ms</th><th scope="col">mean window</th><th scope="col">lost</th><th scope="col">timeouts</th><th scope="col">marked</th><th scope="col">takes, ms</th></tr></thead><tbody></tbody><tfoot></tfoot></table></div>`;
	results.querySelector(".scroll").setAttribute("role", "region");
	results.querySelector(".scroll").setAttribute("aria-label", `Results of scenario ${NAMES[index]}`);
	place.setAttribute("aria-label", `Scenario ${NAMES[index]}`);
	$("panes").append(place);
	$("tables").append(results);
	const charts = new Charts(place.querySelector(".charts"), NAMES[index]);
	charts.zoomed = (plot) => views.forEach((view) => view.charts.show(plot.scales.x.min, plot.scales.x.max));
	return { place, results, charts, thread: new Thread() };
}

function matchViews() {
	while (views.length < state.panes.length) views.push(makeView(views.length));
	while (views.length > state.panes.length) {
		const { place, results, thread, charts } = views.pop();
		charts.clear();
		thread.worker.terminate();
		place.remove();
		results.remove();
	}
}

/** A number and its unit, on one line. */
const measured = (value, unit, digits) => `${shown(value, digits)}\u00a0${unit}`;

const shown = (value, digits = 3) => (value === null || value === undefined ? "-" : Number(value.toPrecision(digits)).toLocaleString("en"));

function cell(name, text, scope) {
	const made = document.createElement(name);
	made.textContent = text;
	if (scope) made.scope = scope;
	return made;
}

function row(first, ...cells) {
	const made = document.createElement("tr");
	made.append(cell("th", first, "row"), ...cells.map((text) => cell("td", text)));
	return made;
}

function showTable(view, answer) {
	const { runs: [{ flows, links }], summary } = answer;
	const names = flowNames(answer);
	const rows = flows.map((flow) =>
		row(names[flow.flow], shown(flow.goodput_mbps), shown(flow.mean_rtt_ms), shown(flow.mean_cwnd_pkts), shown(flow.lost_pkts, 6), shown(flow.timeouts, 6), shown(flow.marked_pkts ?? 0, 6), shown(flow.fct_ms)),
	);
	view.results.querySelector("tbody").replaceChildren(...rows);
	const link = links.find(({ link }) => link === "bottleneck");
	const all = row("all", shown(summary.goodput_mbps.mean), shown(summary.mean_rtt_ms.mean), "", shown(flows.reduce((sum, flow) => sum + flow.lost_pkts, 0), 6), shown(flows.reduce((sum, flow) => sum + flow.timeouts, 0), 6), shown(link.marked_pkts ?? 0, 6), "");
	const { classList } = view.results.querySelector("table");
	classList.toggle("endless", flows.every((flow) => flow.fct_ms == null));
	classList.toggle("unmarked", !link.marked_pkts);
	// A homework may ask for a 0.
	classList.toggle("untimed", !state.homework && flows.every(({ timeouts }) => !timeouts));
	view.results.querySelector("tfoot").replaceChildren(all);
}

function showLegend(view) {
	const names = flowNames(view.answer);
	const entries = view.looks.map(({ stroke, dash }, index) => {
		const entry = document.createElement("li");
		entry.innerHTML = `<svg aria-hidden="true"><line x1="0" y1="4" x2="30" y2="4" stroke="${stroke}" stroke-width="2.5" stroke-dasharray="${dash.join(" ")}"/></svg>`;
		entry.append(names[index]);
		return entry;
	});
	view.place.querySelector(".legend").replaceChildren(...entries);
}

function sentence(answer, index) {
	const { summary } = answer;
	const which = views.length > 1 ? `${NAMES[index]}: ` : "";
	return `${which}goodput ${measured(summary.goodput_mbps.mean, "Mbit/s")}, mean RTT ${measured(summary.mean_rtt_ms.mean, "ms")}, lost ${measured(100 * summary.loss_ratio.mean, "%", 2)}`;
}

function fault(message) {
	$("status").className = "fault";
	$("status").textContent = message;
}

function drawAll() {
	const answers = views.map(({ answer }) => answer).filter(Boolean);
	const ranges = commonRanges(answers);
	const looks = looksOf(answers);
	const drawn = views.filter(({ answer }) => answer);
	drawn.forEach((view, index) => {
		view.looks = looks[index];
		view.charts.draw(view.answer, view.looks, ranges);
		showLegend(view);
		showTable(view, view.answer);
		view.place.classList.remove("stale");
	});
	if (answers.length === views.length) {
		$("status").className = "";
		$("status").textContent = answers.map(sentence).join("; ");
		showNumbers(find(state.lesson), answers);
	}
}

/** Simulates pane `index` again, and draws it unless a newer change has come. */
async function simulate(index) {
	const view = views[index];
	const pane = state.panes[index];
	const began = performance.now();
	view.isBusy = true;
	showBusy();
	const isPair = state.panes.length > 1;
	view.place.querySelector("h2").textContent = isPair ? `Scenario ${NAMES[index]}` : "Results";
	view.results.querySelector("h2").textContent = isPair ? `Results of ${NAMES[index]}` : "In numbers";
	try {
		bound(pane);
		const request = { toml: toml(pane), files: files(pane) };
		const asked = (view.asked = {});
		const { answer } = await view.thread.ask({ kind: "run", ...request });
		if (asked !== view.asked) return;
		Object.assign(view, { answer, request, isBusy: false });
		drawAll();
		view.took_ms = performance.now() - began;
		document.body.dataset.tookMs = view.took_ms.toFixed(1);
		if (index === edited) watchSoon(view);
	} catch (error) {
		view.place.classList.add("stale");
		view.isBusy = false;
		fault(error.message);
	}
	showBusy();
}

function showBusy() {
	$("panes").setAttribute("aria-busy", views.some(({ isBusy }) => isBusy));
}

// Play.

let watching;
/** The picture follows when the reader rests; a run for it is one more. */
function watchSoon(view) {
	clearTimeout(watching);
	watching = setTimeout(() => {
		const { toml, files } = view.request;
		picture.load(toml, files, view.answer, view.looks, Math.min(picture.time_s ?? 0, view.answer.scenario.duration_ns / 1e9)).catch((error) => fault(error.message));
	}, REST_MS);
}

function showTime(time_s) {
	$("play-clock").textContent = `${time_s.toFixed(3)} s`;
	$("play-time").value = Math.round((1000 * time_s) / picture.duration_s);
	if (!picture.isPlaying) showPlaying();
	const plot = views[edited]?.charts.plots[0];
	plot?.setCursor({ left: plot.valToPos(time_s, "x"), top: 10 });
}

function showPlaying() {
	$("play-button").textContent = picture.isPlaying ? "Pause" : "Play";
	$("play-button").setAttribute("aria-pressed", picture.isPlaying);
}

// The left side.

function changed() {
	const pane = state.panes[edited];
	try {
		showCopies(pane);
	} catch {
		// The line below the title says what is wrong.
	}
	clearTimeout(resting);
	resting = setTimeout(writeAddress, REST_MS);
	return simulate(edited);
}

function showControls() {
	const pane = state.panes[edited];
	const isPair = state.panes.length > 1;
	$("controls").querySelector(".tabs").classList.toggle("single", !isPair);
	$("compare").textContent = isPair ? "Remove B" : "Compare with a second scenario";
	$("pane-a").setAttribute("aria-pressed", edited === 0);
	$("pane-b").setAttribute("aria-pressed", edited === 1);
	$("other-pane").hidden = !isPair;
	$("other-pane").textContent = `Show ${NAMES[1 - edited]}`;
	views.forEach(({ place }, index) => place.classList.toggle("edited", index === edited));
	showPath($("path"), pane, catalogue, changed);
	const rebuild = () => {
		showControls();
		changed();
	};
	$("flows").replaceChildren(...pane.flows.map((_, index) => showFlow(index, pane, catalogue, changed, rebuild)));
	showCopies(pane);
}

/** The scenario outside this page. A word of the command is not broken at its hyphens. */
function showCopies(pane) {
	$("toml").textContent = toml(pane);
	const parts = command(pane).split(/( +)/);
	$("command").replaceChildren(
		...parts.map((part, index) => (index % 2 ? part : Object.assign(document.createElement("span"), { textContent: part }))),
	);
}

function showLesson() {
	const lesson = find(state.lesson);
	const at = LESSONS.indexOf(lesson);
	$("lesson").value = lesson?.id ?? "";
	$("previous").disabled = at <= 0;
	$("next").disabled = at === LESSONS.length - 1;
	showText(lesson);
	showNumbers(lesson, []);
	showTeacher(lesson, isPressed("teacher-button"));
	showHomework(state.homework ? findHomework(state.homework) : null);
	press("homework-button", Boolean(state.homework) || isPressed("homework-button"));
	$("homework").hidden = !isPressed("homework-button");
}

const isPressed = (id) => $(id).getAttribute("aria-pressed") === "true";
const press = (id, is) => $(id).setAttribute("aria-pressed", is);

/** A button that switches something on and off: `switched(isOn)`. */
function listenToSwitch(id, switched) {
	$(id).addEventListener("click", () => {
		press(id, !isPressed(id));
		switched(isPressed(id));
	});
}

function openLesson(lesson) {
	open(lessonState(lesson));
	writeAddress();
}

/** The lesson, the homework or the new scenario as it was before it was changed. */
function reset() {
	const lesson = find(state.lesson);
	if (lesson) openLesson(lesson);
	else open(state.homework ? homeworkState(state.homework) : { lesson: null, panes: [complete({})] });
	writeAddress();
}

function redraw() {
	views.forEach(({ charts }) => charts.clear());
	drawAll();
	if (picture.answer) picture.draw();
}

function open(next) {
	state = next;
	edited = 0;
	picture.pause();
	picture.time_s = 0;
	showPlaying();
	matchViews();
	showLesson();
	showControls();
	return Promise.all(state.panes.map((_, index) => simulate(index)));
}

function select(index) {
	edited = index;
	showControls();
	if (views[index].answer) watchSoon(views[index]);
}

/** On a narrow screen one plot stays in sight of the sliders. */
function pictureButton({ key, name }) {
	const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
	button.setAttribute("aria-pressed", key === $("see").dataset.picture);
	button.addEventListener("click", () => {
		$("see").dataset.picture = key;
		for (const other of $("pictures").querySelectorAll("[aria-pressed]")) other.setAttribute("aria-pressed", other === button);
		views.forEach(({ charts }) => charts.resize());
	});
	return button;
}

function listen() {
	$("lesson").append(
		...LESSONS.map(({ id, title }, index) => Object.assign(document.createElement("option"), { value: id, textContent: `${index + 1}. ${title}` })),
		Object.assign(document.createElement("option"), { value: "", textContent: "No lesson" }),
	);
	$("lesson").addEventListener("change", ({ target }) => {
		const lesson = find(target.value);
		open(lesson ? lessonState(lesson) : { lesson: null, panes: state.panes });
		writeAddress();
	});
	$("previous").addEventListener("click", () => openLesson(LESSONS[LESSONS.indexOf(find(state.lesson)) - 1]));
	$("next").addEventListener("click", () => openLesson(LESSONS[LESSONS.indexOf(find(state.lesson)) + 1]));
	$("reset").addEventListener("click", reset);
	listenToSwitch("teacher-button", (isOn) => showTeacher(find(state.lesson), isOn));
	listenToSwitch("homework-button", (isOn) => {
		$("homework").hidden = !isOn;
		if (isOn || !state.homework) return;
		open({ lesson: null, panes: state.panes });
		writeAddress();
	});
	listenToSwitch("projector-button", (isOn) => {
		document.documentElement.classList.toggle("projector", isOn);
		redraw();
	});
	listenToHomework((asked) => {
		open(homeworkState(asked));
		writeAddress();
	});
	$("print-sheet").addEventListener("click", () => print());
	$("other-pane").addEventListener("click", () => select(1 - edited));
	$("pictures").prepend(...[...PICTURES, { key: "all", name: "All" }].map(pictureButton));
	const name = () => (state.homework ? fileStem({ name: state.homework.assignment }, state.homework.name) : (state.lesson ?? "lab"));
	const answered = () => views.filter(({ answer }) => answer);
	$("save-png").addEventListener("click", () => {
		const drawn = answered().map(({ answer, looks, charts }) => ({ answer, looks, plots: charts.plots, units: charts.units }));
		plotsCanvas(drawn, find(state.lesson)?.title ?? "cwnd lab").toBlob((image) => download(`${name()}.png`, image));
	});
	$("save-csv").addEventListener("click", () => {
		download(`${name()}.csv`, new Blob([samplesCsv(answered().map(({ answer }) => answer))], { type: "text/csv" }));
	});
	addEventListener("hashchange", () => open(readAddress()));
	$("pane-a").addEventListener("click", () => select(0));
	$("pane-b").addEventListener("click", () => select(1));
	$("compare").addEventListener("click", () => {
		if (state.panes.length > 1) state.panes.pop();
		else state.panes.push(structuredClone(state.panes[0]));
		edited = state.panes.length - 1;
		matchViews();
		showControls();
		state.panes.forEach((_, index) => simulate(index));
		writeAddress();
	});
	$("add-flow").addEventListener("click", () => {
		state.panes[edited].flows.push({ ...structuredClone(NEW_FLOW) });
		showControls();
		changed();
	});
	$("controls").addEventListener("submit", (event) => event.preventDefault());
	$("play-button").addEventListener("click", () => {
		if (picture.isPlaying) picture.pause();
		else if (picture.answer) picture.play();
		showPlaying();
	});
	$("slowness").addEventListener("change", ({ target }) => {
		picture.slowness = Number(target.value);
	});
	$("play-time").addEventListener("input", ({ target }) => {
		const time_s = (target.value / 1000) * picture.duration_s;
		picture.seek(time_s).then(() => showTime(picture.time_s));
	});
	document.querySelectorAll("[data-copy]").forEach((button) => {
		button.addEventListener("click", async () => {
			const text = $(button.dataset.copy).textContent;
			try {
				await navigator.clipboard.writeText(text);
				button.textContent = "Copied";
			} catch {
				getSelection().selectAllChildren($(button.dataset.copy));
				button.textContent = "Selected: copy it by Ctrl-C";
			}
		});
	});
	new ResizeObserver(() => {
		views.forEach(({ charts }) => charts.resize());
		if (picture.answer) picture.draw();
	}).observe($("panes"));
	isDark.addEventListener("change", redraw);
}

/** For the console. `run`: the whole answer to a scenario in TOML, as `cwnd run --json` has it, with its time series. */
globalThis.cwnd = {
	async run(toml, files = {}) {
		const thread = new Thread();
		try {
			return (await thread.ask({ kind: "run", toml, files })).answer;
		} finally {
			thread.worker.terminate();
		}
	},
	/** The normalised name, the stem of the file and the seed that a name draws in an assignment; null: no name. */
	homework(assignment, name) {
		const homework = findHomework({ assignment, name });
		return homework && [normalise(name), fileStem(homework.assignment, name), homework.panes.at(-1).seed];
	},
};

async function begin() {
	listen();
	$("status").textContent = "The engine is loading.";
	({ catalogue } = await picture.thread.ready);
	await open(readAddress());
	document.body.dataset.ready = "true";
}

begin().catch((error) => fault(error.message));
