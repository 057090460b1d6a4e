package rialto

import (
	"context"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// maxImpressions is how many posts, and how many dwells, a call has.
const maxImpressions = 100

// RecordImpressions tells the server which posts of Ranking().ForYou the user opened, and how long posts were on the screen since ForYou gave them, in total. A retry is
// harmless. Posts that ForYou did not give in the last day are left out by the server, and so is everything of a user who has turned personalization off. With more than 100 posts it makes
// several calls; the first error ends it.
func (c *Client) RecordImpressions(ctx context.Context, opened []uint64, dwells map[uint64]time.Duration) error {
	times := make([]*rankingv1.PostDwell, 0, len(dwells))
	for _, post := range slices.Sorted(maps.Keys(dwells)) {
		times = append(times, &rankingv1.PostDwell{Post: post, DwellMs: uint32(max(0, min(dwells[post], time.Hour)).Milliseconds())})
	}
	for len(opened)+len(times) > 0 {
		n, m := min(len(opened), maxImpressions), min(len(times), maxImpressions)
		if _, err := c.ranking.RecordClicks(ctx, connect.NewRequest(&rankingv1.RecordClicksRequest{Posts: opened[:n], Dwells: times[:m]})); err != nil {
			return err
		}
		opened, times = opened[n:], times[m:]
	}
	return nil
}
