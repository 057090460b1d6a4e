package plan

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
)

// BenchmarkPostgres measures the CPU time of a message and of an inbox entry in all processes of PostgreSQL, and the bytes of tables,
// indexes and TOAST. Messages have 200 bytes, from 40,000 users in one-to-one conversations; inboxes get batches of 256 entries, as from
// fan-out. Run it with a fixed number of messages: -benchtime 300000x.
func BenchmarkPostgres(b *testing.B) {
	ctx := context.Background()
	url := sqltest.Schema(b, sqltest.Private(b, "fsync=on", "shared_buffers=512MB", "max_wal_size=4GB").URL)
	db, err := sqldb.Open(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	log, err := pglog.Open(ctx, url, pglog.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	for p := range uint16(timeline.Partitions) {
		if err := log.Acquire(ctx, p, 1); err != nil {
			b.Fatal(err)
		}
	}
	server := postmaster(b, db)
	stages := []struct {
		name   string
		do     func()
		tables []string
	}{
		{"message", func() { appendMany(b, log, b.N) }, []string{"log_entries", "log_tokens", "log_authors", "log_tails"}},
		{"entry", func() { postMany(b, log, 2*b.N) }, []string{"log_posts", "log_inboxes"}},
	}
	for i, s := range stages {
		n := float64(b.N * (i + 1))
		cpu, own, began := processCPU(b, server, 4)+childrenCPU(b, server), processCPU(b, os.Getpid(), 2), time.Now()
		s.do()
		b.ReportMetric((processCPU(b, server, 4)+childrenCPU(b, server)-cpu)/n*1e6, "CPU-s/million-"+s.name)
		b.ReportMetric((processCPU(b, os.Getpid(), 2)-own)/n*1e6, "client-CPU-s/million-"+s.name)
		b.ReportMetric(n/time.Since(began).Seconds(), s.name+"/s")
		b.ReportMetric(float64(size(b, db, s.tables))/n, "bytes/"+s.name)
	}
	b.ReportMetric(0, "ns/op")
}

func appendMany(b *testing.B, log timeline.Log, n int) {
	var next, left atomic.Int64
	left.Store(int64(n))
	var wait sync.WaitGroup
	payload := []byte(strings.Repeat("0123456789", 20))
	give := func(a *timeline.AppendRequest) {
		i := uint64(next.Add(1))
		conversation := i * 2654435761 % 20_000
		sender := 2*conversation + i%2 + 1
		*a = timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: conversation + 1}, Payload: payload, Counts: true, NeedsFanout: true, CheckAccess: true,
			Author: sender, Token: timeline.Token{Sender: sender, Device: 1, Counter: i}, Done: a.Done}
		log.Append(a)
	}
	wait.Add(n)
	for range 2048 {
		if left.Add(-1) < 0 {
			break
		}
		give(&timeline.AppendRequest{Done: func(a *timeline.AppendRequest) {
			if a.Err != nil {
				b.Error(a.Err)
			}
			if left.Add(-1) >= 0 {
				give(a)
			}
			wait.Done()
		}})
	}
	wait.Wait()
}

// postMany posts references to inboxes, with two concurrent writers like fan-out.
func postMany(b *testing.B, log timeline.Log, n int) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for {
				posts := make([]timeline.Post, 0, 256)
				for len(posts) < cap(posts) {
					i := next.Add(1)
					if i > int64(n) {
						break
					}
					user := uint64(i)*2654435761%40_000 + 1
					posts = append(posts, timeline.Post{Key: timeline.Key{Kind: timeline.Inbox, ID: user}, Payload: []byte{0, 0xcd, 0xcd, 0x01, 0xac, 0x02}})
				}
				if len(posts) == 0 {
					return
				}
				if err := log.Post(b.Context(), posts); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// size of tables with their indexes and TOAST.
func size(b *testing.B, db *sqldb.DB, tables []string) (bytes int64) {
	err := db.Write(b.Context(), func(tx *sql.Tx) error {
		for _, t := range tables {
			var n int64
			if err := tx.QueryRowContext(b.Context(), `SELECT pg_total_relation_size(CAST($1 AS TEXT)::regclass)`, t).Scan(&n); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
			bytes += n
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// postmaster returns the parent of a connection's process.
func postmaster(b *testing.B, db *sqldb.DB) int {
	pid := 0
	err := db.Write(b.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(b.Context(), `SELECT pg_backend_pid()`).Scan(&pid)
	})
	if err != nil {
		b.Fatal(err)
	}
	parent, err := strconv.Atoi(stat(b, pid)[1])
	if err != nil {
		b.Fatal(err)
	}
	return parent
}
