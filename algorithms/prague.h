/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Prague: DCTCP for the open Internet, where queues that mark early for scalable senders alone
 * (L4S, RFC 9330 to 9332) keep delays below a millisecond (K. De Schepper, O. Tilmans, B. Briscoe,
 * V. Goel, draft-briscoe-iccrg-prague-congestion-control; requirements: RFC 9331, 4.3).
 *
 *   vrtt  = max(SRTT, 25 ms)
 *   M     = marked / delivered segments since the last update
 *   alpha = alpha + (M - alpha) / 16         at the end of a round, vrtt apart; 1 at the first mark
 *   mark    W = W (1 - alpha / 2)            once per vrtt
 *   else    W += u / W (SRTT / vrtt)^2       for u unmarked segments
 *   loss    W = W / 2, less what a mark took in the same vrtt
 *
 * A rate with one mark in a vrtt per half a segment of growth: W = 2 (1 - p) / p per vrtt where marks
 * are evenly spread. It depends on p and not on the RTT below 25 ms, after the first rtt_independent
 * rounds: before that, growth is a segment per RTT, so that a flow finds its rate soon.
 *
 * Slow start is the standard one and ends at the first mark. The window is a real number; cwnd follows
 * it by a segment per ACK, and the rate is W per SRTT, 3 % more and less in turn for half a vrtt each;
 * twice that in slow start while W is below half of ssthresh.
 *
 * It needs ECN as the stack's l4s gives it: ECT(1) and a count of marks (AccECN). Differences from the
 * draft: no fallback where a queue marks for classic senders, which RFC 9331 asks for on the Internet:
 * there it takes several times the share of others. Segments do not shrink, so that W is 2 at least.
 * A kernel up to 6.18 has no AccECN: with classic feedback alpha is too large, and it is Reno at best.
 */
#ifndef PRAGUE_H
#define PRAGUE_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/growth.h"

#define prague_PARAMS(P)                                                                       \
	P(gain, 4, 1, 1, 10, "",                                                               \
	  "how slowly alpha follows, as a power of two: 4 is 1/16; the draft")                 \
	P(vrtt_ms, 25, 1, 0, 1000, "",                                                         \
	  "RTT below which the rate does not depend on it, in ms; the draft")                  \
	P(rtt_independent, 500, 1, 0, 1000000, "",                                             \
	  "rounds after slow start until that holds; the draft")                               \
	P(loss, 500, 1000, 100, 1000, "",                                                      \
	  "what a loss leaves of W; Reno's, as the draft allows")
#define prague_HOOKS(H, A) \
	H(A, init) H(A, cong_control) H(A, ssthresh) H(A, set_state) H(A, cwnd_event) H(A, undo_cwnd)
#define prague_INVARIANTS(I) \
	I(ca->window >= 1ULL << 32) \
	I(ca->window <= 0x7fffffffULL << 32) \
	I(ca->undo <= 0x7fffffffULL << 32) \
	I(ca->alpha <= PRAGUE_ONE) \
	I(ca->credit <= 0x7fffffffULL << 32)
/* cwnd follows W by a segment where it is not slow start. */
#define prague_GROWTH cc_max(a->acked, 1)

#define PRAGUE_ONE (1U << 24)      /* of alpha */
#define PRAGUE_LEAST (2ULL << 32) /* W, in 2^-32 segments */

struct prague {
	u64 window;       /* W, in 2^-32 segments */
	u64 undo;         /* W before the last loss */
	u64 credit;       /* what the last mark took of W */
	u64 delivered;    /* segments delivered at the last update of alpha */
	u64 delivered_ce; /* and how many of them were marked */
	u64 round_end;    /* a round is over when more than these are delivered */
	u32 alpha;        /* in 2^-24 */
	u32 updated_us;   /* when alpha was updated last */
	u32 cut_us;       /* when a mark took of W last */
	u32 rounds;       /* since slow start ended */
	u32 fraction;     /* of W, in 2^-64 segments */
	u8 marked;        /* there was a mark */
	u8 cut;           /* one took of W less than a vrtt ago */
};

