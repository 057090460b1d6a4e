package activity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// Spans are the days over which users are counted, and after which they may come back.
var Spans = [...]int{1, 7, 30}

// MaxDays bounds the days of a report.
const MaxDays = bitmapDays - 1

// Counts are as of the last day that is over, which is yesterday.
type Counts struct {
	// Active are the users who were active on any of the last 1, 7 and 30 days.
	Active [len(Spans)]int
	// Base are the users who were active 1, 7 and 30 days before yesterday, and Returned those of them who were active yesterday.
	Base, Returned [len(Spans)]int
}

// Day is a day with its users.
type Day struct {
	Begin  time.Time
	Active int
	// Returned are those who were active again 1, 7 and 30 days later; -1: that day is not over yet.
	Returned [len(Spans)]int
}

// Report is what the rows of all users say.
type Report struct {
	Counts
	Days []Day // today first
}

// Counts returns the latest counts of the coordinator. They are 0 on other nodes.
func (s *Service) Counts() Counts { return *s.counts.Load() }

// Report counts the users of the last days, today included, at most MaxDays. It reads one small row for each user, about a second for a million of them.
func (s *Service) Report(ctx context.Context, days int) (*Report, error) {
	if days < 1 || days > MaxDays {
		return nil, fmt.Errorf("a report has 1 to %d days", MaxDays)
	}
	today := s.today()
	r := &Report{}
	var active [bitmapDays]int
	var returned [bitmapDays][len(Spans)]int
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT last_day, days FROM user_activity WHERE last_day > $1`, today-bitmapDays)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var last, days int64
		if err := rows.Scan(&last, &days); err != nil {
			return err
		}
		bitmap := daysBefore(today, last, days)
		r.add(bitmap)
		for rest := bitmap; rest != 0; rest &= rest - 1 {
			ago := bits.TrailingZeros64(rest)
			active[ago]++
			for i, n := range Spans {
				if ago >= n && bitmap>>(ago-n)&1 == 1 {
					returned[ago][i]++
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for ago := range days {
		d := Day{Begin: time.Unix((today-int64(ago))*24*60*60, 0).UTC(), Active: active[ago], Returned: returned[ago]}
		for i, n := range Spans {
			if ago <= n {
				d.Returned[i] = -1
			}
		}
		r.Days = append(r.Days, d)
	}
	return r, nil
}

// add adds a user to the counts as of yesterday.
func (c *Counts) add(bitmap uint64) {
	const yesterday = 1
	for i, n := range Spans {
		if bitmap>>yesterday&(1<<n-1) != 0 {
			c.Active[i]++
		}
		if bitmap>>(yesterday+n)&1 == 1 {
			c.Base[i]++
			if bitmap>>yesterday&1 == 1 {
				c.Returned[i]++
			}
		}
	}
}

// daysBefore returns a bitmap whose bit n stands for n days before a day, of one that ends on another day. A node whose clock is ahead may have written a later one.
func daysBefore(day, last, days int64) uint64 {
	switch ago := day - last; {
	case ago >= bitmapDays || ago <= -bitmapDays:
		return 0
	case ago >= 0:
		return uint64(days) << ago & bitmapMask
	default:
		return uint64(days) & bitmapMask >> -ago
	}
}

// ActiveDays returns on how many of the last 28 days, today included, a user was active.
func (s *Service) ActiveDays(ctx context.Context, u id.User) (int, error) {
	var last, days int64
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT last_day, days FROM user_activity WHERE owner = $1`, int64(u)).Scan(&last, &days)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	return bits.OnesCount64(daysBefore(s.today(), last, days) & (1<<28 - 1)), nil
}

var userTables = []userdata.Table{
	{Name: "user_activity", Export: `SELECT last_day, days FROM user_activity WHERE owner = $1`, Erase: `DELETE FROM user_activity WHERE owner = $1 AND $2 > 0`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "activity", DB: s.deps.DB, List: userTables}
}
