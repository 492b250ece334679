/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Elastic-TCP: the further the RTT is from the largest one seen, the emptier the bottleneck's
 * queue, and the faster the window grows (M. A. Alrshah, M. A. Al-Moqri, M. Othman,
 * "Elastic-TCP: Flexible Congestion Control Algorithm to Adapt for High-BDP Networks",
 * IEEE Systems Journal, 2019, DOI 10.1109/JSYST.2019.2896195).
 *
 *   WWF   = sqrt(RTTmax / RTTcur * cwnd)     window-correlated weighting function
 *   cwnd += WWF / cwnd                       per segment acknowledged, in congestion avoidance
 *   cwnd  = beta * cwnd                      on loss
 *
 * that is, WWF segments per RTT: sqrt(cwnd) on a full queue, sqrt(BDP + buffer) while a queue
 * stands. RTTcur is the last sample, RTTmax the largest of the connection. The paper also keeps
 * the smallest one but uses it nowhere.
 *
 * Differences from the paper, and what it leaves open:
 *  - beta is not stated. 0.9 is what Fig. 7a shows (29180 -> 26258, 30846 -> 27758).
 *  - Algorithm 1 takes samples in congestion avoidance alone, so that the queue built by slow
 *    start goes unseen: rtt_max_from = avoidance. The default counts slow start as well. The
 *    published figures do not decide: both give the windows and epochs of Fig. 7a, and all or
 *    nearly all of the points of Figs. 10a to 12a (papers/elastic-tcp). Samples taken while
 *    losses are repaired never count: they time the repair.
 *  - Fig. 1 sets ssthresh = cwnd - 1 after the cut, so that a stack whose slow start includes
 *    cwnd == ssthresh goes on in congestion avoidance. Here slow start ends at ssthresh, so the
 *    new ssthresh is beta * cwnd itself: same window after the cut, avoidance at once.
 *  - What becomes of RTTmax after a timeout is not stated: reset_rtt_on_rto, off by default
 *    ("over this connection").
 *  - The window never grows faster than in slow start. Without this bound it would where
 *    RTTmax / RTTcur > cwnd, a few segments after a timeout.
 *  - variant = spec keeps the fractions. authors is what the paper's figures were made with:
 *    growth per segment in whole thousandths, rounded down, the fraction lost at each cut
 *    (Fig. 7a: six below cwnd = 29166, five above).
 */
#ifndef ELASTIC_H
#define ELASTIC_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"

#define elastic_PARAMS(P)                                                                         \
	P(beta, 900, 1000, 100, 999, "",                                                          \
	  "multiplicative decrease factor; measured from Fig. 7a of the paper")                   \
	P(variant, 0, 1, 0, 1, "spec|authors",                                                  \
	  "whose rules: spec the paper's, authors those of its figures, with growth in whole thousandths; measured from Fig. 7a of the paper") \
	P(rtt_max_from, 0, 1, 0, 1, "all|avoidance",                                              \
	  "samples that RTTmax is taken from; avoidance: Algorithm 1, all: fits Fig. 7 of the paper") \
	P(reset_rtt_on_rto, 0, 1, 0, 1, "off|on",                                                 \
	  "forget RTTmax at a timeout; not stated in the paper") \
	SLOW_START_PARAM(P)
#define elastic_HOOKS(H, A) \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state) H(A, cwnd_event)

enum elastic_variant { ELASTIC_SPEC, ELASTIC_AUTHORS };
enum elastic_rtt_max_from { ELASTIC_ALL, ELASTIC_AVOIDANCE };

struct elastic {
	u32 rtt_us;     /* RTTcur: the last sample */
	u32 rtt_max_us; /* RTTmax: the largest sample */
	u32 fraction;   /* of a segment of cwnd, in 2^-32 (spec) or thousandths (authors) */
	struct hystart hystart;
};

CC_DECLARE_PARAMS(elastic);
CC_CHECK_STATE(elastic);

/* Growth per segment acknowledged, WWF / cwnd, in 2^-32. At most 1. */
static inline u64 elastic_growth(u32 rtt, u32 rtt_max, u32 cwnd)
{
	u64 product = (u64)rtt_max * cwnd;
	u64 whole = product / rtt; /* WWF^2 */
	u64 wwf, one = (u64)cwnd << 16;

	/* WWF in 2^-16: below 2^30 the square has room for 32 binary places, above it needs none. */
	if (whole < 1U << 30)
		wwf = cc_isqrt(whole << 32 | ((product - whole * rtt) << 32) / rtt);
	else
		wwf = (u64)cc_isqrt(whole) << 16;
	return ((wwf < one ? wwf : one) << 16) / cwnd;
}

/* The same in thousandths, rounded down: floor(sqrt(x)) is floor(sqrt(floor(x))). */
static inline u64 elastic_growth_thousandths(u32 rtt, u32 rtt_max, u32 cwnd)
{
	return cc_min(cc_isqrt((u64)rtt_max * 1000000 / ((u64)rtt * cwnd)), 1000);
}

static inline void elastic_init(struct elastic *ca, const struct elastic_params *p,
				struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void elastic_pkts_acked(struct elastic *ca, const struct elastic_params *p,
				      struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	if (a->state > CC_DISORDER)
		return;
	ca->rtt_us = a->rtt_us;
	if (p->rtt_max_from == ELASTIC_ALL)
		ca->rtt_max_us = cc_max(ca->rtt_max_us, a->rtt_us);
}

static inline void elastic_cong_avoid(struct elastic *ca, const struct elastic_params *p,
				      struct cc_window *w, const struct cc_ack *a)
{
	u32 rtt = cc_max(ca->rtt_us, 1), acked;
	u64 grown;

	slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
	if (!cc_cwnd_limited(a))
		return;
	acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);
	if (cc_slow_start_took_all(w, &acked))
		return;
	ca->rtt_max_us = cc_max(ca->rtt_max_us, rtt);
	if (p->variant == ELASTIC_AUTHORS) {
		grown = ca->fraction + acked * elastic_growth_thousandths(rtt, ca->rtt_max_us, w->cwnd);
		ca->fraction = (u32)(grown % 1000);
		grown /= 1000;
	} else {
		grown = ca->fraction + acked * elastic_growth(rtt, ca->rtt_max_us, w->cwnd);
		ca->fraction = (u32)grown;
		grown >>= 32;
	}
	cc_grow(w, grown);
}

static inline u32 elastic_ssthresh(struct elastic *ca, const struct elastic_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	if (p->variant == ELASTIC_AUTHORS)
		ca->fraction = 0;
	return cc_max(cc_part(w->cwnd, p->beta, 1000), 2);
}

static inline void elastic_set_state(struct elastic *ca, const struct elastic_params *p,
				     struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
}

static inline void elastic_cwnd_event(struct elastic *ca, const struct elastic_params *p,
				      struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)w;
	(void)a;
	if (event == CC_RTO && p->reset_rtt_on_rto)
		ca->rtt_max_us = 0;
}

#endif /* ELASTIC_H */
