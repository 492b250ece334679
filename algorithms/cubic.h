/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * CUBIC: after a loss the window follows a cubic of the time since, steep at first, flat around
 * the window where the loss was, steep again beyond (S. Ha, I. Rhee, L. Xu, "CUBIC: a new
 * TCP-friendly high-speed TCP variant", 2008; RFC 9438).
 *
 *   W(t)   = C (t - K)^3 + Wmax,  K = cbrt((Wmax - cwnd_epoch) / C)
 *   target = W(t + RTT), within [cwnd, 1.5 cwnd]
 *   cwnd  += (target - cwnd) / cwnd            per segment acknowledged
 *   West  += alpha / cwnd                      per segment acknowledged, from cwnd_epoch
 *   cwnd   = West                              where W(t) < West: the Reno-friendly region
 *   alpha  = 3 (1 - beta) / (1 + beta), and 1 once West has come to cwnd_prior
 *   loss     ssthresh = beta * cwnd; Wmax = cwnd, or cwnd (1 + beta) / 2 if cwnd < Wmax
 *            (fast convergence)
 *   timeout  the same, and the next epoch starts on the plateau: K = 0, Wmax = cwnd_epoch
 *
 * An epoch is a stage of congestion avoidance; t is the time since its start, without the time
 * in which the application sent too little.
 *
 * Differences from RFC 9438: beta * cwnd instead of beta * flight_size (equal for a sender
 * limited by cwnd, and growth happens for no other). beta and C are the nearest multiples of
 * 1/1024, as in every kernel: 0.7002 and 0.4004. Time is counted in 1/1024 s. In the
 * Reno-friendly region, too, the window grows by one segment per segment acknowledged at most.
 * RFC 9438, 4.10 wants HyStart++ with it; the slow start is the standard one by default, so that
 * what is compared is the cubic: published simulations of CUBIC had none. See slow_start.
 *
 * The kernels' builds are in variants/cubic_linux.h and variants/cubic_ns2.h.
 */
#ifndef CUBIC_H
#define CUBIC_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"

#define cubic_PARAMS(P)                                                                \
	P(beta, 717, 1024, 512, 1013, "",                                              \
	  "multiplicative decrease factor; RFC 9438, 4.6")                             \
	P(c, 410, 1024, 10, 10240, "",                                                 \
	  "C, how steep the cubic is, in segments/s^3; RFC 9438, 5")                   \
	P(fast_convergence, 1, 1, 0, 1, "off|on",                                      \
	  "make room for new flows when the window shrinks; RFC 9438, 4.7")            \
	P(reno_friendly, 1, 1, 0, 1, "off|on",                                         \
	  "never slower than Reno would be; RFC 9438, 4.3")                            \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                     \
	  "whose rules: spec the RFC's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux (CUBIC 2.1); Linux 6.1, ns-2.35") \
	SLOW_START_OR_SEARCH_PARAM(P)                                                  \
	P(max_increment, 16, 1, 0, 1000000, "",                                        \
	  "growth beyond the plateau, in segments per 100 ms, 0: no limit, for variant = ns2; CUBIC 2.1")
#define cubic_HOOKS(H, A)                                                              \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event) H(A, undo_cwnd)
#define cubic_INVARIANTS(I) \
	I(p->variant != CUBIC_SPEC || p->slow_start == SLOW_START_SEARCH || ca->rfc.epoch.k < 1 << 22) \
	I(p->variant != CUBIC_SPEC || p->slow_start == SLOW_START_SEARCH || ca->rfc.before.k < 1 << 22) \
	I(p->variant != CUBIC_SPEC || p->slow_start == SLOW_START_SEARCH || ca->rfc.epoch.start_us <= ca->rfc.last_us) \
	I(p->variant != CUBIC_SPEC || p->slow_start == SLOW_START_SEARCH || ca->rfc.before.start_us <= ca->rfc.last_us) \
	I(p->variant != CUBIC_SPEC || p->slow_start == SLOW_START_SEARCH || ca->rfc.last_us <= a->now_us)

CC_DECLARE_PARAMS(cubic);

/* They use struct cubic_params. */
#include "variants/cubic_linux.h"
#include "variants/cubic_ns2.h"

enum cubic_variant { CUBIC_SPEC, CUBIC_LINUX, CUBIC_NS2 };

/* What undoing a reduction brings back (RFC 9438, 4.9). */
struct cubic_epoch {
	u64 start_us;   /* start of the epoch; 0: none */
	u64 west;       /* West, in 2^-32 segments */
	u32 wmax;       /* Wmax */
	u32 k;          /* K, in 1/1024 s */
	u32 cwnd_prior; /* cwnd at the last loss, or where slow start first ended */
	u32 rest;       /* of West's last division by cwnd */
};

