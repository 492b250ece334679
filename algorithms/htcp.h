/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * H-TCP: Reno for the first second after a loss, then faster the longer it lasts; a loss takes
 * no more than what empties the queue (D. Leith, R. Shorten, "H-TCP: TCP for high-speed and
 * long-distance networks", PFLDnet 2004).
 *
 *   Delta = time since the last congestion event
 *   alpha = 1                                      for Delta <= Delta_L
 *   alpha = 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L) / 2)^2    beyond, in seconds
 *   cwnd += 2 (1 - beta) alpha / cwnd              per segment acknowledged
 *   cwnd  = beta cwnd                              on loss
 *   beta  = RTTmin / RTTmax, within [0.5, 0.8]     (adaptive backoff)
 *   beta  = 0.5 if |B(k+1) - B(k)| / B(k) > 0.2    (bandwidth switch)
 *
 * with Delta_L = 1 s, and B(k) the throughput just before congestion event k. beta is computed
 * at each event and holds until the next; until the first it is 0.5. With no event before it,
 * the first one cuts by half.
 *
 * What the paper leaves open:
 *  - Delta runs from the start of a repair, and from the connection's start before the first.
 *  - RTTmin and RTTmax are those of the connection; samples taken during a repair do not count.
 *  - B is the number of segments delivered in the last full RTT, over its duration. An RTT is
 *    over when a segment is delivered that was sent after the last one was over; the end of a
 *    repair starts one afresh.
 *  - A timeout is an event like any other.
 *  - The window never grows faster than in slow start.
 *
 * rtt_scaling = on multiplies alpha by RTTmin / 100 ms, held to [0.1, 2], but leaves it at 1 at
 * least, so that growth per second depends less on the RTT. Off by default; the others have it.
 *
 * variant = linux is the kernel's module, in ticks of 4 ms, 1/128 and whole alphas. What it
 * does otherwise:
 *  - RTT scaling, always. alpha is rounded down, but 1 at least; it is computed at a loss and
 *    again after each segment of growth. Delta restarts when the repair is over.
 *  - Growth: one segment once alpha times the segments acknowledged reach cwnd; the ACK that
 *    finds this does not count. In slow start, segments left over at ssthresh are forgotten.
 *  - RTTmax grows only in the open state and by 20 ms per sample; each event takes 5 % of its
 *    distance from RTTmin. RTT samples are rounded up to ticks.
 *  - beta is adapted only if RTTmin is above 12 ms and the last event did not find the bandwidth
 *    changed, nor was the first of all.
 *  - B is measured over cwnd - alpha segments and RTTmin at least, averaged with weight 1/4 once
 *    more than three RTTs have passed since the event, and its maximum taken. What is compared
 *    is 5 B(k+1) with 4 B(k) and 6 B(k). The maximum starts anew only within the three RTTs.
 *
 * variant = ns2 is Linux 2.6.22's, in ns-2.35: as linux, but in ticks of 1 ms; RTT is the smoothed one,
 * rounded down, and only looked at in congestion avoidance; RTTmax only with ssthresh below 65535
 * and more than three RTTs after an event; any return to the open state restarts Delta and the
 * count for B; slow start includes cwnd == ssthresh.
 *
 * The other parameters are for variant = spec; here they are fixed.
 */
#ifndef HTCP_H
#define HTCP_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"
#include "parts/ticks.h"

#define htcp_PARAMS(P)                                                                 \
	P(delta_l, 1000, 1000, 0, 100000, "",                                          \
	  "Delta_L, how long after an event growth is Reno's, in s; the paper")        \
	P(beta_min, 500, 1000, 100, 700, "",                                           \
	  "smallest part that a loss leaves, and the one after a change of bandwidth; the paper") \
	P(beta_max, 800, 1000, 700, 999, "",                                           \
	  "largest part that a loss leaves; the paper")                                \
	P(throughput_ratio, 200, 1000, 0, 10000, "",                                   \
	  "change of throughput between two events that turns adaptive backoff off; the paper") \
	P(rtt_scaling, 0, 1, 0, 1, "off|on",                                           \
	  "alpha in proportion to the RTT; Linux 6.1")                                 \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                   \
	  "whose rules: spec the paper's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux; Linux 6.1, ns-2.35") \
	SLOW_START_PARAM(P)
