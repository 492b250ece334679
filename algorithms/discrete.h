/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Discrete TCP (DTCP): a loss in congestion avoidance is milder than one in slow start
 * (B. Gambhava, C. Bhensdadia, "Discrete TCP: Differentiating Slow Start and Congestion
 * Avoidance", International Journal of Intelligent Engineering and Systems 11(5), 2018).
 *
 *   slow start            cwnd += 1      per segment acknowledged
 *   congestion avoidance  cwnd += 1/cwnd per segment acknowledged
 *   fast retransmit       ssthresh = cwnd / 2    in slow start   (cwnd < ssthresh)
 *                         ssthresh = cwnd * 3/4  in congestion avoidance
 *   timeout               ssthresh = cwnd / 2
 *
 * of the window in use, min(cwnd, receive window), as the base it was built on (SACK TCP of
 * ns-2) takes its half. The paper's text "reduces by 3/4" is contradicted by its
 * pseudo-code, which reduces to 3/4.
 *
 * cut = raw takes 3/4 of cwnd itself, whatever the receive window, at every fast retransmit.
 * The paper describes no such thing, but of the readings tried it comes closest to the rows of
 * its Tables 2 to 4. It asks for a window that grows past the receive window, so growth is then
 * not held to what limits the sender, as ns-2's was not.
 *
 * variant = ns2-agent: cwnd is a real number (parts/real_window.h).
 */
#ifndef DISCRETE_H
#define DISCRETE_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/real_window.h"
#include "parts/slow_start.h"

#define discrete_PARAMS(P)                    \
	P(cut, 0, 1, 0, 1, "published|raw",   \
	  "raw: 3/4 of cwnd at every fast retransmit, whatever the receive window; fits Tables 2 to 4 of the paper") \
	P(variant, 0, 1, 0, 1, "spec|ns2-agent",  \
	  "whose rules: spec the paper's, ns2-agent those of ns-2's base agents, with a real cwnd that grows past the receive window; ns-2.35") \
	SLOW_START_PARAM(P)
#define discrete_HOOKS(H, A) H(A, init) H(A, cong_avoid) H(A, ssthresh) H(A, set_state) H(A, cwnd_event)
#define discrete_PROGRESS(M) M(1, 1, w->cwnd_cnt, w->cwnd)

enum discrete_cut { DISCRETE_PUBLISHED, DISCRETE_RAW };
enum discrete_variant { DISCRETE_SPEC, DISCRETE_NS2_AGENT };

struct discrete {
	u32 half; /* of the window at the last loss: ssthresh if it turns out a timeout */
	struct real_window real;
	struct hystart hystart;
};

CC_DECLARE_PARAMS(discrete);
CC_CHECK_STATE(discrete);

static inline void discrete_init(struct discrete *ca, const struct discrete_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void discrete_cong_avoid(struct discrete *ca, const struct discrete_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == DISCRETE_NS2_AGENT) {
		real_window_growth(&ca->real, w);
		return;
	}
	slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
	if (cc_cwnd_limited(a) || p->cut == DISCRETE_RAW)
		cc_reno_growth(w, slow_start_acked(&ca->hystart, p->slow_start, w, a));
}

static inline u32 discrete_ssthresh(struct discrete *ca, const struct discrete_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u32 window = cc_min(w->cwnd, a->snd_wnd), part = 3;

	ca->half = cc_max(window / 2, 2);
	if (p->cut == DISCRETE_RAW)
		window = w->cwnd;
	else if (cc_in_slow_start(w))
		part = 2;
	if (p->variant == DISCRETE_NS2_AGENT)
		return real_window_part(&ca->real, w, window, part);
	return cc_max(cc_part(window, part, 4), 2);
}

static inline void discrete_set_state(struct discrete *ca, const struct discrete_params *p,
				      struct cc_window *w, const struct cc_ack *a, u8 state)
{
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
	real_window_set_state(&ca->real, w, state);
}

static inline void discrete_cwnd_event(struct discrete *ca, const struct discrete_params *p,
				       struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)p;
	(void)a;
	if (event == CC_RTO)
		w->ssthresh = cc_max(ca->half, 2);
}

#endif /* DISCRETE_H */
