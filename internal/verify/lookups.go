package verify

import (
	"github.com/rialto-im/rialto/internal/timeline"
)

// atOnce are looked up in one question to the store: one for each would be a round trip for each.
const atOnce = 2000

// retry of an entry would find it.
type retry struct {
	of    *conversation
	seq   uint64
	token timeline.Stored
}

// author whose latest entry is at a place.
type author struct {
	of     *conversation
	writer timeline.Writer
	last   timeline.Place
}

// device that has counted so far in a conversation.
type device struct {
	of      *conversation
	device  timeline.Device
	highest uint64
}

// later are look-ups that wait until they are many.
type later struct {
	retries []retry
	authors []author
	devices []device
}

func (l *later) token(c *check, r retry) error {
	if l.retries = append(l.retries, r); len(l.retries) < atOnce {
		return nil
	}
	return l.checkRetries(c)
}

func (l *later) author(c *check, a author) error {
	if l.authors = append(l.authors, a); len(l.authors) < atOnce {
		return nil
	}
	return l.checkAuthors(c)
}

func (l *later) device(c *check, d device) error {
	if l.devices = append(l.devices, d); len(l.devices) < atOnce {
		return nil
	}
	return l.checkDevices(c)
}

// all looks up what waits.
func (l *later) all(c *check) error {
	if err := l.checkRetries(c); err != nil {
		return err
	}
	if err := l.checkAuthors(c); err != nil {
		return err
	}
	return l.checkDevices(c)
}

func (l *later) checkRetries(c *check) error {
	asked := make([]timeline.Stored, len(l.retries))
	for i := range l.retries {
		asked[i] = l.retries[i].token
	}
	kept, err := c.log.TokenSeqs(c.ctx, asked)
	if err != nil {
		return err
	}
	for i, r := range l.retries {
		if kept[i] != r.seq {
			c.report.violate("duplicate", r.of.where(), "a retry of entry %d would find entry %d", r.seq, kept[i])
		}
	}
	l.retries = l.retries[:0]
	return nil
}

func (l *later) checkAuthors(c *check) error {
	asked := make([]timeline.Writer, len(l.authors))
	for i := range l.authors {
		asked[i] = l.authors[i].writer
	}
	kept, err := c.log.LastsBy(c.ctx, asked)
	if err != nil {
		return err
	}
	for i, a := range l.authors {
		if kept[i] != a.last {
			c.report.violate("author", a.of.where(), "the last of user %d is kept as %d (%d), and is %d (%d)", a.writer.Author, kept[i].Seq, kept[i].Counted, a.last.Seq, a.last.Counted)
		}
	}
	l.authors = l.authors[:0]
	return nil
}

func (l *later) checkDevices(c *check) error {
	asked := make([]timeline.Device, len(l.devices))
	for i := range l.devices {
		asked[i] = l.devices[i].device
	}
	kept, err := c.log.HighestCounters(c.ctx, asked)
	if err != nil {
		return err
	}
	for i, d := range l.devices {
		if kept[i] < d.highest {
			c.report.violate("duplicate", d.of.where(), "device %d of user %d has sent %d, and %d is kept as its highest", d.device.Device, d.device.Sender, d.highest, kept[i])
		}
	}
	l.devices = l.devices[:0]
	return nil
}

// cursor of a user, at an entry.
type cursor struct {
	where   string
	ref     timeline.Ref
	counted uint64
}

// checkCursors compares cursors with the entries that they are at.
func (c *check) checkCursors(list []cursor) error {
	refs := make([]timeline.Ref, len(list))
	for i := range list {
		refs[i] = list[i].ref
	}
	entries, err := c.log.Get(c.ctx, refs)
	if err != nil {
		return err
	}
	if len(entries) < len(list) && len(list) > 1 { // some are absent, and none says which: ask for halves
		half := len(list) / 2
		if err := c.checkCursors(list[:half]); err != nil {
			return err
		}
		return c.checkCursors(list[half:])
	}
	for i, l := range list {
		if len(entries) == 0 || entries[i].Counted != l.counted {
			c.report.violate("cursors", l.where, "the cursor at %d has the running number %d", l.ref.From, l.counted)
		}
	}
	return nil
}
