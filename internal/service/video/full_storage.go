package video

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// Where a disk is full, tasks wait for space. That is no failure of an attempt. The row of the video says since when; each result that is stored ends its wait. A video that could
// store nothing for longestStorageWait has failed.
const (
	longestStorageWait = 24 * time.Hour
	storageRetryFirst  = 2 * time.Second
	storageRetryMax    = time.Minute
)

// isStorageFull reports whether an error is that of a full disk.
func isStorageFull(err error) bool {
	return err != nil && errs.Of(err).Reason == errs.StorageFull(nil).Reason
}

// storagePause holds up attempts on this node while its storage is full, so that it does not encode all chunks of long videos in vain: a few attempts find out whether there is space again.
type storagePause struct {
	mu       sync.Mutex // guards the fields below
	failures int        // how often in sequence the storage was found full
	untilMs  int64
}

// begin is called after an attempt has found the storage full. It returns after which delay it is tried again.
func (p *storagePause) begin(nowMs int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.remaining(nowMs) == 0 { // else an attempt beside this one has found the same
		p.failures++
		p.untilMs = nowMs + backoff.After(p.failures, storageRetryFirst, storageRetryMax).Milliseconds()
	}
	return p.remaining(nowMs)
}

// remaining is how long the pause still takes. One that would take longer than any is over: the clock was set back. The caller holds mu.
func (p *storagePause) remaining(nowMs int64) time.Duration {
	if d := time.Duration(p.untilMs-nowMs) * time.Millisecond; d > 0 && d <= storageRetryMax {
		return d
	}
	return 0
}

// end is called after something was stored.
func (p *storagePause) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures, p.untilMs = 0, 0
}

// delay is how long attempts have to wait.
func (p *storagePause) delay(nowMs int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.remaining(nowMs)
}

// storageDelay returns how long a job has to wait because the storage of this node is full; 0: it may run. Its video waits for storage then.
func (s *Service) storageDelay(ctx context.Context, j taskJob) (time.Duration, error) {
	wait := s.pause.delay(s.nowMs())
	if wait == 0 {
		return 0, nil
	}
	since, err := s.awaitStorage(ctx, j.Video, j.Run)
	if isStorageFull(err) { // the database is on the same disk
		return wait, nil
	}
	if err != nil || since == 0 || s.waitedTooLong(since) { // there is nothing to do, or this attempt is the last one
		return 0, err
	}
	return wait, nil
}

func (s *Service) waitedTooLong(sinceMs int64) bool {
	return s.nowMs()-sinceMs >= longestStorageWait.Milliseconds()
}

// awaitStorage notes that a video waits for storage, and returns since when, in milliseconds since 1970; 0: nothing of it has to be done any more.
func (s *Service) awaitStorage(ctx context.Context, n uint64, run int64) (sinceMs int64, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT storage_full_ms FROM videos WHERE id = $1 AND run = $2`, int64(n), run).Scan(&sinceMs)
	if err == nil && sinceMs == 0 {
		now := s.nowMs()
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			return tx.QueryRowContext(ctx, `UPDATE videos SET storage_full_ms = CASE WHEN storage_full_ms = 0 THEN $3 ELSE storage_full_ms END
				WHERE id = $1 AND run = $2 AND (state < 2 OR EXISTS (SELECT 1 FROM video_on_demand WHERE video = $1 AND remaining > 0)) RETURNING storage_full_ms`, int64(n), run, now).Scan(&sinceMs)
		})
		if err == nil && sinceMs == now {
			s.deps.Logger.Warn("a video waits for space: a disk is full", "video", n)
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return sinceMs, err
}
