/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Adaptive Reno (TCP-AReno): a window of Reno and one that probes, fast while the RTT is far
 * from where losses by congestion were; a loss takes less the farther it is (H. Shimonishi,
 * T. Murase, "Improving Efficiency-Friendliness Tradeoffs of TCP Congestion Control Algorithm",
 * GLOBECOM 2005).
 *
 *   c       = min{1, (RTT - RTTmin) / (RTTcong - RTTmin)}                  congestion level
 *   Wmax    = B / M
 *   beta    = 2 Wmax (1/alpha - (1/alpha + 1) / e^alpha)
 *   gamma   = 1 - 2 Wmax (1/alpha - (1/alpha + 1/2) / e^alpha)
 *   Winc    = Wmax / e^(alpha c) + beta c + gamma
 *   Wbase  += 1 / W,  Wprobe = max(Wprobe + Winc / W, 0)    per segment acknowledged
 *   W       = Wbase + Wprobe
 *   loss      Wbase = W / (1 + c), Wprobe = 0, RTTcong = a RTTcong + (1 - a) RTT
 *
 * in congestion avoidance, with alpha 10 and a 0.85. Winc falls from 0.8 Wmax on an empty queue
 * below zero and ends at 1 where losses are; over all c its mean is 1. B is the estimate of
 * parts/bandwidth.h.
 *
 * A reconstruction: the paper's text was not at hand, the equations are those of ports. Ours are:
 *  - B is in segments/s and M is 1000, the number in the ports: a segment per RTT for 12 Mbit/s in
 *    packets of 1500 bytes.
 *  - RTT is the smoothed one, RTTmin the smallest sample of the connection.
 *  - The first loss sets RTTcong to RTT. Until then c is 1 on any queue, 0 on none.
 *  - When the stack sets the window, Wbase takes it all, as in slow start.
 *  - Both windows together never grow faster than in slow start, nor does Wprobe shrink faster.
 */
#ifndef ADAPTIVE_RENO_H
#define ADAPTIVE_RENO_H

#include "cc.h"
#include "parts/bandwidth.h"
#include "parts/fixed.h"
#include "parts/growth.h"

#define adaptive_reno_PARAMS(P)                                                            \
	P(alpha, 10000, 1000, 1000, 20000, "",                                             \
	  "how soon congestion ends fast growth; the paper")                               \
	P(a, 850, 1000, 0, 999, "",                                                        \
	  "weight of the past in RTTcong; the paper")                                      \
	P(m, 1000, 1, 1, 1000000, "",                                                      \
	  "M: estimated rate that is worth a segment of Wmax, in segments/s; a reconstruction")
#define adaptive_reno_HOOKS(H, A) \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh)
#define adaptive_reno_INVARIANTS(I) \
	I(ca->rate.estimate <= BANDWIDTH_MOST) \
	I(ca->rate.last <= BANDWIDTH_MOST) \
	I(ca->base <= 1ULL << 62) \
	I(ca->probe <= 1ULL << 62)

struct adaptive_reno {
	struct bandwidth rate;
	u64 base;        /* Wbase, in 2^-30 segments */
	u64 probe;       /* Wprobe, likewise */
	u32 rtt_cong_us; /* RTTcong; 0: no loss yet */
	u32 rest;        /* of Wbase's last division by cwnd */
};

CC_DECLARE_PARAMS(adaptive_reno);
CC_CHECK_STATE(adaptive_reno);

#define ADAPTIVE_RENO_ONE (1ULL << 24) /* of c, Winc and what they are made of */

/* e^-x for x of 0 to 20, both in 2^-24: the cubic of x / 1024, squared ten times. */
static inline u64 adaptive_reno_exp(u64 x)
{
	u64 t = x >> 3, square = t * t >> 31; /* 2^-31 */
	u64 power = (1ULL << 31) - t + square / 2 - (square * t >> 31) / 6;
	u32 i;

	for (i = 0; i < 10; i++)
		power = power * power >> 31;
	return power >> 7;
}

