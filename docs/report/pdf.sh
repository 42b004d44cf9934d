#!/bin/sh
# Makes docs/report.pdf of docs/REPORT.md, if pandoc and WeasyPrint are here; ends with 77 otherwise. WeasyPrint, because
# it is in the distributions, keeps the SVG figures as vectors, and hyphenates English and French.
set -eu
cd "$(dirname "$0")/.."
for tool in pandoc weasyprint; do
    if ! command -v "$tool" >/dev/null; then
        echo "report: no $tool here, docs/report.pdf skipped (Debian: apt-get install pandoc weasyprint)"
        exit 77
    fi
done
page=$(mktemp ./report-page-XXXXXX.html)
trap 'rm -f "$page"' EXIT
pandoc REPORT.md --from gfm+smart --to html5 --standalone --no-highlight --css report/style.css \
    --metadata lang=en --metadata pagetitle='libsched: schedulers compared' \
    --template report/page.html --output "$page"
weasyprint --quiet "$page" report.pdf
echo "written: docs/report.pdf"
