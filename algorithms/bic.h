/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * BIC: after a loss the window returns to where the loss was by a binary search, in steps of
 * Smax segments at most, and then looks for a new maximum by a slow start from one segment
 * (L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast
 * long-distance networks", IEEE INFOCOM 2004).
 *
 *   cwnd += inc / cwnd                      per segment acknowledged
 *   inc   = min((max - cwnd) / 2, Smax)     below max
 *   inc   = 1, 2, 4 ... below Smax          beyond max: the next once cwnd has grown by inc
 *   inc   = Smax                            after that, and while there was no loss
 *   loss    max = cwnd, or (cwnd + (1 - beta) cwnd) / 2 if cwnd < max (fast convergence);
 *           cwnd = (1 - beta) cwnd
 *
 * with Smax 32, Smin 0.01, beta 0.125. max is reached when (max - cwnd) / 2 is below Smin.
 * Below low_window = 14 it is Reno: inc = 1, a half on loss, max stays.
 *
 * Differences from the paper:
 *  - Its pseudo-code sets max to a large default beyond the maximum, so that every loss there
 *    would meet fast convergence. Here it does not: the new maximum is not below the last.
 *  - A timeout is a loss like any other.
 *  - max is accurate to 2^-16 segments, and the window never grows faster than in slow start.
 *
 * variant = linux is the kernel's module. What it does otherwise:
 *  - It grows by one segment per cnt acknowledged, a whole number. cnt is computed when cwnd has
 *    changed or more than 31 ms have passed.
 *  - The search goes a quarter of the way: d = (max - cwnd) / 4, rounded down; cnt = cwnd / d
 *    with d between 2 and 16, cwnd / 16 above, 5 cwnd below.
 *  - Beyond max: cnt = 5 cwnd for the first 4 segments, then 3 cwnd / (cwnd - max), from 48 on
 *    cwnd / 16.
 *  - Before the first loss, and from a timeout, which forgets everything, to the next loss:
 *    cnt is 20 at most.
 *  - cnt is divided by the segments per ACK, an average that starts at 2 and moves by 1/16. Its
 *    integers come to rest at 31/16 when every segment is acknowledged.
 *  - beta: a loss leaves 819/1024, and a half at low_window = 14 too, where max is set as well.
 *  - A credit of segments gathered under a larger cnt becomes one segment of growth at once.
 *
 * variant = ns2 is Linux 2.6.22's, in ns-2.35: as linux, but it counts ACKs, grows by one
 * segment once more than cnt of them have come, and slow start includes cwnd == ssthresh.
 *
 * s_max, s_min, beta and low_window are for variant = spec; the others' are fixed.
 */
#ifndef BIC_H
#define BIC_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"

#define bic_PARAMS(P)                                                                  \
	P(s_max, 32, 1, 1, 100000, "",                                                 \
	  "Smax, largest growth in segments per RTT; the paper")                       \
	P(s_min, 10, 1000, 1, 1000, "",                                                \
	  "Smin, growth per RTT at which the search is over, in segments; the paper")  \
	P(beta, 125, 1000, 1, 900, "",                                                 \
	  "what a loss takes of cwnd; the paper")                                      \
	P(low_window, 14, 1, 1, 100000, "",                                            \
	  "below it growth and loss are Reno's; the paper")                            \
	P(fast_convergence, 1, 1, 0, 1, "off|on",                                      \
	  "make room for new flows when the window shrinks; the paper")                \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                   \
	  "whose rules: spec the paper's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux; Linux 6.1, ns-2.35") \
	SLOW_START_PARAM(P)
#define bic_HOOKS(H, A)                                                                \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, undo_cwnd)
#define bic_INVARIANTS(I) \
	I(p->variant != BIC_SPEC || ca->paper.fraction <= 0xffff) \
	I(p->variant != BIC_SPEC || ca->paper.search.max <= 0x7fffffffULL << 16) \
	I(p->variant != BIC_SPEC || ca->paper.before.max <= 0x7fffffffULL << 16) \
	I(p->variant != BIC_SPEC || ca->paper.search.probe <= p->s_max) \
	I(p->variant != BIC_SPEC || ca->paper.before.probe <= p->s_max)

