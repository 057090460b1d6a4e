package app

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/byterange"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// BenchmarkEdgeRanges compares ranges of a file that an edge has, by a signed URL and over TCP on this machine, with those of the file itself by http.ServeContent, which lets the system copy. All
// of a whole edge is in the way: its listener, its limits, its permissions, and its cache.
func BenchmarkEdgeRanges(b *testing.B) {
	const size = 64 << 20
	origin, err := Open(b.Context(), configure(b, filepath.Join(b.TempDir(), "origin"), edgeSecret), slog.New(slog.DiscardHandler))
	must(b, err)
	b.Cleanup(func() { must(b, origin.Close()) })
	e, err := Open(b.Context(), configure(b, filepath.Join(b.TempDir(), "edge"), "roles=edge", "edge.origins="+url(origin), edgeSecret), slog.New(slog.DiscardHandler))
	must(b, err)
	b.Cleanup(func() { must(b, e.Close()) })
	data := bytes.Repeat([]byte("16 bytes of film"), size/16)
	signed := url(e) + benchFile(b, origin, data)
	path := filepath.Join(b.TempDir(), "file")
	must(b, os.WriteFile(path, data, 0o600))
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(path)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		w.Header().Set("Content-Type", "video/mp4")
		http.ServeContent(w, r, "", time.Time{}, f)
	}))
	b.Cleanup(plain.Close)
	for _, length := range []int64{64 << 10, 1 << 20, 4 << 20, size} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			for from := int64(0); from < size; from += length { // all is warm
				benchRange(b, plain.URL, from, length)
				benchRange(b, signed, from, length)
			}
			var ofFile, ofEdge []time.Duration
			b.ResetTimer()
			for i := range int64(b.N) { // by turns
				from := i * 7919 * 4096 % (size - length + 1)
				ofFile = append(ofFile, benchRange(b, plain.URL, from, length))
				ofEdge = append(ofEdge, benchRange(b, signed, from, length))
			}
			slices.Sort(ofFile)
			slices.Sort(ofEdge)
			perSecond := func(d time.Duration) float64 { return float64(length) / 1e6 / d.Seconds() }
			b.ReportMetric(perSecond(ofFile[b.N/2]), "file-MB/s")
			b.ReportMetric(perSecond(ofEdge[b.N/2]), "edge-MB/s")
			b.ReportMetric(ofFile[b.N/2].Seconds()/ofEdge[b.N/2].Seconds(), "edge/file")
			b.ReportMetric(ofFile[b.N/10].Seconds()/ofEdge[b.N/10].Seconds(), "edge/file-p10") // which nine tenths exceed: other work on the machine only adds to a time
		})
	}
}

// benchFile uploads a file, and returns its signed URL.
func benchFile(b *testing.B, n *Node, data []byte) string {
	b.Helper()
	user := id.User(benchUsers(b, n, 1)[0].User)
	r, err := n.media.CreateUpload(b.Context(), user, &chatv1.CreateUploadRequest{Name: "film.mp4", Size: uint64(len(data))})
	must(b, err)
	put, err := http.NewRequestWithContext(b.Context(), http.MethodPut, url(n)+r.Url, bytes.NewReader(data))
	must(b, err)
	answer, err := http.DefaultClient.Do(put)
	must(b, err)
	must(b, answer.Body.Close())
	_, err = n.media.CompleteUpload(b.Context(), user, id.Upload(r.Upload))
	must(b, err)
	d, err := n.media.GetDownload(b.Context(), user, &chatv1.GetDownloadRequest{Upload: r.Upload})
	must(b, err)
	return d.Url
}

// benchRange requests a range, and returns how long that takes.
func benchRange(b *testing.B, target string, from, length int64) time.Duration {
	began := time.Now()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, target, nil)
	must(b, err)
	r.Header.Set("Range", byterange.Header(from, length))
	r.Header.Set("Accept-Encoding", "identity")
	answer, err := http.DefaultClient.Do(r)
	must(b, err)
	n, err := io.Copy(io.Discard, answer.Body)
	must(b, err)
	must(b, answer.Body.Close())
	if n != length || answer.StatusCode != http.StatusPartialContent {
		b.Fatalf("%s is answered with %s and %d bytes of %d", target, answer.Status, n, length)
	}
	return time.Since(began)
}
