package pglog

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// FuzzNumbers: an array is decoded as PostgreSQL's own client decodes it, or rejected.
func FuzzNumbers(f *testing.F) {
	f.Add(appendNumbers(nil, typeInt8, []uint64{1, 2, 1 << 62}))
	f.Add(appendNumbers[uint64](nil, typeInt8, nil))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, typeInt8, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1})
	types := pgtype.NewMap()
	f.Fuzz(func(t *testing.T, b []byte) {
		got := numbers(b)
		if got == nil {
			return
		}
		var want []int64
		if err := types.Scan(pgtype.Int8ArrayOID, pgtype.BinaryFormatCode, b, &want); err != nil {
			t.Fatalf("%x was decoded as %v: %v", b, got, err)
		}
		if !slices.EqualFunc(got, want, func(a uint64, b int64) bool { return a == uint64(b) }) {
			t.Fatalf("%x is %v, but was decoded as %v", b, want, got)
		}
	})
}

// FuzzRow: whatever the database answers, a row is assigned to an append of the batch or rejected.
func FuzzRow(f *testing.F) {
	row := func(values ...[]byte) (b []byte) {
		for _, v := range values {
			b = append(append(b, byte(len(v))), v...)
		}
		return b
	}
	f.Add(byte(1), row([]byte{0, 7}, int8Value(5)))
	f.Add(byte(2), row(int8Value(1), int8Value(2), int8Value(3), []byte{1}, int8Value(0)))
	f.Add(byte(2), row(int8Value(0), int8Value(2), int8Value(3), []byte{1}, int8Value(0)))
	f.Add(byte(2), row(int8Value(9), int8Value(2), int8Value(3), []byte{1}, int8Value(0)))
	f.Add(byte(2), row(nil, int8Value(2), int8Value(3), nil, int8Value(0)))
	f.Fuzz(func(t *testing.T, statement byte, b []byte) {
		var values [][]byte
		for len(b) > 0 {
			n := min(int(b[0]), len(b)-1)
			values, b = append(values, b[1:1+n]), b[1+n:]
		}
		r := results{rows: make([]result, 3)}
		if err := r.row(int(statement), values); err != nil {
			if len(r.records) != 0 || slices.ContainsFunc(r.rows, func(r result) bool { return r != result{} }) {
				t.Fatalf("%x was rejected, but had an effect: %+v", values, r)
			}
			return
		}
		switch statement {
		case 1:
			if len(r.records) != 1 || r.records[0] != binary.BigEndian.Uint64(values[1]) {
				t.Fatalf("%x gave %+v", values, r)
			}
		case 2:
			if got := r.rows[binary.BigEndian.Uint64(values[0])-1]; got.seq != binary.BigEndian.Uint64(values[1]) || got.stored != binary.BigEndian.Uint64(values[4]) {
				t.Fatalf("%x gave %+v", values, r)
			}
		}
	})
}

// FuzzArguments: PostgreSQL's own client decodes the arguments of a batch to the same values.
func FuzzArguments(f *testing.F) {
	f.Add(uint64(1), []byte("text"), uint64(2), uint64(3), uint64(4), []byte(nil), uint64(5), byte(0xff))
	f.Add(uint64(1)<<63, []byte(nil), uint64(0), uint64(0), uint64(0), []byte("0123456789abcdef"), uint64(0), byte(0))
	f.Fuzz(func(t *testing.T, key uint64, payload []byte, sender, device, counter uint64, sum []byte, author uint64, flags byte) {
		a := &timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: key}, Payload: payload, Author: author,
			Token: timeline.Token{Sender: sender, Device: device, Counter: counter}, ExpectedAccess: author,
			Counts: flags&1 != 0, CheckAccess: flags&2 != 0, SetAccess: flags&4 != 0, NeedsFanout: flags&8 != 0}
		copy(a.Token.Sum[:], sum)
		var p arguments
		p.fill([]*timeline.AppendRequest{{}, a})
		var ids, senders, devices, authors []int64
		var payloads [][]byte
		var counters, ifs []*int64
		var sums []*[16]byte
		var counts, sets, carries []bool
		types := pgtype.NewMap()
		for _, of := range []struct {
			at, oid int
			to      any
		}{{0, pgtype.Int8ArrayOID, &ids}, {3, pgtype.ByteaArrayOID, &payloads}, {4, pgtype.Int8ArrayOID, &senders}, {5, pgtype.Int8ArrayOID, &devices},
			{6, pgtype.Int8ArrayOID, &counters}, {7, pgtype.UUIDArrayOID, &sums}, {8, pgtype.Int8ArrayOID, &authors}, {9, pgtype.BoolArrayOID, &counts},
			{10, pgtype.Int8ArrayOID, &ifs}, {11, pgtype.BoolArrayOID, &sets}, {12, pgtype.BoolArrayOID, &carries}} {
			if err := types.Scan(uint32(of.oid), pgtype.BinaryFormatCode, p[of.at], of.to); err != nil {
				t.Fatalf("argument %d is %x: %v", of.at, p[of.at], err)
			}
		}
		if uint64(ids[1]) != key || string(payloads[1]) != string(payload) || uint64(senders[1]) != sender || uint64(devices[1]) != device ||
			uint64(authors[1]) != author || counts[1] != a.Counts || sets[1] != a.SetAccess || carries[1] != a.NeedsFanout {
			t.Errorf("%+v is sent as %v %q %v %v %v %v %v %v", a, ids, payloads, senders, devices, authors, counts, sets, carries)
		}
		hasSum := !a.Token.IsZero() && counter == 0
		if (counters[1] != nil) != (counter != 0) || counter != 0 && uint64(*counters[1]) != counter || (sums[1] != nil) != hasSum || hasSum && *sums[1] != a.Token.Sum {
			t.Errorf("the token %+v is sent as %v, %v", a.Token, counters[1], sums[1])
		}
		if (ifs[1] != nil) != a.CheckAccess || a.CheckAccess && author < 1<<63 && uint64(*ifs[1]) != author {
			t.Errorf("%+v is sent with %v", a, ifs[1])
		}
	})
}