#define htcp_HOOKS(H, A)                                                               \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event) H(A, undo_cwnd)
/* 2 (1 - beta) alpha / cwnd in 2^-32 for the largest beta and the smallest alpha. */
#define htcp_PROGRESS(M) M(6, cc_max(1717985280 / w->cwnd, 1), ca->paper.fraction, 1ULL << 32)
#define htcp_INVARIANTS(I) \
	I(p->variant != HTCP_SPEC || ca->paper.beta <= p->beta_max * 1000) \
	I(p->variant != HTCP_SPEC || ca->paper.event_rate <= 1ULL << 48) \
	I(p->variant != HTCP_SPEC || ca->paper.before_rate <= 1ULL << 48)

enum htcp_variant { HTCP_SPEC, HTCP_LINUX, HTCP_NS2 };

#define HTCP_SCALE 1000000 /* beta is in 1/HTCP_SCALE */

struct htcp_paper {
	u64 event_us;        /* time of the last congestion event */
	u64 before_event_us; /* and of the one before it, for undo */
	u64 round_end;       /* an RTT is over when more than these segments are delivered */
	u64 round_start;     /* segments delivered when it began */
	u64 round_us;        /* when it began */
	u64 rate;            /* segments delivered per 1000 s, in the last full RTT */
	u64 event_rate;      /* B(k): rate at the last event; 0: none yet */
	u64 before_rate;     /* and at the one before it, for undo */
	u32 rtt_min_us;      /* RTTmin; 0: none yet */
	u32 rtt_max_us;      /* RTTmax */
	u32 beta;
	u32 fraction;        /* of a segment of cwnd, in 2^-32 */
};

struct htcp_kernel {
	u64 event_tick;        /* where Delta starts */
	u64 before_event_tick; /* what undo brings back, if can_undo: Delta's start, */
	u32 before_rtt_max;    /* RTTmax */
	u32 before_rate;       /* and last_rate */
	u32 can_undo;          /* an event has been answered and is not over */
	u32 alpha;             /* 2 (1 - beta) alpha, in 1/128 */
	u32 beta;              /* in 1/128 */
	u32 adapt;             /* the event before allows adaptive backoff */
	u32 acked;             /* segments that the next ACK counts for */
	u32 rtt_min;           /* RTTmin, in ticks; 0: none yet */
	u32 rtt_max;           /* RTTmax, in ticks; 0: none yet */
	u32 rate;              /* B, averaged, in segments/s */
	u32 max_rate;          /* the largest since the event */
	u32 last_rate;         /* max_rate at the last event */
	u32 counted;           /* segments counted for the next B */
	u64 counted_tick;      /* since when */
};

struct htcp {
	union {
		struct htcp_paper paper;
		struct htcp_kernel kernel;
	};
	struct hystart hystart;
};

CC_DECLARE_PARAMS(htcp);
CC_CHECK_STATE(htcp);

/* alpha in 2^-20, delta after Delta_L; beyond 4000 s nothing changes. */
static inline u64 htcp_alpha(u64 delta_us)
{
	u64 d = delta_us < 4000000000ULL ? delta_us : 4000000000ULL;

	return (1 << 20) + (10 * d << 20) / 1000000 + ((d * d / 4000000) << 20) / 1000000;
}

/* Growth per segment acknowledged, in 2^-32. At most 1. */
static inline u64 htcp_growth(const struct htcp_paper *ca, const struct htcp_params *p, u32 cwnd,
			      u64 now_us)
{
	u64 since = now_us - ca->event_us, delta_l = (u64)p->delta_l * 1000;
	u64 alpha = htcp_alpha(since > delta_l ? since - delta_l : 0);
	u64 most = (u64)cwnd << 20;

	if (p->rtt_scaling) {
		alpha = alpha * cc_min(cc_max(ca->rtt_min_us, 10000), 200000) / 100000;
		alpha = alpha > 1 << 20 ? alpha : 1 << 20;
	}
	alpha = 2 * alpha * (HTCP_SCALE - ca->beta) / HTCP_SCALE;
	alpha = ((alpha < most ? alpha : most) << 12) / cwnd;
	return alpha ? alpha : 1; /* any window grows */
}

