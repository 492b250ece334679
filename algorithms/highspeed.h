/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * HighSpeed TCP: Reno, but the larger the window, the more it gains per RTT and the less it
 * gives on loss, so that large windows need no impossibly low loss rates (S. Floyd, RFC 3649).
 *
 *   cwnd += a(cwnd) / cwnd    per segment acknowledged, in congestion avoidance
 *   cwnd -= b(cwnd) * cwnd    on loss
 *   L    = (log w - log Low_Window) / (log High_Window - log Low_Window)
 *   b(w) = 0.5 - (0.5 - High_Decrease) L
 *   p(w) = Low_P (High_P / Low_P)^L
 *   a(w) = w^2 p(w) 2 b(w) / (2 - b(w))
 *
 * with Low_Window 38, Low_P 10^-3, High_Window 83000, High_P 10^-7, High_Decrease 0.1. Up to
 * Low_Window it is Reno: a = 1, b = 0.5.
 *
 * limited_slow_start = on (RFC 3742): above max_ssthresh = 100 segments, slow start takes
 * 1/K per segment acknowledged, K = int(cwnd / (0.5 max_ssthresh)), which is at most
 * max_ssthresh / 2 segments per RTT and a little more where K is rounded. Off by default: the
 * RFC that defines it calls it optional, for any TCP, and RFC 3649 leaves it to that document.
 *
 * Differences from the RFC:
 *  - a and b come from the formulas, not from the table in its appendix, which rounds
 *    p(w) to 0.078 / w^1.2.
 *  - a is 1 at least: just above Low_Window the formula is below it.
 *  - Beyond High_Window, of which the RFC says nothing, b stays High_Decrease; p and a go on.
 *  - A timeout takes the same part as a loss.
 *
 * variant = linux is the kernel's module. A table has b, in 1/256, for each of 72 ranges of
 * cwnd; a is 1 in the first, 2 in the second and so on; the last is open. What else differs:
 *  - The range is looked up on ACKs in congestion avoidance. A loss in slow start finds b of
 *    the last such ACK: a half before the first.
 *  - It counts ACKs, not segments. In slow start, segments left over at ssthresh are forgotten.
 *
 * variant = ns2 is Linux 2.6.22's, in ns-2.35: the same, and slow start includes
 * cwnd == ssthresh.
 *
 * The five constants above are for variant = spec; the table has them built in.
 */
#ifndef HIGHSPEED_H
#define HIGHSPEED_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"

#define highspeed_PARAMS(P)                                                            \
	P(low_window, 38, 1, 2, 1000, "",                                              \
	  "Low_Window, the largest window with Reno's growth and loss; RFC 3649, 5")   \
	P(high_window, 83000, 1, 10000, 100000000, "",                                 \
	  "High_Window, where p is High_P and b is High_Decrease; RFC 3649, 5")        \
	P(low_p, 10000, 1, 2000, 1000000, "",                                          \
	  "Low_P, the loss rate at Low_Window, in 10^-7; RFC 3649, 5")                 \
	P(high_p, 1, 1, 1, 1000, "",                                                   \
	  "High_P, the loss rate at High_Window, in 10^-7; RFC 3649, 5")               \
	P(high_decrease, 100, 1000, 1, 500, "",                                        \
	  "High_Decrease, what a loss takes at High_Window; RFC 3649, 5")              \
	P(limited_slow_start, 0, 1, 0, 1, "off|on",                                    \
	  "slow start held to max_ssthresh / 2 segments per RTT; RFC 3742")            \
	P(max_ssthresh, 100, 1, 2, 1000000, "",                                        \
	  "the window from which limited slow start holds; RFC 3742, 2")               \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                     \
	  "whose rules: spec the RFC's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux; Linux 6.1, ns-2.35") \
	SLOW_START_OR_SEARCH_PARAM(P)
