package fanout

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// maxAnnouncementBytes bounds what waits to be announced. Commits beyond are not announced: their owners read them from the log.
const maxAnnouncementBytes = 8 << 20

const (
	// announcementBytes is the approximate size of one message. More goes into another one, so that few buffers are reused.
	announcementBytes = 64 << 10
	// At most so many buffers, of at most so many bytes each, are kept for reuse.
	maxSpareBuffers           = 16
	maxSpareAnnouncementBytes = 4 * announcementBytes
)

// announcements tell the owners of partitions what this node has committed in them. They have their own goroutine: publishing blocks
// while a bus server is silent, and the committer must answer senders meanwhile.
type announcements struct {
	wake chan struct{} // signalled when something waits

	mu      sync.Mutex // guards the fields below
	queue   []nodePayload
	last    map[string]int // index in queue, by node
	bytes   int            // of queue
	scratch []byte         // reused
	spare   [][]byte       // buffers that have been sent
}

// nodePayload is one message for a node.
type nodePayload struct {
	node string
	data []byte
}

// announce queues the commits for the nodes that own their partitions. Announcements may be lost: owners also read the log.
func (w *Worker) announce(commits []timeline.Commit) {
	if w.deps.Owner == nil {
		return
	}
	t, some := &w.announcements, false
	t.mu.Lock()
	for i := range commits {
		if node := w.deps.Owner(commits[i].Partition); node != "" && node != w.deps.Node {
			some = t.add(node, &commits[i]) || some
		}
	}
	t.mu.Unlock()
	if some {
		wakeup.Signal(t.wake)
	}
}

// add packs a commit, and reports whether there was room. The caller holds mu.
func (t *announcements) add(node string, c *timeline.Commit) bool {
	t.scratch = appendCommit(t.scratch[:0], c)
	if len(t.scratch)+binary.MaxVarintLen64 > bus.MaxData {
		t.scratch = appendCommit(t.scratch[:0], &timeline.Commit{Partition: c.Partition, RecordSeq: c.RecordSeq}) // its owner has to read it from the log
	}
	more := len(t.scratch) + binary.MaxVarintLen64
	if t.bytes+more > maxAnnouncementBytes {
		return false
	}
	t.bytes += more
	at, ok := t.last[node]
	if !ok || len(t.queue[at].data)+more > announcementBytes {
		at = len(t.queue)
		t.last[node] = at
		t.queue = append(t.queue, nodePayload{node, t.buffer()})
	}
	p := &t.queue[at]
	p.data = append(binary.AppendUvarint(p.data, uint64(len(t.scratch))), t.scratch...)
	return true
}

// buffer returns an empty buffer. The caller holds mu.
func (t *announcements) buffer() (p []byte) {
	if last := len(t.spare) - 1; last >= 0 {
		p, t.spare = t.spare[last], t.spare[:last]
	}
	return p
}

// runAnnouncements publishes until ctx ends.
func (w *Worker) runAnnouncements(ctx context.Context) {
	var sent []nodePayload
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.announcements.wake:
			sent = w.announcements.take(sent)
			for _, p := range sent {
				w.publishCommits(p.node, p.data)
			}
		}
	}
}

// take returns the queued messages. It takes back those that were sent, and reuses their buffers if they are small.
func (t *announcements) take(sent []nodePayload) []nodePayload {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range sent {
		if cap(sent[i].data) <= maxSpareAnnouncementBytes && len(t.spare) < maxSpareBuffers {
			t.spare = append(t.spare, sent[i].data[:0])
		}
	}
	clear(sent)
	queue := t.queue
	t.queue, t.bytes = sent[:0], 0
	clear(t.last)
	return queue
}

func (w *Worker) publishCommits(node string, data []byte) {
	if err := w.deps.Bus.Publish(commitSubject(node), data); err != nil {
		w.deps.Logger.Debug("an announcement of commits was lost", "node", node, "error", err)
	}
}

// handleCommits buffers what another node has committed, each commit behind its length.
func (w *Worker) handleCommits(data []byte) {
	for f := message.FieldsOf(data); len(f.Rest()) > 0; {
		c, ok := decodeCommit(slices.Clone(f.Bytes())) // cloned one by one: a partition that keeps one commit must not keep the whole message
		if !ok {
			w.deps.Logger.Error("an announced commit cannot be decoded")
			continue
		}
		w.dispatchers[c.Partition%dispatcherCount].offer(&c)
	}
	for _, c := range w.dispatchers {
		c.signal()
	}
}

func appendCommit(b []byte, c *timeline.Commit) []byte {
	b = binary.AppendUvarint(b, uint64(c.Partition))
	b = binary.AppendUvarint(b, c.RecordSeq)
	for i := range c.Entries {
		e := &c.Entries[i]
		b = binary.AppendUvarint(b, e.Key.ID)
		b = binary.AppendUvarint(b, e.Seq)
		b = binary.AppendUvarint(b, e.Counted)
		b = binary.AppendUvarint(b, uint64(len(e.Payload)))
		b = append(b, e.Payload...)
	}
	return b
}

func decodeCommit(b []byte) (c timeline.Commit, ok bool) {
	f := message.FieldsOf(b)
	partition := f.Uvarint()
	c.RecordSeq = f.Uvarint()
	if partition >= timeline.Partitions {
		return c, false
	}
	c.Partition = uint16(partition)
	for len(f.Rest()) > 0 {
		c.Entries = append(c.Entries, timeline.CommittedEntry{Key: timeline.Key{Kind: timeline.Conversation, ID: f.Uvarint()}, Seq: f.Uvarint(), Counted: f.Uvarint(), Payload: f.Bytes()})
	}
	return c, !f.Bad()
}
