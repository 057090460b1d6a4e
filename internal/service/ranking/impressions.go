package ranking

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// The log of what ForYou showed is a sample: of each node at most flushLists first pages in flushInterval, which are drawn at random if there are more. Rows are kept
// for keptMs, and the newest maxImpressions.
const (
	flushInterval  = 5 * time.Second
	flushLists     = 5
	flushTimeout   = 10 * time.Second
	cleanInterval  = time.Hour
	cleanBatch     = 1000
	keptMs         = 30 * dayMs
	maxImpressions = 1_000_000
	clickMs        = dayMs     // how long after it was shown a post counts as opened
	conversionMs   = 7 * dayMs // and goods as bought
	maxClicks      = 100       // posts of a call
	// A post is seen from seenMs on the screen on, and longer than maxDwellMs nobody reads it.
	seenMs, maxDwellMs = 1000, 600_000
	// Features are stored with a version, and as 4 bytes each.
	featuresVersion = 1
)

// impressionPage is a page that a reader was shown.
type impressionPage struct {
	reader id.User
	atMs   int64
	posts  []impression
}

type impression struct {
	post      uint64
	goods     bool
	features  []byte
	clickedMs int64
	dwellMs   uint32
}

// impressionLog has the pages that are not written yet.
type impressionLog struct {
	// mu guards all below.
	mu      sync.Mutex
	waiting []*impressionPage // at most flushLists: a random choice of all since the last flush
	passed  int               // all since then
}

func newImpressionLog() *impressionLog { return &impressionLog{} }

// add adds a page, or leaves it out. It does not block.
func (l *impressionLog) add(list *impressionPage) {
	if list == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passed++
	if len(l.waiting) < flushLists {
		l.waiting = append(l.waiting, list)
	} else if i := rand.IntN(l.passed); i < flushLists {
		l.waiting[i] = list
	}
}

// record notes what a reader did with posts of pages that are not written yet.
func (l *impressionLog) record(reader id.User, clicked []uint64, dwells map[uint64]uint32, nowMs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.waiting {
		if list.reader != reader {
			continue
		}
		for i := range list.posts {
			p := &list.posts[i]
			if p.clickedMs == 0 && slices.Contains(clicked, p.post) {
				p.clickedMs = nowMs
			}
			p.dwellMs = max(p.dwellMs, dwells[p.post])
		}
	}
}

// impressionPage returns what a page shows; nil without posts.
func (r *ranking) impressionPage(posts []*rankingv1.RankedPost) *impressionPage {
	list := &impressionPage{reader: r.reader, atMs: r.nowMs}
	for _, p := range posts {
		if c := r.candidates[p.Post.Id]; c != nil {
			list.posts = append(list.posts, impression{post: c.post, goods: c.goods, features: encodeFeatures(rowOf(&c.values, c.facts))})
		}
	}
	if len(list.posts) == 0 {
		return nil
	}
	return list
}

// encodeFeatures returns features as they are stored (docs/formats/ranking.md).
func encodeFeatures(row []float64) []byte {
	b := append(make([]byte, 0, 1+4*len(row)), featuresVersion)
	for _, x := range row {
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return b
}

// decodeFeatures returns stored features, if they are those of this version.
func decodeFeatures(b []byte) (row []float32, ok bool) {
	if len(b) != 1+4*rowFeatures || b[0] != featuresVersion {
		return nil, false
	}
	for b = b[1:]; len(b) > 0; b = b[4:] {
		row = append(row, math.Float32frombits(binary.BigEndian.Uint32(b)))
	}
	return row, true
}

// runImpressions writes what was shown until ctx ends, and then what waits.
func (s *Service) runImpressions(ctx context.Context) {
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			s.logFlush(s.FlushImpressions(last))
			return
		case <-tick.C:
			s.logFlush(s.FlushImpressions(ctx))
		}
	}
}

func (s *Service) logFlush(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.deps.Logger.Warn("a sample of impressions could not be written; it is lost for the training of models", "error", err)
	}
}