enum bic_variant { BIC_SPEC, BIC_LINUX, BIC_NS2 };

/* Where the search stands. */
struct bic_search {
	u64 max;       /* window of the last loss, in 2^-16 segments; 0: unknown */
	u64 probe_end; /* window at which inc doubles, in 2^-16 segments */
	u32 probe;     /* inc beyond max; 0: not there */
};

struct bic_paper {
	struct bic_search search;
	struct bic_search before; /* search as it was before the last loss */
	u32 fraction;             /* of a segment of cwnd, in 2^-16 */
	u32 rest;                 /* of the last division by cwnd */
};

struct bic_kernel {
	u64 cnt_ms;   /* when cnt was computed */
	u32 cnt_cwnd; /* for which cwnd */
	u32 cnt;      /* segments or ACKs per segment of growth */
	u32 max;      /* window at the last loss, less after fast convergence; 0: none yet */
	u32 delayed;  /* average of segments per ACK, in 1/16 */
};

struct bic {
	union {
		struct bic_paper paper;
		struct bic_kernel kernel;
	};
	struct hystart hystart;
};

CC_DECLARE_PARAMS(bic);
CC_CHECK_STATE(bic);

/* The window, in 2^-16 segments. */
static inline u64 bic_window(const struct bic_paper *ca, const struct cc_window *w)
{
	return (u64)w->cwnd << 16 | ca->fraction;
}

/* inc, in 2^-16 segments per RTT. */
static inline u64 bic_increment(const struct bic_search *search, const struct bic_params *p,
				u64 window)
{
	u64 most = (u64)p->s_max << 16, step = most;

	if (search->probe)
		step = (u64)search->probe << 16;
	else if (search->max)
		step = search->max > window ? (search->max - window) / 2 : 0;
	return step < most ? step : most;
}

/* Moves on to the next stage if window has come to the end of this one. */
static inline void bic_next_stage(struct bic_search *search, const struct bic_params *p, u64 window)
{
	if (search->probe) {
		if (window < search->probe_end)
			return;
		search->probe *= 2;
		search->probe_end = window + ((u64)search->probe << 16);
		if (search->probe >= p->s_max)
			search->probe = 0;
	} else if (search->max) {
		u64 left = search->max > window ? search->max - window : 0;

		if (left / 2 * 1000 >= (u64)p->s_min << 16)
			return;
		search->max = 0;
		search->probe = 1;
		search->probe_end = window + (1 << 16);
	}
}

static inline void bic_paper_cong_avoid(struct bic_paper *ca, const struct bic_params *p,
					struct cc_window *w, const struct cc_ack *a, u32 acked)
{
	u64 increment, most, grown;

	if (!cc_cwnd_limited(a))
		return;
	if (cc_slow_start_took_all(w, &acked))
		return;
	if (w->cwnd < p->low_window) {
		cc_additive_increase(w, w->cwnd, acked);
		return;
	}
	most = (u64)w->cwnd << 16;
	increment = bic_increment(&ca->search, p, bic_window(ca, w));
	increment = increment < most ? increment : most;
	grown = ca->fraction + cc_divide(acked * increment, w->cwnd, &ca->rest);
	ca->fraction = grown & 0xffff;
	cc_grow(w, grown >> 16);
	bic_next_stage(&ca->search, p, bic_window(ca, w));
}

static inline u32 bic_paper_ssthresh(struct bic_paper *ca, const struct bic_params *p, u32 cwnd)
{
	u64 window = (u64)cwnd << 16, max = window;

	ca->before = ca->search;
	if (cwnd < p->low_window)
		return cc_max(cwnd / 2, 2);
	if (p->fast_convergence && window < ca->search.max)
		max = window * (2000 - p->beta) / 2000;
	ca->search = (struct bic_search){ .max = max };
	return cc_max(cc_part(cwnd, 1000 - p->beta, 1000), 2);
}

static inline void bic_kernel_reset(struct bic_kernel *ca)
{
	*ca = (struct bic_kernel){ .delayed = 2 << 4 };
}

