package verify

import (
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// atOnce is the number of look-ups in one query, to save round trips.
const atOnce = 2000

// retry is a look-up of an entry by its token.
type retry struct {
	of    *conversation
	seq   uint64
	token timeline.TokenKey
}

// author and the expected position of the latest entry.
type author struct {
	of     *conversation
	writer timeline.AuthorKey
	last   timeline.Position
}

// device and its expected highest number in a conversation.
type device struct {
	of      *conversation
	device  timeline.Device
	highest uint64
}

// pendingLookups has look-ups that wait for a full batch.
type pendingLookups struct {
	retries []retry
	authors []author
	devices []device
}

func (l *pendingLookups) token(c *check, r retry) error {
	if l.retries = append(l.retries, r); len(l.retries) < atOnce {
		return nil
	}
	return l.checkRetries(c)
}

func (l *pendingLookups) author(c *check, a author) error {
	if l.authors = append(l.authors, a); len(l.authors) < atOnce {
		return nil
	}
	return l.checkAuthors(c)
}

func (l *pendingLookups) device(c *check, d device) error {
	if l.devices = append(l.devices, d); len(l.devices) < atOnce {
		return nil
	}
	return l.checkDevices(c)
}

// all performs the waiting look-ups.
func (l *pendingLookups) all(c *check) error {
	if err := l.checkRetries(c); err != nil {
		return err
	}
	if err := l.checkAuthors(c); err != nil {
		return err
	}
	return l.checkDevices(c)
}

func (l *pendingLookups) checkRetries(c *check) error {
	err := eachHalf(c, l.retries, func(x retry) string { return x.of.where() }, c.retries)
	l.retries = l.retries[:0]
	return err
}

func (c *check) retries(list []retry) error {
	asked := make([]timeline.TokenKey, len(list))
	for i := range list {
		asked[i] = list[i].token
	}
	kept, err := c.log.TokenSeqs(c.ctx, asked)
	if err != nil {
		return err
	}
	for i, r := range list {
		if kept[i] != r.seq {
			c.report.violate("duplicate", r.of.where(), "a retry of entry %d would find entry %d", r.seq, kept[i])
		}
	}
	return nil
}

func (l *pendingLookups) checkAuthors(c *check) error {
	err := eachHalf(c, l.authors, func(x author) string { return x.of.where() }, c.authors)
	l.authors = l.authors[:0]
	return err
}

func (c *check) authors(list []author) error {
	asked := make([]timeline.AuthorKey, len(list))
	for i := range list {
		asked[i] = list[i].writer
	}
	kept, err := c.log.LatestByAuthors(c.ctx, asked)
	if err != nil {
		return err
	}
	for i, a := range list {
		if kept[i] != a.last {
			c.report.violate("author", a.of.where(), "the latest entry of user %d is stored as %d (%d), but is %d (%d)", a.writer.Author, kept[i].Seq, kept[i].Counted, a.last.Seq, a.last.Counted)
		}
	}
	return nil
}

func (l *pendingLookups) checkDevices(c *check) error {
	err := eachHalf(c, l.devices, func(x device) string { return x.of.where() }, c.devices)
	l.devices = l.devices[:0]
	return err
}

func (c *check) devices(list []device) error {
	asked := make([]timeline.Device, len(list))
	for i := range list {
		asked[i] = list[i].device
	}
	kept, err := c.log.HighestCounters(c.ctx, asked)
	if err != nil {
		return err
	}
	for i, d := range list {
		if kept[i] < d.highest {
			c.report.violate("duplicate", d.of.where(), "device %d of user %d has sent %d, but %d is stored as its highest", d.device.Device, d.device.Sender, d.highest, kept[i])
		}
	}
	return nil
}

// cursor of a user, with the entry that it points to.
type cursor struct {
	where   string
	ref     timeline.Ref
	counted uint64
}

// checkCursors compares cursors with their entries.
func (c *check) checkCursors(list []cursor) error {
	return eachHalf(c, list, func(x cursor) string { return x.where }, c.compareCursors)
}

func (c *check) compareCursors(list []cursor) error {
	refs := make([]timeline.Ref, len(list))
	for i := range list {
		refs[i] = list[i].ref
	}
	entries, err := c.log.Get(c.ctx, refs)
	if err != nil {
		return err
	}
	if len(entries) < len(list) && len(list) > 1 { // some are missing, and the store does not say which: query halves
		half := len(list) / 2
		if err := c.checkCursors(list[:half]); err != nil {
			return err
		}
		return c.checkCursors(list[half:])
	}
	for i, l := range list {
		if len(entries) == 0 || entries[i].Counted != l.counted {
			c.report.violate("cursors", l.where, "the cursor at %d has the wrong count %d", l.ref.From, l.counted)
		}
	}
	return nil
}
