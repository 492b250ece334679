/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP Hybla: a connection with a long RTT sends as much as one with the RTT of RTT0 would
 * (C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
 * International Journal of Satellite Communications and Networking 22, 2004).
 *
 *   rho = RTT / RTT0, at least 1
 *   slow start            cwnd += 2^rho - 1       per segment acknowledged, up to ssthresh
 *   congestion avoidance  cwnd += rho^2 / cwnd    per segment acknowledged
 *   loss                  cwnd / 2
 *
 * so that the window is rho times what it would be at RTT0, at any time. RTT is taken to be the
 * smallest sample: the path's delay, not the queue's.
 *
 * Differences from the paper, and what it leaves open:
 *  - rho is at most 16 in 2^rho, the kernel's bound, and 1024 in rho^2; without one, an RTT of
 *    minutes has no number for 2^rho.
 *  - The initial window and ssthresh are the stack's, not rho times those of RTT0. Pacing,
 *    bandwidth estimation and SACK, which the paper recommends beside, are the stack's too.
 *
 * variant = linux is the kernel's; ns-2.35's module differs little. What it does otherwise:
 *  - RTT is the smoothed one, rho is computed where that is the smallest so far, in eighths,
 *    rounded down; 2^rho and rho^2 / cwnd are in 1/128.
 *  - It counts ACKs, not segments. The window starts at rho segments and ends at 65535.
 *  - cwnd_cnt counts ACKs where rho^2 / cwnd is below one segment; once it makes a window, an
 *    ACK that would add less than 1/128 adds a segment.
 *  - Outside the open state it is Reno.
 *  - rho^2 does not overflow here, as it does in the kernel at RTTs above 145 s. A connection
 *    that starts without a sample has rho from the first one, where the kernel stays at 1.
 *
 * variant = ns2 is that of Linux 2.6.22 in ns-2.35. Different from linux: it starts with the
 * first ACK, whose sample it has: the window is rho segments from there on, and that ACK adds to
 * no larger one. Where an ACK would add less than 1/128 the window stands. Reno counts ACKs, and
 * its slow start includes cwnd == ssthresh.
 */
#ifndef HYBLA_H
#define HYBLA_H

#include "cc.h"
#include "parts/growth.h"

#define hybla_PARAMS(P)                                                                \
	P(rtt0_ms, 25, 1, 1, 10000, "",                                                \
	  "RTT0, the RTT of the connection to be equal to; the paper")                 \
	P(variant, 0, 1, 0, 2, "spec|linux|ns2",                                   \
	  "whose rules: spec the paper's, linux those of the kernel's module, ns2 those of Agent/TCP/Linux; Linux 6.1, ns-2.35")
#define hybla_HOOKS(H, A) H(A, init) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)
#define hybla_PROGRESS(M) M(1, 1 << 12, ca->credit, (u64)w->cwnd << 12)
#define hybla_INVARIANTS(I) \
	I(p->variant != HYBLA_SPEC || ca->fraction <= 0xffff) \
	I(ca->credit < 1ULL << 43)
/* Slow start grows by 2^rho - 1 segments for each that is acknowledged, congestion avoidance by rho^2 a window. */
#define hybla_GROWTH hybla_most(ca, p, w, a)

enum hybla_variant { HYBLA_SPEC, HYBLA_LINUX, HYBLA_NS2 };

#define HYBLA_LINUX_CLAMP 65535U

struct hybla {
	u64 credit;      /* rho^2 for each segment acknowledged since the last growth, in 2^-12 */
	u32 fraction;    /* of a segment of cwnd, in 2^-16 (paper) or 1/128 */
	u32 rho;         /* linux: rho, in 1/8 */
	u32 srtt_min_us; /* linux: the smallest smoothed RTT; 0: none yet */
	u32 reno;        /* linux: outside the open state */
};

CC_DECLARE_PARAMS(hybla);
CC_CHECK_STATE(hybla);

/* 2^(part / 2^16) in 2^-30, for part below 2^16: e^x, x = part ln 2, by Horner's rule. */
static inline u64 hybla_power(u32 part)
{
	u64 x = part * 744261118ULL >> 16, power = 1 << 30; /* ln 2 in 2^-30 */
	u32 i;

	for (i = 12; i > 0; i--)
		power = (1 << 30) + (power * x >> 30) / i;
	return power;
}

/* rho in 2^-16 */
static inline u64 hybla_paper_rho(const struct hybla_params *p, const struct cc_ack *a)
{
	u64 rho = ((u64)a->min_rtt_us << 16) / (1000 * (u64)p->rtt0_ms);

	return rho < 1 << 16 ? 1 << 16 : rho;
}

/* The growth of slow start per segment acknowledged, in 2^-16. */
static inline u64 hybla_paper_start(u64 rho)
{
	u64 growth;

	rho = rho > 16 << 16 ? 16 << 16 : rho;
	growth = (hybla_power(rho & 0xffff) << (rho >> 16) >> 14) - (1 << 16);
	return growth < 1ULL << 32 ? growth : 1ULL << 32;
}

