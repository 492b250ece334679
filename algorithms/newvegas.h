/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP NewVegas: Vegas with a slow start for paths of high latency (J. Sing, B. Soh, "TCP New
 * Vegas: Improving the Performance of TCP Vegas Over High Latency Links", NCA 2005).
 *
 *   slow start  doubles every RTT, not every other; ends when Diff > gamma
 *               segments leave at 2 cwnd / RTT, not in bursts
 *   else        Vegas: cwnd += 1 if Diff < alpha, -= 1 if Diff > beta, once per RTT; unpaced
 *   loss        cwnd / 2
 *
 * Diff, BaseRTT and what an RTT is are those of vegas.h, variant = spec.
 *
 * A reconstruction: no text of the rules was at hand, only what the authors say they change, a
 * slow start too timid for a long path and an RTT that delayed ACKs inflate. Ours is:
 *  - Slow start is paced at twice the window per smoothed RTT, which is what lets the window
 *    double in an RTT and still be the limit. Before the first sample it is not paced.
 *  - Diff is judged in every RTT of slow start. Pacing is what makes that possible: a queue is
 *    then the path's, not that of the sender's own burst.
 *  - Segments sent in pairs, so that a receiver which delays ACKs answers each pair at once, are
 *    left out: what is sent together is the stack's to say, and the contract has no word for it.
 */
#ifndef NEWVEGAS_H
#define NEWVEGAS_H

#include "cc.h"
#include "parts/growth.h"
#include "vegas.h"

#define newvegas_PARAMS(P)                                                             \
	P(alpha, 1, 1, 0, 1000000, "",                                                 \
	  "queued segments below which the window grows; Vegas")                       \
	P(beta, 3, 1, 0, 1000000, "",                                                  \
	  "queued segments above which the window shrinks; Vegas")                     \
	P(gamma, 1, 1, 0, 1000000, "",                                                 \
	  "queued segments above which slow start ends; Vegas")
#define newvegas_HOOKS(H, A) \
	H(A, init) H(A, cong_avoid) H(A, ssthresh) H(A, set_state) H(A, cwnd_event)

struct newvegas {
	struct vegas vegas;
};

CC_DECLARE_PARAMS(newvegas);
CC_CHECK_STATE(newvegas);

/* Two windows per RTT, in bytes/s. */
static inline u64 newvegas_pacing_rate(const struct cc_window *w, const struct cc_ack *a)
{
	u64 bytes = 2 * (u64)w->cwnd * a->mss, rtt = a->srtt_us;
	u64 per_us;

	if (!rtt)
		return 0;
	per_us = bytes / rtt;
	if (per_us >= 1ULL << 40)
		return 1000000ULL << 40;
	return per_us * 1000000 + bytes % rtt * 1000000 / rtt;
}

static inline void newvegas_init(struct newvegas *ca, const struct newvegas_params *p,
				 struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	vegas_init(&ca->vegas, &vegas_defaults, w, a);
}

static inline void newvegas_cong_avoid(struct newvegas *ca, const struct newvegas_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	const struct vegas_params part = { .alpha = p->alpha, .beta = p->beta, .gamma = p->gamma };
	u32 over = vegas_round_over(&ca->vegas, w, a);

	if (cc_cwnd_limited(a)) {
		if (over) {
			/* Vegas judges slow start after an RTT in which the window stood. */
			ca->vegas.grows = 0;
			vegas_paper_round(&ca->vegas, &part, w, a);
		}
		if (cc_in_slow_start(w))
			cc_slow_start(w, a->acked);
	}
	w->pacing_rate = cc_in_slow_start(w) ? newvegas_pacing_rate(w, a) : 0;
}

static inline u32 newvegas_ssthresh(struct newvegas *ca, const struct newvegas_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	(void)p;
	w->pacing_rate = 0;
	return vegas_ssthresh(&ca->vegas, &vegas_defaults, w, a);
}

static inline void newvegas_set_state(struct newvegas *ca, const struct newvegas_params *p,
				      struct cc_window *w, const struct cc_ack *a, u8 state)
{
	(void)p;
	vegas_set_state(&ca->vegas, &vegas_defaults, w, a, state);
}

static inline void newvegas_cwnd_event(struct newvegas *ca, const struct newvegas_params *p,
				       struct cc_window *w, const struct cc_ack *a, u8 event)
{
	(void)p;
	vegas_cwnd_event(&ca->vegas, &vegas_defaults, w, a, event);
}

#endif /* NEWVEGAS_H */