CC_DECLARE_PARAMS(prague);
CC_CHECK_STATE(prague);

static inline u32 prague_vrtt_us(const struct prague_params *p, const struct cc_ack *a)
{
	return cc_max(a->srtt_us, p->vrtt_ms * 1000);
}

/* alpha moves by 1/2^gain of the way towards marked / delivered, to 0 and to 1 in the end. */
static inline u32 prague_towards(u32 alpha, u32 gain, u64 marked, u64 delivered)
{
	u64 most = 1ULL << 38, add;

	alpha -= (alpha >> gain) + ((alpha & ((1U << gain) - 1)) > 0);
	if (!delivered || !marked)
		return alpha;
	marked = marked < most ? marked : most;
	add = (marked << (24 - gain)) / delivered;
	return cc_min(alpha + (u32)(add < PRAGUE_ONE ? add + 1 : PRAGUE_ONE), PRAGUE_ONE);
}

static inline void prague_round(struct prague *ca, const struct prague_params *p,
				const struct cc_ack *a)
{
	u32 now = (u32)a->now_us;

	if (!cc_after(a->delivered, ca->round_end))
		return;
	ca->round_end = a->delivered + a->in_flight;
	ca->rounds += ca->marked && ca->rounds < 0xffffffff;
	if (now - ca->updated_us < prague_vrtt_us(p, a))
		return;
	ca->updated_us = now;
	ca->alpha = prague_towards(ca->alpha, p->gain, cc_since(a->delivered_ce, ca->delivered_ce),
				   cc_since(a->delivered, ca->delivered));
	ca->delivered = a->delivered;
	ca->delivered_ce = a->delivered_ce;
}

/* W less its part alpha / 2, two segments at least. */
static inline void prague_cut(struct prague *ca, struct cc_window *w, const struct cc_ack *a)
{
	u64 least = ca->window < PRAGUE_LEAST ? ca->window : PRAGUE_LEAST;
	u64 cut = (ca->window >> 25) * ca->alpha + ((ca->window & 0x1ffffff) * ca->alpha >> 25);

	ca->credit = cut < ca->window - least ? cut : ca->window - least;
	ca->window -= ca->credit;
	ca->cut_us = (u32)a->now_us;
	ca->cut = 1;
	w->ssthresh = cc_max((u32)(ca->window >> 32), 2);
}

/* What a segment grows W by, in 2^-64: 1 / W, times (SRTT / vrtt)^2 once the rate is independent of the RTT. */
static inline u64 prague_growth(const struct prague *ca, const struct prague_params *p,
				const struct cc_ack *a)
{
	u64 growth = ~0ULL / (ca->window >> 16) << 16;
	u64 vrtt = prague_vrtt_us(p, a), part;

	if (ca->rounds < p->rtt_independent || a->srtt_us >= vrtt)
		return growth;
	part = ((u64)a->srtt_us << 16) / vrtt;
	part *= part;
	return (growth >> 32) * part + ((growth & 0xffffffff) * part >> 32);
}

static inline void prague_add(struct prague *ca, u32 segments, u64 growth)
{
	u64 low = (growth & 0xffffffff) * segments + ca->fraction;

	ca->fraction = (u32)low;
	ca->window += (growth >> 32) * segments + (low >> 32);
}

static inline void prague_grow(struct prague *ca, const struct prague_params *p,
			       const struct cc_window *w, const struct cc_ack *a)
{
	u64 most = (u64)cc_max(cc_min(w->cwnd_clamp, CC_SSTHRESH_INFINITE), 1) << 32;
	u32 unmarked = a->acked - cc_min(a->ce, a->acked);

	if (cc_in_slow_start(w))
		ca->window += (u64)cc_min(unmarked, w->ssthresh - w->cwnd) << 32;
	else if (a->state != CC_LOSS)
		prague_add(ca, unmarked, prague_growth(ca, p, a));
	ca->window = ca->window < most ? ca->window : most;
}

