package blockcache_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

// BenchmarkWarmRanges compares ranges of a warm file, over TCP on this machine, with those of the file itself by http.ServeContent, which lets the system copy.
func BenchmarkWarmRanges(b *testing.B) {
	const size = 64 << 20
	o := newOrigin(size)
	path := filepath.Join(b.TempDir(), "file")
	if err := os.WriteFile(path, o.data, 0o600); err != nil {
		b.Fatal(err)
	}
	c := open(b, blockcache.Config{})
	handlers := map[string]http.HandlerFunc{
		"file": func(w http.ResponseWriter, r *http.Request) {
			f, err := os.Open(path)
			if err != nil {
				panic(err)
			}
			defer f.Close()
			w.Header().Set("Content-Type", "video/mp4")
			http.ServeContent(w, r, "", time.Time{}, f)
		},
		"cache": func(w http.ResponseWriter, r *http.Request) {
			reader := c.NewReader(r.Context(), o.file("g"), o.read)
			defer reader.Close()
			w.Header().Set("Content-Type", "video/mp4")
			if err := blockcache.ServeContent(w, r, time.Time{}, reader); err != nil {
				panic(err)
			}
		},
	}
	for _, length := range []int{64 << 10, 1 << 20, 4 << 20, size} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			file, cache := newGetter(b, handlers["file"]), newGetter(b, handlers["cache"])
			for from := 0; from < size; from += length { // all is warm
				file.get(b, from, length)
				cache.get(b, from, length)
			}
			var ofFile, ofCache []time.Duration
			b.ResetTimer()
			for i := range b.N { // by turns; of both, the time that nine tenths exceed counts, since other work on the machine only adds to it
				from := i * 7919 * 4096 % (size - length + 1)
				ofFile = append(ofFile, file.get(b, from, length))
				ofCache = append(ofCache, cache.get(b, from, length))
			}
			slices.Sort(ofFile)
			slices.Sort(ofCache)
			perSecond := func(d time.Duration) float64 { return float64(length) / 1e6 / d.Seconds() }
			b.ReportMetric(perSecond(ofFile[b.N/10]), "file-MB/s")
			b.ReportMetric(perSecond(ofCache[b.N/10]), "cache-MB/s")
			b.ReportMetric(ofFile[b.N/10].Seconds()/ofCache[b.N/10].Seconds(), "cache/file")
		})
	}
}

// getter requests ranges of a handler over one connection.
type getter struct {
	client *http.Client
	url    string
}

func newGetter(b *testing.B, handler http.HandlerFunc) *getter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(l) }() // until it is closed
	b.Cleanup(func() { _ = server.Close() })
	return &getter{&http.Client{Transport: &http.Transport{}}, "http://" + l.Addr().String()}
}

func (g *getter) get(b *testing.B, from, length int) time.Duration {
	began := time.Now()
	r, err := http.NewRequest(http.MethodGet, g.url, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+length-1))
	r.Header.Set("Accept-Encoding", "identity")
	answer, err := g.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || n != int64(length) || answer.Body.Close() != nil {
		b.Fatalf("%d bytes of %d, %v", n, length, err)
	}
	return time.Since(began)
}
