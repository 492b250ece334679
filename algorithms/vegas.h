/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Vegas: keeps a few segments of its own in the queue, and knows how many from the RTT
 * (L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
 * Internet", IEEE JSAC 13(8), 1995).
 *
 *   Expected = cwnd / BaseRTT
 *   Actual   = segments sent while a segment was on its way, by that segment's RTT
 *   Diff     = (Expected - Actual) BaseRTT     the segments waiting in the queue, once per RTT
 *   cwnd    += 1 if Diff < alpha, -= 1 if Diff > beta
 *   slow start: doubles every other RTT; ends when Diff > gamma after one in which cwnd stood
 *   loss       cwnd / 2
 *
 * BaseRTT is the smallest sample of the connection. An RTT is over when a segment is delivered
 * that was sent after the last one was over; that is the segment timed.
 *
 * Differences from the paper: the retransmission by a finer clock is the stack's business. How
 * much a loss takes is not stated; it is Reno's half. The queue's bound alpha is 1 and beta 3
 * segments, the first of the paper's two pairs (1, 3 and 2, 4).
 *
 * variant = linux is the kernel's (whose alpha is 2, beta 4). What it does otherwise:
 *  - RTT is the smallest sample of the last RTT, and Actual is cwnd / RTT. One microsecond is
 *    added to every sample. With fewer than three samples the window grows like Reno's.
 *  - Slow start doubles every RTT. Its end sets cwnd to what BaseRTT carries at the actual rate,
 *    plus one. Diff is in whole segments.
 *  - ssthresh follows: below cwnd when the window is lowered, and never below 3/4 of cwnd.
 *  - Growth does not ask whether cwnd was the limit. The window is 2 at least.
 *  - Outside the open state it is Reno. Sending after a pause forgets BaseRTT.
 *
 * variant = ns2 is that of Linux 2.6.22 (whose alpha is 1, beta 3). Different from linux:
 *  - Actual is the segments sent in the last RTT by its smallest sample, Expected the same number
 *    by BaseRTT. Diff is in half segments, rounded up.
 *  - The window goes one step towards cwnd as it was an RTT ago, plus or minus one.
 *  - The end of slow start sets ssthresh to 2; nothing else moves it but losses. The ACK that
 *    ends it still adds one segment.
 *  - Slow start counts ACKs and includes cwnd == ssthresh.
 *
 * variant = ns2-agent is that of ns-2's own Agent/TCP/Vegas. Different from the paper's:
 *  - RTT is the mean of the samples of the last RTT, Actual the segments sent in it by that mean,
 *    Expected what is in flight now by BaseRTT; Diff is rounded to whole segments.
 *  - cwnd begins at 1 and is the initial window from the first ACK of data on. It is a real number;
 *    growth by one is 1/cwnd per ACK, cwnd as at the RTT's begin. It grows while less than three segments of it are unused.
 *  - Slow start ends when Diff > gamma in any RTT, takes an eighth off, and ssthresh is 2.
 *  - A fast retransmit takes a quarter, and leaves ssthresh at 2. A timeout halves.
 */
#ifndef VEGAS_H
#define VEGAS_H

#include "cc.h"
#include "parts/growth.h"
#include "parts/real_window.h"
#include "parts/round.h"

#define vegas_PARAMS(P)                                                                \
	P(alpha, 1, 1, 0, 1000000, "",                                                 \
	  "queued segments below which the window grows; the paper")                   \
	P(beta, 3, 1, 0, 1000000, "",                                                  \
	  "queued segments above which the window shrinks; the paper")                 \
	P(gamma, 1, 1, 0, 1000000, "",                                                 \
	  "queued segments above which slow start ends; the paper")                    \
	P(variant, 0, 1, 0, 3, "spec|linux|ns2|ns2-agent",                          \
	  "whose rules: spec the paper's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux, ns2-agent those of Agent/TCP/Vegas; Linux 6.1, ns-2.35")
#define vegas_HOOKS(H, A)                                                              \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event)

enum vegas_variant { VEGAS_SPEC, VEGAS_LINUX, VEGAS_NS2, VEGAS_NS2_AGENT };

struct vegas_agent {
	u64 begin;             /* an RTT is over when more than these segments are delivered */
	u64 sum_us;            /* of the samples in this RTT */
	u32 count;             /* and how many */
	u32 initial;           /* initial window, until cwnd is that; then 0 */
	u32 step;              /* growth per ACK in 2^-32 segments; 0: none, or all of one */
	struct real_window real; /* what cwnd has beyond its whole segments */
};

struct vegas {
	struct round round;
	u32 base_us;         /* the smallest of all, BaseRTT; 0: none yet */
	u32 cwnd_now;        /* ns2: cwnd when this RTT began */
	u32 cwnd_before;     /* ns2: and the RTT before */
	u32 grows;           /* paper: slow start grows in this RTT */
	u32 off;             /* outside the open state */
	struct vegas_agent agent;
};

CC_DECLARE_PARAMS(vegas);
CC_CHECK_STATE(vegas);

/* Is an RTT over? Then the next one begins. */
static inline u32 vegas_round_over(struct vegas *ca, const struct cc_window *w,
				   const struct cc_ack *a)
{
	if (!round_over(&ca->round, a))
		return 0;
	ca->cwnd_before = ca->cwnd_now;
	ca->cwnd_now = w->cwnd;
	return 1;
}

/* Never up again by slow start to where the window was too large. */
static inline void vegas_end_slow_start(struct cc_window *w)
{
	w->ssthresh = cc_max(cc_min(w->ssthresh, w->cwnd), 2);
}

static inline void vegas_paper_round(struct vegas *ca, const struct vegas_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	u64 expected = (u64)w->cwnd * a->rtt_us, actual = (u64)ca->round.sent * a->min_rtt_us;
	u64 diff = expected > actual ? expected - actual : 0;

	if (cc_in_slow_start(w)) {
		ca->grows = !ca->grows;
		if (ca->grows && a->rtt_us && diff > (u64)p->gamma * a->rtt_us)
			vegas_end_slow_start(w);
		return;
	}
	if (!a->rtt_us)
		return;
	if (diff > (u64)p->beta * a->rtt_us) {
		w->cwnd = cc_max(w->cwnd - 1, cc_min(w->cwnd, 2));
		vegas_end_slow_start(w);
	} else if (diff < (u64)p->alpha * a->rtt_us) {
		cc_grow(w, 1);
	}
}

static inline void vegas_paper_cong_avoid(struct vegas *ca, const struct vegas_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	u32 over = vegas_round_over(ca, w, a);

	if (!cc_cwnd_limited(a))
		return;
	if (over)
		vegas_paper_round(ca, p, w, a);
	if (cc_in_slow_start(w) && ca->grows)
		cc_slow_start(w, a->acked);
}

/* At least 2, at most what the stack allows. */
static inline void vegas_clamp(struct cc_window *w)
{
	w->cwnd = cc_allowed(w, cc_max(w->cwnd, 2));
}

static inline u32 vegas_below(const struct cc_window *w)
{
	return cc_max(cc_min(w->ssthresh, w->cwnd), 2);
}

static inline void vegas_linux_round(struct vegas *ca, const struct vegas_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	u32 base = ca->base_us, rtt = ca->round.rtt_us;
	u64 diff = (u64)w->cwnd * (rtt - base) / base;

	if (cc_in_slow_start(w)) {
		if (diff > p->gamma) {
			w->cwnd = cc_min(w->cwnd, (u32)((u64)w->cwnd * base / rtt) + 1);
			w->ssthresh = vegas_below(w);
		} else {
			cc_slow_start(w, a->acked);
		}
	} else if (diff > p->beta) {
		w->cwnd--;
		w->ssthresh = vegas_below(w);
	} else if (diff < p->alpha) {
		cc_grow(w, 1);
	}
	vegas_clamp(w);
	if (a->state != CC_CWR && a->state != CC_RECOVERY)
		w->ssthresh = cc_max(w->ssthresh, w->cwnd / 2 + w->cwnd / 4);
}

static inline void vegas_linux_cong_avoid(struct vegas *ca, const struct vegas_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	if (!ca->off && !vegas_round_over(ca, w, a)) {
		if (cc_in_slow_start(w))
			cc_slow_start(w, a->acked);
		return;
	}
	if (!ca->off && ca->round.rtts > 2)
		vegas_linux_round(ca, p, w, a);
	else if (cc_cwnd_limited(a))
		cc_reno_growth(w, a->acked);
	if (!ca->off)
		ca->round.rtts = 0;
}

static inline void vegas_ns2_round(struct vegas *ca, const struct vegas_params *p,
				   struct cc_window *w)
{
	u64 sent = ca->round.delivered, target = (sent * ca->base_us << 1) / ca->round.rtt_us;
	u64 diff = 2 * sent - target;

	if (w->cwnd <= w->ssthresh) {
		if (diff > 2 * (u64)p->gamma) {
			w->ssthresh = 2;
			if (target / 2 + 1 < w->cwnd)
				w->cwnd = (u32)(target / 2) + 1;
		}
		cc_grow(w, 1);
	} else {
		u64 next = (u64)ca->cwnd_before + 1;

		if (diff > 2 * (u64)p->beta)
			next -= 2;
		else if (diff >= 2 * (u64)p->alpha)
			next--;
		if (next > w->cwnd)
			cc_grow(w, 1);
		else if (next < w->cwnd)
			w->cwnd--;
	}
	vegas_clamp(w);
}

static inline void vegas_ns2_cong_avoid(struct vegas *ca, const struct vegas_params *p,
					struct cc_window *w, const struct cc_ack *a)
{
	if (!ca->off && !vegas_round_over(ca, w, a)) {
		cc_slow_start_ns2(w);
		return;
	}
	if (!ca->off && ca->round.rtts > 2)
		vegas_ns2_round(ca, p, w);
	else if (cc_cwnd_limited(a))
		cc_reno_growth_ns2(w);
	if (!ca->off)
		ca->round.rtts = 0;
}

static inline void vegas_agent_round(struct vegas *ca, const struct vegas_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	struct vegas_agent *g = &ca->agent;
	u64 unacked = (u64)a->in_flight + 1, next = a->delivered + a->in_flight, sent, rtt, diff;

	sent = cc_after(next, g->begin) ? cc_since(next, g->begin) : 0;
	g->begin = next;
	g->step = 0;
	ca->grows = cc_in_slow_start(w) && !ca->grows;
	if (!g->count)
		return;
	rtt = cc_max((u32)(g->sum_us / g->count), 1);
	rtt = rtt < 1U << 30 ? rtt : 1U << 30;
	g->sum_us = 0;
	g->count = 0;
	if (rtt < ca->base_us || sent <= 1)
		ca->base_us = (u32)rtt;
	/* (unacked / base - sent / rtt) base, rounded. */
	diff = (2 * unacked + 1) * rtt;
	diff = diff > 2 * sent * ca->base_us ? (diff - 2 * sent * ca->base_us) / (2 * rtt) : 0;
	if (cc_in_slow_start(w)) {
		if (diff <= p->gamma)
			return;
		ca->agent.real.fraction = 0u - (w->cwnd % 8 << 29);
		w->cwnd = cc_max(w->cwnd - (w->cwnd + 7) / 8, 2);
		w->ssthresh = 2;
		ca->grows = 0;
	} else if (diff > p->beta) {
		w->cwnd = cc_max(w->cwnd - 1, 2);
	} else {
		ca->grows = diff < p->alpha;
		g->step = (u32)(~0ULL / ((u64)w->cwnd << 32 | g->real.fraction));
	}
}

static inline void vegas_agent_grow(struct vegas_agent *g, struct cc_window *w)
{
	u64 more = (u64)g->real.fraction + g->step;

	g->real.fraction = (u32)more;
	cc_grow(w, g->step ? more >> 32 : 1);
}

static inline void vegas_agent_cong_avoid(struct vegas *ca, const struct vegas_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	struct vegas_agent *g = &ca->agent;

	if (g->initial) {
		w->cwnd = g->initial;
		g->initial = 0;
	}
	if (cc_after(a->delivered, g->begin))
		vegas_agent_round(ca, p, w, a);
	if (ca->grows && w->cwnd <= (u64)a->in_flight + 3)
		vegas_agent_grow(g, w);
	if (!a->rtt_us)
		return;
	g->sum_us += a->rtt_us;
	g->count++;
	if (!ca->base_us || a->rtt_us < ca->base_us)
		ca->base_us = a->rtt_us;
}

/* An RTT begins; what was sent in the one it interrupts counts on. */
static inline void vegas_restart_round(struct vegas *ca, const struct cc_ack *a)
{
	round_restart(&ca->round, a);
	ca->off = 0;
}

static inline void vegas_init(struct vegas *ca, const struct vegas_params *p,
			      struct cc_window *w, const struct cc_ack *a)
{
	ca->round.end = a->delivered + a->in_flight;
	ca->cwnd_now = w->cwnd;
	if (p->variant != VEGAS_NS2_AGENT)
		return;
	ca->agent.initial = w->cwnd;
	ca->agent.begin = a->delivered ? a->delivered : 1; /* the SYN */
	w->cwnd = 1;
}

static inline void vegas_pkts_acked(struct vegas *ca, const struct vegas_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u32 rtt = a->rtt_us + (a->rtt_us < 0xffffffff);

	(void)w;
	if (p->variant == VEGAS_NS2_AGENT)
		return;
	if (!ca->base_us || rtt < ca->base_us)
		ca->base_us = rtt;
	round_sample(&ca->round, rtt);
}

static inline void vegas_cong_avoid(struct vegas *ca, const struct vegas_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == VEGAS_SPEC)
		vegas_paper_cong_avoid(ca, p, w, a);
	else if (p->variant == VEGAS_LINUX)
		vegas_linux_cong_avoid(ca, p, w, a);
	else if (p->variant == VEGAS_NS2_AGENT)
		vegas_agent_cong_avoid(ca, p, w, a);
	else
		vegas_ns2_cong_avoid(ca, p, w, a);
}

