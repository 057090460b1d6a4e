package media_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/service/media"
)

// BenchmarkUpload of 100 MiB over loopback, in three parts at once, and by tus, beside writing the same bytes to a file with a sync at its end.
// Each round does all three, so that they meet the same load of the machine; the figures are medians. Set TMPDIR to a folder on the disk to
// measure.
func BenchmarkUpload(b *testing.B) {
	file := make([]byte, 20*blob.MinPartSize)
	for i := range file {
		file[i] = byte(i ^ i>>8 ^ i>>16)
	}
	r := open(b, media.Config{})
	r.totalsUnchecked = true // all is swept after each round
	server := httptest.NewServer(r.Handler())
	defer server.Close()
	written := filepath.Join(r.dir, "written")
	took := map[string][]float64{}
	clocked := func(what string, do func()) {
		began := time.Now()
		do()
		took[what] = append(took[what], time.Since(began).Seconds())
	}
	for b.Loop() {
		clocked("write", func() {
			if err := errors.Join(writeSynced(written, file), os.Remove(written)); err != nil {
				b.Fatal(err)
			}
		})
		clocked("parts", func() { uploadInParts(r, server.URL, file) })
		clocked("tus", func() { uploadByTus(r, server.URL, file) })
		r.clock.ms.Add(25 * time.Hour.Milliseconds())
		r.exec(`UPDATE uploads SET complete = -1`)
		if err := r.Sweep(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	median := func(what string) float64 {
		slices.Sort(took[what])
		return took[what][len(took[what])/2]
	}
	b.ReportMetric(float64(len(file))/1e6/median("write"), "write-MB/s")
	b.ReportMetric(median("write")/median("parts"), "parts/write")
	b.ReportMetric(median("write")/median("tus"), "tus/write")
}

func writeSynced(name string, file []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, struct{ io.Reader }{bytes.NewReader(file)}) // in pieces of 32 KiB, as they come from a network
	return errors.Join(err, f.Sync(), f.Close())
}

func uploadInParts(r *fixture, server string, file []byte) {
	m := r.multipart(alice, len(file))
	parts := make(chan int)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for number := range parts {
				r.send(http.MethodPut, server+r.partURL(m.Upload, number), piece(file, number), http.StatusOK)
			}
		})
	}
	for number := 1; number <= int(m.Parts); number++ {
		parts <- number
	}
	close(parts)
	workers.Wait()
	r.complete(id.Upload(m.Upload))
}

func uploadByTus(r *fixture, server string, file []byte) {
	url := r.createTus(len(file))
	r.send(http.MethodPatch, server+url, file, http.StatusNoContent)
	r.complete(id.Upload(tusUpload(url)))
}

func (r *fixture) send(method, url string, body []byte, want int) {
	q, err := http.NewRequestWithContext(r.t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		r.t.Error(err)
		return
	}
	for name, value := range map[string]string{"Tus-Resumable": "1.0.0", "Authorization": "Bearer alice", "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"} {
		q.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Error(err)
		return
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.Body.Close() != nil || res.StatusCode != want {
		r.t.Errorf("status %s, want %d; error %v", res.Status, want, err)
	}
}
