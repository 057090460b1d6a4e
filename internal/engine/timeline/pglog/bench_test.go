package pglog

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// BenchmarkAppend compares the log with a bare loop that writes the same rows in the same batches over as many connections: conversations
// of two, messages of 200 bytes. Give a number of messages: -benchtime 200000x.
func BenchmarkAppend(b *testing.B) {
	for _, setting := range []string{"fsync=on", "fsync=off"} {
		b.Run(setting, func(b *testing.B) {
			server := sqltest.Private(b, setting, "shared_buffers=512MB", "max_wal_size=4GB")
			for _, waiting := range []int{256, 2048} {
				b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) { compare(b, server.URL, waiting) })
			}
		})
	}
}

const rounds = 4

func compare(b *testing.B, server string, waiting int) {
	var acked, bare time.Duration
	messages, batches := 0, 0
	ours, theirs := newLoad(b, sqltest.Schema(b, server)), newLoad(b, sqltest.Schema(b, server))
	for range rounds {
		sizes, took := ours.log(b, max(b.N/rounds, 4*waiting), waiting)
		acked += took
		for _, n := range slices.Concat(sizes[:]...) {
			messages += n
		}
		batches += len(slices.Concat(sizes[:]...))
		bare += theirs.bare(b, sizes)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(messages)/float64(batches), "messages/batch")
	b.ReportMetric(float64(messages)/acked.Seconds(), "acked/s")
	b.ReportMetric(float64(messages)/bare.Seconds(), "bare/s")
	b.ReportMetric(bare.Seconds()/acked.Seconds(), "ratio")
}

// BenchmarkNodes compares several nodes that append to the same conversations with a single node, for the same number of messages.
func BenchmarkNodes(b *testing.B) {
	server := sqltest.Private(b, "fsync=on", "shared_buffers=512MB", "max_wal_size=4GB")
	const waiting = 2048
	var took [5]time.Duration
	n := max(b.N/rounds, 4*waiting)
	for range rounds {
		for _, nodes := range []int{1, 2, 4} {
			l := newLoad(b, sqltest.Schema(b, server.URL))
			var wait sync.WaitGroup
			began := time.Now()
			for range nodes {
				wait.Go(func() { l.log(b, n/nodes, waiting/nodes) })
			}
			wait.Wait()
			took[nodes] += time.Since(began)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n*rounds)/took[1].Seconds(), "one/s")
	b.ReportMetric(float64(n*rounds)/took[2].Seconds(), "two/s")
	b.ReportMetric(float64(n*rounds)/took[4].Seconds(), "four/s")
}

// load has the tables of one variant, and its position in the messages.
type load struct {
	url     string
	payload []byte
	counter atomic.Uint64
	tails   [committers]map[uint64]uint64 // of the bare loop
	records [committers]map[uint16]uint64
}

func newLoad(b *testing.B, url string) *load {
	l := &load{url: url, payload: make([]byte, 200)}
	made, err := Open(b.Context(), url, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := made.Close(); err != nil {
		b.Fatal(err)
	}
	for i := range l.tails {
		l.tails[i], l.records[i] = map[uint64]uint64{}, map[uint16]uint64{}
	}
	return l
}

// next returns the next message: one of 40,000 senders to one of 20,000 conversations.
func (l *load) next(a *timeline.AppendRequest) {
	n := l.counter.Add(1)
	c := (n * 2654435761) % 20_000
	sender := 2*c + n%2 + 1
	*a = timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: c + 1}, Payload: l.payload, Counts: true, NeedsFanout: true, CheckAccess: true,
		Author: sender, Token: timeline.Token{Sender: sender, Device: 1, Counter: n}, Done: a.Done}
}

// log appends n messages with a number of concurrent senders, and returns the sizes of each committer's batches.
func (l *load) log(b *testing.B, n, waiting int) (sizes [committers][]int, took time.Duration) {
	log, err := Open(b.Context(), l.url, Options{Listener: func(commits []timeline.Commit) {
		size := 0
		for _, c := range commits {
			size += len(c.Entries)
		}
		at := commits[0].Partition % committers
		sizes[at] = append(sizes[at], size)
	}})
	if err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	left.Store(int64(n))
	var wait sync.WaitGroup
	wait.Add(n)
	began := time.Now()
	for range waiting {
		a := &timeline.AppendRequest{}
		a.Done = func(a *timeline.AppendRequest) {
			if a.Err != nil {
				b.Error(a.Err)
			}
			wait.Done()
			if left.Add(-1) >= 0 {
				l.next(a)
				log.Append(a)
			}
		}
		left.Add(-1)
		l.next(a)
		log.Append(a)
	}
	wait.Wait()
	took = time.Since(began)
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	return sizes, took
}