static inline u32 vegas_ssthresh(struct vegas *ca, const struct vegas_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == VEGAS_NS2_AGENT)
		return real_window_part(&ca->agent.real, w, cc_min(w->cwnd, a->snd_wnd), 3);
	return cc_max(w->cwnd / 2, 2);
}

static inline void vegas_set_state(struct vegas *ca, const struct vegas_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 state)
{
	if (p->variant == VEGAS_NS2_AGENT)
		real_window_set_state(&ca->agent.real, w, state);
	if (state == CC_OPEN)
		vegas_restart_round(ca, a);
	else
		ca->off = 1;
}

static inline void vegas_cwnd_event(struct vegas *ca, const struct vegas_params *p,
				    struct cc_window *w, const struct cc_ack *a, u8 event)
{
	if (p->variant == VEGAS_NS2_AGENT) {
		/* ssthresh is 3/4 of the window: a half is two thirds of that. */
		if (event == CC_RTO)
			w->ssthresh = cc_max(w->ssthresh / 3 * 2, 2);
		else if (event == CC_COMPLETE_CWR)
			w->ssthresh = 2;
		return;
	}
	if (event != CC_TX_START && event != CC_CWND_RESTART)
		return;
	vegas_restart_round(ca, a);
	if (p->variant != VEGAS_SPEC)
		ca->base_us = 0;
}

#endif /* VEGAS_H */
