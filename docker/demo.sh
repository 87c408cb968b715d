#!/bin/sh
# The demo against Neo4j in docker, in one command: build, start, ask, paint, and open Neo4j Browser.
#   sh docker/demo.sh [OPTIONS of docker compose run, none as a rule]
set -eu
cd "$(dirname "$0")"

if [ ! -e .env ]; then
    echo "Writing docker/.env with a password of its own." >&2
    password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    (umask 077 && sed "s/^NEO4J_PASSWORD=.*/NEO4J_PASSWORD=$password/" .env.example > .env)
fi

docker compose up --build --detach --wait neo4j browser-files
docker compose run --rm "$@" demo

host=${NEO4J_HOST:-$(sed -n 's/^NEO4J_HOST=//p' .env)}
page="http://${host:-localhost}:7474/browser/"
echo "Neo4j Browser: $page, user neo4j, password in docker/.env. Colours and guide come once it is connected."
for open in xdg-open open; do
    if command -v "$open" > /dev/null 2>&1 && "$open" "$page" > /dev/null 2>&1; then
        break
    fi
done
