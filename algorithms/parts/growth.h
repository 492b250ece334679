/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slow start and additive increase: what most algorithms share with Reno (RFC 5681, 3.1), and the
 * same as Linux 2.6.22 has it, which Agent/TCP/Linux of ns-2.35 runs. That one counts ACKs, not
 * segments, and its slow start includes cwnd == ssthresh.
 */
#ifndef GROWTH_H
#define GROWTH_H

#include "cc.h"

/* Slow start ends when cwnd reaches ssthresh (RFC 5681, 3.1). */
static inline u32 cc_in_slow_start(const struct cc_window *w)
{
	return w->cwnd < w->ssthresh;
}

/* Grows cwnd as far as the stack allows. */
static inline void cc_grow(struct cc_window *w, u64 segments)
{
	w->cwnd = cc_allowed(w, w->cwnd + segments);
}

/*
 * Slow start: one segment for each segment acknowledged, up to ssthresh.
 * Returns the acknowledged segments that are left for congestion avoidance.
 */
static inline u32 cc_slow_start(struct cc_window *w, u32 acked)
{
	u32 room = w->ssthresh - w->cwnd;
	u32 grow = cc_min(acked, room);

	cc_grow(w, grow);
	return acked - grow;
}

/* Slow start, if it is on. Returns 1 if that took all of acked, else 0; acked is what is left. */
static inline u32 cc_slow_start_took_all(struct cc_window *w, u32 *acked)
{
	if (!cc_in_slow_start(w))
		return 0;
	*acked = cc_slow_start(w, *acked);
	return !*acked;
}

/*
 * Additive increase: one segment of cwnd for every per segments acknowledged. It never grows cwnd by
 * more than slow start would.
 */
static inline void cc_additive_increase(struct cc_window *w, u32 per, u32 acked)
{
	u64 credit = w->cwnd_cnt;
	u32 grow = 0;

	per = cc_max(per, 1);
	/* A credit gathered under a larger per counts as one segment at most. */
	if (credit >= per) {
		credit = 0;
		grow = per > 1;
	}
	credit += acked;
	if (credit >= per) {
		u32 whole = (u32)(credit / per);

		credit -= (u64)whole * per;
		grow += whole;
	}
	w->cwnd_cnt = (u32)credit;
	if (grow)
		cc_grow(w, grow);
}

/* Reno's growth: slow start, then one segment per window acknowledged (RFC 5681, 3.1). */
static inline void cc_reno_growth(struct cc_window *w, u32 acked)
{
	if (cc_in_slow_start(w))
		acked = cc_slow_start(w, acked);
	if (acked)
		cc_additive_increase(w, w->cwnd, acked);
}

/* Slow start of Linux 2.6.22, if it is on. Returns 1 if it was, else 0. */
static inline u32 cc_slow_start_ns2(struct cc_window *w)
{
	if (w->cwnd > w->ssthresh)
		return 0;
	cc_grow(w, 1);
	return 1;
}

/* Additive increase of Linux 2.6.22: one segment once more than per ACKs have come. */
static inline void cc_additive_increase_ns2(struct cc_window *w, u32 per)
{
	if (w->cwnd_cnt >= per) {
		cc_grow(w, 1);
		w->cwnd_cnt = 0;
	} else {
		w->cwnd_cnt++;
	}
}

/* Reno's growth in Linux 2.6.22: one segment once cwnd ACKs have come. */
static inline void cc_reno_growth_ns2(struct cc_window *w)
{
	if (!cc_slow_start_ns2(w) && ++w->cwnd_cnt >= w->cwnd) {
		w->cwnd_cnt = 0;
		cc_grow(w, 1);
	}
}

#endif /* GROWTH_H */
