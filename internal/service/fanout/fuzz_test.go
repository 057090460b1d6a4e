package fanout

import (
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// What another node says of its commits is refused, or read as it would be written again, and is of a partition that exists.
func FuzzCommits(f *testing.F) {
	c := &timeline.Commit{Partition: 3, RecordSeq: 300, Entries: []timeline.CommittedEntry{{Key: timeline.Key{Kind: timeline.Conversation, ID: 7}, Seq: 9, Counted: 8, Payload: []byte("entry")}}}
	f.Add(appendCommit(nil, c))
	f.Add(appendCommit(nil, &timeline.Commit{Partition: timeline.Partitions}))
	f.Add(append(appendCommit(nil, &timeline.Commit{}), 1, 2, 3, 0xff, 0xff, 0x7f)) // a payload that does not come
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ok := decodeCommit(b)
		if !ok {
			return
		}
		again, ok := decodeCommit(appendCommit(nil, &c))
		if !ok || !reflect.DeepEqual(again, c) || c.Partition >= timeline.Partitions || 4*len(c.Entries) > len(b) {
			t.Errorf("%x was read as %+v, and again as %+v, %v", b, c, again, ok)
		}
	})
}
