/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reno's window law (V. Jacobson 1988/1990; RFC 5681):
 *
 *   slow start            cwnd += 1      per segment acknowledged
 *   congestion avoidance  cwnd += 1/cwnd per segment acknowledged
 *   loss                  ssthresh = cwnd / 2
 *
 * How losses are repaired (Reno, NewReno, SACK) is the stack's choice, not this law's.
 *
 * Difference from RFC 5681: the half is taken of cwnd, as every kernel does, not of FlightSize;
 * the two are equal for a sender limited by cwnd, and growth happens for no other.
 */
#ifndef RENO_H
#define RENO_H

#include "cc.h"

#define reno_PARAMS(P)
#define reno_HOOKS(H, A) H(A, cong_avoid) H(A, ssthresh)

struct reno {
	u32 unused; /* the law needs no state beyond the window */
};

CC_DECLARE_PARAMS(reno);
CC_CHECK_STATE(reno);

static inline void reno_cong_avoid(struct reno *ca, const struct reno_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	(void)ca;
	(void)p;
	if (cc_cwnd_limited(a))
		cc_reno_growth(w, a->acked);
}

static inline u32 reno_ssthresh(struct reno *ca, const struct reno_params *p,
				struct cc_window *w, const struct cc_ack *a)
{
	(void)ca;
	(void)p;
	(void)a;
	return cc_max(w->cwnd / 2, 2);
}

#endif /* RENO_H */