static inline void prague_pace(const struct prague *ca, const struct prague_params *p,
			       struct cc_window *w, const struct cc_ack *a)
{
	u64 bytes = (ca->window >> 16) * a->mss, rate, most = 1ULL << 43; /* in 2^-16 */
	u32 srtt_us = a->srtt_us, percent = 100;

	if (!srtt_us)
		return;
	if (ca->window >> 32 < w->ssthresh / 2)
		percent = 200;
	else if (ca->marked)
		percent = a->now_us / cc_max(prague_vrtt_us(p, a) / 2, 1) % 2 ? 97 : 103;
	rate = bytes / srtt_us < most ? bytes / srtt_us : most;
	rate = (rate * 1000000 + bytes % srtt_us * 1000000 / srtt_us) >> 16;
	rate = rate * percent / 100;
	w->pacing_rate = rate > 12500 ? rate : 12500;
}

static inline void prague_init(struct prague *ca, const struct prague_params *p,
			       struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	ca->window = (u64)w->cwnd << 32;
	ca->delivered = a->delivered;
	ca->delivered_ce = a->delivered_ce;
	ca->round_end = a->delivered + a->in_flight;
	ca->updated_us = (u32)a->now_us;
}

static inline void prague_cong_control(struct prague *ca, const struct prague_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	u32 target;

	prague_round(ca, p, a);
	if (ca->cut && (u32)a->now_us - ca->cut_us >= prague_vrtt_us(p, a))
		ca->cut = 0;
	if (a->ce && !ca->marked) {
		ca->marked = 1;
		ca->alpha = PRAGUE_ONE;
	}
	if (a->ce && !ca->cut && a->state <= CC_CWR)
		prague_cut(ca, w, a);
	if (a->state != CC_RECOVERY && (cc_cwnd_limited(a) || !(a->flags & CC_APP_LIMITED)))
		prague_grow(ca, p, w, a);
	target = cc_allowed(w, cc_max((u32)((ca->window + 0xffffffff) >> 32), 2));
	if (w->cwnd > target)
		w->cwnd--;
	else if (cc_in_slow_start(w))
		w->cwnd += cc_min(a->acked, target - w->cwnd);
	else
		w->cwnd += w->cwnd < target;
	prague_pace(ca, p, w, a);
}

/* The algorithm reduces by itself: at a mark as an ACK comes, at a loss in set_state. */
static inline u32 prague_ssthresh(struct prague *ca, const struct prague_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	(void)ca;
	(void)p;
	(void)a;
	return cc_max(w->ssthresh, 2);
}

static inline void prague_lose(struct prague *ca, const struct prague_params *p, struct cc_window *w)
{
	u64 used = (u64)w->cwnd << 32, left;

	ca->undo = ca->window;
	used = ca->window < used ? ca->window : used;
	left = (used + (ca->cut ? ca->credit : 0)) / 1000 * p->loss;
	/* A mark of this vrtt has taken its part. */
	left = left < used ? left : used;
	ca->window = left > PRAGUE_LEAST ? left : PRAGUE_LEAST;
	w->ssthresh = (u32)(ca->window >> 32);
}

static inline void prague_set_state(struct prague *ca, const struct prague_params *p,
				    struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)a;
	if (state == CC_RECOVERY) {
		prague_lose(ca, p, w);
		w->cwnd = cc_allowed(w, cc_max(cc_min(w->cwnd, w->ssthresh), 2));
	} else if (state == CC_LOSS) {
		ca->window = (u64)cc_max(w->cwnd, 1) << 32;
	}
}

static inline void prague_cwnd_event(struct prague *ca, const struct prague_params *p,
				     struct cc_window *w, const struct cc_ack *a, u8 event)
{
	if (event == CC_RTO && a->state != CC_LOSS)
		prague_lose(ca, p, w);
}

static inline u32 prague_undo_cwnd(struct prague *ca, const struct prague_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)a;
	ca->window = ca->undo > ca->window ? ca->undo : ca->window;
	return cc_allowed(w, cc_max(w->cwnd, (u32)(ca->window >> 32)));
}

#endif /* PRAGUE_H */
