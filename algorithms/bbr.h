/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * BBR: send at the rate that the path delivers and keep two of its bandwidth-delay products in
 * flight, whatever is lost (N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR:
 * Congestion-Based Congestion Control", ACM Queue 14(5), 2016; details from
 * draft-cardwell-iccrg-bbr-congestion-control-00 and draft-cheng-iccrg-delivery-rate-estimation).
 *
 *   BtlBw  = max of the delivery rate samples of 10 rounds
 *   RTprop = min of the RTT samples of 10 s
 *   pacing_rate = pacing_gain * BtlBw, less 1 %
 *   cwnd        = cwnd_gain * BtlBw * RTprop + room for aggregated ACKs and for the sender's bursts
 *
 * A round is over when a segment is acknowledged that was sent after the last one was over.
 *
 *             |
 *             v    pipe full               one BDP in flight
 *     +---> STARTUP ----------> DRAIN --------------------> PROBE_BW <--+
 *     |       |                   |                          |   |      |
 *     |       |                   |                          |   +------+
 *     |       +-------------------+--------------------------+   next phase
 *     |                           | RTprop not seen for 10 s
 *     |  pipe not full yet        v           pipe full
 *     +----------------------- PROBE_RTT ------------------> PROBE_BW
 *
 *   STARTUP    both gains 2.885, until the pipe is full: BtlBw grew by less than 25 % in three rounds
 *   DRAIN      pacing_gain 1 / 2.885, until no more than a BDP is in flight
 *   PROBE_BW   cwnd_gain 2, pacing_gain 1.25, 0.75, 1, 1, 1, 1, 1, 1, one RTprop each;
 *              1.25 lasts until 1.25 BDP are in flight or something is lost,
 *              0.75 at most until one BDP is
 *   PROBE_RTT  cwnd 4 for 200 ms and a round
 *
 * Why these constants (the paper and the draft; of ACK aggregation and policers, see below):
 *  - 2.885 is 2 / ln 2, the smallest gain of a paced sender that doubles what it sends each round.
 *    DRAIN has its inverse, so that the queue that STARTUP built is gone in about as long.
 *  - 25 % in three rounds: a sender that doubles its rate and gains so little has found the
 *    bottleneck. One or two such rounds may be the receiver, whose window still opens.
 *  - 10 rounds of rate samples: more than a cycle of eight phases, so that one of 1.25 is always
 *    among them, and few enough to follow a path that becomes slower.
 *  - 1.25 and 0.75: the mean is 1. If BtlBw has not grown, the first makes a queue of a quarter of
 *    a BDP, which the second drains. Six phases of 1 keep the queue short most of the time, and let
 *    others find room.
 *  - cwnd_gain 2: the window is only there to bound the queue if the model is wrong. The second
 *    BDP keeps the sender going while ACKs are late or come in lumps.
 *  - 10 s without the smallest RTT: long enough for the pauses of most applications to empty the
 *    queue by themselves, short enough to notice a new route.
 *  - 200 ms: flows that share a queue see its smallest RTT at the same time, enter PROBE_RTT
 *    together, and overlap in it although their RTTs differ. 200 ms of 10 s cost 2 % of throughput.
 *  - cwnd 4: the least with which a receiver that acknowledges every second segment sends an ACK
 *    in time.
 *  - 1 % below BtlBw: a rate that is estimated a little too high would let the queue grow for ever.
 *
 * A loss takes what was lost from cwnd; in the first round of a fast retransmit as many segments
 * are sent as arrive (packet conservation); after the repair cwnd is what it was before. A
 * timeout does the same from cwnd = 1, and STARTUP looks for 25 % anew. ssthresh plays no part: a
 * loss is no estimate of the path.
 *
 * ACK aggregation: extra_acked is by how much the segments acknowledged since some moment exceed
 * BtlBw times that time, at most cwnd and 2^20 segments; its maximum of 5 to 10 rounds, at most
 * what arrives in 100 ms, is added to cwnd once the pipe is full. Where a link holds ACKs back and
 * sends them in lumps, two BDP may be too little. Two maxima of 5 rounds each take the place of
 * a filter; 100 ms bound the queue that a wrong estimate makes.
 *
 * Policers (long_term): two intervals of 4 to 16 rounds, each from one loss to another, in which
 * a fifth of what arrived was lost, at rates within 1/8 or 4 kbit/s of each other, make their
 * mean the BtlBw of the next 48 rounds of PROBE_BW, with pacing_gain 1. From loss to loss, as a
 * token bucket is empty at both ends and what it let through is its rate; a fifth, as a queue
 * loses less; 48 rounds, as a policer may be gone.
 *
 * This is BBR version 1 as Linux 6.1 runs it, down to its units: rates in 2^-24 segments per us
 * (256 segments per us at most), gains in 1/256, times of RTprop and of policers in ms, pacing
 * by payload without headers.
 *
 * Differences from Linux:
 *  - The first phase of PROBE_BW is any but 0.75, drawn at random. The random number is the
 *    caller's, so that a run can be repeated.
 *  - The room for bursts is three of them, rounded up to an even number of segments, and two
 *    more in the phase of 1.25. A burst is one segment here, as Linux has it below 1.2 Mbit/s;
 *    from there on Linux counts what leaves in 1 ms, 2 segments to 64 KiB and 127 at most, even where
 *    none leave together. See burst.
 *  - Linux has the stack mark what is sent in PROBE_RTT as limited by the application. The stack
 *    cannot be asked here, so samples count as such in PROBE_RTT and until the second round after.
 *  - Segments sent ahead of their time do not exist: what is in flight is in the network.
 *  - There is no lone short segment whose ACK the receiver delays.
 *  - Segments that a timeout marks lost count for policers if a later ACK reports them.
 */
