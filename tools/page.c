// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * page - the report as one HTML file: no script that runs, nothing loaded from
 * elsewhere, so that it can be mailed, attached to an issue or printed
 *
 * It is well-formed XML too, which lets a test prove that nothing is open.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench.h"
#include "claims.h"
#include "text.h"
#include "describe.h"
#include "html.h"
#include "memory.h"
#include "page.h"
#include "sharing.h"

static const char style[] =
	":root{color-scheme:light dark;--ink:#1c2128;--soft:#5c6672;--back:#fff;--card:#f6f7f9;"
	"--rule:#d8dde3;--good:#1a7f56;--bad:#b3261e;--open:#8a6100}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#e4e8ed;--soft:#9aa5b1;--back:#14181d;"
	"--card:#1d2329;--rule:#38414b;--good:#4cc38a;--bad:#ff8a80;--open:#e0b04c}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;max-width:68rem;padding:2rem 1.25rem 4rem;background:var(--back);"
	"color:var(--ink);font:16px/1.5 system-ui,sans-serif}\n"
	"h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem}\n"
	"h2{font-size:1.15rem;margin:2.4rem 0 .6rem}\n"
	"h3{font-size:1rem;margin:1.4rem 0 .4rem}\n"
	"p{margin:.4rem 0}.soft,figcaption{color:var(--soft)}figcaption{font-size:.9rem}\n"
	"table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
	"th,td{text-align:left;padding:.4rem .9rem .4rem 0;border-bottom:1px solid var(--rule);"
	"vertical-align:top}\n"
	"th{font-weight:600;color:var(--soft);font-size:.9rem}\n"
	"tbody th{color:var(--ink);font-size:1rem;white-space:nowrap}\n"
	"sub{font-size:.9em;line-height:0}td.number,th.number{text-align:right;white-space:nowrap}\n"
	".wide,figure div{overflow-x:auto}.wide table{min-width:42rem}#caches table{min-width:58rem}.wide+.wide{margin-top:1rem}\n"
	".agrees{color:var(--good)}.disagrees{color:var(--bad);font-weight:600}"
	".open{color:var(--open)}\n"
	".headline{border-left:4px solid var(--bad);background:var(--card);padding:.6rem 1rem;"
	"margin:.6rem 0}\n"
	".note{border-left:4px solid var(--open);background:var(--card);padding:.5rem 1rem;"
	"margin:.5rem 0}\n"
	"figure{margin:1rem 0 1.6rem}svg{display:block;width:100%;height:auto}\n"
	"figure svg{min-width:var(--width)}\n"
	/* What the pictures draw black is ink; lstopo brings a ground of its own. */
	"figure:not(.topology) [fill='black']{fill:var(--ink)}"
	"figure:not(.topology) [stroke='black']{stroke:var(--ink)}\n"
	".topology svg{background:#fff;border:1px solid var(--rule);padding:.5rem}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:0}\n"
	"dt{color:var(--soft)}dd{margin:0}\n"
	"details{margin:1rem 0}summary{cursor:pointer}\n"
	"footer{margin-top:3rem;color:var(--soft);font-size:.9rem}\n"
	"@media print{:root{--ink:#000;--soft:#444;--back:#fff;--card:#f4f4f4;--rule:#bbb;"
	"--good:#1a7f56;--bad:#b3261e;--open:#8a6100}body{max-width:none;padding:0;font-size:11pt}"
	".wide,figure div{overflow:visible}#caches table,.wide table,figure svg{min-width:0}"
	"tbody th{white-space:normal}h1,h2,h3{break-after:avoid}"
	"figure,svg,tr,.headline,.note{break-inside:avoid}svg{max-height:22cm}"
	"details:not([open]){display:none}}\n";

