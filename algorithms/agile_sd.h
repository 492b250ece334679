/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Agile-SD: the growth of congestion avoidance is Reno's times an agility factor, which is
 * large just after a loss and falls to 1 as the window comes back to where it was lost
 * (M. A. Alrshah, M. Othman, B. Ali, Z. M. Hanapi, "Agile-SD: A Linux-based TCP congestion
 * control algorithm for supporting high-speed and short-distance networks", JNCA 55, 2015;
 * arXiv 1601.05908; the rule is that of the authors' kernel module, version 1.0).
 *
 *   gap_total   = cwnd_loss - cwnd_degraded    (what the last loss took away; at least 1)
 *   gap_current = cwnd_loss - cwnd             (what is still missing; at least 0)
 *   lambda      = lambda_max * gap_current / gap_total, within [lambda_min, lambda_max]
 *   cwnd       += lambda / cwnd                per segment acknowledged
 *   loss          cwnd_loss = cwnd, cwnd_degraded = beta * cwnd, ssthresh = cwnd_degraded
 *
 * lambda_max = auto follows from beta: after a loss, the window is back at cwnd_loss in the share of
 * Reno's time that the module's own pair, beta 0.9 and lambda_max 3, has. By the rule above that
 * takes (1 - beta) (1 + ln lambda_max) / lambda_max * cwnd_loss round trips, and Reno's takes
 * cwnd_loss / 2, so it solves
 *
 *   2 (1 - beta) (1 + ln lambda_max) / lambda_max = r,   r = (1 + ln 3) / 15 = 0.14
 *
 * for lambda_max >= 1; above beta = 1 - r / 2 = 0.93, where Reno's growth is faster than that, it
 * is 1. The authors set lambda_max by a model of theirs (M. A. Alrshah et al., "Modeling the
 * Throughput of the Linux-based Agile-SD Transmission Control Protocol", IEEE Access 4, 2017,
 * arXiv 1702.04861; M. A. Alrshah, PhD thesis, Universiti Putra Malaysia, FSKTM 2017 31, chapter 5).
 * Its equation is published and was not consulted: this one is a reconstruction, one function,
 * agile_sd_auto.
 *
 * RTT plays no part. Before the first loss, and above cwnd_loss, lambda = lambda_min. A timeout
 * keeps the two marks, as the module does.
 *
 * Differences: the module has a beta for losses in slow start and one in congestion avoidance,
 * both 0.9: here they are one. It adds one segment at most per ACK; here one per segment
 * acknowledged, which is the same without delayed ACKs.
 *
 * build = slow is the ns-2 build behind the Elastic-TCP paper's figures (2019), reconstructed
 * from them: growth per ACK is floor(1000 lambda / cwnd) and a segment is 10,000, so it is ten
 * times too slow and exactly zero where cwnd > 1000 lambda. Fig. 7d freezes at 26256; Fig. 8d
 * steps every 4, 5, 7, 10, 20 RTT between windows of 458 and 504, every 4, 6, 12 between 803
 * and 852.
 */
#ifndef AGILE_SD_H
#define AGILE_SD_H

#include "cc.h"
#include "parts/fixed.h"
#include "parts/slow_start.h"

#define agile_sd_PARAMS(P)                                                                 \
	P(beta, 900, 1000, 100, 999, "",                                                   \
	  "multiplicative decrease factor; authors' kernel module")                        \
	P(lambda_max, 3000, 1000, 1000, 1000000, "auto",                                   \
	  "agility factor just after a loss, 1: Reno, auto: from beta; authors' kernel module") \
	P(lambda_min, 1000, 1000, 0, 1000000, "",                                          \
	  "agility factor where the last loss was; authors' kernel module")                \
	P(build, 0, 1, 0, 1, "published|slow",                                             \
	  "slow: ten times slower, none above cwnd 3000; measured from Figs. 7d and 8d of the Elastic-TCP paper") \
	SLOW_START_PARAM(P)
#define agile_sd_HOOKS(H, A) H(A, init) H(A, cong_avoid) H(A, ssthresh) H(A, set_state) H(A, undo_cwnd)
#define agile_sd_INVARIANTS(I) \
	I(ca->fraction <= 999999) \
	I(ca->lambda_max <= 1000000)

enum agile_sd_lambda_max { AGILE_SD_AUTO };
enum agile_sd_build { AGILE_SD_PUBLISHED, AGILE_SD_SLOW };

struct agile_sd {
	u32 loss_cwnd;     /* cwnd at the last loss; 0: none yet */
	u32 degraded_cwnd; /* what the last loss left of it */
	u32 fraction;      /* of a segment of cwnd, in 10^-6 (published) or 10^-4 (slow) */
	u32 rest;          /* of the last division by cwnd (published) */
	u32 lambda_max;    /* in thousandths, since the last loss; 0: none yet */
	struct hystart hystart;
};

CC_DECLARE_PARAMS(agile_sd);
CC_CHECK_STATE(agile_sd);

/*
 * lambda_max = auto in thousandths, of beta in thousandths. At beta = 1 - r / 2 the solution rises
 * like a square root, so it is a polynomial in s = sqrt(1 - r / 2 - beta), in millionths here: within
 * 0.2 % of the equation's for every beta from 0.1, and 3 at 0.9.
 */
static inline u32 agile_sd_auto(u32 beta)
{
	u64 one = 1000000, s;

	if (beta > 930)
		return 1000;
	s = cc_isqrt((930046257 - beta * one) * 1000);
	return (u32)(1000 + (5328 + (22709 + (80584 - 27287 * s / one) * s / one) * s / one) * s / one);
}

/* lambda in thousandths. */
static inline u32 agile_sd_lambda(const struct agile_sd *ca, const struct agile_sd_params *p, u32 cwnd)
{
	u32 total = ca->loss_cwnd > ca->degraded_cwnd ? ca->loss_cwnd - ca->degraded_cwnd : 1;
	u32 current = ca->loss_cwnd > cwnd ? ca->loss_cwnd - cwnd : 0;
	u64 lambda = (u64)ca->lambda_max * current / total;

	lambda = lambda < ca->lambda_max ? lambda : ca->lambda_max;
	return cc_max((u32)lambda, p->lambda_min);
}

static inline void agile_sd_init(struct agile_sd *ca, const struct agile_sd_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	slow_start_init(&ca->hystart, p->slow_start, a);
}

static inline void agile_sd_cong_avoid(struct agile_sd *ca, const struct agile_sd_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	u32 acked, one = 1000000;
	u64 grown, lambda;

	slow_start_sample(&ca->hystart, p->slow_start, w, a, a->min_rtt_us);
	if (!cc_cwnd_limited(a))
		return;
	acked = slow_start_acked(&ca->hystart, p->slow_start, w, a);
	if (cc_slow_start_took_all(w, &acked))
		return;
	lambda = agile_sd_lambda(ca, p, w->cwnd);
	if (p->build == AGILE_SD_SLOW) {
		one = 10000;
		grown = acked * (lambda / w->cwnd);
	} else {
		grown = cc_divide(acked * lambda * 1000, w->cwnd, &ca->rest);
	}
	/* No faster than slow start. */
	grown = grown < (u64)acked * one ? grown : (u64)acked * one;
	grown += ca->fraction;
	ca->fraction = (u32)(grown % one);
	cc_grow(w, grown / one);
}

static inline u32 agile_sd_ssthresh(struct agile_sd *ca, const struct agile_sd_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	(void)a;
	ca->loss_cwnd = w->cwnd;
	ca->degraded_cwnd = cc_max(cc_part(w->cwnd, p->beta, 1000), 2);
	ca->fraction = 0;
	ca->lambda_max = p->lambda_max == AGILE_SD_AUTO ? agile_sd_auto(p->beta) : p->lambda_max;
	return ca->degraded_cwnd;
}

static inline void agile_sd_set_state(struct agile_sd *ca, const struct agile_sd_params *p,
				      struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->hystart, p->slow_start, a, state);
}

static inline u32 agile_sd_undo_cwnd(struct agile_sd *ca, const struct agile_sd_params *p,
				     struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	(void)a;
	return cc_allowed(w, cc_max(w->cwnd, ca->loss_cwnd));
}

#endif /* AGILE_SD_H */