#ifndef BBR_H
#define BBR_H

#include "cc.h"
#include "parts/delivery_rate.h"
#include "parts/growth.h"
#include "parts/windowed_max.h"

#define bbr_PARAMS(P)                                                                          \
	P(startup_gain, 2885, 1000, 1100, 4000, "",                                            \
	  "gain of pacing rate and window in STARTUP, its inverse in DRAIN; the paper, 2 / ln 2") \
	P(cwnd_gain, 512, 256, 256, 1024, "",                                                  \
	  "window of PROBE_BW, in bandwidth-delay products; the paper")                        \
	P(probe_rtt_interval_s, 10, 1, 1, 3600, "",                                            \
	  "how long RTprop holds before PROBE_RTT, in s; the paper")                           \
	P(min_cwnd, 4, 1, 2, 100, "",                                                          \
	  "smallest window, and that of PROBE_RTT; the paper")                                 \
	P(long_term, 1, 1, 0, 1, "off|on",                                                     \
	  "hold to the rate of a policer; Linux 6.1")                                          \
	P(burst, 0, 1, 0, 1, "segment|linux",                                                  \
	  "what leaves at once: a segment, or as much as in 1 ms, 2 segments to 64 KiB; Linux 6.1")
#define bbr_HOOKS(H, A)                                                                \
	H(A, init) H(A, cong_control) H(A, ssthresh) H(A, set_state) H(A, cwnd_event)  \
	H(A, undo_cwnd)
/* After a repair and after PROBE_RTT cwnd is what it was; in the first round of a repair it is what is in flight. */
#define bbr_GROWTH ((u64)a->acked + a->in_flight + ca->prior_cwnd + p->min_cwnd)

enum bbr_burst { BBR_BURST_SEGMENT, BBR_BURST_LINUX };

enum bbr_mode { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW, BBR_PROBE_RTT };

