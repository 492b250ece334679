/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * YeAH-TCP: grows like Scalable TCP while the queue is short and like Reno once it is not, and
 * drains its own share of it (A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another
 * Highspeed TCP", PFLDnet 2007). Once per RTT, with RTT the smallest sample of that RTT and
 * RTTbase the smallest of all:
 *
 *   Q = cwnd (RTT - RTTbase) / RTT             segments waiting in the queue
 *   L = (RTT - RTTbase) / RTTbase              how congested the network is
 *   slow mode if Q > alpha or L > 1/phi, else fast mode
 *   fast mode  cwnd += 1 per min(cwnd, ai_cnt) segments acknowledged
 *   slow mode  cwnd += 1 per cwnd segments acknowledged
 *   Q > alpha and cwnd > reno_count (precautionary decongestion):
 *              cwnd -= min(Q / gamma, cwnd / epsilon), not below reno_count; ssthresh = cwnd
 *   loss       cwnd -= cwnd / 2 after rho RTTs or more of slow mode (Reno competes), else
 *              cwnd -= Q, between cwnd / delta and cwnd / 2
 *
 * reno_count estimates the window of competing Reno flows: cwnd / 2 when slow mode begins, then
 * one more per RTT of it; half at a loss; 2 after more than zeta RTTs of fast mode.
 *
 * An RTT is over when a segment is delivered that was sent after the last one was over; the
 * return to the open state begins a new one.
 *
 * Differences from the paper: windows are whole segments, and the rules are not looked at while
 * the sender does not use its window. RTTs of fast mode need not be in a row for zeta.
 *
 * variant = linux is the kernel's. What it does otherwise:
 *  - One microsecond is added to every sample; Q is rounded down, as is RTTbase / phi. Fewer than
 *    three samples: the mode, Q and reno_count stay.
 *  - Sending after a pause forgets RTTbase.
 *  - The window is at most 2^25 - 1 segments.
 *
 * variant = ns2 is that of Linux 2.6.22. Different from linux: growth in fast mode needs one
 * segment more, slow mode counts ACKs, what is over is dropped; slow start counts ACKs and
 * includes cwnd == ssthresh; the window has no limit.
 */
#ifndef YEAH_H
#define YEAH_H

#include "cc.h"
#include "parts/growth.h"

#define yeah_PARAMS(P)                                                                 \
	P(alpha, 80, 1, 1, 1000000, "",                                                \
	  "queued segments above which the mode is slow and the queue drained; the paper") \
	P(gamma, 1, 1, 1, 1000, "",                                                    \
	  "an RTT drains the queue by 1/gamma; the paper")                             \
	P(delta, 8, 1, 2, 1000, "",                                                    \
	  "a loss takes 1/delta of cwnd at least; the paper")                          \
	P(epsilon, 2, 1, 2, 1000, "",                                                  \
	  "an RTT drains 1/epsilon of cwnd at most; the paper")                        \
	P(phi, 8, 1, 1, 1000, "",                                                      \
	  "the mode is slow when the queueing delay is above 1/phi of RTTbase; the paper") \
	P(rho, 16, 1, 0, 1000000, "",                                                  \
	  "RTTs of slow mode that show Reno flows; the paper")                      \
	P(zeta, 50, 1, 0, 1000000, "",                                                 \
	  "RTTs of fast mode after which there are none; the paper")                   \
	P(ai_cnt, 100, 1, 2, 1000000, "",                                              \
	  "segments acknowledged per segment of growth in fast mode; Scalable TCP, a = 0.01") \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                   \
	  "whose rules: spec the paper's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux; Linux 6.1, ns-2.35")
#define yeah_HOOKS(H, A)                                                               \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event)
#define yeah_INVARIANTS(I) \
	I(ca->fast_rtts <= p->zeta) \
	I(ca->slow_rtts <= 0xffffff) \
	I(!ca->round_rtts || (ca->base_us && ca->base_us <= ca->round_rtt_us))

enum yeah_variant { YEAH_SPEC, YEAH_LINUX, YEAH_NS2 };

struct yeah {
	u64 round_end;    /* an RTT is over when more than these segments are delivered */
	u32 round_rtts;   /* samples in this RTT */
	u32 round_rtt_us; /* the smallest of them */
	u32 base_us;      /* the smallest of all, RTTbase; 0: none yet */
	u32 queue;        /* Q */
	u32 slow_rtts;    /* RTTs of slow mode in a row; 0: fast mode */
	u32 fast_rtts;    /* RTTs of fast mode since the last loss or the last zeta of them */
	u32 reno_count;   /* window of competing Reno flows */
};

CC_DECLARE_PARAMS(yeah);
CC_CHECK_STATE(yeah);

static inline void yeah_new_round(struct yeah *ca, const struct cc_ack *a)
{
	ca->round_end = a->delivered + a->in_flight;
	ca->round_rtts = 0;
	ca->round_rtt_us = 0;
}

