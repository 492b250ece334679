/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Compound TCP: Reno's window plus a second one that grows fast while the queue is short and
 * gives way as it builds (K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach
 * for High-speed and Long Distance Networks", INFOCOM 2006).
 *
 *   win   = cwnd + dwnd                                  (struct cc_window's cwnd is win)
 *   cwnd += 1 / win                  per segment acknowledged, in congestion avoidance
 *   diff  = win (1 - baseRTT / RTT)  the segments waiting in the queue, once per RTT:
 *   dwnd += (alpha win^k - 1)+       if diff < gamma
 *   dwnd  = (dwnd - zeta diff)+      otherwise
 *   loss    cwnd = cwnd / 2, dwnd = (win (1 - beta) - cwnd / 2)+
 *
 * with alpha 1/8, beta 1/2, k 3/4, gamma 30 segments, zeta 1. dwnd is zero in slow start. RTT
 * is taken to be the smoothed one, baseRTT is the smallest sample of the connection.
 *
 * An RTT is over when a segment is delivered that was sent after the last one was over.
 *
 * Differences from the paper: dwnd has fractions of 1/256 segment, win^k is accurate to that.
 * What dwnd gains in an RTT is at most what was delivered in it.
 *
 * variant = ns2 is what Linux 2.6.17 had and ns-2.35 has. What it does otherwise:
 *  - dwnd is whole segments; diff counts half segments; win^k is a whole number, by Newton's method,
 *    before alpha divides it.
 *  - win in the rules for dwnd is the number of segments sent in the last RTT, RTT the smallest
 *    sample of that RTT. Fewer than three samples: dwnd stays.
 *  - The return to the open state ends the RTT anew: a recovery is part of the RTT it interrupts.
 *  - dwnd is at work in slow start too, so that the window more than doubles per RTT; slow
 *    start lasts while cwnd <= ssthresh.
 *  - No loss rule for dwnd. ssthresh is half of win; the next ACK that may grow the window
 *    takes what the stack left of it: dwnd stays and cwnd is the rest, unless one of them is
 *    larger than the window, then dwnd = 0.
 *  - It counts ACKs, not segments. An idle period starts it afresh with dwnd = 0.
 *  - win^3 is that of 2^21 segments from there on; the original's overflows.
 * alpha, beta, gamma and zeta above are for variant = spec; here they are fixed.
 */
#ifndef COMPOUND_H
#define COMPOUND_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/round.h"
#include "parts/slow_start.h"

#define compound_PARAMS(P)                                                             \
	P(alpha, 128, 1024, 1, 1024, "",                                               \
	  "how fast dwnd grows; the paper")                           \
	P(beta, 512, 1024, 1, 1000, "",                                                \
	  "what a loss takes of win; the paper")                      \
	P(gamma, 30, 1, 1, 1000000, "",                                                \
	  "queued segments at which dwnd gives way; the paper")       \
	P(zeta, 1024, 1024, 1, 102400, "",                                             \
	  "how fast dwnd gives way; the paper")                       \
	P(variant, 0, 1, 0, 1, "spec|ns2",                                         \
	  "whose rules: spec the paper's, ns2 those of Agent/TCP/Linux; ns-2.35") \
	SLOW_START_PARAM(P)
#define compound_HOOKS(H, A)                                                           \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event) H(A, undo_cwnd)
#define compound_INVARIANTS(I) \
	I(p->variant != COMPOUND_SPEC || ca->dwnd <= 1ULL << 41) \
	I(p->variant != COMPOUND_SPEC || ca->prior_dwnd <= 1ULL << 41)
/* Once in an RTT, dwnd grows by at most what the RTT before delivered. */
#define compound_GROWTH (cc_cwnd_limited(a) ? (u64)a->acked + ca->round.sent + ca->round.delivered : 0)

enum compound_variant { COMPOUND_SPEC, COMPOUND_NS2 };

struct compound {
	struct round round;
	u64 dwnd;       /* in 1/256 segments */
	u64 prior_dwnd; /* dwnd before the last loss */
	u32 reno;       /* ns2: the paper's cwnd, as the last growth left it */
	struct hystart hystart;
};

CC_DECLARE_PARAMS(compound);
CC_CHECK_STATE(compound);

/* win^(3/4) in 1/256 segments, as the root of win * sqrt(win). */
static inline u32 compound_power(u32 win)
{
	return cc_isqrt((u64)win * cc_isqrt((u64)win << 32));
}

/* dwnd after an RTT that ends with the window win. */
static inline u64 compound_paper_dwnd(const struct compound *ca, const struct compound_params *p,
				      const struct cc_ack *a, u32 win)
{
	u32 rtt = cc_max(a->srtt_us, 1), base = cc_min(a->min_rtt_us, rtt);
	u64 waiting = (u64)win * (rtt - base), delivered = (u64)ca->round.delivered << 8;
	u64 diff = (waiting / rtt << 8) + (waiting % rtt << 8) / rtt, change;

	if (diff < (u64)p->gamma << 8) {
		change = (u64)compound_power(win) * p->alpha >> 10;
		change = change > 256 ? change - 256 : 0;
		return ca->dwnd + (change < delivered ? change : delivered);
	}
	change = diff * p->zeta >> 10;
	return ca->dwnd > change ? ca->dwnd - change : 0;
}

static inline void compound_paper_cong_avoid(struct compound *ca, const struct compound_params *p,
					     struct cc_window *w, const struct cc_ack *a)
{
	u32 over = round_over(&ca->round, a), acked, dwnd;

	slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
	if (!cc_cwnd_limited(a))
		return;
	acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);
	if (cc_in_slow_start(w)) {
		ca->dwnd = 0;
		acked = cc_slow_start(w, acked);
		if (!acked)
			return;
	}
	cc_additive_increase(w, w->cwnd, acked);
	if (!over)
		return;
	/* The stack may have taken the window below what dwnd was. */
	if (ca->dwnd >> 8 >= w->cwnd)
		ca->dwnd = (u64)(w->cwnd - 1) << 8;
	dwnd = (u32)(ca->dwnd >> 8);
	ca->dwnd = compound_paper_dwnd(ca, p, a, w->cwnd);
	w->cwnd -= dwnd;
	cc_grow(w, ca->dwnd >> 8);
}

static inline u32 compound_paper_ssthresh(struct compound *ca, const struct compound_params *p,
					  const struct cc_window *w)
{
	u64 win = (u64)w->cwnd << 8;
	u64 reno = ca->dwnd < win ? (win - ca->dwnd) / 2 : 0;
	u64 left = win * (1024 - p->beta) >> 10;

	ca->dwnd = left > reno ? left - reno : 0;
	return cc_max((u32)((reno + ca->dwnd) >> 8), 2);
}

/*
 * win^(3/4) as the original has it: Newton's method in whole numbers for the fourth root of win^3,
 * from the power of two below it or near, until a step changes it by 1 at most. win is at most
 * 2^21, which takes seven steps.
 */
static inline u32 compound_ns2_power(u32 win)
{
	u64 cube = (u64)win * win * win, root = 1ULL << (cc_bits(cube) >> 2), going = ~0ULL;
	u32 i;

	for (i = 0; i < 7 && win; i++) {
		u64 next = (3 * root + cube / (root * root * root)) >> 2, before = root;

		root += (next - root) & going;
		going &= cc_mask_ge(next, before + 2) | cc_mask_ge(before, next + 2);
	}
	return (u32)root;
}

/* dwnd after an RTT, in segments. */
static inline u32 compound_ns2_dwnd(const struct compound *ca, u32 dwnd, u32 min_rtt_us)
{
	u32 rtt = ca->round.rtt_us, base = cc_min(min_rtt_us, rtt), gain;
	u64 sent = ca->round.delivered, diff = 2 * sent - (sent * base << 1) / rtt;

	if (diff >= 2 * 30)
		return 2 * (u64)dwnd > diff ? (u32)((2 * (u64)dwnd - diff) >> 1) : 0;
	gain = compound_ns2_power(cc_min(ca->round.delivered, 1 << 21)) >> 3;
	return gain > 1 ? dwnd + gain - 1 : dwnd;
}

static inline void compound_ns2_cong_avoid(struct compound *ca, struct cc_window *w,
					   const struct cc_ack *a)
{
	u32 dwnd = (u32)(ca->dwnd >> 8);

	if (ca->reno > w->cwnd || dwnd > w->cwnd) {
		ca->reno = w->cwnd;
		dwnd = 0;
	} else if (ca->reno > w->cwnd - dwnd) {
		ca->reno = w->cwnd - dwnd;
	}
	ca->dwnd = (u64)dwnd << 8;
	if (!cc_cwnd_limited(a))
		return;
	if (ca->reno <= w->ssthresh) {
		ca->reno++;
	} else if (++w->cwnd_cnt >= w->cwnd) {
		w->cwnd_cnt = 0;
		ca->reno++;
	}
	if (round_over(&ca->round, a)) {
		if (ca->round.rtts > 2)
			dwnd = compound_ns2_dwnd(ca, dwnd, a->min_rtt_us);
		ca->dwnd = (u64)dwnd << 8;
		ca->round.rtts = 0;
	}
	w->cwnd = ca->reno;
	cc_grow(w, dwnd);
}

static inline void compound_init(struct compound *ca, const struct compound_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	ca->reno = w->cwnd;
	ca->round.end = a->delivered + a->in_flight;
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void compound_pkts_acked(struct compound *ca, const struct compound_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)w;
	round_sample(&ca->round, a->rtt_us);
}

static inline void compound_cong_avoid(struct compound *ca, const struct compound_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == COMPOUND_NS2)
		compound_ns2_cong_avoid(ca, w, a);
	else
		compound_paper_cong_avoid(ca, p, w, a);
}

