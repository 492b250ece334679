/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP-Illinois: losses say when to change the window, the queueing delay says by how much
 * (S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A loss- and delay-based congestion control
 * algorithm for high-speed networks", Performance Evaluation 65, 2008; VALUETOOLS 2006).
 *
 *   cwnd += alpha / cwnd            per segment acknowledged, in congestion avoidance
 *   cwnd -= beta * cwnd             on loss
 *   da    = mean RTT - smallest RTT ever, dm = largest RTT ever - smallest, once per RTT
 *   alpha = alpha_max                             if da <= d1 = eta1 dm
 *           k1 / (k2 + da)                        otherwise
 *   beta  = beta_min                              if da <= d2 = eta2 dm
 *           beta_min + (beta_max - beta_min) (da - d2) / (d3 - d2)
 *           beta_max                              if da >= d3 = eta3 dm
 *
 * k1 and k2 make alpha alpha_max at da = d1 and alpha_min at da = dm. Below cwnd = w_thresh,
 * alpha = 1 and beta = 1/2. After an RTT above d1 alpha returns to alpha_max only after theta
 * RTTs at or below d1 in a row. A timeout sets alpha = 1 and beta = 1/2 until the next RTT is
 * over.
 *
 * An RTT is over when a segment is delivered that was sent after the last one was over. Until
 * then alpha is alpha_max and beta 1/2.
 *
 * Differences from the paper: the window never grows faster than in slow start. A timeout too
 * takes beta of the window, not half: the stack does not say which loss it asks about.
 *
 * variant = linux is the kernel's. The constants are the paper's and fixed. Otherwise:
 *  - alpha is in 1/128 (0.3 is 38), beta in 1/64; delays are whole microseconds, samples above
 *    3.36 s count as that.
 *  - w_thresh is looked at when an RTT is over; alpha and beta stay until the next one.
 *  - The theta RTTs need not be in a row.
 *  - When cwnd_cnt segments make a window, alpha times counted, what is over is dropped. So a
 *    window below 10 can grow by up to ten segments per segment acknowledged.
 *  - What slow start leaves of an ACK does not count.
 *
 * variant = ns2 is that of Linux 2.6.22, which has besides
 *  - a loss reduces the window to beta * cwnd instead of by it: to an eighth of it where the
 *    delay is small. It was a mistake, and published ns-2 simulations have it.
 *  - Slow start counts ACKs and includes cwnd == ssthresh.
 */
#ifndef ILLINOIS_H
#define ILLINOIS_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"

#define illinois_PARAMS(P)                                                             \
	P(alpha_min, 300, 1000, 10, 1000, "",                                          \
	  "segments per RTT at the largest delay; the paper")                          \
	P(alpha_max, 10000, 1000, 1000, 1000000, "",                                   \
	  "segments per RTT at small delays; the paper")                               \
	P(beta_min, 128, 1024, 1, 512, "",                                             \
	  "what a loss takes of cwnd at small delays; the paper")                      \
	P(beta_max, 512, 1024, 512, 1000, "",                                          \
	  "what a loss takes of cwnd at large delays; the paper")                      \
	P(eta1, 10, 1000, 1, 999, "",                                                  \
	  "delay up to which alpha is alpha_max, as a part of the largest; the paper") \
	P(eta2, 100, 1000, 1, 500, "",                                                 \
	  "delay up to which beta is beta_min, as a part of the largest; the paper")   \
	P(eta3, 800, 1000, 501, 1000, "",                                              \
	  "delay from which beta is beta_max, as a part of the largest; the paper")    \
	P(theta, 5, 1, 1, 1000, "",                                                    \
	  "RTTs of small delay before alpha returns to alpha_max; the paper")          \
	P(w_thresh, 15, 1, 0, 1000000, "",                                             \
	  "window below which alpha is 1 and beta 1/2; the paper")                     \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                   \
	  "whose rules: spec the paper's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux; Linux 6.1, ns-2.35") \
	SLOW_START_PARAM(P)
