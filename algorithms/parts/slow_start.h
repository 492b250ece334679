/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The parameter slow_start: how slow start ends before it overruns the buffer, by setting ssthresh
 * to cwnd. In variants of ns-2, which count ACKs, it is the standard one whatever is set.
 *
 *  - standard: at ssthresh or at a loss (RFC 5681, 3.1).
 *  - hystart: as Linux's CUBIC. From 16 segments on, when the ACKs of a round have come at most
 *    2 ms apart for half of the smallest RTT and of the time of four bursts of 64 KiB (1 ms at most),
 *    or for all of it if paced; or when the smallest of more than 8 samples of a round is above the
 *    smallest RTT by an eighth of it, 4 to 16 ms. The rate of bursts, if not paced, is the one Linux
 *    would pace at after the ACK before: 2 cwnd per RTT, 1.2 from half of ssthresh on.
 *  - hystartpp: HyStart++ (RFC 9406), in the first slow start only. When the smallest of at least 8
 *    samples of a round is above that of the round before by an eighth of it, 4 to 16 ms,
 *    conservative slow start (CSS) follows: a quarter of the growth for 5 rounds, the one it
 *    began in included, then ssthresh = cwnd. If the smallest of 8 samples falls below the one
 *    CSS began with, slow start goes on. An ACK counts 8 segments at most, unless paced.
 *  - search, where the state has room for it: SEARCH (draft-chung-ccwg-search), in the first slow start
 *    only. Delivered segments are counted in bins of 0.35 of the first RTT. It ends when the last 10 of
 *    them are less than 1.3 times those one RTT earlier: while cwnd doubles they are twice as many.
 */
#ifndef SLOW_START_H
#define SLOW_START_H

#include "parts/growth.h"
#include "parts/hystart.h"
#include "parts/search.h"

#define SLOW_START_PARAM(P)                                                                   \
	P(slow_start, 0, 1, 0, 2, "standard|hystart|hystartpp",                               \
	  "how slow start ends, hystart and hystartpp before a loss; RFC 5681, Linux 6.1, RFC 9406")

/* The same with SEARCH, for a state with union slow_start. */
#define SLOW_START_OR_SEARCH_PARAM(P)                                                         \
	P(slow_start, 0, 1, 0, 3, "standard|hystart|hystartpp|search",                        \
	  "how slow start ends, all but standard before a loss; RFC 5681, Linux 6.1, RFC 9406, draft-chung-ccwg-search")

enum slow_start_kind {
	SLOW_START_STANDARD,
	SLOW_START_HYSTART,
	SLOW_START_HYSTARTPP,
	SLOW_START_SEARCH,
};

union slow_start {
	struct hystart hystart;
	struct search search;
};

/* init */
static inline void slow_start_init(struct hystart *h, u32 kind, const struct cc_ack *a)
{
	if (kind == SLOW_START_SEARCH)
		return;
	hystart_reset(h, a);
	if (kind == SLOW_START_HYSTART)
		hystart_linux_round(h, a);
}

/* cong_avoid or pkts_acked: the RTT sample, if there is one, may show a queue. min_rtt_us: the smallest sample. */
static inline void slow_start_sample(struct hystart *h, u32 kind, struct cc_window *w,
				     const struct cc_ack *a, u32 min_rtt_us)
{
	if (kind == SLOW_START_STANDARD || !a->rtt_us)
		return;
	if (kind == SLOW_START_HYSTART)
		hystart_linux(h, w, a, min_rtt_us);
	else if (kind == SLOW_START_HYSTARTPP)
		hystart_plusplus(h, w, a);
}

/* The same with SEARCH. */
static inline void slow_start_look(union slow_start *s, u32 kind, struct cc_window *w,
				   const struct cc_ack *a)
{
	if (kind == SLOW_START_SEARCH)
		search_sample(&s->search, w, a);
	else if (kind != SLOW_START_STANDARD)
		slow_start_sample(&s->hystart, kind, w, a, a->min_rtt_us);
}

/* cong_avoid: the segments that a growing window counts. */
static inline u32 slow_start_acked(struct hystart *h, u32 kind, const struct cc_window *w,
				   const struct cc_ack *a)
{
	if (kind != SLOW_START_HYSTARTPP || w->ssthresh < CC_SSTHRESH_INFINITE || !cc_cwnd_limited(a))
		return a->acked;
	return hystart_acked(h, w, a);
}

/* set_state: after a timeout HyStart looks again, HyStart++ does not. */
static inline void slow_start_set_state(struct hystart *h, u32 kind, const struct cc_ack *a,
					u8 state)
{
	if (state == CC_LOSS && kind == SLOW_START_HYSTART) {
		h->found = 0;
		hystart_linux_round(h, a);
	}
}

#endif /* SLOW_START_H */
