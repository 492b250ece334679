/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * DCTCP: the window is cut by how many segments were marked, not by whether one was (RFC 8257; M.
 * Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010). With switches that mark above a short
 * queue, flows share a link at full rate and keep the queue near that length.
 *
 *   M     = marked / delivered segments of a window of data
 *   alpha = (1 - g) alpha + g M                       once per window, g = 1/16
 *   mark    W = W (1 - alpha / 2)                     once per window; ssthresh the same
 *   else    Reno's growth, and its answer to losses and timeouts
 *
 * alpha begins at 1, so that the first mark halves the window. It needs a receiver that tells of
 * every mark: the stack's ecn is dctcp by default, and accurate serves as well. With classic
 * feedback all segments until the echo ends count as marked, alpha is about 1, and it is Reno.
 *
 * A window of data is over when a segment is delivered that was sent after it began; RFC 8257 and
 * Linux go by the left edge, which stands still at a hole. Sums are in segments, not in bytes.
 *
 * variant = spec
 *  - The window grows while it is being reduced for a mark, as RFC 8257, 3.4 has it: by the segment
 *    that a window of data earns. That makes the queue a little longer, and alpha larger.
 *  - A loss in a window that was reduced for a mark reduces nothing more (RFC 8257, 3.5).
 * variant = linux
 *  - No growth in that window, a further cut to the half at a loss in it, alpha in 1/1024.
 *  - A window of data is over when all that was in flight is delivered, and its sums lack the ACK that
 *    shows it.
 */
#ifndef DCTCP_H
#define DCTCP_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"

#define dctcp_PARAMS(P)                                                                        \
	P(gain, 4, 1, 1, 10, "",                                                               \
	  "g as a power of two: 4 is 1/16; RFC 8257, 4.2")                                     \
	P(initial_alpha, 1024, 1024, 0, 1024, "",                                              \
	  "alpha at the start, which the first cut depends on; RFC 8257, 4.1")                 \
	P(variant, 0, 1, 0, 1, "spec|linux",                                                   \
	  "whose rules: spec the RFC's, linux those of the kernel's module; Linux 6.1")        \
	SLOW_START_OR_SEARCH_PARAM(P)
#define dctcp_HOOKS(H, A)                                                                      \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)            \
	H(A, cwnd_event) H(A, undo_cwnd)
#define dctcp_PROGRESS(M) M(1, 1, w->cwnd_cnt, w->cwnd)
#define dctcp_INVARIANTS(I) \
	I(ca->alpha <= DCTCP_ONE)

enum dctcp_variant { DCTCP_SPEC, DCTCP_LINUX };

#define DCTCP_ONE (1U << 20) /* of alpha */

struct dctcp {
	u64 round_end;    /* a window of data is over when more than these segments are delivered */
	u64 delivered;    /* segments delivered when it began */
	u64 delivered_ce; /* and how many of them were marked */
	u32 alpha;        /* in 2^-20 */
	u32 loss_cwnd;    /* cwnd before the last reduction */
	u32 earned;       /* segments delivered while the window is being reduced for a mark */
	union slow_start slow_start;
};

CC_DECLARE_PARAMS(dctcp);
CC_CHECK_STATE(dctcp);

/* A window of data begins after the first `delivered` segments, `ce` of them marked. */
static inline void dctcp_begin_round(struct dctcp *ca, const struct cc_ack *a, u64 delivered, u64 ce)
{
	ca->round_end = a->delivered + a->in_flight;
	ca->delivered = delivered;
	ca->delivered_ce = ce;
}

/* alpha moves by 1/2^gain of the way towards marked / delivered, to 0 and to 1 in the end. */
static inline u32 dctcp_towards(u32 alpha, u32 gain, u64 marked, u64 delivered)
{
	u64 most = 1ULL << 40, add;

	alpha -= (alpha >> gain) + ((alpha & ((1U << gain) - 1)) > 0);
	if (!delivered || !marked)
		return alpha;
	marked = marked < most ? marked : most;
	add = (marked << (20 - gain)) / delivered;
	return cc_min(alpha + (u32)(add < DCTCP_ONE ? add + 1 : DCTCP_ONE), DCTCP_ONE);
}