static inline void htcp_start_round(struct htcp_paper *ca, const struct cc_ack *a)
{
	ca->round_start = a->delivered;
	ca->round_end = a->delivered + a->in_flight;
	ca->round_us = a->now_us;
}

static inline void htcp_paper_cong_avoid(struct htcp_paper *ca, const struct htcp_params *p,
					 struct cc_window *w, const struct cc_ack *a, u32 acked)
{
	u64 grown;

	if (cc_after(a->delivered, ca->round_end)) {
		u64 took = a->now_us - ca->round_us;
		u64 arrived = cc_since(a->delivered, ca->round_start);

		if (took)
			ca->rate = arrived * 1000000000 / took;
		htcp_start_round(ca, a);
	}
	if (!cc_cwnd_limited(a))
		return;
	if (cc_slow_start_took_all(w, &acked))
		return;
	grown = ca->fraction + acked * htcp_growth(ca, p, w->cwnd, a->now_us);
	ca->fraction = (u32)grown;
	cc_grow(w, grown >> 32);
}

static inline u32 htcp_paper_ssthresh(struct htcp_paper *ca, const struct htcp_params *p,
				      const struct cc_window *w, const struct cc_ack *a)
{
	u64 rate = ca->rate < 1ULL << 48 ? ca->rate : 1ULL << 48, last = ca->event_rate;
	u64 change = rate > last ? rate - last : last - rate;

	ca->before_event_us = ca->event_us;
	ca->before_rate = last;
	ca->event_us = a->now_us;
	ca->event_rate = rate;
	ca->beta = p->beta_min * 1000;
	if (last && ca->rtt_max_us && change * 1000 <= last * p->throughput_ratio) {
		u32 beta = (u32)((u64)ca->rtt_min_us * HTCP_SCALE / ca->rtt_max_us);

		ca->beta = cc_min(cc_max(beta, p->beta_min * 1000), p->beta_max * 1000);
	}
	return cc_max(cc_part(w->cwnd, ca->beta, HTCP_SCALE), 2);
}

/* alpha of the event's age; also after beta has changed. */
static inline void htcp_kernel_alpha(struct htcp_kernel *ca, u64 now, u32 is_ns2)
{
	u64 age = now - ca->event_tick, factor = 1;
	u32 hz = ticks_hz(is_ns2);

	age = age < 0xffffffff ? age : 0xffffffff;
	if (age > hz) {
		age -= hz;
		factor += (10 * age + (age / 2) * (age / 2) / hz) / hz;
	}
	if (ca->rtt_min) {
		/* 100 ms / RTTmin in 1/8 */
		u32 scale = cc_min(cc_max(hz * 8 / 10 / ca->rtt_min, 4), 80);

		factor = (factor << 3) / scale;
		factor = factor ? factor : 1;
	}
	factor = factor < 1 << 23 ? factor : 1 << 23;
	ca->alpha = 2 * (u32)factor * (128 - ca->beta);
}

/* Have more than three RTTs passed since the event? */
static inline u32 htcp_kernel_settled(const struct htcp_kernel *ca, u64 now)
{
	return now - ca->event_tick >= 4 * (u64)cc_max(ca->rtt_min, 1);
}

static inline void htcp_kernel_rtt(struct htcp_kernel *ca, const struct cc_ack *a, u32 rtt, u32 to_max,
				   u32 is_ns2)
{
	if (ca->rtt_min > rtt || !ca->rtt_min)
		ca->rtt_min = rtt;
	if (a->state != CC_OPEN || !to_max)
		return;
	ca->rtt_max = cc_max(ca->rtt_max, ca->rtt_min);
	if (ca->rtt_max < rtt && rtt <= ca->rtt_max + ticks_of(20000, is_ns2))
		ca->rtt_max = rtt;
}

