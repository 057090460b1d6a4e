package coldtier

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

const (
	keysAtOnce = 500
	readAtOnce = 500 // entries that are read from the log, or trimmed, at once
	// putTimeout bounds the writing of a file. It is far below Config.SweepAfter, after which the file would be deleted.
	putTimeout = 5 * time.Minute
)

// Run packs, rewrites and sweeps until ctx ends.
func (t *Tier) Run(ctx context.Context) error {
	for {
		if err := t.Round(ctx); err != nil && ctx.Err() == nil {
			t.deps.Logger.Warn("the cold tier could not be brought up to date; it is tried again", "error", err, "after", t.config.Interval)
		}
		if backoff.Sleep(ctx, t.untilNext()) != nil {
			return nil
		}
	}
}

// untilNext returns how long Run waits after a round.
func (t *Tier) untilNext() time.Duration {
	if t.heldUp.Swap(false) {
		return min(heldUpInterval, t.config.Interval)
	}
	return t.config.Interval
}

// Round packs what is old enough in the conversations of this node, and then rewrites and sweeps if this node coordinates.
func (t *Tier) Round(ctx context.Context) error {
	var err error
	if t.config.After > 0 {
		err = t.packAll(ctx)
	}
	if t.deps.IsCoordinator != nil && !t.deps.IsCoordinator() {
		return err
	}
	if used, usedErr := t.used(ctx); usedErr != nil || !used {
		return errors.Join(err, usedErr)
	}
	return errors.Join(err, t.rewriteStale(ctx), t.sweep(ctx))
}

// packAll packs the conversations of this node. One that fails does not stop the others.
func (t *Tier) packAll(ctx context.Context) error {
	lag := int64(0)
	for above := uint64(0); ; {
		keys, err := t.deps.Hot.Keys(ctx, timeline.Conversation, above, keysAtOnce)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			t.stats.LagSeconds.Store(lag / 1000)
			return nil
		}
		for _, k := range keys {
			above = k.ID
			if t.deps.OwnsPartition != nil && !t.deps.OwnsPartition(k.Partition()) {
				continue
			}
			late, err := t.packConversation(ctx, k)
			if lag = max(lag, late); err == nil || errors.Is(err, errSuperseded) {
				continue
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			t.stats.Failed.Add(1)
			t.deps.Logger.Error("the old messages of a conversation stay in its log: they could not be packed", "conversation", k.ID, "error", err)
		}
		if err := backoff.Sleep(ctx, t.config.Pause); err != nil {
			return err
		}
	}
}

// cutoff returns the time before which entries are packed, in milliseconds since 1970.
func (t *Tier) cutoff() int64 { return t.deps.Clock.Now().Add(-t.config.After).UnixMilli() }

// packConversation packs and trims a conversation's log until too few entries are old enough. late is how much older than Config.After its
// oldest entry in the log then is, in milliseconds.
func (t *Tier) packConversation(ctx context.Context, key timeline.Key) (late int64, err error) {
	for {
		tail, err := t.deps.Hot.Tail(ctx, key)
		if err != nil || !t.mayBePacked(tail) { // most conversations are short, and need no query
			return 0, err
		}
		s, known, err := spanOf(ctx, t.deps.DB.Read(), key.ID)
		if err != nil {
			return 0, err
		}
		from := max(tail.FirstSeq, 1)
		if known && from < s.first { // expired in the manifest, but not yet in the log
			if err := t.trim(ctx, key, from, min(s.first-1, tail.Seq), nil); err != nil {
				return 0, err
			}
			if s.first > tail.Seq {
				return 0, nil
			}
			continue
		}
		if known && !s.empty() && from <= s.last { // packed, but not trimmed
			if !t.mayTrim() {
				return 0, nil
			}
			if err := t.trim(ctx, key, from, s.last, t.checkPacked); err != nil {
				return 0, err
			}
			continue
		}
		if known && from > s.last+1 && !s.empty() { // as after a backup of the database from before the last packs: nothing more may be lost
			return 0, fmt.Errorf("%w: the entries %d to %d of conversation %d are in neither the log nor the manifest", timeline.ErrCorrupt, s.last+1, from-1, key.ID)
		}
		if tail.Seq < from+uint64(t.config.MinEntries) { // the newest entry stays
			return 0, nil
		}
		if packed, late, err := t.packNext(ctx, key, s, known, from, tail.Seq-1); !packed || err != nil {
			return late, err
		}
		if err := backoff.Sleep(ctx, t.config.Pause); err != nil {
			return 0, err
		}
	}
}

