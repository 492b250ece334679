/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Rounds of one RTT, as algorithms count them that compare what was sent with what the path held.
 * A round is over when a segment is delivered that was sent after the last one was over.
 */
#ifndef ROUND_H
#define ROUND_H

#include "cc.h"

struct round {
	u64 end;       /* it is over when more than these segments are delivered */
	u32 sent;      /* segments sent in the last round */
	u32 delivered; /* and in the round before: they were delivered in the last */
	u32 rtts;      /* RTT samples in this round */
	u32 rtt_us;    /* the smallest of them */
};

/* Is the round over? Then the next one begins. */
static inline u32 round_over(struct round *r, const struct cc_ack *a)
{
	u64 end = a->delivered + a->in_flight;

	if (!cc_after(a->delivered, r->end))
		return 0;
	r->delivered = r->sent;
	r->sent = cc_since(end, r->end);
	r->end = end;
	return 1;
}

static inline void round_sample(struct round *r, u32 rtt_us)
{
	if (!r->rtts || rtt_us < r->rtt_us)
		r->rtt_us = rtt_us;
	r->rtts += r->rtts < 0xffffffff;
}

/* A round begins; what was sent in the one that it interrupts still counts. */
static inline void round_restart(struct round *r, const struct cc_ack *a)
{
	u64 start = r->end - r->sent, end = a->delivered + a->in_flight;

	/* After losses fewer may be on their way than when the round began. */
	r->sent = cc_after(end, start) ? cc_since(end, start) : 0;
	r->end = end;
	r->rtts = 0;
}

#endif /* ROUND_H */
