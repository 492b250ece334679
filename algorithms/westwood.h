/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Westwood and Westwood+: Reno whose window after a loss is what the path carried, by the
 * rate at which ACKs came, instead of half (S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi,
 * R. Wang, "TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links",
 * MobiCom 2001; L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+,
 * New Reno, and Vegas TCP Congestion Control", ACM CCR 34(2), 2004).
 *
 *   loss      ssthresh = BWE RTTmin; cwnd = ssthresh if that is less
 *   plus      b_k = segments acknowledged in an RTT / that RTT, once per RTT
 *             BWE_k = alpha BWE_k-1 + (1 - alpha) b_k
 *   original  b_k = segments acknowledged / time since the ACK before, Delta, once per ACK
 *             BWE_k = a BWE_k-1 + (1 - a) (b_k + b_k-1) / 2,  a = (2 tau - Delta) / (2 tau + Delta)
 *
 * RTTmin is the smallest sample of the connection. Growth is Reno's.
 *
 * Differences from the papers, and what is open: an RTT is the smoothed one, or the time until
 * the next ACK if that is longer. ssthresh is never above cwnd; before the first estimate it is
 * half of cwnd. The filter of 2001 has tau from no source that could be read, hence Westwood+ is
 * the default; it gets no samples of zero while no ACK comes, its a is 0 at least instead. An ACK
 * in recovery without an RTT sample counts with the next.
 *
 * variant = linux is the kernel's (estimate, alpha and tau have no effect). Otherwise:
 *  - A sample is bytes per tick of 4 ms over more than the last RTT and more than 48 ms, and takes
 *    in what arrived before the ACK that ends it. Two filters follow each other, each with an
 *    alpha of 7/8. The first sample fills both. All is rounded down, RTTs are rounded up to
 *    ticks and count from the ACK after their own. The first ACK does not count.
 *  - A loss halves the window; when the repair is done, cwnd = ssthresh = BWE RTTmin, which may
 *    be more than cwnd. A timeout sets ssthresh to it, and RTTmin to the last RTT.
 *
 * variant = ns2 is that of Linux 2.6.22 as ns-2.35 runs it, which calls no hook at the end of
 * a repair and none for RTTmin at a timeout. Different from linux:
 *  - A tick is 1 ms, and a sample is over more than 50 ms.
 *  - A loss sets ssthresh to half of cwnd, and cwnd to BWE RTTmin at once, which may be more: cwnd
 *    then stays above ssthresh, in avoidance. Otherwise it grows to ssthresh as in slow start.
 *  - An RTT is the smoothed one, rounded down to milliseconds, as an ACK that moves the left edge
 *    leaves it; it is known before the sample that the ACK may end.
 *  - Duplicate ACKs count as segments, and ACKs that move the left edge further count less for it.
 *  - Avoidance counts the segments acknowledged, those of the repair included: cwnd grows right
 *    after it, and again when the rest is a window. Slow start includes cwnd == ssthresh.
 */
#ifndef WESTWOOD_H
#define WESTWOOD_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"
#include "parts/ticks.h"

#define westwood_PARAMS(P)                                                             \
	P(estimate, 0, 1, 0, 1, "plus|original",                                       \
	  "plus: the filter of Westwood+, original: that of Westwood; the papers of 2004 and 2001") \
	P(alpha, 900, 1000, 0, 999, "",                                                \
	  "what a new sample leaves of BWE, for estimate = plus; the paper of 2004")   \
	P(tau_ms, 500, 1, 1, 10000, "",                                                \
	  "time constant of the filter, for estimate = original; assumed")             \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                   \
	  "whose rules: spec the paper's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux; Linux 6.1, ns-2.35") \
	SLOW_START_PARAM(P)
#define westwood_HOOKS(H, A)                                                           \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event)
#define westwood_PROGRESS(M) M(1, 1, w->cwnd_cnt, w->cwnd)

enum westwood_estimate { WESTWOOD_PLUS, WESTWOOD_ORIGINAL };
enum westwood_variant { WESTWOOD_SPEC, WESTWOOD_LINUX, WESTWOOD_NS2 };

struct westwood {
	u64 bwe;       /* BWE, in 2^-32 segments/us (paper) or bytes/tick; 0: no sample yet */
	u64 before;    /* original: the last b_k; linux: what the first filter gives */
	u64 start_us;  /* when the current sample began */
	u64 delivered; /* segments delivered then; linux: until the last ACK */
	u64 bytes;     /* linux: bytes acknowledged since the sample began */
	u32 rtt_ticks; /* linux: the last RTT */
	u32 min_ticks; /* linux: RTTmin */
	u32 started;   /* an ACK has come */
	u32 forget;    /* linux: the last RTT is to be RTTmin */
	u64 sent_us;   /* ns2: when the segment was sent that moved the left edge last */
	u32 srtt8_ms;  /* ns2: eight times the smoothed RTT */
	u32 acked;     /* ns2: segments acknowledged that cwnd_cnt has yet to count */
	u32 ahead;     /* ns2: segments counted before they were acknowledged */
	struct hystart hystart;
};

