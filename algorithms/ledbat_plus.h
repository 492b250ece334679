/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * LEDBAT++: background transport that leaves the path to others and shares it with its like (P.
 * Balasubramanian, O. Ertugay, D. Havey, M. Bagnulo, draft-irtf-iccrg-ledbat-plus-plus). It is LEDBAT
 * (RFC 6817) by RTTs, with a slow start, a cut that grows with the queue, and pauses that show each
 * flow the path without a queue.
 *
 *   base   = the smallest RTT of the last ten minutes
 *   q      = the smallest of the last four RTTs - base
 *   GAIN   = 1 / min(16, ceil(2 TARGET / base))           TARGET 60 ms
 *   q <= TARGET   W += GAIN u / W                         for u segments acknowledged
 *   q >  TARGET   W += max(GAIN - W (q / TARGET - 1), -W / 2)    once per RTT
 *   slow start    W += GAIN u; the first ends when q > 3/4 TARGET
 *   loss          W = W / 2
 *   slowdown      W = 2 for two RTTs, then slow start to the W before. The first comes two RTTs after
 *                 the first slow start, each further one 9 times as long after a slowdown as that lasted.
 *
 * In a slowdown the queue empties, so that all flows measure the RTT without it. Therefore a flow that comes
 * late does not take what others have. A slowdown costs a tenth of the time at most.
 *
 * An RTT is over when a segment is delivered that was sent after the last one was over. W is a real number
 * of 2 segments at least; on the right of these formulas it is cwnd, without its fraction. A timeout leaves
 * W = 1, and slow start leads to half of what was.
 *
 * The rules are those of version -01 of the draft as its implementations have them; later versions were not
 * compared. Differences: a flow that the application limits neither grows nor begins a slowdown: what it
 * leaves free shows the path without a queue, too. A slowdown counts as a minute at most, for it may have
 * had a pause in it. A loss in the first two RTTs of a slowdown was caused by the window before it, so that
 * window is halved. Until it is repaired ssthresh is not above cwnd: a recovery in proportion to both (PRR)
 * would send more than is delivered.
 */
#ifndef LEDBAT_PLUS_H
#define LEDBAT_PLUS_H

#include "cc.h"
#include "parts/delay_history.h"
#include "parts/fixed.h"
#include "parts/growth.h"

#define ledbat_plus_PARAMS(P)                                                                  \
	P(target_ms, 60, 1, 1, 1000, "",                                                       \
	  "TARGET, what the queue may delay; the draft")                                       \
	P(slowdown_every, 9, 1, 1, 1000, "",                                                   \
	  "time between two slowdowns, in lengths of the last; the draft")
#define ledbat_plus_HOOKS(H, A) \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)

#define LEDBAT_PLUS_GAIN_MAX 16
#define LEDBAT_PLUS_LEAST 2U
#define LEDBAT_PLUS_LONGEST_US 60000000 /* a slowdown: what is longer has a pause in it */

enum ledbat_plus_phase {
	LEDBAT_PLUS_FIRST, /* the first slow start */
	LEDBAT_PLUS_WAIT,  /* two RTTs until the first slowdown */
	LEDBAT_PLUS_HOLD,  /* a slowdown: two RTTs at the least window */
	LEDBAT_PLUS_RISE,  /* and back to the window before */
	LEDBAT_PLUS_STEADY,
};

struct ledbat_plus {
	struct delay_history rtts;
	u64 round_end;      /* an RTT is over when more than these segments are delivered */
	u64 slowdown_us;    /* when this slowdown began, or the next may begin */
	u32 fraction;       /* what W has beyond cwnd, in 2^-32 segments */
	u32 rest;           /* of the last division by cwnd */
	u32 queue_us;       /* q */
	u32 before;         /* W to which this slowdown leads back */
	u8 phase;
	u8 rounds;          /* RTTs of WAIT and HOLD that are over */
	u8 round_over;      /* this ACK ends an RTT */
};

CC_DECLARE_PARAMS(ledbat_plus);
CC_CHECK_STATE(ledbat_plus);

/* 1 / GAIN, 1 to 16. */
static inline u32 ledbat_plus_per_gain(const struct ledbat_plus *ca, const struct ledbat_plus_params *p)
{
	u32 base = cc_max(ca->rtts.base_us, 1);
	u64 per = (2 * (u64)p->target_ms * 1000 + base - 1) / base;

	return per < LEDBAT_PLUS_GAIN_MAX ? (u32)per : LEDBAT_PLUS_GAIN_MAX;
}

/* W grows by `more` 2^-32 segments; returns the whole ones. */
static inline u32 ledbat_plus_add(struct ledbat_plus *ca, u64 more)
{
	u64 sum = ca->fraction + (more & 0xffffffff);

	ca->fraction = (u32)sum;
	return (u32)(more >> 32) + (u32)(sum >> 32);
}

static inline void ledbat_plus_slow_start(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	u64 more = ((u64)a->acked << 32) / ledbat_plus_per_gain(ca, p);

	cc_slow_start(w, ledbat_plus_add(ca, more));
}

/* q <= TARGET */
static inline void ledbat_plus_grow(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u64 gain = (1ULL << 32) / ledbat_plus_per_gain(ca, p);

	cc_grow(w, ledbat_plus_add(ca, cc_divide(a->acked * gain, w->cwnd, &ca->rest)));
}