#define BBR_ONE 256U             /* a gain of 1 */
#define BBR_NO_RTT 0xffffffffU   /* RTprop before the first sample */
#define BBR_BW_ROUNDS 10U        /* how long a rate sample counts */
#define BBR_PHASES 8U            /* of PROBE_BW */
#define BBR_FULL_ROUNDS 3U       /* without a growth of 25 %: the pipe is full */
#define BBR_PROBE_RTT_MS 200U
#define BBR_EXTRA_ROUNDS 5U      /* after which the older maximum of extra_acked is forgotten */
#define BBR_EXTRA_US 100000U     /* time that extra_acked makes up for, at most */
#define BBR_EPOCH_ACKED 0xfffffU /* segments after which extra_acked is measured anew */
#define BBR_LT_ROUNDS 4U         /* length of a policer's interval; at most four times that */
#define BBR_LT_LOST 50U          /* losses that make a policer, in 1/256 */
#define BBR_SINGLE_BYTES_PER_S 150000U /* below this rate a burst is one segment */
#define BBR_BURST_MAX 127U
#define BBR_BURST_BYTES 65536U /* what a sender hands to its device at once, at most */
#define BBR_LT_USED 48U          /* rounds for which its rate is believed */

/* Rates are in 2^-24 segments per us. */
struct bbr {
	u64 round_end;       /* a round is over when a segment sent after these were delivered arrives */
	u64 phase_us;        /* start of the phase of PROBE_BW; in PROBE_RTT the last ACK */
	u64 epoch_us;        /* since when extra_acked is measured */
	struct windowed_max rate; /* of the delivery rate, by rounds */
	u32 rounds;          /* so far */
	u32 min_rtt_us;      /* RTprop */
	u32 min_rtt_ms;      /* when it was seen */
	u32 probe_rtt_ms;    /* when the window of PROBE_RTT was reached */
	u32 prior_cwnd;      /* what to come back to after a repair or PROBE_RTT */
	u32 full_rate;       /* BtlBw when it last grew by 25 % */
	u32 extra_acked[2];  /* largest extra_acked of these rounds and of those before */
	u32 lt_rate;         /* rate of the last policer's interval, or of the policer; 0: none */
	u32 lt_ms;           /* start of the interval */
	u32 lt_delivered;    /* delivered then, modulo 2^32 */
	u32 lt_lost;         /* lost since */
	u32 epoch_acked : 20; /* acknowledged since epoch_us */
	u32 pacing_gain : 12; /* in 1/256 */
	u32 mode : 2;        /* enum bbr_mode */
	u32 phase : 3;       /* of PROBE_BW */
	u32 state : 3;       /* the stack's at the last ACK */
	u32 round_over : 1;  /* by this ACK */
	u32 conserving : 1;  /* packet conservation */
	u32 restarting : 1;  /* sending again after an idle time */
	u32 full : 1;        /* the pipe has been full */
	u32 full_rounds : 2; /* rounds without a growth of 25 % */
	u32 rtt_seen : 1;    /* the first pacing rate is from a sample */
	u32 probe_rtt_timed : 1; /* probe_rtt_ms is set */
	u32 probe_rtt_round : 1; /* a round has passed since */
	u32 probe_rtt_left : 2;  /* round ends till rate samples count again */
	u32 extra_rounds : 3; /* rounds in extra_acked[0] */
	u32 lt_sampling : 1; /* an interval has begun */
	u32 lt_used : 1;     /* lt_rate is BtlBw */
	u32 lt_rounds : 6;   /* rounds of the interval, or of using its rate */
};

CC_DECLARE_PARAMS(bbr);
CC_CHECK_STATE(bbr);

static inline u32 bbr_ms(const struct cc_ack *a)
{
	return (u32)(a->now_us / 1000);
}

/* BtlBw. */
static inline u32 bbr_bandwidth(const struct bbr *ca)
{
	return ca->lt_used ? ca->lt_rate : windowed_max(&ca->rate);
}

static inline u32 bbr_high_gain(const struct bbr_params *p)
{
	return BBR_ONE * p->startup_gain / 1000 + 1;
}

/* gain * rate in bytes/s, less 1 %. */
static inline u64 bbr_bytes_per_s(const struct cc_ack *a, u32 rate, u32 gain)
{
	return delivery_rate_paced((u64)rate * a->mss * gain >> 8);
}

