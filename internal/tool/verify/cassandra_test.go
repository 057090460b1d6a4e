//go:build cluster

package verify_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog/cassandratest"
	"github.com/rialto-im/rialto/internal/tool/verify"
)

// TestOnCassandra: a correct store passes, and each corruption is found.
func TestOnCassandra(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cluster, err := cassandratest.Start(ctx, cassandratest.Config{Say: os.Stdout})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	address := sqltest.Schema(t, sqltest.Postgres(t))
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	records(t, "BYTEA", func(statement string, args ...any) {
		if _, err := c.Exec(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	})
	run := func(store int) (code int, out string) {
		var b bytes.Buffer
		code = verify.Main([]string{"--postgres", address, "--cassandra", strings.Join(cluster.Hosts, ","), "--cassandra-port", strconv.Itoa(cluster.Port),
			"--cassandra-keyspace", "checked", "--cassandra-store", strconv.Itoa(store)}, &b, &b)
		return code, b.String()
	}
	if code, out := run(1); code != 2 || !strings.Contains(out, "has a server run there?") {
		t.Errorf("empty cluster: got exit code %d, %s, want 2 and a hint", code, out)
	}
	for store, damage := range []struct{ statement, rule string }{
		{``, ""},
		{`DELETE FROM segments WHERE store = %d AND kind = 99 AND id = 77 AND segment = 0 AND part = 0 AND seq = 3 AND tok = 0x`, "sequence"},
		{`DELETE FROM segments WHERE store = %d AND kind = 99 AND id = 77 AND segment = 0 AND part = 1`, "duplicate"},
		{`UPDATE segments SET prev = 1 WHERE store = %d AND kind = 99 AND id = 77 AND segment = 0 AND part = 2 AND seq = 1 AND tok = 0x`, "author"},
		{`DELETE FROM records WHERE store = %d AND part = 24 AND bucket = 0`, "delivery"},
		{`UPDATE partitions SET record = 4100 WHERE store = %d AND part = 24`, "delivery, conversation 77: entries 8 to 8 were never fanned out"},
	} {
		store++
		log, err := cassandralog.Open(ctx, cassandralog.Options{Hosts: cluster.Hosts, Port: cluster.Port, Keyspace: "checked", Replicas: 1, Store: int32(store)})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, log)
		if damage.statement != "" {
			config := gocql.NewCluster(cluster.Hosts...)
			config.Port, config.Keyspace, config.Timeout = cluster.Port, "checked", time.Minute
			s, err := config.CreateSession()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Query(fmt.Sprintf(damage.statement, store)).ExecContext(ctx); err != nil {
				t.Fatal(err)
			}
			s.Close()
		}
		code, out := run(store)
		if damage.rule == "" && (code != 0 || !strings.Contains(out, "1 conversations with 8 entries") || !strings.Contains(out, "3 streams with 17 entries, 1 entries not fanned out")) ||
			damage.rule != "" && (code != 1 || !strings.Contains(out, "VIOLATED "+damage.rule)) {
			t.Errorf("after %s: got exit code %d, %s", damage.statement, code, out)
		}
	}
}
