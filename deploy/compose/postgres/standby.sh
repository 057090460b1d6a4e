#!/usr/bin/env bash
# standby.sh HOST COMMAND...: copies the primary on HOST, where that has not been done, and goes on as its standby.
set -euo pipefail
host=$1
shift
export PGPASSWORD=$POSTGRES_PASSWORD PGUSER=replicator PGHOST=$host
until [ -s "$PGDATA/PG_VERSION" ]; do
	# What a copy that broke off has left is no database.
	find "$PGDATA" -mindepth 1 -delete
	pg_basebackup --pgdata "$PGDATA" --wal-method stream --slot standby --write-recovery-conf || sleep 2
done
chmod 0700 "$PGDATA"
# The name under which the primary waits for it.
grep -q application_name=standby "$PGDATA/postgresql.auto.conf" || sed -i "s/^primary_conninfo = '/&application_name=standby /" "$PGDATA/postgresql.auto.conf"
unset PGPASSWORD PGUSER PGHOST
exec "$@"
