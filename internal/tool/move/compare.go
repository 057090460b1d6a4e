package move

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/idgen"
)

// compare reads both sides completely, and reports differences.
func (m *mover) compare(ctx context.Context) (err error) {
	began := time.Now()
	defer func() { m.report.Compared = time.Since(began) }()
	m.Say("comparing records …")
	if err := forEach(ctx, parallel, m.source.tables, m.compareTable); err != nil {
		return fmt.Errorf("comparing records: %w", err)
	}
	if err := m.compareTimelines(ctx); err != nil {
		return err
	}
	m.Say("comparing files …")
	return m.compareFiles(ctx)
}

// compareTimelines compares all that the logs have.
func (m *mover) compareTimelines(ctx context.Context) (err error) {
	log, err := m.target.sink.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	for _, kind := range timeline.Kinds {
		m.Say("comparing timelines, kind %c …", kind)
		if err := m.compareKind(ctx, log, kind); err != nil {
			return fmt.Errorf("comparing timelines: %w", err)
		}
	}
	m.Say("comparing tokens, authors, heads and fan-out records …")
	if err := m.compareRows(ctx, log); err != nil {
		return fmt.Errorf("comparing timelines: %w", err)
	}
	if err := m.comparePartitions(ctx, log); err != nil {
		return fmt.Errorf("comparing fan-out records: %w", err)
	}
	return nil
}

// sum is a checksum of rows in any order: their number, and the sum of their hashes.
type sum struct {
	rows uint64
	hash [4]uint64
}

func (s *sum) add(row []any) {
	var b []byte
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			b = append(b, 'n')
		case bool:
			b = fmt.Append(append(b, 'b'), v)
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v))
		case string:
			b = append(binary.BigEndian.AppendUint64(append(b, 't'), uint64(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint64(append(b, 'x'), uint64(len(v))), v...)
		default:
			b = fmt.Appendf(append(b, '?'), "%T %v", v, v)
		}
	}
	h := sha256.Sum256(b)
	s.rows++
	carryBit := uint64(0)
	for i := range s.hash {
		s.hash[i], carryBit = bits.Add64(s.hash[i], binary.BigEndian.Uint64(h[8*i:]), carryBit)
	}
}

// AuditAction is the action of a move in the audit log of the target.
const AuditAction = "data.move"

// exceptMoves are conditions for rows of the target, by table. They exclude the entries that moves made there.
var exceptMoves = map[string]string{"audit_entries": ` WHERE action <> '` + AuditAction + `'`}