// packNext packs the next segment, if enough of the entries from one seq to another are old enough.
func (t *Tier) packNext(ctx context.Context, key timeline.Key, s span, known bool, from, to uint64) (packed bool, late int64, err error) {
	cut := t.cutoff()
	probe, _, err := timeline.GetEntry(ctx, t.deps.Hot, key, from+uint64(t.config.MinEntries)-1)
	if err != nil || probe.Seq == 0 || message.StoredMs(probe.Payload) >= cut {
		return false, 0, err
	}
	// Entries that fan-out has not dispatched yet stay: without them in its log, an engine may take their records for appends that never came.
	pending, err := timeline.FirstPendingFanout(ctx, t.deps.Hot, key, to+1)
	if err != nil {
		return false, 0, err
	}
	if pending < from+uint64(t.config.MinEntries) {
		t.heldUp.Store(true)
		return false, 0, nil
	}
	entries, err := t.readOld(ctx, key, from, pending-1, cut)
	if err != nil || len(entries) < t.config.MinEntries {
		return false, 0, err
	}
	late = max(cut-message.StoredMs(entries[0].Payload), 0)
	if !known {
		s = span{first: from, last: from - 1} // if the retention introduces it first, the commit fails
		if err := t.introduce(ctx, key.ID, s); err != nil {
			return false, late, err
		}
	}
	n, err := t.write(ctx, key, entries)
	if err != nil {
		return false, late, err
	}
	if err := t.reached("before-commit"); err != nil {
		return false, late, err
	}
	recalled, err := t.recalledSince(ctx, key, entries)
	if err != nil {
		return false, late, err
	}
	if err := t.commitPacked(ctx, key, n, s, recalled); err != nil {
		return false, late, err
	}
	if err := t.reached("after-commit"); err != nil {
		return true, 0, err
	}
	t.markUsed()
	t.stats.Segments.Add(1)
	t.stats.Entries.Add(int64(len(entries)))
	t.stats.Bytes.Add(n.Size)
	return true, 0, nil
}

// readOld returns the entries from one seq to another that are older than a time and fit into a segment. Contents that were recalled are left out.
func (t *Tier) readOld(ctx context.Context, key timeline.Key, from, to uint64, cut int64) (list []timeline.Entry, err error) {
	size := 0
	for {
		some, err := t.deps.Hot.Read(ctx, key, from-1, readAtOnce)
		if err != nil {
			return nil, err
		}
		for i := range some {
			e := &some[i]
			if e.Seq != from {
				return nil, fmt.Errorf("%w: entry %d of conversation %d is missing", timeline.ErrCorrupt, from, key.ID)
			}
			size += len(e.Payload)
			if e.Seq > to || message.StoredMs(e.Payload) >= cut || len(list) == t.config.MaxEntries || size > t.config.MaxBytes && len(list) > 0 {
				return list, t.withoutRecalled(ctx, key, list)
			}
			list = append(list, *e)
			from++
		}
		if len(some) < readAtOnce {
			return list, t.withoutRecalled(ctx, key, list)
		}
	}
}

// withoutRecalled removes the contents of recalled messages.
func (t *Tier) withoutRecalled(ctx context.Context, key timeline.Key, list []timeline.Entry) error {
	if t.deps.Recalled == nil || len(list) == 0 {
		return nil
	}
	first := list[0].Seq
	recalled, err := t.deps.Recalled(ctx, key, first, list[len(list)-1].Seq)
	if err != nil {
		return err
	}
	for _, seq := range recalled {
		e := &list[seq-first]
		var m message.Entry
		if err := m.Decode(e.Payload); err != nil || m.Control {
			continue
		}
		m.Content = nil
		e.Payload = m.Append(nil)
	}
	return nil
}

// introduce makes the retention change the manifest as well as the log.
func (t *Tier) introduce(ctx context.Context, conversation uint64, s span) error {
	err := t.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO cold_conversations (conversation, first_seq, last_seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, int64(conversation), int64(s.first), int64(s.last))
		return err
	})
	if err == nil {
		t.markUsed()
	}
	return err
}