/* The queue is too long: drain it, as far as competing Reno flows allow. */
static inline void yeah_drain(const struct yeah *ca, const struct yeah_params *p,
			      struct cc_window *w, u32 queue)
{
	if (w->cwnd <= ca->reno_count)
		return;
	w->cwnd -= cc_min(queue / p->gamma, w->cwnd / p->epsilon);
	w->cwnd = cc_max(w->cwnd, ca->reno_count);
	w->ssthresh = w->cwnd;
}

/* An RTT is over. */
static inline void yeah_update(struct yeah *ca, const struct yeah_params *p, struct cc_window *w)
{
	u32 rtt = ca->round_rtt_us, delay = rtt - ca->base_us;
	u64 waiting = (u64)w->cwnd * delay;
	u32 queue = (u32)(waiting / rtt), over, high;

	if (p->variant == YEAH_SPEC) {
		over = waiting > (u64)p->alpha * rtt;
		high = (u64)delay * p->phi > ca->base_us;
	} else {
		over = queue > p->alpha;
		high = delay > ca->base_us / p->phi;
	}
	ca->queue = queue;
	if (over || high) {
		if (over)
			yeah_drain(ca, p, w, queue);
		if (ca->reno_count <= 2)
			ca->reno_count = cc_max(w->cwnd / 2, 2);
		else
			ca->reno_count += ca->reno_count < 0xffffffff;
		ca->slow_rtts = cc_min(ca->slow_rtts + 1, 0xffffff);
		return;
	}
	ca->slow_rtts = 0;
	if (++ca->fast_rtts > p->zeta) {
		ca->reno_count = 2;
		ca->fast_rtts = 0;
	}
}

static inline void yeah_ns2_growth(const struct yeah *ca, const struct yeah_params *p,
				   struct cc_window *w, u32 acked)
{
	if (cc_slow_start_ns2(w))
		return;
	w->cwnd_cnt += ca->slow_rtts ? 1 : acked;
	if (w->cwnd_cnt >= (ca->slow_rtts ? w->cwnd : cc_min(w->cwnd, p->ai_cnt) + 1)) {
		cc_grow(w, 1);
		w->cwnd_cnt = 0;
	}
}

static inline void yeah_growth(const struct yeah *ca, const struct yeah_params *p,
			       struct cc_window *w, u32 acked)
{
	if (cc_in_slow_start(w))
		acked = cc_slow_start(w, acked);
	if (acked)
		cc_additive_increase(w, ca->slow_rtts ? w->cwnd : cc_min(w->cwnd, p->ai_cnt), acked);
	if (p->variant == YEAH_LINUX)
		w->cwnd = cc_min(w->cwnd, 0xffffffff / 128);
}

static inline void yeah_init(struct yeah *ca, const struct yeah_params *p, struct cc_window *w,
			     const struct cc_ack *a)
{
	(void)p;
	(void)w;
	ca->reno_count = 2;
	yeah_new_round(ca, a);
}

static inline void yeah_pkts_acked(struct yeah *ca, const struct yeah_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	u32 rtt = a->rtt_us;

	(void)w;
	if (p->variant != YEAH_SPEC && rtt < 0xffffffff)
		rtt++;
	if (!ca->base_us || rtt < ca->base_us)
		ca->base_us = rtt;
	if (!ca->round_rtts || rtt < ca->round_rtt_us)
		ca->round_rtt_us = rtt;
	ca->round_rtts += ca->round_rtts < 0xffffffff;
}

static inline void yeah_cong_avoid(struct yeah *ca, const struct yeah_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	if (!cc_cwnd_limited(a))
		return;
	if (p->variant == YEAH_NS2)
		yeah_ns2_growth(ca, p, w, a->acked);
	else
		yeah_growth(ca, p, w, a->acked);
	if (!cc_after(a->delivered, ca->round_end))
		return;
	if (ca->round_rtts > (p->variant == YEAH_SPEC ? 0 : 2))
		yeah_update(ca, p, w);
	yeah_new_round(ca, a);
}

static inline u32 yeah_ssthresh(struct yeah *ca, const struct yeah_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	u32 half = cc_max(w->cwnd / 2, 2), cut = half;

	(void)a;
	if (ca->slow_rtts < p->rho)
		cut = cc_max(cc_min(ca->queue, half), w->cwnd / p->delta);
	ca->fast_rtts = 0;
	ca->reno_count = cc_max(ca->reno_count / 2, 2);
	return w->cwnd > cut ? cc_max(w->cwnd - cut, 2) : 2;
}

static inline void yeah_set_state(struct yeah *ca, const struct yeah_params *p,
				  struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)p;
	(void)w;
	if (state == CC_OPEN)
		yeah_new_round(ca, a);
}

static inline void yeah_cwnd_event(struct yeah *ca, const struct yeah_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)w;
	if (p->variant == YEAH_SPEC || (event != CC_TX_START && event != CC_CWND_RESTART))
		return;
	yeah_new_round(ca, a);
	ca->base_us = 0;
}

#endif /* YEAH_H */
