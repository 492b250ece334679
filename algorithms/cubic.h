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
 * RFC 9438, 4.10 wants HyStart++ with it; the slow start is the standard one by default, so that
 * what is compared is the cubic: published simulations of CUBIC had none. See hystart.
 *
 * variant = linux is the module of Linux 6.1. What it does otherwise:
 *  - cnt segments acknowledged make one of cwnd, where cnt = cwnd / (W(t) - cwnd), or 100 cwnd on
 *    or above the curve; at least 2, and at most 20 until the first loss. cnt is computed again
 *    when cwnd has changed, at most once per ms, or 32 ms have passed.
 *  - Time is in ms, W(t) in whole segments, and t runs delay_min ahead. delay_min is the smallest
 *    sample, but samples in the first second of an epoch do not count.
 *  - K is the cube root to about 0.2 %: a table gives seven bits, one step of Newton's method
 *    the rest, with 341/1024 for a third.
 *  - cwnd / alpha segments, in eighths rounded down, make one of West; cnt brings cwnd to West
 *    within a window. West takes no notice of cwnd_prior.
 *  - A timeout forgets everything. A spurious loss brings back cwnd alone.
 *  - An idle time moves the epoch by the time between the segments sent before and after it,
 *    which are here those whose RTT the ACKs before and after it sampled.
 * Windows so large that the module's products overflow (16 million segments from the plateau) go
 * on along the curve.
 *
 * hystart ends slow start before it overruns the buffer, by setting ssthresh to cwnd:
 *  - linux: from 16 segments on, by what the ACKs of a round tell: they come at
 *    most 2 ms apart and have come for half of delay_min, or of delay_min and the time of four
 *    bursts of 64 KiB (1 ms at most), and for all of that if paced; or the smallest of at least 8
 *    samples is above delay_min by an eighth of it, 4 to 16 ms. The rate of bursts, if not
 *    paced, is the one Linux would pace at after the ACK before: 2 cwnd per RTT, 1.2 from half of
 *    ssthresh on.
 *  - linux: from 16 segments on, when the ACKs of a round have come at most 2 ms apart for half of
 *    delay_min and of the time of four bursts of 64 KiB (1 ms at most), or for all of it if
 *    paced; or when the smallest of more than 8 samples of a round is above delay_min by an
 *    eighth of it, 4 to 16 ms. The rate of bursts, if not paced, is the one Linux would pace at:
 *    2 cwnd per RTT, 1.2 from half of ssthresh on.
 *  - plusplus: HyStart++ (RFC 9406), in the first slow start only. When the smallest of at least 8
 *    samples of a round is above that of the round before by an eighth of it, 4 to 16 ms,
 *    conservative slow start (CSS) follows: a quarter of the growth for 5 rounds, the one it
 *    began in included, then ssthresh = cwnd. If the smallest of 8 samples falls below the one
 *    CSS began with, slow start goes on. An ACK counts 8 segments at most, unless paced.
 *
 * variant = ns2 is CUBIC 2.1 of Linux 2.6.22, the one in ns-2.35, which most published
 * simulations of CUBIC used (with beta = 819/1024). What it does otherwise:
 *  - It counts ACKs, and grows by one segment once more than cnt of them have come, where
 *    cnt = cwnd / (W(t) - cwnd), or 100 cwnd on or above the curve. cnt is computed again when
 *    cwnd has changed or 31 ms have passed. Times are whole milliseconds.
 *  - t runs delay_min ahead. delay_min is the smallest sample, but samples in the first second
 *    of an epoch do not count. A sample ends in a whole millisecond that is over and begins at
 *    the nearest one.
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
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                     \
	  "whose rules: spec the RFC's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux (CUBIC 2.1); Linux 6.1, ns-2.35") \
	P(hystart, 0, 1, 0, 2, "off|linux|plusplus",                                   \
	  "how slow start may end before a loss, not for variant = ns2; Linux 6.1, RFC 9406") \
	P(max_increment, 16, 1, 0, 1000000, "",                                        \
	  "growth beyond the plateau, in segments per 100 ms, 0: no limit, for variant = ns2; CUBIC 2.1")
