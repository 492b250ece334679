/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the path delays without its queue, and with it: the smallest delay of the last ten minutes, kept
 * minute by minute, so that it is forgotten when the path changes, and the smallest of the last four
 * samples (RFC 6817, 2.4.2).
 */
#ifndef DELAY_HISTORY_H
#define DELAY_HISTORY_H

#include "cc.h"
#include "parts/fixed.h"

#define DELAY_HISTORY_MINUTES 10
#define DELAY_HISTORY_MINUTE_US 60000000
#define DELAY_HISTORY_NONE 0xffffffffU

struct delay_history {
	u64 minute_end_us;                   /* when the newest minute is over */
	u32 base_us;                         /* the smallest of all below */
	u32 minute_us[DELAY_HISTORY_MINUTES]; /* the smallest of each minute, the newest first */
	u32 last_us[3];                      /* the samples before the newest, the newest first */
};

/* The first minute begins, or the first after ten without a sample. */
static inline void delay_history_begin(struct delay_history *d, const struct cc_ack *a)
{
	u32 i;

	for (i = 0; i < DELAY_HISTORY_MINUTES; i++)
		d->minute_us[i] = DELAY_HISTORY_NONE;
	d->base_us = DELAY_HISTORY_NONE;
	d->last_us[0] = d->last_us[1] = d->last_us[2] = DELAY_HISTORY_NONE;
	d->minute_end_us = a->now_us + DELAY_HISTORY_MINUTE_US;
}

/* The newest minute is over. Of several at once each takes a sample to pass. */
static inline void delay_history_roll(struct delay_history *d, const struct cc_ack *a)
{
	u32 base = DELAY_HISTORY_NONE, i;

	for (i = DELAY_HISTORY_MINUTES - 1; i > 0; i--) {
		d->minute_us[i] = d->minute_us[i - 1];
		base = cc_min_masked(base, d->minute_us[i]);
	}
	d->minute_us[0] = DELAY_HISTORY_NONE;
	d->base_us = base;
	d->minute_end_us += DELAY_HISTORY_MINUTE_US;
	if (a->now_us >= d->minute_end_us + DELAY_HISTORY_MINUTES * (u64)DELAY_HISTORY_MINUTE_US)
		delay_history_begin(d, a);
}

/* A sample, below DELAY_HISTORY_NONE; returns what the queue is taken to delay. */
static inline u32 delay_history_add(struct delay_history *d, const struct cc_ack *a, u32 delay_us)
{
	u32 least;

	if (a->now_us >= d->minute_end_us)
		delay_history_roll(d, a);
	least = cc_min_masked(cc_min_masked(delay_us, d->last_us[0]),
			      cc_min_masked(d->last_us[1], d->last_us[2]));
	d->last_us[2] = d->last_us[1];
	d->last_us[1] = d->last_us[0];
	d->last_us[0] = delay_us;
	d->minute_us[0] = cc_min_masked(d->minute_us[0], delay_us);
	d->base_us = cc_min_masked(d->base_us, delay_us);
	return least - cc_min_masked(least, d->base_us);
}

#endif /* DELAY_HISTORY_H */
