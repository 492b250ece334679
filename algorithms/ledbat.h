/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * LEDBAT: background transport. It keeps the queue's delay at a target, and reduces when others push the
 * delay above it (S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind, RFC 6817).
 *
 *   base   = the smallest one-way delay of the last ten minutes
 *   q      = the smallest of the last four one-way delays - base
 *   off    = (TARGET - q) / TARGET                TARGET 100 ms; -1 at least
 *   W     += GAIN off u / W                       for u segments acknowledged; GAIN 1
 *   W     <= what was in flight before the ACK + 1
 *   loss     W = W / 2, once per RTT
 *
 * W is a real number of 2 segments at least; it begins at 2, there is no slow start, and without a sample
 * of the delay W stays. All steps are computed with its whole segments. A timeout leaves W = 1, the next
 * ACK makes it 2. That off is bounded is not in the RFC, which leaves open how fast W may fall.
 *
 * Known weaknesses: a flow that begins while another keeps the queue takes that queue for the path,
 * adds its own, and starves the first (RFC 6817, 4.4); where the buffer delays less than TARGET, it is
 * Reno; after the path has become longer it holds back for ten minutes. LEDBAT++ mends the first.
 *
 * delay = rtt uses round trips, for receivers that report no times; then queues of ACKs count as well.
 * A one-way delay ends when the receiver sends the ACK. It is the difference of two clocks: only its changes count, and a clock that runs faster
 * by a part of 10^-5 adds 6 ms in ten minutes. In a kernel it is in whole milliseconds, by the timestamps of
 * RFC 7323: the peer's clock has to count milliseconds, as Linux's does.
 */
#ifndef LEDBAT_H
#define LEDBAT_H

#include "cc.h"
#include "parts/delay_history.h"

#define ledbat_PARAMS(P)                                                                       \
	P(target_ms, 100, 1, 1, 1000, "",                                                      \
	  "TARGET, what the queue may delay; RFC 6817, 3.3")                                   \
	P(gain, 1000, 1000, 1, 1000, "",                                                       \
	  "GAIN, segments that W grows by in an RTT without a queue; RFC 6817, 2.4.2")         \
	P(delay, 0, 1, 0, 1, "one-way|rtt",                                                    \
	  "the delay it measures; RFC 6817, 2.5")
#define ledbat_HOOKS(H, A) H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh)
/* Also where another limit than cwnd holds the sender, but never beyond a segment more than was in flight. */
#define ledbat_GROWTH ((u64)a->acked + 1)

enum ledbat_delay { LEDBAT_ONE_WAY, LEDBAT_RTT };

#define LEDBAT_LEAST 2U
#define LEDBAT_MIDDLE 0x40000000U /* what the first delay counts as: later ones may be shorter */

struct ledbat {
	struct delay_history delays;
	u32 first_us;  /* the first delay */
	u32 fraction;  /* what W has beyond cwnd, in 2^-32 segments */
	u32 queue_us;  /* q */
	u8 has_first;
};

CC_DECLARE_PARAMS(ledbat);
CC_CHECK_STATE(ledbat);

/* A one-way delay may be anything and wrap around: its difference from the first is what counts. */
static inline void ledbat_sample(struct ledbat *ca, const struct cc_ack *a, u32 delay_us)
{
	u32 since;

	if (!delay_us)
		return;
	if (!ca->has_first)
		ca->first_us = delay_us;
	ca->has_first = 1;
	since = delay_us - ca->first_us + LEDBAT_MIDDLE;
	ca->queue_us = delay_history_add(&ca->delays, a, cc_min(since, DELAY_HISTORY_NONE - 1));
}

/* W becomes `real` 2^-32 segments, but no fewer than two. */
static inline void ledbat_set(struct ledbat *ca, struct cc_window *w, u64 real)
{
	u64 least = (u64)LEDBAT_LEAST << 32;

	real = real > least ? real : least;
	w->cwnd = cc_allowed(w, real >> 32);
	ca->fraction = (u32)real;
}

static inline void ledbat_init(struct ledbat *ca, const struct ledbat_params *p, struct cc_window *w,
			       const struct cc_ack *a)
{
	(void)p;
	delay_history_begin(&ca->delays, a);
	w->cwnd = cc_min(w->cwnd, LEDBAT_LEAST);
}

static inline void ledbat_pkts_acked(struct ledbat *ca, const struct ledbat_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	ledbat_sample(ca, a, p->delay == LEDBAT_RTT ? a->rtt_us : a->owd_us);
}

static inline void ledbat_cong_avoid(struct ledbat *ca, const struct ledbat_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	u64 target = (u64)p->target_ms * 1000, q = ca->queue_us, off, step;
	u64 real = (u64)w->cwnd << 32 | ca->fraction, most = ((u64)cc_min(a->prior_in_flight, 0xfffffffe) + 1) << 32;

	if (!ca->has_first)
		return; /* the queue is unknown */
	/* GAIN |off| in 2^-20; |off| is 1 at most. */
	off = q < target ? target - q : q - target;
	off = ((off < target ? off : target) << 20) / target * p->gain / 1000;
	step = (a->acked * off << 12) / w->cwnd + 1; /* rounded up: cwnd of them make a segment */
	if (q < target)
		real += step;
	else
		real -= step < real ? step : real;
	ledbat_set(ca, w, real < most ? real : most);
}

static inline u32 ledbat_ssthresh(struct ledbat *ca, const struct ledbat_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)a;
	ca->fraction = 0;
	return cc_max(w->cwnd / 2, LEDBAT_LEAST);
}

#endif /* LEDBAT_H */