static inline u32 compound_ssthresh(struct compound *ca, const struct compound_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	ca->prior_dwnd = ca->dwnd;
	if (p->variant == COMPOUND_NS2)
		return cc_max(w->cwnd / 2, 2);
	return compound_paper_ssthresh(ca, p, w);
}

static inline void compound_set_state(struct compound *ca, const struct compound_params *p,
				      struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	if (p->variant == COMPOUND_NS2 && state == CC_OPEN)
		round_restart(&ca->round, a);
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
}

static inline void compound_cwnd_event(struct compound *ca, const struct compound_params *p,
				       struct cc_window *w, const struct cc_ack *a, u8 event)
{
	if (p->variant != COMPOUND_NS2 || (event != CC_TX_START && event != CC_CWND_RESTART))
		return;
	ca->reno = w->cwnd;
	ca->dwnd = 0;
	ca->round.end = a->delivered + a->in_flight;
	ca->round.sent = 0;
	ca->round.rtts = 0;
}

static inline u32 compound_undo_cwnd(struct compound *ca, const struct compound_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	u32 cwnd = cc_max(w->cwnd, w->prior_cwnd);

	(void)p;
	(void)a;
	ca->dwnd = ca->prior_dwnd;
	ca->reno = cwnd - cc_min((u32)(ca->dwnd >> 8), cwnd);
	return cwnd;
}

#endif /* COMPOUND_H */
