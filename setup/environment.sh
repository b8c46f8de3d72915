#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes .venv from requirements.lock (exact versions, checked hashes) with lockscale in it.
# pip fetches uv alone, by the hashes of the lock; uv fetches the rest in seconds. Neither builds what it
# fetches: the tools of a build would come without a hash.
set -eu
cd "$(dirname "$0")/.."
# what venv, pip and uv unpack is here and not in /tmp, where a kill would leave it
TMPDIR=$PWD/.cache/setup
export TMPDIR
rm -rf "$TMPDIR" && mkdir -p "$TMPDIR"
# a set-up that was killed may have left a .venv without pip
if ! .venv/bin/python -m pip --version > /dev/null 2>&1 && ! .venv/bin/uv --version > /dev/null 2>&1; then
    python3 -m venv --clear .venv
fi
uv_lock=$TMPDIR/uv.lock
awk '/^uv==/ {on = 1; print; next} /^[^ ]/ {on = 0} on && !/# via/ {print}' requirements.lock > "$uv_lock"
if ! .venv/bin/uv --version 2> /dev/null | grep -q "^uv $(sed -n 's/^uv==\([0-9.]*\).*/\1/p' "$uv_lock")\b"; then
    echo "setup: fetching uv" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
        -r "$uv_lock"
fi
echo "setup: installing the locked Python packages into .venv" >&2
.venv/bin/uv pip sync --quiet --compile-bytecode --python .venv/bin/python --require-hashes --no-build \
    requirements.lock
.venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
rm -rf "$TMPDIR"
touch .venv/ready
