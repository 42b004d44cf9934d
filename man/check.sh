#!/bin/sh
# The manual pages: mandoc and groff, where they are here, find nothing to say; no line is wider than 80 columns.
cd "$(dirname "$0")" || exit 1
wrong=0
say() { echo "man: $1"; wrong=1; }

for tool in mandoc groff; do
    command -v $tool >/dev/null || echo "check: no $tool here, its look at the manual pages skipped"
done
for page in *.[37] ../programs/*.1; do
    [ -e "$page" ] || continue
    target=$(sed -n '1s/^\.so man3\///p' "$page")
    if [ -n "$target" ]; then
        [ -e "$target" ] || say "$page names $target, which is not here"
        continue
    fi
    [ "$(sed -n 3p "$page")" = ".Os libsched" ] || say "$page: line 3 is not .Os libsched"
    if command -v mandoc >/dev/null; then
        # The pages may not be installed here, and are of no operating system.
        said=$(mandoc -Tlint "$page" 2>&1 |
               grep -v -e 'referenced manual not found' -e 'mandoc\.db' -e 'operating system explicitly')
        [ -z "$said" ] || say "$said"
    fi
    if command -v groff >/dev/null; then
        said=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
        [ -z "$said" ] || say "$page: $said"
        width=$(groff -man -Tutf8 -P-cbou "$page" 2>/dev/null | LC_ALL=C.UTF-8 wc -L)
        [ "$width" -le 80 ] || say "$page: a line of $width columns"
    fi
done
exit $wrong
