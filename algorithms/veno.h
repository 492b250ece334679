/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Veno: Reno for wireless paths. It estimates the queue as Vegas does; a loss while the queue is short is
 * taken for a radio error, and cuts less (C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission Over Wireless Access
 * Networks", IEEE JSAC 21(2), 2003).
 *
 *   N         = cwnd (RTT - BaseRTT) / RTT      the segments waiting in the queue, once per RTT
 *   N < beta    growth is Reno's                beta 3
 *   N >= beta   it is half of Reno's: a segment every other window
 *   loss        cwnd = 4/5 cwnd if N < beta, else cwnd / 2
 *
 * RTT is the smallest sample of the last RTT, BaseRTT that of the connection. An RTT is over when a
 * segment is delivered that was sent after the last one was over. Slow start is Reno's. At a timeout
 * ssthresh follows the same rule.
 *
 * variant = linux is the kernel's. What it does otherwise:
 *  - N is worked out at every ACK that may let the window grow, from the smallest sample since the last
 *    one, in halves of a segment, rounded up. With two samples or fewer so far growth is Reno's.
 *  - Half of Reno's growth: a window's worth of segments has to be counted before the ACK that grows
 *    cwnd, each second time, and what is left over does not count.
 *  - One microsecond is added to every sample. Outside the open state it is Reno. The window is 2 at
 *    least. Sending after a pause forgets BaseRTT.
 */
#ifndef VENO_H
#define VENO_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/round.h"
#include "parts/slow_start.h"

#define veno_PARAMS(P)                                                                 \
	P(beta, 3, 1, 1, 1000000, "",                                                  \
	  "queued segments from which on a loss is one of congestion; the paper")      \
	P(loss, 800, 1000, 500, 1000, "",                                              \
	  "what any other loss leaves of cwnd; the paper")                             \
	P(variant, 0, 1, 0, 1, "spec|linux",                                           \
	  "whose rules: spec the paper's, linux those of the kernel's module; Linux 6.1") \
	SLOW_START_PARAM(P)
#define veno_HOOKS(H, A)                                                               \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event)
#define veno_PROGRESS(M) M(2, 1, w->cwnd_cnt, 2ULL * w->cwnd)
#define veno_INVARIANTS(I) \
	I(ca->round.rtts <= 3)

enum veno_variant { VENO_SPEC, VENO_LINUX };

#define VENO_NONE 0x7fffffffU /* RTT without a sample */

struct veno {
	struct round round;    /* rtts: samples so far, to 3; rtt_us: the smallest of this RTT or, linux, since the last ACK */
	u32 base_us;           /* BaseRTT */
	u8 congested;          /* N >= beta */
	u8 waits;              /* linux: the next window's worth does not count */
	u8 off;                /* linux: outside the open state */
	struct hystart hystart;
};

CC_DECLARE_PARAMS(veno);
CC_CHECK_STATE(veno);

static inline void veno_spec_cong_avoid(struct veno *ca, const struct veno_params *p,
					struct cc_window *w, const struct cc_ack *a)
{
	u32 acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);

	if (round_over(&ca->round, a) && ca->round.rtt_us != VENO_NONE) {
		u64 queued = (u64)w->cwnd * (ca->round.rtt_us - ca->base_us);

		ca->congested = queued >= (u64)p->beta * ca->round.rtt_us;
		ca->round.rtt_us = VENO_NONE;
	}
	if (!cc_cwnd_limited(a) || cc_slow_start_took_all(w, &acked))
		return;
	cc_additive_increase(w, ca->congested ? cc_min(w->cwnd, 0x7fffffff) * 2 : w->cwnd, acked);
}

/* A window's worth of segments after another: the second of them grows cwnd, by the ACK after it. */
static inline void veno_linux_half_growth(struct veno *ca, struct cc_window *w, u32 acked)
{
	if (w->cwnd_cnt < w->cwnd) {
		w->cwnd_cnt += acked;
		return;
	}
	w->cwnd_cnt = 0;
	if (ca->waits || w->cwnd >= w->cwnd_clamp) {
		ca->waits = 0;
	} else {
		w->cwnd++;
		ca->waits = 1;
	}
}

static inline void veno_linux_growth(struct veno *ca, const struct veno_params *p,
				     struct cc_window *w, u32 acked)
{
	u32 rtt = ca->round.rtt_us;
	u64 wanted = ((u64)w->cwnd * ca->base_us << 1) / cc_max(rtt, 1);

	ca->congested = 2 * (u64)w->cwnd - wanted >= 2 * (u64)p->beta;
	if (cc_slow_start_took_all(w, &acked))
		return;
	if (ca->congested)
		veno_linux_half_growth(ca, w, acked);
	else
		cc_additive_increase(w, w->cwnd, acked);
}

static inline void veno_linux_cong_avoid(struct veno *ca, const struct veno_params *p,
					 struct cc_window *w, const struct cc_ack *a)
{
	u32 acked;

	if (!cc_cwnd_limited(a))
		return;
	acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);
	if (ca->off || ca->round.rtts <= 2) {
		cc_reno_growth(w, acked);
	} else {
		veno_linux_growth(ca, p, w, acked);
		w->cwnd = cc_max(w->cwnd, 2);
	}
	if (!ca->off)
		ca->round.rtt_us = VENO_NONE;
}

/* What was known of the path is forgotten. */
static inline void veno_forget(struct veno *ca, const struct cc_ack *a)
{
	ca->round.end = a->delivered + a->in_flight;
	ca->round.rtt_us = VENO_NONE;
	ca->base_us = VENO_NONE;
	ca->waits = 0;
	ca->off = 0;
}

static inline void veno_init(struct veno *ca, const struct veno_params *p, struct cc_window *w,
			     const struct cc_ack *a)
{
	(void)w;
	veno_forget(ca, a);
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void veno_pkts_acked(struct veno *ca, const struct veno_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	u32 rtt = cc_min(a->rtt_us, VENO_NONE - 1) + (p->variant == VENO_LINUX);

	ca->base_us = cc_min(ca->base_us, rtt);
	ca->round.rtt_us = cc_min(ca->round.rtt_us, rtt);
	ca->round.rtts = cc_min(ca->round.rtts + 1, 3);
	slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
}

static inline void veno_cong_avoid(struct veno *ca, const struct veno_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == VENO_LINUX)
		veno_linux_cong_avoid(ca, p, w, a);
	else
		veno_spec_cong_avoid(ca, p, w, a);
}

static inline u32 veno_ssthresh(struct veno *ca, const struct veno_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	(void)a;
	return cc_max(ca->congested ? w->cwnd / 2 : cc_part(w->cwnd, p->loss, 1000), 2);
}

static inline void veno_set_state(struct veno *ca, const struct veno_params *p,
				  struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
	ca->off = state != CC_OPEN;
	if (p->variant == VENO_LINUX && state == CC_OPEN)
		ca->round.rtt_us = VENO_NONE;
}

static inline void veno_cwnd_event(struct veno *ca, const struct veno_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)w;
	if (p->variant == VENO_LINUX && (event == CC_TX_START || event == CC_CWND_RESTART))
		veno_forget(ca, a);
}

#endif /* VENO_H */
