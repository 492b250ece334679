/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
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
#ifndef CUBIC_NS2_H
#define CUBIC_NS2_H

#include "variants/cubic_linux.h"

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

static inline void cubic_ns2_reset(struct cubic_ns2 *ca)
{
	*ca = (struct cubic_ns2){ .lossless = 1, .delayed = 2 << 4 };
}

static inline void cubic_ns2_pkts_acked(struct cubic_ns2 *ca, const struct cc_ack *a)
{
	u32 now = cubic_ms(a->now_us), sent, delay;

	if (a->state == CC_OPEN && a->acked)
		ca->delayed = ca->delayed - (ca->delayed >> 4) + cc_min(a->acked, 1024);
	if (ca->start_ms && now - ca->start_ms < 1000)
		return;
	sent = cubic_ms(a->now_us > a->rtt_us ? a->now_us - a->rtt_us + 500 : 0);
	delay = now > sent ? now - sent : 1;
	if (!ca->delay_ms || delay < ca->delay_ms)
		ca->delay_ms = delay;
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
	if (cc_slow_start_ns2(w))
		return;
	cubic_ns2_update(ca, p, w->cwnd, cubic_ms(a->now_us));
	cc_additive_increase_ns2(w, ca->cnt);
}

#endif /* CUBIC_NS2_H */