/* cnt for segments that are acknowledged one by one. */
static inline u64 bic_kernel_cnt(u32 max, u64 cwnd)
{
	if (cwnd < max) {
		u64 step = (max - cwnd) / 4;

		if (step > 16)
			return cwnd / 16;
		return step > 1 ? cwnd / step : cwnd * 5;
	}
	if (cwnd < (u64)max + 4)
		return cwnd * 5;
	if (cwnd < (u64)max + 48)
		return cwnd * 3 / (cwnd - max);
	return cwnd / 16;
}

static inline void bic_kernel_update(struct bic_kernel *ca, u32 cwnd, u64 now_ms)
{
	u64 cnt;

	if (ca->cnt_cwnd == cwnd && now_ms - ca->cnt_ms <= 31)
		return;
	ca->cnt_cwnd = cwnd;
	ca->cnt_ms = now_ms;
	if (cwnd <= 14) {
		ca->cnt = cwnd;
		return;
	}
	cnt = bic_kernel_cnt(ca->max, cwnd);
	if (!ca->max && cnt > 20)
		cnt = 20;
	cnt = (cnt << 4) / ca->delayed;
	cnt = cnt < 0xffffffff ? cnt : 0xffffffff;
	ca->cnt = cc_max((u32)cnt, 1);
}

static inline void bic_kernel_cong_avoid(struct bic_kernel *ca, const struct bic_params *p,
					 struct cc_window *w, const struct cc_ack *a, u32 acked)
{
	if (!cc_cwnd_limited(a))
		return;
	if (p->variant == BIC_NS2 && cc_slow_start_ns2(w))
		return;
	if (cc_slow_start_took_all(w, &acked))
		return;
	bic_kernel_update(ca, w->cwnd, a->now_us / 1000);
	if (p->variant == BIC_LINUX)
		cc_additive_increase(w, ca->cnt, acked);
	else
		cc_additive_increase_ns2(w, ca->cnt);
}

static inline u32 bic_kernel_ssthresh(struct bic_kernel *ca, const struct bic_params *p, u32 cwnd)
{
	if (p->fast_convergence && cwnd < ca->max)
		ca->max = cc_part(cwnd, 1024 + 819, 2048);
	else
		ca->max = cwnd;
	return cc_max(cwnd <= 14 ? cwnd / 2 : cc_part(cwnd, 819, 1024), 2);
}

static inline void bic_init(struct bic *ca, const struct bic_params *p, struct cc_window *w,
			    const struct cc_ack *a)
{
	(void)w;
	if (p->variant != BIC_SPEC)
		bic_kernel_reset(&ca->kernel);
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void bic_pkts_acked(struct bic *ca, const struct bic_params *p, struct cc_window *w,
				  const struct cc_ack *a)
{
	(void)w;
	if (p->variant == BIC_SPEC || a->state != CC_OPEN)
		return;
	ca->kernel.delayed -= ca->kernel.delayed >> 4;
	ca->kernel.delayed += cc_min(a->acked, 1 << 24);
}

static inline void bic_cong_avoid(struct bic *ca, const struct bic_params *p, struct cc_window *w,
				  const struct cc_ack *a)
{
	u32 acked;

	if (p->variant != BIC_NS2)
		slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
	acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);
	if (p->variant == BIC_SPEC)
		bic_paper_cong_avoid(&ca->paper, p, w, a, acked);
	else
		bic_kernel_cong_avoid(&ca->kernel, p, w, a, acked);
}

static inline u32 bic_ssthresh(struct bic *ca, const struct bic_params *p, struct cc_window *w,
			       const struct cc_ack *a)
{
	(void)a;
	if (p->variant == BIC_SPEC)
		return bic_paper_ssthresh(&ca->paper, p, w->cwnd);
	return bic_kernel_ssthresh(&ca->kernel, p, w->cwnd);
}

static inline void bic_set_state(struct bic *ca, const struct bic_params *p, struct cc_window *w,
				 const struct cc_ack *a, u8 state)
{
	(void)w;
	if (p->variant != BIC_SPEC && state == CC_LOSS)
		bic_kernel_reset(&ca->kernel);
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
}

static inline u32 bic_undo_cwnd(struct bic *ca, const struct bic_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	(void)a;
	if (p->variant == BIC_SPEC)
		ca->paper.search = ca->paper.before;
	return cc_max(w->cwnd, w->prior_cwnd);
}

#endif /* BIC_H */