static inline void htcp_kernel_throughput(struct htcp_kernel *ca, const struct cc_window *w,
					  const struct cc_ack *a, u32 is_ns2)
{
	u64 now = ticks_of(a->now_us, is_ns2), took = now - ca->counted_tick, rate;
	u32 less = cc_max(ca->alpha >> 7, 1);

	if (a->state > CC_DISORDER) {
		ca->counted = 0;
		ca->counted_tick = now;
		return;
	}
	rate = (u64)ca->counted + a->acked;
	ca->counted = rate < 0xffffffff ? (u32)rate : 0xffffffff;
	if (w->cwnd < less || ca->counted < w->cwnd - less || !ca->rtt_min || took < ca->rtt_min)
		return;
	rate = (u64)ca->counted * ticks_hz(is_ns2) / took;
	rate = rate < 0xffffffff ? rate : 0xffffffff;
	if (!htcp_kernel_settled(ca, now)) {
		ca->max_rate = ca->rate = (u32)rate;
	} else {
		ca->rate = (u32)((3 * (u64)ca->rate + rate) / 4);
		ca->max_rate = cc_max(ca->max_rate, ca->rate);
	}
	ca->counted = 0;
	ca->counted_tick = now;
}

static inline void htcp_kernel_pkts_acked(struct htcp_kernel *ca, const struct htcp_params *p,
					  const struct cc_window *w, const struct cc_ack *a)
{
	if (a->state == CC_OPEN)
		ca->acked = a->acked;
	if (a->rtt_us && p->variant == HTCP_LINUX)
		htcp_kernel_rtt(ca, a, ticks_round_up(a->rtt_us, 0), 1, 0);
	htcp_kernel_throughput(ca, w, a, p->variant == HTCP_NS2);
}

static inline void htcp_kernel_cong_avoid(struct htcp_kernel *ca, const struct htcp_params *p,
					  struct cc_window *w, const struct cc_ack *a, u32 acked)
{
	u32 is_ns2 = p->variant == HTCP_NS2;
	u64 now = ticks_of(a->now_us, is_ns2);

	if (!a->rtt_us)
		htcp_kernel_pkts_acked(ca, p, w, a);
	if (!cc_cwnd_limited(a))
		return;
	if (is_ns2) {
		if (cc_slow_start_ns2(w))
			return;
		htcp_kernel_rtt(ca, a, (u32)ticks_of(a->srtt_us, 1),
				w->ssthresh < 65535 && htcp_kernel_settled(ca, now), 1);
	} else if (cc_in_slow_start(w)) {
		cc_slow_start(w, acked);
		return;
	}
	if ((u64)w->cwnd_cnt * ca->alpha >> 7 >= w->cwnd) {
		cc_grow(w, 1);
		w->cwnd_cnt = 0;
		htcp_kernel_alpha(ca, now, is_ns2);
	} else {
		w->cwnd_cnt += ca->acked;
	}
	ca->acked = 1;
}

static inline void htcp_kernel_beta(struct htcp_kernel *ca, u32 is_ns2)
{
	u64 rate = 5 * (u64)ca->max_rate, last = ca->last_rate;

	ca->last_rate = ca->max_rate;
	ca->beta = 64;
	if (rate < 4 * last || rate > 6 * last) {
		ca->adapt = 0;
	} else if (ca->adapt && ca->rtt_min > ticks_round_up(10000, is_ns2) && ca->rtt_max) {
		u32 beta = (u32)(((u64)ca->rtt_min << 7) / ca->rtt_max);

		ca->beta = cc_min(cc_max(beta, 64), 102);
	} else {
		ca->adapt = 1;
	}
}

static inline u32 htcp_kernel_ssthresh(struct htcp_kernel *ca, const struct cc_window *w,
				       const struct cc_ack *a, u32 is_ns2)
{
	htcp_kernel_beta(ca, is_ns2);
	htcp_kernel_alpha(ca, ticks_of(a->now_us, is_ns2), is_ns2);
	if (ca->rtt_min && ca->rtt_max > ca->rtt_min)
		ca->rtt_max = ca->rtt_min + cc_part(ca->rtt_max - ca->rtt_min, 95, 100);
	return cc_max(cc_part(w->cwnd, ca->beta, 128), 2);
}

