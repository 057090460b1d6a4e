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

	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/pebblelog"
)

// compare reads both sides, whole.
func (m *mover) compare(ctx context.Context) (err error) {
	began := time.Now()
	defer func() { m.report.Compared = time.Since(began) }()
	m.Say("comparing records …")
	if err := eachOf(ctx, lanes, m.source.tables, m.compareTable); err != nil {
		return fmt.Errorf("comparing records: %w", err)
	}
	log, err := m.target.sink.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	for _, kind := range []timeline.Kind{timeline.Conversation, timeline.Inbox} {
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
	m.Say("comparing files …")
	return m.compareFiles(ctx)
}

// sum of many rows in any order: their number, and the sum of their hashes.
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
	carry := uint64(0)
	for i := range s.hash {
		s.hash[i], carry = bits.Add64(s.hash[i], binary.BigEndian.Uint64(h[8*i:]), carry)
	}
}

func (m *mover) compareTable(ctx context.Context, t table) error {
	var here, there sum
	columns := t.columnNames()
	err := m.source.rows(ctx, t, -1<<63, func(_ int64, row []any, _ int) error {
		for _, shared := range idgen.Share(t.name, columns, row) {
			here.add(shared)
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows, err := m.target.pool.Query(ctx, `SELECT `+quoted(columns)+` FROM `+quoted([]string{t.name}))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := rows.Values()
		if err != nil {
			return err
		}
		there.add(row)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if here != there {
		m.report.differ("the table %s: the directory has %d rows, the target %d%s", t.name, here.rows, there.rows, map[bool]string{true: ", of other content"}[here.rows == there.rows])
	}
	m.report.mu.Lock()
	defer m.report.mu.Unlock()
	m.report.Tables++
	m.report.Records += here.rows
	return nil
}

// keysAtOnce are compared side by side.
const keysAtOnce = 1000

// compareKind compares all timelines of a kind, entry by entry.
func (m *mover) compareKind(ctx context.Context, log reader, kind timeline.Kind) error {
	above := uint64(0)
	for {
		here, err := m.source.log.Keys(ctx, kind, above, keysAtOnce)
		if err != nil {
			return err
		}
		there, err := log.Keys(ctx, kind, above, keysAtOnce)
		if err != nil {
			return err
		}
		// Beyond the end of the shorter list nothing is known of it yet.
		to := ^uint64(0)
		for _, list := range [][]timeline.Key{here, there} {
			if len(list) == keysAtOnce {
				to = min(to, list[len(list)-1].ID)
			}
		}
		within := func(k timeline.Key) bool { return k.ID > to }
		here, there = slices.DeleteFunc(here, within), slices.DeleteFunc(there, within)
		known := map[timeline.Key]bool{}
		for _, k := range here {
			known[k] = true
		}
		for _, k := range there {
			if known[k] {
				continue
			}
			entries, err := log.Read(ctx, k, 0, 1) // Cassandra knows also those of which nothing is left
			if err != nil {
				return err
			}
			if len(entries) > 0 {
				m.report.differ("%s is in the target only", nameOf(k))
			}
		}
		if err := eachOf(ctx, lanes, here, func(ctx context.Context, k timeline.Key) error { return m.compareKey(ctx, log, k) }); err != nil {
			return err
		}
		if to == ^uint64(0) {
			return nil
		}
		above = to
	}
}

func nameOf(k timeline.Key) string {
	if k.Kind == timeline.Inbox {
		return fmt.Sprintf("the stream of user %d", k.ID)
	}
	return fmt.Sprintf("conversation %d", k.ID)
}

const page = 2000

func (m *mover) compareKey(ctx context.Context, log reader, k timeline.Key) error {
	here, err := m.source.log.Tail(ctx, k)
	if err != nil {
		return err
	}
	there, err := log.Tail(ctx, k)
	if err != nil {
		return err
	}
	if here != there {
		m.report.differ("%s: the directory's tail is %+v, the target's %+v", nameOf(k), here, there)
	}
	after, count := uint64(0), uint64(0)
	for {
		mine, err := m.source.log.Read(ctx, k, after, page)
		if err != nil {
			return err
		}
		theirs, err := log.Read(ctx, k, after, page)
		if err != nil {
			return err
		}
		count += uint64(len(mine))
		if !slices.EqualFunc(mine, theirs, equal) {
			m.report.differ("%s: entries above %d differ", nameOf(k), after)
			break
		}
		if len(mine) < page {
			break
		}
		after = mine[len(mine)-1].Seq
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

// compareRows compares what is beside the entries, in the order of the directory's rows.
func (m *mover) compareRows(ctx context.Context, log reader) error {
	tokens, authors := uint64(0), uint64(0)
	err := eachOf(ctx, lanes, pebblelog.Parts(), func(ctx context.Context, p pebblelog.Part) error {
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
		switch p.Name {
		case "tokens", "sums", "authors", "heads":
		default:
			return nil // entries, tails and records are compared as they are read
		}
		err := m.source.log.Export(ctx, p, nil, func(_ []byte, r timeline.Row) error {
			if rows = append(rows, r); len(rows) < page {
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
		m.report.differ("the directory has %d tokens and %d authors, the target %d and %d", tokens, authors, moreTokens, moreAuthors)
	}
	return err
}

// compareSome compares rows of one kind.
func (m *mover) compareSome(ctx context.Context, log reader, rows []timeline.Row) error {
	switch rows[0].Kind {
	case timeline.RowToken:
		return m.compareTokens(ctx, log, rows)
	case timeline.RowAuthor:
		var asked []timeline.Writer
		for _, r := range rows {
			asked = append(asked, timeline.Writer{Key: r.Key, Author: r.Author})
		}
		places, err := log.LastsBy(ctx, asked)
		if err != nil {
			return err
		}
		for i, r := range rows {
			if places[i] != (timeline.Place{Seq: r.Seq, Counted: r.Counted}) {
				m.report.differ("%s: the last of user %d is %d, and in the target %d", nameOf(r.Key), r.Author, r.Seq, places[i].Seq)
			}
		}
	case timeline.RowHead:
		return eachOf(ctx, lanes, rows, func(ctx context.Context, r timeline.Row) error {
			here, err := m.source.log.Tail(ctx, r.Key)
			if err != nil {
				return err
			}
			there, err := log.Tail(ctx, r.Key)
			if err == nil && here != there {
				m.report.differ("%s: the directory's tail is %+v, the target's %+v", nameOf(r.Key), here, there)
			}
			return err
		})
	}
	return nil
}

func (m *mover) compareTokens(ctx context.Context, log reader, rows []timeline.Row) error {
	var asked []timeline.Stored
	var devices []timeline.Device
	for _, r := range rows {
		asked = append(asked, timeline.Stored{Key: r.Key, Token: r.Token})
		d := timeline.Device{Sender: r.Token.Sender, Device: r.Token.Device}
		if r.Token.Counter > 0 && (len(devices) == 0 || devices[len(devices)-1] != d) {
			devices = append(devices, d)
		}
	}
	seqs, err := log.TokenSeqs(ctx, asked)
	if err != nil {
		return err
	}
	for i, r := range rows {
		if seqs[i] != r.Seq {
			m.report.differ("%s: a token of user %d is of entry %d, and in the target of %d", nameOf(r.Key), r.Token.Sender, r.Seq, seqs[i])
		}
	}
	here, err := m.source.log.HighestCounters(ctx, devices)
	if err != nil {
		return err
	}
	there, err := log.HighestCounters(ctx, devices)
	if err != nil {
		return err
	}
	for i, d := range devices {
		if here[i] != there[i] {
			m.report.differ("device %d of user %d has sent %d, and in the target %d", d.Device, d.Sender, here[i], there[i])
		}
	}
	return nil
}

// comparePartitions compares what is not carried yet.
func (m *mover) comparePartitions(ctx context.Context, log reader) error {
	for p := range uint16(timeline.Partitions) {
		at, err := m.source.log.Checkpoint(ctx, p)
		if err != nil {
			return err
		}
		there, err := log.Checkpoint(ctx, p)
		if err != nil {
			return err
		}
		if at != there {
			m.report.differ("partition %d is carried to %d, and in the target to %d", p, at, there)
		}
		for {
			mine, err := m.source.log.Records(ctx, p, at, page)
			if err != nil {
				return err
			}
			theirs, err := timeline.AwaitRecords(ctx, log, p, at, page)
			if err != nil {
				return err
			}
			if m.Cassandra != nil {
				if err := m.asCassandraHas(ctx, mine, theirs); err != nil {
					return err
				}
			}
			if !slices.EqualFunc(mine, theirs, func(a, b timeline.Record) bool { return a.Seq == b.Seq && slices.Equal(a.Refs, b.Refs) }) {
				m.report.differ("partition %d: records above %d differ", p, at)
			}
			if len(mine) == 0 {
				break
			}
			at = mine[len(mine)-1].Seq
		}
	}
	return nil
}

// asCassandraHas brings records of both sides to one form: Cassandra names what has not expired, in a run for each segment.
func (m *mover) asCassandraHas(ctx context.Context, mine, theirs []timeline.Record) error {
	for i := range mine {
		var there []timeline.Ref
		for _, r := range mine[i].Refs {
			entries, err := m.source.log.Get(ctx, []timeline.Ref{r})
			if err != nil {
				return err
			}
			for _, e := range entries {
				there = append(there, timeline.Ref{Key: r.Key, From: e.Seq, To: e.Seq})
			}
		}
		mine[i].Refs = joined(there)
	}
	for i := range theirs {
		theirs[i].Refs = joined(theirs[i].Refs)
	}
	return nil
}

// joined are runs of one timeline that follow each other, as one.
func joined(refs []timeline.Ref) (runs []timeline.Ref) {
	for _, r := range refs {
		if n := len(runs) - 1; n >= 0 && runs[n].Key == r.Key && runs[n].To+1 == r.From {
			runs[n].To = r.To
		} else {
			runs = append(runs, r)
		}
	}
	return runs
}
