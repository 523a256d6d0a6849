#!/usr/bin/env bash
# Rewrites the lock files from pyproject.toml. Versions move only as far as it allows; pass --upgrade to move them.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v uv >/dev/null || { echo "uv is needed to write lock files: pip install uv" >&2; exit 1; }

compile() {
  local target=$1
  shift
  uv pip compile pyproject.toml --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
    --no-annotate --quiet --output-file "requirements/$target.lock" "$@"
  echo "requirements/$target.lock: $(grep -c '==' "requirements/$target.lock") packages"
}

compile base "$@"
compile java --extra java "$@"
compile dev --group dev "$@"
