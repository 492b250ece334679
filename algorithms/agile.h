/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Agile-TCP: an adaptive combination of Agile-SD's agility factor and Elastic-TCP's weighting
 * function, for paths of any length (M. A. Alrshah, PhD thesis, Universiti Putra Malaysia,
 * FSKTM 2017 31, chapter 7).
 *
 *   lambda = lambda_max * (cwnd_loss - cwnd) / (cwnd_loss - cwnd_degraded), agile_sd.h
 *   WWF    = sqrt(RTTmax / RTTcur * cwnd), elastic.h
 *   cwnd  += (lambda + WWF) / cwnd    per segment acknowledged
 *   cwnd   = beta * cwnd              on loss
 *
 * A reconstruction. Known from the thesis are its abstract, its contents and the captions of its
 * figures: that both factors are combined, adaptively, for short and for long paths, and that
 * the result is less sensitive to losses, to the size of the buffer and to the variation of the
 * RTT. Not known is how: the rule above, epsilon and the value of beta for the whole are ours.
 * combine = sum is the rule above. switch follows the thesis' argument that delay says nothing
 * where it hardly varies: WWF if RTTmax > (1 + epsilon) RTTbase, else lambda. max takes the
 * larger. sum is the default because it came out best over the thesis' grid of paths
 * (papers/agile).
 *
 * From the two parts: before the first loss, and above cwnd_loss, lambda is lambda_min. RTTcur
 * is the last sample outside the repair of losses, RTTmax the largest of those, RTTbase the
 * smallest sample of the connection. A timeout forgets neither the loss marks nor RTTmax. The
 * window keeps its fractions over a loss, and never grows faster than in slow start.
 */
#ifndef AGILE_H
#define AGILE_H

#include "agile_sd.h"
#include "cc.h"
#include "elastic.h"
#include "parts/slow_start.h"

#define agile_PARAMS(P)                                                                    \
	P(beta, 900, 1000, 100, 999, "",                                                   \
	  "multiplicative decrease factor; that of Agile-SD and Elastic-TCP")              \
	P(lambda_max, 3000, 1000, 1000, 1000000, "auto",                                   \
	  "agility factor just after a loss, 1: Reno, auto: from beta, agile_sd.h; Agile-SD") \
	P(lambda_min, 1000, 1000, 0, 1000000, "",                                          \
	  "agility factor where the last loss was; Agile-SD")                              \
	P(combine, 2, 1, 0, 2, "switch|max|sum",                                           \
	  "how lambda and WWF make the growth; a reconstruction")                          \
	P(epsilon, 50, 1000, 0, 100000, "",                                                \
	  "for combine = switch: the part of RTTbase by which RTTmax must exceed it for WWF; a reconstruction") \
	SLOW_START_PARAM(P)
#define agile_HOOKS(H, A) H(A, init) H(A, pkts_acked) H(A, cong_avoid) H(A, ssthresh) H(A, set_state)
#define agile_INVARIANTS(I) \
	I(ca->sd.lambda_max <= 1000000)

enum agile_combine { AGILE_SWITCH, AGILE_MAX, AGILE_SUM };

struct agile {
	struct agile_sd sd;     /* the loss marks; the rest of it is not used */
	struct elastic elastic; /* RTTcur, RTTmax, the fraction of a segment of cwnd, slow start */
};

CC_DECLARE_PARAMS(agile);
CC_CHECK_STATE(agile);

static inline struct agile_sd_params agile_sd_part(const struct agile_params *p)
{
	return (struct agile_sd_params){
		.beta = p->beta,
		.lambda_max = p->lambda_max,
		.lambda_min = p->lambda_min,
	};
}

/* Growth per segment acknowledged, in 2^-32. At most 1. */
static inline u64 agile_growth(const struct agile *ca, const struct agile_params *p, u32 cwnd,
			       u32 rtt_base_us)
{
	const struct agile_sd_params part = agile_sd_part(p);
	u32 rtt_max = ca->elastic.rtt_max_us;
	u64 one = 1ULL << 32;
	u64 wwf = elastic_growth(cc_max(ca->elastic.rtt_us, 1), cc_max(rtt_max, 1), cwnd);
	u64 lambda = (u64)agile_sd_lambda(&ca->sd, &part, cwnd) << 32;
	u64 growth;

	/* Any agility grows any window. */
	if (lambda)
		lambda = lambda / 1000 < cwnd ? 1 : lambda / 1000 / cwnd;

	if (p->combine == AGILE_MAX)
		growth = wwf > lambda ? wwf : lambda;
	else if (p->combine == AGILE_SUM)
		growth = wwf + lambda;
	else
		growth = (u64)rtt_max * 1000 > (u64)rtt_base_us * (1000 + p->epsilon) ? wwf : lambda;
	return growth < one ? growth : one;
}

static inline void agile_init(struct agile *ca, const struct agile_params *p,
			      struct cc_window *w, const struct cc_ack *a)
{
	(void)w;
	slow_start_init(&ca->elastic.hystart, p->slow_start, a);
}

static inline void agile_pkts_acked(struct agile *ca, const struct agile_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	elastic_pkts_acked(&ca->elastic, &elastic_defaults, w, a);
}

static inline void agile_cong_avoid(struct agile *ca, const struct agile_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	struct hystart *hystart = &ca->elastic.hystart;
	u32 acked;
	u64 grown;

	slow_start_sample(hystart, p->slow_start, w, a, a->min_rtt_us);
	if (!cc_cwnd_limited(a))
		return;
	acked = slow_start_acked(hystart, p->slow_start, w, a);
	if (cc_slow_start_took_all(w, &acked))
		return;
	grown = ca->elastic.fraction + acked * agile_growth(ca, p, w->cwnd, a->min_rtt_us);
	ca->elastic.fraction = (u32)grown;
	cc_grow(w, grown >> 32);
}

static inline u32 agile_ssthresh(struct agile *ca, const struct agile_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	const struct agile_sd_params part = agile_sd_part(p);

	return agile_sd_ssthresh(&ca->sd, &part, w, a);
}

static inline void agile_set_state(struct agile *ca, const struct agile_params *p,
				   struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)w;
	slow_start_set_state(&ca->elastic.hystart, p->slow_start, a, state);
}

#endif /* AGILE_H */
