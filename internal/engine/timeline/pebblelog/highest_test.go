package pebblelog

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A batch that fills the cache of counters, and has a lower counter of a device before a retry of the highest: the retry is a duplicate.
func TestALowerCounterHidesNoHigherOne(t *testing.T) {
	l, err := Open("log", Options{FS: vfs.NewMem(), cachedKeys: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing is read afterwards
	key := timeline.Key{Kind: timeline.Conversation, ID: 1}
	send := func(device, counter uint64) *timeline.AppendRequest {
		return &timeline.AppendRequest{Key: key, Author: device, Payload: []byte("x"), Token: timeline.Token{Sender: device, Device: device, Counter: counter}}
	}
	commit := func(batch ...*timeline.AppendRequest) {
		t.Helper()
		l.committer.commit(batch)
		for _, a := range batch {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
		}
	}
	first := send(2, 100)
	commit(first)
	commit(send(3, 1), send(4, 1)) // the counter of device 2 is dropped from the cache
	retry := send(2, 100)
	commit(send(1, 1), send(2, 50), retry)
	if !retry.Duplicate || retry.Seq != first.Seq {
		t.Errorf("the retry got seq %d, duplicate %v; want that of the first, %d", retry.Seq, retry.Duplicate, first.Seq)
	}
}