#define illinois_HOOKS(H, A)                                                           \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)
#define illinois_INVARIANTS(I) \
	I(ca->low_rtts <= cc_max(p->theta, 5)) \
	I(ca->beta <= 1 << 20) \
	I(ca->credit < 1ULL << 51) \
	I(ca->rtt_min_us <= 0x7fffffff) \
	I(ca->rtt_max_us <= 0x7fffffff) \
	I(!ca->rtts || (ca->rtt_min_us && ca->rtt_min_us <= ca->rtt_max_us)) \
	I(ca->rtt_sum_us <= (u64)ca->rtts * ca->rtt_max_us) \
	I(ca->rtt_sum_us >= (u64)ca->rtts * ca->rtt_min_us)

enum illinois_variant { ILLINOIS_SPEC, ILLINOIS_LINUX, ILLINOIS_NS2 };

struct illinois {
	u64 round_end;  /* an RTT is over when more than these segments are delivered */
	u64 rtt_sum_us; /* the samples of this RTT */
	u64 credit;     /* alpha for each segment acknowledged since the last growth, in 2^-20 */
	u32 rtts;       /* how many samples */
	u32 rtt_min_us; /* the smallest sample; 0: none yet */
	u32 rtt_max_us; /* the largest */
	u32 alpha;      /* in 2^-20 segments (paper) or 1/128 */
	u32 beta;       /* in 2^-20 (paper) or 1/64 */
	u32 low_rtts;   /* RTTs at or below d1 since one above */
	u32 above;      /* there was one above d1 since alpha was alpha_max */
	struct hystart hystart;
};

CC_DECLARE_PARAMS(illinois);
CC_CHECK_STATE(illinois);

static inline void illinois_new_round(struct illinois *ca, const struct cc_ack *a)
{
	ca->round_end = a->delivered + a->in_flight;
	ca->rtt_sum_us = 0;
	ca->rtts = 0;
}

/* alpha = 1, beta = 1/2. */
static inline void illinois_reno(struct illinois *ca, u32 paper)
{
	ca->alpha = paper ? 1 << 20 : 128;
	ca->beta = paper ? 1 << 19 : 32;
}

/* May alpha be alpha_max, now that an RTT was (high: not) at or below d1? */
static inline u32 illinois_settled(struct illinois *ca, const struct illinois_params *p, u32 high)
{
	u32 paper = p->variant == ILLINOIS_SPEC;

	if (high) {
		ca->above = 1;
		if (paper)
			ca->low_rtts = 0;
		return 0;
	}
	if (ca->above && ++ca->low_rtts < (paper ? p->theta : 5))
		return 0;
	ca->low_rtts = 0;
	ca->above = 0;
	return 1;
}

static inline void illinois_paper_update(struct illinois *ca, const struct illinois_params *p,
					 u64 da, u64 dm)
{
	u64 d1 = dm * p->eta1 / 1000, d2 = dm * p->eta2 / 1000, d3 = dm * p->eta3 / 1000;
	u64 beta_range = p->beta_max - p->beta_min, least = (dm - d1) * p->alpha_min;

	if (illinois_settled(ca, p, da > d1))
		ca->alpha = (u32)(((u64)p->alpha_max << 20) / 1000);
	else if (da > d1)
		ca->alpha = (u32)((least << 20) / (least + (da - d1) * (p->alpha_max - p->alpha_min)) *
				  p->alpha_max / 1000);
	if (da <= d2)
		ca->beta = p->beta_min << 10;
	else if (da >= d3)
		ca->beta = p->beta_max << 10;
	else
		ca->beta = (p->beta_min << 10) + (u32)((beta_range << 10) * (da - d2) / (d3 - d2));
}

static inline void illinois_linux_update(struct illinois *ca, const struct illinois_params *p,
					 u64 da, u64 dm)
{
	u64 d1 = dm / 100, d2 = dm / 10, d3 = 8 * dm / 10;

	if (illinois_settled(ca, p, da > d1))
		ca->alpha = 1280;
	else if (da > d1)
		ca->alpha = (u32)((dm - d1) * 1280 / (dm - d1 + (da - d1) * (1280 - 38) / 38));
	if (da <= d2)
		ca->beta = 8;
	else if (da >= d3)
		ca->beta = 32;
	else
		ca->beta = (u32)((8 * d3 + 24 * da - 32 * d2) / (d3 - d2));
}

