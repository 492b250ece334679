/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Fast Start: after an idle time send with the window of before, not with a new slow start
 * (V. N. Padmanabhan, R. H. Katz, "TCP Fast Start: A Technique for Speeding Up Web Transfers",
 * Globecom 1998).
 *
 *   slow start            cwnd += 1      per segment acknowledged
 *   congestion avoidance  cwnd += 1/cwnd per segment acknowledged
 *   loss                  ssthresh = cwnd / 2
 *   after an idle time    cwnd = cwnd / 2 if cwnd < ssthresh, else cwnd - 1, of before it; for one
 *                         RTT paced at cwnd / srtt
 *   a loss of what was sent then: slow start from the initial window, ssthresh as it was
 *
 * The halved cwnd is the last one of slow start that is known to have got through; the window
 * less one is the last one of congestion avoidance that is.
 *
 * A flow that always has something to send is Reno.
 *
 * Differences from the paper:
 *  - Routers cannot be asked to drop the segments of a fast start first: there is no such mark.
 *  - Pacing is by segment, not in bursts of a few, and ends with the first ACK.
 *  - An idle time is one after which the stack restarts its window: the RTO. ns-2's fast start
 *    takes any of more than srtt + rttvar. The stack's srtt and rttvar outlast it anyway.
 *  - A loss that the retransmission timer finds starts from cwnd = 1, as the stack has it, and
 *    backs the timer off.
 *  - After a repair ssthresh is what it was; while it lasts it is the initial window.
 */
#ifndef FAST_START_H
#define FAST_START_H

#include "cc.h"
#include "parts/growth.h"

#define fast_start_PARAMS(P)
#define fast_start_HOOKS(H, A)                                                         \
	H(A, init) H(A, cong_avoid) H(A, ssthresh) H(A, set_state) H(A, cwnd_event)
#define fast_start_PROGRESS(M) M(1, 1, w->cwnd_cnt, w->cwnd)

struct fast_start {
	u64 end;             /* when these are delivered the fast start has succeeded; 0: none */
	u32 initial;         /* initial window */
	u32 cwnd;            /* before the idle time; 0: there was none */
	u32 ssthresh;        /* before the idle time */
	u32 repair_ssthresh; /* what ssthresh will be after the repair; 0: as it is */
};

CC_DECLARE_PARAMS(fast_start);
CC_CHECK_STATE(fast_start);

/* cwnd / srtt in bytes/s. */
static inline u64 fast_start_rate(const struct cc_window *w, const struct cc_ack *a)
{
	u64 bytes = (u64)w->cwnd * a->mss, per_us;

	if (!a->srtt_us)
		return 0;
	per_us = bytes / a->srtt_us;
	per_us = per_us < 1ULL << 43 ? per_us : 1ULL << 43;
	return per_us * 1000000 + bytes % a->srtt_us * 1000000 / a->srtt_us;
}

static inline void fast_start_init(struct fast_start *ca, const struct fast_start_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)a;
	ca->initial = w->cwnd;
}

static inline void fast_start_cong_avoid(struct fast_start *ca, const struct fast_start_params *p,
					 struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	w->pacing_rate = 0;
	if (!cc_after(ca->end, a->delivered))
		ca->end = 0;
	if (cc_cwnd_limited(a))
		cc_reno_growth(w, a->acked);
}

static inline u32 fast_start_ssthresh(struct fast_start *ca, const struct fast_start_params *p,
				      struct cc_window *w, const struct cc_ack *a)
{
	u32 starting = ca->end != 0 && cc_after(ca->end, a->delivered);

	(void)p;
	w->pacing_rate = 0;
	ca->end = 0;
	ca->repair_ssthresh = starting ? w->ssthresh : 0;
	return cc_max(starting ? cc_min(ca->initial, w->cwnd) : w->cwnd / 2, 2);
}

static inline void fast_start_repaired(struct fast_start *ca, struct cc_window *w)
{
	if (ca->repair_ssthresh)
		w->ssthresh = ca->repair_ssthresh;
	ca->repair_ssthresh = 0;
}

static inline void fast_start_set_state(struct fast_start *ca, const struct fast_start_params *p,
					struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)p;
	(void)a;
	if (state == CC_LOSS)
		fast_start_repaired(ca, w);
}

static inline void fast_start_cwnd_event(struct fast_start *ca, const struct fast_start_params *p,
					 struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)p;
	if (event == CC_CWND_RESTART) {
		ca->cwnd = w->cwnd;
		ca->ssthresh = w->ssthresh;
	} else if (event == CC_COMPLETE_CWR) {
		fast_start_repaired(ca, w);
	} else if (event == CC_TX_START && ca->cwnd > 1) {
		u32 cwnd = ca->cwnd < ca->ssthresh ? ca->cwnd / 2 : ca->cwnd - 1;

		w->cwnd = cc_allowed(w, cwnd);
		w->ssthresh = ca->ssthresh;
		w->pacing_rate = fast_start_rate(w, a);
		ca->end = a->delivered + w->cwnd;
		ca->cwnd = 0;
	}
}

#endif /* FAST_START_H */