/* gain * rate * RTprop in segments, rounded up. */
static inline u64 bbr_bdp(const struct bbr *ca, u32 rate, u32 gain)
{
	u64 product = (u64)rate * ca->min_rtt_us;

	if (ca->min_rtt_us == BBR_NO_RTT)
		return 10; /* the initial window */
	product = (product >> 8) * gain + ((product & 0xff) * gain >> 8);
	return (product + 0xffffff) >> 24;
}

/* Segments that leave at once. */
static inline u32 bbr_burst(const struct bbr_params *p, const struct cc_window *w,
			    const struct cc_ack *a)
{
	u64 burst = w->pacing_rate >> 10;

	if (p->burst == BBR_BURST_SEGMENT || w->pacing_rate < BBR_SINGLE_BYTES_PER_S)
		return 1;
	burst = (burst < BBR_BURST_BYTES ? burst : BBR_BURST_BYTES) / cc_max(a->mss, 1);
	if (burst < 2)
		return 2;
	return burst < BBR_BURST_MAX ? (u32)burst : BBR_BURST_MAX;
}

static inline u64 bbr_with_bursts(const struct bbr *ca, u64 segments, u32 burst)
{
	segments = (segments + 3 * burst + 1) & ~1ULL;
	return ca->mode == BBR_PROBE_BW && ca->phase == 0 ? segments + 2 : segments;
}

static inline u64 bbr_inflight(const struct bbr *ca, u32 gain, u32 burst)
{
	return bbr_with_bursts(ca, bbr_bdp(ca, windowed_max(&ca->rate), gain), burst);
}

/* Above the path's rate the burst that this ACK releases is as good as sent. */
static inline u64 bbr_in_network(const struct bbr *ca, u32 in_flight, u32 burst)
{
	return (u64)in_flight + (ca->pacing_gain > BBR_ONE ? burst : 0);
}

static inline u32 bbr_rate_limited_by_app(const struct bbr *ca, const struct cc_ack *a)
{
	return (a->flags & CC_RATE_APP_LIMITED) || ca->mode == BBR_PROBE_RTT || ca->probe_rtt_left;
}

static inline void bbr_first_pacing_rate(struct bbr *ca, const struct bbr_params *p,
					 struct cc_window *w, const struct cc_ack *a)
{
	u32 rtt_us = a->srtt_us ? a->srtt_us : 1000;

	ca->rtt_seen = a->srtt_us != 0;
	w->pacing_rate = bbr_bytes_per_s(a, delivery_rate(w->cwnd, rtt_us), bbr_high_gain(p));
}

/* Until the pipe is full the pacing rate only rises. */
static inline void bbr_set_pacing_rate(struct bbr *ca, const struct bbr_params *p,
				       struct cc_window *w, const struct cc_ack *a)
{
	u64 rate = bbr_bytes_per_s(a, bbr_bandwidth(ca), ca->pacing_gain);

	if (!ca->rtt_seen && a->srtt_us)
		bbr_first_pacing_rate(ca, p, w, a);
	if (ca->full || rate > w->pacing_rate)
		w->pacing_rate = rate;
}

static inline void bbr_next_phase(struct bbr *ca, const struct cc_ack *a)
{
	ca->phase = (ca->phase + 1) & (BBR_PHASES - 1);
	ca->phase_us = a->now_us;
}

/* Any phase but the second. */
static inline void bbr_probe_bw(struct bbr *ca, const struct cc_ack *a)
{
	u64 random = cc_random(a);

	ca->mode = BBR_PROBE_BW;
	ca->phase = (BBR_PHASES - 1 - (u32)(random * (BBR_PHASES - 1) >> 32)) & (BBR_PHASES - 1);
	bbr_next_phase(ca, a);
}

static inline void bbr_lt_interval(struct bbr *ca, const struct cc_ack *a)
{
	ca->lt_ms = bbr_ms(a);
	ca->lt_delivered = (u32)a->delivered;
	ca->lt_lost = 0;
	ca->lt_rounds = 0;
}