/* The same in 1/1024, as the kernel has it. */
static inline u32 dctcp_linux_towards(u32 alpha, u32 gain, u64 marked, u64 delivered)
{
	u32 less = alpha >> gain, more = (u32)marked << (10 - gain);

	alpha -= less ? less : alpha;
	if (marked)
		alpha = cc_min(alpha + more / cc_max((u32)delivered, 1), 1024);
	return alpha;
}

static inline void dctcp_init(struct dctcp *ca, const struct dctcp_params *p, struct cc_window *w,
			      const struct cc_ack *a)
{
	(void)w;
	ca->alpha = p->initial_alpha << 10;
	dctcp_begin_round(ca, a, a->delivered, a->delivered_ce);
	slow_start_init(&ca->slow_start.hystart, p->slow_start, a);
}

static inline void dctcp_pkts_acked(struct dctcp *ca, const struct dctcp_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u64 delivered = a->delivered, ce = a->delivered_ce;

	if (p->variant == DCTCP_SPEC && a->state == CC_CWR) {
		ca->earned += cc_min(a->acked, ~ca->earned);
		if (ca->earned >= w->cwnd) {
			ca->earned -= w->cwnd;
			w->ssthresh = cc_allowed(w, (u64)w->ssthresh + 1);
		}
	}
	if (!cc_after(a->delivered + (p->variant == DCTCP_LINUX), ca->round_end))
		return;
	if (p->variant == DCTCP_LINUX) {
		delivered -= a->acked;
		ce -= a->ce;
		ca->alpha = dctcp_linux_towards(ca->alpha >> 10, p->gain, cc_since(ce, ca->delivered_ce),
						cc_since(delivered, ca->delivered)) << 10;
	} else {
		ca->alpha = dctcp_towards(ca->alpha, p->gain, cc_since(ce, ca->delivered_ce),
					  cc_since(delivered, ca->delivered));
	}
	dctcp_begin_round(ca, a, delivered, ce);
}

static inline void dctcp_cong_avoid(struct dctcp *ca, const struct dctcp_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	slow_start_look(&ca->slow_start, p->slow_start, w, a);
	if (cc_cwnd_limited(a))
		cc_reno_growth(w, slow_start_acked(&ca->slow_start.hystart, p->slow_start, w, a));
}

/* The answer to a mark; a loss overwrites it. */
static inline u32 dctcp_ssthresh(struct dctcp *ca, const struct dctcp_params *p, struct cc_window *w,
				 const struct cc_ack *a)
{
	u32 cut = (u32)((u64)w->cwnd * ca->alpha / (2 * DCTCP_ONE));

	(void)p;
	(void)a;
	ca->loss_cwnd = w->cwnd;
	ca->earned = 0;
	return cc_max(w->cwnd - cut, 2);
}

static inline void dctcp_halve(struct dctcp *ca, struct cc_window *w)
{
	ca->loss_cwnd = w->cwnd;
	w->ssthresh = cc_max(w->cwnd / 2, 2);
}

static inline void dctcp_set_state(struct dctcp *ca, const struct dctcp_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 state)
{
	if (state == CC_RECOVERY && (p->variant == DCTCP_LINUX || a->state != CC_CWR))
		dctcp_halve(ca, w);
	slow_start_set_state(&ca->slow_start.hystart, p->slow_start, a, state);
}

static inline void dctcp_cwnd_event(struct dctcp *ca, const struct dctcp_params *p,
				    struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)p;
	(void)a;
	if (event == CC_RTO)
		dctcp_halve(ca, w);
}

static inline u32 dctcp_undo_cwnd(struct dctcp *ca, const struct dctcp_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)a;
	return cc_allowed(w, cc_max(w->cwnd, ca->loss_cwnd));
}

#endif /* DCTCP_H */
