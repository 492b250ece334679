/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
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
 */
#ifndef CUBIC_LINUX_H
#define CUBIC_LINUX_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/growth.h"

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

/* West takes up acks; below it cnt is what reaches West. */
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
					  struct cc_window *w, const struct cc_ack *a, u32 acked)
{
	if (!cc_cwnd_limited(a))
		return;
	if (cc_slow_start_took_all(w, &acked))
		return;
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

#endif /* CUBIC_LINUX_H */
