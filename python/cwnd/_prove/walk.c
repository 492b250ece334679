/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Random events for the native hooks of HEADER, beside the expressions of its bytecode.
 *
 *   walk any COUNT SEED    a hook after another, each with COUNT events of any state
 *   walk from COUNT SEED   COUNT events of connections that begin with init; the state, the window, the clock and the
 *                          counters of an event follow from those before it
 *   walk write COUNT SEED  as any, and writes each event and what the hook left, in bytes
 *
 * Each event is drawn within the ranges of the contract, with a bias to edges, to constants of the bytecode, to values of
 * other fields, and to events that took a branch first. Prints what was reached, and an event, or the shortest series
 * found, for each question that one broke. Python generates the tables: see walk.py.
 */
#include <string.h>

#include "hooks.h"

struct field {
	u32 offset, size;
	u64 lo, hi;
};

/* Computes numbers of the event before and after a hook; `then`: the event of the hook before, as that left it. */
typedef void compute(const struct event *before, const struct event *after, const struct event *then, u64 *found);

struct hook {
	const char *name;
	u32 number;
	const struct field *fields;
	u32 field_count;
	const u64 *constants;
	u32 constant_count;
	compute *first, *last;
	/* What `first` finds: whether the assumptions hold, and undefined operations. */
	u32 undefined_count;
	/* What `last` finds: fields, other questions, outcomes of branches. */
	const struct field *compared;
	u32 compared_count, question_count, branch_count;
	/* Of the undefined operations and then of the other questions: is it asked? */
	const u8 *asked;
	/* Properties that are checked without the bytecode, too: enum check. */
	u32 checks;
};

enum check { CHECK_WINDOW = 1, CHECK_SSTHRESH = 2, CHECK_GROWTH = 4, CHECK_COUNTERS = 8 };

#define READ(event, type, offset) (*(const type *)((const char *)(event) + (offset)))

#include TABLES

#define HOOK_COUNT (sizeof hooks / sizeof *hooks)
#define LENGTH_MAX 512
#define KEPT_MAX 256

enum { FINE = -1, SKIPPED = -2, DIFFERS = 100000, UNASSUMED, BAD_WINDOW, BAD_RESULT, BAD_GROWTH, BAD_COUNTERS };

static u64 seed[2];