static inline u64 adaptive_reno_level(const struct adaptive_reno *ca, const struct cc_ack *a)
{
	u32 base = cc_min(a->min_rtt_us, a->srtt_us), queue = a->srtt_us - base;
	u32 room = ca->rtt_cong_us > base ? ca->rtt_cong_us - base : 0;

	if (queue < room)
		return ((u64)queue << 24) / room;
	return queue ? ADAPTIVE_RENO_ONE : 0;
}

/* One ACK's growth in congestion avoidance. */
static inline void adaptive_reno_grow(struct adaptive_reno *ca, const struct adaptive_reno_params *p,
				      u64 level, u32 cwnd, u32 acked)
{
	u64 one = ADAPTIVE_RENO_ONE, inverse = 1000 * one / p->alpha;
	u64 last = adaptive_reno_exp(p->alpha * one / 1000);
	u64 beta = 2 * (inverse - ((inverse + one) * last >> 24));       /* per Wmax */
	u64 less = 2 * (inverse - ((inverse + one / 2) * last >> 24));   /* 1 - gamma, per Wmax */
	u64 more = adaptive_reno_exp(p->alpha * level / 1000) + (beta * level >> 24);
	u64 most = ca->rate.estimate * 1000000 / ((u64)p->m * cwnd) >> 8; /* Wmax / W */
	u64 segment = 1 << 30, reno = segment / cwnd, grown;
	u64 steady = cc_divide(acked * segment, cwnd, &ca->rest);

	most = most < 64 * one ? most : 64 * one;
	more = (most * more >> 18) + reno; /* 2^-30 */
	less = most * less >> 18;
	ca->base += steady;
	if (more >= less) {
		grown = acked * (more - less < segment ? more - less : segment);
		/* With Wbase, no more than slow start would. */
		steady = acked * segment - steady;
		ca->probe += grown < steady ? grown : steady;
	} else {
		less -= more;
		less = acked * (less < segment ? less : segment);
		ca->probe = ca->probe > less ? ca->probe - less : 0;
	}
}

static inline void adaptive_reno_init(struct adaptive_reno *ca, const struct adaptive_reno_params *p,
				      struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)w;
	bandwidth_start(&ca->rate, a);
}

static inline void adaptive_reno_pkts_acked(struct adaptive_reno *ca,
					    const struct adaptive_reno_params *p,
					    struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)w;
	bandwidth_sample(&ca->rate, a);
}

static inline void adaptive_reno_cong_avoid(struct adaptive_reno *ca,
					    const struct adaptive_reno_params *p,
					    struct cc_window *w, const struct cc_ack *a)
{
	u32 acked = a->acked;
	u64 window;

	if (!cc_cwnd_limited(a))
		return;
	if (cc_in_slow_start(w)) {
		acked = cc_slow_start(w, acked);
		ca->base = ca->probe = 0;
	}
	/* The stack, or slow start, has set the window. */
	if ((ca->base + ca->probe) >> 30 != w->cwnd) {
		ca->base = (u64)w->cwnd << 30;
		ca->probe = 0;
	}
	if (!acked)
		return;
	adaptive_reno_grow(ca, p, adaptive_reno_level(ca, a), w->cwnd, acked);
	window = (ca->base + ca->probe) >> 30;
	w->cwnd = cc_allowed(w, window);
}

static inline u32 adaptive_reno_ssthresh(struct adaptive_reno *ca,
					 const struct adaptive_reno_params *p, struct cc_window *w,
					 const struct cc_ack *a)
{
	u64 one = ADAPTIVE_RENO_ONE, level = adaptive_reno_level(ca, a);
	u32 left = cc_max((u32)(w->cwnd * one / (one + level)), 2);

	ca->base = (u64)left << 30;
	ca->probe = 0;
	if (!ca->rtt_cong_us)
		ca->rtt_cong_us = a->srtt_us;
	else if (a->srtt_us)
		ca->rtt_cong_us = (u32)(((u64)p->a * ca->rtt_cong_us + (u64)(1000 - p->a) * a->srtt_us) / 1000);
	return left;
}

#endif /* ADAPTIVE_RENO_H */