#define cubic_HOOKS(H, A)                                                              \
	H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)    \
	H(A, cwnd_event) H(A, undo_cwnd)

enum cubic_variant { CUBIC_SPEC, CUBIC_LINUX, CUBIC_NS2 };
enum cubic_hystart_kind { CUBIC_HYSTART_OFF, CUBIC_HYSTART_LINUX, CUBIC_HYSTART_PLUSPLUS };

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
	u32 start_ms;   /* start of the epoch; 0: none */
	u32 cnt_ms;     /* when cnt was computed */
	u32 cnt_cwnd;   /* for which cwnd */
	u32 cnt;        /* ACKs per segment of growth */
	u32 wmax;       /* window at the last loss, less after fast convergence; 0: none yet */
	u32 lossless;   /* no loss since the start or the last timeout */
	u32 origin;     /* plateau of this epoch */
	u32 k;          /* K, in 1/1024 s */
	u32 delay_ms;   /* smallest sample; 0: none */
	u32 acks;       /* ACKs towards the next segment of west */
	u32 west;       /* West */
	u32 delayed;    /* average of segments per ACK, in 1/16 */
};

struct cubic_linux {
	u32 cnt;          /* segments acknowledged per segment of growth */
	u32 cnt_cwnd;     /* cwnd for which it was computed */
	u32 cnt_ms;       /* and when */
	u32 wmax;         /* window at the last loss, less after fast convergence; 0: none yet */
	u32 origin;       /* plateau of this epoch */
	u32 k;            /* K, in 1/1024 s */
	u32 start_ms;     /* start of the epoch; 0: none */
	u32 delay_min_us; /* smallest sample; 0: none */
	u32 acks;         /* segments acknowledged towards the next of west */
	u32 west;         /* West */
	u32 sent_ms;      /* when the segment was sent that gave the last sample */
	u32 idle;         /* nothing was in flight since */
};

#define CUBIC_NO_RTT 0xffffffffU

struct cubic_hystart {
	u32 round_end;    /* a round is over when more than these are delivered, modulo 2^32 */
	u32 rtt_us;       /* smallest sample of the round */
	union {
		u32 start_us;    /* linux: start of the round */
		u32 last_rtt_us; /* plusplus: smallest sample of the round before */
	};
	union {
		u32 train_us;    /* linux: the last ACK of the train */
		u32 css_rtt_us;  /* plusplus: smallest sample of the round when CSS began */
	};
	u8 samples;       /* in the round */
	u8 found;         /* linux: slow start was ended */
	u8 css;           /* plusplus: the round of CSS; 0: not in it */
	u8 quarters;      /* plusplus: of a segment of growth */
	u32 bursts_us;    /* linux: time of four bursts, as of the last ACK */
};

