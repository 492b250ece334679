/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP DUAL: Reno that gives way before the queue is full. Every other RTT it cuts the window if the RTT is above the middle of the
 * smallest and the largest (Z. Wang, J. Crowcroft, "Eliminating Periodic Packet Losses in the 4.3-Tahoe BSD TCP Congestion
 * Control Algorithm", ACM CCR 22(2), 1992).
 *
 *   every other RTT, if RTT > RTTmin + (RTTmax - RTTmin) / 2:  cwnd = 7/8 cwnd
 *   growth      is Reno's
 *   loss        cwnd = ssthresh = cwnd / 2
 *   timeout     the same; RTTmin and RTTmax are forgotten
 *
 * RTT is the latest sample, RTTmin and RTTmax the smallest and the largest of the connection. An RTT is over when a segment is
 * delivered that was sent after the last one was over. RTTmax is a full queue only once one has been met: until then the middle
 * lies lower.
 *
 * A reconstruction: the paper's text was not at hand, the rules are those of descriptions (Brakmo and Peterson's of 1995 among
 * them). None says what becomes of ssthresh at such a cut. Here slow start goes on after it; in congestion avoidance ssthresh is
 * lowered to cwnd, so that it stays congestion avoidance.
 */
#ifndef DUAL_H
#define DUAL_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/round.h"
#include "parts/slow_start.h"

#define dual_PARAMS(P)                                                                 \
	P(threshold, 500, 1000, 0, 1000, "",                                           \
	  "the part of RTTmax - RTTmin above which the queue is too long; the paper")  \
	P(leave, 875, 1000, 500, 1000, "",                                             \
	  "what a queue that is too long leaves of cwnd; the paper")                   \
	SLOW_START_PARAM(P)
#define dual_HOOKS(H, A) \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)

#define DUAL_NONE 0x7fffffffU /* RTTmin without a sample */

struct dual {
	struct round round; /* rtt_us: the latest sample */
	u32 min_us;
	u32 max_us;
	u8 second; /* the next RTT that is over is the second of two */
	struct hystart hystart;
};

CC_DECLARE_PARAMS(dual);
CC_CHECK_STATE(dual);

/* What was known of the path is forgotten. */
static inline void dual_forget(struct dual *ca)
{
	ca->min_us = DUAL_NONE;
	ca->max_us = 0;
}

static inline void dual_init(struct dual *ca, const struct dual_params *p, struct cc_window *w,
			     const struct cc_ack *a)
{
	(void)w;
	ca->round.end = a->delivered + a->in_flight;
	dual_forget(ca);
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void dual_pkts_acked(struct dual *ca, const struct dual_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	ca->round.rtt_us = a->rtt_us;
	ca->min_us = cc_min(ca->min_us, a->rtt_us);
	ca->max_us = cc_max(ca->max_us, a->rtt_us);
	slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
}

/* Is the queue too long? Without samples since all was forgotten it is not. */
static inline int dual_is_queued(const struct dual *ca, const struct dual_params *p)
{
	u64 queue_us, queue_max_us;

	if (ca->max_us < ca->min_us)
		return 0;
	queue_us = ca->round.rtt_us - ca->min_us;
	queue_max_us = ca->max_us - ca->min_us;
	return queue_us * 1000 > queue_max_us * p->threshold;
}

static inline void dual_cong_avoid(struct dual *ca, const struct dual_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	u32 acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);

	if (round_over(&ca->round, a)) {
		ca->second = !ca->second;
		if (!ca->second && dual_is_queued(ca, p)) {
			u32 avoids = !cc_in_slow_start(w);

			w->cwnd = cc_max(cc_part(w->cwnd, p->leave, 1000), cc_min(w->cwnd, 2));
			if (avoids)
				w->ssthresh = cc_max(cc_min(w->ssthresh, w->cwnd), 2);
			return;
		}
	}
	if (cc_cwnd_limited(a))
		cc_reno_growth(w, acked);
}

static inline u32 dual_ssthresh(struct dual *ca, const struct dual_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	(void)ca;
	(void)p;
	(void)a;
	return cc_max(w->cwnd / 2, 2);
}

static inline void dual_set_state(struct dual *ca, const struct dual_params *p,
				  struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
	if (state == CC_LOSS)
		dual_forget(ca);
}

#endif /* DUAL_H */