CC_DECLARE_PARAMS(westwood);
CC_CHECK_STATE(westwood);

/* value * part / 2^32, for part up to 2^32. */
static inline u64 westwood_scale(u64 value, u64 part)
{
	return (value >> 32) * part + ((value & 0xffffffff) * part >> 32);
}

/* The filter takes weight, in 2^-32, of a sample. */
static inline u64 westwood_towards(u64 bwe, u64 sample, u64 weight)
{
	if (sample >= bwe)
		return bwe + westwood_scale(sample - bwe, weight);
	return bwe - westwood_scale(bwe - sample, weight);
}

static inline void westwood_paper_sample(struct westwood *ca, const struct westwood_params *p,
					 const struct cc_ack *a)
{
	u64 delta = a->now_us - ca->start_us, tau2 = 2000 * (u64)p->tau_ms;
	u64 segments = cc_since(a->delivered, ca->delivered), sample, weight;

	if (!ca->started) {
		ca->started = 1;
	} else {
		u32 least = p->estimate == WESTWOOD_PLUS ? cc_max(a->srtt_us, 1) : 1;

		if (delta < least || !segments)
			return;
		if (segments > 0x7fffffff)
			segments = 0x7fffffff;
		sample = (segments << 32) / delta;
		if (!ca->bwe) {
			ca->bwe = sample;
		} else if (p->estimate == WESTWOOD_PLUS) {
			weight = ((u64)(1000 - p->alpha) << 32) / 1000;
			ca->bwe = westwood_towards(ca->bwe, sample, weight);
		} else {
			/* 1 - a = 2 Delta / (2 tau + Delta) */
			weight = delta < tau2 ? (delta << 33) / (tau2 + delta) : 1ULL << 32;
			ca->bwe = westwood_towards(ca->bwe, (sample + ca->before) / 2, weight);
		}
		ca->before = sample;
	}
	ca->start_us = a->now_us;
	ca->delivered = a->delivered;
}

/* The module's clock; what the ACK itself brings counts for the next sample. */
static inline void westwood_module_sample(struct westwood *ca, const struct cc_ack *a, u32 is_ns2)
{
	u64 delta = ticks_of(a->now_us, is_ns2) - ticks_of(ca->start_us, is_ns2);

	if (delta > cc_max(ca->rtt_ticks, (u32)ticks_of(50000, is_ns2))) {
		u64 sample = ca->bytes / delta;

		if (!ca->before && !ca->bwe) {
			ca->before = sample;
			ca->bwe = sample;
		} else {
			ca->before = (7 * ca->before + sample) >> 3;
			ca->bwe = (7 * ca->bwe + ca->before) >> 3;
		}
		ca->bytes = 0;
		ca->start_us = a->now_us;
	}
	ca->min_ticks = ca->forget ? ca->rtt_ticks : cc_min(ca->min_ticks, ca->rtt_ticks);
	ca->forget = 0;
}

/* Its in_ack_event comes before the ACK's own RTT is known. */
static inline void westwood_linux_sample(struct westwood *ca, const struct cc_ack *a)
{
	if (ca->started && a->delivered == ca->delivered)
		return;
	westwood_module_sample(ca, a, 0);
	if (ca->started)
		ca->bytes += (u64)cc_since(a->delivered, ca->delivered) * a->mss;
	ca->started = 1;
	ca->delivered = a->delivered;
}

static inline void westwood_sample(struct westwood *ca, const struct westwood_params *p,
				   const struct cc_ack *a)
{
	if (p->variant == WESTWOOD_SPEC)
		westwood_paper_sample(ca, p, a);
	else
		westwood_linux_sample(ca, a);
}

/*
 * An ACK that moves the left edge by acked segments; 0: it counts as one, and a later ACK as one
 * less, and its time is that of the segment that moved the left edge last.
 */