// write writes a segment that readers do not use yet, and reads it back. Before, it checks that its bytes are read as the entries.
func (t *Tier) write(ctx context.Context, key timeline.Key, entries []timeline.Entry) (newSegment, error) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	file := encodeSegment(key.ID, entries)
	if of, list, err := readAll(bytes.NewReader(file)); err != nil || of != key.ID || !slices.EqualFunc(list, entries, sameEntry) {
		return newSegment{}, fmt.Errorf("%w: the entries %d to %d are not read as they were written: %v", errSegment, entries[0].Seq, entries[len(entries)-1].Seq, err)
	}
	sum := sha256.Sum256(file)
	s := newSegment{conversation: key.ID, SegmentRow: SegmentRow{File: fileName(key.ID, entries[0].Seq), First: entries[0].Seq, Last: entries[len(entries)-1].Seq, Size: int64(len(file)), Checksum: sum[:]}}
	if err := t.begin(ctx, s); err != nil {
		return s, err
	}
	if err := t.reached("before-put"); err != nil {
		return s, err
	}
	if err := t.deps.Files.Put(ctx, s.File, bytes.NewReader(file), s.Size); err != nil {
		return s, err
	}
	if err := t.reached("after-put"); err != nil {
		return s, err
	}
	r, size, err := t.deps.Files.Open(ctx, s.File)
	if err != nil {
		return s, err
	}
	stored := sha256.New()
	_, err = io.Copy(stored, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return s, err
	}
	if size != s.Size || !bytes.Equal(stored.Sum(nil), s.Checksum) {
		return s, fmt.Errorf("%w: the file %s is not what was written", errSegment, s.File)
	}
	return s, nil
}

func sameEntry(a, b timeline.Entry) bool {
	return a.Seq == b.Seq && a.Counted == b.Counted && bytes.Equal(a.Payload, b.Payload)
}

// fileName returns a new name in the blob store. The first part spreads conversations over folders.
func fileName(conversation, first uint64) string {
	var unique [8]byte
	_, _ = rand.Read(unique[:]) // never fails
	return formatFileName(conversation, first, hex.EncodeToString(unique[:]))
}

func formatFileName(conversation, first uint64, unique string) string {
	return fmt.Sprintf(filesFolder+"/%02x/%x/%d-%s", byte(timeline.Key{Kind: timeline.Conversation, ID: conversation}.Hash()), conversation, first, unique)
}

// trim removes the entries from one seq to another from the log, which have expired or are in the manifest. Control entries stay. check, if
// not nil, fails if some of the entries must stay as well.
func (t *Tier) trim(ctx context.Context, key timeline.Key, from, to uint64, check func(ctx context.Context, key timeline.Key, some []timeline.Entry) error) error {
	for from <= to {
		entries, err := t.deps.Hot.Read(ctx, key, from-1, int(min(to-from+1, readAtOnce)))
		if err != nil {
			return err
		}
		var keep []uint64
		next := to + 1
		for i := range entries {
			if e := &entries[i]; e.Seq <= to && message.IsControl(e.Payload) {
				keep = append(keep, e.Seq)
			}
		}
		if len(entries) == readAtOnce {
			next = min(next, entries[len(entries)-1].Seq+1)
		}
		for len(entries) > 0 && entries[len(entries)-1].Seq > to {
			entries = entries[:len(entries)-1]
		}
		if check != nil && len(entries) > 0 {
			if err := check(ctx, key, entries); err != nil {
				return err
			}
		}
		if err := t.deps.Hot.Expire(ctx, key, next, keep); err != nil {
			return err
		}
		if err := t.reached("mid-trim"); err != nil {
			return err
		}
		from = next
	}
	return nil
}

// checkPacked compares entries of the log with those that their segments have now. They differ after a backup was restored of a log that is
// older than the manifest: then messages have come since that no segment has.
func (t *Tier) checkPacked(ctx context.Context, key timeline.Key, some []timeline.Entry) error {
	first, last := some[0].Seq, some[len(some)-1].Seq
	if last-first >= readAtOnce {
		return fmt.Errorf("%w: entries of conversation %d between %d and %d are missing", timeline.ErrCorrupt, key.ID, first, last)
	}
	packed, err := t.ascending(ctx, key, first, last, readAtOnce)
	if err != nil {
		return err
	}
	for i := range some {
		e := &some[i]
		if at := e.Seq - first; at >= uint64(len(packed)) { // it expired a moment ago
			return errSuperseded
		} else if !message.SameID(e.Payload, packed[at].Payload) {
			return fmt.Errorf("%w: entry %d of conversation %d is not the one that was packed", timeline.ErrCorrupt, e.Seq, key.ID)
		}
	}
	return nil
}
