package helpdesk

import (
	"slices"
	"time"
	_ "time/tzdata" // a container may have no time zones

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// daysAhead bounds how far the next business hours are looked for.
const daysAhead = 366

// nextOpening returns the first moment from now on that is within a desk's business hours; now if it is. It is not ok if there is none within a
// year. It goes by the days of the desk's calendar, so a change of the clock moves no opening: a range begins when the clock shows its
// beginning, or, if the clock skips that, as much later as it skips.
func nextOpening(d *chatv1.HelpDesk, now time.Time) (at time.Time, ok bool) {
	zone, err := time.LoadLocation(d.TimeZone)
	if err != nil { // checked when it was stored; a later build may know fewer zones
		zone = time.UTC
	}
	if len(d.Hours) == 0 && len(d.Holidays) == 0 {
		return now, true
	}
	year, month, day := now.In(zone).Date()
	for n := range daysAhead {
		noon := time.Date(year, month, day+n, 12, 0, 0, 0, zone) // each day has a noon, and not each has a midnight
		if slices.Contains(d.Holidays, noon.Format(time.DateOnly)) {
			continue
		}
		for _, h := range rangesOf(d, noon.Weekday()) {
			y, m, date := noon.Date()
			from, to := time.Date(y, m, date, 0, int(h.FromMinute), 0, 0, zone), time.Date(y, m, date, 0, int(h.ToMinute), 0, 0, zone)
			switch {
			case !now.Before(to):
			case now.Before(from):
				return from, true
			default:
				return now, true
			}
		}
	}
	return time.Time{}, false
}

// rangesOf returns the business hours of a weekday in order. A desk that has holidays only is open on all other days.
func rangesOf(d *chatv1.HelpDesk, weekday time.Weekday) (list []*chatv1.BusinessHours) {
	if len(d.Hours) == 0 {
		return []*chatv1.BusinessHours{{ToMinute: 24 * 60}}
	}
	for _, h := range d.Hours {
		if time.Weekday(h.Weekday%7) == weekday {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *chatv1.BusinessHours) int { return int(a.FromMinute) - int(b.FromMinute) })
	return list
}

// opening returns whether a desk is open, and if not, when it opens: 0 if not within a year.
func opening(d *chatv1.HelpDesk, now time.Time) (open bool, opensAtMs int64) {
	at, ok := nextOpening(d, now)
	switch {
	case !ok:
		return false, 0
	case at.Equal(now):
		return true, 0
	}
	return false, at.UnixMilli()
}