struct cubic_rfc {
	struct cubic_epoch epoch;
	struct cubic_epoch before; /* epoch as it was before the last loss */
	u64 last_us;               /* time of the last ACK */
	u32 fraction;              /* of a segment of cwnd, in 2^-32 */
	u32 idle;                  /* nothing was in flight since the last ACK */
};

struct cubic {
	union {
		struct search search; /* until the first slow start is over */
		struct cubic_rfc rfc;
		struct cubic_ns2 ns2;
		struct cubic_linux module;
	};
	struct hystart hystart;
};

CC_CHECK_STATE(cubic);

/* K = cbrt(below / C), in 1/1024 s; 2580 s at most. */
static inline u32 cubic_k(u32 below, u32 c)
{
	u64 limit = (1ULL << 34) - 1, seconds;

	if (below < 1U << 24)
		return cc_icbrt(((u64)below << 40) / c);
	seconds = ((u64)below << 10) / c;
	return cc_icbrt((seconds < limit ? seconds : limit) << 30);
}

/* us in 1/1024 s; 8191 s at most, when the cubic has left every window behind. */
static inline u64 cubic_time(u64 us)
{
	return us < 8191000000ULL ? (us << 10) / 1000000 : 8191 << 10;
}

/* W(t) around a plateau wmax, in 1/1024 segments, not below 0; times in 1/1024 s. */
static inline u64 cubic_window(u32 wmax, u32 k, u32 c, u64 t)
{
	u64 top = (u64)wmax << 10;
	u64 distance = t < k ? k - t : t - k;
	u64 height = ((distance * distance >> 10) * distance >> 10) * c >> 10;

	if (t >= k)
		return top + height;
	return top > height ? top - height : 0;
}

/* alpha in 2^-32: what makes AIMD(alpha, beta) take as much as Reno. */
static inline u64 cubic_alpha(u32 beta)
{
	return ((u64)(3 * (1024 - beta)) << 32) / (1024 + beta);
}

static inline u32 cubic_reduced(const struct cubic_params *p, u32 cwnd, u32 wmax)
{
	if (p->fast_convergence && cwnd < wmax)
		return cc_part(cwnd, 1024 + p->beta, 2048);
	return cwnd;
}

static inline void cubic_rfc_start(struct cubic_epoch *epoch, u32 c, u32 cwnd, u64 now_us)
{
	epoch->start_us = now_us;
	epoch->west = (u64)cwnd << 32;
	epoch->wmax = cc_max(epoch->wmax, cwnd);
	epoch->k = cubic_k(epoch->wmax - cwnd, c);
	if (!epoch->cwnd_prior)
		epoch->cwnd_prior = cwnd;
}

static inline void cubic_rfc_cong_avoid(struct cubic_rfc *ca, const struct cubic_params *p,
					struct cc_window *w, const struct cc_ack *a, u32 acked)
{
	struct cubic_epoch *epoch = &ca->epoch;
	u64 gap = a->now_us - ca->last_us, cwnd = (u64)w->cwnd << 10;
	u64 elapsed, window, target, grown;

	ca->last_us = a->now_us;
	if (epoch->start_us && (ca->idle || !cc_cwnd_limited(a)))
		epoch->start_us += gap;
	ca->idle = 0;
	if (!cc_cwnd_limited(a))
		return;
	if (cc_in_slow_start(w)) {
		acked = cc_slow_start(w, acked);
		if (!acked)
			return;
		cwnd = (u64)w->cwnd << 10;
	}
	if (!epoch->start_us) {
		cubic_rfc_start(epoch, p->c, w->cwnd, a->now_us);
		ca->fraction = 0;
	}
	elapsed = a->now_us - epoch->start_us;
	window = cubic_window(epoch->wmax, epoch->k, p->c, cubic_time(elapsed));
	target = cubic_window(epoch->wmax, epoch->k, p->c, cubic_time(elapsed + a->srtt_us));

	/* No ACK covers more than a window. */
	grown = cc_min(acked, w->cwnd);
	grown *= epoch->west >> 32 >= epoch->cwnd_prior ? 1ULL << 32 : cubic_alpha(p->beta);
	grown = cc_divide(grown, w->cwnd, &epoch->rest);
	epoch->west += epoch->west >> 63 ? 0 : grown; /* beyond any window */