// The bare loop's statements.
var bareStatements = []string{
	`INSERT INTO log_entries (id, seq, counted, payload) SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $2::BIGINT[], $3::BYTEA[])`,
	`INSERT INTO log_tokens (sender, device, counter, id, seq, shard) SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::SMALLINT[])`,
	`INSERT INTO log_authors (id, author, seq, counted) SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $3::BIGINT[]) ON CONFLICT (id, author) DO UPDATE SET seq = excluded.seq, counted = excluded.counted`,
	`INSERT INTO log_tails (id, seq, counted, access, shard) SELECT id, seq, seq, 0, shard FROM unnest($1::BIGINT[], $2::BIGINT[], $3::SMALLINT[]) u(id, seq, shard) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, counted = excluded.counted, access = excluded.access`,
	`INSERT INTO log_records (partition, seq, ids, firsts, lasts) VALUES ($1::SMALLINT, $2::BIGINT, $3::BIGINT[], $4::BIGINT[], $5::BIGINT[])`,
	`UPDATE log_partitions SET record = record + 1 WHERE partition = ANY($1::SMALLINT[])`,
}

// bare writes messages in batches of the same sizes over as many connections.
func (l *load) bare(b *testing.B, sizes [committers][]int) time.Duration {
	config, err := pgx.ParseConfig(l.url)
	if err != nil {
		b.Fatal(err)
	}
	config = writerConfig(config, Options{Timeout: 10 * time.Second})
	var conns [committers]*pgconn.PgConn
	for i := range conns {
		if conns[i], err = pgconn.ConnectConfig(b.Context(), &config.Config); err != nil {
			b.Fatal(err)
		}
		for n, statement := range bareStatements {
			if _, err := conns[i].Prepare(b.Context(), fmt.Sprint("s", n), statement, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	var wait sync.WaitGroup
	began := time.Now()
	for i, conn := range conns {
		wait.Go(func() {
			for _, n := range sizes[i] {
				if err := l.bareBatch(conn, i, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	took := time.Since(began)
	for _, conn := range conns {
		if err := conn.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}
	return took
}

func (l *load) bareBatch(conn *pgconn.PgConn, at, n int) error {
	type columns = []uint64
	var ids, seqs, senders, devices, counters, shards, tails, lasts, tailShards columns
	var authors, authorIDs, authorSeqs columns
	payloads := array(nil, typeBytes, n)
	records := map[uint16]*[3]columns{}
	newest := map[uint64]int{}
	byAuthor := map[[2]uint64]int{}
	var a timeline.AppendRequest
	for len(ids) < n {
		if l.next(&a); int(a.Key.Partition())%committers != at {
			continue
		}
		id := a.Key.ID
		l.tails[at][id]++
		seq := l.tails[at][id]
		ids, seqs, shards = append(ids, id), append(seqs, seq), append(shards, uint64(a.Key.Shard()))
		senders, devices, counters = append(senders, a.Token.Sender), append(devices, 1), append(counters, a.Token.Counter)
		payloads = appendBytes(payloads, a.Payload)
		r := records[a.Key.Partition()]
		if r == nil {
			r = &[3]columns{}
			records[a.Key.Partition()] = r
		}
		if i, again := newest[id]; again {
			lasts[i] = seq
		} else {
			newest[id] = len(tails)
			tails, lasts, tailShards = append(tails, id), append(lasts, seq), append(tailShards, uint64(a.Key.Shard()))
			r[0], r[1], r[2] = append(r[0], id), append(r[1], seq), append(r[2], seq)
		}
		if i, again := byAuthor[[2]uint64{id, a.Author}]; again {
			authorSeqs[i] = seq
		} else {
			byAuthor[[2]uint64{id, a.Author}] = len(authors)
			authors, authorIDs, authorSeqs = append(authors, a.Author), append(authorIDs, id), append(authorSeqs, seq)
		}
	}
	p := conn.StartPipeline(context.Background())
	send := func(statement int, values ...[]byte) {
		p.SendQueryPrepared(fmt.Sprint("s", statement), values, binaryFormat, binaryFormat)
	}
	of := func(c columns) []byte { return appendNumbers(nil, typeInt8, c) }
	small := func(c columns) []byte { return appendNumbers(nil, typeInt2, c) }
	send(0, of(ids), of(seqs), payloads)
	send(1, of(senders), of(devices), of(counters), of(ids), of(seqs), small(shards))
	send(2, of(authorIDs), of(authors), of(authorSeqs))
	send(3, of(tails), of(lasts), small(tailShards))
	var partitions columns
	for partition, r := range records {
		l.records[at][partition]++
		partitions = append(partitions, uint64(partition))
		send(4, []byte{0, byte(partition)}, int8Value(int64(l.records[at][partition])), of(r[0]), of(r[1]), of(r[2]))
	}
	send(5, small(partitions))
	if err := p.Sync(); err != nil {
		return err
	}
	return p.Close()
}
