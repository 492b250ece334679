/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP-Fusion: grows with the rate that the path has given while its queue is short, gives way
 * while it is long, and is never below Reno's window (K. Kaneko, T. Fujikawa, Z. Su, J. Katto,
 * "TCP-Fusion: A Hybrid Congestion Control Algorithm for High-speed Networks", PFLDnet 2007).
 *
 *   diff  = cwnd (RTT - RTTmin) / RTT           segments of the flow that wait in queues
 *   alpha = cwnd Dmin / RTT                     as many as make a queue of Dmin
 *   cwnd += Winc / cwnd                         if diff < alpha
 *   cwnd -= (diff - alpha) / cwnd               if diff > 3 alpha
 *                                               per segment acknowledged, else cwnd stays
 *   Winc  = BWE / 12 Mbit/s
 *   cwnd  = max(cwnd, Wreno),  Wreno += 1 / cwnd per segment acknowledged
 *   loss    cwnd = max(RTTmin / RTT cwnd, cwnd / 2), Wreno = Wreno / 2
 *
 * with Dmin 4 ms, in congestion avoidance. BWE is the rate of parts/bandwidth.h.
 *
 * A reconstruction: the paper's text was not at hand, the rules are those of descriptions and of
 * ports. Ours are: RTT is the smoothed one and RTTmin the smallest sample of the connection; BWE
 * takes the form of Westwood+'s estimate; Wreno follows cwnd in slow start, is halved by a loss as
 * Reno's is, and is lowered with cwnd when the stack lowers that. Never faster than slow start.
 */
#ifndef FUSION_H
#define FUSION_H

#include "cc.h"
#include "parts/bandwidth.h"
#include "parts/fixed.h"
#include "parts/growth.h"

#define fusion_PARAMS(P)                                                                   \
	P(dmin_ms, 4000, 1000, 1, 1000000, "",                                             \
	  "Dmin: queueing delay up to which the window grows; the paper")                  \
	P(upper, 3, 1, 1, 100, "",                                                         \
	  "multiple of Dmin above which the window shrinks; the paper")                    \
	P(step_mbps, 12, 1, 1, 100000, "",                                                 \
	  "estimated rate that is worth a segment of growth per RTT, in Mbit/s; the paper")
#define fusion_HOOKS(H, A) H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh)
#define fusion_INVARIANTS(I) \
	I(ca->rate.estimate <= BANDWIDTH_MOST) \
	I(ca->rate.last <= BANDWIDTH_MOST) \
	I(ca->fraction < 1U << 30) \
	I(ca->reno < 1ULL << 63)

struct fusion {
	struct bandwidth rate;
	u64 reno;     /* Wreno, in 2^-30 segments */
	u32 fraction; /* of a segment of cwnd, in 2^-30 */
	u32 rest;     /* of Wreno's last division by cwnd */
};

CC_DECLARE_PARAMS(fusion);
CC_CHECK_STATE(fusion);

/* Winc / cwnd, in 2^-30. At most 1. */
static inline u64 fusion_growth(const struct fusion *ca, const struct fusion_params *p, u32 cwnd,
				u32 mss)
{
	/* Segments per us times bits per segment are Mbit/s. */
	u64 rate = ca->rate.estimate * cc_min(mss, 1 << 16) * 8;
	u64 growth = rate / ((u64)p->step_mbps * cwnd) >> 2;

	return growth < 1 << 30 ? growth : 1 << 30;
}

static inline void fusion_init(struct fusion *ca, const struct fusion_params *p,
			       struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	bandwidth_start(&ca->rate, a);
	ca->reno = (u64)w->cwnd << 30;
}

static inline void fusion_pkts_acked(struct fusion *ca, const struct fusion_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)w;
	bandwidth_sample(&ca->rate, a);
}

static inline void fusion_cong_avoid(struct fusion *ca, const struct fusion_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	u32 acked = a->acked, rtt = cc_max(a->srtt_us, 1), queue = rtt - cc_min(a->min_rtt_us, rtt);
	u64 window, less, one = 1 << 30;

	if (!cc_cwnd_limited(a))
		return;
	if (cc_in_slow_start(w)) {
		acked = cc_slow_start(w, acked);
		ca->reno = (u64)w->cwnd << 30;
		if (!acked)
			return;
	}
	window = (u64)w->cwnd << 30 | ca->fraction;
	ca->reno = ca->reno < window ? ca->reno : window;
	ca->reno += cc_divide((u64)acked << 30, w->cwnd, &ca->rest);
	if (queue < p->dmin_ms) {
		window += acked * fusion_growth(ca, p, w->cwnd, a->mss);
	} else if (queue > (u64)p->upper * p->dmin_ms) {
		less = acked * (((u64)(queue - p->dmin_ms) << 30) / rtt);
		window = window > less + one ? window - less : one;
	}
	window = window > ca->reno ? window : ca->reno;
	ca->fraction = (u32)(window & (one - 1));
	window >>= 30;
	w->cwnd = cc_allowed(w, window);
}

static inline u32 fusion_ssthresh(struct fusion *ca, const struct fusion_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	u32 base = cc_min(a->min_rtt_us, a->srtt_us);
	u32 left = cc_part(w->cwnd, base, cc_max(a->srtt_us, 1));

	(void)p;
	ca->reno /= 2;
	return cc_max(cc_max(left, w->cwnd / 2), 2);
}

#endif /* FUSION_H */