static inline void bbr_lt_forget(struct bbr *ca, const struct cc_ack *a)
{
	ca->lt_rate = 0;
	ca->lt_used = 0;
	ca->lt_sampling = 0;
	bbr_lt_interval(ca, a);
}

/* An interval is over: is its rate that of the last one? */
static inline void bbr_lt_interval_over(struct bbr *ca, const struct cc_ack *a, u32 rate)
{
	u32 last = ca->lt_rate, off = rate > last ? rate - last : last - rate;

	if (last && ((u64)off * 8 <= last || bbr_bytes_per_s(a, off, BBR_ONE) <= 4000 / 8)) {
		ca->lt_rate = (u32)(((u64)rate + last) >> 1);
		ca->lt_used = 1;
		ca->pacing_gain = BBR_ONE;
		ca->lt_rounds = 0;
		return;
	}
	ca->lt_rate = rate;
	bbr_lt_interval(ca, a);
}

static inline void bbr_lt_sample(struct bbr *ca, const struct cc_ack *a, u32 app_limited, u32 lost)
{
	u32 delivered = cc_since(a->delivered, ca->lt_delivered), ms = bbr_ms(a) - ca->lt_ms;

	if (ca->lt_used) {
		if (ca->mode != BBR_PROBE_BW || !ca->round_over)
			return;
		ca->lt_rounds = (ca->lt_rounds + 1) & 63;
		if (ca->lt_rounds >= BBR_LT_USED) {
			bbr_lt_forget(ca, a);
			bbr_probe_bw(ca, a);
		}
		return;
	}
	if (!ca->lt_sampling) {
		if (!lost)
			return;
		bbr_lt_interval(ca, a);
		ca->lt_sampling = 1;
		delivered = ms = 0;
	}
	if (app_limited) {
		bbr_lt_forget(ca, a);
		return;
	}
	if (ca->round_over)
		ca->lt_rounds = (ca->lt_rounds + 1) & 63;
	if (ca->lt_rounds < BBR_LT_ROUNDS)
		return;
	if (ca->lt_rounds > 4 * BBR_LT_ROUNDS) {
		bbr_lt_forget(ca, a);
		return;
	}
	if (!lost || !delivered || (u64)ca->lt_lost << 8 < (u64)BBR_LT_LOST * delivered || !ms)
		return;
	if (ms >= 0xffffffff / 1000) {
		bbr_lt_forget(ca, a);
		return;
	}
	bbr_lt_interval_over(ca, a, delivery_rate(delivered, (u64)ms * 1000));
}

static inline void bbr_update_rate(struct bbr *ca, const struct bbr_params *p,
				   const struct cc_ack *a)
{
	u32 rate, app_limited = bbr_rate_limited_by_app(ca, a);

	ca->round_over = 0;
	if (!a->rate_interval_us)
		return;
	if (!cc_after(ca->round_end, a->rate_prior_delivered)) {
		ca->round_end = a->delivered;
		ca->rounds++;
		ca->round_over = 1;
		ca->conserving = 0;
		if (ca->mode != BBR_PROBE_RTT && ca->probe_rtt_left)
			ca->probe_rtt_left = (ca->probe_rtt_left - 1) & 3;
	}
	if (p->long_term)
		bbr_lt_sample(ca, a, app_limited, a->lost);
	rate = delivery_rate(a->rate_delivered, a->rate_interval_us);
	if (!app_limited || rate >= windowed_max(&ca->rate))
		windowed_max_add(&ca->rate, BBR_BW_ROUNDS, ca->rounds, rate);
}