func (m *mover) compareTable(ctx context.Context, t table) error {
	var source, target sum
	columns := t.columnNames()
	err := m.source.rows(ctx, t, -1<<63, func(_ int64, row []any, _ int) error {
		for _, shared := range idgen.MigrateToShared(t.name, columns, row) {
			source.add(shared)
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows, err := m.target.pool.Query(ctx, `SELECT `+quoted(columns)+` FROM `+quoted([]string{t.name})+exceptMoves[t.name])
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := rows.Values()
		if err != nil {
			return err
		}
		target.add(row)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if source != target {
		m.report.differ("table %s: the directory has %d rows, the target has %d%s", t.name, source.rows, target.rows, map[bool]string{true: ", with different content"}[source.rows == target.rows])
	}
	m.report.mu.Lock()
	defer m.report.mu.Unlock()
	m.report.Tables++
	m.report.Records += source.rows
	return nil
}

// keysAtOnce is the number of keys that are listed on both sides and compared at a time.
const keysAtOnce = 1000

// compareKind compares all timelines of a kind, entry by entry.
func (m *mover) compareKind(ctx context.Context, log reader, kind timeline.Kind) error {
	above := uint64(0)
	for {
		ofSource, err := m.source.log.Keys(ctx, kind, above, keysAtOnce)
		if err != nil {
			return err
		}
		ofTarget, err := log.Keys(ctx, kind, above, keysAtOnce)
		if err != nil {
			return err
		}
		// Keys above the end of the shorter list may follow in the next page.
		to := ^uint64(0)
		for _, list := range [][]timeline.Key{ofSource, ofTarget} {
			if len(list) == keysAtOnce {
				to = min(to, list[len(list)-1].ID)
			}
		}
		later := func(k timeline.Key) bool { return k.ID > to }
		ofSource, ofTarget = slices.DeleteFunc(ofSource, later), slices.DeleteFunc(ofTarget, later)
		known := map[timeline.Key]bool{}
		for _, k := range ofSource {
			known[k] = true
		}
		for _, k := range ofTarget {
			if known[k] {
				continue
			}
			entries, err := log.Read(ctx, k, 0, 1) // Cassandra also lists keys without entries
			if err != nil {
				return err
			}
			if len(entries) > 0 {
				m.report.differ("%s is in the target only", nameOf(k))
			}
		}
		if err := forEach(ctx, parallel, ofSource, func(ctx context.Context, k timeline.Key) error { return m.compareKey(ctx, log, k) }); err != nil {
			return err
		}
		if to == ^uint64(0) {
			return nil
		}
		above = to
	}
}

func nameOf(k timeline.Key) string {
	switch k.Kind {
	case timeline.Inbox:
		return fmt.Sprintf("the stream of user %d", k.ID)
	case timeline.Feed:
		return fmt.Sprintf("the feed of user %d", k.ID)
	}
	return fmt.Sprintf("conversation %d", k.ID)
}

const page = 2000

func (m *mover) compareKey(ctx context.Context, log reader, k timeline.Key) error {
	ofSource, err := m.source.log.Tail(ctx, k)
	if err != nil {
		return err
	}
	ofTarget, err := log.Tail(ctx, k)
	if err != nil {
		return err
	}
	if ofSource != ofTarget {
		m.report.differ("%s: the source's tail is %+v, the target's %+v", nameOf(k), ofSource, ofTarget)
	}
	after, count := uint64(0), uint64(0)
	for {
		ofSource, err := m.source.log.Read(ctx, k, after, page)
		if err != nil {
			return err
		}
		ofTarget, err := log.Read(ctx, k, after, page)
		if err != nil {
			return err
		}
		count += uint64(len(ofSource))
		if !slices.EqualFunc(ofSource, ofTarget, equal) {
			m.report.differ("%s: entries above %d differ", nameOf(k), after)
			break
		}
		if len(ofSource) < page {
			break
		}
		after = ofSource[len(ofSource)-1].Seq
	}
	m.report.mu.Lock()
	defer m.report.mu.Unlock()
	if k.Kind == timeline.Inbox {
		m.report.Inboxes++
		m.report.Posts += count
	} else {
		m.report.Conversations++
		m.report.Entries += count
	}
	return nil
}

func equal(a, b timeline.Entry) bool {
	return a.Seq == b.Seq && a.Counted == b.Counted && a.Prev == b.Prev && bytes.Equal(a.Payload, b.Payload)
}

// compareRows compares tokens, authors and heads, in the order of the source's rows.
func (m *mover) compareRows(ctx context.Context, log reader) error {
	tokens, authors := uint64(0), uint64(0)
	err := forEach(ctx, parallel, rowRanges, func(ctx context.Context, name string) error {
		var rows []timeline.Row
		check := func() error {
			if len(rows) == 0 {
				return nil
			}
			defer func() { rows = rows[:0] }()
			m.report.mu.Lock()
			for _, r := range rows {
				switch r.Kind {
				case timeline.RowToken:
					tokens++
				case timeline.RowAuthor:
					authors++
				}
			}
			m.report.mu.Unlock()
			return m.compareSome(ctx, log, rows)
		}
		switch name {
		case "tokens", "sums", "authors", "heads":
		default:
			return nil // entries, tails and records are compared elsewhere
		}
		err := m.source.log.Export(ctx, name, nil, func(_ []byte, more []timeline.Row) error {
			if rows = append(rows, more...); len(rows) < page {
				return nil
			}
			return check()
		})
		return errors.Join(err, check())
	})
	m.report.Tokens = tokens
	counts, ok := log.(counter)
	if err != nil || !ok {
		return err
	}
	moreTokens, moreAuthors, err := counts.Stored(ctx)
	if moreTokens != tokens || moreAuthors != authors {
		m.report.differ("the source has %d tokens and %d authors, the target has %d and %d", tokens, authors, moreTokens, moreAuthors)
	}
	return err
}

// compareSome compares rows of one kind.
func (m *mover) compareSome(ctx context.Context, log reader, rows []timeline.Row) error {
	switch rows[0].Kind {
	case timeline.RowToken:
		return m.compareTokens(ctx, log, rows)
	case timeline.RowAuthor:
		var authors []timeline.AuthorKey
		for _, r := range rows {
			authors = append(authors, timeline.AuthorKey{Key: r.Key, Author: r.Author})
		}
		places, err := log.LatestByAuthors(ctx, authors)
		if err != nil {
			return err
		}
		for i, r := range rows {
			if places[i] != (timeline.Position{Seq: r.Seq, Counted: r.Counted}) {
				m.report.differ("%s: the latest entry of user %d is %d, but %d in the target", nameOf(r.Key), r.Author, r.Seq, places[i].Seq)
			}
		}
	case timeline.RowFirstSeq:
		return forEach(ctx, parallel, rows, func(ctx context.Context, r timeline.Row) error {
			ofSource, err := m.source.log.Tail(ctx, r.Key)
			if err != nil {
				return err
			}
			ofTarget, err := log.Tail(ctx, r.Key)
			if err == nil && ofSource != ofTarget {
				m.report.differ("%s: the source's tail is %+v, the target's %+v", nameOf(r.Key), ofSource, ofTarget)
			}
			return err
		})
	}
	return nil
}

func (m *mover) compareTokens(ctx context.Context, log reader, rows []timeline.Row) error {
	var tokens []timeline.TokenKey
	var devices []timeline.Device
	for _, r := range rows {
		tokens = append(tokens, timeline.TokenKey{Key: r.Key, Token: r.Token})
		d := timeline.Device{Sender: r.Token.Sender, Device: r.Token.Device}
		if r.Token.Counter > 0 && (len(devices) == 0 || devices[len(devices)-1] != d) {
			devices = append(devices, d)
		}
	}
	seqs, err := log.TokenSeqs(ctx, tokens)
	if err != nil {
		return err
	}
	for i, r := range rows {
		if seqs[i] != r.Seq {
			m.report.differ("%s: a token of user %d belongs to entry %d, but to %d in the target", nameOf(r.Key), r.Token.Sender, r.Seq, seqs[i])
		}
	}
	ofSource, err := m.source.log.HighestCounters(ctx, devices)
	if err != nil {
		return err
	}
	ofTarget, err := log.HighestCounters(ctx, devices)
	if err != nil {
		return err
	}
	for i, d := range devices {
		if ofSource[i] < ofTarget[i] || ofSource[i] > ofTarget[i] && !m.countersAhead {
			m.report.differ("device %d of user %d has sent %d, but %d in the target", d.Device, d.Sender, ofSource[i], ofTarget[i])
		}
	}
	return nil
}

// comparePartitions compares the fan-out records above the checkpoints.
func (m *mover) comparePartitions(ctx context.Context, log reader) error {
	for p := range uint16(timeline.Partitions) {
		at, err := m.source.log.Checkpoint(ctx, p)
		if err != nil {
			return err
		}
		targetCheckpoint, err := log.Checkpoint(ctx, p)
		if err != nil {
			return err
		}
		if at != targetCheckpoint {
			m.report.differ("partition %d: the checkpoint is %d, but %d in the target", p, at, targetCheckpoint)
		}
		for {
			ofSource, err := m.source.log.FanoutRecords(ctx, p, at, page)
			if err != nil {
				return err
			}
			ofTarget, err := timeline.AwaitFanoutRecords(ctx, log, p, at, page)
			if err != nil {
				return err
			}
			if m.Cassandra != nil {
				if err := m.normalizeRecords(ctx, ofSource, ofTarget); err != nil {
					return err
				}
			}
			if !slices.EqualFunc(ofSource, ofTarget, func(a, b timeline.FanoutRecord) bool { return a.Seq == b.Seq && slices.Equal(a.Refs, b.Refs) }) {
				m.report.differ("partition %d: records above %d differ", p, at)
			}
			if len(ofSource) == 0 {
				break
			}
			at = ofSource[len(ofSource)-1].Seq
		}
	}
	return nil
}

// normalizeRecords brings records of both sides to one form: Cassandra lists only unexpired entries, in one range for each segment.
func (m *mover) normalizeRecords(ctx context.Context, ofSource, ofTarget []timeline.FanoutRecord) error {
	for i := range ofSource {
		var unexpired []timeline.Ref
		for _, r := range ofSource[i].Refs {
			entries, err := m.source.log.Get(ctx, []timeline.Ref{r})
			if err != nil {
				return err
			}
			for _, e := range entries {
				unexpired = append(unexpired, timeline.Ref{Key: r.Key, From: e.Seq, To: e.Seq})
			}
		}
		ofSource[i].Refs = joinRanges(unexpired)
	}
	for i := range ofTarget {
		ofTarget[i].Refs = joinRanges(ofTarget[i].Refs)
	}
	return nil
}

// joinRanges joins consecutive ranges of a timeline.
func joinRanges(refs []timeline.Ref) (runs []timeline.Ref) {
	for _, r := range refs {
		if n := len(runs) - 1; n >= 0 && runs[n].Key == r.Key && runs[n].To+1 == r.From {
			runs[n].To = r.To
		} else {
			runs = append(runs, r)
		}
	}
	return runs
}
