#!/usr/bin/env bash
# Build the image of the services with what is there (docker with a running engine, podman or buildah).
#   deploy/docker/build.sh [TAG] [option of the build ...]      BUILDER=podman deploy/docker/build.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tag=${1:-switchboard}
shift || true

builder() {
    if command -v docker >/dev/null && docker info >/dev/null 2>&1; then echo docker
    elif command -v podman >/dev/null; then echo podman
    elif command -v buildah >/dev/null; then echo buildah
    else
        echo "deploy/docker/build.sh: needs docker with a running engine, podman or buildah, and found none" >&2
        exit 69
    fi
}
builder=${BUILDER:-$(builder)}

# What is committed is what the label names; a folder without git has no commit.
commit=$(git rev-parse HEAD 2>/dev/null || true)
if [[ -n $commit && -n $(git status --porcelain --untracked-files=no) ]]; then commit+=-dirty; fi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)

options=(--file deploy/docker/Dockerfile --tag "$tag" --build-arg "VERSION=$version" --build-arg "COMMIT=$commit")
# OCI's own format has no HEALTHCHECK.
if [[ $builder != docker ]]; then options+=(--format docker); fi
exec "$builder" build "${options[@]}" "$@" .