/* q > TARGET, at the end of an RTT */
static inline void ledbat_plus_shrink(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
				      struct cc_window *w, const struct cc_ack *a)
{
	u64 target = (u64)p->target_ms * 1000, over = ca->queue_us - target;
	/* q / TARGET - 1, to 1, in 2^-20, and what it takes of W in 2^-32 segments. */
	u64 part = ((over < target ? over : target) << 20) / target, less = (w->cwnd * part) << 12;
	u64 gain = (1ULL << 32) / ledbat_plus_per_gain(ca, p), half = (u64)w->cwnd << 31;
	u64 real = (u64)w->cwnd << 32 | ca->fraction, least = (u64)cc_min(w->cwnd, LEDBAT_PLUS_LEAST) << 32;

	if (less <= gain) {
		if (cc_cwnd_limited(a))
			cc_grow(w, ledbat_plus_add(ca, gain - less));
		return;
	}
	less -= gain;
	real -= less < half ? less : half;
	real = real > least ? real : least;
	w->cwnd = (u32)(real >> 32);
	w->ssthresh = cc_max(w->cwnd, LEDBAT_PLUS_LEAST); /* slow start does not take it back */
	ca->fraction = (u32)real;
}

static inline void ledbat_plus_begin_slowdown(struct ledbat_plus *ca, struct cc_window *w,
					      const struct cc_ack *a)
{
	ca->before = cc_max(w->cwnd, LEDBAT_PLUS_LEAST);
	w->ssthresh = ca->before;
	w->cwnd = cc_min(w->cwnd, LEDBAT_PLUS_LEAST);
	ca->fraction = 0;
	ca->slowdown_us = a->now_us;
	ca->phase = LEDBAT_PLUS_HOLD;
	ca->rounds = 0;
}

/* The window is back where the slowdown began, or a loss has ended it. */
static inline void ledbat_plus_end_slowdown(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
					    const struct cc_ack *a)
{
	u64 lasted_us = a->now_us - ca->slowdown_us;

	lasted_us = lasted_us < LEDBAT_PLUS_LONGEST_US ? lasted_us : LEDBAT_PLUS_LONGEST_US;
	ca->slowdown_us = a->now_us + p->slowdown_every * lasted_us;
	ca->phase = LEDBAT_PLUS_STEADY;
}

/* The phase that follows, if this ACK begins one. */
static inline void ledbat_plus_pass(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	ca->rounds = (u8)cc_min(ca->rounds + ca->round_over, 2);
	if (ca->phase == LEDBAT_PLUS_FIRST) {
		if (ca->queue_us > (u64)p->target_ms * 750)
			w->ssthresh = cc_max(cc_min(w->cwnd, w->ssthresh), LEDBAT_PLUS_LEAST);
		if (!cc_in_slow_start(w)) {
			ca->phase = LEDBAT_PLUS_WAIT;
			ca->rounds = 0;
		}
	} else if (ca->phase == LEDBAT_PLUS_WAIT) {
		if (ca->rounds == 2 && !cc_in_slow_start(w) && cc_cwnd_limited(a))
			ledbat_plus_begin_slowdown(ca, w, a);
	} else if (ca->phase == LEDBAT_PLUS_HOLD) {
		if (ca->rounds == 2)
			ca->phase = LEDBAT_PLUS_RISE;
	} else if (ca->phase == LEDBAT_PLUS_RISE) {
		if (!cc_in_slow_start(w))
			ledbat_plus_end_slowdown(ca, p, a);
	} else if (a->now_us >= ca->slowdown_us && !cc_in_slow_start(w) && cc_cwnd_limited(a)) {
		ledbat_plus_begin_slowdown(ca, w, a);
	}
}

static inline void ledbat_plus_init(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	delay_history_begin(&ca->rtts, a);
	ca->round_end = a->delivered + a->in_flight;
	w->cwnd = cc_min(w->cwnd, LEDBAT_PLUS_LEAST);
}

static inline void ledbat_plus_pkts_acked(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)w;
	ca->queue_us = delay_history_add(&ca->rtts, a, a->rtt_us);
}

static inline void ledbat_plus_cong_avoid(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	ca->round_over = cc_after(a->delivered, ca->round_end) & 1;
	if (ca->round_over)
		ca->round_end = a->delivered + a->in_flight;
	ledbat_plus_pass(ca, p, w, a);
	if (ca->phase == LEDBAT_PLUS_HOLD)
		return;
	if (ca->queue_us > (u64)p->target_ms * 1000 && !cc_in_slow_start(w)) {
		if (ca->round_over)
			ledbat_plus_shrink(ca, p, w, a);
	} else if (cc_cwnd_limited(a)) {
		if (cc_in_slow_start(w))
			ledbat_plus_slow_start(ca, p, w, a);
		else
			ledbat_plus_grow(ca, p, w, a);
	}
}

static inline u32 ledbat_plus_ssthresh(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)a;
	ca->fraction = 0;
	if (ca->phase != LEDBAT_PLUS_HOLD)
		return cc_max(w->cwnd / 2, LEDBAT_PLUS_LEAST);
	ca->before = cc_max(ca->before / 2, LEDBAT_PLUS_LEAST);
	return cc_max(cc_min(w->cwnd, ca->before), LEDBAT_PLUS_LEAST);
}

/* A slowdown goes on after a repair; after a timeout the window is small as it is, and grows. */
static inline void ledbat_plus_set_state(struct ledbat_plus *ca, const struct ledbat_plus_params *p,
					 struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)p;
	(void)a;
	if (ca->phase != LEDBAT_PLUS_HOLD)
		return;
	if (state == CC_LOSS)
		ca->phase = LEDBAT_PLUS_RISE;
	else if (state == CC_OPEN)
		w->cwnd = cc_min(w->cwnd, LEDBAT_PLUS_LEAST);
	else
		return;
	w->ssthresh = ca->before;
}

#endif /* LEDBAT_PLUS_H */
