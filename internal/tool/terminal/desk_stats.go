package terminal

import (
	"context"
	"strconv"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// deskStatsDays is the period of /deskstats without a number.
const deskStatsDays = 7

// deskStats shows the agents of a desk what waits, and what was resolved in the last days.
func (s *screen) deskStats(ctx context.Context, rest string) error {
	which, text, _ := strings.Cut(rest, " ")
	days := deskStatsDays
	if text = strings.TrimSpace(text); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > 366 {
			return errorf("give a number of days, 1 to 366, or none for the last 7")
		}
	}
	d, err := s.deskOf(ctx, which)
	if err != nil {
		return err
	}
	now := time.Now()
	stats, err := s.client.HelpDeskStats(ctx, d.Id, now.AddDate(0, 0, -days), now)
	if err != nil {
		return err
	}
	var users []uint64
	for _, a := range stats.Agents {
		users = append(users, a.Agent)
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	s.say("  waiting: %d, active: %d", stats.Waiting, stats.Active)
	s.say("  in all: %s", statsText(stats.Total))
	for _, a := range stats.Agents {
		s.say("  %s: %s", s.name(ctx, a.Agent), statsText(a))
	}
	return nil
}

// statsText says how many tickets were resolved, how soon they were answered, and how they were rated.
func statsText(t *chatv1.TicketStats) string {
	text := phrasef("resolved: %d", t.GetResolved())
	if t.GetFirstResponseMs() > 0 {
		text += phrasef("; first answer after %s", (time.Duration(t.FirstResponseMs) * time.Millisecond).Round(time.Second))
	}
	if t.GetRated() > 0 {
		text += phrasef("; rated %.1f of 5, by %d", t.Rating, t.Rated)
	}
	return text
}
