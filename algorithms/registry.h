/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The one list of algorithms. A line CC(name, title, year, paper, kind, status) here and a
 * header name.h make an algorithm known everywhere: command line, Python, scenarios, docs.
 * People write the name with '-' for '_'. In the order of the years.
 *
 * kind:   loss, delay, hybrid, model; ecn (by marks that are echoed one by one, RFC 8257), l4s (by marks of ECT(1) that are
 *         counted, RFC 9331)
 * status: published (as its paper has it), rfc (as its RFC has it), reconstruction
 */
#ifndef REGISTRY_H
#define REGISTRY_H

#define CC_REGISTRY(CC) \
	CC(reno, "Reno", 1990, "RFC 5681", loss, rfc) \
	CC(dual, "TCP DUAL", 1992, "Wang, Crowcroft, ACM CCR 22(2), 1992", hybrid, reconstruction) \
	CC(vegas, "TCP Vegas", 1995, "Brakmo, Peterson, IEEE JSAC 13(8), 1995", delay, published) \
	CC(fast_start, "TCP Fast Start", 1998, "Padmanabhan, Katz, Globecom 1998", loss, published) \
	CC(veno, "TCP Veno", 2003, "Fu, Liew, IEEE JSAC 21(2), 2003", hybrid, published) \
	CC(highspeed, "HighSpeed TCP", 2003, "RFC 3649", loss, rfc) \
	CC(scalable, "Scalable TCP", 2003, "Kelly, ACM CCR 33(2) 2003", loss, published) \
	CC(bic, "BIC", 2004, "Xu, Harfoush, Rhee, INFOCOM 2004", loss, published) \
	CC(fast, "FAST TCP", 2004, "Jin, Wei, Low, INFOCOM 2004", delay, published) \
	CC(htcp, "H-TCP", 2004, "Leith, Shorten, PFLDnet 2004", loss, published) \
	CC(hybla, "TCP Hybla", 2004, "Caini, Firrincieli, Int. J. Satell. Commun. Netw. 22, 2004", loss, published) \
	CC(westwood, "TCP Westwood+", 2004, "Grieco, Mascolo, ACM CCR 34(2), 2004", loss, published) \
	CC(adaptive_reno, "Adaptive Reno", 2005, "Shimonishi, Murase, GLOBECOM 2005", hybrid, reconstruction) \
	CC(newvegas, "TCP NewVegas", 2005, "Sing, Soh, NCA 2005", delay, reconstruction) \
	CC(africa, "TCP-Africa", 2005, "King, Baraniuk, Riedi, INFOCOM 2005", hybrid, reconstruction) \
	CC(compound, "Compound TCP", 2006, "Tan, Song, Zhang, Sridharan, INFOCOM 2006", hybrid, published) \
	CC(fusion, "TCP-Fusion", 2007, "Kaneko, Fujikawa, Su, Katto, PFLDnet 2007", hybrid, reconstruction) \
	CC(yeah, "YeAH-TCP", 2007, "Baiocchi, Castellani, Vacirca, PFLDnet 2007", hybrid, published) \
	CC(cubic, "CUBIC", 2008, "RFC 9438", loss, rfc) \
	CC(illinois, "TCP-Illinois", 2008, "Liu, Basar, Srikant, Performance Evaluation 65, 2008", hybrid, published) \
	CC(dctcp, "DCTCP", 2010, "RFC 8257", ecn, rfc) \
	CC(ledbat, "LEDBAT", 2012, "RFC 6817", delay, rfc) \
	CC(agile_sd, "Agile-SD", 2015, "Alrshah, Othman, Ali, Hanapi, JNCA 2015", loss, published) \
	CC(bbr, "BBR", 2016, "Cardwell, Cheng, Gunn, Yeganeh, Jacobson, ACM Queue 14(5) 2016", model, published) \
	CC(agile, "Agile-TCP", 2017, "Alrshah, PhD thesis, Universiti Putra Malaysia, 2017", hybrid, reconstruction) \
	CC(copa, "Copa", 2018, "Arun, Balakrishnan, NSDI 2018", delay, published) \
	CC(discrete, "Discrete TCP", 2018, "Gambhava, Bhensdadia, IJIES 11(5) 2018", loss, published) \
	CC(prague, "TCP Prague", 2019, "draft-briscoe-iccrg-prague-congestion-control", l4s, published) \
	CC(elastic, "Elastic-TCP", 2019, "Alrshah, Al-Moqri, Othman, IEEE Systems Journal 2019", hybrid, published) \
	CC(ledbat_plus, "LEDBAT++", 2020, "Balasubramanian, Ertugay, Havey, Bagnulo, draft-irtf-iccrg-ledbat-plus-plus", delay, published) \
	CC(bbr3, "BBRv3", 2023, "Cardwell, Swett, Beshay, draft-ietf-ccwg-bbr", model, published) \

#endif /* REGISTRY_H */
