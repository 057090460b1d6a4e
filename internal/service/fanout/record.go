package fanout

import (
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// record gives the recorder the entries of the round that were posted to inboxes, and those that are broadcast next.
func (l *lane) record() {
	to := l.worker.deps.Recorder
	if to == nil || len(l.tasks) == 0 {
		return
	}
	at, posts := to.NowUs(), l.posts
	for i := range l.tasks {
		t := &l.tasks[i]
		some := posts[:t.posts]
		posts = posts[t.posts:]
		r := flightrecorder.Record{AtUs: at, Kind: flightrecorder.Posted, Conversation: uint64(t.conversation), Seq: t.seq}
		switch {
		case t.kind != message.DeliverEntry:
			continue
		case t.large:
			r.Kind, r.User = flightrecorder.Broadcast, uint64(len(l.worker.deps.Directory.Followers(t.conversation)))
		default:
			if r.User, r.Device = countPosted(some); r.User == 0 {
				continue
			}
		}
		l.records = append(l.records, r)
	}
	to.Add(l.records...)
	l.records = l.records[:0]
}

// countPosted returns how many posts to streams of users were stored, and the set of their partitions.
func countPosted(posts []timeline.Post) (n, partitions uint64) {
	for i := range posts {
		if p := &posts[i]; p.Seq != 0 && !p.Key.IsEventStream() {
			n++
			partitions |= uint64(setOf(p.Key.Partition()))
		}
	}
	return n, partitions
}