static u64 next(void)
{
	/* xoroshiro128+ */
	u64 a = seed[0], b = seed[1] ^ seed[0], made = seed[0] + seed[1];

	seed[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
	seed[1] = b << 37 | b >> 27;
	return made;
}

/* Less than `most`, which is below 2^32. */
static u32 below(u64 most)
{
	return (u32)((next() >> 32) * most >> 32);
}

static u64 get(const struct event *e, const struct field *f)
{
	switch (f->size) {
	case 1: return READ(e, u8, f->offset);
	case 2: return READ(e, unsigned short, f->offset);
	case 4: return READ(e, u32, f->offset);
	default: return READ(e, u64, f->offset);
	}
}

static void put(struct event *e, const struct field *f, u64 value)
{
	memcpy((char *)e + f->offset, &value, f->size);
}

/* A number within the range of a field; `bits`: the size of most. */
static u64 draw(const struct hook *h, const struct field *f, const struct event *e, u32 bits)
{
	u64 spread = f->hi - f->lo, value, kind = next();
	u32 room = spread ? 64 - (u32)__builtin_clzll(spread) : 0;

	switch (kind & 15) {
	case 0:
		value = next() & 3;
		break;
	case 1:
		value = spread - (next() & 3);
		break;
	case 2:
		value = h->constant_count ? h->constants[below(h->constant_count)] + below(3) - 1 - f->lo : 0;
		break;
	case 3:
	case 4:
		value = get(e, &h->fields[below(h->field_count)]) + below(3) - 1 - f->lo;
		break;
	default:
		room = below(cc_min(room, bits) + 1);
		value = room ? next() >> (64 - room) : 0;
	}
	if (value > spread)
		value = spread == ~0ULL ? value : next() % (spread + 1) >> (next() & 63);
	return f->lo + value;
}

/* The relations of cc.h between the fields of an event. */
static void relate(struct event *e)
{
	e->w.cwnd_clamp = cc_max(e->w.cwnd_clamp, e->w.cwnd);
	e->w.prior_cwnd = cc_min(e->w.prior_cwnd, e->w.cwnd_clamp);
}

struct reached {
	u64 events, skipped;
	u8 *taken;
	struct event kept[KEPT_MAX];
	u32 kept_count;
};

static struct reached reached[HOOK_COUNT];
static u8 *answered[HOOK_COUNT];
/* A question of the hook is answered: what is checked without the bytecode would say it again. */
static u8 found_one[HOOK_COUNT];

static int asks(const struct hook *h, u32 question)
{
	return h->asked[question] && !answered[h - hooks][question];
}

/* The state of the same connection where counters are known modulo 2^32, as in a kernel; NULL: not followed. */
static u64 *twin;

/* Does the hook leave the same window if counters are known modulo 2^32? */
static int same_modulo(const struct hook *h, const struct event *b, const struct event *then, const struct event *e)
{
	static u64 found[VALUES_MAX];
	struct event t = *b, before;
	u32 i;

	memcpy(t.state, twin, sizeof t.state);
	t.a.delivered = (u32)t.a.delivered;
	t.a.rate_prior_delivered = (u32)t.a.rate_prior_delivered;
	t.a.delivered_ce = (u32)t.a.delivered_ce;
	t.a.lost_total = (u32)t.a.lost_total;
	before = t;
	h->first(&before, &before, then, found);
	for (i = 0; i < h->undefined_count; i++)
		if (found[1 + i])
			return 0;
	t.result = h->number;
	call(&t);
	memcpy(twin, t.state, sizeof t.state);
	return !memcmp(&t.w, &e->w, sizeof t.w) && t.result == e->result;
}

/* What the properties say of an event and what the hook left, without the bytecode. */
static int check(const struct hook *h, const struct event *b, const struct event *e)
{
	u32 clamp = b->w.cwnd_clamp, restores = h->number == HOOK_undo_cwnd;

	if (h->checks & CHECK_WINDOW && (e->w.cwnd < 1 || e->w.cwnd > clamp))
		return BAD_WINDOW;
	if (h->checks & CHECK_WINDOW && restores && (e->result < 1 || e->result > clamp))
		return BAD_RESULT;
	if (h->checks & CHECK_SSTHRESH && (e->result < 2 || (!CONTROLS && e->result > cc_max(b->w.cwnd, 2))))
		return BAD_RESULT;
	if (h->checks & CHECK_GROWTH && !cc_cwnd_limited(&b->a) && e->w.cwnd > b->w.cwnd)
		return BAD_GROWTH;
	return FINE;
}

/*
 * Calls the hook on an event. Returns the question that it breaks, FINE, or SKIPPED: the event is outside of the
 * assumptions or natively undefined, and no question is about that.
 */
static int try_event(const struct hook *h, const struct event *b, const struct event *then, struct event *e, int *news)
{
	static u64 found[VALUES_MAX];
	struct reached *r = &reached[h - hooks];
	int broken = FINE;
	u32 i;

	*e = *b;
	h->first(b, b, then, found);
	if (!found[0])
		return UNASSUMED;
	for (i = 0; i < h->undefined_count; i++)
		if (found[1 + i])
			return asks(h, i) ? (int)i : SKIPPED;
	e->result = h->number;
	call(e);
	h->last(b, e, then, found);
	for (i = 0; i < h->compared_count; i++)
		if (found[i] != get(e, &h->compared[i]))
			return DIFFERS + 10 + (int)i;
	for (i = 0; i < h->question_count && broken == FINE; i++)
		if (found[h->compared_count + i] && asks(h, h->undefined_count + i))
			broken = (int)(h->undefined_count + i);
	for (i = 0; news && i < h->branch_count; i++)
		if (found[h->compared_count + h->question_count + i] && !r->taken[i])
			r->taken[i] = 1, *news = 1;
	if (twin && !same_modulo(h, b, then, e) && broken == FINE && h->checks & CHECK_COUNTERS && !found_one[h - hooks])
		broken = BAD_COUNTERS;
	return broken == FINE && !found_one[h - hooks] ? check(h, b, e) : broken;
}

static void show(const struct hook *h, int broken, const struct event *events, const u8 *which, u32 count)
{
	u32 i, at;

	printf("found %s %d %u\n", h->name, broken, count);
	for (i = 0; i < count; i++) {
		const u8 *bytes = (const u8 *)&events[i];

		printf("%u ", which ? hooks[which[i]].number : h->number);
		for (at = 0; at < sizeof *events; at++)
			printf("%02x", bytes[at]);
		putchar('\n');
	}
}

static void keep(const struct hook *h, const struct event *e)
{
	struct reached *r = &reached[h - hooks];

	r->kept[r->kept_count < KEPT_MAX ? r->kept_count : below(KEPT_MAX)] = *e;
	r->kept_count += r->kept_count < KEPT_MAX;
}

static void write_both(const struct hook *h, struct event b, const struct event *e)
{
	b.result = h->number;
	if (fwrite(&b, sizeof b, 1, stdout) != 1 || fwrite(e, sizeof *e, 1, stdout) != 1)
		exit(4);
}

static void run_any(const struct hook *h, u64 count, int writes)
{
	struct reached *r = &reached[h - hooks];
	struct event b, e, then;
	u32 changes, bits;

	memset(&b, 0, sizeof b);
	for (changes = 0; changes < h->field_count; changes++)
		put(&b, &h->fields[changes], h->fields[changes].lo);
	while (r->events < count) {
		int broken, news = 0;

		bits = 1 + below(64);
		if (r->kept_count && next() & 1)
			b = r->kept[below(r->kept_count)];
		if (next() & 3) {
			for (changes = 1 + below(6); changes; changes--) {
				const struct field *f = &h->fields[below(h->field_count)];

				put(&b, f, draw(h, f, &b, bits));
			}
		} else {
			for (changes = 0; changes < h->field_count; changes++)
				put(&b, &h->fields[changes], draw(h, &h->fields[changes], &b, bits));
		}
		if (h->number == HOOK_init)
			memset(b.state, 0, sizeof b.state);
		relate(&b);
		then = b;
		if (next() & 1)
			then.a.now_us -= cc_min((u32)next() >> below(32), (u32)(b.a.now_us < ~0U ? b.a.now_us : ~0U));
		broken = try_event(h, &b, &then, &e, &news);
		if (broken == SKIPPED || broken == UNASSUMED) {
			r->skipped++;
			if (r->skipped > 16 * count + 1000)
				break;
			continue;
		}
		r->events++;
		if (news)
			keep(h, &b);
		if (writes && broken == FINE)
			write_both(h, b, &e);
		else if (broken != FINE) {
			if (writes)
				exit(7);
			show(h, broken, &b, NULL, 1);
			if (broken >= DIFFERS)
				return;
			answered[h - hooks][broken] = found_one[h - hooks] = 1;
		}
	}
}

struct series {
	struct event events[LENGTH_MAX];
	u8 which[LENGTH_MAX];
	u32 count;
};

/* Plays a series anew, with the state of each event from the one before. Its last event breaks the question? */
static int breaks(struct series *s, int broken)
{
	struct event then, e;
	u32 i;
	int found = FINE;

	memset(twin, 0, sizeof then.state);
	memset(&then, 0, sizeof then);
	for (i = 0; i < s->count; i++) {
		memcpy(s->events[i].state, then.state, sizeof then.state);
		found = try_event(&hooks[s->which[i]], &s->events[i], &then, &e, NULL);
		if (found == SKIPPED || found == UNASSUMED)
			return found == broken && i + 1 == s->count;
		then = e;
	}
	return found == broken;
}

/* Leaves out what the break does not need. */
static void shorten(struct series *s, int broken)
{
	static struct series less;
	u32 length, at;

	for (length = s->count / 2; length; length /= 2) {
		for (at = INIT_COUNT; at + length < s->count;) {
			u32 rest = s->count - at - length;

			less = *s;
			memmove(&less.events[at], &less.events[at + length], rest * sizeof *less.events);
			memmove(&less.which[at], &less.which[at + length], rest);
			less.count = s->count - length;
			if (breaks(&less, broken))
				*s = less;
			else
				at += length;
		}
	}
	breaks(s, broken); /* writes the states */
}

/* The event of the next hook: what a stack may hand over after `e`. */
static void follow(struct event *b, const struct hook *h, const struct event *e, const struct hook *last, u32 bits)
{
	u32 i, acked;

	*b = *e;
	b->result = 0;
	if (last && last->number == HOOK_ssthresh && e->result >= 2 && e->result <= CC_SSTHRESH_INFINITE) {
		b->w.prior_cwnd = e->w.cwnd;
		b->w.ssthresh = e->result;
		b->w.cwnd = next() & 1 ? cc_min(e->w.cwnd, e->result) : next() & 3 ? e->w.cwnd : 1;
	}
	if (last && last->number == HOOK_undo_cwnd && e->result >= 1)
		b->w.cwnd = e->result;
	for (i = 0; i < h->field_count; i++) {
		const struct field *f = &h->fields[i];
		int is_ack = f->offset >= ACK_AT;

		if (f->offset >= STATE_AT)
			break;
		/* An ACK is new for half of the hooks, in half of its fields; a window changes seldom. */
		if (f->offset < 8 || below(is_ack ? 3 : 24) == 0 || get(b, f) < f->lo || get(b, f) > f->hi)
			put(b, f, draw(h, f, e, bits));
	}
	acked = b->a.acked;
	b->a.now_us = e->a.now_us + (next() & 3 ? (next() & 0xffffffffffULL) >> below(40) : 0);
	b->a.delivered = e->a.delivered + acked;
	b->a.lost_total = e->a.lost_total + b->a.lost;
	b->a.delivered_ce = e->a.delivered_ce + cc_min(b->a.ce, acked);
	b->a.rate_prior_delivered = b->a.delivered - (next() & 1 ? acked : b->a.delivered >> below(48));
	relate(b);
	for (i = 0; i < h->field_count && h->fields[i].offset < STATE_AT; i++)
		if (get(b, &h->fields[i]) > h->fields[i].hi)
			put(b, &h->fields[i], h->fields[i].hi);
}

static void run_from(u64 count)
{
	static struct series s;
	static u64 states[CC_STATE_BYTES / 8];
	u64 done = 0;

	twin = states;
	while (done < count) {
		u32 bits = 4 + below(32), most = 1U << (1 + below(9)), favourite = below(HOOK_COUNT);
		const struct hook *last = NULL;
		struct event e, then;

		memset(states, 0, sizeof states);
		memset(&e, 0, sizeof e);
		if (next() & 1) {
			e.a.delivered = (1ULL << 32) - below(1U << 30 >> below(30));
			e.a.lost_total = (1ULL << 32) - below(1000);
			e.a.delivered_ce = (1ULL << 32) - below(1000);
		}
		e.w.cwnd = 10;
		e.w.ssthresh = next() & 1 ? CC_SSTHRESH_INFINITE : 100;
		e.w.cwnd_clamp = 1U << below(32);
		e.w.cwnd = cc_min(e.w.cwnd, e.w.cwnd_clamp);
		e.a.mss = 1448;
		for (s.count = 0; s.count < most; s.count++) {
			u32 which = s.count < INIT_COUNT ? 0 : next() & 1 ? favourite : below(HOOK_COUNT);
			const struct hook *h = &hooks[which];
			struct event *b = &s.events[s.count];
			int broken, news = 0;

			if (s.count >= INIT_COUNT && which < INIT_COUNT)
				which = (u32)(HOOK_COUNT - 1), h = &hooks[which];
			s.which[s.count] = (u8)which;
			follow(b, h, &e, last, bits);
			then = e;
			if (s.count == 0)
				memset(&then, 0, sizeof then);
			broken = try_event(h, b, &then, &e, &news);
			if (broken == SKIPPED || broken == UNASSUMED) {
				reached[which].skipped++;
				break;
			}
			done++;
			reached[which].events++;
			if (broken != FINE) {
				s.count++;
				shorten(&s, broken);
				show(h, broken, s.events, s.which, s.count);
				found_one[which] = 1;
				if (broken > DIFFERS + 9)
					return;
				if (broken < DIFFERS)
					answered[which][broken] = 1;
				break;
			}
			last = h;
		}
	}
}

int main(int argc, char **argv)
{
	u32 i, at;

	if (argc != 4)
		return 5;
	for (i = 0; i < HOOK_COUNT; i++) {
		reached[i].taken = calloc(hooks[i].branch_count + 1, 1);
		answered[i] = calloc(hooks[i].undefined_count + hooks[i].question_count + 1, 1);
		if (!reached[i].taken || !answered[i])
			return 6;
	}
	seed[0] = 0x9e3779b97f4a7c15ULL;
	seed[1] = strtoull(argv[3], NULL, 10);
	for (i = 0; i < 16; i++)
		next();
	if (!strcmp(argv[1], "from"))
		run_from(strtoull(argv[2], NULL, 10));
	else
		for (i = 0; i < HOOK_COUNT; i++)
			run_any(&hooks[i], strtoull(argv[2], NULL, 10), !strcmp(argv[1], "write"));
	if (!strcmp(argv[1], "write"))
		return 0;
	for (i = 0; i < HOOK_COUNT; i++) {
		printf("hook %s %llu %llu ", hooks[i].name, reached[i].events, reached[i].skipped);
		for (at = 0; at < hooks[i].branch_count; at++)
			putchar('0' + reached[i].taken[at]);
		putchar('\n');
	}
	return 0;
}