static inline void bbr_update_extra_acked(struct bbr *ca, const struct cc_window *w,
					  const struct cc_ack *a)
{
	u64 us = a->now_us - ca->epoch_us, expected, extra;

	if (!a->acked || !a->rate_interval_us)
		return;
	if (ca->round_over) {
		ca->extra_rounds = (ca->extra_rounds + 1) & 7;
		if (ca->extra_rounds >= BBR_EXTRA_ROUNDS) {
			ca->extra_rounds = 0;
			ca->extra_acked[1] = ca->extra_acked[0];
			ca->extra_acked[0] = 0;
		}
	}
	us = us < 0xffffffff ? us : 0xffffffff;
	expected = us * bbr_bandwidth(ca) >> 24;
	if (ca->epoch_acked <= expected || (u64)ca->epoch_acked + a->acked > BBR_EPOCH_ACKED) {
		ca->epoch_acked = 0;
		ca->epoch_us = a->now_us;
		expected = 0;
	}
	extra = (u64)ca->epoch_acked + a->acked;
	extra = extra < BBR_EPOCH_ACKED ? extra : BBR_EPOCH_ACKED;
	ca->epoch_acked = (u32)extra & BBR_EPOCH_ACKED;
	extra = extra - expected < w->cwnd ? extra - expected : w->cwnd;
	ca->extra_acked[0] = cc_max(ca->extra_acked[0], (u32)extra);
}

static inline u32 bbr_phase_over(const struct bbr *ca, const struct bbr_params *p,
				 const struct cc_window *w, const struct cc_ack *a)
{
	u32 lasted = a->now_us - ca->phase_us > ca->min_rtt_us, burst = bbr_burst(p, w, a);
	u64 in_network = bbr_in_network(ca, a->prior_in_flight, burst);

	if (ca->pacing_gain == BBR_ONE)
		return lasted;
	if (ca->pacing_gain > BBR_ONE)
		return lasted && (a->lost || in_network >= bbr_inflight(ca, ca->pacing_gain, burst));
	return lasted || in_network <= bbr_inflight(ca, BBR_ONE, burst);
}

static inline void bbr_update_full(struct bbr *ca, const struct cc_ack *a)
{
	u32 rate = windowed_max(&ca->rate);

	if (ca->full || !ca->round_over || bbr_rate_limited_by_app(ca, a))
		return;
	if (rate >= (u64)ca->full_rate * 5 / 4) {
		ca->full_rate = rate;
		ca->full_rounds = 0;
		return;
	}
	ca->full_rounds = (ca->full_rounds + 1) & 3;
	ca->full = ca->full_rounds >= BBR_FULL_ROUNDS;
}

static inline void bbr_update_drain(struct bbr *ca, const struct bbr_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u32 burst = bbr_burst(p, w, a);
	u64 bdp = bbr_inflight(ca, BBR_ONE, burst);

	if (ca->mode == BBR_STARTUP && ca->full) {
		ca->mode = BBR_DRAIN;
		w->ssthresh = bdp < CC_SSTHRESH_INFINITE ? (u32)bdp : CC_SSTHRESH_INFINITE;
	}
	if (ca->mode == BBR_DRAIN && bbr_in_network(ca, a->in_flight, burst) <= bdp)
		bbr_probe_bw(ca, a);
}

static inline void bbr_save_cwnd(struct bbr *ca, const struct cc_window *w)
{
	if (ca->state < CC_RECOVERY && ca->mode != BBR_PROBE_RTT)
		ca->prior_cwnd = w->cwnd;
	else
		ca->prior_cwnd = cc_max(ca->prior_cwnd, w->cwnd);
}

static inline void bbr_leave_probe_rtt(struct bbr *ca, struct cc_window *w, const struct cc_ack *a)
{
	if (!ca->probe_rtt_timed || bbr_ms(a) - ca->probe_rtt_ms <= BBR_PROBE_RTT_MS)
		return;
	ca->min_rtt_ms = bbr_ms(a);
	w->cwnd = cc_allowed(w, cc_max(w->cwnd, ca->prior_cwnd));
	ca->probe_rtt_left = 2;
	if (ca->full)
		bbr_probe_bw(ca, a);
	else
		ca->mode = BBR_STARTUP;
}