static void write_head(FILE *out, const struct page *page)
{
	const struct machine *m = page->machine;
	struct fact facts[MAX_FACTS];
	size_t n = describe_machine(m, facts);
	time_t now = time(NULL);
	char date[64] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M %Z", &tm);
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'\"/>\n"
	      "<meta name=\"generator\" content=\"sonde " SONDE_VERSION "\"/>\n<title>", out);
	html_text(out, sonde_topology_cpu_model(m->topo));
	fputs(": measured by sonde</title>\n<style>\n", out);
	fputs(style, out);
	fputs("</style>\n</head>\n<body>\n<header>\n", out);
	html_element(out, "h1", facts[0].value);
	fputs("\n<p class=\"soft\">", out);
	for (size_t i = 1; i < n; i++) {
		html_text(out, facts[i].name);
		fputc(' ', out);
		html_text(out, facts[i].value);
		fputs(i + 1 < n ? " · " : "", out);
	}
	fprintf(out, "</p>\n<p class=\"soft\">Measured on CPU %u in %.1f s, %s, by sonde "
		SONDE_VERSION ".</p>\n</header>\n<main>\n",
		m->caches->cpu, m->caches->elapsed_s, date);
}

static const char *class_verdict(enum verdict verdict)
{
	return verdict == VERDICT_AGREES ? "span class=\"agrees\"" :
	       verdict == VERDICT_DISAGREES ? "span class=\"disagrees\"" : "span class=\"open\"";
}

static void write_row(FILE *out, const struct cache_row *row)
{
	fputs("<tr>", out);
	html_element(out, "th scope=\"row\"", row->level);
	html_element(out, "td", row->measured);
	html_element(out, "td class=\"number\"", row->ns);
	html_element(out, "td class=\"number\"", row->cycles);
	html_element(out, "td class=\"number\"", row->confidence);
	fputs("<td>", out);
	html_text(out, row->claimed);
	fputs("</td>", out);
	html_element(out, "td class=\"soft\"", row->by);
	fputs("<td>", out);
	if (*row->claim_verdict)
		html_element(out, class_verdict(row->verdict), row->claim_verdict);
	fputs("</td></tr>\n", out);
}

static int write_headlines(FILE *out, const struct machine *m)
{
	struct headline *headlines;
	int n = find_headlines(m, &headlines);

	for (int i = 0; i < n; i++) {
		html_element(out, "p class=\"headline\"", headlines[i].text);
		fputc('\n', out);
	}
	if (n >= 0)
		free(headlines);
	return n < 0 ? n : 0;
}

static void write_translation(FILE *out, const struct machine *m)
{
	const struct sonde_cache_report *caches = m->caches;
	char text[CELL_LEN];

	for (size_t i = 0; i < caches->ntlb; i++) {
		fputs("<p>Address translation: ", out);
		html_text(out, describe_tlb_step(m, &caches->tlb[i], text, sizeof(text)));
		fputs(".</p>\n", out);
	}
	for (size_t i = 0; i < caches->nnotes; i++) {
		html_element(out, "p class=\"note\"", caches->notes[i]);
		fputc('\n', out);
	}
}

static int write_caches(FILE *out, const struct page *page)
{
	const struct machine *m = page->machine;
	struct cache_row *rows;
	int n = describe_caches(m, &rows);
	char hz[TEXT_LEN];

	if (n < 0)
		return n;
	fputs("<section id=\"caches\">\n<h2>Caches</h2>\n", out);
	if (write_headlines(out, m)) {
		free(rows);
		return -ENOMEM;
	}
	fputs("<div class=\"wide\"><table>\n<thead><tr><th>Level</th><th>Measured</th>"
	      "<th class=\"number\" colspan=\"2\">Latency of a hit</th>"
	      "<th class=\"number\">Confidence</th><th>Claimed</th><th>By</th><th></th></tr></thead>"
	      "\n<tbody>\n", out);
	for (int i = 0; i < n; i++)
		write_row(out, &rows[i]);
	free(rows);
	fputs("</tbody>\n</table></div>\n", out);
	if (m->caches->core_hz > 0)
		fprintf(out, "<p class=\"soft\">Core clock while measuring: %s.</p>\n",
			text_hz(hz, m->caches->core_hz));
	write_translation(out, m);
	fputs("</section>\n", out);
	return 0;
}

/*
 * Small drawings are not blown up beyond @enlarge times their size, and none is made so
 * small that its words are smaller than they were drawn: on a phone it scrolls in a box
 * of its own.
 */