/* An RTT is over. */
static inline void illinois_update(struct illinois *ca, const struct illinois_params *p,
				   const struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant != ILLINOIS_SPEC && w->cwnd < 15) {
		illinois_reno(ca, 0);
	} else if (ca->rtts) {
		u64 da = ca->rtt_sum_us / ca->rtts - ca->rtt_min_us;
		u64 dm = ca->rtt_max_us - ca->rtt_min_us;

		if (p->variant == ILLINOIS_SPEC)
			illinois_paper_update(ca, p, da, dm);
		else
			illinois_linux_update(ca, p, da, dm);
	}
	illinois_new_round(ca, a);
}

static inline void illinois_paper_growth(struct illinois *ca, const struct illinois_params *p,
					 struct cc_window *w, u32 acked)
{
	u64 alpha, window, grow;

	if (cc_slow_start_took_all(w, &acked))
		return;
	alpha = w->cwnd < p->w_thresh ? 1 << 20 : ca->alpha;
	window = (u64)w->cwnd << 20;
	ca->credit += acked * alpha;
	grow = ca->credit / window;
	ca->credit -= grow * window;
	cc_grow(w, grow < acked ? grow : acked);
}

static inline void illinois_linux_growth(struct illinois *ca, const struct illinois_params *p,
					 struct cc_window *w, u32 acked)
{
	u64 credit;

	if (p->variant == ILLINOIS_NS2 && cc_slow_start_ns2(w))
		return;
	if (cc_in_slow_start(w)) {
		cc_slow_start(w, acked);
		return;
	}
	w->cwnd_cnt += acked;
	credit = (u64)w->cwnd_cnt * ca->alpha >> 7;
	if (credit >= w->cwnd) {
		cc_grow(w, credit / w->cwnd);
		w->cwnd_cnt = 0;
	}
}

static inline void illinois_init(struct illinois *ca, const struct illinois_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	u32 paper = p->variant == ILLINOIS_SPEC;

	(void)w;
	illinois_reno(ca, paper);
	ca->alpha = paper ? (u32)(((u64)p->alpha_max << 20) / 1000) : 1280;
	illinois_new_round(ca, a);
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void illinois_pkts_acked(struct illinois *ca, const struct illinois_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	u32 rtt = a->rtt_us;

	(void)w;
	if (p->variant != ILLINOIS_SPEC)
		rtt = cc_min(rtt, 0xffffffff / 1280);
	if (!ca->rtt_min_us || rtt < ca->rtt_min_us)
		ca->rtt_min_us = rtt;
	ca->rtt_max_us = cc_max(ca->rtt_max_us, rtt);
	if (ca->rtts == 0xffffffff)
		return;
	ca->rtt_sum_us += rtt;
	ca->rtts++;
}

static inline void illinois_cong_avoid(struct illinois *ca, const struct illinois_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	u32 acked;

	if (cc_after(a->delivered, ca->round_end))
		illinois_update(ca, p, w, a);
	if (p->variant != ILLINOIS_NS2)
		slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
	if (!cc_cwnd_limited(a))
		return;
	acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);
	if (p->variant == ILLINOIS_SPEC)
		illinois_paper_growth(ca, p, w, acked);
	else
		illinois_linux_growth(ca, p, w, acked);
}

static inline u32 illinois_ssthresh(struct illinois *ca, const struct illinois_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u32 beta = ca->beta;

	(void)a;
	if (p->variant != ILLINOIS_SPEC) {
		u32 part = cc_part(w->cwnd, beta, 64);

		return cc_max(p->variant == ILLINOIS_NS2 ? part : w->cwnd - part, 2);
	}
	ca->credit = 0;
	if (w->cwnd < p->w_thresh)
		beta = 1 << 19;
	return cc_max(cc_part(w->cwnd, (1 << 20) - beta, 1 << 20), 2);
}

static inline void illinois_set_state(struct illinois *ca, const struct illinois_params *p,
				      struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
	if (state != CC_LOSS)
		return;
	illinois_reno(ca, p->variant == ILLINOIS_SPEC);
	ca->low_rtts = 0;
	ca->above = 0;
	illinois_new_round(ca, a);
}

#endif /* ILLINOIS_H */