static inline void westwood_ns2_ack(struct westwood *ca, const struct cc_ack *a)
{
	u32 segments = a->acked, ms;

	if (a->rtt_us)
		ca->sent_us = a->now_us - a->rtt_us;
	ms = cc_max((u32)((a->now_us - ca->sent_us + 500) / 1000), 1);
	ca->srtt8_ms = ca->srtt8_ms ? ca->srtt8_ms - (ca->srtt8_ms >> 3) + ms : ms << 3;
	if (segments)
		ca->rtt_ticks = ca->srtt8_ms >> 3;
	westwood_module_sample(ca, a, 1);
	ca->acked += segments;
	if (!segments) {
		ca->ahead++;
		segments = 1;
	} else if (segments > 1 && ca->ahead >= segments) {
		ca->ahead -= segments;
		segments = 1;
	} else if (segments > 1) {
		segments -= ca->ahead;
		ca->ahead = 0;
	}
	ca->bytes += (u64)segments * a->mss;
}

/* The RTT of the first ACK, which is that of a SYN, only the stack has seen. */
static inline void westwood_ns2_start(struct westwood *ca, const struct cc_ack *a)
{
	ca->sent_us = a->now_us - a->srtt_us;
	ca->srtt8_ms = cc_max((u32)(((u64)a->srtt_us + 500) / 1000), 1) << 3;
}

/* Reno's growth by segments acknowledged, those of a repair included. */
static inline void westwood_ns2_growth(struct westwood *ca, struct cc_window *w,
				       const struct cc_ack *a)
{
	w->cwnd_cnt += ca->acked;
	ca->acked = 0;
	if (!cc_cwnd_limited(a))
		return;
	if (w->cwnd <= w->ssthresh) {
		w->cwnd_cnt = 0;
		cc_grow(w, 1);
	} else if (w->cwnd_cnt >= w->cwnd) {
		w->cwnd_cnt -= w->cwnd;
		cc_grow(w, 1);
	}
}

/* BWE RTTmin in segments, as the kernel has it. */
static inline u32 westwood_linux_window(const struct westwood *ca, const struct cc_window *w,
					const struct cc_ack *a)
{
	u64 bwe = ca->bwe < 1ULL << 40 ? ca->bwe : 1ULL << 40;
	u64 window = bwe * ca->min_ticks / cc_max(a->mss, 1);

	window = window < w->cwnd_clamp ? window : w->cwnd_clamp;
	return cc_max((u32)window, 2);
}

static inline void westwood_init(struct westwood *ca, const struct westwood_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	ca->start_us = a->now_us;
	ca->delivered = a->delivered;
	ca->rtt_ticks = (u32)ticks_of(20000000, p->variant == WESTWOOD_NS2);
	ca->min_ticks = ca->rtt_ticks;
	ca->forget = 1;
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void westwood_pkts_acked(struct westwood *ca, const struct westwood_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	if (p->variant == WESTWOOD_NS2) {
		if (a->state == CC_OPEN)
			westwood_ns2_ack(ca, a);
		return;
	}
	westwood_sample(ca, p, a);
	ca->rtt_ticks = ticks_round_up(a->rtt_us, 0);
}

static inline void westwood_cong_avoid(struct westwood *ca, const struct westwood_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == WESTWOOD_NS2) {
		if (!ca->srtt8_ms)
			westwood_ns2_start(ca, a);
		westwood_ns2_growth(ca, w, a);
		return;
	}
	westwood_sample(ca, p, a);
	slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
	if (cc_cwnd_limited(a))
		cc_reno_growth(w, slow_start_acked(&ca->hystart, p->slow_start, w, a));
}

static inline u32 westwood_ssthresh(struct westwood *ca, const struct westwood_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u64 window;

	if (p->variant == WESTWOOD_NS2) {
		w->repair_cwnd = westwood_linux_window(ca, w, a);
		ca->acked = 0;
	}
	if (p->variant != WESTWOOD_SPEC || !ca->bwe)
		return cc_max(w->cwnd / 2, 2);
	window = westwood_scale(ca->bwe, a->min_rtt_us);
	return cc_max((u32)(window < w->cwnd ? window : w->cwnd), 2);
}

static inline void westwood_set_state(struct westwood *ca, const struct westwood_params *p,
				      struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
}

static inline void westwood_cwnd_event(struct westwood *ca, const struct westwood_params *p,
				       struct cc_window *w, const struct cc_ack *a, u8 event)
{
	if (p->variant == WESTWOOD_NS2 && event == CC_SLOW_ACK)
		westwood_ns2_ack(ca, a);
	if (p->variant != WESTWOOD_LINUX)
		return;
	if (event == CC_COMPLETE_CWR) {
		w->ssthresh = westwood_linux_window(ca, w, a);
		w->cwnd = w->ssthresh;
	} else if (event == CC_RTO) {
		w->ssthresh = westwood_linux_window(ca, w, a);
		ca->forget = 1;
	}
}

#endif /* WESTWOOD_H */
