/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP-Africa: HighSpeed TCP while the queue is empty, Reno once it is not (R. King, R. Baraniuk,
 * R. Riedi, "TCP-Africa: An Adaptive and Fair Rapid Increase Rule for Scalable TCP",
 * INFOCOM 2005).
 *
 *   D     = W (aRTT - minRTT) / aRTT        segments of the flow that wait in queues
 *   cwnd += a(W) / W                        if D < alpha: fast mode
 *   cwnd += 1 / W                           otherwise: slow mode
 *                                           per segment acknowledged, in congestion avoidance
 *   cwnd  = (1 - b(W)) W                    on loss
 *
 * with a(W) and b(W) of HighSpeed TCP: highspeed.h, which has them by the RFC's formulas. aRTT
 * is the smoothed RTT, a new sample counting an eighth, minRTT the smallest sample of the
 * connection.
 *
 * A reconstruction: the paper's text was not at hand, the rules are those of a derived work and
 * of descriptions, and none of them has the value of alpha. It is 1 here; as it counts queued
 * segments, another value of that order moves the change of mode by as many segments. The mode is
 * chosen anew with every ACK. Without a sample the mode is slow. A timeout takes the same part as
 * a loss.
 *
 * slow_loss = half is the rule of Alrshah et al. (Journal of Network and Computer Applications 43,
 * 2014, 2.6): slow mode behaves as NewReno at a loss, too.
 */
#ifndef AFRICA_H
#define AFRICA_H

#include "cc.h"
#include "highspeed.h"
#include "parts/growth.h"

#define africa_PARAMS(P)                                                                   \
	P(alpha, 10, 10, 1, 10000000, "",                                                  \
	  "queued segments of the flow at which fast mode ends; a reconstruction")         \
	P(slow_loss, 0, 1, 0, 1, "b|half",                                                 \
	  "what a loss in slow mode takes: b(W) as in fast mode, or a half; Alrshah et al. 2014, 2.6")
#define africa_HOOKS(H, A) H(A, init) H(A, cong_avoid) H(A, ssthresh)
#define africa_INVARIANTS(I) HIGHSPEED_INVARIANTS(I, &ca->fast, &highspeed_defaults)

enum africa_slow_loss { AFRICA_B, AFRICA_HALF };

struct africa {
	struct highspeed fast; /* a and b, and the fraction of a segment that fast mode gathers */
};

CC_DECLARE_PARAMS(africa);
CC_CHECK_STATE(africa);

static inline void africa_init(struct africa *ca, const struct africa_params *p,
			       struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	highspeed_init(&ca->fast, &highspeed_defaults, w, a);
}

/* Fast mode: fewer than alpha segments of the flow wait in queues. */
static inline int africa_is_fast(const struct africa_params *p, const struct cc_window *w,
				 const struct cc_ack *a)
{
	u32 base = cc_min(a->min_rtt_us, a->srtt_us);

	return (u64)w->cwnd * (a->srtt_us - base) < (u64)p->alpha * a->srtt_us / 10;
}

static inline void africa_cong_avoid(struct africa *ca, const struct africa_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	u32 acked = a->acked;

	if (!cc_cwnd_limited(a))
		return;
	if (cc_slow_start_took_all(w, &acked))
		return;
	if (africa_is_fast(p, w, a))
		highspeed_rfc_growth(&ca->fast, &highspeed_defaults, w, acked);
	else
		cc_additive_increase(w, w->cwnd, acked);
}

static inline u32 africa_ssthresh(struct africa *ca, const struct africa_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	if (p->slow_loss == AFRICA_HALF && !africa_is_fast(p, w, a))
		return cc_max(w->cwnd / 2, 2);
	return highspeed_ssthresh(&ca->fast, &highspeed_defaults, w, a);
}

#endif /* AFRICA_H */
