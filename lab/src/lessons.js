// The gallery: each lesson is a scenario or two, three sentences and a question.

export const LESSONS = [
	{
		id: "slow-start",
		title: "Slow start overshoots",
		text: "A new flow doubles its window in each round trip, because it cannot know the path. When the queue overflows, twice too much is already under way, and hundreds of packets are lost at once. HyStart, in scenario B, watches the delay and stops doubling before that.",
		question: "How many packets does each lose in the first two seconds, and what does a smaller buffer change?",
		panes: [
			{ rate: 50, rtt: 80, buffer: 1, duration: 10, flows: [{ cca: "cubic", params: { slow_start: "standard" } }] },
			{ rate: 50, rtt: 80, buffer: 1, duration: 10, flows: [{ cca: "cubic", params: { slow_start: "hystart" } }] },
		],
	},
	{
		id: "bufferbloat",
		title: "Bufferbloat",
		text: "CUBIC fills whatever buffer it finds, since only a loss stops it. With eight bandwidth-delay products of buffer the throughput is no better than with one. But each packet waits in the queue, and a page or a call on the same line waits with it.",
		question: "Which buffer gives full throughput at the lowest round-trip time?",
		panes: [
			{ rate: 20, rtt: 40, buffer: 1, duration: 60 },
			{ rate: 20, rtt: 40, buffer: 8, duration: 60 },
		],
	},
	{
		id: "rtt-unfairness",
		title: "The farther flow loses",
		text: "Reno adds a packet in each round trip, so a flow with a short round trip grows faster. Two flows share this link; the path of the second is 120 ms longer. CUBIC grows with time instead of round trips, which helps the farther flow, but only in part.",
		question: "What is the ratio of the two throughputs with Reno and with CUBIC?",
		panes: [
			{ rate: 50, rtt: 30, buffer: 1, duration: 90, flows: [{ cca: "reno" }, { cca: "reno", farther: 120 }] },
			{ rate: 50, rtt: 30, buffer: 1, duration: 90, flows: [{ cca: "cubic" }, { cca: "cubic", farther: 120 }] },
		],
	},
	{
		id: "bbr-cubic",
		title: "BBR beside CUBIC",
		text: "BBR models the path and ignores losses; CUBIC listens to losses only. In a shallow buffer BBR takes most of the link. In a deep one CUBIC's queue makes BBR's model wrong, and CUBIC has the larger share.",
		question: "At which buffer do both get the same?",
		panes: [
			{ rate: 50, rtt: 40, buffer: 0.5, duration: 60, flows: [{ cca: "bbr" }, { cca: "cubic" }] },
			{ rate: 50, rtt: 40, buffer: 8, duration: 60, flows: [{ cca: "bbr" }, { cca: "cubic" }] },
		],
	},
	{
		id: "elastic",
		title: "Elastic-TCP on a long fat pipe",
		text: "After a loss Reno needs one round trip for each packet that it gave up, which takes minutes on a long fat path. Elastic-TCP lets the growth depend on how far the round-trip time is from the largest seen, so that it is fast where the queue is empty. Both lose packets at random at the same rate here.",
		question: "Which share of the link does each get, and how does that change with losses of 0.01 %?",
		panes: [
			{ rate: 300, rtt: 200, buffer: 1, loss: 0.001, duration: 100, flows: [{ cca: "reno" }] },
			{ rate: 300, rtt: 200, buffer: 1, loss: 0.001, duration: 100, flows: [{ cca: "elastic" }] },
		],
	},
	{
		id: "agile",
		title: "Agile-SD on a short path",
		text: "Agile-SD grows fast while its window is far below the one at which it last lost a packet, and slowly near it; a loss costs it only a small part of its window. On a short path with a small buffer it is back at the top soon after each loss. Reno spends much of its time below the capacity.",
		question: "How large must the buffer be before Reno uses the link as fully as Agile-SD?",
		panes: [
			{ rate: 500, rtt: 20, buffer: 0.1, duration: 20, flows: [{ cca: "reno" }] },
			{ rate: 500, rtt: 20, buffer: 0.1, duration: 20, flows: [{ cca: "agile-sd" }] },
		],
	},
	{
		id: "codel",
		title: "CoDel holds the delay",
		text: "A droptail queue drops when it is full; CoDel drops when packets have waited longer than 5 ms for a while. The flow sees the loss early and keeps the queue short. The throughput is nearly the same.",
		question: "How long does a packet wait with each, and where does CoDel lose throughput when you make the round-trip time longer?",
		panes: [
			{ rate: 20, rtt: 40, buffer: 5, duration: 40 },
			{ rate: 20, rtt: 40, buffer: 5, duration: 40, queue: "codel" },
		],
	},
	{
		id: "fair-queueing",
		title: "A queue for each flow",
		text: "Six CUBIC flows fill the link, and a seventh sends a small file from the tenth second on. In one queue the file waits behind all of them. FQ-CoDel gives each flow a queue of its own and serves new ones first.",
		question: "How long does the small file take in each case, and how long without the other flows?",
		panes: [
			{ rate: 20, rtt: 40, buffer: 4, duration: 20, flows: [{ cca: "cubic", count: 6 }, { cca: "reno", start: 10, size: 0.1 }] },
			{ rate: 20, rtt: 40, buffer: 4, duration: 20, queue: "fq-codel", flows: [{ cca: "cubic", count: 6 }, { cca: "reno", start: 10, size: 0.1 }] },
		],
	},
	{
		id: "l4s",
		title: "L4S: low latency by many marks",
		text: "Prague reduces its window a little at each mark, and DualPI2 marks its packets as soon as they wait a millisecond. CUBIC with classic ECN has a queue of its own with a target of 15 ms. Both share the link.",
		question: "Compare the round-trip times of the two, and how evenly they share.",
		panes: [{ rate: 50, rtt: 20, buffer: 10, duration: 40, queue: "dualpi2", flows: [{ cca: "prague", ecn: "l4s" }, { cca: "cubic", ecn: "classic" }] }],
	},
	{
		id: "ack-path",
		title: "The way back matters",
		text: "ACKs are packets, too: about one for two data packets. Where the way back is narrow they wait or are lost, and the sender has to go on with fewer of them. The flow forward then has less than the link could carry.",
		question: "Which rate of the way back does this flow need?",
		panes: [
			{ rate: 50, rtt: 40, buffer: 1, duration: 30 },
			{ rate: 50, rtt: 40, buffer: 1, duration: 30, reverse: 0.5 },
		],
	},
];
