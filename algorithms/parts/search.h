/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * SEARCH: the end of slow start by delivered data alone (M. Chung, J. Kachooei, F. Li, M. Claypool,
 * draft-chung-ccwg-search, version 3.1 of the algorithm). What a window of time delivers is twice
 * what the window one RTT earlier did while cwnd doubles; once the path is full, no more than that.
 *
 *   bin    = 0.35 of the first RTT; a window is 10 bins
 *   curr   = delivered in the last window; prev = in the window one RTT before it
 *   ends   when (2 prev - curr) / (2 prev) >= 0.35, once per bin
 *
 * Where the RTT is no whole number of bins, prev lies between two windows in proportion. 25 bins are
 * kept, enough for an RTT of 14; above that there is no answer. It begins anew after more than a
 * window without an ACK, and while the application is the limit.
 */
#ifndef SEARCH_H
#define SEARCH_H

#include "parts/fixed.h"

#define SEARCH_BINS 25
#define SEARCH_WINDOW 10

struct search_bins {
	unsigned short delivered[SEARCH_BINS]; /* segments in each bin, the last one first, shifted */
};

struct search {
	struct search_bins bins;
	u8 shift;       /* of the bins, to the right */
	u8 known;       /* bins that are known */
	u32 bin_us;     /* 0: no RTT was known yet */
	u32 bin_end_us; /* of the bin under way */
	u32 delivered;  /* segments delivered when it began */
};

/* What the window that ends `lag` bins back delivered. */
static inline u64 search_window(const struct search_bins *bins, u64 lag)
{
	u64 sum = 0, i;

	for (i = 0; i < SEARCH_BINS; i++)
		sum += bins->delivered[i] & cc_mask_ge(i, lag) & ~cc_mask_ge(i, lag + SEARCH_WINDOW);
	return sum;
}

static inline void search_begin(struct search *s, const struct cc_ack *a)
{
	s->known = 0;
	s->bin_end_us = (u32)a->now_us + s->bin_us;
	s->delivered = (u32)a->delivered;
}

/* The bin under way is over, and `passed` bins without an ACK before it, SEARCH_WINDOW at most: makes room for them. */
static inline void search_turn(struct search *s, u32 count, u32 passed)
{
	unsigned short before[64] = { 0 };
	struct search_bins bins = s->bins;
	u32 bits = cc_bits(count), more = 0, turn = passed + 1, i;

	/* 16 bits hold the largest bin. */
	if (bits > 16U + s->shift)
		more = bits - 16 - s->shift;
	s->shift = (u8)(s->shift + more);
	for (i = 0; i < SEARCH_BINS; i++)
		before[i + SEARCH_WINDOW + 1] = (unsigned short)(bins.delivered[i] >> more);
	before[(SEARCH_WINDOW + 1 - turn) & 63] = (unsigned short)(count >> s->shift);
	for (i = 0; i < SEARCH_BINS; i++)
		bins.delivered[i] = before[(i + SEARCH_WINDOW + 1 - turn) & 63];
	s->bins = bins;
	s->known = (u8)cc_min(s->known + turn, SEARCH_BINS);
}

/* Is the path full? */
static inline u32 search_found(const struct search *s, u32 rtt_us)
{
	struct search_bins bins = s->bins;
	u32 lag = rtt_us / s->bin_us, part;
	u64 curr, prev;

	if (lag + 1 + SEARCH_WINDOW > s->known)
		return 0;
	part = (u32)(((u64)(rtt_us % s->bin_us) << 8) / s->bin_us);
	curr = search_window(&bins, 0) << 8;
	prev = search_window(&bins, lag) * (256 - part) + search_window(&bins, lag + 1) * part;
	return curr * 100 <= 2 * prev * 65 && prev;
}

/* pkts_acked or cong_avoid, in the first slow start. */
static inline void search_sample(struct search *s, struct cc_window *w, const struct cc_ack *a)
{
	u32 now = (u32)a->now_us, passed;

	if (w->ssthresh < CC_SSTHRESH_INFINITE)
		return;
	if (!s->bin_us) {
		s->bin_us = a->rtt_us ? cc_max((u32)((u64)a->rtt_us * 35 / 100), 1) : 0;
		search_begin(s, a);
		return;
	}
	if (s->bin_end_us - now - 1 < 0x7fffffff)
		return;
	passed = (now - s->bin_end_us) / s->bin_us;
	if (passed > SEARCH_WINDOW || (a->flags & CC_APP_LIMITED && !cc_cwnd_limited(a))) {
		search_begin(s, a);
		return;
	}
	search_turn(s, cc_since(a->delivered, s->delivered), passed);
	s->bin_end_us += (passed + 1) * s->bin_us;
	s->delivered = (u32)a->delivered;
	if (a->rtt_us && search_found(s, a->rtt_us))
		w->ssthresh = cc_max(w->cwnd, 2);
}

#endif /* SEARCH_H */