	if (p->reno_friendly && window < epoch->west >> 22) {
		u32 west = cc_max((u32)(epoch->west >> 32), w->cwnd);

		cc_grow(w, cc_min(west - w->cwnd, acked));
		return;
	}
	target = target < cwnd ? cwnd : target;
	target = target > cwnd + cwnd / 2 ? cwnd + cwnd / 2 : target;
	grown = ca->fraction + acked * (((target - cwnd) << 22) / w->cwnd);
	ca->fraction = (u32)grown;
	cc_grow(w, grown >> 32);
}

/* In its first slow start with SEARCH, which has the place of the rest. */
static inline u32 cubic_searches(const struct cubic_params *p, const struct cc_window *w)
{
	return p->slow_start == SLOW_START_SEARCH && p->variant != CUBIC_NS2 &&
	       w->ssthresh >= CC_SSTHRESH_INFINITE;
}

static inline void cubic_end_search(struct cubic *ca)
{
	ca->rfc = (struct cubic_rfc){ 0 };
}

static inline void cubic_init(struct cubic *ca, const struct cubic_params *p, struct cc_window *w,
			      const struct cc_ack *a)
{
	(void)w;
	if (p->variant == CUBIC_NS2)
		cubic_ns2_reset(&ca->ns2);
	slow_start_init(&ca->hystart, p->slow_start, a);
}

CC_RARE void cubic_search(struct cubic *ca, struct cc_window *w, const struct cc_ack *a)
{
	search_sample(&ca->search, w, a);
	if (w->ssthresh < CC_SSTHRESH_INFINITE)
		cubic_end_search(ca);
}

static inline void cubic_pkts_acked(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u32 delay_min_us = a->min_rtt_us;

	if (p->variant == CUBIC_NS2) {
		cubic_ns2_pkts_acked(&ca->ns2, a);
		return;
	}
	if (cubic_searches(p, w)) {
		cubic_search(ca, w, a);
		return;
	}
	if (p->variant == CUBIC_LINUX) {
		if (!cubic_linux_sample(&ca->module, a))
			return;
		delay_min_us = ca->module.delay_min_us;
	}
	slow_start_sample(&ca->hystart, p->slow_start, w, a, delay_min_us);
}

static inline void cubic_cong_avoid(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u32 acked;

	if (p->variant == CUBIC_NS2) {
		cubic_ns2_cong_avoid(&ca->ns2, p, w, a);
		return;
	}
	acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);
	if (cubic_searches(p, w)) {
		if (cc_cwnd_limited(a))
			cc_slow_start(w, acked);
		return;
	}
	if (p->variant == CUBIC_LINUX)
		cubic_linux_cong_avoid(&ca->module, p, w, a, acked);
	else
		cubic_rfc_cong_avoid(&ca->rfc, p, w, a, acked);
}

static inline u32 cubic_ssthresh(struct cubic *ca, const struct cubic_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	if (cubic_searches(p, w))
		cubic_end_search(ca);
	if (p->variant == CUBIC_NS2) {
		ca->ns2.start_ms = 0;
		ca->ns2.lossless = 0;
		ca->ns2.wmax = cubic_reduced(p, w->cwnd, ca->ns2.wmax);
	} else if (p->variant == CUBIC_LINUX) {
		ca->module.start_ms = 0;
		ca->module.wmax = cubic_reduced(p, w->cwnd, ca->module.wmax);
	} else {
		struct cubic_epoch *epoch = &ca->rfc.epoch;

		ca->rfc.before = *epoch;
		epoch->start_us = 0;
		epoch->wmax = cubic_reduced(p, w->cwnd, epoch->wmax);
		epoch->cwnd_prior = w->cwnd;
	}
	return cc_max(cc_part(w->cwnd, p->beta, 1024), 2);
}

static inline void cubic_set_state(struct cubic *ca, const struct cubic_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 state)
{
	if (state != CC_LOSS || cubic_searches(p, w))
		return;
	if (p->variant == CUBIC_NS2)
		cubic_ns2_reset(&ca->ns2);
	else if (p->variant == CUBIC_LINUX)
		ca->module = (struct cubic_linux){ .sent_ms = ca->module.sent_ms };
	else
		ca->rfc.epoch.wmax = 0;
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
}

static inline void cubic_cwnd_event(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)a;
	if (cubic_searches(p, w))
		return;
	if (event == CC_TX_START && p->variant == CUBIC_SPEC)
		ca->rfc.idle = 1;
	else if (event == CC_TX_START && p->variant == CUBIC_LINUX)
		ca->module.idle = 1;
}

static inline u32 cubic_undo_cwnd(struct cubic *ca, const struct cubic_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	if (p->variant == CUBIC_SPEC && !cubic_searches(p, w))
		ca->rfc.epoch = ca->rfc.before;
	return cc_max(w->cwnd, w->prior_cwnd);
}

#endif /* CUBIC_H */
