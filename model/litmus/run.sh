#!/bin/sh
# Litmus tests: asks herd7 whether the memory models of C11 (RC11: O. Lahav and others, 2017) and of aarch64 allow the
# outcome at the end of each file. The second line of a file says which answer is right, and what the test stands for. The
# fences are real ones: membarrier lies outside of these models.
set -eu
cd "$(dirname "$0")"
HERD=${HERD:-herd7}
if ! command -v "$HERD" >/dev/null; then
    echo "litmus: no herd7 here, skipped (https://github.com/herd/herdtools7; it is not in Debian 12)"
    exit 77
fi
failed=0
for file in *.litmus; do
    expected=$(sed -n '2s/^"\([A-Z][a-z]*\)\..*/\1/p' "$file")
    case $(head -n 1 "$file") in
        C*) model='-model rc11.cat' ;;
        *) model= ;;
    esac
    # shellcheck disable=SC2086
    seen=$("$HERD" ${HERD_ARGS:-} $model "$file" | sed -n 's/^Observation [^ ]* \([A-Z][a-z]*\) .*/\1/p')
    if [ "$seen" = "$expected" ]; then
        echo "$file: $seen"
    else
        echo "$file: $seen, and not $expected"
        failed=1
    fi
done
exit $failed