static inline void bbr_update_min_rtt(struct bbr *ca, const struct bbr_params *p,
				      struct cc_window *w, const struct cc_ack *a)
{
	u32 expired = bbr_ms(a) - ca->min_rtt_ms > 1000 * p->probe_rtt_interval_s;

	if (a->rtt_us && (a->rtt_us < ca->min_rtt_us || expired)) {
		ca->min_rtt_us = a->rtt_us;
		ca->min_rtt_ms = bbr_ms(a);
	}
	if (expired && !ca->restarting && ca->mode != BBR_PROBE_RTT) {
		ca->mode = BBR_PROBE_RTT;
		bbr_save_cwnd(ca, w);
		ca->probe_rtt_timed = 0;
	}
	if (ca->mode == BBR_PROBE_RTT) {
		ca->phase_us = a->now_us;
		if (!ca->probe_rtt_timed && a->in_flight <= p->min_cwnd) {
			ca->probe_rtt_timed = 1;
			ca->probe_rtt_ms = bbr_ms(a);
			ca->probe_rtt_round = 0;
			ca->round_end = a->delivered;
		} else if (ca->probe_rtt_timed) {
			ca->probe_rtt_round |= ca->round_over;
			if (ca->probe_rtt_round)
				bbr_leave_probe_rtt(ca, w, a);
		}
	}
	if (a->rate_interval_us && a->rate_delivered)
		ca->restarting = 0;
}

static inline void bbr_update_pacing_gain(struct bbr *ca, const struct bbr_params *p)
{
	u32 gain = BBR_ONE;

	if (ca->mode == BBR_STARTUP)
		gain = bbr_high_gain(p);
	else if (ca->mode == BBR_DRAIN)
		gain = BBR_ONE * 1000 / p->startup_gain;
	else if (ca->mode == BBR_PROBE_BW && !ca->lt_used && ca->phase < 2)
		gain = ca->phase ? BBR_ONE * 3 / 4 : BBR_ONE * 5 / 4;
	ca->pacing_gain = gain & 0xfff;
}

/* The window that the model asks for. */
static inline u64 bbr_target(const struct bbr *ca, const struct bbr_params *p,
			     const struct cc_window *w, const struct cc_ack *a)
{
	u32 gain = bbr_high_gain(p), extra = cc_max(ca->extra_acked[0], ca->extra_acked[1]);
	u64 target, most = (u64)bbr_bandwidth(ca) * BBR_EXTRA_US >> 24;

	if (ca->mode == BBR_PROBE_BW)
		gain = p->cwnd_gain;
	else if (ca->mode == BBR_PROBE_RTT)
		gain = BBR_ONE;
	target = bbr_bdp(ca, bbr_bandwidth(ca), gain);
	if (ca->full)
		target += extra < most ? extra : most;
	return bbr_with_bursts(ca, target, bbr_burst(p, w, a));
}

static inline void bbr_set_cwnd(struct bbr *ca, const struct bbr_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	u64 cwnd = w->cwnd, target, kept = (u64)a->in_flight + a->acked;

	if (a->acked) {
		cwnd = cwnd > a->lost ? cwnd - a->lost : 1;
		if (a->state == CC_RECOVERY && ca->state != CC_RECOVERY) {
			ca->conserving = 1;
			ca->round_end = a->delivered;
			cwnd = kept;
		} else if (ca->state >= CC_RECOVERY && a->state < CC_RECOVERY) {
			cwnd = cwnd < ca->prior_cwnd ? ca->prior_cwnd : cwnd;
			ca->conserving = 0;
		}
		ca->state = a->state & 7U;
		if (ca->conserving) {
			cwnd = cwnd < kept ? kept : cwnd;
		} else {
			target = bbr_target(ca, p, w, a);
			if (ca->full)
				cwnd = cwnd + a->acked < target ? cwnd + a->acked : target;
			else if (cwnd < target || a->delivered < 10)
				cwnd += a->acked;
			cwnd = cwnd < p->min_cwnd ? p->min_cwnd : cwnd;
		}
	}
	w->cwnd = 0;
	cc_grow(w, cwnd);
	if (ca->mode == BBR_PROBE_RTT)
		w->cwnd = cc_min(w->cwnd, p->min_cwnd);
}