#define highspeed_HOOKS(H, A) H(A, init) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)
#define highspeed_PROGRESS(M)                                                               \
	M(2, w->cwnd <= p->low_window ? 1 : (1ULL << 32) / w->cwnd,                         \
	  w->cwnd <= p->low_window ? w->cwnd_cnt : ca->fraction,                            \
	  w->cwnd <= p->low_window ? w->cwnd : 1ULL << 32)
#define highspeed_INVARIANTS(I) HIGHSPEED_INVARIANTS(I, ca, p)
#define HIGHSPEED_INVARIANTS(I, ca, p)                                                     \
	I((ca)->log_low == highspeed_log((p)->low_window))                                 \
	I((ca)->log_range == highspeed_log((p)->high_window) - (ca)->log_low)              \
	I((ca)->log_fall == highspeed_log((p)->low_p) - highspeed_log((p)->high_p))        \
	I((ca)->log_low_p == (32U << 26) + highspeed_log((p)->low_p) - highspeed_log(10000000)) \
	I((ca)->growth <= 1ULL << 32)                                                          \
	I(!(ca)->cwnd || (ca)->growth >= (1ULL << 32) / (ca)->cwnd)

enum highspeed_variant { HIGHSPEED_SPEC, HIGHSPEED_LINUX, HIGHSPEED_NS2 };

struct highspeed {
	/* rfc; logarithms are binary, in 2^-26 */
	u64 growth;    /* a(cwnd) / cwnd, in 2^-32 */
	u32 cwnd;      /* for which growth was computed; 0: none */
	u32 fraction;  /* of a segment of cwnd, in 2^-32 */
	u32 log_low;   /* log Low_Window */
	u32 log_range; /* log High_Window - log Low_Window */
	u32 log_fall;  /* log Low_P - log High_P */
	u32 log_low_p; /* log Low_P, of 2^-32 */
	/* linux, ns2 */
	u32 a;         /* segments per RTT */
	u32 b;         /* what a loss takes, in 1/256 */
	union slow_start slow_start;
};

CC_DECLARE_PARAMS(highspeed);
CC_CHECK_STATE(highspeed);

/* The largest cwnd of a range and its b in 1/256; a is 1 in the first, 2 in the second ... */
static const struct {
	u32 cwnd, b;
} highspeed_ranges[] = {
	{ 38, 128 }, { 118, 112 }, { 221, 104 }, { 347, 98 }, { 495, 93 }, { 663, 89 },
	{ 851, 86 }, { 1058, 83 }, { 1284, 81 }, { 1529, 78 }, { 1793, 76 }, { 2076, 74 },
	{ 2378, 72 }, { 2699, 71 }, { 3039, 69 }, { 3399, 68 }, { 3778, 66 }, { 4177, 65 },
	{ 4596, 64 }, { 5036, 62 }, { 5497, 61 }, { 5979, 60 }, { 6483, 59 }, { 7009, 58 },
	{ 7558, 57 }, { 8130, 56 }, { 8726, 55 }, { 9346, 54 }, { 9991, 53 }, { 10661, 52 },
	{ 11358, 52 }, { 12082, 51 }, { 12834, 50 }, { 13614, 49 }, { 14424, 48 }, { 15265, 48 },
	{ 16137, 47 }, { 17042, 46 }, { 17981, 45 }, { 18955, 45 }, { 19965, 44 }, { 21013, 43 },
	{ 22101, 43 }, { 23230, 42 }, { 24402, 41 }, { 25618, 41 }, { 26881, 40 }, { 28193, 39 },
	{ 29557, 39 }, { 30975, 38 }, { 32450, 38 }, { 33986, 37 }, { 35586, 36 }, { 37253, 36 },
	{ 38992, 35 }, { 40808, 35 }, { 42707, 34 }, { 44694, 33 }, { 46776, 33 }, { 48961, 32 },
	{ 51258, 32 }, { 53677, 31 }, { 56230, 30 }, { 58932, 30 }, { 61799, 29 }, { 64851, 28 },
	{ 68113, 28 }, { 71617, 27 }, { 75401, 26 }, { 79517, 26 }, { 84035, 25 }, { 89053, 24 },
};