struct cubic {
	union {
		struct cubic_rfc rfc;
		struct cubic_ns2 ns2;
		struct cubic_linux module;
	};
	struct cubic_hystart hystart;
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

/* The cube root of n >= 2^31 as Linux has it since 2.6.22, to about 0.2 %. */
static inline u32 cubic_kernel_root(u64 n)
{
	/* 64 times the root of 8 to 63, less 10: where a step of Newton's method serves best. */
	static const u8 roots[64] = {
		0,   0,   0,   0,   0,   0,   0,   0,   123, 129, 134, 138, 143, 147, 151, 156,
		157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
		200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
		231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
	};
	u32 digit = (cc_bits(n) * 84 >> 8) - 1;
	u32 root = (u32)((((u64)roots[n >> 3 * digit & 63] + 10) << digit) >> 6);

	root = 2 * root + (u32)(n / ((u64)root * (root - 1)));
	return (u32)((u64)root * 341 >> 10);
}

static inline u32 cubic_ms(u64 us)
{
	return (u32)(us / 1000);
}

/* C |t - K|^3 in whole segments, times in 1/1024 s. */
static inline u32 cubic_kernel_height(u64 distance, u32 c)
{
	u64 cube;

	if (distance < 1 << 21) {
		cube = distance * distance * distance;
		cube = ((cube >> 20) * c + ((cube & 0xfffff) * c >> 20)) >> 20;
	} else {
		cube = ((distance * distance >> 10) * distance >> 20) * c >> 20;
	}
	return cube < 0xffffffff ? (u32)cube : 0xffffffff;
}

/* K = cbrt(below / C), in 1/1024 s. */
static inline u32 cubic_kernel_k(u32 below, u32 c)
{
	u64 factor = (1ULL << 40) / c, limit = ~0ULL / factor;

	return below ? cubic_kernel_root(factor * (below < limit ? below : limit)) : 0;
}

/* ms in 1/1024 s; 8191 s at most. */
static inline u64 cubic_kernel_time(u64 ms)
{
	return ms < 8191000 ? (ms << 10) / 1000 : 8191 << 10;
}

/* W(t) in segments. */
static inline u32 cubic_kernel_target(u32 origin, u32 k, u32 c, u64 t)
{
	u32 height = cubic_kernel_height(t < k ? k - t : t - k, c);

	/* Modulo 2^32: where K is a little too long for a small window. */
	if (t < k)
		return origin - height;
	return height < ~origin ? origin + height : ~0U;
}

static inline void cubic_ns2_reset(struct cubic_ns2 *ca)
{
	*ca = (struct cubic_ns2){ .lossless = 1, .delayed = 2 << 4 };
}

static inline void cubic_ns2_pkts_acked(struct cubic_ns2 *ca, const struct cc_ack *a)
{
	u32 now = cubic_ms(a->now_us);
	u32 sent = cubic_ms(a->now_us > a->rtt_us ? a->now_us - a->rtt_us + 500 : 0), delay;

	if (a->state == CC_OPEN && a->acked)
		ca->delayed = ca->delayed - (ca->delayed >> 4) + cc_min(a->acked, 1024);
	if (ca->start_ms && now - ca->start_ms < 1000)
		return;
	delay = now > sent ? now - sent : 1;
	if (!ca->delay_ms || delay < ca->delay_ms)
		ca->delay_ms = delay;
}

/* West takes up acks; below it cnt is what reaches West. Of the kernel's and ns-2's arithmetic. */
static inline u64 cubic_kernel_friendly(u32 *acks, u32 *west, u32 beta, u32 cwnd, u64 cnt)
{
	/* acks per segment of West, cwnd / alpha */
	u64 per = (u64)cwnd * (8 * (1024 + beta) / 3 / (1024 - beta)) >> 3, limit;

	per = per ? per : 1;
	/* Strictly more than per make a segment. */
	if (*acks) {
		u64 grow = (*acks - 1) / per;

		*acks -= (u32)(grow * per);
		*west += (u32)grow;
	}
	if (*west <= cwnd)
		return cnt;
	limit = cwnd / (*west - cwnd);
	return cnt > limit ? limit : cnt;
}

/* The ACKs that a segment of growth takes. */
static inline void cubic_ns2_update(struct cubic_ns2 *ca, const struct cubic_params *p, u32 cwnd,
				    u32 now)
{
	u64 t, cnt, limit;
	u32 target;

	ca->acks++;
	if (ca->cnt_cwnd == cwnd && now - ca->cnt_ms <= 31)
		return;
	ca->cnt_cwnd = cwnd;
	ca->cnt_ms = now;
	if (!ca->start_ms) {
		ca->start_ms = now;
		ca->acks = 1;
		ca->west = cwnd;
		ca->origin = cc_max(ca->wmax, cwnd);
		ca->k = cubic_kernel_k(ca->origin - cwnd, p->c);
	}
	t = cubic_kernel_time((u64)(now - ca->start_ms) + ca->delay_ms);
	target = cubic_kernel_target(ca->origin, ca->k, p->c, t);
	cnt = target > cwnd ? cwnd / (target - cwnd) : 100 * (u64)cwnd;
	if (p->max_increment && ca->delay_ms && t >= ca->k) {
		limit = (u64)cwnd * 100 / ((u64)p->max_increment * ca->delay_ms);
		cnt = cnt < limit ? limit : cnt;
	}
	if (ca->lossless)
		cnt = 50;
	if (p->reno_friendly)
		cnt = cubic_kernel_friendly(&ca->acks, &ca->west, p->beta, cwnd, cnt);
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
	cubic_ns2_update(ca, p, w->cwnd, cubic_ms(a->now_us));
	if (w->cwnd_cnt >= ca->cnt) {
		cc_grow(w, 1);
		w->cwnd_cnt = 0;
	} else {
		w->cwnd_cnt++;
	}
}

static inline void cubic_linux_start(struct cubic_linux *ca, u32 c, u32 cwnd, u32 acked, u32 now)
{
	ca->start_ms = now;
	ca->acks = acked;
	ca->west = cwnd;
	ca->origin = cc_max(ca->wmax, cwnd);
	ca->k = cubic_kernel_k(ca->origin - cwnd, c);
}

/* The segments acknowledged that a segment of growth takes. */
static inline void cubic_linux_update(struct cubic_linux *ca, const struct cubic_params *p, u32 cwnd,
				      u32 acked, u32 now)
{
	u64 cnt = ca->cnt, t;

	ca->acks += acked;
	if (ca->cnt_cwnd == cwnd && now - ca->cnt_ms <= 31)
		return;
	if (!ca->start_ms || now != ca->cnt_ms) {
		u32 target;

		ca->cnt_cwnd = cwnd;
		ca->cnt_ms = now;
		if (!ca->start_ms)
			cubic_linux_start(ca, p->c, cwnd, acked, now);
		t = cubic_kernel_time((u64)(now - ca->start_ms) + ((u64)ca->delay_min_us + 999) / 1000);
		target = cubic_kernel_target(ca->origin, ca->k, p->c, t);
		cnt = target > cwnd ? cwnd / (target - cwnd) : 100 * (u64)cwnd;
		if (!ca->wmax && cnt > 20)
			cnt = 20;
	}
	if (p->reno_friendly)
		cnt = cubic_kernel_friendly(&ca->acks, &ca->west, p->beta, cwnd, cnt);
	cnt = cnt > 0xffffffff ? 0xffffffff : cnt;
	ca->cnt = cc_max((u32)cnt, 2);
}

static inline void cubic_linux_cong_avoid(struct cubic_linux *ca, const struct cubic_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	u32 acked = a->acked;

	if (!cc_cwnd_limited(a))
		return;
	if (cc_in_slow_start(w)) {
		acked = cc_slow_start(w, acked);
		if (!acked)
			return;
	}
	cubic_linux_update(ca, p, w->cwnd, acked, cubic_ms(a->now_us));
	cc_additive_increase(w, ca->cnt, acked);
}

/* Takes a sample. Does it count? */
static inline u32 cubic_linux_sample(struct cubic_linux *ca, const struct cc_ack *a)
{
	u32 now = cubic_ms(a->now_us);
	u32 sent = cubic_ms(a->now_us > a->rtt_us ? a->now_us - a->rtt_us : 0);

	if (ca->idle && ca->start_ms && sent > ca->sent_ms) {
		ca->start_ms += sent - ca->sent_ms;
		ca->start_ms = ca->start_ms > sent ? sent : ca->start_ms;
	}
	ca->idle = 0;
	ca->sent_ms = sent;
	if (ca->start_ms && now - ca->start_ms < 1000)
		return 0;
	if (!ca->delay_min_us || a->rtt_us < ca->delay_min_us)
		ca->delay_min_us = a->rtt_us;
	return 1;
}

/* 4 to 16 ms. */
static inline u32 cubic_hystart_margin(u32 rtt_us)
{
	return cc_min(cc_max(rtt_us / 8, 4000), 16000);
}

static inline void cubic_hystart_reset(struct cubic_hystart *h, const struct cc_ack *a)
{
	*h = (struct cubic_hystart){
		.round_end = (u32)a->delivered + a->in_flight,
		.rtt_us = CUBIC_NO_RTT,
	};
}

/* A round begins. */
static inline void cubic_hystart_round(struct cubic_hystart *h, const struct cc_ack *a)
{
	h->round_end = (u32)a->delivered + a->in_flight;
	h->rtt_us = CUBIC_NO_RTT;
	h->samples = 0;
}

static inline void cubic_hystart_linux_round(struct cubic_hystart *h, const struct cc_ack *a)
{
	cubic_hystart_round(h, a);
	h->start_us = h->train_us = (u32)a->now_us;
}

/* Were more than round_end segments delivered? Half of 2^32 is as far as a round is. */
static inline u32 cubic_hystart_round_over(const struct cubic_hystart *h, const struct cc_ack *a)
{
	return h->round_end - (u32)a->delivered > 0x7fffffff;
}

/* The time of four bursts at the pacing rate, in us; 1 ms at most. */
static inline u32 cubic_hystart_bursts(const struct cc_window *w, const struct cc_ack *a)
{
	u64 rate = w->pacing_rate, us;

	if (!rate) {
		u64 bytes = (u64)a->mss * cc_max(w->cwnd, a->in_flight) * (w->cwnd < w->ssthresh / 2 ? 200 : 120);
		u32 rtt_us = cc_max(a->srtt_us, 1);

		if (bytes / rtt_us > 1000000000)
			return 0;
		rate = bytes / rtt_us * 10000 + bytes % rtt_us * 10000 / rtt_us;
		rate = rate ? rate : 1;
	}
	us = 4 * 65536 * 1000000ULL / rate;
	return us < 1000 ? (u32)us : 1000;
}

static inline void cubic_hystart_linux(struct cubic_hystart *h, struct cc_window *w,
				       const struct cc_ack *a, u32 delay_min_us)
{
	u32 now = (u32)a->now_us;

	if (h->found || !cc_in_slow_start(w))
		return;
	if (cubic_hystart_round_over(h, a))
		cubic_hystart_linux_round(h, a);
	if (w->cwnd < 16)
		return;
	if (now - h->train_us <= 2000) {
		u32 train = delay_min_us + h->bursts_us;

		h->train_us = now;
		if (!w->pacing_rate)
			train /= 2;
		if (now - h->start_us > train)
			h->found = 1;
	}
	h->rtt_us = cc_min(h->rtt_us, a->rtt_us);
	if (h->samples < 8)
		h->samples++;
	else if (h->rtt_us > delay_min_us + cubic_hystart_margin(delay_min_us))
		h->found = 1;
	if (h->found)
		w->ssthresh = w->cwnd;
}

static inline void cubic_hystart_plusplus(struct cubic_hystart *h, struct cc_window *w,
					  const struct cc_ack *a)
{
	if (w->ssthresh < CC_SSTHRESH_INFINITE)
		return;
	h->rtt_us = cc_min(h->rtt_us, a->rtt_us);
	h->samples = (u8)cc_min(h->samples + 1U, 8);
	if (h->samples == 8 && h->css) {
		if (h->rtt_us < h->css_rtt_us)
			h->css = 0;
	} else if (h->samples == 8 && h->last_rtt_us) {
		/* As far apart as the largest sample: never. */
		u64 limit = (u64)h->last_rtt_us + cubic_hystart_margin(h->last_rtt_us);

		if (h->rtt_us >= limit) {
			h->css = 1;
			h->css_rtt_us = h->rtt_us;
		}
	}
	if (!cubic_hystart_round_over(h, a))
		return;
	h->last_rtt_us = h->rtt_us;
	cubic_hystart_round(h, a);
	if (h->css && ++h->css > 5)
		w->ssthresh = cc_max(w->cwnd, 2);
}

/* The slow start of HyStart++: what an ACK counts for. */
static inline u32 cubic_hystart_acked(struct cubic_hystart *h, const struct cc_window *w,
				      const struct cc_ack *a)
{
	u32 acked = w->pacing_rate ? a->acked : cc_min(a->acked, 8), quarters;

	if (!h->css)
		return acked;
	quarters = h->quarters + (acked & 3);
	h->quarters = quarters & 3;
	return acked / 4 + quarters / 4;
}

static inline void cubic_init(struct cubic *ca, const struct cubic_params *p, struct cc_window *w,
			      const struct cc_ack *a)
{
	(void)w;
	if (p->variant == CUBIC_NS2)
		cubic_ns2_reset(&ca->ns2);
	cubic_hystart_reset(&ca->hystart, a);
	if (p->hystart == CUBIC_HYSTART_LINUX)
		cubic_hystart_linux_round(&ca->hystart, a);
}

static inline void cubic_pkts_acked(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u32 delay_min_us = a->min_rtt_us;

	if (p->variant == CUBIC_NS2) {
		cubic_ns2_pkts_acked(&ca->ns2, a);
		return;
	}
	if (p->variant == CUBIC_LINUX) {
		if (!cubic_linux_sample(&ca->module, a))
			return;
		delay_min_us = ca->module.delay_min_us;
	}
	if (p->hystart == CUBIC_HYSTART_LINUX)
		cubic_hystart_linux(&ca->hystart, w, a, delay_min_us);
	else if (p->hystart == CUBIC_HYSTART_PLUSPLUS)
		cubic_hystart_plusplus(&ca->hystart, w, a);
}

static inline void cubic_cong_avoid(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant == CUBIC_NS2) {
		cubic_ns2_cong_avoid(&ca->ns2, p, w, a);
	} else if (p->hystart == CUBIC_HYSTART_PLUSPLUS && w->ssthresh >= CC_SSTHRESH_INFINITE) {
		if (p->variant == CUBIC_SPEC)
			ca->rfc.last_us = a->now_us;
		if (cc_cwnd_limited(a))
			cc_grow(w, cubic_hystart_acked(&ca->hystart, w, a));
	} else if (p->variant == CUBIC_LINUX) {
		cubic_linux_cong_avoid(&ca->module, p, w, a);
	} else {
		cubic_rfc_cong_avoid(&ca->rfc, p, w, a);
	}
	if (p->hystart == CUBIC_HYSTART_LINUX)
		ca->hystart.bursts_us = cubic_hystart_bursts(w, a);
}

