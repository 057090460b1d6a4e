package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// keysAtOnce is the page size of listing keys.
const keysAtOnce = 1000

// eachKey calls do for each timeline of a kind, in order, and reports the progress.
func (c *check) eachKey(kind timeline.Kind, name string, do func(timeline.Key) error) error {
	total := 0
	printer := progress.Of(c.ctx)
	if printer != nil { // nil without progress messages
		err := c.listKeys(kind, func(timeline.Key) error {
			total++
			return nil
		})
		if err != nil {
			return err
		}
	}
	step, done := printer.Step("reading "+name), 0
	defer step.End()
	return c.listKeys(kind, func(k timeline.Key) error {
		done++
		step.At(float64(done)/float64(max(total, 1)), fmt.Sprintf("%d of %d", done, total))
		return do(k)
	})
}

func (c *check) listKeys(kind timeline.Kind, do func(timeline.Key) error) error {
	above := uint64(0)
	for {
		keys, err := c.keysAbove(kind, above)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			if err := do(k); err != nil {
				return err
			}
			above = k.ID
		}
	}
}

// tailLister is a log that can also list conversations by their tails.
type tailLister interface {
	TailKeys(ctx context.Context, above uint64, limit int) ([]timeline.Key, error)
}

// keysAbove lists keys by their entries. If that fails in a data directory, it lists conversations by their tails, and inboxes by the
// members of conversations.
func (c *check) keysAbove(kind timeline.Kind, above uint64) ([]timeline.Key, error) {
	if !c.keysUnreadable[kind] {
		keys, err := c.log.Keys(c.ctx, kind, above, keysAtOnce)
		if err == nil || !c.local || c.ctx.Err() != nil {
			return keys, err
		}
		c.keysUnreadable[kind] = true
		if err := c.damaged(map[bool]string{true: "streams", false: "conversations"}[kind == timeline.Inbox], err); err != nil {
			return nil, err
		}
	}
	if kind == timeline.Inbox {
		return c.inboxesOfMembers(above), nil
	}
	keys, err := c.log.(tailLister).TailKeys(c.ctx, above, keysAtOnce)
	c.tailsUnreadable = c.tailsUnreadable || err != nil
	return keys, err
}

func (c *check) inboxesOfMembers(above uint64) (keys []timeline.Key) {
	users := map[uint64]bool{}
	for _, v := range c.conversations {
		for u := range v.members {
			users[u] = u > above
		}
	}
	for _, u := range slices.Sorted(maps.Keys(users)) {
		if users[u] && len(keys) < keysAtOnce {
			keys = append(keys, timeline.Key{Kind: timeline.Inbox, ID: u})
		}
	}
	return keys
}
