package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/coldtier"
	"github.com/rialto-im/rialto/internal/platform/datadir"
)

// Environment variables of the keys of S3, the same as for the settings: others on the machine can see arguments.
const (
	accessKeyVariable = "RIALTO_S3_ACCESS_KEY"
	secretKeyVariable = "RIALTO_S3_SECRET_KEY"
)

// openBucket opens the bucket at a URL: https://HOST/BUCKET, or https://HOST/BUCKET/PREFIX.
func openBucket(ctx context.Context, url string) (blob.Store, error) {
	scheme, rest, _ := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	bucket, prefix, _ := strings.Cut(strings.Trim(path, "/"), "/")
	if host == "" || bucket == "" {
		return nil, errors.New("flag --s3: want https://HOST/BUCKET, or https://HOST/BUCKET/PREFIX")
	}
	store, err := s3blob.Open(ctx, s3blob.Config{Endpoint: scheme + "://" + host, Bucket: bucket, Prefix: prefix, AccessKey: os.Getenv(accessKeyVariable), SecretKey: os.Getenv(secretKeyVariable)})
	if err != nil {
		return nil, err
	}
	return store, nil
}

// coldFiles is the blob store of a data directory, unless its files are in a bucket.
func coldFiles(dir string, bucket blob.Store) blob.Store {
	if bucket != nil {
		return bucket
	}
	return diskblob.View(filepath.Join(dir, datadir.FilesDir))
}

// coldStore is a log whose old entries are in segments. Without the files it is the log alone: what is cold then counts as expired.
type coldStore struct {
	store
	check *check
	view  coldtier.View
	spans map[uint64][2]uint64 // of conversations with cold entries

	// The segment that was read last.
	conversation uint64
	segment      coldtier.SegmentRow
	entries      []timeline.Entry
}

// openCold puts the cold tier below the log.
func (c *check) openCold() error {
	if some, err := c.hasTable("cold_segments"); err != nil || !some {
		return err
	}
	view := coldtier.View{DB: c.db, Files: c.blobs}
	spans, err := view.Spans(c.ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(spans, func(_ uint64, s [2]uint64) bool { return s[0] > s[1] })
	if len(spans) == 0 {
		return nil
	}
	if c.blobs == nil {
		c.note(fmt.Sprintf("%d conversations have old messages in segments in S3, which were not checked: use --s3", len(spans)))
		return nil
	}
	c.log = &coldStore{store: c.log, check: c, view: view, spans: spans}
	for _, k := range slices.Sorted(maps.Keys(spans)) {
		if err := c.manifest(view, k, spans[k]); err != nil {
			return err
		}
	}
	return nil
}

// hasTable reports whether the database has a table. That of an earlier release may not.
func (c *check) hasTable(name string) (some bool, err error) {
	if !c.local {
		err = c.db.QueryRowContext(c.ctx, `SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1)`, name).Scan(&some)
		return some, err
	}
	rows, err := c.files.QueryContext(c.ctx, `PRAGMA table_info(`+name+`)`) // no rows if it does not exist
	if err != nil {
		return false, err
	}
	defer rows.Close()
	some = rows.Next()
	return some, rows.Err()
}

// manifest checks that the segments of a conversation follow each other without a gap.
func (c *check) manifest(view coldtier.View, conversation uint64, span [2]uint64) error {
	where := fmt.Sprintf("conversation %d", conversation)
	for next := span[0]; next <= span[1]; {
		s, ok, err := view.Segment(c.ctx, conversation, next)
		if err != nil {
			return err
		}
		if !ok || s.First > next {
			c.report.violate("cold", where, "the manifest has no segment for entry %d", next)
			return nil
		}
		if s.First < next && next != span[0] {
			c.report.violate("cold", where, "the segments overlap at entry %d", next)
		}
		next = s.Last + 1
	}
	tail, err := c.log.(*coldStore).store.Tail(c.ctx, timeline.Key{Kind: timeline.Conversation, ID: conversation})
	if err != nil {
		return c.damaged(where, err)
	}
	if tail.FirstSeq > span[1]+1 {
		c.report.violate("cold", where, "its segments end at %d, and its log begins at %d", span[1], tail.FirstSeq)
	}
	return nil
}

// Tail is that of the log: what is cold has not expired.
func (s *coldStore) Tail(ctx context.Context, key timeline.Key) (timeline.Tail, error) {
	tail, err := s.store.Tail(ctx, key)
	if span, ok := s.spanOf(key); ok && tail.FirstSeq <= span[1]+1 {
		if tail.FirstSeq = span[0]; span[0] <= 1 {
			tail.FirstSeq = 0
		}
	}
	return tail, err
}

func (s *coldStore) spanOf(key timeline.Key) (span [2]uint64, ok bool) {
	if key.Kind == timeline.Conversation {
		span, ok = s.spans[key.ID]
	}
	return span, ok
}

// Read reads from the log or from one segment, so it may return fewer entries than there are. It returns none only at the end.
func (s *coldStore) Read(ctx context.Context, key timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	span, ok := s.spanOf(key)
	if !ok || after >= span[1] {
		return s.store.Read(ctx, key, after, limit)
	}
	if after+1 < span[0] { // entries that were kept when those around them expired
		kept, err := s.store.Read(ctx, key, after, limit)
		if err != nil {
			return nil, err
		}
		if kept = slices.DeleteFunc(kept, func(e timeline.Entry) bool { return e.Seq >= span[0] }); len(kept) > 0 {
			return kept, nil
		}
	}
	list, err := s.readCold(ctx, key.ID, max(after+1, span[0]))
	s.check.report.Cold += uint64(len(list))
	return list, err
}

// hasMoreCold reports whether the cold tier has entries of a conversation after a seq. A page of it ends with its segment.
func (c *check) hasMoreCold(key timeline.Key, after uint64) bool {
	s, ok := c.log.(*coldStore)
	if !ok {
		return false
	}
	span, ok := s.spanOf(key)
	return ok && after <= span[1]
}

// readCold returns the entries of a segment from a seq on.
func (s *coldStore) readCold(ctx context.Context, conversation, seq uint64) ([]timeline.Entry, error) {
	if s.conversation != conversation || seq < s.segment.First || seq > s.segment.Last {
		row, ok, err := s.view.Segment(ctx, conversation, seq)
		if err != nil {
			return nil, err
		}
		if !ok || row.First > seq {
			return nil, fmt.Errorf("the manifest has no segment for entry %d", seq)
		}
		list, err := s.view.Entries(ctx, conversation, row)
		if err != nil {
			return nil, fmt.Errorf("segment %s: %w", row.File, err)
		}
		s.conversation, s.segment, s.entries = conversation, row, list
	}
	return s.entries[seq-s.segment.First:], nil
}

// Get returns the entries of refs in their order.
func (s *coldStore) Get(ctx context.Context, refs []timeline.Ref) (list []timeline.Entry, err error) {
	for _, r := range refs {
		span, ok := s.spanOf(r.Key)
		if !ok || r.From != r.To || r.From < span[0] || r.From > span[1] {
			some, err := s.store.Get(ctx, []timeline.Ref{r})
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
			continue
		}
		some, err := s.readCold(ctx, r.Key.ID, r.From)
		if err != nil {
			return nil, err
		}
		list = append(list, some[0])
	}
	return list, nil
}

// TailKeys lists conversations by their tails.
func (s *coldStore) TailKeys(ctx context.Context, above uint64, limit int) ([]timeline.Key, error) {
	return s.store.(tailLister).TailKeys(ctx, above, limit)
}
