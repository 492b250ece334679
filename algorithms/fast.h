/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * FAST TCP: the window settles where alpha segments of the flow wait in queues, and the farther
 * it is from there, the faster it moves (C. Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation,
 * Architecture, Algorithms, Performance", INFOCOM 2004; D. X. Wei, C. Jin, S. H. Low, S. Hegde,
 * IEEE/ACM Transactions on Networking 14(6), 2006).
 *
 *   w      = min{2 w, (1 - gamma) w + gamma (baseRTT / avgRTT w_old + alpha)}     once per RTT
 *   avgRTT = (1 - eta) avgRTT + eta RTT,  eta = min(3 / w, 1/4)             for every sample
 *   w     += 1   per segment acknowledged, in slow start while avgRTT - baseRTT < mi_threshold
 *   w      = w / 2                                                                on loss
 *
 * w_old is the window one RTT ago, to which the delay measured now belongs; the paper writes w
 * for both. baseRTT is the smallest sample of the connection. A larger window is reached over
 * the next RTT, by the same part of a segment for each one acknowledged; a smaller one at once.
 * A queue of mi_threshold suspends slow start: the equation holds from there.
 *
 * An RTT is over when a segment is delivered that was sent after the last one was over. A loss
 * ends it, and w_old is then the window that the loss left.
 *
 * Differences from the paper: there the window doubles wherever the queue is empty (alpha is w
 * then), here only below ssthresh. On a path whose buffer is shorter than its window, half of a
 * window that overflowed it leaves no queue, and to double that would overflow it again, and so
 * on. alpha and the delay that counts as an empty queue are left open; 100 segments and 0.75 ms
 * are those of the authors' ns-2 code. The paper's implementation freezes the window every other
 * RTT; here w_old accounts for the delay of the feedback. Updates by the clock (update_ms) are
 * ns-2's, every 10 ms. Nothing changes while the application is the limit. Pacing and the control
 * of bursts are left to the stack.
 */
#ifndef FAST_H
#define FAST_H

#include "cc.h"
#include "parts/growth.h"

#define fast_PARAMS(P)                                                                     \
	P(alpha, 100, 1, 1, 1000000, "",                                                   \
	  "segments of the flow that wait in queues in equilibrium; ns-2.35")              \
	P(gamma, 500, 1000, 1, 1000, "",                                                   \
	  "how far an update goes towards what the delay asks for; ns-2.35")               \
	P(mi_threshold_ms, 750, 1000, 0, 1000000, "",                                      \
	  "queueing delay below which slow start doubles the window per RTT; ns-2.35") \
	P(update_ms, 0, 1, 0, 60000, "",                                                   \
	  "time between updates of the window, 0: one RTT; the paper")
#define fast_HOOKS(H, A) H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh)
#define fast_INVARIANTS(I) \
	I(ca->avg_rtt <= 0x7fffffffULL << 24) \
	I(ca->growth <= 1ULL << 32)

struct fast {
	u64 round_end;  /* an RTT is over when more than these segments are delivered */
	u64 avg_rtt;    /* avgRTT, in 2^-24 us; 0: no sample yet */
	u64 growth;     /* since the last update, per segment acknowledged, in 2^-32 */
	u64 updated_us; /* time of the last update */
	u32 round_cwnd; /* window when this RTT began */
	u32 old_cwnd;   /* w_old: and when the last one did */
	u32 fraction;   /* of a segment of cwnd, in 2^-32 */
};

CC_DECLARE_PARAMS(fast);
CC_CHECK_STATE(fast);

/* Sets cwnd or, where it is to grow, how fast. */
static inline void fast_update(struct fast *ca, const struct fast_params *p, struct cc_window *w,
			       u32 base_us)
{
	u64 avg = ca->avg_rtt >> 17; /* 2^-7 us */
	u64 part = avg ? ((u64)base_us << 31) / avg : 1 << 24; /* baseRTT / avgRTT in 2^-24 */
	u64 now = (u64)w->cwnd << 16 | ca->fraction >> 16, asked, next;

	part = part < 1 << 24 ? part : 1 << 24;
	asked = (ca->old_cwnd * part >> 8) + ((u64)p->alpha << 16);
	next = ((1000 - p->gamma) * now + p->gamma * asked) / 1000;
	if (next >= now) {
		u64 most = (u64)w->cwnd << 16, more = next - now;

		/* However little is asked for, any window grows. */
		more += !more && asked > now;
		more = (more < most ? more : most) << 16;
		ca->growth = more && more < w->cwnd ? 1 : more / w->cwnd;
	} else {
		ca->growth = 0;
		w->cwnd = cc_max((u32)(next >> 16), 1);
		ca->fraction = (u32)(next << 16);
	}
}

static inline void fast_init(struct fast *ca, const struct fast_params *p, struct cc_window *w,
			     const struct cc_ack *a)
{
	(void)p;
	ca->round_end = a->delivered + a->in_flight;
	ca->updated_us = a->now_us;
	ca->round_cwnd = w->cwnd;
	ca->old_cwnd = w->cwnd;
}

static inline void fast_pkts_acked(struct fast *ca, const struct fast_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	u64 rtt = (u64)a->rtt_us << 24, slow = cc_max(w->cwnd, 12);

	(void)p;
	if (!ca->avg_rtt)
		ca->avg_rtt = rtt;
	else if (rtt >= ca->avg_rtt)
		ca->avg_rtt += (rtt - ca->avg_rtt) * 3 / slow;
	else
		ca->avg_rtt -= (ca->avg_rtt - rtt) * 3 / slow;
}

static inline void fast_cong_avoid(struct fast *ca, const struct fast_params *p,
				   struct cc_window *w, const struct cc_ack *a)
{
	u32 over = cc_after(a->delivered, ca->round_end);
	u32 due = p->update_ms ? a->now_us - ca->updated_us >= (u64)p->update_ms * 1000 : over;
	u64 threshold = ((u64)a->min_rtt_us + p->mi_threshold_ms) << 24, grown;

	if (over) {
		ca->round_end = a->delivered + a->in_flight;
		ca->old_cwnd = ca->round_cwnd;
	}
	if (cc_cwnd_limited(a)) {
		if (cc_in_slow_start(w) && ca->avg_rtt < threshold) {
			ca->growth = 0;
			cc_slow_start(w, a->acked);
		} else {
			if (due) {
				ca->updated_us = a->now_us;
				fast_update(ca, p, w, a->min_rtt_us);
			}
			grown = ca->fraction + a->acked * ca->growth;
			ca->fraction = (u32)grown;
			cc_grow(w, grown >> 32);
		}
	}
	if (over)
		ca->round_cwnd = w->cwnd;
}

static inline u32 fast_ssthresh(struct fast *ca, const struct fast_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	u32 half = cc_max(w->cwnd / 2, 2);

	(void)p;
	ca->round_end = a->delivered;
	ca->round_cwnd = half;
	ca->growth = 0;
	return half;
}

#endif /* FAST_H */