static void write_picture(FILE *out, const char *class, const struct picture *picture,
			  double enlarge, const char *caption)
{
	fprintf(out, "<figure class=\"%s\">\n", class);
	if (picture->svg) {
		fprintf(out, "<div style=\"--width:%.0fpx;max-width:%.0fpx\">",
			picture->width, picture->width * enlarge);
		fputs(picture->svg, out);
		fputs("</div>\n", out);
		html_element(out, "figcaption", caption);
	} else {
		html_element(out, "figcaption class=\"note\"", picture->why);
	}
	fputs("\n</figure>\n", out);
}

static void write_geometry(FILE *out, const struct page *page)
{
	fputs("<section id=\"geometry\">\n<h2>Sets and ways</h2>\n", out);
	write_picture(out, "sweeps", &page->sweeps, 1,
		      "Lines that all fall into one set, found by timing alone, loaded in turn. Up "
		      "to as many as there are ways (green) none of them misses; of more, each "
		      "evicts another. Every curve is another set. How far they stay below the "
		      "dashed line is how far replacement is from strict LRU.");
	write_picture(out, "capacity", &page->capacity, 1.2,
		      "A load over lines that share one set of the level above: they stand for all "
		      "lines, in a thousandth of the memory. It costs the latency of a hit while "
		      "they fit, more as sets begin to overflow, and is flat where all miss. Where "
		      "others use the level too, the edge is at the part that this CPU had.");
	write_picture(out, "classes", &page->classes, 1,
		      "One way of each level, and the pages that fill it: two pages of the same "
		      "class (colour) compete for the same sets, pages of different classes "
		      "never do.");
	fputs("</section>\n", out);
}

static void write_sharing_row(FILE *out, const struct sharing_row *row)
{
	fputs("<tr>", out);
	html_element(out, "th scope=\"row\"", row->level);
	html_element(out, "td", row->measured);
	html_element(out, "td class=\"number\"", row->confidence);
	html_element(out, "td class=\"number\"", row->samples);
	html_element(out, "td class=\"number\"", row->discarded);
	fputs("<td>", out);
	html_text(out, row->claimed);
	fputs("</td><td>", out);
	if (*row->claimed)
		html_element(out, class_verdict(row->agrees < 0 ? VERDICT_OPEN : row->agrees ?
						 VERDICT_AGREES : VERDICT_DISAGREES),
			      name_agreement(row));
	fputs("</td></tr>\n", out);
}

static int write_sharing_table(FILE *out, const struct machine *m)
{
	char text[3 * SHARING_LEN];
	struct sharing_row *rows;
	int n = describe_sharing(m, &rows);

	for (int i = 0; i < n; i++)
		if (describe_sharing_disagreement(&rows[i], text, sizeof(text)))
			html_element(out, "p class=\"headline\"", text);
	if (n < 0)
		return n;
	fputs("<div class=\"wide\"><table>\n<thead><tr><th>Level</th><th>Shared by</th>"
	      "<th class=\"number\">Confidence</th><th class=\"number\">Samples</th>"
	      "<th class=\"number\">Discarded</th><th>Claimed by hwloc</th><th></th></tr></thead>"
	      "\n<tbody>\n", out);
	for (int i = 0; i < n; i++)
		write_sharing_row(out, &rows[i]);
	free(rows);
	fputs("</tbody>\n</table></div>\n", out);
	for (size_t i = 0; i < m->sharing->nnotes; i++)
		html_element(out, "p class=\"note\"", m->sharing->notes[i]);
	return 0;
}

static int write_sharing(FILE *out, const struct page *page)
{
	int err = 0;

	fputs("<section id=\"sharing\">\n<h2>Shared caches</h2>\n", out);
	if (page->machine->sharing)
		err = write_sharing_table(out, page->machine);
	write_picture(out, "sharing", &page->sharing, 1,
		      "The nearest cache that each two CPUs share: one loads lines, the other "
		      "reads them for the first time, timed against its own second read.");
	fputs("</section>\n", out);
	return err;
}

static void write_reference_rows(FILE *out, const struct sonde_memory_report *r)
{
	char gbs[TEXT_LEN], node[32];

	for (size_t i = 0; i < r->nreferences; i++) {
		const struct sonde_memory_reference *f = &r->references[i];

		snprintf(node, sizeof(node), "%d", f->node);
		fputs("<tr>", out);
		html_element(out, "th scope=\"row\"", sonde_stream_name(f->kind));
		html_element(out, "td", f->node < 0 ? "own" : node);
		html_element(out, "td", f->pages == SONDE_PAGES_HUGE ? "huge" : "base");
		html_element(out, "td class=\"number\"", describe_gbs(gbs, f->rate.bytes_s));
		fputs("</tr>\n", out);
	}
}

