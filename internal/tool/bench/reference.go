package bench

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// referenceResult of this machine.
type referenceResult struct {
	// RecordsPerS of synced commits in Pebble: 64 writers, one record of 250 bytes in each batch.
	RecordsPerS float64 `json:"pebble_records_per_s"`
	// SyncP50 is the median of fdatasync after 4 KiB, in milliseconds.
	SyncP50 float64 `json:"fdatasync_p50_ms"`
	SyncP99 float64 `json:"fdatasync_p99_ms"`
}

func referenceMain(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto bench reference", flag.ContinueOnError)
	fs.SetOutput(errOut)
	dir := fs.String("data", "", "`directory` on the disk to measure; the files are removed")
	duration := fs.Duration("duration", 5*time.Second, "how long to write")
	asJSON := fs.Bool("json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code
	}
	if *dir == "" || fs.NArg() > 0 {
		fmt.Fprintln(errOut, "rialto bench reference: --data is required, without arguments")
		return 2
	}
	r, err := reference(*dir, *duration)
	return report(out, errOut, r, err, *asJSON, func() {
		fmt.Fprintf(out, "Pebble with Sync, 64 writers, batches of 1: %.0f records/s; fdatasync p50 %.3f ms, p99 %.3f ms\n", r.RecordsPerS, r.SyncP50, r.SyncP99)
	})
}

func reference(parent string, duration time.Duration) (_ *referenceResult, err error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "reference-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &referenceResult{}
	if err := r.syncs(filepath.Join(dir, "sync")); err != nil {
		return nil, err
	}
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{MemTableSize: 64 << 20, Logger: quiet{}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var n atomic.Uint64
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	end := time.Now().Add(duration)
	for w := range 64 {
		group.Go(func() {
			value := make([]byte, 250)
			key := make([]byte, 16)
			binary.BigEndian.PutUint64(key, uint64(w))
			for i := uint64(0); time.Now().Before(end); i++ {
				binary.BigEndian.PutUint64(key[8:], i)
				if err := db.Set(key, value, pebble.Sync); err != nil {
					failed.Store(&err)
					return
				}
				n.Add(1)
			}
		})
	}
	group.Wait()
	if p := failed.Load(); p != nil {
		return nil, *p
	}
	r.RecordsPerS = float64(n.Load()) / duration.Seconds()
	return r, nil
}

// quiet discards Pebble's log.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func (r *referenceResult) syncs(name string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	block := make([]byte, 4096)
	var times []time.Duration
	for range 500 {
		if _, err := f.Write(block); err != nil {
			return err
		}
		start := time.Now()
		if err := datasync(f); err != nil {
			return err
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	r.SyncP50, r.SyncP99 = times[len(times)/2].Seconds()*1000, times[len(times)*99/100].Seconds()*1000
	return nil
}