#define HIGHSPEED_RANGES (sizeof(highspeed_ranges) / sizeof(highspeed_ranges[0]))

/* 2^(1/2), 2^(1/4), 2^(1/8) ... in 2^-31 */
static const u32 highspeed_roots[] = {
	3037000500, 2553802834, 2341847524, 2242560872, 2194507417, 2170868212,
	2159144272, 2153306067, 2150392887, 2148937775, 2148210589, 2147847087,
	2147665360, 2147574502, 2147529075, 2147506361,
};

/* The binary logarithm of n >= 1, in 2^-26: one binary digit per squaring. */
static inline u32 highspeed_log(u32 n)
{
	u64 m = n;
	u32 log = 31, i;

	for (i = 16; i; i >>= 1) {
		u32 shift = i & (u32)cc_mask_ge((1ULL << (32 - i)) - 1, m);

		m <<= shift;
		log -= shift;
	}
	for (i = 0; i < 26; i++) {
		u32 digit;

		m = m * m >> 31;
		digit = (u32)(m >> 32);
		m >>= digit;
		log = log << 1 | digit;
	}
	return log;
}

/* 2^x for x in 2^-26, below 32. */
static inline u64 highspeed_power(u32 x)
{
	u64 power = 1ULL << 31;
	u32 i;

	for (i = 0; i < 16; i++) {
		u64 set = 0 - (u64)(x >> (25 - i) & 1);

		power = power * ((highspeed_roots[i] & set) | (1ULL << 31 & ~set)) >> 31;
	}
	/* The ten digits left: 2^x is 1 + x log 2 there. */
	power += (power * (x & 1023) >> 26) * 2977044472ULL >> 32;
	return power >> (31 - (x >> 26));
}

/* log w - log Low_Window. */
static inline u32 highspeed_above(const struct highspeed *ca, u32 cwnd)
{
	u32 log = highspeed_log(cwnd);

	return log > ca->log_low ? log - ca->log_low : 0;
}

/* b(w) in 2^-24. */
static inline u32 highspeed_b(const struct highspeed *ca, const struct highspeed_params *p,
			      u32 above)
{
	u64 part = ((u64)cc_min(above, ca->log_range) << 24) / ca->log_range;

	return (u32)((1U << 23) - (500 - p->high_decrease) * part / 1000);
}

/* a(w) / w in 2^-32: w p(w) 2 b(w) / (2 - b(w)). */
static inline u64 highspeed_growth(const struct highspeed *ca, const struct highspeed_params *p,
				   u32 cwnd)
{
	u32 above = highspeed_above(ca, cwnd), b = highspeed_b(ca, p, above);
	u64 fall = (u64)above * ca->log_fall / ca->log_range;
	u64 log = (u64)ca->log_low + above + ca->log_low_p, reno = (1ULL << 32) / cwnd, growth;

	/* The loss rate of a window is one loss per window at most. */
	log = log > fall ? log - fall : 0;
	log = log < (32ULL << 26) ? log : (32ULL << 26) - 1;
	growth = highspeed_power((u32)log) * (((u64)b << 25) / ((2U << 24) - b)) >> 24;
	return growth > reno ? growth : reno;
}

static inline void highspeed_rfc_growth(struct highspeed *ca, const struct highspeed_params *p,
					struct cc_window *w, u32 acked)
{
	u64 grown;

	if (w->cwnd <= p->low_window) {
		cc_additive_increase(w, w->cwnd, acked);
		return;
	}
	if (w->cwnd != ca->cwnd) {
		ca->cwnd = w->cwnd;
		ca->growth = highspeed_growth(ca, p, w->cwnd);
	}
	grown = ca->fraction + acked * ca->growth;
	ca->fraction = (u32)grown;
	cc_grow(w, grown >> 32);
}

