package cassandralog

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

type device struct{ sender, device uint64 }

// Kinds of tokens, their first byte.
const (
	tokenCounter = 'c' // then sender, device and counter, 8 bytes each, big-endian
	tokenSum     = 's' // then 16 bytes
)

func tokenBytes(t *timeline.Token) []byte {
	if t.Counter == 0 {
		return append([]byte{tokenSum}, t.Sum[:]...)
	}
	b := binary.BigEndian.AppendUint64([]byte{tokenCounter}, t.Sender)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, t.Device), t.Counter)
}

func counterOf(b []byte) (d device, counter uint64, ok bool) {
	if len(b) != 25 || b[0] != tokenCounter {
		return d, 0, false
	}
	d, counter = device{binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:])}, binary.BigEndian.Uint64(b[17:])
	return d, counter, counter != 0 // without a counter it is a hash token
}

// tokenIn returns the seq that a segment has stored for a token, 0 if there is none.
func (l *Log) tokenIn(ctx context.Context, k timeline.Key, segment uint64, token []byte, serial bool) (uint64, error) {
	return l.query(ctx, selectToken, l.segmentArgs(k, segment, token)...).at(serial).scanSeq()
}

// tokenBefore looks up a token in the segments below one. They are sealed, so the result is final. A counter above the device's highest
// one in them is in none of them.
func (l *Log) tokenBefore(ctx context.Context, k timeline.Key, segment uint64, t *timeline.Token) (uint64, error) {
	if t.Counter != 0 && segment > 0 {
		highest, err := l.pastCounter(ctx, k, segment, device{t.Sender, t.Device})
		if err != nil || t.Counter > highest {
			return 0, err
		}
	}
	token := tokenBytes(t)
	for segment > 0 {
		segment--
		if seq, err := l.tokenIn(ctx, k, segment, token, false); err != nil || seq != 0 {
			return seq, err
		}
	}
	return 0, nil
}

// pastCounter returns a device's highest counter in the segments below one. It never changes, so it is cached.
func (l *Log) pastCounter(ctx context.Context, k timeline.Key, segment uint64, d device) (uint64, error) {
	if highest, ok := l.cache.past(k, segment, d); ok {
		return highest, nil
	}
	highest, err := l.query(ctx, selectPastCounter, l.options.Store, int64(k.ID), int64(d.sender), int64(d.device)).scanSeq()
	if err == nil {
		l.cache.setPast(k, segment, d, highest)
	}
	return highest, err
}

// putDevices writes the devices' counters before the entries are stored. A value that is too high does no harm.
func (l *Log) putDevices(ctx context.Context, appends []*timeline.AppendRequest) error {
	highest := map[device]uint64{}
	for _, a := range appends {
		if a.Token.Counter != 0 {
			d := device{a.Token.Sender, a.Token.Device}
			highest[d] = max(highest[d], a.Token.Counter)
		}
	}
	return forEach(highest, func(d device, counter uint64) error {
		if l.cache.counter(d) >= counter {
			return nil
		}
		if err := l.query(ctx, insertDevice, int64(counter), int64(counter), l.options.Store, int64(d.sender), int64(d.device)).Exec(); err != nil {
			return err
		}
		l.cache.setCounter(d, counter)
		return nil
	})
}

// HighestCounter returns a device's highest counter. It may include an append that is not stored yet: a skipped number does no harm.
func (l *Log) HighestCounter(ctx context.Context, sender, dev uint64) (uint64, error) {
	return l.query(ctx, selectDevice, l.options.Store, int64(sender), int64(dev)).scanSeq()
}

// LatestByAuthor returns an author's latest entry.
func (l *Log) LatestByAuthor(ctx context.Context, k timeline.Key, author uint64) (seq, counted uint64, err error) {
	s, err := l.newestSegment(ctx, k)
	if err != nil || s.version == 0 {
		return 0, 0, err
	}
	var at, n int64
	err = l.query(ctx, selectAuthor, l.segmentArgs(k, s.segment, int64(author))...).Scan(&at, &n)
	if errors.Is(err, gocql.ErrNotFound) {
		err = nil
		if s.segment > 0 {
			err = l.query(ctx, selectPastAuthor, l.options.Store, int64(k.ID), int64(author)).Scan(&at, &n)
		}
	}
	return uint64(at), uint64(n), notFoundIsNone(err)
}