static inline void bbr_init(struct bbr *ca, const struct bbr_params *p, struct cc_window *w,
			    const struct cc_ack *a)
{
	w->ssthresh = CC_SSTHRESH_INFINITE;
	ca->round_end = a->delivered;
	ca->min_rtt_us = a->min_rtt_us ? a->min_rtt_us : BBR_NO_RTT;
	ca->min_rtt_ms = bbr_ms(a);
	ca->epoch_us = a->now_us;
	ca->pacing_gain = bbr_high_gain(p) & 0xfff;
	bbr_lt_interval(ca, a);
	bbr_first_pacing_rate(ca, p, w, a);
}

static inline void bbr_cong_control(struct bbr *ca, const struct bbr_params *p,
				    struct cc_window *w, const struct cc_ack *a)
{
	u64 lost = (u64)ca->lt_lost + a->lost;

	ca->lt_lost = lost < 0xffffffff ? (u32)lost : 0xffffffff;
	bbr_update_rate(ca, p, a);
	CC_FORGET();
	bbr_update_extra_acked(ca, w, a);
	CC_FORGET();
	if (ca->mode == BBR_PROBE_BW && bbr_phase_over(ca, p, w, a))
		bbr_next_phase(ca, a);
	CC_FORGET();
	bbr_update_full(ca, a);
	CC_FORGET();
	bbr_update_drain(ca, p, w, a);
	CC_FORGET();
	bbr_update_min_rtt(ca, p, w, a);
	CC_FORGET();
	bbr_update_pacing_gain(ca, p);
	CC_FORGET();
	bbr_set_pacing_rate(ca, p, w, a);
	CC_FORGET();
	bbr_set_cwnd(ca, p, w, a);
}

static inline u32 bbr_ssthresh(struct bbr *ca, const struct bbr_params *p, struct cc_window *w,
			       const struct cc_ack *a)
{
	(void)p;
	(void)a;
	bbr_save_cwnd(ca, w);
	return w->ssthresh;
}

static inline void bbr_set_state(struct bbr *ca, const struct bbr_params *p, struct cc_window *w,
				 const struct cc_ack *a, u8 state)
{
	(void)w;
	if (state != CC_LOSS)
		return;
	ca->state = CC_LOSS;
	ca->full_rate = 0;
	ca->round_over = 1;
	if (p->long_term)
		bbr_lt_sample(ca, a, 0, 1);
}

static inline void bbr_cwnd_event(struct bbr *ca, const struct bbr_params *p, struct cc_window *w,
				  const struct cc_ack *a, u8 event)
{
	if (event != CC_TX_START || !(a->flags & CC_APP_LIMITED))
		return;
	ca->restarting = 1;
	ca->epoch_us = a->now_us;
	ca->epoch_acked = 0;
	if (ca->mode == BBR_PROBE_BW) {
		u32 gain = ca->pacing_gain;

		/* No burst above the path's rate into an empty pipe, and no pause either. */
		ca->pacing_gain = BBR_ONE;
		bbr_set_pacing_rate(ca, p, w, a);
		ca->pacing_gain = gain & 0xfff;
	} else if (ca->mode == BBR_PROBE_RTT) {
		u64 last_us = ca->phase_us;

		/* A phase that begins while nothing is in flight counts from the last ACK on. */
		bbr_leave_probe_rtt(ca, w, a);
		ca->phase_us = last_us;
	}
}

/* A spurious repair: cwnd comes back when the state does. */
static inline u32 bbr_undo_cwnd(struct bbr *ca, const struct bbr_params *p, struct cc_window *w,
				const struct cc_ack *a)
{
	(void)p;
	ca->full_rate = 0;
	ca->full_rounds = 0;
	bbr_lt_forget(ca, a);
	return w->cwnd;
}

#endif /* BBR_H */