static inline void htcp_kernel_set_state(struct htcp_kernel *ca, const struct htcp_params *p,
					 const struct cc_ack *a, u8 state)
{
	u64 now = ticks_of(a->now_us, p->variant == HTCP_NS2);

	if (state >= CC_CWR) {
		ca->before_event_tick = ca->event_tick;
		ca->before_rtt_max = ca->rtt_max;
		ca->before_rate = ca->last_rate;
		ca->can_undo = 1;
		ca->event_tick = now;
	} else if (state == CC_OPEN && (ca->can_undo || p->variant == HTCP_NS2)) {
		ca->can_undo = 0;
		ca->event_tick = now;
		if (p->variant == HTCP_NS2) {
			ca->counted = 0;
			ca->counted_tick = now;
		}
	}
}

static inline void htcp_init(struct htcp *ca, const struct htcp_params *p, struct cc_window *w,
			     const struct cc_ack *a)
{
	(void)w;
	if (p->variant == HTCP_SPEC) {
		ca->paper.event_us = a->now_us;
		ca->paper.beta = HTCP_SCALE / 2;
		htcp_start_round(&ca->paper, a);
	} else {
		ca->kernel.event_tick = ticks_of(a->now_us, p->variant == HTCP_NS2);
		ca->kernel.alpha = 128;
		ca->kernel.beta = 64;
		ca->kernel.acked = 1;
	}
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void htcp_pkts_acked(struct htcp *ca, const struct htcp_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant != HTCP_SPEC) {
		htcp_kernel_pkts_acked(&ca->kernel, p, w, a);
	} else if (a->state <= CC_DISORDER) {
		if (!ca->paper.rtt_min_us || a->rtt_us < ca->paper.rtt_min_us)
			ca->paper.rtt_min_us = a->rtt_us;
		ca->paper.rtt_max_us = cc_max(ca->paper.rtt_max_us, a->rtt_us);
	}
}

static inline void htcp_cong_avoid(struct htcp *ca, const struct htcp_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	u32 acked;

	if (p->variant != HTCP_NS2)
		slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
	acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);
	if (p->variant == HTCP_SPEC)
		htcp_paper_cong_avoid(&ca->paper, p, w, a, acked);
	else
		htcp_kernel_cong_avoid(&ca->kernel, p, w, a, acked);
}

static inline u32 htcp_ssthresh(struct htcp *ca, const struct htcp_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	if (p->variant == HTCP_SPEC)
		return htcp_paper_ssthresh(&ca->paper, p, w, a);
	return htcp_kernel_ssthresh(&ca->kernel, w, a, p->variant == HTCP_NS2);
}

static inline void htcp_set_state(struct htcp *ca, const struct htcp_params *p,
				  struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	if (p->variant != HTCP_SPEC)
		htcp_kernel_set_state(&ca->kernel, p, a, state);
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
}

static inline void htcp_cwnd_event(struct htcp *ca, const struct htcp_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)w;
	if (p->variant == HTCP_SPEC && event == CC_COMPLETE_CWR)
		htcp_start_round(&ca->paper, a);
}

static inline u32 htcp_undo_cwnd(struct htcp *ca, const struct htcp_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	if (p->variant == HTCP_SPEC) {
		ca->paper.event_us = ca->paper.before_event_us;
		ca->paper.event_rate = ca->paper.before_rate;
	} else if (ca->kernel.can_undo) {
		ca->kernel.event_tick = ca->kernel.before_event_tick;
		ca->kernel.rtt_max = ca->kernel.before_rtt_max;
		ca->kernel.last_rate = ca->kernel.before_rate;
		ca->kernel.can_undo = 0;
	}
	return cc_max(w->cwnd, w->prior_cwnd);
}

#endif /* HTCP_H */
