#!/usr/bin/env bash
# standby.sh HOST COMMAND...: copies the primary on HOST, unless a copy exists, and then runs the command as its standby.
set -euo pipefail
host=$1
shift
export PGPASSWORD=$POSTGRES_PASSWORD PGUSER=replicator PGHOST=$host
until [ -s "$PGDATA/PG_VERSION" ]; do
	# Remove the files of an interrupted copy.
	find "$PGDATA" -mindepth 1 -delete
	pg_basebackup --pgdata "$PGDATA" --wal-method stream --slot standby --write-recovery-conf || sleep 2
done
chmod 0700 "$PGDATA"
# The primary waits for the standby by this name.
grep -q application_name=standby "$PGDATA/postgresql.auto.conf" || sed -i "s/^primary_conninfo = '/&application_name=standby /" "$PGDATA/postgresql.auto.conf"
unset PGPASSWORD PGUSER PGHOST
exec "$@"
