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
 * Reno-friendly region too the window grows by one segment per segment acknowledged at most.
 * The slow start is the standard one, without HyStart.
 *
 * arithmetic = ns2 is CUBIC 2.1 of Linux 2.6.22, the one in ns-2.35, which most published
 * simulations of CUBIC used (with beta = 819/1024). What it does otherwise:
 *  - It counts ACKs, and grows by one segment once more than cnt of them have come, where
 *    cnt = cwnd / (W(t) - cwnd), or 100 cwnd on or above the curve. cnt is computed again when
 *    cwnd has changed or 1/32 s has passed.
 *  - t runs delay_min ahead. delay_min is the smallest sample, but samples in the first second
 *    of an epoch do not count.
 *  - Beyond the plateau (t >= K) at most max_increment segments per 100 ms.
 *  - Until the first loss, and from a timeout, which forgets everything, to the next loss:
 *    cnt = 50.
 *  - cnt is divided by the segments per ACK, an average that starts at 2 and moves by 1/16. Its
 *    integers come to rest at 31/16 when every segment is acknowledged, so that the curve is
 *    followed, and max_increment exceeded, by up to that factor.
 *  - West takes no notice of cwnd_prior. Slow start includes cwnd == ssthresh.
 */
#ifndef CUBIC_H
#define CUBIC_H

#include "cc.h"
#include "fixed.h"

#define cubic_PARAMS(P)                                                                \
	P(beta, 717, 1024, 512, 1013, "",                                              \
	  "multiplicative decrease factor; RFC 9438, 4.6")                             \
	P(c, 410, 1024, 10, 10240, "",                                                 \
	  "C, how steep the cubic is, in segments/s^3; RFC 9438, 5")                   \
	P(fast_convergence, 1, 1, 0, 1, "off|on",                                      \
	  "make room for new flows when the window shrinks; RFC 9438, 4.7")            \
	P(reno_friendly, 1, 1, 0, 1, "off|on",                                         \
	  "never slower than Reno would be; RFC 9438, 4.3")                            \
	P(arithmetic, 0, 1, 0, 1, "rfc|ns2",                                           \
	  "ns2: CUBIC 2.1, what published ns-2 simulations ran; ns-2.35")              \
	P(max_increment, 16, 1, 0, 1000000, "",                                        \
	  "growth beyond the plateau, in segments per 100 ms, 0: no limit, for arithmetic = ns2; CUBIC 2.1")
#define cubic_HOOKS(H, A)                                                              \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event) H(A, undo_cwnd)

enum cubic_arithmetic { CUBIC_RFC, CUBIC_NS2 };

/* What undoing a reduction brings back (RFC 9438, 4.9). */
struct cubic_epoch {
	u64 start_us;   /* start of the epoch; 0: none */
	u64 west;       /* West, in 2^-32 segments */
	u32 wmax;       /* Wmax */
	u32 k;          /* K, in 1/1024 s */
	u32 cwnd_prior; /* cwnd at the last loss, or where slow start first ended */
};

struct cubic_rfc {
	struct cubic_epoch epoch;
	struct cubic_epoch before; /* epoch as it was before the last loss */
	u64 last_us;               /* time of the last ACK */
	u32 fraction;              /* of a segment of cwnd, in 2^-32 */
	u32 idle;                  /* nothing was in flight since the last ACK */
};

struct cubic_ns2 {
	u64 start_us;   /* start of the epoch; 0: none */
	u64 cnt_us;     /* when cnt was computed */
	u32 cnt_cwnd;   /* for which cwnd */
	u32 cnt;        /* ACKs per segment of growth */
	u32 wmax;       /* window at the last loss, less after fast convergence; 0: none yet */
	u32 lossless;   /* no loss since the start or the last timeout */
	u32 origin;     /* plateau of this epoch */
	u32 k;          /* K, in 1/1024 s */
	u32 delay_min;  /* smallest sample, in us; 0: none */
	u32 acks;       /* ACKs towards the next segment of west */
	u32 west;       /* West */
	u32 delayed;    /* average of segments per ACK, in 1/16 */
};

struct cubic {
	union {
		struct cubic_rfc rfc;
		struct cubic_ns2 ns2;
	};
};