static inline u32 cubic_ssthresh(struct cubic *ca, const struct cubic_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
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
	(void)w;
	if (state != CC_LOSS)
		return;
	if (p->variant == CUBIC_NS2)
		cubic_ns2_reset(&ca->ns2);
	else if (p->variant == CUBIC_LINUX)
		ca->module = (struct cubic_linux){ .sent_ms = ca->module.sent_ms };
	else
		ca->rfc.epoch.wmax = 0;
	if (p->hystart == CUBIC_HYSTART_LINUX) {
		ca->hystart.found = 0;
		cubic_hystart_linux_round(&ca->hystart, a);
	}
}

static inline void cubic_cwnd_event(struct cubic *ca, const struct cubic_params *p,
				    struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)w;
	(void)a;
	if (event == CC_TX_START && p->variant == CUBIC_SPEC)
		ca->rfc.idle = 1;
	else if (event == CC_TX_START && p->variant == CUBIC_LINUX)
		ca->module.idle = 1;
}

static inline u32 cubic_undo_cwnd(struct cubic *ca, const struct cubic_params *p,
				  struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	if (p->variant == CUBIC_SPEC)
		ca->rfc.epoch = ca->rfc.before;
	return cc_max(w->cwnd, w->prior_cwnd);
}

#endif /* CUBIC_H */