// FlushImpressions writes what waits, except for pages of readers who have turned personalization off since. What it cannot write is lost.
func (s *Service) FlushImpressions(ctx context.Context) error {
	s.impressions.mu.Lock()
	lists := s.impressions.waiting
	s.impressions.waiting, s.impressions.passed = nil, 0
	s.impressions.mu.Unlock()
	if len(lists) == 0 {
		return nil
	}
	readers := make([]id.User, len(lists))
	for i, l := range lists {
		readers[i] = l.reader
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		off, err := s.deps.Graph.WithoutPersonalization(ctx, tx, readers)
		if err != nil {
			return err
		}
		for _, l := range lists {
			if off[l.reader] {
				continue
			}
			for place, p := range l.posts {
				if _, err := tx.ExecContext(ctx, `INSERT INTO ranking_shown (reader, post, at_ms, place, goods, features, clicked_ms, dwell_ms, converted_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0) ON CONFLICT (reader, post, at_ms) DO NOTHING`,
					int64(l.reader), int64(p.post), l.atMs, place, p.goods, p.features, p.clickedMs, int64(p.dwellMs)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Clean deletes what is too old, or too much.
func (s *Service) Clean(ctx context.Context) error {
	before := s.nowMs() - keptMs
	var beyond int64
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT at_ms FROM ranking_shown ORDER BY at_ms DESC LIMIT 1 OFFSET $1`, maxImpressions).Scan(&beyond)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err == nil {
		before = max(before, beyond+1)
	}
	return s.deps.DB.WriteInBatches(ctx, cleanBatch, func(tx *sql.Tx) (int64, error) {
		done, err := tx.ExecContext(ctx, `DELETE FROM ranking_shown WHERE (reader, post, at_ms) IN (SELECT reader, post, at_ms FROM ranking_shown WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)`, before, cleanBatch)
		if err != nil {
			return 0, err
		}
		return done.RowsAffected()
	})
}

var errClicks = badRanking(fmt.Sprintf("name at most %d posts at once", maxClicks))

// postIDs returns ids of posts, each once.
func postIDs(list []uint64) ([]uint64, error) {
	if len(list) > maxClicks {
		return nil, errClicks
	}
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	return slices.DeleteFunc(list, func(n uint64) bool { return n == 0 || n > math.MaxInt64 }), nil
}

// dwellsOf returns the longest dwell of each post, within bounds.
func dwellsOf(list []*rankingv1.PostDwell) (map[uint64]uint32, error) {
	if len(list) > maxClicks {
		return nil, errClicks
	}
	dwells := make(map[uint64]uint32, len(list))
	for _, d := range list {
		if n := d.GetPost(); n != 0 && n <= math.MaxInt64 {
			dwells[n] = max(dwells[n], min(d.GetDwellMs(), maxDwellMs))
		}
	}
	return dwells, nil
}

// RecordClicks notes which posts a reader opened, and how long posts were on the screen. Nothing is noted of a reader who has turned personalization off.
func (s *Service) RecordClicks(ctx context.Context, reader id.User, r *rankingv1.RecordClicksRequest) error {
	list, err := postIDs(r.Posts)
	if err != nil {
		return err
	}
	dwells, err := dwellsOf(r.Dwells)
	if err != nil || len(list)+len(dwells) == 0 {
		return err
	}
	now := s.nowMs()
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if off, err := s.deps.Graph.WithoutPersonalization(ctx, tx, []id.User{reader}); err != nil || off[reader] {
			return err
		}
		s.impressions.record(reader, list, dwells, now) // the page may not be written yet
		for _, n := range slices.Sorted(maps.Keys(dwells)) {
			if _, err := tx.ExecContext(ctx, `UPDATE ranking_shown SET dwell_ms = $1 WHERE reader = $2 AND post = $3 AND at_ms > $4 AND dwell_ms < $1`, int64(dwells[n]), int64(reader), int64(n), now-clickMs); err != nil {
				return err
			}
		}
		for _, n := range list {
			if _, err := tx.ExecContext(ctx, `UPDATE ranking_shown SET clicked_ms = $1 WHERE reader = $2 AND post = $3 AND at_ms > $4 AND clicked_ms = 0`, now, int64(reader), int64(n), now-clickMs); err != nil {
				return err
			}
		}
		return nil
	})
}

// RecordConversions notes of which posts a reader bought goods.
func (s *Service) RecordConversions(ctx context.Context, r *rankingv1.RecordConversionsRequest) error {
	list, err := postIDs(r.Posts)
	switch {
	case err != nil:
		return err
	case r.User > math.MaxInt64:
		return errs.New(errs.NotFound, "no_user", "there is no such user")
	}
	if err := s.deps.Graph.Exist(ctx, []id.User{id.User(r.User)}); err != nil || len(list) == 0 {
		return err
	}
	now := s.nowMs()
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, n := range list {
			if _, err := tx.ExecContext(ctx, `UPDATE ranking_shown SET converted_ms = $1 WHERE reader = $2 AND post = $3 AND at_ms > $4 AND goods AND converted_ms = 0`, now, int64(r.User), int64(n), now-conversionMs); err != nil {
				return err
			}
		}
		return nil
	})
}
