/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The one list of algorithms. A line CC(name, title, year, paper, kind, status) here and a
 * header name.h make an algorithm known everywhere: command line, Python, scenarios, docs.
 * People write the name with '-' for '_'.
 *
 * kind:   loss, delay, hybrid, model
 * status: published (as its paper has it), rfc (as its RFC has it), reconstruction
 */
#ifndef REGISTRY_H
#define REGISTRY_H

#define CC_REGISTRY(CC) \
	CC(reno, "Reno", 1990, "RFC 5681", loss, rfc)

#endif /* REGISTRY_H */
