/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Ways to end slow start before it overruns the buffer, by setting ssthresh to cwnd: HyStart as
 * Linux 6.1 has it (S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks
 * 55(9), 2011), and HyStart++ (RFC 9406). Both look at each round; a round is over when a segment
 * is delivered that was sent after the last one was over.
 *
 * An RTT shows a queue when it is above the reference by an eighth of it: by 4 ms at least, as
 * less would end slow start for nothing, and by 16 ms at most, as more would find the queue of a
 * long path too late. The smallest of eight samples is taken, as one sample has noise. HyStart
 * also times a train of ACKs: one as long as half of the smallest RTT, the way there, shows that
 * the segments in flight fill it. HyStart++ first grows more slowly for five rounds (CSS), to find
 * out whether the rise passes.
 */
#ifndef HYSTART_H
#define HYSTART_H

#include "parts/growth.h"

#define HYSTART_NO_RTT 0xffffffffU

struct hystart {
	u32 round_end;    /* a round is over when more than these are delivered, modulo 2^32 */
	u32 rtt_us;       /* smallest sample of the round; HYSTART_NO_RTT: none yet */
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
	union {
		unsigned short bursts_us; /* linux: time of four bursts, as of the last ACK outside of a recovery */
		struct {
			u8 css;      /* plusplus: the round of CSS; 0: not in it */
			u8 quarters; /* plusplus: of a segment of growth */
		};
	};
	u32 srtt_us;      /* linux: smoothed RTT, as of the last ACK */
};

/* 4 to 16 ms. */
static inline u32 hystart_margin(u32 rtt_us)
{
	return cc_min(cc_max(rtt_us / 8, 4000), 16000);
}

static inline void hystart_reset(struct hystart *h, const struct cc_ack *a)
{
	*h = (struct hystart){
		.round_end = (u32)a->delivered + a->in_flight,
		.rtt_us = HYSTART_NO_RTT,
	};
}

/* A round begins. */
static inline void hystart_round(struct hystart *h, const struct cc_ack *a)
{
	h->round_end = (u32)a->delivered + a->in_flight;
	h->rtt_us = HYSTART_NO_RTT;
	h->samples = 0;
}

static inline void hystart_linux_round(struct hystart *h, const struct cc_ack *a)
{
	hystart_round(h, a);
	h->start_us = h->train_us = (u32)a->now_us;
}

static inline u32 hystart_round_over(const struct hystart *h, const struct cc_ack *a)
{
	return cc_after(a->delivered, h->round_end);
}

/* The time of four bursts at the pacing rate of the last ACK, in us; 1 ms at most. */
static inline unsigned short hystart_bursts(const struct cc_window *w, const struct cc_ack *a, u32 rtt_us)
{
	u64 rate = w->pacing_rate, us;

	if (!rate) {
		u64 bytes = (u64)a->mss * cc_max(w->cwnd, a->prior_in_flight) * (w->cwnd < w->ssthresh / 2 ? 200 : 120);

		rtt_us = cc_max(rtt_us, 1);
		/* For most senders four bursts take 1 ms or more, which no division needs to show. */
		if (bytes <= 4 * 65536 / 10 * (u64)rtt_us)
			return 1000;
		if (bytes / rtt_us > 1000000000)
			return 0;
		rate = bytes / rtt_us * 10000 + bytes % rtt_us * 10000 / rtt_us;
		rate = rate ? rate : 1;
	}
	us = 4 * 65536 * 1000000ULL / rate;
	return us < 1000 ? (unsigned short)us : 1000;
}

static inline void hystart_linux(struct hystart *h, struct cc_window *w,
				       const struct cc_ack *a, u32 delay_min_us)
{
	u32 now = (u32)a->now_us;

	if (a->state != CC_CWR && a->state != CC_RECOVERY)
		h->bursts_us = hystart_bursts(w, a, h->srtt_us);
	h->srtt_us = a->srtt_us;
	if (h->found || !cc_in_slow_start(w))
		return;
	if (hystart_round_over(h, a))
		hystart_linux_round(h, a);
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
	else if (h->rtt_us > delay_min_us + hystart_margin(delay_min_us))
		h->found = 1;
	if (h->found)
		w->ssthresh = w->cwnd;
}

static inline void hystart_plusplus(struct hystart *h, struct cc_window *w,
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
		u64 limit = (u64)h->last_rtt_us + hystart_margin(h->last_rtt_us);

		if (h->rtt_us >= limit) {
			h->css = 1;
			h->css_rtt_us = h->rtt_us;
		}
	}
	if (!hystart_round_over(h, a))
		return;
	h->last_rtt_us = h->rtt_us;
	hystart_round(h, a);
	if (h->css && ++h->css > 5)
		w->ssthresh = cc_max(w->cwnd, 2);
}

/* The slow start of HyStart++: what an ACK counts for. */
static inline u32 hystart_acked(struct hystart *h, const struct cc_window *w,
				      const struct cc_ack *a)
{
	u32 acked = w->pacing_rate ? a->acked : cc_min(a->acked, 8), quarters;

	if (!h->css)
		return acked;
	quarters = h->quarters + (acked & 3);
	h->quarters = quarters & 3;
	return acked / 4 + quarters / 4;
}

#endif /* HYSTART_H */