CC_DECLARE_PARAMS(cubic);
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
					struct cc_window *w, const struct cc_ack *a)
{
	struct cubic_epoch *epoch = &ca->epoch;
	u64 gap = a->now_us - ca->last_us, cwnd = (u64)w->cwnd << 10;
	u64 elapsed, window, target, grown;
	u32 acked = a->acked;

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
	if (epoch->west >> 32 >= epoch->cwnd_prior)
		epoch->west += (grown << 32) / w->cwnd;
	else
		epoch->west += grown * cubic_alpha(p->beta) / w->cwnd;

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

static inline void cubic_ns2_reset(struct cubic_ns2 *ca)
{
	*ca = (struct cubic_ns2){ .lossless = 1, .delayed = 2 << 4 };
}

static inline void cubic_ns2_pkts_acked(struct cubic_ns2 *ca, const struct cc_ack *a)
{
	if (a->state == CC_OPEN && a->acked)
		ca->delayed = ca->delayed - (ca->delayed >> 4) + cc_min(a->acked, 1024);
	if (ca->start_us && a->now_us - ca->start_us < 1000000)
		return;
	if (!ca->delay_min || a->rtt_us < ca->delay_min)
		ca->delay_min = a->rtt_us;
}

/* The ACKs that a segment of growth takes. */
static inline void cubic_ns2_update(struct cubic_ns2 *ca, const struct cubic_params *p, u32 cwnd,
				    u64 now_us)
{
	u64 t, target, cnt, limit, per;

	ca->acks++;
	if (ca->cnt_cwnd == cwnd && now_us - ca->cnt_us <= 31250)
		return;
	ca->cnt_cwnd = cwnd;
	ca->cnt_us = now_us;
	if (!ca->start_us) {
		ca->start_us = now_us;
		ca->acks = 1;
		ca->west = cwnd;
		ca->origin = cc_max(ca->wmax, cwnd);
		ca->k = cubic_k(ca->origin - cwnd, p->c);
	}
	t = cubic_time(now_us + ca->delay_min - ca->start_us);
	target = cubic_window(ca->origin, ca->k, p->c, t) >> 10;
	cnt = target > cwnd ? cwnd / (target - cwnd) : 100 * (u64)cwnd;
	if (p->max_increment && ca->delay_min && t >= ca->k) {
		limit = (u64)cwnd * 100000 / ((u64)p->max_increment * ca->delay_min);
		cnt = cnt < limit ? limit : cnt;
	}
	if (ca->lossless)
		cnt = 50;
	if (p->reno_friendly) {
		/* ACKs per segment of West, cwnd / alpha. */
		per = (u64)cwnd * (8 * (1024 + p->beta) / 3 / (1024 - p->beta)) >> 3;
		per = per ? per : 1;
		/* Strictly more than per ACKs make a segment. */
		if (ca->acks) {
			u64 grow = (ca->acks - 1) / per;

			ca->acks -= (u32)(grow * per);
			ca->west += (u32)grow;
		}
		if (ca->west > cwnd) {
			limit = cwnd / (ca->west - cwnd);
			cnt = cnt > limit ? limit : cnt;
		}
	}
	cnt = (cnt << 4) / ca->delayed;
	cnt = cnt > 0xffffffff ? 0xffffffff : cnt;
	ca->cnt = cc_max((u32)cnt, 1);
}

static inline void cubic_ns2_cong_avoid(struct cubic_ns2 *ca, const struct cubic_params *p,
					struct cc_window *w, const struct cc_ack *a)
{
	if (!cc_cwnd_limited(a))
		return;
	if (w->cwnd <= w->ssthresh) {
		cc_grow(w, 1);
		return;
	}
	cubic_ns2_update(ca, p, w->cwnd, a->now_us);
	if (w->cwnd_cnt >= ca->cnt) {
		cc_grow(w, 1);
		w->cwnd_cnt = 0;
	} else {
		w->cwnd_cnt++;
	}
}

static inline void cubic_init(struct cubic *ca, const struct cubic_params *p, struct cc_window *w,
			      const struct cc_ack *a)
{
	(void)w;
	(void)a;
	if (p->arithmetic == CUBIC_NS2)
		cubic_ns2_reset(&ca->ns2);
}

static inline void cubic_pkts_acked(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	if (p->arithmetic == CUBIC_NS2)
		cubic_ns2_pkts_acked(&ca->ns2, a);
}

static inline void cubic_cong_avoid(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	if (p->arithmetic == CUBIC_NS2)
		cubic_ns2_cong_avoid(&ca->ns2, p, w, a);
	else
		cubic_rfc_cong_avoid(&ca->rfc, p, w, a);
}

static inline u32 cubic_ssthresh(struct cubic *ca, const struct cubic_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	if (p->arithmetic == CUBIC_NS2) {
		ca->ns2.start_us = 0;
		ca->ns2.lossless = 0;
		ca->ns2.wmax = cubic_reduced(p, w->cwnd, ca->ns2.wmax);
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
	(void)w;
	(void)a;
	if (state != CC_LOSS)
		return;
	if (p->arithmetic == CUBIC_NS2)
		cubic_ns2_reset(&ca->ns2);
	else
		ca->rfc.epoch.wmax = 0;
}

static inline void cubic_cwnd_event(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)w;
	(void)a;
	if (event == CC_TX_START && p->arithmetic == CUBIC_RFC)
		ca->rfc.idle = 1;
}

static inline u32 cubic_undo_cwnd(struct cubic *ca, const struct cubic_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	if (p->arithmetic == CUBIC_RFC)
		ca->rfc.epoch = ca->rfc.before;
	return cc_max(w->cwnd, w->prior_cwnd);
}

#endif /* CUBIC_H */
