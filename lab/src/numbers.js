// Numbers of a run that lessons ask for, each as its name, its unit and how it is read from an answer.

const flowsOf = (answer) => answer.runs[0].flows;
const sum = (values) => values.reduce((all, value) => all + value, 0);
const rate_mbps = (answer) => answer.scenario.links.find(({ name }) => name === "bottleneck").rate_bps / 1e6;
const pathRtt_ms = (answer) => (2 * answer.scenario.links.find(({ name }) => name === "bottleneck").delay_ns) / 1e6;

function rowsUntil(samples, until_s) {
	return samples.time_s.map((_, row) => row).filter((row) => samples.time_s[row] <= until_s);
}

export const goodput = { name: "goodput", unit: "Mbit/s", of: ({ summary }) => summary.goodput_mbps.mean };
export const use = { name: "goodput beside the rate", unit: "%", of: (answer) => (100 * answer.summary.goodput_mbps.mean) / rate_mbps(answer) };
export const meanRtt = { name: "mean RTT", unit: "ms", of: ({ summary }) => summary.mean_rtt_ms.mean };
export const waiting = { name: "mean RTT less the path's", unit: "ms", of: (answer) => answer.summary.mean_rtt_ms.mean - pathRtt_ms(answer) };
export const fairness = { name: "Jain's index", unit: "", of: ({ summary }) => summary.jain_fairness.mean };

export const goodputOf = (flow, name) => ({ name: `goodput of ${name}`, unit: "Mbit/s", of: (answer) => flowsOf(answer).at(flow)?.goodput_mbps });
export const rttOf = (flow, name) => ({ name: `mean RTT of ${name}`, unit: "ms", of: (answer) => flowsOf(answer).at(flow)?.mean_rtt_ms });
export const timeOf = (flow, name) => ({ name: `time of ${name}`, unit: "ms", of: (answer) => flowsOf(answer).at(flow)?.fct_ms });
export const shareOf = (flow, name) => ({
	name: `share of ${name}`,
	unit: "%",
	of: (answer) => (100 * (flowsOf(answer).at(flow)?.goodput_mbps ?? 0)) / sum(flowsOf(answer).map(({ goodput_mbps }) => goodput_mbps)),
});
export const ratioOf = (flow, other, name) => ({
	name,
	unit: "",
	of: (answer) => flowsOf(answer).at(flow)?.goodput_mbps / flowsOf(answer).at(other)?.goodput_mbps,
});
export const lostUntil = (until_s) => ({
	name: `lost in the first ${until_s} s`,
	unit: "packets",
	of: ({ link_samples }) => sum(rowsUntil(link_samples, until_s).map((row) => link_samples.dropped_pkts[row])),
});
export const largestUntil = (until_s) => ({
	name: `largest window in the first ${until_s} s`,
	unit: "packets",
	of: ({ flow_samples }) => Math.max(...rowsUntil(flow_samples, until_s).map((row) => flow_samples.max_cwnd_pkts[row])),
});
