/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Copa: sends at the rate that is best for throughput over delay if all flows do so, and competes as Reno
 * does where others fill the queue (V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based
 * Congestion Control for the Internet", NSDI 2018).
 *
 *   dq       = RTTstanding - RTTmin            smallest RTT of the last SRTT/2, and of the last 10 s
 *   target   = 1 / (delta dq)                  segments per time; delta 1/2
 *   W / RTTstanding <= target   W += v / (delta W)    for each segment acknowledged
 *   otherwise                   W -= v / (delta W)
 *   v doubles each RTT once W has gone one way for three RTTs; it is 1 when that changes
 *   slow start  W doubles per RTT until W / RTTstanding > target
 *   pacing      2 W / RTTstanding
 *
 * With N such flows the queue goes between 0 and 2.5 N / delta segments and is empty once in 5 RTTs. It
 * counts as nearly empty when dq is at most a tenth of (largest RTT of the last 4 RTTs - RTTmin). If that
 * did not happen for 5 RTTs, other flows fill the queue: then 1/delta grows by 1 per RTT and halves at a
 * loss, as Reno does, until the queue is nearly empty again. Losses do nothing else.
 *
 * Which way W goes is decided once per RTT, by cwnd as it was one RTT ago. An RTT is over when a segment
 * is delivered that was sent after the last one was over. W is a real number of 2 segments at least.
 *
 * What the paper leaves open, or has otherwise:
 *  - A step against the current direction uses v = 1, and an RTT in which W stays ends the direction. Else a v that doubled on the way up takes W
 *    down to a tenth of the path's capacity, again and again; mvfst has this rule, too.
 *  - More than 20 segments lost in an RTT, and more than 30 % of what it began with, leave 0.7 W. The rule is of
 *    the authors' implementation. A flow that never meets an empty queue takes a full buffer for the path's
 *    delay; without this rule it would grow for ever.
 *  - v / delta is at most W, so that W at most doubles in an RTT. W grows only where it is what limits the
 *    sender. A timeout leaves W = 2, v = 1. Marks count as losses.
 *
 * Known weaknesses. Beyond some 100 segments of path a flow may swing between an eighth and twice the path
 * for ever: v doubles until an RTT after the turn, so each swing is as large as the one before. Several
 * flows that fill a short queue together take each other for others, compete, and lose much.
 *
 * competitive = off is what QUIC stacks run, with a delta of 0.04 or 0.05.
 */
#ifndef COPA_H
#define COPA_H

#include "cc.h"
#include "parts/windowed_max.h"

#define copa_PARAMS(P)                                                                         \
	P(delta, 500, 1000, 1, 1000, "",                                                       \
	  "what delay costs, in the default mode; the paper, 2.1")                             \
	P(competitive, 1, 1, 0, 1, "off|on",                                                   \
	  "whether it competes beside flows that fill the queue; the paper, 2.2")
#define copa_HOOKS(H, A) H(A, init) H(A, pkts_acked) H(A, cong_control) H(A, ssthresh) H(A, set_state)
#define copa_INVARIANTS(I) I(ca->weight <= COPA_WEIGHT_MAX)

#define COPA_LEAST 2U
#define COPA_MIN_RTT_US 10000000U
#define COPA_RTTS 31U        /* the last five RTTs, a bit each */
#define COPA_STEADY_RTTS 3
#define COPA_WEIGHT_ONE 256U /* of 1/delta */
#define COPA_WEIGHT_MAX (1U << 30)
#define COPA_LOST 20         /* segments of an RTT */
#define COPA_LOST_PERCENT 30

struct copa {
	struct windowed_max standing; /* of ~RTT, as is the next */
	struct windowed_max least;
	struct windowed_max greatest;
	u64 round_end;   /* an RTT is over when more than these segments are delivered */
	u32 began;       /* cwnd when it began */
	u32 fraction;    /* what W has beyond cwnd, in 2^-32 segments */
	u32 velocity;    /* v */
	u32 weight;      /* 1/delta */
	u32 lost;        /* segments since it began */
	u8 same;         /* RTTs that W has gone the same way, to 3 */
	u8 up;           /* which */
	u8 steady;       /* slow start is over */
	u8 empty;        /* whether the queue was nearly so in this RTT and those before */
};

CC_DECLARE_PARAMS(copa);
CC_CHECK_STATE(copa);

static inline u32 copa_standing_us(const struct copa *ca)
{
	return ~windowed_max(&ca->standing);
}

static inline u32 copa_queue_us(const struct copa *ca)
{
	u32 standing = copa_standing_us(ca), least = ~windowed_max(&ca->least);

	return standing > least ? standing - least : 0;
}

static inline u32 copa_default_weight(const struct copa_params *p)
{
	return 1000 * COPA_WEIGHT_ONE / p->delta;
}

/* Of the competitive mode; of the default mode if the queue was nearly empty lately. */
static inline void copa_choose_weight(struct copa *ca, const struct copa_params *p)
{
	u32 weight = copa_default_weight(p);

	if (p->competitive && !(ca->empty & COPA_RTTS))
		weight = cc_max(weight, cc_min(ca->weight + COPA_WEIGHT_ONE, COPA_WEIGHT_MAX));
	ca->weight = weight;
}

/* More of an RTT is lost than a queue that overflows explains. */
static inline u32 copa_lost_much(const struct copa *ca)
{
	return ca->lost > COPA_LOST && (u64)ca->lost * 100 > (u64)ca->began * COPA_LOST_PERCENT;
}

/* An RTT is over. */
static inline void copa_round(struct copa *ca, const struct copa_params *p, struct cc_window *w)
{
	u8 up = w->cwnd > ca->began;

	if (copa_lost_much(ca))
		w->cwnd = cc_max((u32)((u64)w->cwnd * 7 / 10), cc_min(w->cwnd, COPA_LEAST));
	ca->lost = 0;
	ca->same = up == ca->up && w->cwnd != ca->began && ca->steady
			   ? (u8)cc_min(ca->same + 1, COPA_STEADY_RTTS) : 0;
	ca->up = up;
	if (!ca->same)
		ca->velocity = 1;
	else if (ca->same == COPA_STEADY_RTTS && (u64)ca->velocity * 2 * ca->weight <= (u64)w->cwnd * COPA_WEIGHT_ONE)
		ca->velocity *= 2;
	ca->began = w->cwnd;
	copa_choose_weight(ca, p);
	ca->empty = (u8)(ca->empty << 1);
}

/* The share of a segment by which W moves for each segment acknowledged, in 2^-32. */
static inline u64 copa_step(const struct copa *ca, const struct cc_window *w, u32 grows)
{
	u32 velocity = grows == ca->up ? ca->velocity : 1;
	u64 whole = (u64)w->cwnd * COPA_WEIGHT_ONE, step = (u64)velocity * ca->weight;

	return ((step < whole ? step : whole) << 24) / w->cwnd;
}

static inline void copa_move(struct copa *ca, struct cc_window *w, const struct cc_ack *a)
{
	u64 real = (u64)w->cwnd << 32 | ca->fraction, least = (u64)COPA_LEAST << 32;
	u64 room = (u64)ca->weight * copa_standing_us(ca) / COPA_WEIGHT_ONE;
	u32 grows = (u64)w->cwnd * copa_queue_us(ca) <= room;
	u64 step = a->acked * copa_step(ca, w, grows);

	if (!grows)
		ca->steady = 1;
	if (grows && !cc_cwnd_limited(a))
		step = 0;
	else if (grows && !ca->steady)
		step = (u64)cc_min(a->acked, 1U << 31) << 32;
	if (grows)
		real = step < ~real ? real + step : ~0ULL;
	else
		real -= step < real ? step : real;
	real = real > least ? real : least;
	w->cwnd = cc_allowed(w, real >> 32);
	ca->fraction = (u32)real;
}

/* 2 W / RTTstanding in bytes/s. */
static inline u64 copa_pacing_rate(const struct copa *ca, const struct cc_window *w,
				   const struct cc_ack *a)
{
	u64 bytes = 2 * (u64)w->cwnd * a->mss, us = cc_max(copa_standing_us(ca), 1), whole = bytes / us;

	whole = whole < 1ULL << 43 ? whole : 1ULL << 43;
	return whole * 1000000 + bytes % us * 1000000 / us;
}

static inline void copa_init(struct copa *ca, const struct copa_params *p, struct cc_window *w,
			     const struct cc_ack *a)
{
	ca->round_end = a->delivered + a->in_flight;
	ca->began = w->cwnd;
	ca->velocity = 1;
	ca->weight = copa_default_weight(p);
	ca->up = 1;
	ca->empty = COPA_RTTS;
}

static inline void copa_pkts_acked(struct copa *ca, const struct copa_params *p, struct cc_window *w,
				   const struct cc_ack *a)
{
	u32 now = (u32)a->now_us, rtt = a->rtt_us, srtt = cc_min(a->srtt_us, 1U << 29), standing, least;

	(void)p;
	(void)w;
	windowed_max_add(&ca->standing, srtt / 2, now, ~rtt);
	CC_FORGET();
	windowed_max_add(&ca->least, COPA_MIN_RTT_US, now, ~rtt);
	CC_FORGET();
	windowed_max_add(&ca->greatest, 4 * srtt, now, rtt);
	CC_FORGET();
	standing = copa_standing_us(ca);
	least = ~windowed_max(&ca->least);
	if ((u64)(standing - cc_min(standing, least)) * 10 <= windowed_max(&ca->greatest) - (u64)least)
		ca->empty |= 1;
}

static inline void copa_cong_control(struct copa *ca, const struct copa_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	if (!windowed_max(&ca->standing))
		return; /* no RTT yet */
	ca->lost += cc_min(a->lost, ~ca->lost);
	if (cc_after(a->delivered, ca->round_end)) {
		ca->round_end = a->delivered + a->in_flight;
		copa_round(ca, p, w);
	}
	copa_move(ca, w, a);
	w->pacing_rate = copa_pacing_rate(ca, w, a);
}

/* A loss or a mark, once per window of data. */
static inline u32 copa_ssthresh(struct copa *ca, const struct copa_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	(void)a;
	ca->weight = cc_max(ca->weight / 2, copa_default_weight(p));
	return w->ssthresh;
}

static inline void copa_set_state(struct copa *ca, const struct copa_params *p, struct cc_window *w,
				  const struct cc_ack *a, u8 state)
{
	(void)p;
	if (state != CC_LOSS)
		return;
	ca->velocity = 1;
	ca->same = 0;
	ca->fraction = 0;
	ca->steady = 1;
	ca->lost = 0;
	ca->began = w->cwnd;
	ca->round_end = a->delivered;
}

#endif /* COPA_H */