/* What an ACK adds to credit. */
static inline u64 hybla_paper_credit(u64 rho, u32 acked)
{
	rho = rho > 1024 << 16 ? 1024 << 16 : rho;
	return acked * (rho * rho >> 20);
}

static inline u64 hybla_most(const struct hybla *ca, const struct hybla_params *p, const struct cc_window *w,
			     const struct cc_ack *a)
{
	u64 rho = hybla_paper_rho(p, a);

	if (!cc_cwnd_limited(a))
		return 0;
	if (cc_in_slow_start(w))
		return (ca->fraction + a->acked * hybla_paper_start(rho)) >> 16;
	return (ca->credit + hybla_paper_credit(rho, a->acked)) / ((u64)w->cwnd << 12);
}

static inline void hybla_paper_cong_avoid(struct hybla *ca, const struct hybla_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	u64 rho = hybla_paper_rho(p, a), grown, window;

	if (cc_in_slow_start(w)) {
		grown = ca->fraction + a->acked * hybla_paper_start(rho);
		ca->fraction = grown & 0xffff;
		cc_grow(w, grown >> 16);
		w->cwnd = cc_min(w->cwnd, w->ssthresh);
		return;
	}
	window = (u64)w->cwnd << 12;
	ca->credit += hybla_paper_credit(rho, a->acked);
	grown = ca->credit / window;
	ca->credit -= grown * window;
	cc_grow(w, grown);
}

static inline void hybla_linux_rho(struct hybla *ca, const struct hybla_params *p, u32 srtt_us)
{
	ca->rho = cc_max((u32)(8 * (u64)srtt_us / (1000 * (u64)p->rtt0_ms)), 8);
	ca->srtt_min_us = srtt_us;
}

static inline void hybla_linux_cong_avoid(struct hybla *ca, const struct hybla_params *p,
					  struct cc_window *w, const struct cc_ack *a)
{
	u32 slow_start = cc_in_slow_start(w);
	u32 first = p->variant == HYBLA_NS2 && a->srtt_us && !ca->srtt_min_us;
	u64 growth;

	if (a->srtt_us && (!ca->srtt_min_us || a->srtt_us < ca->srtt_min_us))
		hybla_linux_rho(ca, p, a->srtt_us);
	if (first)
		w->cwnd = ca->rho >> 3;
	if (!cc_cwnd_limited(a) || (first && a->prior_in_flight < w->cwnd))
		return;
	if (ca->reno) {
		if (p->variant == HYBLA_NS2)
			cc_reno_growth_ns2(w);
		else
			cc_reno_growth(w, a->acked);
		w->cwnd = cc_min(w->cwnd, HYBLA_LINUX_CLAMP);
		return;
	}
	if (slow_start) {
		/* Eighths of rho, 2^13 in the unit of hybla_power, 1/128 in its result. */
		growth = hybla_power((ca->rho & 7) << 13) >> 23;
		growth = (growth << cc_min(ca->rho >> 3, 16)) - 128;
	} else {
		growth = ((u64)ca->rho * ca->rho << 1) / w->cwnd;
		w->cwnd_cnt += growth < 128;
	}
	cc_grow(w, growth >> 7);
	ca->fraction += growth & 127;
	if (ca->fraction >= 128) {
		ca->fraction -= 128;
		cc_grow(w, 1);
		w->cwnd_cnt = 0;
	}
	if (!growth && p->variant == HYBLA_LINUX && w->cwnd_cnt >= w->cwnd) {
		cc_grow(w, 1);
		w->cwnd_cnt = 0;
	}
	if (slow_start)
		w->cwnd = cc_min(w->cwnd, w->ssthresh);
	w->cwnd = cc_min(w->cwnd, HYBLA_LINUX_CLAMP);
}

static inline void hybla_init(struct hybla *ca, const struct hybla_params *p, struct cc_window *w,
			      const struct cc_ack *a)
{
	if (p->variant != HYBLA_LINUX)
		return;
	hybla_linux_rho(ca, p, a->srtt_us);
	w->cwnd = ca->rho >> 3;
}

static inline void hybla_cong_avoid(struct hybla *ca, const struct hybla_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	if (p->variant != HYBLA_SPEC)
		hybla_linux_cong_avoid(ca, p, w, a);
	else if (cc_cwnd_limited(a))
		hybla_paper_cong_avoid(ca, p, w, a);
}

static inline u32 hybla_ssthresh(struct hybla *ca, const struct hybla_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)a;
	ca->credit = 0;
	return cc_max(w->cwnd / 2, 2);
}

static inline void hybla_set_state(struct hybla *ca, const struct hybla_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)p;
	(void)w;
	(void)a;
	ca->reno = state != CC_OPEN;
}

#endif /* HYBLA_H */
