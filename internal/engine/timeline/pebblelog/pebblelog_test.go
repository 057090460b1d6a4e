package pebblelog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

func TestLog(t *testing.T) {
	timelinetest.Run(t, func(t testing.TB, listener timeline.Listener) timeline.Log {
		l, err := pebblelog.Open("log", pebblelog.Options{FS: vfs.NewMem(), Listener: listener})
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}

// A retry is harmless however late it is, also after the log was reopened.
func TestRetriesOfAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		open := func() *pebblelog.Log {
			t.Helper()
			l, err := pebblelog.Open("log", pebblelog.Options{FS: fs, Free: func() (uint64, error) { return 1 << 40, nil }})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		l := open()
		k := timeline.Key{Kind: timeline.Conversation, ID: 1}
		tokens := []timeline.Token{{Sender: 1, Device: 2, Counter: 3}, {Sum: [16]byte{4}}}
		send := func(token timeline.Token) *timeline.AppendRequest {
			return timelinetest.Append(l, &timeline.AppendRequest{Key: k, Payload: []byte("once"), Token: token})
		}
		for i, token := range tokens {
			if a := send(token); a.Err != nil || a.Duplicate || a.Seq != uint64(i+1) {
				t.Fatalf("append %d is answered with %+v, want a new entry with that seq", i+1, a)
			}
		}
		for _, later := range []time.Duration{3 * time.Minute, 2 * time.Hour} {
			time.Sleep(later)
			for i, token := range tokens {
				if a := send(token); a.Err != nil || !a.Duplicate || a.Seq != uint64(i+1) || string(a.StoredPayload) != "once" {
					t.Errorf("%v later the retry of %+v got %+v", later, token, a)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = open()
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