static int write_class_rows(FILE *out, const struct sonde_memory_report *r)
{
	char ratio[CELL_LEN], *pairs;

	for (size_t c = 0; c < r->nclasses; c++) {
		pairs = describe_class_pairs(r, c);
		if (!pairs)
			return -ENOMEM;
		describe_class_ratio(&r->classes[c], ratio, sizeof(ratio));
		fprintf(out, "<tr><th scope=\"row\">%zu</th>", c);
		html_element(out, "td", ratio);
		html_element(out, "td", describe_class_kind(&r->classes[c]));
		html_element(out, "td", pairs);
		fputs("</tr>\n", out);
		free(pairs);
	}
	return 0;
}

static int write_memory(FILE *out, const struct page *page)
{
	const struct sonde_memory_report *r = page->machine->memory;
	int err;

	if (!r)
		return 0;
	fputs("<section id=\"bandwidth\">\n<h2>Memory</h2>\n<div class=\"wide\"><table>\n"
	      "<thead><tr><th>One CPU</th><th>Node</th><th>Pages</th>"
	      "<th class=\"number\">GB/s</th></tr></thead>\n<tbody>\n", out);
	write_reference_rows(out, r);
	fputs("</tbody>\n</table></div>\n<div class=\"wide\"><table>\n<thead><tr><th>Class</th>"
	      "<th>Each of two gets</th><th></th><th>CPUs</th></tr></thead>\n<tbody>\n", out);
	err = write_class_rows(out, r);
	fputs("</tbody>\n</table></div>\n", out);
	for (size_t i = 0; i < r->nnotes; i++)
		html_element(out, "p class=\"note\"", r->notes[i]);
	if (r->ncpus > 1)
		write_picture(out, "memory", &page->scaling, 1.2,
			      "What cores copy together, of a group of each class whose CPUs "
			      "disturb each other and of all. Only what was proven to run at the "
			      "same time counts.");
	write_picture(out, "memory", &page->load, 1.2,
		      "What a load of one CPU takes while the others read as much.");
	fputs("</section>\n", out);
	return err;
}

static void write_paragraph(void *out, const char *line)
{
	html_element(out, "p", line);
	fputc('\n', out);
}

static void write_transfers(FILE *out, const struct page *page)
{
	fputs("<section id=\"transfers\">\n<h2>Copies between processes</h2>\n", out);
	bench_describe(page->machine->transfers, page->machine->profile, write_paragraph, out);
	write_picture(out, "transfers", &page->transfers, 1.2,
		      "One process copies from the memory of another: medians with their 95 % "
		      "intervals. memcpy reads memory that both have mapped, which is the least "
		      "that a copy can cost; twice goes through shared memory by two copies.");
	fputs("</section>\n", out);
}

static void write_backends(FILE *out, const struct machine *m)
{
	struct backend backends[NBACKENDS];

	describe_backends(m, backends);
	fputs("<div class=\"wide\"><table>\n<thead><tr><th>Part</th><th>Used</th>"
	      "<th>Why nothing better, and what is lost</th></tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < NBACKENDS; i++) {
		fputs("<tr>", out);
		html_element(out, "th scope=\"row\"", backends[i].seam);
		fputs("<td>", out);
		html_text(out, backends[i].using);
		fputs("<br/>", out);
		html_element(out, "span class=\"soft\"", backends[i].purpose);
		fputs("</td>", out);
		html_element(out, "td", backends[i].why ? backends[i].why : "none is better");
		fputs("</tr>\n", out);
	}
	fputs("</tbody>\n</table></div>\n", out);
}

static void write_method(FILE *out, const struct machine *m)
{
	struct fact facts[MAX_FACTS];
	size_t n = describe_clock(sonde_clock_info(m->clk), facts);

	fputs("<section id=\"method\">\n<h2>How it was measured</h2>\n", out);
	write_backends(out, m);
	fputs("<h2>Clock</h2>\n<dl>\n", out);
	for (size_t i = 0; i < n; i++) {
		html_element(out, "dt", facts[i].name);
		html_element(out, "dd", facts[i].value);
		fputc('\n', out);
	}
	fputs("</dl>\n</section>\n", out);
}

