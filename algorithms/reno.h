/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reno: the window grows by one segment per RTT and is halved on loss (V. Jacobson 1988/1990;
 * RFC 5681):
 *
 *   slow start            cwnd += 1      per segment acknowledged
 *   congestion avoidance  cwnd += 1/cwnd per segment acknowledged
 *   loss                  ssthresh = cwnd / 2
 *
 * How losses are repaired (Tahoe, Reno, NewReno, SACK, FACK) is the stack's choice, not this
 * algorithm's.
 *
 * Difference from RFC 5681: the half is taken of cwnd, as every kernel does, not of FlightSize;
 * the two are equal for a sender limited by cwnd, and growth happens for no other.
 *
 * variant = ns2-agent is that of the base agents of ns-2.35 (Agent/TCP, /Reno, /Newreno, /Sack1,
 * /Fack): cwnd is a real number, grows whatever limits the sender, by ACKs, and the half is that of
 * min(cwnd, receive window). variant = ns2-no-module is that of Agent/TCP/Linux without a module
 * (no select_ca): the same, but the half is that of whole segments. variant = ns2 is its module
 * reno, of Linux 2.6.22: it counts ACKs, and slow start includes cwnd == ssthresh.
 */
#ifndef RENO_H
#define RENO_H

#include "cc.h"
#include "parts/real_window.h"
#include "parts/slow_start.h"

#define reno_PARAMS(P)                                          \
	P(variant, 0, 1, 0, 3, "spec|ns2|ns2-agent|ns2-no-module",  \
	  "whose rules: spec the RFC's, ns2 those of Agent/TCP/Linux's module, ns2-agent those of the base agents, ns2-no-module those of Agent/TCP/Linux without a module; ns-2.35") \
	SLOW_START_OR_SEARCH_PARAM(P)
#define reno_HOOKS(H, A) H(A, init) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)
#define reno_PROGRESS(M) M(1, 1, w->cwnd_cnt, w->cwnd)

enum reno_variant { RENO_SPEC, RENO_NS2, RENO_NS2_AGENT, RENO_NS2_NO_MODULE };

struct reno {
	struct real_window real;
	union slow_start slow_start;
};

CC_DECLARE_PARAMS(reno);
CC_CHECK_STATE(reno);

static inline void reno_init(struct reno *ca, const struct reno_params *p, struct cc_window *w,
			     const struct cc_ack *a)
{
	(void)w;
	slow_start_init(&ca->slow_start.hystart, p->slow_start, a);
}

/* Growth where slow start may end before a loss. */
CC_RARE void reno_growth_with_look(struct reno *ca, const struct reno_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	slow_start_look(&ca->slow_start, p->slow_start, w, a);
	if (cc_cwnd_limited(a))
		cc_reno_growth(w, slow_start_acked(&ca->slow_start.hystart, p->slow_start, w, a));
}

static inline void reno_cong_avoid(struct reno *ca, const struct reno_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == RENO_NS2_AGENT || p->variant == RENO_NS2_NO_MODULE) {
		real_window_growth(&ca->real, w);
		return;
	}
	if (p->variant == RENO_NS2) {
		if (cc_cwnd_limited(a))
			cc_reno_growth_ns2(w);
	} else if (p->slow_start == SLOW_START_STANDARD) {
		if (cc_cwnd_limited(a))
			cc_reno_growth(w, a->acked);
	} else {
		reno_growth_with_look(ca, p, w, a);
	}
}

static inline u32 reno_ssthresh(struct reno *ca, const struct reno_params *p,
				struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == RENO_SPEC || p->variant == RENO_NS2)
		return cc_max(w->cwnd / 2, 2);
	if (p->variant == RENO_NS2_NO_MODULE)
		ca->real.fraction = 0;
	return real_window_part(&ca->real, w, cc_min(w->cwnd, a->snd_wnd), 2);
}

static inline void reno_set_state(struct reno *ca, const struct reno_params *p,
				  struct cc_window *w, const struct cc_ack *a, u8 state)
{
	slow_start_set_state(&ca->slow_start.hystart, p->slow_start, a, state);
	real_window_set_state(&ca->real, w, state);
}

#endif /* RENO_H */
