//go:build cluster

package plan

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog/cassandratest"
)

// BenchmarkCassandra measures the CPU time of a message and of an inbox entry on three Cassandra nodes and on the writing process.
// Messages have 200 incompressible bytes, from 256 senders who each wait for their previous message; inboxes get batches of 256 entries,
// each in a different inbox. It takes two minutes whatever -benchtime says.
func BenchmarkCassandra(b *testing.B) {
	ctx := context.Background()
	cluster, err := cassandratest.Start(ctx, cassandratest.Config{Nodes: 3, Say: os.Stdout})
	if err != nil {
		b.Fatal(err)
	}
	defer cluster.Stop()
	var records atomic.Int64
	log, err := cassandralog.Open(ctx, cassandralog.Options{Hosts: cluster.Hosts, Port: cluster.Port, Keyspace: "plan", Store: 1, Timeout: time.Minute,
		Listener: func(c []timeline.Commit) { records.Add(int64(len(c))) }})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	for p := range uint16(timeline.Partitions) {
		if err := log.Acquire(ctx, p, 1); err != nil {
			b.Fatal(err)
		}
	}
	var counter atomic.Uint64
	message := func(i int) error {
		n := counter.Add(1)
		payload := make([]byte, 200)
		base64.RawStdEncoding.Encode(payload, random(150))
		a := &timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(i/2) + 1}, Payload: payload, Counts: true, NeedsFanout: true,
			Author: uint64(i) + 1, Token: timeline.Token{Sender: uint64(i) + 1, Device: 1, Counter: n}}
		done := make(chan struct{})
		a.Done = func(*timeline.AppendRequest) { close(done) }
		log.Append(a)
		<-done
		return a.Err
	}
	entries := func(int) error {
		posts := make([]timeline.Post, 256)
		for i := range posts {
			user := counter.Add(1)%20_000 + 1
			posts[i] = timeline.Post{Key: timeline.Key{Kind: timeline.Inbox, ID: user}, Payload: []byte{0, 0xcd, 0xcd, 0x01, 0xac, 0x02}}
		}
		return log.Post(ctx, posts)
	}
	many(b, 256, 30*time.Second, message) // warm up the JVMs
	many(b, 2, 15*time.Second, entries)
	for _, s := range []struct {
		name      string
		do        func(int) error
		at, batch int
	}{{"message", message, 256, 1}, {"entry", entries, 2, 256}} {
		records.Store(0)
		cpu, own := childrenCPU(b, os.Getpid()), processCPU(b, os.Getpid(), 2)
		n := float64(many(b, s.at, 20*time.Second, s.do) * int64(s.batch))
		b.ReportMetric((childrenCPU(b, os.Getpid())-cpu)/n*1e6, "CPU-s/million-"+s.name)
		b.ReportMetric((processCPU(b, os.Getpid(), 2)-own)/n*1e6, "client-CPU-s/million-"+s.name)
		b.ReportMetric(n/20, s.name+"/s")
		if s.batch == 1 {
			b.ReportMetric(n/float64(records.Load()), "messages/record")
		}
	}
	b.ReportMetric(0, "ns/op")
}

func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// many runs do concurrently for some time, and counts the calls.
func many(b *testing.B, at int, span time.Duration, do func(i int) error) int64 {
	var done atomic.Int64
	var wait sync.WaitGroup
	for end, i := time.Now().Add(span), 0; i < at; i++ {
		wait.Go(func() {
			for time.Now().Before(end) {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wait.Wait()
	return done.Load()
}
