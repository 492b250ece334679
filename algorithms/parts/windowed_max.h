/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The maximum of the values of the last so much time, in whatever unit, without keeping them all:
 * the best, and the second and third best, each later than the one before it, to succeed it. They
 * are taken no later than a quarter and half of the window after the best.
 */
#ifndef WINDOWED_MAX_H
#define WINDOWED_MAX_H

#include "cc.h"

struct windowed_max {
	struct {
		u32 time;
		u32 value;
	} best[3];
};

static inline u32 windowed_max(const struct windowed_max *m)
{
	return m->best[0].value;
}

static inline void windowed_max_add(struct windowed_max *m, u32 window, u32 now, u32 value)
{
	u32 age;

	if (value >= m->best[0].value || now - m->best[2].time > window) {
		m->best[0].value = value;
		m->best[0].time = now;
		m->best[2] = m->best[1] = m->best[0];
		return;
	}
	if (value >= m->best[1].value) {
		m->best[1].value = value;
		m->best[1].time = now;
		m->best[2] = m->best[1];
	} else if (value >= m->best[2].value) {
		m->best[2].value = value;
		m->best[2].time = now;
	}
	age = now - m->best[0].time;
	if (age > window) {
		m->best[0] = m->best[1];
		m->best[1] = m->best[2];
		m->best[2].value = value;
		m->best[2].time = now;
		if (now - m->best[0].time > window) {
			m->best[0] = m->best[1];
			m->best[1] = m->best[2];
		}
	} else if (m->best[1].time == m->best[0].time && age > window / 4) {
		m->best[1].value = value;
		m->best[1].time = now;
		m->best[2] = m->best[1];
	} else if (m->best[2].time == m->best[1].time && age > window / 2) {
		m->best[2].value = value;
		m->best[2].time = now;
	}
}

#endif /* WINDOWED_MAX_H */
