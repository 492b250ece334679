/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Scalable TCP: the window grows by a fixed part of itself per RTT, so that the time to recover
 * from a loss does not depend on the window (T. Kelly, "Scalable TCP: improving performance in
 * highspeed wide area networks", ACM SIGCOMM Computer Communication Review 33(2), 2003).
 *
 *   cwnd += a          per segment acknowledged, in congestion avoidance
 *   cwnd -= b * cwnd   on loss
 *
 * with a = 0.01, b = 0.125. Up to the legacy window lwnd = 16 it is Reno: 1/cwnd per segment, a
 * half on loss.
 *
 * Differences from the paper: none in effect; fractions of a segment are kept. A timeout takes
 * the same part as a loss.
 *
 * variant = linux is the kernel's module: one segment per min(cwnd, 100) acknowledged, on loss
 * an eighth, rounded down, and no legacy window: up to 100 segments it grows as Reno does.
 *
 * variant = ns2 is Linux 2.6.22's, in ns-2.35: it counts ACKs, grows by one segment once more
 * than min(cwnd, 50) of them have come (meant for delayed ACKs), and slow start includes
 * cwnd == ssthresh. The loss is that of linux.
 *
 * a, b and legacy_window are for variant = spec; the others' are fixed.
 */
#ifndef SCALABLE_H
#define SCALABLE_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"

#define scalable_PARAMS(P)                                                             \
	P(a, 100, 10000, 1, 10000, "",                                                 \
	  "growth per segment acknowledged; the paper")                                \
	P(b, 125, 1000, 1, 900, "",                                                    \
	  "what a loss takes of cwnd; the paper")                                      \
	P(legacy_window, 16, 1, 1, 1000000, "",                                        \
	  "lwnd, the largest window with Reno's growth and loss; the paper")           \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                   \
	  "whose rules: spec the paper's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux; Linux 6.1, ns-2.35") \
	SLOW_START_OR_SEARCH_PARAM(P)
#define scalable_HOOKS(H, A) H(A, init) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)
#define scalable_PROGRESS(M)                                                    \
	M(6, w->cwnd <= p->legacy_window ? 1 : p->a,                            \
	  w->cwnd <= p->legacy_window ? w->cwnd_cnt : ca->fraction,             \
	  w->cwnd <= p->legacy_window ? w->cwnd : 10000)
#define scalable_INVARIANTS(I) \
	I(ca->fraction <= 9999)

enum scalable_variant { SCALABLE_SPEC, SCALABLE_LINUX, SCALABLE_NS2 };

struct scalable {
	u32 fraction; /* of a segment of cwnd, in 1/10000 */
	union slow_start slow_start;
};

CC_DECLARE_PARAMS(scalable);
CC_CHECK_STATE(scalable);

static inline void scalable_paper_growth(struct scalable *ca, const struct scalable_params *p,
					 struct cc_window *w, u32 acked)
{
	u64 grown;

	if (w->cwnd <= p->legacy_window) {
		cc_additive_increase(w, w->cwnd, acked);
		return;
	}
	grown = ca->fraction + (u64)acked * p->a;
	ca->fraction = (u32)(grown % 10000);
	cc_grow(w, grown / 10000);
}

static inline void scalable_ns2_cong_avoid(struct cc_window *w)
{
	if (!cc_slow_start_ns2(w))
		cc_additive_increase_ns2(w, cc_min(w->cwnd, 50));
}

static inline void scalable_init(struct scalable *ca, const struct scalable_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	slow_start_init(&ca->slow_start.hystart, p->slow_start, a);
}

static inline void scalable_cong_avoid(struct scalable *ca, const struct scalable_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	u32 acked;

	if (p->variant == SCALABLE_NS2) {
		if (cc_cwnd_limited(a))
			scalable_ns2_cong_avoid(w);
		return;
	}
	slow_start_look(&ca->slow_start, p->slow_start, w, a);
	if (!cc_cwnd_limited(a))
		return;
	acked = slow_start_acked(&ca->slow_start.hystart, p->slow_start, w, a);
	if (cc_slow_start_took_all(w, &acked))
		return;
	if (p->variant == SCALABLE_LINUX)
		cc_additive_increase(w, cc_min(w->cwnd, 100), acked);
	else
		scalable_paper_growth(ca, p, w, acked);
}

static inline u32 scalable_ssthresh(struct scalable *ca, const struct scalable_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u32 left;

	(void)ca;
	(void)a;
	if (p->variant != SCALABLE_SPEC)
		left = w->cwnd - w->cwnd / 8;
	else if (w->cwnd <= p->legacy_window)
		left = w->cwnd / 2;
	else
		left = cc_part(w->cwnd, 1000 - p->b, 1000);
	return cc_max(left, 2);
}

static inline void scalable_set_state(struct scalable *ca, const struct scalable_params *p,
				      struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->slow_start.hystart, p->slow_start, a, state);
}

#endif /* SCALABLE_H */