/* Finds the range of cwnd. */
static inline void highspeed_look_up(struct highspeed *ca, u32 cwnd)
{
	u32 a = 1, b = highspeed_ranges[0].b, i;

	for (i = 0; i < HIGHSPEED_RANGES - 1; i++) {
		u32 above = (u32)cc_mask_ge(cwnd, highspeed_ranges[i].cwnd + 1);

		a += above & 1;
		b -= above & (highspeed_ranges[i].b - highspeed_ranges[i + 1].b);
	}
	ca->a = a;
	ca->b = b;
}

static inline void highspeed_table_growth(struct highspeed *ca, struct cc_window *w)
{
	highspeed_look_up(ca, w->cwnd);
	if (w->cwnd >= w->cwnd_clamp)
		return;
	w->cwnd_cnt += ca->a;
	if (w->cwnd_cnt >= w->cwnd) {
		w->cwnd_cnt -= w->cwnd;
		cc_grow(w, 1);
	}
}

/* Returns the acknowledged segments that are left for congestion avoidance. */
static inline u32 highspeed_slow_start(const struct highspeed_params *p, struct cc_window *w,
				       u32 acked)
{
	if (!p->limited_slow_start || w->cwnd <= p->max_ssthresh)
		return cc_slow_start(w, acked);
	cc_additive_increase(w, (u32)(2ULL * w->cwnd / p->max_ssthresh), acked);
	w->cwnd = cc_min(w->cwnd, w->ssthresh);
	return 0;
}

static inline void highspeed_init(struct highspeed *ca, const struct highspeed_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	u32 low_p = highspeed_log(p->low_p);

	(void)w;
	ca->log_low = highspeed_log(p->low_window);
	ca->log_range = highspeed_log(p->high_window) - ca->log_low;
	ca->log_fall = low_p - highspeed_log(p->high_p);
	ca->log_low_p = (32U << 26) + low_p - highspeed_log(10000000);
	ca->a = 1;
	ca->b = highspeed_ranges[0].b;
	slow_start_init(&ca->slow_start.hystart, p->slow_start, a);
}

static inline void highspeed_cong_avoid(struct highspeed *ca, const struct highspeed_params *p,
					struct cc_window *w, const struct cc_ack *a)
{
	u32 acked = 1;

	if (p->variant != HIGHSPEED_NS2)
		slow_start_look(&ca->slow_start, p->slow_start, w, a);
	if (!cc_cwnd_limited(a))
		return;
	if (p->variant != HIGHSPEED_NS2)
		acked = slow_start_acked(&ca->slow_start.hystart, p->slow_start, w, a);
	if (cc_in_slow_start(w)) {
		acked = highspeed_slow_start(p, w, acked);
		if (!acked || p->variant != HIGHSPEED_SPEC)
			return;
	} else if (p->variant == HIGHSPEED_NS2 && w->cwnd == w->ssthresh) {
		cc_grow(w, 1);
		return;
	}
	if (p->variant == HIGHSPEED_SPEC)
		highspeed_rfc_growth(ca, p, w, acked);
	else
		highspeed_table_growth(ca, w);
}

static inline u32 highspeed_ssthresh(struct highspeed *ca, const struct highspeed_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	u32 b;

	(void)a;
	if (p->variant != HIGHSPEED_SPEC)
		return cc_max(w->cwnd - cc_part(w->cwnd, ca->b, 256), 2);
	b = highspeed_b(ca, p, highspeed_above(ca, w->cwnd));
	return cc_max(cc_part(w->cwnd, (1U << 24) - b, 1U << 24), 2);
}

static inline void highspeed_set_state(struct highspeed *ca, const struct highspeed_params *p,
				       struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->slow_start.hystart, p->slow_start, a, state);
}

#endif /* HIGHSPEED_H */
