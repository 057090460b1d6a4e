package feed_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/service/feed"
	"golang.org/x/sys/unix"
)

// sizeOf returns a number from the environment, or a default.
func sizeOf(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// openOnDisk opens a fixture whose timelines are in Pebble.
func openOnDisk(b *testing.B, c feed.Config) *fixture {
	b.Helper()
	f := open(b, c)
	var err error
	f.log, err = pebblelog.Open(filepath.Join(b.TempDir(), "timeline"), pebblelog.Options{}) // the fixture closes it
	must(b, err)
	f.restart()
	return f
}

// reportCPU reports the CPU time of each operation, which other processes on the machine change less than the time.
func reportCPU(b *testing.B) (report func()) {
	used := func() time.Duration {
		var u unix.Rusage
		must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkFanout publishes posts of an author with active followers (FEED_FOLLOWERS, 1,000) and brings them to all windows. Beside it, rows are committed
// alone, and as many entries are appended to Pebble in the same batches.
func BenchmarkFanout(b *testing.B) {
	followers := sizeOf("FEED_FOLLOWERS", 1000)
	f := openOnDisk(b, feed.Config{PostsPerDay: 1 << 20, PullAbove: 1 << 30})
	author := f.user()
	var keys []timeline.Key
	for range followers {
		reader := f.user()
		f.follow(reader, author)
		f.home(reader, 1)
		keys = append(keys, feed.WindowKey(reader))
	}
	must(b, f.db.Write(b.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(b.Context(), `CREATE TABLE bare (n BIGINT PRIMARY KEY, content TEXT)`)
		return err
	}))
	n := 0
	b.Run("bare_commit", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			n++
			must(b, f.db.Write(b.Context(), func(tx *sql.Tx) error {
				_, err := tx.ExecContext(b.Context(), `INSERT INTO bare (n, content) VALUES ($1, $2)`, n, fmt.Sprint("post ", n))
				return err
			}))
		}
	})
	b.Run("publish", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			n++
			f.publish(author, fmt.Sprint("post ", n))
		}
	})
	f.push()
	entry := []byte("a reference that is about as long")[:17]
	b.Run("bare_appends", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			appendInBatches(keys, 100, func(batch []*timeline.AppendRequest) { f.log.Append(batch...) }, entry)
		}
		b.ReportMetric(float64(followers)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	told := 0
	f.countTold = func(users []id.User) { told += len(users) } // a map of them would be a part of the time
	b.Run("fanout", func(b *testing.B) {                       // with the commit of the post
		defer reportCPU(b)()
		for b.Loop() {
			n++
			f.jobs, told = jobs{}, 0
			f.publish(author, fmt.Sprint("post ", n))
			for len(f.jobs.args) > 0 {
				step := f.jobs.args[0]
				f.jobs = jobs{args: f.jobs.args[1:]}
				must(b, f.RunPush(b.Context(), step))
			}
			if told != followers+1 { // and the author's other devices
				b.Fatalf("%d users are told", told)
			}
		}
		b.ReportMetric(float64(followers)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

// BenchmarkAnnounce tells the connected followers (FEED_ONLINE, 1,500) of a pulled author with very many (FEED_FOLLOWERS, 100,000) of a new post.
func BenchmarkAnnounce(b *testing.B) {
	followers, online := sizeOf("FEED_FOLLOWERS", 100_000), sizeOf("FEED_ONLINE", 1500)
	f := open(b, feed.Config{PostsPerDay: 1 << 20})
	author := f.user()
	const first = 1 << 50
	must(b, f.db.Write(b.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(b.Context(), `WITH RECURSIVE f (n) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT n + 1 FROM f WHERE n + 1 < CAST($3 AS BIGINT))
			INSERT INTO relations (owner, other, following) SELECT CAST($2 AS BIGINT) + n, CAST($1 AS BIGINT), TRUE FROM f`, int64(author), int64(first), followers)
		if err == nil {
			_, err = tx.ExecContext(b.Context(), `INSERT INTO follow_counts (owner, followers) VALUES ($1, $2)`, int64(author), followers)
		}
		return err
	}))
	for i := range online {
		f.connected = append(f.connected, id.User(first+i*followers/online))
	}
	n := 0
	defer reportCPU(b)()
	for b.Loop() {
		n++
		p := f.publish(author, fmt.Sprint("post ", n))
		f.told = nil
		must(b, f.Announce(b.Context()))
		if len(f.told) != online {
			b.Fatalf("%d users are told of post %d", len(f.told), p.Id)
		}
	}
}

// appendInBatches appends an entry to each of some timelines, one batch after the other.
func appendInBatches(keys []timeline.Key, size int, add func([]*timeline.AppendRequest), entry []byte) {
	for at := 0; at < len(keys); at += size {
		var stored sync.WaitGroup
		var batch []*timeline.AppendRequest
		for _, k := range keys[at:min(at+size, len(keys))] {
			stored.Add(1)
			batch = append(batch, &timeline.AppendRequest{Key: k, Payload: entry, Done: func(*timeline.AppendRequest) { stored.Done() }})
		}
		add(batch)
		stored.Wait()
	}
}

// BenchmarkReaderOfManyAuthors reads the first page of a reader who follows very many (FEED_FOLLOWED, 1,000): from the window, and from the rows. It compares
// that with what it costs to bring a post to the window of one more reader.
func BenchmarkReaderOfManyAuthors(b *testing.B) {
	followed := sizeOf("FEED_FOLLOWED", 1000)
	f := openOnDisk(b, feed.Config{PostsPerDay: 1 << 20})
	f.ids.set(1<<34, 0)
	reader := f.user()
	var authors []id.User
	for range followed {
		authors = append(authors, f.user())
		f.follow(reader, authors[len(authors)-1])
	}
	for i := range 2000 {
		f.publish(authors[i%followed], fmt.Sprint("post ", i))
	}
	f.push()
	f.home(reader, 50)
	read := func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			if posts := f.page(b, reader); posts != 20 {
				b.Fatalf("%d posts, want 20", posts)
			}
		}
	}
	b.Run("window", read)
	begin := time.Now()
	for i := range 500 {
		f.publish(authors[i], fmt.Sprint("new post ", i))
	}
	published := time.Since(begin)
	begin = time.Now()
	f.push()
	b.Logf("500 posts: %v to publish, %v to push", published, time.Since(begin))
	f.NeverUseWindows()
	b.Run("rows", read)
}