static void write_points(FILE *out, const struct sonde_cache_report *caches)
{
	char size[TEXT_LEN];

	fputs("<details>\n<summary>The curve in numbers</summary>\n<div class=\"wide\"><table>\n"
	      "<thead><tr><th class=\"number\">Working set</th><th class=\"number\">ns</th>"
	      "<th class=\"number\">Cycles</th><th class=\"number\">95 % interval</th>"
	      "<th class=\"number\">Windows</th><th class=\"number\">Discarded</th>"
	      "</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < caches->npoints; i++) {
		const struct sonde_cache_point *p = &caches->points[i];

		fprintf(out, "<tr><td class=\"number\">%s</td><td class=\"number\">%.3f</td>"
			"<td class=\"number\">%.2f</td><td class=\"number\">%.2f to %.2f</td>"
			"<td class=\"number\">%u</td><td class=\"number\">%.1f %%</td></tr>\n",
			text_size(size, p->bytes), p->latency.ns, p->latency.cycles,
			p->latency.cycles_ci.low, p->latency.cycles_ci.high, p->windows,
			100 * p->discarded);
	}
	fputs("</tbody>\n</table></div>\n</details>\n", out);
}

/* What could end the element, or XML, can be written otherwise in JSON. */
static int write_profile(FILE *out, const struct sonde_profile *profile)
{
	char *text = NULL;
	size_t len;
	FILE *memory = open_memstream(&text, &len);
	int err;

	if (!memory)
		return -ENOMEM;
	err = sonde_profile_dump(profile, memory);
	if (fclose(memory) || err) {
		free(text);
		return -ENOMEM;
	}
	fputs("<script type=\"application/json\" id=\"profile\">\n", out);
	for (const char *c = text; *c; c++) {
		if (*c == '<' || *c == '>' || *c == '&')
			fprintf(out, "\\u%04x", (unsigned int)*c);
		else
			fputc(*c, out);
	}
	fputs("</script>\n", out);
	free(text);
	return 0;
}

static void end_communication(FILE *out, const struct page *page)
{
	write_picture(out, "latency", &page->latency, 1.2,
		      "What it takes one CPU to tell another, darker where they are nearer: by a line "
		      "of cache, by a flag, by messages of the size that each square says.");
	write_picture(out, "messages", &page->messages, 1.2,
		      "Half a round trip of messages by size, over each layer that was found.");
	fputs("</section>\n", out);
}

int page_write(FILE *out, const struct page *page)
{
	const struct machine *m = page->machine;
	int err;

	write_head(out, page);
	err = write_caches(out, page);
	if (err)
		return err;
	fputs("<section id=\"curve\">\n<h2>Latency by working set</h2>\n", out);
	write_picture(out, "curve", &page->curve, 1.2,
		      "One load that waits for the one before, over a random cycle through the "
		      "lines of a working set. Solid: measured; dashed with a diamond: claimed by "
		      "firmware and kernel, not measured.");
	write_points(out, m->caches);
	fputs("</section>\n", out);
	write_geometry(out, page);
	err = write_sharing(out, page);
	if (!err)
		err = write_memory(out, page);
	if (err)
		return err;
	err = page_write_communication(out, m->profile);
	if (err < 0)
		return err;
	if (err)
		end_communication(out, page);
	write_transfers(out, page);
	fputs("<section id=\"topology\">\n<h2>Topology as claimed</h2>\n", out);
	write_picture(out, "topology", &page->topology, 2,
		      "By lstopo of hwloc: what firmware and kernel say. sonde measured none of it.");
	fputs("</section>\n", out);
	write_method(out, m);
	fputs("</main>\n<footer>The profile that programs read is inside this file too, as JSON "
	      "in the element with the id <code>profile</code>; sonde-profile(5) describes it. "
	      "No host name, address or user is in it.</footer>\n", out);
	err = write_profile(out, m->profile);
	fputs("</body>\n</html>\n", out);
	return err;
}
