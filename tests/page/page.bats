#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The report's page in Chromium, as people see it. What a rule cannot say is for eyes:
# with PAGE_KEEP=FOLDER screenshots and the printed page are left there.
# shellcheck disable=SC2154,SC2164 # bats' variables; it ends a test at what fails
load ../cli/helper

# browse OPTION... FILE: without a network, since the browser would use it on its own
browse() {
	rm -rf browser
	timeout -k 5 120 unshare -rn chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
		--no-first-run --user-data-dir="$PWD/browser" --enable-logging=stderr \
		--log-net-log="$PWD/net.json" "${@:1:$#-1}" "file://$(realpath "${!#}")" 2>log.txt
}

setup_file() {
	load ../cli/helper
	cd "$BATS_FILE_TMPDIR"
	"$SONDE" report --budget 1 -o made >/dev/null
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	PAGE=$BATS_FILE_TMPDIR/made/report.html
}

# What the page asked for, by itself: the browser's own requests have no origin.
requests() {
	perl -MJSON::PP -0ne 'my %seen;
		for (@{JSON::PP->new->decode($_)->{events}}) {
			my $p = $_->{params} // next;
			my $who = $p->{initiator} // next;
			print "$p->{url}\n" if $who ne "not an origin" && !$seen{$p->{url} // ""}++;
		}' net.json
}

# measure WIDTH PAGE: one line each of what is wrong, by the page's own layout. Scripts may
# not run in the page: a copy that allows them is looked at, in a frame, since a window is
# never narrower than 500 px.
measure() {
	cat >script.html <<-'END'
		<script>
		addEventListener("load", () => {
			const wrong = [], root = document.documentElement;
			if (root.scrollWidth > innerWidth)
				wrong.push(`the page is ${root.scrollWidth} px wide, not ${innerWidth}`);
			document.querySelectorAll("details").forEach(d => { d.open = true; });
			const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
			while (walk.nextNode()) {
				const e = walk.currentNode.parentElement;
				const text = walk.currentNode.textContent.trim();
				if (!text || e.closest("script") || !e.getClientRects().length)
					continue;
				let px = parseFloat(getComputedStyle(e).fontSize);
				const svg = e.closest("svg");
				if (svg)
					px *= svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
				if (px < 13.95)
					wrong.push(`${px.toFixed(1)} px: ${text.slice(0, 40)}`);
			}
			document.querySelectorAll("figure svg").forEach(s => {
				if (!s.getAttribute("aria-label"))
					wrong.push("a picture without a label");
			});
			parent.postMessage(wrong.join("\n"), "*");
		});
		</script>
	END
	sed -e '/Content-Security-Policy/d' -e '/^<\/body>/e cat script.html' "$2" >copy.html
	cat >frame.html <<-END
		<body><script>
		addEventListener("message", e => {
			const pre = document.createElement("pre");
			pre.id = "wrong";
			pre.textContent = e.data;
			document.body.append(pre);
		});
		</script>
		<iframe src="copy.html" style="width:$1px;height:2000px;border:0"></iframe></body>
	END
	browse --window-size=1400,2000 --virtual-time-budget=5000 --dump-dom frame.html >dom.html
	perl -0ne 'm{<pre id="wrong">(.*?)</pre>}s or die "the page was not measured\n"; print $1' dom.html
}

@test "nothing is said on the console and nothing asked for" {
	browse --dump-dom "$PAGE" >dom.html
	grep -q '<section id="caches">' dom.html
	run ! grep CONSOLE log.txt
	[ -z "$(requests)" ]
}

@test "a page that says or asks for something would be found out" {
	printf '<body><img src="http://127.0.0.1:9/x.png"/><script>console.error("oops")</script></body>' >bad.html
	browse --dump-dom bad.html >dom.html
	grep -q 'CONSOLE.*oops' log.txt
	[ "$(requests)" = http://127.0.0.1:9/x.png ]
}

@test "what would be loaded into the page is refused by it" {
	sed '/^<\/body>/i <img src="http://127.0.0.1:9/x.png"/><script>console.error("oops")</script>' \
		"$PAGE" >bad.html
	browse --dump-dom bad.html >dom.html
	grep -q 'CONSOLE.*Content Security Policy' log.txt
	run ! grep 'CONSOLE.*"oops"' log.txt
	[ -z "$(requests)" ]
}

@test "on a phone the page is no wider than it, and words can be read" {
	wrong=$(measure 360 "$PAGE")
	[ -z "$wrong" ] || { printf '%s\n' "$wrong" >&2; false; }
}

@test "at a desk likewise" {
	wrong=$(measure 1200 "$PAGE")
	[ -z "$wrong" ] || { printf '%s\n' "$wrong" >&2; false; }
}

@test "a page that is too wide or too small would be found out" {
	sed 's|<main>|<main><p style="width:500px;font-size:9px">small</p>|' "$PAGE" >bad.html
	wrong=$(measure 360 bad.html)
	has "$wrong" "px wide, not 360"
	has "$wrong" "9.0 px: small"
}

@test "in print each heading and picture is there, and no picture is cut" {
	browse --no-pdf-header-footer --print-to-pdf=page.pdf "$PAGE"
	pdftotext -layout page.pdf page.txt
	sed -n 's/<section[^>]*>//; s/^<h2>\(.*\)<.h2>.*/\1/p' "$PAGE" >headings
	[ "$(wc -l <headings)" -ge 6 ]
	while read -r heading; do
		grep -qF "$heading" page.txt || { echo "not in print: $heading" >&2; false; }
	done <headings
	# A picture and what is said of it stand on one page: form feeds are between pages.
	perl -0ne 'for my $words (["working set", "One load that waits"],
				  ["bytes of a copy", "One process copies"]) {
			my @pages = split /\f/;
			grep { index($_, $words->[0]) >= 0 && index($_, $words->[1]) >= 0 } @pages or
				die "apart: @$words\n" }' page.txt
}

@test "screenshots for eyes" {
	for width in 360 1200; do
		browse --window-size="$width",9000 --screenshot="$PWD/$width.png" "$PAGE"
		[ "$(head -c 4 "$width.png" | tail -c 3)" = PNG ]
	done
	if [ -n "${PAGE_KEEP-}" ]; then
		browse --no-pdf-header-footer --print-to-pdf=page.pdf "$PAGE"
		mkdir -p "$PAGE_KEEP"
		cp 360.png 1200.png page.pdf "$PAGE" "$PAGE_KEEP/"
	fi
}
